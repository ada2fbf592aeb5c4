use proofmark_artefact::record::{TopLogprob, Usage};

use super::super::parts::testing::{attached, conversation, encoded, every_cut_is_found, feed, request, survives};
use super::super::{Class, Finish, Then, Wire, WireError};
use super::Chat;

/// Stands for a reply that ends inside of a value.
const CUT_OFF: &str = "cut off";

const ANSWER: &str = include_str!("fixtures/answer.json");
const CALLS: &str = include_str!("fixtures/calls.json");
const ANSWER_STREAM: &str = include_str!("fixtures/answer.ndjson");
const CALLS_STREAM: &str = include_str!("fixtures/calls.ndjson");

#[test]
fn requests_are_in_its_words() {
    let all = r#"{"temperature":0,"top_p":0.9,"top_k":40,"min_p":0.05,"max_tokens":64,"stop":["END"],"num_ctx":4096,
        "repetition_penalty":1.1,"frequency_penalty":0.1,"presence_penalty":0.2,"reasoning_effort":"high",
        "keep_alive":"10m","stream":true,"seed":5,"logprobs":true,"top_logprobs":2,
        "response_schema":{"type":"object"},"extra_body":{"options":{"mirostat":1}}}"#;
    let table = [
        (
            request("{}"),
            r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","options":{"seed":704460341},"stream":false}"#,
        ),
        (
            request(all),
            r#"{"format":{"type":"object"},"keep_alive":"10m","logprobs":true,"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","options":{"frequency_penalty":0.1,"min_p":0.05,"mirostat":1,"num_ctx":4096,"num_predict":64,"presence_penalty":0.2,"repeat_penalty":1.1,"seed":5,"stop":["END"],"temperature":0,"top_k":40,"top_p":0.9},"stream":true,"think":"high","top_logprobs":2}"#,
        ),
        (
            attached("a.png", "image/png", b"\x89PNG"),
            r#"{"messages":[{"content":"Look.","images":["iVBORw=="],"role":"user"}],"model":"m","stream":false}"#,
        ),
        (
            attached("a.md", "text/markdown", b"# inside"),
            r##"{"messages":[{"content":"Look.\n\n# inside","role":"user"}],"model":"m","stream":false}"##,
        ),
        (
            conversation("", Some("Let me think.".into())),
            r#"{"messages":[{"content":"Weather?","role":"user"},{"content":"Let me look.","role":"assistant","thinking":"Let me think.","tool_calls":[{"function":{"arguments":{"city":"Oslo"},"name":"weather"}}]},{"content":"4 degrees","role":"tool","tool_name":"weather"}],"model":"m","stream":false,"tools":[{"function":{"description":"Tells the weather.","name":"weather","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}},"type":"function"}]}"#,
        ),
    ];
    for (request, body) in table {
        assert_eq!(encoded(&Chat, "m", &request), format!("/api/chat {body}"));
    }
    let with_id = encoded(&Chat, "m", &conversation("call_1", None));
    assert!(with_id.contains(r#""id":"call_1""#) && with_id.contains(r#""tool_call_id":"call_1""#), "{with_id}");
}

#[test]
fn thinking_has_its_words() {
    let table = [
        (r#"{"think":true,"reasoning_effort":"low"}"#, "true"),
        (r#"{"think":"medium"}"#, "\"medium\""),
        (r#"{"reasoning_effort":"none"}"#, "false"),
        (r#"{"reasoning_effort":"low"}"#, "\"low\""),
    ];
    for (params, sent) in table {
        let body = encoded(&Chat, "m", &request(params));
        assert!(body.ends_with(&format!("\"think\":{sent}}}")), "{body}");
    }
    let error = Chat.encode("m", &request(r#"{"reasoning_effort":"max"}"#)).unwrap_err();
    assert_eq!(error, "`reasoning_effort` is `max`, expected none, low, medium or high");
}

#[test]
fn what_it_cannot_take_is_said() {
    let error = Chat.encode("m", &attached("a.pdf", "application/pdf", b"%PDF")).unwrap_err();
    assert_eq!(error, "`a.pdf` is application/pdf, which this provider cannot take");
}

#[test]
fn a_whole_answer_is_read() {
    let got = Chat.decode(ANSWER.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Because.", Some("Let me see.")));
    assert_eq!((got.finish, got.usage), (Finish::Stop, Usage { input_tokens: 11, output_tokens: 18 }));
    assert_eq!((got.model.as_deref(), got.keep), (Some("qwen3:8b"), Some("Let me see.".into())));
    assert_eq!(got.logprobs.len(), 2);
    assert_eq!(got.logprobs[0].top[1], TopLogprob { logprob: -1.5, token: "So".into() });
    assert_eq!((got.logprobs[1].token.as_str(), got.logprobs[1].top.len()), ("cause.", 0));
}

#[test]
fn calls_come_whole() {
    let got = Chat.decode(CALLS.as_bytes()).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id}|{} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"|weather {"city":"Oslo","days":2}"#, "call_7|clock {}"]);
    assert_eq!(got.finish, Finish::ToolCalls);
}

#[test]
fn a_stream_is_put_together() {
    let got = feed(&Chat, ANSWER_STREAM).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Because.", Some("Hm.")));
    assert_eq!((got.finish, got.usage), (Finish::Length, Usage { input_tokens: 26, output_tokens: 282 }));
    assert_eq!((got.logprobs.len(), got.model.as_deref()), (1, Some("qwen3:8b")));
    // Every call is whole; two lines with the same index are two calls.
    let got = feed(&Chat, CALLS_STREAM).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id}|{} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"call_1|weather {"city":"Oslo"}"#, "call_2|clock {}"]);
    assert_eq!(got.finish, Finish::ToolCalls);
}

#[test]
fn a_stream_without_its_end_is_cut() {
    every_cut_is_found(&Chat, ANSWER_STREAM);
    every_cut_is_found(&Chat, CALLS_STREAM);
}

#[test]
fn reasons_to_end_are_ours() {
    let table = [
        ("stop", Finish::Stop),
        ("length", Finish::Length),
        ("load", Finish::Failed("the server did nothing but load the model".into())),
        ("unload", Finish::Failed("the server did nothing but unload the model".into())),
        ("new", Finish::Other("new".into())),
        ("", Finish::Stop),
    ];
    for (word, finish) in table {
        let body = ANSWER.replace("\"stop\"", &format!("\"{word}\""));
        assert_eq!(Chat.decode(body.as_bytes()).unwrap().finish, finish);
    }
    let old = ANSWER.replace("\"done_reason\":\"stop\",", "");
    assert_eq!(Chat.decode(old.as_bytes()).unwrap().finish, Finish::Stop);
}

#[test]
fn a_reply_that_is_none_is_malformed() {
    let table = [
        (&ANSWER[..100], CUT_OFF),
        ("{}", "the reply has no `message`"),
        (r#"{"done":true}"#, "the reply has no `message`"),
        (r#"{"message":"a","done":true}"#, "the reply has no `message`"),
        (r#"{"message":{"content":"a"}}"#, "the reply is not `done`"),
        (r#"{"message":{"content":"a"},"done":"true"}"#, "the reply is not `done`"),
        (r#"{"message":{"content":["a"]},"done":true}"#, "`content` is a list, expected a text"),
        (r#"{"message":{"tool_calls":[null]},"done":true}"#, "a tool call is null, expected a mapping"),
    ];
    for (body, said) in table {
        let expected = if said == CUT_OFF { WireError::truncated() } else { WireError::malformed(said) };
        assert_eq!(Chat.decode(body.as_bytes()), Err(expected), "{body}");
    }
}

#[test]
fn an_error_in_the_middle_is_the_servers() {
    let begun = ANSWER_STREAM.lines().next().unwrap();
    let broken = format!("{begun}\n{{\"error\":\"an error was encountered while running the model\"}}\n");
    assert_eq!(feed(&Chat, &broken), Err(WireError::server("an error was encountered while running the model")));
    assert_eq!(Chat.decode(br#"{"error":{}}"#), Err(WireError::server("an error without a message")));
}

#[test]
fn refusals_have_a_class() {
    let table = [
        (404, "model 'x' not found", (Class::BadRequest, Then::Stop, "model 'x' not found (pull it first)")),
        (400, "x does not support tools", (Class::BadRequest, Then::Fail, "x does not support tools")),
        (401, "unauthorized", (Class::Auth, Then::Stop, "unauthorized")),
        (429, "too many requests", (Class::RateLimited, Then::Retry, "too many requests")),
        (500, "llama runner has terminated", (Class::Server, Then::Retry, "llama runner has terminated")),
        (503, "server busy, please try again", (Class::RateLimited, Then::Retry, "server busy, please try again")),
    ];
    for (status, said, (class, then, message)) in table {
        let refused = Chat.refuse(status, format!(r#"{{"error":"{said}"}}"#).as_bytes());
        assert_eq!((refused.class, refused.then, refused.message.as_str()), (class, then, message));
    }
    let refused = Chat.refuse(404, b"404 page not found");
    assert_eq!(
        (refused.then, refused.message.as_str()),
        (Then::Stop, "the server answered with status 404 and no JSON")
    );
    assert_eq!(Chat.refuse(503, b"<html>").class, Class::Server);
}

#[test]
fn mutations_do_not_panic() {
    survives(&Chat, &[ANSWER.as_bytes(), CALLS.as_bytes()], &[ANSWER_STREAM, CALLS_STREAM]);
}
