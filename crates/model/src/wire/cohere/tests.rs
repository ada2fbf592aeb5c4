use std::sync::Arc;

use proofmark_artefact::record::Usage;
use proofmark_canon::Value;

use super::super::parts::testing::{attached, conversation, encoded, every_cut_is_found, feed, map, request, survives};
use super::super::{Class, Finish, Then, Wire, WireError};
use super::Chat;

/// Stands for a reply that ends inside of a value.
const CUT_OFF: &str = "cut off";

const ANSWER: &str = include_str!("fixtures/answer.json");
const CALLS: &str = include_str!("fixtures/calls.json");
const ANSWER_STREAM: &str = include_str!("fixtures/answer.sse");
const CALLS_STREAM: &str = include_str!("fixtures/calls.sse");

#[test]
fn requests_are_in_its_words() {
    let all = r#"{"temperature":0.5,"top_p":0.9,"top_k":40,"max_tokens":64,"stop":["END"],"frequency_penalty":0.1,
        "presence_penalty":0.2,"thinking_budget":512,"safety_mode":"OFF","stream":true,"seed":5,"logprobs":true,
        "response_schema":{"type":"object"},"extra_body":{"priority":3}}"#;
    let table = [
        (
            request("{}"),
            r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","seed":704460341,"stream":false}"#,
        ),
        (
            request(all),
            r#"{"frequency_penalty":0.1,"k":40,"logprobs":true,"max_tokens":64,"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","p":0.9,"presence_penalty":0.2,"priority":3,"response_format":{"json_schema":{"type":"object"},"type":"json_object"},"safety_mode":"OFF","seed":5,"stop_sequences":["END"],"stream":true,"temperature":0.5,"thinking":{"token_budget":512,"type":"enabled"}}"#,
        ),
        (
            request(r#"{"seed":false,"thinking_budget":0}"#),
            r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","stream":false,"thinking":{"type":"disabled"}}"#,
        ),
        (
            attached("a.jpg", "image/jpeg", b"\xff\xd8"),
            r#"{"messages":[{"content":[{"text":"Look.","type":"text"},{"image_url":{"url":"data:image/jpeg;base64,/9g="},"type":"image_url"}],"role":"user"}],"model":"m","stream":false}"#,
        ),
        (
            conversation("a1", Some(map(r#"{"tool_plan":"I will look."}"#).into())),
            r#"{"messages":[{"content":"Weather?","role":"user"},{"content":"Let me look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"Oslo\"}","name":"weather"},"id":"a1","type":"function"}],"tool_plan":"I will look."},{"content":"4 degrees","role":"tool","tool_call_id":"a1"}],"model":"m","stream":false,"tools":[{"function":{"description":"Tells the weather.","name":"weather","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}},"type":"function"}]}"#,
        ),
    ];
    for (request, body) in table {
        assert_eq!(encoded(&Chat, "m", &request), format!("/v2/chat {body}"));
    }
}

#[test]
fn choosing_tools_has_three_words() {
    let with = |choice: &str| {
        let mut request = conversation("a1", None);
        request.params = Arc::new(map(&format!("{{\"tool_choice\":{choice}}}")));
        request
    };
    for (given, sent) in [("\"required\"", "REQUIRED"), ("\"any\"", "REQUIRED"), ("\"NONE\"", "NONE")] {
        assert!(encoded(&Chat, "m", &with(given)).contains(&format!("\"tool_choice\":\"{sent}\"")));
    }
    assert!(!encoded(&Chat, "m", &with("\"auto\"")).contains("tool_choice"));
    let error = Chat.encode("m", &with(r#"{"type":"function"}"#)).unwrap_err();
    assert_eq!(error, r#"`tool_choice` is {"type":"function"}, expected auto, required or none"#);
}

#[test]
fn a_whole_answer_is_read() {
    let got = Chat.decode(ANSWER.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Because.", Some("Let me see.")));
    assert_eq!((got.finish, got.model), (Finish::Stop, None));
    assert_eq!((got.usage, got.cached), (Usage { input_tokens: 71, output_tokens: 4 }, Some(16)));
    let logprobs: Vec<_> = got.logprobs.iter().map(|token| (token.token.as_str(), token.logprob)).collect();
    assert_eq!(logprobs, [("Be", -0.25), ("cause.", -0.625)]);
    let keep = r#"{"content":[{"thinking":"Let me see.","type":"thinking"},{"text":"Because.","type":"text"}]}"#;
    assert_eq!(got.keep.clone().unwrap().to_string(), keep);
    let next = encoded(&Chat, "m", &conversation("a1", got.keep));
    assert!(next.contains(&keep[1..keep.len() - 1]), "{next}");
}

#[test]
fn calls_come_with_a_plan() {
    let got = Chat.decode(CALLS.as_bytes()).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id} {} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"weather_14brd1n2kfqj weather {"city":"Oslo"}"#, r#"x broken "{""#]);
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("", Some("I will look the weather up.")));
    assert_eq!(got.finish, Finish::ToolCalls);
    // Without `tokens`, what was billed is what there is.
    assert_eq!(got.usage, Usage { input_tokens: 37, output_tokens: 28 });
    assert_eq!(got.keep.unwrap().to_string(), r#"{"tool_plan":"I will look the weather up."}"#);
}

#[test]
fn a_stream_is_put_together() {
    let got = feed(&Chat, ANSWER_STREAM).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Because.", Some("Hm.")));
    assert_eq!((got.finish, got.usage.input_tokens, got.logprobs.len()), (Finish::Length, 71, 1));
    let got = feed(&Chat, CALLS_STREAM).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id} {} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"weather_nsz5 weather {"city":"Oslo"}"#, "clock_1 clock {}"]);
    assert_eq!((got.finish, got.reasoning.as_deref()), (Finish::ToolCalls, Some("I will look.")));
}

#[test]
fn the_name_of_an_event_is_enough() {
    let nameless = ANSWER_STREAM.lines().map(|line| {
        let Some(data) = line.strip_prefix("data: ") else { return line.to_owned() };
        let mut value = map(data);
        value.remove("type");
        format!("data: {}", Value::Object(value))
    });
    let stream = nameless.collect::<Vec<_>>().join("\n");
    assert_eq!(feed(&Chat, &stream), feed(&Chat, ANSWER_STREAM));
}

#[test]
fn a_stream_without_its_end_is_cut() {
    every_cut_is_found(&Chat, ANSWER_STREAM);
    every_cut_is_found(&Chat, CALLS_STREAM);
    assert_eq!(feed(&Chat, "data: [DONE]\n\n"), Err(WireError::cut()));
}

#[test]
fn reasons_to_end_are_ours() {
    let table = [
        ("STOP_SEQUENCE", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("ERROR", Finish::Failed("ERROR".into())),
        ("TIMEOUT", Finish::Failed("TIMEOUT".into())),
        ("ERROR_TOXIC", Finish::Filtered("ERROR_TOXIC".into())),
        ("ERROR_LIMIT", Finish::Failed("ERROR_LIMIT".into())),
        ("USER_CANCEL", Finish::Failed("USER_CANCEL".into())),
        ("NEW", Finish::Other("NEW".into())),
    ];
    for (word, finish) in table {
        let body = ANSWER.replace("COMPLETE", word);
        assert_eq!(Chat.decode(body.as_bytes()).unwrap().finish, finish);
    }
    let stream = r#"data: {"type":"message-end","delta":{"error":"it broke","finish_reason":"ERROR"}}"#;
    assert_eq!(feed(&Chat, stream).unwrap().finish, Finish::Failed("it broke".into()));
}

#[test]
fn a_reply_that_is_none_is_malformed() {
    let table = [
        (&ANSWER[..100], CUT_OFF),
        ("{}", "the reply has no `message`"),
        ("[]", "the reply has no `message`"),
        (r#"{"message":{}}"#, "the reply has no `finish_reason`"),
        (r#"{"message":{"content":7}}"#, "`content` is a number, expected a text"),
        (r#"{"message":{"content":["a"]}}"#, "a part of the content is a string, expected a mapping"),
        (r#"{"message":{"content":[{"text":1}]}}"#, "`text` is a number, expected a text"),
        (r#"{"message":{"tool_calls":"x"}}"#, "`tool_calls` is a string, expected a list"),
    ];
    for (body, said) in table {
        let expected = if said == CUT_OFF { WireError::truncated() } else { WireError::malformed(said) };
        assert_eq!(Chat.decode(body.as_bytes()), Err(expected), "{body}");
    }
    let end = r#"data: {"type":"message-end","delta":{}}"#;
    assert_eq!(feed(&Chat, end), Err(WireError::malformed("the last event has no `finish_reason`")));
    let call = r#"data: {"type":"tool-call-start","index":0,"delta":{}}"#;
    assert_eq!(feed(&Chat, call), Err(WireError::malformed("an event has no `tool_calls`")));
}

#[test]
fn an_error_in_the_middle_is_the_servers() {
    assert_eq!(Chat.decode(br#"{"message":"internal"}"#), Err(WireError::server("internal")));
    let event = "event: error\ndata: {\"message\":\"internal\"}\n\n";
    assert_eq!(feed(&Chat, event), Err(WireError::server("internal")));
}

#[test]
fn refusals_have_a_class() {
    let month = "You are using a Trial key, which is limited to 1000 API calls / month.";
    let minute = "You are using a Trial key, which is limited to 20 API calls / minute.";
    let table = [
        (401, "invalid api token", (Class::Auth, Then::Stop)),
        (402, "Please add a payment method", (Class::Auth, Then::Stop)),
        (403, "forbidden", (Class::Auth, Then::Stop)),
        (404, "model 'x' not found", (Class::BadRequest, Then::Stop)),
        (400, "too many tokens", (Class::BadRequest, Then::Fail)),
        (422, "invalid", (Class::BadRequest, Then::Fail)),
        (498, "blocked", (Class::ContentFilter, Then::Fail)),
        (499, "request cancelled", (Class::Server, Then::Retry)),
        (429, minute, (Class::RateLimited, Then::Retry)),
        (429, month, (Class::Auth, Then::Stop)),
        (500, "internal", (Class::Server, Then::Retry)),
        (504, "timed out", (Class::Timeout, Then::Retry)),
    ];
    for (status, message, (class, then)) in table {
        let body = format!(r#"{{"id":"1","message":"{message}"}}"#);
        let refused = Chat.refuse(status, body.as_bytes());
        assert_eq!((refused.class, refused.then, refused.message.as_str()), (class, then, message));
    }
    let refused = Chat.refuse(503, b"<html>busy</html>");
    assert_eq!(refused.message, "the server answered with status 503 and no JSON");
    assert_eq!(Chat.refuse(498, b"").class, Class::ContentFilter);
}

#[test]
fn mutations_do_not_panic() {
    survives(&Chat, &[ANSWER.as_bytes(), CALLS.as_bytes()], &[ANSWER_STREAM, CALLS_STREAM]);
}
