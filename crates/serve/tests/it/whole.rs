//! Whole replies of every wire.

use proofmark_model::Secret;
use proofmark_model::offline::Script;
use proofmark_serve::mock::{Answers, Config};
use serde_json::{Value, json};

use crate::client::{ANTHROPIC, Question, get, post, questions, start};

/// Where the text, the input tokens and the output tokens stand in a reply.
fn places(path: &str) -> [&'static str; 3] {
    match path {
        "/v1/chat/completions" => ["/choices/0/message/content", "/usage/prompt_tokens", "/usage/completion_tokens"],
        "/v1/responses" => ["/output/0/content/0/text", "/usage/input_tokens", "/usage/output_tokens"],
        "/v1/messages" => ["/content/0/text", "/usage/input_tokens", "/usage/output_tokens"],
        "/v1beta/models/m:generateContent" => [
            "/candidates/0/content/parts/0/text",
            "/usageMetadata/promptTokenCount",
            "/usageMetadata/candidatesTokenCount",
        ],
        "/api/chat" => ["/message/content", "/prompt_eval_count", "/eval_count"],
        "/v2/chat" => ["/message/content/0/text", "/usage/tokens/input_tokens", "/usage/tokens/output_tokens"],
        _ => ["/result/response", "/result/usage/prompt_tokens", "/result/usage/completion_tokens"],
    }
}

#[test]
fn every_wire_gives_the_same_answer_and_the_same_counts() {
    let server = start(Config::default());
    for (path, headers, body) in questions("What is the capital of France?") {
        let reply = post(&server, path, headers, &body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
        let json = reply.json();
        let found = places(path).map(|place| json.pointer(place).cloned().unwrap_or_default());
        assert_eq!(found, [json!("What is the capital of France?"), json!(3 + 8), json!(8)], "{path}: {json}");
    }
}

#[test]
fn replies_have_the_documented_shape() {
    let server = start(Config::default());
    let expected = [
        (
            "/v1/chat/completions",
            json!({"object": "chat.completion", "model": "m"}),
            "x-request-id",
            "/choices/0/finish_reason",
            "stop",
        ),
        (
            "/v1/responses",
            json!({"object": "response", "model": "m", "status": "completed"}),
            "x-request-id",
            "/output/0/type",
            "message",
        ),
        (
            "/v1/messages",
            json!({"type": "message", "role": "assistant", "model": "m"}),
            "request-id",
            "/stop_reason",
            "end_turn",
        ),
        (
            "/v1beta/models/m:generateContent",
            json!({"modelVersion": "m"}),
            "x-goog-request-id",
            "/candidates/0/finishReason",
            "STOP",
        ),
        ("/api/chat", json!({"model": "m", "done": true}), "", "/done_reason", "stop"),
        ("/v2/chat", json!({}), "", "/finish_reason", "COMPLETE"),
        (
            "/client/v4/accounts/acc/ai/run/m",
            json!({"success": true, "errors": []}),
            "cf-ray",
            "/result/response",
            "hi",
        ),
    ];
    for ((path, headers, body), (same, members, id, place, word)) in questions("hi").into_iter().zip(expected) {
        assert_eq!(path, same);
        let reply = post(&server, path, headers, &body);
        assert_eq!(reply.header(id).is_some(), !id.is_empty(), "{path}");
        let json = reply.json();
        for (name, value) in members.as_object().unwrap() {
            assert_eq!(json.get(name), Some(value), "{path}: {json}");
        }
        assert_eq!(json.pointer(place), Some(&json!(word)), "{path}: {json}");
    }
}

#[test]
fn the_same_request_twice_gives_the_same_body_but_for_its_ids() {
    let server = start(Config::default());
    for (path, headers, body) in questions("again") {
        let [first, second] = [0, 1].map(|_| post(&server, path, headers, &body));
        let id = |reply: &crate::client::Reply| {
            ["x-request-id", "request-id", "x-goog-request-id", "cf-ray"]
                .iter()
                .find_map(|name| reply.header(name).map(str::to_owned))
        };
        if let (Some(first), Some(second)) = (id(&first), id(&second)) {
            assert_ne!(first, second, "{path}");
        }
        let mask = |mut value: Value| {
            for place in ["/id", "/responseId", "/output/0/id"] {
                if let Some(id) = value.pointer_mut(place) {
                    *id = Value::Null;
                }
            }
            value
        };
        assert_eq!(mask(first.json()), mask(second.json()), "{path}");
    }
}

#[test]
fn a_provider_may_answer_as_another_model() {
    let server = start(Config { answer_as: Some("gpt-cheap".to_owned()), ..Config::default() });
    for (path, headers, body) in questions("hi") {
        let json = post(&server, path, headers, &body).json();
        let named = json.get("model").or_else(|| json.get("modelVersion"));
        match path {
            "/v2/chat" | "/client/v4/accounts/acc/ai/run/m" => assert_eq!(named, None),
            _ => assert_eq!(named, Some(&json!("gpt-cheap")), "{path}"),
        }
    }
}

#[test]
fn a_script_answers_on_every_wire_and_the_echo_takes_the_rest() {
    let script =
        Script::load_bytes(b"patterns:\n  - {match: 'capital of (\\w+)', answer: 'of $1: no idea'}\n", "s.yaml");
    let answers = Answers::Script(Box::new(script.unwrap()));
    let server = start(Config { answers, ..Config::default() });
    for (question, answer) in [("the capital of Chad?", "of Chad: no idea"), ("who?", "who?")] {
        for (path, headers, body) in questions(question) {
            let json = post(&server, path, headers, &body).json();
            assert_eq!(json.pointer(places(path)[0]), Some(&json!(answer)), "{path}: {json}");
        }
    }
}

#[test]
fn the_limit_of_tokens_ends_an_answer() {
    let server = start(Config::default());
    for (path, headers, mut body) in questions("a longer text than eight bytes") {
        let (finish, word) = match path {
            "/v1/chat/completions" => {
                body["max_completion_tokens"] = 2.into();
                ("/choices/0/finish_reason", "length")
            }
            "/v1/responses" => {
                body["max_output_tokens"] = 2.into();
                ("/incomplete_details/reason", "max_output_tokens")
            }
            "/v1beta/models/m:generateContent" => {
                body["generationConfig"] = json!({"maxOutputTokens": 2});
                ("/candidates/0/finishReason", "MAX_TOKENS")
            }
            "/api/chat" => {
                body["options"] = json!({"num_predict": 2});
                ("/done_reason", "length")
            }
            _ => {
                body["max_tokens"] = 2.into();
                match path {
                    "/v1/messages" => ("/stop_reason", "max_tokens"),
                    "/v2/chat" => ("/finish_reason", "MAX_TOKENS"),
                    _ => ("/result/response", "a longer"),
                }
            }
        };
        let json = post(&server, path, headers, &body).json();
        assert_eq!(json.pointer(finish), Some(&json!(word)), "{path}: {json}");
        assert_eq!(json.pointer(places(path)[0]), Some(&json!("a longer")), "{path}: {json}");
    }
}

#[test]
fn tools_are_called_in_the_words_of_each_wire() {
    let server = start(Config::default());
    let arguments = json!({"a": 1, "b": [2]});
    for (path, headers, mut body) in questions(r#"please call:add {"b": [2], "a": 1}"#) {
        body["tools"] = json!([{"name": "add"}]);
        let json = post(&server, path, headers, &body).json();
        let (name, given, finish) = match path {
            "/v1/chat/completions" => (
                "/choices/0/message/tool_calls/0/function/name",
                "/choices/0/message/tool_calls/0/function/arguments",
                Some(("/choices/0/finish_reason", "tool_calls")),
            ),
            "/v1/responses" => ("/output/0/name", "/output/0/arguments", Some(("/output/0/type", "function_call"))),
            "/v1/messages" => ("/content/0/name", "/content/0/input", Some(("/stop_reason", "tool_use"))),
            "/v1beta/models/m:generateContent" => (
                "/candidates/0/content/parts/0/functionCall/name",
                "/candidates/0/content/parts/0/functionCall/args",
                None,
            ),
            "/api/chat" => ("/message/tool_calls/0/function/name", "/message/tool_calls/0/function/arguments", None),
            "/v2/chat" => (
                "/message/tool_calls/0/function/name",
                "/message/tool_calls/0/function/arguments",
                Some(("/finish_reason", "TOOL_CALL")),
            ),
            _ => ("/result/tool_calls/0/name", "/result/tool_calls/0/arguments", None),
        };
        assert_eq!(json.pointer(name), Some(&json!("add")), "{path}: {json}");
        let given = match json.pointer(given).unwrap() {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            other => other.clone(),
        };
        assert_eq!(given, arguments, "{path}");
        if let Some((place, word)) = finish {
            assert_eq!(json.pointer(place), Some(&json!(word)), "{path}: {json}");
        }
    }
}

#[test]
fn what_a_tool_gave_is_the_next_prompt() {
    let server = start(Config::default());
    let user = json!({"role": "user", "content": "call:add {}"});
    let chat = json!({"model": "m", "tools": [{}], "messages": [user, {"role": "assistant", "tool_calls": []},
        {"role": "tool", "tool_call_id": "x", "content": "42"}]});
    let responses = json!({"model": "m", "tools": [{}], "input": [user, {"type": "function_call", "call_id": "x",
        "name": "add", "arguments": "{}"}, {"type": "function_call_output", "call_id": "x", "output": "42"}]});
    let messages = json!({"model": "m", "max_tokens": 9, "tools": [{}], "messages": [user,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "add", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "42"}]}]});
    let gemini = json!({"tools": [{}], "contents": [{"role": "user", "parts": [{"text": "call:add {}"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": "42"}}}]}]});
    let cases: [Question; 4] = [
        ("/v1/chat/completions", &[], chat),
        ("/v1/responses", &[], responses),
        ("/v1/messages", ANTHROPIC, messages),
        ("/v1beta/models/m:generateContent", &[], gemini),
    ];
    for (path, headers, body) in cases {
        let json = post(&server, path, headers, &body).json();
        let found = places(path).map(|place| json.pointer(place).cloned().unwrap_or_default());
        assert_eq!(found, [json!("42"), json!(3 + 1), json!(1)], "{path}: {json}");
    }
}

#[test]
fn pictures_are_png_of_the_size_that_was_asked_for() {
    let server = start(Config::default());
    let decode = |text: &Value| data_encoding::BASE64.decode(text.as_str().unwrap().as_bytes()).unwrap();
    let ask = |body: Value| post(&server, "/v1/images/generations", &[], &body);
    let body = json!({"model": "gpt-image-1", "prompt": "a cat", "n": 2, "size": "32x16"});
    let json = ask(body.clone()).json();
    let [first, second] = [0, 1].map(|at| decode(&json["data"][at]["b64_json"]));
    assert!(first.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(first[16..24], [0, 0, 0, 32, 0, 0, 0, 16]);
    assert_ne!(first, second);
    assert_eq!(decode(&ask(body).json()["data"][0]["b64_json"]), first);
    for (name, value) in [("size", json!("huge")), ("size", json!("99999x1")), ("n", json!(11)), ("prompt", json!(""))]
    {
        let mut body = json!({"model": "m", "prompt": "x"});
        body[name] = value;
        assert_eq!(ask(body).status, 400, "{name}");
    }
    let gemini = json!({"contents": [{"parts": [{"text": "a cat"}]}], "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}});
    let json = post(&server, "/v1beta/models/m:generateContent", &[], &gemini).json();
    let part = &json["candidates"][0]["content"]["parts"][0]["inlineData"];
    assert_eq!(part["mimeType"], "image/png");
    assert!(decode(&part["data"]).starts_with(b"\x89PNG"));
    let run = |model: &str| {
        post(&server, &format!("/client/v4/accounts/a/ai/run/@cf/x/{model}"), &[], &json!({"prompt": "a cat"}))
    };
    assert!(decode(&run("flux-1").json()["result"]["image"]).starts_with(b"\x89PNG"));
    let raw = run("stable-diffusion-xl");
    assert_eq!(raw.header("content-type"), Some("image/png"));
    assert!(raw.body.starts_with(b"\x89PNG"));
}

#[test]
fn log_probabilities_come_when_they_are_asked_for() {
    let server = start(Config::default());
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "a text of more than a piece"}]});
    let ask = |body: &Value| post(&server, "/v1/chat/completions", &[], body).json()["choices"][0]["logprobs"].clone();
    assert_eq!(ask(&body), Value::Null);
    body["logprobs"] = true.into();
    let tokens: Vec<Value> = ask(&body)["content"].as_array().unwrap().clone();
    let text: String = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(text, "a text of more than a piece");
    assert!(tokens.iter().all(|token| token["logprob"].as_f64().unwrap() < 0.0));
}

#[test]
fn a_key_is_demanded_in_the_header_of_each_wire() {
    let server = start(Config { key: Some(Secret::new("right")), ..Config::default() });
    for (path, _, body) in questions("hi") {
        let (name, prefix, wrong, none) = match path {
            "/v1/messages" => ("x-api-key", "", 401, 401),
            "/v1beta/models/m:generateContent" => ("x-goog-api-key", "", 400, 403),
            _ => ("authorization", "Bearer ", 401, 401),
        };
        let ask =
            |key: &str| post(&server, path, &[(name, &format!("{prefix}{key}")), ("anthropic-version", "1")], &body);
        assert_eq!(ask("right").status, 200, "{path}");
        assert_eq!(ask("wrong").status, wrong, "{path}");
        let reply = post(&server, path, &[("anthropic-version", "1")], &body);
        assert_eq!(reply.status, none, "{path}");
        assert!(!reply.text().contains("right"), "{path}");
    }
    let (_, _, body) = questions("hi").remove(3);
    assert_eq!(post(&server, "/v1beta/models/m:generateContent?key=right", &[], &body).status, 200);
    let json = post(&server, "/v1beta/models/m:generateContent?key=wrong", &[], &body).json();
    assert_eq!(json.pointer("/error/details/0/reason"), Some(&json!("API_KEY_INVALID")));
    assert_eq!(get(&server, "/v1/models", &[]).status, 401);
}

#[test]
fn anthropic_wants_its_headers() {
    let server = start(Config::default());
    let (path, _, body) = questions("hi").remove(2);
    let reply = post(&server, path, &[("anthropic-version", "2023-06-01")], &body);
    assert_eq!((reply.status, reply.json()["error"]["type"].clone()), (401, json!("authentication_error")));
    let reply = post(&server, path, &[("x-api-key", "k")], &body);
    assert_eq!((reply.status, reply.json()["error"]["type"].clone()), (400, json!("invalid_request_error")));
    assert_eq!(reply.json()["request_id"].as_str(), reply.header("request-id"));
}

#[test]
fn requests_that_are_wrong_are_refused_in_the_words_of_the_wire() {
    let server = start(Config::default());
    for (path, headers, _) in questions("hi") {
        for body in
            [json!({}), json!([]), json!(null), json!({"model": "m", "messages": [], "contents": [], "input": []})]
        {
            let reply = post(&server, path, headers, &body);
            assert_eq!(reply.status, 400, "{path} {body}: {}", reply.text());
            let json = reply.json();
            let message = ["/error/message", "/error", "/message", "/errors/0/message"];
            assert!(message.iter().any(|place| json.pointer(place).is_some_and(Value::is_string)), "{path}: {json}");
        }
        let mut client = crate::client::Client::new(server.address());
        client.send("POST", path, headers, b"{not json");
        assert_eq!(client.receive().unwrap().status, 400, "{path}");
        client.send("GET", path, headers, b"");
        assert_eq!(client.receive().unwrap().status, 405, "{path}");
    }
    assert_eq!(post(&server, "/v1/nothing", &[], &json!({})).status, 404);
}

#[test]
fn models_are_listed_for_each_client() {
    let server = start(Config::default());
    assert_eq!(get(&server, "/v1/models", &[]).json()["object"], "list");
    assert_eq!(get(&server, "/v1/models", ANTHROPIC).json()["data"][0]["type"], "model");
    assert_eq!(get(&server, "/v1beta/models", &[]).json()["models"][0]["name"], "models/mock-model");
    assert_eq!(get(&server, "/api/tags", &[]).json()["models"][0]["name"], "mock-model:latest");
}
