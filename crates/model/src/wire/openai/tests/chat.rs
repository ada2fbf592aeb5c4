use proofmark_artefact::record::{TokenLogprob, TopLogprob};

use super::*;
use crate::class::Class;
use crate::wire::Finish;

fn decoded(text: &str) -> Result<Completion, WireError> {
    let (ours, theirs) = (OPENAI.decode(text.as_bytes()), COMPATIBLE.decode(text.as_bytes()));
    assert_eq!(ours, theirs);
    ours
}

/// What every fixture of OpenAI's has, besides what it is about.
fn base() -> Completion {
    let model = Some("gpt-test-2025-04-14".to_owned());
    Completion { usage: USAGE, cached: Some(5), model, ..Completion::default() }
}

pub(super) fn hello() -> Completion {
    Completion { text: "Hello there.".to_owned(), ..base() }
}

pub(super) fn tools() -> Completion {
    let calls = vec![
        call("call_a", "weather", r#"{"city":"Bonn"}"#),
        call("call_b", "clock", "{}"),
        call("call_c", "note", r#"{"city": "#),
    ];
    Completion { calls, finish: Finish::ToolCalls, ..base() }
}

pub(super) fn refusal() -> Completion {
    Completion { finish: Finish::Refused("I cannot help with that.".to_owned()), ..base() }
}

pub(super) fn filtered() -> Completion {
    let finish = Finish::Filtered("violence".to_owned());
    Completion { text: "Half an ans".to_owned(), finish, ..base() }
}

pub(super) fn with_logprobs() -> Completion {
    let top = |token: &str, logprob| TopLogprob { logprob, token: token.to_owned() };
    let logprobs = vec![
        TokenLogprob { logprob: -0.25, token: "Hel".to_owned(), top: vec![top("Hel", -0.25), top("Hi", -9999.0)] },
        TokenLogprob { logprob: 0.0, token: "lo".to_owned(), top: Vec::new() },
    ];
    Completion { text: "Hello".to_owned(), logprobs, ..base() }
}

#[test]
fn whole_replies_are_read() {
    let cases = [
        ("text", fixture!("chat_text.json"), hello()),
        ("tools", fixture!("chat_tools.json"), tools()),
        ("refusal", fixture!("chat_refusal.json"), refusal()),
        ("logprobs", fixture!("chat_logprobs.json"), with_logprobs()),
        ("azure", fixture!("chat_azure.json"), hello()),
        ("azure filtered", fixture!("chat_azure_filtered.json"), filtered()),
    ];
    for (name, text, expected) in cases {
        assert_eq!(decoded(text), Ok(expected), "{name}");
    }
}

#[test]
fn what_compatible_servers_do_otherwise_is_understood() {
    let expected = Completion {
        text: "Hello there.".to_owned(),
        reasoning: Some("Say hello.".to_owned()),
        calls: vec![call("call_a", "weather", r#"{"city":"Bonn"}"#), call("", "clock", "{}")],
        finish: Finish::ToolCalls,
        usage: Usage { input_tokens: 8, output_tokens: 2 },
        cached: Some(6),
        model: Some("deepseek-test".to_owned()),
        keep: Some(value(r#"{"reasoning_content":"Say hello."}"#)),
        ..Completion::default()
    };
    assert_eq!(decoded(fixture!("chat_compatible.json")), Ok(expected));
}

#[test]
fn reasoning_is_kept_only_for_a_turn_that_follows() {
    let reply = r#"{"choices":[{"finish_reason":"stop","message":{"content":"a","reasoning_content":"r"}}]}"#;
    let answer = decoded(reply).unwrap();
    assert_eq!((answer.reasoning.as_deref(), answer.keep), (Some("r"), None));
}

#[test]
fn blocks_of_reasoning_in_a_whole_reply_stay_apart() {
    let details = r#"[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b","index":0}]"#;
    let reply = format!(
        r#"{{"choices":[{{"finish_reason":"tool_calls","message":{{"reasoning_details":{details},
        "tool_calls":[{{"id":"a","function":{{"name":"f","arguments":"{{}}"}}}}]}}}}]}}"#
    );
    let keep = decoded(&reply).unwrap().keep.unwrap();
    assert_eq!(keep.get("reasoning_details"), Some(&value(details)));
}

#[test]
fn every_end_has_one_of_our_words() {
    let cases = [
        ("stop", Finish::Stop),
        ("eos", Finish::Stop),
        ("eos_token", Finish::Stop),
        ("length", Finish::Length),
        ("tool_calls", Finish::ToolCalls),
        ("function_call", Finish::Failed("the reply calls a function in the old form".to_owned())),
        ("content_filter", Finish::Filtered(String::new())),
        ("error", Finish::Failed("the provider ended the answer with `error`".to_owned())),
        ("abort", Finish::Failed("the provider ended the answer with `abort`".to_owned())),
        ("something", Finish::Other("something".to_owned())),
    ];
    for (word, expected) in cases {
        let reply = format!(r#"{{"choices":[{{"finish_reason":"{word}","message":{{"content":"a"}}}}]}}"#);
        assert_eq!(decoded(&reply).unwrap().finish, expected, "{word}");
    }
    let long = format!(r#"{{"choices":[{{"finish_reason":"{}","message":{{}}}}]}}"#, "x".repeat(1000));
    assert_eq!(decoded(&long).unwrap().finish.as_str().len(), 64);
}

#[test]
fn a_call_that_was_asked_for_by_name_ends_as_calls_do() {
    let reply = r#"{"choices":[{"finish_reason":"stop","message":{"content":null,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    assert_eq!(decoded(reply).unwrap().finish, Finish::ToolCalls);
}

#[test]
fn a_filter_wins_over_a_refusal_and_over_a_clean_end() {
    for (finish, refusal) in [("content_filter", r#""no""#), ("stop", "null")] {
        let reply = format!(
            r#"{{"choices":[{{"finish_reason":"{finish}","message":{{"content":"a","refusal":{refusal}}},
            "content_filter_results":{{"hate":{{"filtered":true}}}}}}]}}"#
        );
        let expected = Finish::Filtered("hate".to_owned());
        assert_eq!(decoded(&reply).unwrap().finish, expected);
    }
}

#[test]
fn an_empty_answer_is_left_to_others_to_judge() {
    for content in ["null", r#""""#, "[]"] {
        let reply = format!(r#"{{"choices":[{{"finish_reason":"stop","message":{{"content":{content}}}}}]}}"#);
        assert_eq!(decoded(&reply), Ok(Completion::default()));
    }
}

#[test]
fn arguments_are_read_strictly_and_never_lost() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let cases = [
        (r#"{"a":1}"#, value(r#"{"a":1}"#)),
        (" ", value("{}")),
        (r#"{"a":1,"a":2}"#, Value::from(r#"{"a":1,"a":2}"#)),
        (r#"{"a":9007199254740993}"#, Value::from(r#"{"a":9007199254740993}"#)),
        (r#""text""#, Value::from(r#""text""#)),
        ("{", Value::from("{")),
        (&deep, Value::from(deep.as_str())),
    ];
    for (text, expected) in cases {
        let text_json = Value::from(text).to_string();
        let reply = format!(
            r#"{{"choices":[{{"finish_reason":"tool_calls","message":{{"tool_calls":[
            {{"id":"a","function":{{"name":"f","arguments":{text_json}}}}}]}}}}]}}"#
        );
        assert_eq!(decoded(&reply).unwrap().calls[0].1.arguments, expected, "{text}");
    }
}

#[test]
fn an_error_in_the_place_of_an_answer_is_the_servers() {
    let cases = [
        (fixture!("chat_error.json"), "Provider returned error"),
        (r#"{"error":"overloaded"}"#, "overloaded"),
        (r#"{"object":"error","message":"boom","type":"InternalServerError","code":500}"#, "boom"),
        (r#"{"error":{}}"#, "the provider reports an error without a reason"),
        (r#"{"error":{"type":"server_error"}}"#, "server_error"),
        (
            r#"{"choices":[{"error":{"code":502,"message":"upstream"},"finish_reason":"error","message":{}}]}"#,
            "upstream",
        ),
    ];
    for (reply, message) in cases {
        assert_eq!(decoded(reply), Err(WireError::server(message)), "{reply}");
    }
}

#[test]
fn a_filter_in_the_place_of_an_answer_is_a_filter() {
    let reply = r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"],"flagged_input":"x"}}}"#;
    assert_eq!(decoded(reply).unwrap().finish, Finish::Filtered("flagged".to_owned()));
}

#[test]
fn what_is_not_documented_is_malformed() {
    let choice = |choice: &str| format!(r#"{{"choices":[{{"finish_reason":"stop",{choice}}}]}}"#);
    let cases = [
        ("[]".to_owned(), "the reply has no `choices`"),
        ("{}".to_owned(), "the reply has no `choices`"),
        (r#"{"choices":[]}"#.to_owned(), "the reply has no `choices`"),
        (r#"{"choices":{}}"#.to_owned(), "`choices` of the reply is a mapping, expected a list"),
        (r#"{"choices":[1]}"#.to_owned(), "the reply's choice has no `message`"),
        (r#"{"choices":[{"message":{"content":"a"}}]}"#.to_owned(), "the reply has no `finish_reason`"),
        (
            r#"{"choices":[{"message":{},"finish_reason":1}]}"#.to_owned(),
            "`finish_reason` of the reply is a number, expected a text",
        ),
        (choice(r#""message":null"#), "the reply's choice has no `message`"),
        (choice(r#""message":"a""#), "`message` of the reply is a string, expected an object"),
        (choice(r#""message":{"content":1}"#), "`content` of the reply is a number, expected a text"),
        (choice(r#""message":{"content":[{"type":"video"}]}"#), "the reply's `content` has a part of the type `video`"),
        (choice(r#""message":{"refusal":[]}"#), "`refusal` of the reply is a list, expected a text"),
        (choice(r#""message":{"tool_calls":[{}]}"#), "a tool call of the reply has no `function`"),
        (choice(r#""message":{"tool_calls":[{"function":{}}]}"#), "a tool call of the reply has no `name`"),
        (
            choice(r#""message":{"tool_calls":[{"function":{"name":"f","arguments":1}}]}"#),
            "`arguments` of the reply is a number, expected a text",
        ),
        (
            choice(r#""message":{},"logprobs":{"content":[{"token":"a"}]}"#),
            "a log-probability of the reply has no `token` or no `logprob`",
        ),
        (
            r#"{"usage":{"prompt_tokens":-1},"choices":[]}"#.to_owned(),
            "`prompt_tokens` of the reply is a number, expected a count",
        ),
        (
            r#"{"usage":{"prompt_tokens":1.8446744073709552e19},"choices":[]}"#.to_owned(),
            "`prompt_tokens` of the reply is a number, expected a count",
        ),
        (r#"{"usage":[],"choices":[]}"#.to_owned(), "`usage` of the reply is a list, expected an object"),
    ];
    for (reply, message) in cases {
        assert_eq!(decoded(&reply), Err(WireError::malformed(message)), "{reply}");
    }
}

#[test]
fn a_body_that_ends_early_is_truncated_wherever_it_ends() {
    let text = fixture!("chat_text.json").trim_end();
    for end in 0..text.len() {
        let error = decoded(&text[..end]).unwrap_err();
        let inside_a_word = ["n", "nu", "nul"].iter().any(|word| text[..end].ends_with(&format!(": {word}")));
        let expected = if inside_a_word { Class::Malformed } else { Class::Truncated };
        assert_eq!(error.class, expected, "{end} {error:?}");
    }
    assert_eq!(decoded("<html>").unwrap_err().class, Class::Malformed);
}
