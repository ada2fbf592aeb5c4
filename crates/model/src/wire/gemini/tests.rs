use proofmark_artefact::record::{Message, Role, TokenLogprob, TopLogprob, Usage};
use proofmark_canon::Value;
use proptest::prelude::*;

use super::super::testing::{ask, assemble, call, damaged, events, garbled, value, weather_tool, with_file};
use super::super::{Finish, Picture, Then, Wire};
use super::Generate;
use crate::ask::{Request, Turn};
use crate::class::Class;

const TEXT: Generate = Generate { images: false };
const IMAGES: Generate = Generate { images: true };

fn body(request: &Request) -> Result<String, String> {
    Ok(String::from_utf8(TEXT.encode("gemini-2.5-flash", request)?.body).unwrap())
}

/// One member of the generation's settings that these parameters give.
fn setting(params: &str, name: &str) -> Result<Value, String> {
    let body = value(&body(&ask("hi", params))?);
    Ok(body.get("generationConfig").and_then(|config| config.get(name)).cloned().unwrap_or_default())
}

#[test]
fn a_question_becomes_a_content() {
    assert_eq!(
        body(&ask("What is 2+2?", r#"{"seed":42}"#)).unwrap(),
        include_str!("fixtures/request_plain.json").trim_end()
    );
}

#[test]
fn the_seed_of_the_sample_is_sent_unless_it_is_turned_off() {
    let request = ask("hi", "{}");
    assert_eq!(setting("{}", "seed").unwrap().as_u64(), Some(u64::from(request.seed.get())));
    assert_eq!(
        body(&ask("hi", r#"{"seed":false}"#)).unwrap(),
        r#"{"contents":[{"parts":[{"text":"hi"}],"role":"user"}]}"#
    );
}

#[test]
fn every_parameter_has_its_place() {
    let mut request = ask(
        "Well?",
        r#"{"max_tokens":2048,"temperature":0.5,"top_p":0.9,"top_k":40,"stop":["END"],"seed":42,"presence_penalty":0.5,
            "frequency_penalty":-0.5,"reasoning_effort":"high","thinking_budget":1024,"logprobs":true,"top_logprobs":5,
            "tool_choice":"get_weather","response_schema":{"type":"object","properties":{"answer":{"type":"string"}},
            "required":["answer"],"additionalProperties":false},
            "extra_body":{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}],
            "generationConfig":{"thinkingConfig":{"includeThoughts":true}}}}"#,
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
    let mut now = weather_tool();
    (now.name, now.description, now.parameters) = ("now".to_owned(), "Tells the time.".to_owned(), Default::default());
    request.tools = [weather_tool(), now].into();
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_params.json").trim_end());
}

#[test]
fn files_stand_before_the_text_of_their_message() {
    let mut request = ask("What is in these files?", r#"{"seed":false}"#);
    for (name, media_type, bytes) in [
        ("shot.png", "image/png", &b"\x89PNG"[..]),
        ("paper.pdf", "application/pdf", b"%PDF"),
        ("a.wav", "audio/x-wav", b"RIFF"),
        ("a.mp4", "video/mp4", b"\0\0\0\x20"),
        ("a.csv", "text/csv", b"a,b"),
        ("notes.md", "text/markdown; charset=utf-8", b"# Notes\n"),
        ("rows.json", "application/json", b"[1]"),
    ] {
        request = with_file(request, name, media_type, bytes);
    }
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_files.json").trim_end());
}

#[test]
fn what_cannot_be_sent_is_named() {
    let zip = with_file(ask("hi", "{}"), "a.zip", "application/zip", b"x");
    let mut lost = with_file(ask("hi", "{}"), "a.png", "image/png", b"x");
    lost.files = [].into();
    let mut system = with_file(ask("hi", "{}"), "a.png", "image/png", b"x");
    let mut messages = system.messages.to_vec();
    messages[0].role = Role::System;
    system.messages = messages.into();
    let mut no_such_tool = ask("hi", r#"{"tool_choice":"get_wether"}"#);
    no_such_tool.tools = [weather_tool()].into();
    for (request, expected) in [
        (
            zip,
            "the file `a.zip` is `application/zip`; images (png, jpeg, webp, heic, heif), PDF, audio, video and text files can be sent",
        ),
        (lost, "the bytes of `a.png` are not at hand"),
        (system, "a system message cannot carry a file such as `a.png`"),
        (no_such_tool, "`tool_choice` is `get_wether`, but there is no such tool"),
        (
            ask("hi", r#"{"reasoning_effort":"xhigh"}"#),
            "`reasoning_effort` is `xhigh`; this provider knows minimal, low, medium, high",
        ),
    ] {
        assert_eq!(body(&request), Err(expected.to_owned()));
    }
}

#[test]
fn turns_go_back_with_their_signatures() {
    let result = |id: &str, output: &str, is_error| Turn::Tool {
        call_id: id.to_owned(),
        name: "get_weather".to_owned(),
        output: output.to_owned(),
        is_error,
    };
    let mut request = ask("Compare the weather of Paris and Rome.", r#"{"seed":false}"#);
    request.tools = [weather_tool()].into();
    request.turns = vec![
        Turn::Model {
            text: "Let me look.".to_owned(),
            calls: vec![
                call("c1", "get_weather", r#"{"city":"Paris"}"#),
                call("c2", "get_weather", r#"{"city":"Rome"}"#),
            ],
            keep: Some(value(
                r#"[{"text":"Let me look."},
                    {"functionCall":{"id":"c1","name":"get_weather","args":{"city":"Paris"}},"thoughtSignature":"CpcBAY89"},
                    {"functionCall":{"id":"c2","name":"get_weather","args":{"city":"Rome"}}}]"#,
            )),
        },
        result("c1", "21 degrees", false),
        result("c2", "no such city", true),
        Turn::Model { text: "Once more.".to_owned(), calls: vec![call("", "get_weather", r#""Rome""#)], keep: None },
        result("", "25 degrees", false),
    ];
    assert_eq!(body(&request).unwrap(), include_str!("fixtures/request_turns.json").trim_end());
}

#[test]
fn a_choice_of_tools_is_said_in_the_providers_words() {
    for (params, expected) in [
        (r#"{"tool_choice":"auto"}"#, r#"{"functionCallingConfig":{"mode":"AUTO"}}"#),
        (r#"{"tool_choice":"none"}"#, r#"{"functionCallingConfig":{"mode":"NONE"}}"#),
        (r#"{"tool_choice":"required"}"#, r#"{"functionCallingConfig":{"mode":"ANY"}}"#),
        (r#"{"tool_choice":{"mode":"VALIDATED"}}"#, r#"{"functionCallingConfig":{"mode":"VALIDATED"}}"#),
        ("{}", "null"),
    ] {
        let mut request = ask("hi", params);
        request.tools = [weather_tool()].into();
        let config = value(&body(&request).unwrap()).get("toolConfig").cloned().unwrap_or_default();
        assert_eq!(config.to_string(), expected);
        request.tools = [].into();
        assert!(!body(&request).unwrap().contains("toolConfig"), "{params}");
    }
}

#[test]
fn alternatives_of_tokens_come_only_with_their_probabilities() {
    for (params, wanted, top) in [
        (r#"{"logprobs":true}"#, "true", "null"),
        (r#"{"top_logprobs":3}"#, "true", "3"),
        (r#"{"logprobs":false,"top_logprobs":3}"#, "null", "null"),
    ] {
        assert_eq!(setting(params, "responseLogprobs").unwrap().to_string(), wanted, "{params}");
        assert_eq!(setting(params, "logprobs").unwrap().to_string(), top, "{params}");
    }
}

#[test]
fn a_picture_is_asked_for_with_its_shape() {
    let request = ask("A red square.", r#"{"seed":false,"aspect_ratio":"16:9"}"#);
    let call = IMAGES.encode("gemini-2.5-flash-image", &request).unwrap();
    assert_eq!(String::from_utf8(call.body).unwrap(), include_str!("fixtures/request_image.json").trim_end());
    assert!(IMAGES.params().contains(&"aspect_ratio") && !TEXT.params().contains(&"aspect_ratio"));
}

#[test]
fn the_model_is_named_in_the_path() {
    for (model, params, expected) in [
        ("gemini-2.5-flash", "{}", "/v1beta/models/gemini-2.5-flash:generateContent"),
        ("models/gemini-2.5-flash", "{}", "/v1beta/models/gemini-2.5-flash:generateContent"),
        ("g", r#"{"stream":true}"#, "/v1beta/models/g:streamGenerateContent?alt=sse"),
        ("../a b?é", "{}", "/v1beta/models/..%2Fa%20b%3F%C3%A9:generateContent"),
    ] {
        let call = TEXT.encode(model, &ask("hi", params)).unwrap();
        assert_eq!(call.path, expected);
        assert_eq!(call.streamed, params != "{}");
    }
}

#[test]
fn a_whole_reply_is_read() {
    let reply = TEXT.decode(include_bytes!("fixtures/reply_text.json")).unwrap();
    assert_eq!(reply.text, "2+2 is 4.");
    assert_eq!(reply.reasoning.as_deref(), Some("Adding two and two."));
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(reply.usage, Usage { input_tokens: 12, output_tokens: 28 });
    assert_eq!(reply.cached, Some(4));
    assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(reply.keep, None);
    let top = |token: &str, logprob| TopLogprob { token: token.to_owned(), logprob };
    assert_eq!(
        reply.logprobs,
        [
            TokenLogprob {
                token: "2+2 is ".to_owned(),
                logprob: -0.01,
                top: vec![top("2+2 is ", -0.01), top("The", -4.5)]
            },
            TokenLogprob { token: "4.".to_owned(), logprob: 0.0, top: vec![top("4.", -0.05)] },
        ]
    );
}

#[test]
fn calls_bring_the_parts_that_must_go_back() {
    let reply = TEXT.decode(include_bytes!("fixtures/reply_tool_call.json")).unwrap();
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.calls, [call("", "get_weather", r#"{"city":"Paris"}"#), call("c2", "now", "{}")]);
    assert_eq!(
        reply.keep.unwrap().to_string(),
        r#"[{"functionCall":{"args":{"city":"Paris"},"name":"get_weather"},"thoughtSignature":"CpcBAY89"},{"functionCall":{"id":"c2","name":"now"}}]"#
    );
}

#[test]
fn what_a_reply_keeps_goes_back_unchanged() {
    let reply = TEXT.decode(include_bytes!("fixtures/reply_tool_call.json")).unwrap();
    let kept = reply.keep.clone().unwrap();
    let mut request = ask("hi", "{}");
    request.turns = vec![Turn::Model { text: reply.text, calls: reply.calls, keep: reply.keep }];
    let sent = value(&body(&request).unwrap());
    assert_eq!(sent.get("contents").unwrap().as_array().unwrap()[1].get("parts"), Some(&kept));
}

#[test]
fn pictures_are_taken_and_drafts_are_not() {
    let reply = IMAGES.decode(include_bytes!("fixtures/reply_image.json")).unwrap();
    assert_eq!(reply.images, [Picture { bytes: b"\x89PNG".to_vec() }]);
    assert_eq!((reply.text.as_str(), reply.finish, reply.keep), ("Here it is.", Finish::Stop, None));
}

#[test]
fn pictures_beyond_the_limit_are_refused() {
    let data = "A".repeat(45 << 20);
    let part = format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#);
    let body = format!(r#"{{"candidates":[{{"content":{{"parts":[{part},{part}]}},"finishReason":"STOP"}}]}}"#);
    let error = IMAGES.decode(body.as_bytes()).unwrap_err();
    assert_eq!(error.message, "the pictures of the reply are larger than 64 MiB");
}

#[test]
fn a_blocked_prompt_is_filtered() {
    let reply = TEXT.decode(include_bytes!("fixtures/reply_blocked.json")).unwrap();
    assert_eq!(reply.finish, Finish::Filtered("PROHIBITED_CONTENT".to_owned()));
    assert_eq!(reply.usage, Usage { input_tokens: 9, output_tokens: 0 });
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let filtered = |word: &str| Finish::Filtered(word.to_owned());
    for (candidate, expected) in [
        (r#""finishReason":"STOP""#, Finish::Stop),
        (r#""finishReason":"MAX_TOKENS","content":{}"#, Finish::Length),
        (r#""finishReason":"SAFETY""#, filtered("SAFETY")),
        (r#""finishReason":"RECITATION""#, filtered("RECITATION")),
        (r#""finishReason":"BLOCKLIST""#, filtered("BLOCKLIST")),
        (r#""finishReason":"PROHIBITED_CONTENT""#, filtered("PROHIBITED_CONTENT")),
        (r#""finishReason":"SPII""#, filtered("SPII")),
        (r#""finishReason":"IMAGE_SAFETY","finishMessage":"no""#, filtered("IMAGE_SAFETY: no")),
        (r#""finishReason":"IMAGE_PROHIBITED_CONTENT""#, filtered("IMAGE_PROHIBITED_CONTENT")),
        (r#""finishReason":"IMAGE_RECITATION""#, filtered("IMAGE_RECITATION")),
        (
            r#""finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(""#,
            Finish::Failed("MALFORMED_FUNCTION_CALL: print(".to_owned()),
        ),
        (r#""finishReason":"LANGUAGE""#, filtered("LANGUAGE")),
        (r#""finishReason":"OTHER""#, Finish::Failed("OTHER".to_owned())),
        (r#""finishReason":"NO_IMAGE""#, Finish::Failed("NO_IMAGE".to_owned())),
        (r#""finishReason":"IMAGE_OTHER""#, Finish::Failed("IMAGE_OTHER".to_owned())),
        (r#""finishReason":"NEW""#, Finish::Other("NEW".to_owned())),
    ] {
        let reply = TEXT.decode(format!(r#"{{"candidates":[{{{candidate}}}]}}"#).as_bytes()).unwrap();
        assert_eq!(reply.finish, expected);
        assert_eq!(reply.text, "");
    }
}

#[test]
fn a_reply_that_is_not_as_documented_is_no_answer() {
    let part = |part: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"STOP"}}]}}"#);
    for (body, class, message) in [
        ("[]".to_owned(), Class::Malformed, "the reply is a list, expected a mapping"),
        ("{}".to_owned(), Class::Malformed, "the reply has no `finishReason`"),
        (r#"{"candidates":[]}"#.to_owned(), Class::Malformed, "the reply has no `finishReason`"),
        (r#"{"candidates":{}}"#.to_owned(), Class::Malformed, "`candidates` is a mapping, expected a list"),
        (r#"{"candidates":[1]}"#.to_owned(), Class::Malformed, "the reply has no `finishReason`"),
        (
            r#"{"candidates":[{"finishReason":1}]}"#.to_owned(),
            Class::Malformed,
            "`finishReason` is a number, expected a text",
        ),
        (
            r#"{"candidates":[{"content":{"parts":{}}}]}"#.to_owned(),
            Class::Malformed,
            "`parts` is a mapping, expected a list",
        ),
        (r#"{"usageMetadata":7}"#.to_owned(), Class::Malformed, "`usageMetadata` is a number, expected counts"),
        (
            r#"{"usageMetadata":{"promptTokenCount":"7"}}"#.to_owned(),
            Class::Malformed,
            "`promptTokenCount` is a string, expected a count",
        ),
        (part(r#"{"text":7}"#), Class::Malformed, "`text` is a number, expected a text"),
        (part(r#"{"functionCall":{}}"#), Class::Malformed, "the reply has no `name`"),
        (part(r#"{"inlineData":{"mimeType":"image/png"}}"#), Class::Malformed, "the reply has no `data`"),
        (part(r#"{"inlineData":{"mimeType":"image/png","data":"?"}}"#), Class::Malformed, "a picture is not base64"),
        (
            r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#.to_owned(),
            Class::Server,
            "UNAVAILABLE: The model is overloaded.",
        ),
    ] {
        let error = TEXT.decode(body.as_bytes()).unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (class, message), "{body}");
    }
}

#[test]
fn a_reply_cut_at_any_byte_is_no_answer() {
    let whole = include_str!("fixtures/reply_tool_call.json").trim_end();
    for cut in 0..whole.len() {
        let error = TEXT.decode(&whole.as_bytes()[..cut]).unwrap_err();
        assert!(matches!(error.class, Class::Malformed | Class::Truncated), "after {cut} bytes: {error:?}");
    }
}

#[test]
fn only_the_first_candidate_counts() {
    let second = r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}"#;
    let first = r#"{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}"#;
    let reply = assemble(&TEXT, &[("", second), ("", first), ("", second)]).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("a", Finish::Length));
}

#[test]
fn a_streamed_reply_is_put_together() {
    let reply = assemble(&TEXT, &events(include_str!("fixtures/stream_text.sse"))).unwrap();
    assert_eq!(reply.text, "Hello, wörld");
    assert_eq!(reply.reasoning.as_deref(), Some("Thinking."));
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(reply.usage, Usage { input_tokens: 4, output_tokens: 25 });
    assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash"));
    let tokens: Vec<&str> = reply.logprobs.iter().map(|token| token.token.as_str()).collect();
    assert_eq!(tokens, ["Hel", "lo, wörld"]);
}

#[test]
fn streamed_calls_and_late_counts_are_put_together() {
    let reply = assemble(&TEXT, &events(include_str!("fixtures/stream_tool_call.sse"))).unwrap();
    assert_eq!(reply.text, "Let me look.");
    assert_eq!(reply.calls, [call("", "get_weather", r#"{"city":"Paris"}"#)]);
    assert_eq!(reply.finish, Finish::ToolCalls);
    assert_eq!(reply.usage, Usage { input_tokens: 64, output_tokens: 15 });
    assert_eq!(reply.keep.unwrap().as_array().unwrap().len(), 3);
}

#[test]
fn a_stream_without_a_reason_to_stop_is_cut() {
    for (text, last) in
        [(include_str!("fixtures/stream_text.sse"), 2), (include_str!("fixtures/stream_tool_call.sse"), 3)]
    {
        let events = events(text);
        for kept in 0..=last {
            let error = assemble(&TEXT, &events[..kept]).unwrap_err();
            assert_eq!(error.class, Class::StreamCut, "after {kept} chunks");
        }
        assert!(assemble(&TEXT, &events[..=last]).is_ok());
    }
}

#[test]
fn a_reason_to_stop_that_is_followed_by_more_is_not_the_end() {
    let early = r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#;
    let more = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#;
    let error = assemble(&TEXT, &[("", early), ("", more)]).unwrap_err();
    assert_eq!(error.class, Class::StreamCut);
    assert_eq!(assemble(&TEXT, &[("", early), ("", more), ("", early)]).unwrap().text, "a");
}

#[test]
fn a_prompt_blocked_in_a_stream_is_filtered() {
    let reply = assemble(&TEXT, &[("", r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#)]).unwrap();
    assert_eq!(reply.finish, Finish::Filtered("SAFETY".to_owned()));
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_the_servers() {
    for data in [
        r#"{"error":{"code":500,"message":"boom","status":"INTERNAL"}}"#,
        r#"[{"error":{"code":500,"message":"boom","status":"INTERNAL"}}]"#,
    ] {
        let error = TEXT.assemble().take("", data).unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (Class::Server, "INTERNAL: boom"));
    }
    assert_eq!(TEXT.assemble().take("", "{").unwrap_err().class, Class::Truncated);
}

#[test]
fn every_error_has_its_class() {
    for (code, word, message, class, then) in [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", Class::Auth, Then::Stop),
        (401, "UNAUTHENTICATED", "no credentials", Class::Auth, Then::Stop),
        (403, "PERMISSION_DENIED", "leaked", Class::Auth, Then::Stop),
        (404, "NOT_FOUND", "models/gemini-9 is not found", Class::BadRequest, Then::Stop),
        (429, "RESOURCE_EXHAUSTED", "quota", Class::RateLimited, Then::Retry),
        (503, "UNAVAILABLE", "overloaded", Class::Server, Then::Retry),
        (500, "INTERNAL", "internal", Class::Server, Then::Retry),
        (499, "CANCELLED", "cancelled", Class::Server, Then::Retry),
        (504, "DEADLINE_EXCEEDED", "deadline", Class::Timeout, Then::Retry),
        (400, "INVALID_ARGUMENT", "temperature", Class::BadRequest, Then::Fail),
        (400, "FAILED_PRECONDITION", "too soon", Class::BadRequest, Then::Fail),
        (400, "FAILED_PRECONDITION", "User location is not supported for the API use.", Class::Auth, Then::Stop),
        (418, "TEAPOT", "tea", Class::BadRequest, Then::Fail),
    ] {
        let error = format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{word}"}}}}"#);
        for body in [error.clone(), format!("[{error}]")] {
            let refused = TEXT.refuse(code, body.as_bytes());
            assert_eq!((refused.class, refused.then, refused.message.as_str()), (class, then, message), "{word}");
        }
    }
}

#[test]
fn a_wrong_key_is_known_by_its_details() {
    let body = r#"{"error":{"code":400,"message":"API key expired.","status":"INVALID_ARGUMENT","details":[
        {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#;
    let refused = TEXT.refuse(400, body.as_bytes());
    assert_eq!((refused.class, refused.then), (Class::Auth, Then::Stop));
}

#[test]
fn an_error_that_cannot_be_read_is_judged_by_its_status() {
    for (status, body, message, class) in [
        (502, "<html><h1>502 Bad Gateway</h1></html>", "the provider gave no reason that can be read", Class::Server),
        (403, "[]", "the provider gave no reason that can be read", Class::Auth),
        (429, r#"{"error":"slow down"}"#, "the provider gave no reason that can be read", Class::RateLimited),
        (503, r#"{"error":{"status":"UNAVAILABLE"}}"#, "UNAVAILABLE", Class::Server),
    ] {
        let refused = TEXT.refuse(status, body.as_bytes());
        assert_eq!((refused.class, refused.message.as_str()), (class, message), "{status} {body}");
    }
}

proptest! {
    #[test]
    fn no_damage_to_a_reply_makes_decoding_panic(
        whole in prop_oneof![
            damaged(include_str!("fixtures/reply_text.json")),
            damaged(include_str!("fixtures/reply_tool_call.json")),
            damaged(include_str!("fixtures/reply_image.json")),
            damaged(include_str!("fixtures/reply_blocked.json")),
        ],
        bytes in garbled(include_str!("fixtures/reply_text.json")),
    ) {
        for body in [whole.as_bytes(), &bytes] {
            let _ = TEXT.decode(body);
            let _ = TEXT.refuse(400, body);
        }
    }

    #[test]
    fn no_damage_to_a_stream_makes_assembling_panic(bytes in prop_oneof![
        garbled(include_str!("fixtures/stream_text.sse")),
        garbled(include_str!("fixtures/stream_tool_call.sse")),
    ]) {
        let _ = assemble(&TEXT, &events(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn a_stream_cut_at_any_byte_is_never_an_answer(cut in any::<prop::sample::Index>()) {
        let text = include_str!("fixtures/stream_tool_call.sse");
        let end = text.find("finishReason").unwrap();
        let cut = String::from_utf8_lossy(&text.as_bytes()[..cut.index(end)]).into_owned();
        prop_assert!(assemble(&TEXT, &events(&cut)).is_err());
    }
}
