use std::sync::Arc;

use proofmark_artefact::record::{ToolCall, Usage};
use proofmark_canon::{Value, json};

use super::super::parts::testing::{attached, conversation, encoded, every_cut_is_found, feed, map, request, survives};
use super::super::{Class, Finish, Then, Wire, WireError};
use super::Chat;

/// Stands for a reply that ends inside of a value.
const CUT_OFF: &str = "cut off";

const ANSWER: &str = include_str!("fixtures/answer.json");
const CALLS: &str = include_str!("fixtures/calls.json");
const THINKING: &str = include_str!("fixtures/thinking.json");
const ANSWER_STREAM: &str = include_str!("fixtures/answer.sse");
const CALLS_STREAM: &str = include_str!("fixtures/calls.sse");

#[test]
fn requests_are_in_its_words() {
    let all = r#"{"temperature":0.5,"top_p":0.9,"max_tokens":64,"stop":["END"],"frequency_penalty":0.1,
        "presence_penalty":0.2,"reasoning_effort":"high","safe_prompt":true,"stream":true,"seed":5,
        "tool_choice":"required","response_schema":{"type":"object"},"extra_body":{"prompt_mode":"reasoning"}}"#;
    let table = [
        (
            request("{}"),
            r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","random_seed":704460341,"stream":false}"#,
        ),
        (
            request(all),
            r#"{"frequency_penalty":0.1,"max_tokens":64,"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"model":"m","presence_penalty":0.2,"prompt_mode":"reasoning","random_seed":5,"reasoning_effort":"high","response_format":{"json_schema":{"name":"response","schema":{"type":"object"},"strict":true},"type":"json_schema"},"safe_prompt":true,"stop":["END"],"stream":true,"temperature":0.5,"top_p":0.9}"#,
        ),
        (
            attached("a.png", "image/png", b"\x89PNG"),
            r#"{"messages":[{"content":[{"text":"Look.","type":"text"},{"image_url":{"url":"data:image/png;base64,iVBORw=="},"type":"image_url"}],"role":"user"}],"model":"m","stream":false}"#,
        ),
        (
            conversation("a1", None),
            r#"{"messages":[{"content":"Weather?","role":"user"},{"content":"Let me look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"Oslo\"}","name":"weather"},"id":"a1","type":"function"}]},{"content":"4 degrees","name":"weather","role":"tool","tool_call_id":"a1"}],"model":"m","stream":false,"tools":[{"function":{"description":"Tells the weather.","name":"weather","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}},"type":"function"}]}"#,
        ),
    ];
    for (request, body) in table {
        assert_eq!(encoded(&Chat, "m", &request), format!("/v1/chat/completions {body}"));
    }
}

#[test]
fn a_call_that_must_come_is_any() {
    for (given, sent) in [("\"required\"", "\"any\""), ("\"any\"", "\"any\""), ("\"none\"", "\"none\"")] {
        let mut request = conversation("a1", None);
        request.params = Arc::new(map(&format!("{{\"tool_choice\":{given}}}")));
        assert!(encoded(&Chat, "m", &request).contains(&format!("\"tool_choice\":{sent},")));
    }
    let mut request = conversation("a1", None);
    request.params = Arc::new(map(r#"{"tool_choice":"weather"}"#));
    let error = Chat.encode("m", &request).unwrap_err();
    assert_eq!(error, "`tool_choice` is `weather`, expected auto, none, any or a mapping");
}

#[test]
fn what_it_cannot_take_is_said() {
    let table = [
        (attached("a.pdf", "application/pdf", b"%PDF"), "`a.pdf` is application/pdf, which this provider cannot take"),
        (attached("a.txt", "text/plain", b"\xff"), "`a.txt` is not UTF-8"),
    ];
    for (request, said) in table {
        assert_eq!(Chat.encode("m", &request).unwrap_err(), said);
    }
    let mut lost = attached("a.png", "image/png", b"\x89PNG");
    lost.files = Vec::new().into();
    assert_eq!(Chat.encode("m", &lost).unwrap_err(), "the bytes of `a.png` are missing");
}

#[test]
fn a_text_file_becomes_text() {
    let body = encoded(&Chat, "m", &attached("a.txt", "text/plain", b"inside"));
    assert!(body.contains(r#"{"content":"Look.\n\ninside","role":"user"}"#), "{body}");
}

#[test]
fn a_whole_answer_is_read() {
    let got = Chat.decode(ANSWER.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), &got.finish, got.reasoning), ("Because.", &Finish::Stop, None));
    assert_eq!((got.usage, got.cached), (Usage { input_tokens: 16, output_tokens: 34 }, Some(8)));
    assert_eq!((got.model.as_deref(), got.keep), (Some("mistral-small-2506"), None));
}

#[test]
fn arguments_that_are_not_json_stay_text() {
    let got = Chat.decode(CALLS.as_bytes()).unwrap();
    let city = |city: &str| json::parse(format!("{{\"city\":\"{city}\"}}").as_bytes()).unwrap();
    let call = |id: &str, name: &str, arguments| (id.to_owned(), ToolCall { arguments, name: name.to_owned() });
    let broken = call("y1", "broken", Value::from("{\"city\": "));
    assert_eq!(got.calls, [call("D681PevKs", "weather", city("Oslo")), call("x9", "weather", city("Rome")), broken]);
    assert_eq!(got.finish, Finish::ToolCalls);
}

#[test]
fn thinking_is_reasoning_and_is_given_back() {
    let got = Chat.decode(THINKING.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("It is 4.", Some("Let me see.")));
    assert_eq!(got.finish, Finish::Length);
    let keep =
        r#"[{"thinking":[{"text":"Let me see.","type":"text"}],"type":"thinking"},{"text":"It is 4.","type":"text"}]"#;
    assert_eq!(got.keep.clone().unwrap().to_string(), keep);
    let next = encoded(&Chat, "m", &conversation("a1", got.keep));
    assert!(next.contains(&format!(r#"{{"content":{keep},"role":"assistant","tool_calls""#)), "{next}");
}

#[test]
fn a_stream_is_put_together() {
    let got = feed(&Chat, ANSWER_STREAM).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Because.", Some("Hm.")));
    assert_eq!((got.finish, got.usage.output_tokens), (Finish::Length, 7));
    assert_eq!(got.model.as_deref(), Some("mistral-small-2506"));
    let got = feed(&Chat, CALLS_STREAM).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id} {} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"a1 weather {"city":"Oslo"}"#, "b2 clock {}"]);
    assert_eq!(got.finish, Finish::ToolCalls);
}

#[test]
fn a_stream_without_its_end_is_cut() {
    every_cut_is_found(&Chat, ANSWER_STREAM);
    every_cut_is_found(&Chat, CALLS_STREAM);
    // The end came, but nothing ever said that the answer was complete.
    assert_eq!(feed(&Chat, "data: [DONE]\n\n"), Err(WireError::cut()));
}

#[test]
fn reasons_to_end_are_ours() {
    let failed = Finish::Failed("the provider ended the answer with an error".into());
    for (word, finish) in [
        ("error", failed),
        ("length", Finish::Length),
        ("model_length", Finish::Length),
        ("content_filter", Finish::Filtered(String::new())),
        ("new", Finish::Other("new".into())),
    ] {
        let body = ANSWER.replace("\"stop\"", &format!("\"{word}\""));
        assert_eq!(Chat.decode(body.as_bytes()).unwrap().finish, finish);
    }
}

#[test]
fn a_reply_that_is_none_is_malformed() {
    let table = [
        (&ANSWER[..200], CUT_OFF),
        ("{}", "the reply has no `choices`"),
        (r#"{"choices":[]}"#, "the reply has no `choices`"),
        (r#"{"choices":"x"}"#, "the reply has no `choices`"),
        (r#"{"choices":[{}]}"#, "the choice has no `message`"),
        (r#"{"choices":[{"message":{"content":"a"}}]}"#, "the choice has no `finish_reason`"),
        (r#"{"choices":[{"message":{"content":7}}]}"#, "`content` is a number, expected a text"),
        (r#"{"choices":[{"message":{"content":[{}]}}]}"#, "a part of the content has no `type`"),
        (r#"{"choices":[{"message":{"tool_calls":{}}}]}"#, "`tool_calls` is a mapping, expected a list"),
        (r#"{"choices":[{"message":{"tool_calls":[1]}}]}"#, "a tool call is a number, expected a mapping"),
        (
            r#"{"choices":[{"message":{"tool_calls":[{"id":"a"}]},"finish_reason":"tool_calls"}]}"#,
            "a tool call has no name",
        ),
    ];
    for (body, said) in table {
        let expected = if said == CUT_OFF { WireError::truncated() } else { WireError::malformed(said) };
        assert_eq!(Chat.decode(body.as_bytes()), Err(expected), "{body}");
    }
}

#[test]
fn an_error_in_the_middle_is_the_servers() {
    let error = r#"{"object":"error","message":"Service unavailable","type":"internal_server_error","code":"3000"}"#;
    assert_eq!(feed(&Chat, &format!("data: {error}\n\n")), Err(WireError::server("Service unavailable")));
    assert_eq!(Chat.decode(error.as_bytes()), Err(WireError::server("Service unavailable")));
}

#[test]
fn an_index_out_of_reach_is_malformed() {
    for index in ["1024", "4294967296"] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"a"}}]}}}}]}}"#);
        let error = feed(&Chat, &format!("data: {chunk}\n\n")).unwrap_err();
        assert_eq!(error, WireError::malformed("more than 1024 tool calls"));
    }
}

#[test]
fn refusals_have_a_class() {
    let table = [
        (
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}"#,
            (Class::BadRequest, Then::Stop, "Invalid model: x"),
        ),
        (401, r#"{"message":"Unauthorized","request_id":"1f"}"#, (Class::Auth, Then::Stop, "Unauthorized")),
        (401, r#"{"detail":"Unauthorized"}"#, (Class::Auth, Then::Stop, "Unauthorized")),
        (
            422,
            r#"{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required","input":{}}]}"#,
            (Class::BadRequest, Then::Fail, "body.messages.0: Field required"),
        ),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"loc":["body"],"msg":"no"}]},"type":"invalid_request_error"}"#,
            (Class::BadRequest, Then::Fail, "body: no"),
        ),
        (
            403,
            r#"{"object":"error","message":"Request blocked by guardrail","type":"guardrail_error"}"#,
            (Class::ContentFilter, Then::Fail, "Request blocked by guardrail"),
        ),
        (403, r#"{"message":"no access"}"#, (Class::Auth, Then::Stop, "no access")),
        (
            429,
            r#"{"object":"error","message":"Rate limit exceeded","type":"rate_limited","code":"1300"}"#,
            (Class::RateLimited, Then::Retry, "Rate limit exceeded"),
        ),
        (
            502,
            "<html><body>Bad gateway</body></html>",
            (Class::Server, Then::Retry, "the server answered with status 502 and no JSON"),
        ),
        (500, "{}", (Class::Server, Then::Retry, "the server answered with status 500 and no message")),
    ];
    for (status, body, (class, then, message)) in table {
        let refused = Chat.refuse(status, body.as_bytes());
        assert_eq!((refused.class, refused.then, refused.message.as_str()), (class, then, message), "{body}");
    }
}

#[test]
fn mutations_do_not_panic() {
    let replies = [ANSWER.as_bytes(), CALLS.as_bytes(), THINKING.as_bytes()];
    survives(&Chat, &replies, &[ANSWER_STREAM, CALLS_STREAM]);
}
