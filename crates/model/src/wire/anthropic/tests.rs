use proofmark_artefact::record::{Message, Role, Usage};
use proofmark_canon::Value;
use proptest::prelude::*;

use super::super::testing::{ask, assemble, call, damaged, events, garbled, value, weather_tool, with_file};
use super::super::{Finish, Then, Wire};
use super::Messages;
use crate::ask::{Request, Turn};
use crate::class::Class;

const MODEL: &str = "claude-sonnet-4-5";

fn body(request: &Request) -> Result<String, String> {
    let call = Messages.encode(MODEL, request)?;
    assert_eq!(call.path, "/v1/messages");
    assert_eq!(call.streamed, request.is_streamed());
    Ok(String::from_utf8(call.body).unwrap())
}

/// One member of the body that a request with a tool and these parameters gets.
fn member(params: &str, name: &str) -> Result<Value, String> {
    let mut request = ask("hi", params);
    request.tools = [weather_tool()].into();
    body(&request).map(|body| value(&body).get(name).cloned().unwrap_or_default())
}

#[test]
fn a_question_becomes_a_message_with_the_default_limit() {
    assert_eq!(body(&ask("What is 2+2?", "{}")).unwrap(), include_str!("fixtures/request_plain.json").trim_end());
}

#[test]
fn every_parameter_has_its_place() {
    let mut request = ask(
        "Well?",
        r#"{"max_tokens":2048,"temperature":0.5,"top_p":0.9,"top_k":40,"stop":["END","\n\n"],"reasoning_effort":"high",
            "thinking_budget":1024,"service_tier":"standard_only","stream":true,"parallel_tool_calls":false,"seed":3,
            "response_schema":{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],
            "additionalProperties":false},"extra_body":{"metadata":{"user_id":"u1"}}}"#,
    );
    request.messages = [
        Message::new(Role::System, "Be brief."),
        Message::new(Role::System, ""),
        Message::new(Role::User, "Hello"),
        Message::new(Role::Assistant, "Salut !"),
        Message::new(Role::System, "Answer in French."),
        Message::new(Role::User, "And now?"),
        Message::new(Role::User, "Well?"),
    ]
    .into();
    request.tools = [weather_tool()].into();
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_params.json").trim_end());
}

#[test]
fn files_stand_before_the_text_of_their_message() {
    let mut request = ask("What is in these files?", "{}");
    request = with_file(request, "shot.png", "image/png", b"\x89PNG");
    request = with_file(request, "docs/paper.pdf", "application/pdf", b"%PDF");
    request = with_file(request, "docs/notes.md", "text/markdown; charset=utf-8", b"# Notes\n");
    request = with_file(request, "docs/rows.json", "application/json", b"[1]");
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_files.json").trim_end());
}

#[test]
fn a_file_without_a_question_makes_no_empty_text() {
    let request = with_file(ask("", "{}"), "a.txt", "text/plain", b"a");
    let body = value(&body(&request).unwrap());
    let content = body.get("messages").unwrap().as_array().unwrap()[0].get("content").unwrap();
    assert_eq!(content.as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_sent_is_named() {
    let user = ask("hi", "{}");
    let audio = with_file(user.clone(), "a.wav", "audio/wav", b"x");
    let latin = with_file(user.clone(), "a.txt", "text/plain", b"\xe9");
    let mut lost = with_file(user.clone(), "a.png", "image/png", b"x");
    lost.files = [].into();
    let with_role = |role| {
        let mut request = with_file(user.clone(), "a.png", "image/png", b"x");
        let mut messages = request.messages.to_vec();
        messages[0].role = role;
        request.messages = messages.into();
        request
    };
    let mut no_such_tool = ask("hi", r#"{"tool_choice":"get_wether"}"#);
    no_such_tool.tools = [weather_tool()].into();
    for (request, expected) in [
        (audio, "the file `a.wav` is `audio/wav`; images (png, jpeg, gif, webp), PDF and text files can be sent"),
        (latin, "the text file `a.txt` is not UTF-8"),
        (lost, "the bytes of `a.png` are not at hand"),
        (with_role(Role::System), "a system message cannot carry a file such as `a.png`"),
        (with_role(Role::Assistant), "only a user's message can carry a file"),
        (no_such_tool, "`tool_choice` is `get_wether`, but there is no such tool"),
        (
            ask("hi", r#"{"reasoning_effort":"minimal"}"#),
            "`reasoning_effort` is `minimal`; this provider knows low, medium, high, xhigh, max",
        ),
    ] {
        assert_eq!(body(&request), Err(expected.to_owned()));
    }
}

#[test]
fn results_of_one_turn_go_back_in_one_message() {
    let result = |id: &str, output: &str, is_error| Turn::Tool {
        call_id: id.to_owned(),
        name: "get_weather".to_owned(),
        output: output.to_owned(),
        is_error,
    };
    let mut request = ask("Compare the weather of Paris and Rome.", "{}");
    request.tools = [weather_tool()].into();
    request.turns = vec![
        Turn::Model {
            text: "Let me look.".to_owned(),
            calls: vec![
                call("toolu_01", "get_weather", r#"{"city":"Paris"}"#),
                call("toolu_02", "get_weather", r#""{\"city\":\"Ro""#),
            ],
            keep: Some(value(
                r#"[{"type":"thinking","thinking":"Two cities, two calls.","signature":"EqQBCgIYAg=="},
                    {"type":"redacted_thinking","data":"EmwKAhgBEgy3"}]"#,
            )),
        },
        result("toolu_01", "21 degrees", false),
        result("toolu_02", "the arguments are not JSON", true),
        Turn::Model {
            text: String::new(),
            calls: vec![call("toolu_03", "get_weather", r#"{"city":"Rome"}"#)],
            keep: None,
        },
        result("toolu_03", "", false),
    ];
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_turns.json").trim_end());
}

#[test]
fn a_choice_of_tools_is_said_in_the_providers_words() {
    for (params, expected) in [
        ("{}", "null"),
        (r#"{"parallel_tool_calls":true}"#, "null"),
        (r#"{"tool_choice":"auto"}"#, r#"{"type":"auto"}"#),
        (r#"{"tool_choice":"none","parallel_tool_calls":false}"#, r#"{"type":"none"}"#),
        (r#"{"tool_choice":"required"}"#, r#"{"type":"any"}"#),
        (r#"{"tool_choice":"any","parallel_tool_calls":false}"#, r#"{"disable_parallel_tool_use":true,"type":"any"}"#),
        (r#"{"tool_choice":"get_weather"}"#, r#"{"name":"get_weather","type":"tool"}"#),
        (r#"{"tool_choice":{"type":"tool","name":"x"}}"#, r#"{"name":"x","type":"tool"}"#),
    ] {
        assert_eq!(member(params, "tool_choice").unwrap().to_string(), expected, "{params}");
    }
    // Without tools the provider refuses a choice.
    assert!(!body(&ask("hi", r#"{"tool_choice":"auto","parallel_tool_calls":false}"#)).unwrap().contains("tool"));
}

#[test]
fn a_budget_for_reasoning_comes_on_top_of_the_default_limit() {
    for (params, limit, thinking) in [
        (r#"{"thinking_budget":8000}"#, "12096", r#"{"budget_tokens":8000,"type":"enabled"}"#),
        (r#"{"thinking_budget":8000,"max_tokens":9000}"#, "9000", r#"{"budget_tokens":8000,"type":"enabled"}"#),
        (r#"{"thinking_budget":0}"#, "4096", r#"{"type":"disabled"}"#),
        ("{}", "4096", "null"),
    ] {
        assert_eq!(member(params, "max_tokens").unwrap().to_string(), limit, "{params}");
        assert_eq!(member(params, "thinking").unwrap().to_string(), thinking, "{params}");
    }
}

#[test]
fn a_tool_without_parameters_still_takes_an_object() {
    let mut request = ask("hi", "{}");
    let mut tool = weather_tool();
    (tool.parameters, tool.description) = (Default::default(), String::new());
    request.tools = [tool].into();
    assert!(body(&request).unwrap().contains(r#""tools":[{"input_schema":{"type":"object"},"name":"get_weather"}]"#));
}

#[test]
fn a_whole_message_is_read() {
    let reply = Messages.decode(include_bytes!("fixtures/reply_text.json")).unwrap();
    assert_eq!(reply.text, "2+2 is 4.");
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(reply.usage, Usage { input_tokens: 2112, output_tokens: 8 });
    assert_eq!(reply.cached, Some(2000));
    assert_eq!(reply.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
    assert_eq!((reply.reasoning, reply.keep), (None, None));
}

#[test]
fn calls_bring_the_reasoning_that_must_go_back() {
    let reply = Messages.decode(include_bytes!("fixtures/reply_tool_use.json")).unwrap();
    assert_eq!(reply.text, "I will check.");
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.reasoning.as_deref(), Some("The user wants the weather."));
    assert_eq!(
        reply.calls,
        [call("toolu_01A09q90qw90lq917835lq9", "get_weather", r#"{"city":"Paris"}"#), call("toolu_02", "now", "{}")]
    );
    assert_eq!(
        reply.keep.unwrap().to_string(),
        r#"[{"signature":"EqQBCgIYAg==","thinking":"The user wants the weather.","type":"thinking"},{"data":"EmwKAhgBEgy3","type":"redacted_thinking"}]"#
    );
}

#[test]
fn a_refusal_gives_the_providers_explanation() {
    let reply = Messages.decode(include_bytes!("fixtures/reply_refusal.json")).unwrap();
    assert_eq!(reply.finish, Finish::Refused("This request was declined.".to_owned()));
    assert_eq!(reply.usage, Usage { input_tokens: 30, output_tokens: 1 });
}

#[test]
fn every_stop_reason_has_its_meaning() {
    for (reason, expected) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("tool_use", Finish::ToolCalls),
        ("refusal", Finish::Refused("refusal".to_owned())),
        ("pause_turn", Finish::Failed("the turn was paused and not ended".to_owned())),
        ("a_new_reason", Finish::Other("a_new_reason".to_owned())),
    ] {
        let body = format!(r#"{{"content":[],"stop_reason":"{reason}"}}"#);
        let reply = Messages.decode(body.as_bytes()).unwrap();
        assert_eq!(reply.finish, expected);
        assert_eq!((reply.text.as_str(), reply.usage, reply.cached), ("", Usage::default(), None));
    }
}

#[test]
fn a_reply_that_is_not_as_documented_is_no_answer() {
    for (body, class, message) in [
        ("[]", Class::Malformed, "the reply has no list `content`"),
        (r#"{"stop_reason":"end_turn"}"#, Class::Malformed, "the reply has no list `content`"),
        (r#"{"content":"4","stop_reason":"end_turn"}"#, Class::Malformed, "the reply has no list `content`"),
        (r#"{"content":[]}"#, Class::Malformed, "the reply has no `stop_reason`"),
        (r#"{"content":[],"stop_reason":null}"#, Class::Malformed, "the reply has no `stop_reason`"),
        (r#"{"content":[],"stop_reason":1}"#, Class::Malformed, "`stop_reason` is a number, expected a text"),
        (r#"{"content":[4]}"#, Class::Malformed, "the reply has no `type`"),
        (r#"{"content":[{"type":"text"}]}"#, Class::Malformed, "the reply has no `text`"),
        (r#"{"content":[{"type":"text","text":4}]}"#, Class::Malformed, "`text` is a number, expected a text"),
        (r#"{"content":[{"type":"tool_use","id":"a"}]}"#, Class::Malformed, "the reply has no `name`"),
        (r#"{"content":[],"usage":[]}"#, Class::Malformed, "`usage` is a list, expected counts"),
        (
            r#"{"content":[],"usage":{"input_tokens":-1}}"#,
            Class::Malformed,
            "`input_tokens` is a number, expected a count",
        ),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Class::Server,
            "overloaded_error: Overloaded",
        ),
        (r#"{"type":"error"}"#, Class::Server, "an error without a reason"),
    ] {
        let error = Messages.decode(body.as_bytes()).unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (class, message), "{body}");
    }
}

#[test]
fn a_reply_cut_at_any_byte_is_no_answer() {
    let whole = include_str!("fixtures/reply_tool_use.json").trim_end();
    for cut in 0..whole.len() {
        let error = Messages.decode(&whole.as_bytes()[..cut]).unwrap_err();
        assert!(matches!(error.class, Class::Malformed | Class::Truncated), "after {cut} bytes: {error:?}");
    }
}

#[test]
fn a_streamed_message_is_put_together() {
    let reply = assemble(&Messages, &events(include_str!("fixtures/stream_text.sse"))).unwrap();
    assert_eq!(reply.text, "Hello, wörld");
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(reply.usage, Usage { input_tokens: 30, output_tokens: 15 });
    assert_eq!(reply.cached, Some(5));
    assert_eq!(reply.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
}

#[test]
fn streamed_calls_are_put_together() {
    let reply = assemble(&Messages, &events(include_str!("fixtures/stream_tool_use.sse"))).unwrap();
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.reasoning.as_deref(), Some("Paris, then."));
    assert_eq!(
        reply.calls,
        [call("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", r#"{"city":"Paris"}"#), call("toolu_02", "now", "{}")]
    );
    assert_eq!(
        reply.keep.unwrap().to_string(),
        r#"[{"signature":"EqQBCgIYAg==","thinking":"Paris, then.","type":"thinking"},{"data":"EmwKAhgBEgy3","type":"redacted_thinking"}]"#
    );
    // The count of the start is zero; the last one counts.
    assert_eq!(reply.usage, Usage { input_tokens: 472, output_tokens: 89 });
}

#[test]
fn a_call_whose_input_was_cut_keeps_its_text() {
    let reply = assemble(
        &Messages,
        &[
            ("", r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#),
            ("", r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"ci"}}"#),
            ("", r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#),
            ("", r#"{"type":"message_stop"}"#),
        ],
    )
    .unwrap();
    assert_eq!(reply.calls, [call("a", "f", r#""{\"ci""#)]);
    assert_eq!(reply.finish, Finish::Length);
}

#[test]
fn a_stream_without_its_last_event_is_cut() {
    for text in [include_str!("fixtures/stream_text.sse"), include_str!("fixtures/stream_tool_use.sse")] {
        let events = events(text);
        for kept in 0..events.len() {
            let error = assemble(&Messages, &events[..kept]).unwrap_err();
            assert_eq!(error.class, Class::StreamCut, "after {kept} events");
        }
    }
}

#[test]
fn only_the_last_event_ends_a_stream() {
    let events = events(include_str!("fixtures/stream_text.sse"));
    let mut assembler = Messages.assemble();
    let ends: Vec<bool> = events.iter().map(|(event, data)| assembler.take(event, data).unwrap()).collect();
    assert_eq!(ends.iter().filter(|end| **end).count(), 1);
    assert_eq!(ends.last(), Some(&true));
}

#[test]
fn an_event_that_is_not_as_documented_is_no_part_of_an_answer() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    for (data, class) in [
        ("{", Class::Truncated),
        ("[DONE]", Class::Malformed),
        ("{}", Class::Malformed),
        (start, Class::Malformed),
        (r#"{"type":"message_start"}"#, Class::Malformed),
        (r#"{"type":"content_block_start","index":1}"#, Class::Malformed),
        (r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#, Class::Malformed),
        (r#"{"type":"content_block_delta","index":0}"#, Class::Malformed),
        (r#"{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"a"}}"#, Class::Malformed),
        (r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#, Class::Malformed),
        (
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1"}}"#,
            Class::Malformed,
        ),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Class::Server),
    ] {
        let mut assembler = Messages.assemble();
        assembler.take("", start).unwrap();
        assert_eq!(assembler.take("", data).unwrap_err().class, class, "{data}");
    }
}

#[test]
fn a_filter_in_the_middle_of_a_stream_is_told_from_a_failure() {
    let data =
        r#"{"type":"error","error":{"type":"api_error","message":"Output blocked by content filtering policy"}}"#;
    let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9}}}"#;
    let mut assembler = Messages.assemble();
    assert_eq!(assembler.take("message_start", start), Ok(false));
    assert_eq!(assembler.take("error", data), Ok(true));
    let reply = assembler.finish().unwrap();
    assert_eq!(reply.finish, Finish::Filtered("api_error: Output blocked by content filtering policy".to_owned()));
    assert_eq!(reply.usage.input_tokens, 9);
}

#[test]
fn every_error_has_its_class() {
    for (status, kind, message, class, then) in [
        (401, "authentication_error", "invalid x-api-key", Class::Auth, Then::Stop),
        (403, "permission_error", "no access", Class::Auth, Then::Stop),
        (402, "billing_error", "unpaid", Class::Auth, Then::Stop),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
            Class::Auth,
            Then::Stop,
        ),
        (400, "invalid_request_error", "You have reached your specified API usage limits.", Class::Auth, Then::Stop),
        (400, "invalid_request_error", "Output blocked by content filtering policy", Class::ContentFilter, Then::Fail),
        (400, "invalid_request_error", "max_tokens: too large", Class::BadRequest, Then::Fail),
        (413, "request_too_large", "too large", Class::BadRequest, Then::Fail),
        (404, "not_found_error", "model: claude-9", Class::BadRequest, Then::Stop),
        (429, "rate_limit_error", "slow down", Class::RateLimited, Then::Retry),
        (529, "overloaded_error", "Overloaded", Class::RateLimited, Then::Retry),
        (500, "api_error", "Internal server error", Class::Server, Then::Retry),
        (504, "timeout_error", "Request timeout", Class::Timeout, Then::Retry),
        (409, "conflict_error", "busy", Class::Server, Then::Retry),
        (418, "a_new_error", "tea", Class::BadRequest, Then::Fail),
    ] {
        let body =
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#);
        let refused = Messages.refuse(status, body.as_bytes());
        assert_eq!((refused.class, refused.then, refused.message.as_str()), (class, then, message), "{kind}");
    }
}

#[test]
fn an_error_that_cannot_be_read_is_judged_by_its_status() {
    for (status, body, message, class) in [
        (502, "<html><h1>502 Bad Gateway</h1></html>", "the provider gave no reason that can be read", Class::Server),
        (401, "", "the provider gave no reason that can be read", Class::Auth),
        (429, r#"{"error":"slow down"}"#, "the provider gave no reason that can be read", Class::RateLimited),
        (529, r#"{"error":{"type":"overloaded_error"}}"#, "overloaded_error", Class::RateLimited),
    ] {
        let refused = Messages.refuse(status, body.as_bytes());
        assert_eq!((refused.class, refused.message.as_str()), (class, message), "{status} {body}");
    }
}

#[test]
fn the_wire_says_what_it_takes() {
    assert!(!Messages.takes_seed());
    assert_eq!(Messages.headers(), [("anthropic-version", "2023-06-01")]);
    assert!(!Messages.params().contains(&"logprobs"));
}

proptest! {
    #[test]
    fn no_damage_to_a_reply_makes_decoding_panic(
        whole in prop_oneof![
            damaged(include_str!("fixtures/reply_text.json")),
            damaged(include_str!("fixtures/reply_tool_use.json")),
            damaged(include_str!("fixtures/reply_refusal.json")),
        ],
        bytes in garbled(include_str!("fixtures/reply_tool_use.json")),
    ) {
        for body in [whole.as_bytes(), &bytes] {
            let _ = Messages.decode(body);
            let _ = Messages.refuse(400, body);
        }
    }

    #[test]
    fn no_damage_to_a_stream_makes_assembling_panic(bytes in prop_oneof![
        garbled(include_str!("fixtures/stream_text.sse")),
        garbled(include_str!("fixtures/stream_tool_use.sse")),
    ]) {
        let _ = assemble(&Messages, &events(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn a_stream_cut_at_any_byte_is_never_an_answer(cut in any::<prop::sample::Index>()) {
        let text = include_str!("fixtures/stream_tool_use.sse");
        let end = text.rfind("event: message_stop").unwrap();
        let cut = String::from_utf8_lossy(&text.as_bytes()[..cut.index(end)]).into_owned();
        prop_assert!(assemble(&Messages, &events(&cut)).is_err());
    }
}
