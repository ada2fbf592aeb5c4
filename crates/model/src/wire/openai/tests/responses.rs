use super::chat::{hello, refusal, with_logprobs};
use super::*;
use crate::wire::Finish;
use crate::wire::openai::Responses;

fn decoded(text: &str) -> Result<Completion, WireError> {
    Responses.decode(text.as_bytes())
}

#[test]
fn whole_replies_are_read_as_those_of_chat_are() {
    let cases = [
        ("text", fixture!("responses_text.json"), hello()),
        ("logprobs", fixture!("responses_logprobs.json"), with_logprobs()),
        ("refusal", fixture!("responses_refusal.json"), refusal()),
    ];
    for (name, text, expected) in cases {
        assert_eq!(decoded(text), Ok(expected), "{name}");
    }
}

#[test]
fn calls_and_the_reasoning_behind_them_are_kept() {
    let answer = decoded(fixture!("responses_tools.json")).unwrap();
    assert_eq!(answer.calls, [call("call_a", "weather", r#"{"city":"Bonn"}"#)]);
    assert_eq!(answer.finish, Finish::ToolCalls);
    assert_eq!(answer.reasoning.as_deref(), Some("The city is Bonn.\n\nA tool knows."));
    let output = value(fixture!("responses_tools.json")).get("output").cloned();
    assert_eq!(answer.keep, output);
}

#[test]
fn reasoning_without_its_content_is_not_kept() {
    let text =
        fixture!("responses_tools.json").replace(r#""encrypted_content": "gAAAAB""#, r#""encrypted_content": null"#);
    let answer = decoded(&text).unwrap();
    assert_eq!((answer.calls.len(), answer.keep), (1, None));
}

#[test]
fn a_response_that_is_not_complete_says_why() {
    let incomplete = |details: &str| format!(r#"{{"status":"incomplete","output":[],"incomplete_details":{details}}}"#);
    let failed = |error: &str| format!(r#"{{"status":"failed","output":[],"error":{error}}}"#);
    let cases = [
        (fixture!("responses_length.json").to_owned(), Finish::Length),
        (fixture!("responses_filtered.json").to_owned(), Finish::Filtered(String::new())),
        (
            fixture!("responses_failed.json").to_owned(),
            Finish::Failed("The model failed to generate a response.".to_owned()),
        ),
        (incomplete(r#"{"reason":"steered"}"#), Finish::Other("steered".to_owned())),
        (incomplete("null"), Finish::Failed("the answer is incomplete and the provider does not say why".to_owned())),
        (failed(r#"{"code":"invalid_prompt","message":"flagged"}"#), Finish::Filtered("flagged".to_owned())),
        (failed("null"), Finish::Failed("the provider reports an error without a reason".to_owned())),
    ];
    for (text, finish) in cases {
        assert_eq!(decoded(&text).unwrap().finish, finish, "{text}");
    }
}

#[test]
fn what_is_not_documented_is_malformed() {
    let output = |item: &str| format!(r#"{{"status":"completed","output":[{item}]}}"#);
    let cases = [
        ("[]".to_owned(), "the reply has no `status`"),
        (r#"{"status":"queued","output":[]}"#.to_owned(), "the reply's `status` is `queued`, which is not an end"),
        (r#"{"status":"completed","output":{}}"#.to_owned(), "`output` of the reply is a mapping, expected a list"),
        (output(r#"{"type":"message","content":"a"}"#), "`content` of the reply is a string, expected a list"),
        (
            output(r#"{"type":"message","content":[{"type":"audio"}]}"#),
            "the reply's `content` has a part of the type `audio`",
        ),
        (
            output(r#"{"type":"function_call","name":"f"}"#),
            "a `function_call` of the reply has no `call_id` or no `name`",
        ),
        (output(r#"{"type":"reasoning","summary":[{"text":1}]}"#), "`text` of the reply is a number, expected a text"),
    ];
    for (text, message) in cases {
        assert_eq!(decoded(&text), Err(WireError::malformed(message)), "{text}");
    }
    assert_eq!(decoded(r#"{"error":{"message":"boom"}}"#), Err(WireError::server("boom")));
}

#[test]
fn the_last_event_of_a_stream_is_the_answer_and_the_pieces_agree_with_it() {
    let events = events(fixture!("responses_stream.sse"));
    let answer = assembled(&Responses, &events).unwrap();
    assert_eq!(answer, hello());
    let deltas = events.iter().filter(|(event, _)| *event == "response.output_text.delta");
    let text: String = deltas.map(|(_, data)| value(data).get("delta").unwrap().as_str().unwrap().to_owned()).collect();
    assert_eq!(text, answer.text);
}

#[test]
fn a_stream_without_its_last_event_is_cut() {
    let events = events(fixture!("responses_stream.sse"));
    for end in 0..events.len() {
        assert_eq!(assembled(&Responses, &events[..end]), Err(WireError::cut()), "{end}");
    }
    assert_eq!(assembled(&Responses, &[("", "[DONE]")]), Err(WireError::cut()));
}

#[test]
fn a_stream_that_fails_says_so() {
    let failed = assembled(&Responses, &events(fixture!("responses_stream_failed.sse"))).unwrap();
    assert_eq!(failed.finish, Finish::Failed("The model failed to generate a response.".to_owned()));
    let error = assembled(&Responses, &events(fixture!("responses_stream_error.sse")));
    assert_eq!(error, Err(WireError::server("Something went wrong")));
    let cases = [
        ("error", r#"{"type":"error","error":{"message":"nested"}}"#, "nested"),
        ("", r#"{"error":{"message":"bare"}}"#, "bare"),
    ];
    for (event, data, message) in cases {
        assert_eq!(assembled(&Responses, &[(event, data)]), Err(WireError::server(message)));
    }
}

#[test]
fn an_event_without_a_name_has_its_type() {
    let events = events(fixture!("responses_stream.sse"));
    let bare: Vec<(&str, &str)> = events.iter().map(|(_, data)| ("", *data)).collect();
    assert_eq!(assembled(&Responses, &bare), Ok(hello()));
}
