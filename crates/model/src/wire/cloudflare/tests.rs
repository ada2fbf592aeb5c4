use proofmark_artefact::record::Usage;

use super::super::parts::testing::{attached, conversation, encoded, every_cut_is_found, feed, request, survives};
use super::super::{Class, Finish, Picture, Then, Wire, WireError};
use super::{Paint, Run};
use crate::params;

/// Stands for a reply that ends inside of a value.
const CUT_OFF: &str = "cut off";

const MODEL: &str = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const ANSWER: &str = include_str!("fixtures/answer.json");
const OBJECT: &str = include_str!("fixtures/object.json");
const CALLS: &str = include_str!("fixtures/calls.json");
const CHOICES: &str = include_str!("fixtures/choices.json");
const IMAGE: &str = include_str!("fixtures/image.json");
const ANSWER_STREAM: &str = include_str!("fixtures/answer.sse");
const CHOICES_STREAM: &str = include_str!("fixtures/choices.sse");

#[test]
fn requests_are_in_its_words() {
    let all = r#"{"temperature":0.5,"top_p":0.9,"top_k":40,"max_tokens":64,"repetition_penalty":1.1,
        "frequency_penalty":0.1,"presence_penalty":0.2,"stream":true,"seed":5,"response_schema":{"type":"object"},
        "extra_body":{"lora":"mine"}}"#;
    let table = [
        (
            request("{}"),
            r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"seed":704460341,"stream":false}"#,
        ),
        (
            request(all),
            r#"{"frequency_penalty":0.1,"lora":"mine","max_tokens":64,"messages":[{"content":"Be brief.","role":"system"},{"content":"Why?","role":"user"}],"presence_penalty":0.2,"repetition_penalty":1.1,"response_format":{"json_schema":{"type":"object"},"type":"json_schema"},"seed":5,"stream":true,"temperature":0.5,"top_k":40,"top_p":0.9}"#,
        ),
        (
            attached("a.png", "image/png", b"\x89PNG"),
            r#"{"messages":[{"content":[{"text":"Look.","type":"text"},{"image_url":{"url":"data:image/png;base64,iVBORw=="},"type":"image_url"}],"role":"user"}],"stream":false}"#,
        ),
        (
            conversation("", None),
            r#"{"messages":[{"content":"Weather?","role":"user"},{"content":"Let me look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"Oslo\"}","name":"weather"},"type":"function"}]},{"content":"4 degrees","name":"weather","role":"tool"}],"stream":false,"tools":[{"function":{"description":"Tells the weather.","name":"weather","parameters":{"properties":{"city":{"type":"string"}},"type":"object"}},"type":"function"}]}"#,
        ),
    ];
    for (request, body) in table {
        assert_eq!(encoded(&Run, MODEL, &request), format!("/run/{MODEL} {body}"));
    }
}

#[test]
fn what_is_lacking_is_common() {
    for name in Run.lacks().iter().chain(Paint.lacks()) {
        assert!(params::COMMON.contains(name) || params::LIVE.contains(name));
    }
}

#[test]
fn a_name_that_would_leave_its_path_is_refused() {
    for name in ["", "@cf/../x", "a?b", "a#b", "a b", "a%2e", "ä", ".."] {
        assert_eq!(Run.encode(name, &request("{}")).unwrap_err(), format!("`{name}` cannot be the name of a model"));
        assert!(Paint.encode(name, &request("{}")).is_err());
    }
}

#[test]
fn both_forms_of_an_answer_are_read() {
    let got = Run.decode(ANSWER.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), got.finish, got.model), ("Because.", Finish::Stop, None));
    assert_eq!((got.usage, got.cached), (Usage { input_tokens: 21, output_tokens: 9 }, Some(0)));
    let got = Run.decode(CHOICES.as_bytes()).unwrap();
    assert_eq!((got.text.as_str(), got.reasoning.as_deref()), ("Let me look.", Some("Hm.")));
    assert_eq!((got.finish, got.model.as_deref()), (Finish::ToolCalls, Some("@cf/moonshotai/kimi-k2.6")));
    assert_eq!(got.calls[0].0, "functions.weather:0");
    assert_eq!((got.usage.output_tokens, got.cached), (51, Some(64)));
}

#[test]
fn json_that_was_asked_for_comes_back_as_text() {
    let got = Run.decode(OBJECT.as_bytes()).unwrap();
    assert_eq!(got.text, r#"{"capital":"Oslo","name":"Norway"}"#);
}

#[test]
fn calls_have_no_ids() {
    let got = Run.decode(CALLS.as_bytes()).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id}|{} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"|weather {"city":"Oslo"}"#, r#"|broken "{\"city\"""#]);
    assert_eq!((got.text.as_str(), got.finish), ("", Finish::ToolCalls));
}

#[test]
fn both_forms_of_a_stream_are_put_together() {
    let got = feed(&Run, ANSWER_STREAM).unwrap();
    assert_eq!((got.text.as_str(), got.finish), ("Because42.", Finish::Stop));
    assert_eq!((got.usage, got.calls.len()), (Usage { input_tokens: 21, output_tokens: 9 }, 0));
    let got = feed(&Run, CHOICES_STREAM).unwrap();
    let calls: Vec<_> = got.calls.iter().map(|(id, call)| format!("{id} {} {}", call.name, call.arguments)).collect();
    assert_eq!(calls, [r#"call_a weather {"city":"Oslo"}"#]);
    assert_eq!((got.finish, got.reasoning.as_deref()), (Finish::ToolCalls, Some("Hm.")));
    assert_eq!((got.usage.input_tokens, got.model.as_deref()), (75, Some("@cf/zai-org/glm-4.7-flash")));
}

#[test]
fn a_chunk_in_both_forms_counts_once() {
    let chunk = r#"{"response":"Hi","choices":[{"delta":{"content":"Hi"}}]}"#;
    assert_eq!(feed(&Run, &format!("data: {chunk}\n\ndata: [DONE]\n\n")).unwrap().text, "Hi");
}

#[test]
fn a_refusal_of_the_model_is_not_an_answer() {
    let body = CHOICES.replace(r#""refusal":null"#, r#""refusal":"No.""#);
    assert_eq!(Run.decode(body.as_bytes()).unwrap().finish, Finish::Refused("No.".into()));
}

#[test]
fn a_stream_without_its_end_is_cut() {
    every_cut_is_found(&Run, ANSWER_STREAM);
    every_cut_is_found(&Run, CHOICES_STREAM);
}

#[test]
fn reasons_to_end_are_ours() {
    let table = [
        ("length", Finish::Length),
        ("content_filter", Finish::Filtered("content_filter".into())),
        ("error", Finish::Failed("the provider ended the answer with an error".into())),
        ("new", Finish::Other("new".into())),
    ];
    for (word, finish) in table {
        let body = CHOICES.replace("\"finish_reason\":\"tool_calls\"", &format!("\"finish_reason\":\"{word}\""));
        assert_eq!(Run.decode(body.as_bytes()).unwrap().finish, finish);
        let body = ANSWER.replace("\"tool_calls\":[]", &format!("\"finish_reason\":\"{word}\""));
        assert_eq!(Run.decode(body.as_bytes()).unwrap().finish, finish);
    }
}

#[test]
fn a_reply_that_is_none_is_malformed() {
    let table = [
        (&ANSWER[..60], CUT_OFF),
        ("{}", "the reply has no `result`"),
        (r#"{"result":null,"success":true}"#, "the reply has no `result`"),
        (r#"{"result":{},"success":true}"#, "the result has neither `response` nor `choices`"),
        (r#"{"result":{"choices":[]}}"#, "the result has neither `response` nor `choices`"),
        (r#"{"result":{"choices":[{"message":{"content":{}}}]}}"#, "`content` is a mapping, expected a text"),
        (r#"{"result":{"response":"","tool_calls":[{}]}}"#, "a tool call has no name"),
    ];
    for (body, said) in table {
        let expected = if said == CUT_OFF { WireError::truncated() } else { WireError::malformed(said) };
        assert_eq!(Run.decode(body.as_bytes()), Err(expected), "{body}");
    }
}

#[test]
fn a_failure_in_a_reply_is_the_servers() {
    let failed = r#"{"result":null,"success":false,"errors":[{"code":8001,"message":"it broke"}],"messages":[]}"#;
    assert_eq!(Run.decode(failed.as_bytes()), Err(WireError::server("it broke (code 8001)")));
    assert_eq!(Paint.decode(failed.as_bytes()), Err(WireError::server("it broke (code 8001)")));
    assert_eq!(feed(&Run, &format!("data: {failed}\n\n")), Err(WireError::server("it broke (code 8001)")));
    assert_eq!(Run.decode(br#"{"success":false}"#), Err(WireError::server("a failure without a message")));
    // What succeeded is an answer, whatever else is reported with it.
    let told = ANSWER.replace(r#""errors":[]"#, r#""errors":[{"code":1,"message":"soon gone"}]"#);
    assert_eq!(Run.decode(told.as_bytes()), Run.decode(ANSWER.as_bytes()));
    let filtered = failed.replace("it broke", "Input prompt contains NSFW content.");
    let finish = Finish::Filtered("Input prompt contains NSFW content. (code 8001)".into());
    assert_eq!(Paint.decode(filtered.as_bytes()).unwrap().finish, finish);
    assert_eq!(feed(&Run, &format!("data: {filtered}\n\n")).unwrap().finish, finish);
}

#[test]
fn pictures_are_asked_for_in_each_models_words() {
    let all = r#"{"negative_prompt":"blur","width":512,"height":256,"steps":4,"guidance":7.5,"seed":5}"#;
    let sent = |model: &str| encoded(&Paint, model, &request(all));
    let rest = r#""negative_prompt":"blur","#;
    assert_eq!(
        sent("@cf/lykon/dreamshaper-8-lcm"),
        format!(
            r#"/run/@cf/lykon/dreamshaper-8-lcm {{"guidance":7.5,"height":256,{rest}"num_steps":4,"prompt":"Be brief.\n\nWhy?","seed":5,"width":512}}"#
        )
    );
    let flux = "@cf/black-forest-labs/flux-1-schnell";
    assert!(sent(flux).ends_with(r#""prompt":"Be brief.\n\nWhy?","seed":5,"steps":4,"width":512}"#));
    assert!(!Paint.encode(flux, &request(r#"{"stream":true}"#)).unwrap().streamed);
}

#[test]
fn what_a_painter_cannot_take_is_said() {
    let table = [
        ("@cf/black-forest-labs/flux-2-dev", request("{}"), "wants a form, and this provider is asked in JSON"),
        ("x", attached("a.png", "image/png", b"\x89PNG"), "takes no images"),
        ("x", conversation("", None), "makes pictures and takes no tools"),
    ];
    for (model, request, said) in table {
        assert_eq!(Paint.encode(model, &request).unwrap_err(), format!("`{model}` {said}"));
    }
}

#[test]
fn a_picture_comes_bare_or_in_json() {
    let png = b"\x89PNG\r\n\x1a\n".to_vec();
    let in_a_url = IMAGE.replace("iVBOR", "data:image/png;base64,iVBOR");
    for body in [png.as_slice(), IMAGE.as_bytes(), in_a_url.as_bytes()] {
        assert_eq!(Paint.decode(body).unwrap().images, [Picture { bytes: png.clone() }]);
    }
}

#[test]
fn what_is_no_picture_is_malformed() {
    let table = [
        ("", "the reply is empty"),
        ("<html></html>", "the reply is neither a picture nor JSON"),
        (r#"{"result":{}}"#, "the result has no `image`"),
        (r#"{"result":{"image":7}}"#, "the result has no `image`"),
        (r#"{"result":{"image":""}}"#, "`image` is empty"),
        (r#"{"result":{"image":"?"}}"#, "`image` is not base 64: invalid length at 0"),
        ("{", CUT_OFF),
    ];
    for (body, said) in table {
        let expected = if said == CUT_OFF { WireError::truncated() } else { WireError::malformed(said) };
        assert_eq!(Paint.decode(body.as_bytes()), Err(expected), "{body}");
    }
    let mut large = vec![b'x'; (64 << 20) + 1];
    assert_eq!(Paint.decode(&large), Err(WireError::malformed("the picture is larger than 64 MiB")));
    large.truncate(64 << 20);
    assert_eq!(Paint.decode(&large).unwrap().images[0].bytes.len(), 64 << 20);
}

#[test]
fn refusals_have_a_class() {
    let table = [
        (403, 10_000, "Authentication error", (Class::Auth, Then::Stop)),
        (400, 6003, "Invalid request headers", (Class::Auth, Then::Stop)),
        (400, 5007, "No such model x or task", (Class::BadRequest, Then::Stop)),
        (400, 7009, "No such model", (Class::BadRequest, Then::Stop)),
        (400, 7009, "Upstream service unavailable", (Class::Server, Then::Retry)),
        (404, 3042, "The model name is invalid", (Class::BadRequest, Then::Stop)),
        (429, 3036, "You have used up your daily free allocation", (Class::Auth, Then::Stop)),
        (429, 4006, "you have used up your daily free allocation", (Class::Auth, Then::Stop)),
        (403, 5016, "User has not agreed to terms", (Class::Auth, Then::Stop)),
        (429, 3040, "No more data centers to forward the request to", (Class::RateLimited, Then::Retry)),
        (429, 1, "Too many requests", (Class::RateLimited, Then::Retry)),
        (408, 3007, "Request timeout", (Class::Timeout, Then::Retry)),
        (413, 3006, "Request is too large", (Class::BadRequest, Then::Fail)),
        (400, 5006, "Error: oneOf at '/' not met", (Class::BadRequest, Then::Fail)),
        (400, 3030, "AiError: Input prompt contains NSFW content.", (Class::ContentFilter, Then::Fail)),
        (500, 3043, "Internal server error", (Class::Server, Then::Retry)),
    ];
    for (status, code, message, (class, then)) in table {
        let body = format!(r#"{{"result":null,"success":false,"errors":[{{"code":{code},"message":"{message}"}}]}}"#);
        for wire in [&Run as &dyn Wire, &Paint] {
            let refused = wire.refuse(status, body.as_bytes());
            assert_eq!((refused.class, refused.then), (class, then), "{code}");
            assert_eq!(refused.message, format!("{message} (code {code})"));
        }
    }
}

#[test]
fn a_number_in_front_of_the_message_is_the_code() {
    let body =
        r#"{"errors":[{"code":"internal_error","message":"4006: you have used up your daily free allocation"}]}"#;
    let refused = Run.refuse(429, body.as_bytes());
    assert_eq!((refused.class, refused.then), (Class::Auth, Then::Stop));
    let body = r#"{"errors":[{"message":"AiError: 3040: no more data centers"}]}"#;
    assert_eq!(Run.refuse(500, body.as_bytes()).class, Class::RateLimited);
}

#[test]
fn a_refusal_in_another_form_goes_by_its_status() {
    let table = [
        ("<html>down</html>", "the server answered with status 502 and no JSON"),
        ("[]", "the server answered with status 502 and no JSON"),
        (r#"{"success":false,"errors":[]}"#, "the server answered with status 502 and no message"),
        (r#"{"success":false,"error":[{"code":2001,"message":"no such gateway"}]}"#, "no such gateway (code 2001)"),
        (r#"{"error":"broken"}"#, "broken"),
    ];
    for (body, message) in table {
        let refused = Run.refuse(502, body.as_bytes());
        assert_eq!((refused.class, refused.then), (Class::Server, Then::Retry));
        assert_eq!(refused.message, message);
    }
}

#[test]
fn mutations_do_not_panic() {
    let replies = [ANSWER.as_bytes(), OBJECT.as_bytes(), CALLS.as_bytes(), CHOICES.as_bytes()];
    survives(&Run, &replies, &[ANSWER_STREAM, CHOICES_STREAM]);
    survives(&Paint, &[IMAGE.as_bytes()], &[]);
}
