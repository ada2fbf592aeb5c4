use super::chat::{filtered, hello, refusal, tools, with_logprobs};
use super::*;
use crate::wire::Finish;

fn put_together(sse: &str) -> Result<Completion, WireError> {
    assembled(&OPENAI, &events(sse))
}

#[test]
fn a_stream_says_what_the_whole_reply_says() {
    let cases = [
        ("text", fixture!("chat_stream.sse"), hello()),
        ("tools", fixture!("chat_stream_tools.sse"), tools()),
        ("refusal", fixture!("chat_stream_refusal.sse"), refusal()),
        ("logprobs", fixture!("chat_stream_logprobs.sse"), with_logprobs()),
        ("azure filtered", fixture!("chat_stream_filtered.sse"), filtered()),
    ];
    for (name, sse, expected) in cases {
        assert_eq!(put_together(sse), Ok(expected), "{name}");
    }
}

#[test]
fn blocks_of_reasoning_are_joined_and_kept() {
    let answer = put_together(fixture!("chat_stream_reasoning.sse")).unwrap();
    let details = r#"{"reasoning_details":[
        {"type":"reasoning.text","text":"Say hello.","signature":"sig","format":"f1","index":0},
        {"type":"reasoning.encrypted","data":"gAAA","index":1}]}"#;
    assert_eq!(answer.keep, Some(value(details)));
    assert_eq!(answer.reasoning.as_deref(), Some("Say hello."));
    assert_eq!(answer.calls, [call("call_a", "clock", "{}")]);
}

#[test]
fn a_stream_that_ends_before_its_last_event_is_cut() {
    for sse in [fixture!("chat_stream.sse"), fixture!("chat_stream_tools.sse"), fixture!("chat_stream_refusal.sse")] {
        let events = events(sse);
        let whole = assembled(&OPENAI, &events);
        // All that is missing from the last but one is `[DONE]`.
        assert_eq!(assembled(&OPENAI, &events[..events.len() - 1]), whole);
        for end in 0..events.len() - 1 {
            assert_eq!(assembled(&OPENAI, &events[..end]), Err(WireError::cut()), "{end}");
        }
    }
}

#[test]
fn usage_on_the_way_is_not_the_last_word() {
    let chunk = |finish: &str, tokens: u32| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"a"}},"finish_reason":{finish}}}],
            "usage":{{"prompt_tokens":3,"completion_tokens":{tokens}}}}}"#
        )
    };
    let (first, last) = (chunk("null", 1), chunk(r#""stop""#, 2));
    assert_eq!(assembled(&COMPATIBLE, &[("", first.as_str())]), Err(WireError::cut()));
    let answer = assembled(&COMPATIBLE, &[("", first.as_str()), ("", last.as_str())]).unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.output_tokens), ("aa", 2));
}

#[test]
fn a_stream_that_is_done_without_a_reason_is_malformed() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let error = assembled(&OPENAI, &[("", chunk), ("", "[DONE]")]).unwrap_err();
    assert_eq!(error, WireError::malformed("the reply has no `finish_reason`"));
}

#[test]
fn an_error_in_the_middle_is_the_servers() {
    let half = r#"{"choices":[{"index":0,"delta":{"content":"Half"}}]}"#;
    let cases = [
        (("", r#"{"error":{"message":"had an error","type":"server_error"}}"#), "had an error"),
        (("", r#"{"error":"Request failed","error_type":"generation"}"#), "Request failed"),
        (("", r#"{"object":"error","message":"boom","code":400}"#), "boom"),
        (("error", r#"{"message":"unloaded"}"#), "unloaded"),
        (("error", r#"{"error":{"message":"unloaded"}}"#), "unloaded"),
    ];
    for (event, message) in cases {
        assert_eq!(assembled(&COMPATIBLE, &[("", half), event, ("", "[DONE]")]), Err(WireError::server(message)));
    }
    let error = put_together(fixture!("chat_stream_error.sse")).unwrap_err();
    assert_eq!(error, WireError::server("Provider disconnected unexpectedly"));
}

#[test]
fn a_filter_in_the_middle_keeps_what_came_and_is_no_answer() {
    let half = r#"{"choices":[{"index":0,"delta":{"content":"Half"}}]}"#;
    let filter = r#"{"error":{"code":"content_filter","message":"policy"}}"#;
    let answer = assembled(&OPENAI, &[("", half), ("", filter)]).unwrap();
    let finish = Finish::Filtered("policy".to_owned());
    assert_eq!(answer, Completion { text: "Half".to_owned(), finish, ..Completion::default() });
}

#[test]
fn an_event_that_ends_inside_of_a_value_is_a_cut() {
    assert_eq!(assembled(&OPENAI, &[("", r#"{"choices":[{"#)]), Err(WireError::cut()));
    assert!(assembled(&OPENAI, &[("", "oops")]).is_err_and(|error| error.message.starts_with("the reply is not JSON")));
}

#[test]
fn calls_are_told_apart_without_trust_in_their_index() {
    let chunk = |calls: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{calls}]}}}}]}}"#);
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let cases = [
        // Every call has the index 0, and an id of its own.
        vec![
            chunk(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            chunk(r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}"#),
        ],
        // No index at all.
        vec![chunk(
            r#"{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}"#,
        )],
        // An index far away, and a name and an id that are said again.
        vec![
            chunk(r#"{"index":1099511627776,"id":"a","function":{"name":"f","arguments":"{"}}"#),
            chunk(r#"{"index":1099511627776,"id":"a","function":{"name":"f","arguments":"}"}}"#),
            chunk(r#"{"index":3,"id":"b","function":{"name":"g"}}"#),
        ],
    ];
    for case in cases {
        let mut events: Vec<(&str, &str)> = case.iter().map(|chunk| ("", chunk.as_str())).collect();
        events.extend([("", end), ("", "[DONE]")]);
        let answer = assembled(&COMPATIBLE, &events).unwrap();
        assert_eq!(answer.calls, [call("a", "f", "{}"), call("b", "g", "{}")], "{case:?}");
    }
}

#[test]
fn other_choices_are_not_ours() {
    let chunk = |index: u32, text: &str| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#)
    };
    let (ours, other) = (chunk(0, "a"), chunk(1, "b"));
    let answer = assembled(&OPENAI, &[("", ours.as_str()), ("", other.as_str()), ("", "[DONE]")]).unwrap();
    assert_eq!(answer.text, "a");
}
