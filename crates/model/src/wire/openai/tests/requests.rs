use std::sync::Arc;

use proofmark_artefact::record::{Attachment, Message, Role};
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Value};

use super::*;
use crate::ask::{File, Request, Turn};
use crate::params;
use crate::wire::openai::{Images, Responses};

fn request(messages: &[(Role, &str)], params: &str) -> Request {
    let messages: Vec<Message> = messages.iter().map(|(role, text)| Message::new(*role, *text)).collect();
    let Value::Object(params) = value(params) else { panic!("{params}") };
    Request::new(messages, params, SampleSeed::derive(1, "key"))
}

fn question(params: &str) -> Request {
    request(&[(Role::User, "q")], params)
}

fn with_files(mut request: Request, files: &[Named]) -> Request {
    let mut messages = request.messages.to_vec();
    let last = messages.last_mut().unwrap();
    let mut stored = Vec::new();
    for (name, media_type, bytes) in files {
        let (digest, name, media_type) = (Digest::of(bytes), (*name).to_owned(), (*media_type).to_owned());
        last.attachments.push(Attachment { bytes: bytes.len() as u64, digest, media_type, name });
        stored.push(File { digest, bytes: Arc::from(*bytes) });
    }
    request.messages = messages.into();
    request.files = stored.into();
    request
}

/// A file: its name, its media type, its bytes.
type Named = (&'static str, &'static str, &'static [u8]);

const FILES: &[Named] = &[
    ("img/cat.png", "image/png", b"PNG"),
    ("docs/paper.pdf", "application/pdf", b"%PDF"),
    ("docs/notes.txt", "text/plain", b"line"),
];

fn with_tool(mut request: Request) -> Request {
    let Value::Object(parameters) =
        value(r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#)
    else {
        panic!()
    };
    let (name, description) = ("weather".to_owned(), "Tells the weather".to_owned());
    request.tools = Arc::from([ToolPlan { name, description, parameters }]);
    request
}

#[track_caller]
fn assert_sends(wire: &dyn Wire, model: &str, request: &Request, path: &str, expected: &str) {
    let call = wire.encode(model, request).unwrap();
    assert_eq!((call.path.as_str(), call.streamed), (path, request.is_streamed()));
    assert_eq!(String::from_utf8(call.body).unwrap(), expected.trim_end());
}

const SCHEMA: &str =
    r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}"#;

#[test]
fn a_conversation_is_sent_as_it_is() {
    let messages =
        [(Role::System, "Be brief."), (Role::User, "Grüße?"), (Role::Assistant, "Hallo."), (Role::User, "And now?")];
    let request = request(&messages, r#"{"seed":7}"#);
    assert_sends(&OPENAI, "gpt-test", &request, "/chat/completions", fixture!("request_chat_plain.json"));
}

#[test]
fn every_parameter_has_its_place_in_chat() {
    let params = format!(
        r#"{{"temperature":0.5,"top_p":0.9,"max_tokens":64,"stop":["END"],"seed":false,"reasoning_effort":"low",
        "frequency_penalty":0.25,"presence_penalty":-0.5,"top_logprobs":3,"service_tier":"flex","stream":true,
        "response_schema":{SCHEMA},"tool_choice":"weather","parallel_tool_calls":false,
        "extra_body":{{"metadata":{{"run":"x"}}}}}}"#
    );
    let request = with_tool(question(&params));
    assert_sends(&OPENAI, "gpt-test", &request, "/chat/completions", fixture!("request_chat_params.json"));
}

#[test]
fn compatible_servers_have_words_of_their_own() {
    let params = r#"{"max_tokens":64,"top_k":40,"min_p":0.05,"repetition_penalty":1.1,"seed":7,
        "extra_body":{"provider":{"order":["a"]}}}"#;
    let expected = fixture!("request_chat_compatible.json");
    assert_sends(&COMPATIBLE, "llama-test", &question(params), "/chat/completions", expected);
}

#[test]
fn the_seed_of_the_sample_is_sent_unless_it_is_turned_off() {
    let sent = |params: &str| {
        let request = question(params);
        let body = value(&String::from_utf8(COMPATIBLE.encode("m", &request).unwrap().body).unwrap());
        (body.get("seed").and_then(Value::as_u64), u64::from(request.seed.get()))
    };
    let (seed, own) = sent("{}");
    assert_eq!(seed, Some(own));
    assert_eq!(sent(r#"{"seed":true}"#).0, Some(own));
    assert_eq!(sent(r#"{"seed":3}"#).0, Some(3));
    assert_eq!(sent(r#"{"seed":false}"#).0, None);
}

#[test]
fn files_go_with_their_message() {
    let request = with_files(request(&[(Role::User, "Look.")], r#"{"seed":false}"#), FILES);
    assert_sends(&OPENAI, "gpt-test", &request, "/chat/completions", fixture!("request_chat_files.json"));
}

#[test]
fn a_file_that_cannot_be_taken_is_an_error_that_names_it() {
    let cases: &[(Role, Named, &str)] = &[
        (Role::User, ("a.tiff", "image/tiff", b"x"), "this model cannot take `a.tiff`: it is `image/tiff`"),
        (Role::User, ("a.zip", "application/zip", b"x"), "this model cannot take `a.zip`: it is `application/zip`"),
        (Role::User, ("a.txt", "text/plain", b"\xff"), "this model cannot take `a.txt`: not UTF-8"),
        (Role::System, ("a.png", "image/png", b"x"), "a message of the system cannot take `a.png`: it is `image/png`"),
        (
            Role::Assistant,
            ("a.pdf", "application/pdf", b"x"),
            "a message of the assistant cannot take `a.pdf`: it is `application/pdf`",
        ),
    ];
    for (role, file, expected) in cases {
        let request = with_files(request(&[(*role, "Look.")], "{}"), &[*file]);
        for wire in [&OPENAI as &dyn Wire, &COMPATIBLE, &Responses] {
            assert_eq!(wire.encode("m", &request), Err((*expected).to_owned()), "{wire:?}");
        }
    }
}

#[test]
fn a_file_whose_bytes_are_missing_is_an_error() {
    let mut request = with_files(question("{}"), &FILES[..1]);
    request.files = Arc::default();
    for wire in [&OPENAI as &dyn Wire, &Responses] {
        let error = wire.encode("m", &request).unwrap_err();
        assert_eq!(error, format!("the bytes of `img/cat.png` ({}) are not there", Digest::of(b"PNG")));
    }
}

#[test]
fn turns_give_calls_and_results_back() {
    let mut request = with_tool(question(r#"{"seed":false}"#));
    let tool = |id: &str, name: &str, output: &str| Turn::Tool {
        call_id: id.to_owned(),
        name: name.to_owned(),
        output: output.to_owned(),
        is_error: false,
    };
    let calls = vec![call("call_a", "weather", r#"{"city":"Bonn"}"#), call("", "clock", "not json")];
    request.turns = vec![
        Turn::Model { text: String::new(), calls, keep: Some(value(r#"{"reasoning_content":"hm","role":"system"}"#)) },
        tool("call_a", "weather", "rain"),
        tool("", "clock", "12:00"),
        Turn::Model { text: "It rains.".to_owned(), calls: Vec::new(), keep: None },
    ];
    assert_sends(&COMPATIBLE, "llama-test", &request, "/chat/completions", fixture!("request_chat_turns.json"));
}

#[test]
fn nothing_is_said_about_tools_where_there_are_none() {
    let request = question(r#"{"tool_choice":"auto","parallel_tool_calls":true}"#);
    for wire in [&OPENAI as &dyn Wire, &COMPATIBLE, &Responses] {
        let body = value(&String::from_utf8(wire.encode("m", &request).unwrap().body).unwrap());
        for name in ["tools", "tool_choice", "parallel_tool_calls"] {
            assert_eq!(body.get(name), None, "{wire:?} {name}");
        }
    }
}

#[test]
fn a_choice_of_tools_is_a_word_a_name_or_as_it_is() {
    let chosen = |wire: &dyn Wire, choice: &str| {
        let request = with_tool(question(&format!(r#"{{"tool_choice":{choice}}}"#)));
        let body = value(&String::from_utf8(wire.encode("m", &request).unwrap().body).unwrap());
        body.get("tool_choice").map(ToString::to_string)
    };
    for same in [r#""auto""#, r#""none""#, r#""required""#, r#"{"mode":"auto","type":"allowed_tools"}"#] {
        assert_eq!(chosen(&OPENAI, same).as_deref(), Some(same));
        assert_eq!(chosen(&Responses, same).as_deref(), Some(same));
    }
    let named = r#"{"function":{"name":"weather"},"type":"function"}"#;
    assert_eq!(chosen(&COMPATIBLE, r#""weather""#).as_deref(), Some(named));
    assert_eq!(chosen(&Responses, r#""weather""#).as_deref(), Some(r#"{"name":"weather","type":"function"}"#));
}

#[test]
fn the_users_own_members_win() {
    let request = question(r#"{"temperature":1,"extra_body":{"temperature":0,"store":true}}"#);
    let body = value(&String::from_utf8(OPENAI.encode("m", &request).unwrap().body).unwrap());
    assert_eq!(body.get("temperature").and_then(Value::as_u64), Some(0));
    assert_eq!(body.get("store").and_then(Value::as_bool), Some(true));
}

#[test]
fn responses_has_items_in_the_place_of_messages() {
    let messages = [
        (Role::System, "Be brief."),
        (Role::System, "Be kind."),
        (Role::User, "q"),
        (Role::System, "Now in verse."),
        (Role::User, "Look."),
    ];
    let params = format!(
        r#"{{"temperature":0.5,"top_p":0.9,"max_tokens":64,"reasoning_effort":"low","top_logprobs":3,"stream":true,
        "service_tier":"flex","response_schema":{SCHEMA},"tool_choice":"weather","parallel_tool_calls":true,
        "extra_body":{{"reasoning":{{"summary":"auto"}}}}}}"#
    );
    let request = with_tool(with_files(request(&messages, &params), FILES));
    assert_sends(&Responses, "gpt-test", &request, "/responses", fixture!("request_responses.json"));
}

#[test]
fn responses_gets_its_own_items_back() {
    let answer = Responses.decode(fixture!("responses_tools.json").as_bytes()).unwrap();
    let tool = |id: &str, name: &str, output: &str| Turn::Tool {
        call_id: id.to_owned(),
        name: name.to_owned(),
        output: output.to_owned(),
        is_error: true,
    };
    let mut request = question("{}");
    request.turns = vec![
        Turn::Model { text: answer.text, calls: answer.calls, keep: answer.keep },
        tool("call_a", "weather", "rain"),
        Turn::Model { text: "One more.".to_owned(), calls: vec![call("call_b", "clock", "{}")], keep: None },
        tool("call_b", "clock", "12:00"),
    ];
    assert_sends(&Responses, "gpt-test", &request, "/responses", fixture!("request_responses_turns.json"));
}

#[test]
fn responses_asks_for_more_only_where_it_is_wanted() {
    let included = |request: &Request| {
        let body = value(&String::from_utf8(Responses.encode("m", request).unwrap().body).unwrap());
        body.get("include").map(ToString::to_string)
    };
    assert_eq!(included(&question("{}")), None);
    assert_eq!(included(&question(r#"{"logprobs":false,"reasoning_effort":"low"}"#)), None);
    let logprobs = Some(r#"["message.output_text.logprobs"]"#.to_owned());
    assert_eq!(included(&with_tool(question(r#"{"logprobs":true}"#))), logprobs);
    assert_eq!(included(&question(r#"{"top_logprobs":0}"#)), logprobs);
}

#[test]
fn a_picture_is_asked_for_with_one_text() {
    let messages = [(Role::System, "In oil."), (Role::User, "A cat.")];
    let params = r#"{"size":"1024x1024","quality":"low","background":"opaque","image_format":"webp"}"#;
    let new = request(&messages, params);
    assert_sends(&Images, "gpt-image-test", &new, "/images/generations", fixture!("request_images.json"));
    let old = request(&messages[1..], r#"{"style":"natural"}"#);
    assert_sends(&Images, "dall-e-3", &old, "/images/generations", fixture!("request_images_old.json"));
}

#[test]
fn an_image_model_takes_nothing_but_text() {
    let with_file = with_files(question("{}"), &FILES[..1]);
    let mut with_turn = question("{}");
    with_turn.turns = vec![Turn::Model { text: "a".to_owned(), calls: Vec::new(), keep: None }];
    let cases = [
        (with_file, "an image model cannot take `img/cat.png`: it takes a text"),
        (with_turn, "an image model cannot take turns or tools: it takes a text"),
        (with_tool(question("{}")), "an image model cannot take turns or tools: it takes a text"),
    ];
    for (request, expected) in cases {
        assert_eq!(Images.encode("gpt-image-test", &request), Err(expected.to_owned()));
    }
}

/// A parameter that a wire lists and does not send would be dropped in silence.
#[test]
fn every_parameter_that_a_wire_lists_changes_what_is_sent() {
    let samples = [
        ("temperature", "0.5"),
        ("top_p", "0.5"),
        ("max_tokens", "5"),
        ("stop", r#"["x"]"#),
        ("reasoning_effort", r#""low""#),
        ("frequency_penalty", "0.5"),
        ("presence_penalty", "0.5"),
        ("logprobs", "true"),
        ("top_logprobs", "2"),
        ("response_schema", "{}"),
        ("tool_choice", r#""none""#),
        ("parallel_tool_calls", "false"),
        ("service_tier", r#""flex""#),
        ("top_k", "5"),
        ("min_p", "0.5"),
        ("repetition_penalty", "1.5"),
        ("size", r#""1x1""#),
        ("quality", r#""low""#),
        ("background", r#""opaque""#),
        ("style", r#""vivid""#),
        ("image_format", r#""png""#),
        ("stream", "true"),
        ("extra_body", r#"{"x":1}"#),
    ];
    let cases: [(&dyn Wire, &[&str]); 4] =
        [(&OPENAI, &[]), (&COMPATIBLE, &[]), (&Responses, Responses.lacks()), (&Images, Images.lacks())];
    for (wire, lacks) in cases {
        let equip = |request: Request| {
            if wire.encode("m", &with_tool(request.clone())).is_ok() { with_tool(request) } else { request }
        };
        let plain = wire.encode("m", &equip(question(r#"{"seed":false}"#))).unwrap();
        let listed = wire.params().iter().chain(&params::COMMON).chain(&["stream", "extra_body"]);
        for name in listed.filter(|name| !lacks.contains(name)) {
            let (_, sample) = samples.iter().find(|(known, _)| known == name).expect(name);
            assert_eq!(params::check(name, &value(sample)), Ok(()), "{name}");
            let request = equip(question(&format!(r#"{{"seed":false,"{name}":{sample}}}"#)));
            assert_ne!(wire.encode("m", &request).unwrap().body, plain.body, "{wire:?} {name}");
        }
    }
    assert!(OPENAI.takes_seed() && COMPATIBLE.takes_seed() && !Responses.takes_seed() && !Images.takes_seed());
}
