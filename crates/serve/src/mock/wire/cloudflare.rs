//! Cloudflare's Workers AI.

use serde_json::{Value, json};

use super::super::answer::{Answer, Said, pieces};
use super::super::ask::{Asked, Pictures, flag, number};
use super::{Content, SSE, base64, event, raw_event};

pub(super) fn read(model: &str, body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(model);
    match body.get("prompt").and_then(Value::as_str) {
        Some(prompt) => asked.user(prompt.to_owned()),
        None => asked.messages(body)?,
    }
    if draws(model) {
        let side = |name: &str| number(body, name).and_then(|side| u32::try_from(side).ok()).unwrap_or(64);
        asked.pictures = Some(Pictures { count: 1, width: side("width"), height: side("height") });
    }
    asked.is_streamed = flag(body, "stream") && asked.pictures.is_none();
    asked.max_tokens = number(body, "max_tokens");
    Ok(asked)
}

/// Models that draw, by their names.
fn draws(model: &str) -> bool {
    ["flux", "stable-diffusion", "dreamshaper", "lucid", "phoenix"].iter().any(|name| model.contains(name))
}

pub(super) fn write(model: &str, is_streamed: bool, answer: &Answer) -> Content {
    match &answer.said {
        // Older models give the picture as it is, newer ones as text in JSON.
        Said::Pictures(pictures) => {
            let bytes = pictures.first().map_or(&[][..], Vec::as_slice);
            if model.contains("flux") || model.contains("lucid") {
                Content::Json(wrap(json!({"image": base64(bytes)})))
            } else {
                Content::Bytes("image/png", bytes.to_vec())
            }
        }
        _ if is_streamed => Content::Stream(SSE, stream(answer)),
        _ => Content::Json(wrap(result(answer))),
    }
}

fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let mut parts: Vec<_> =
        pieces(answer.text()).map(|piece| event("", &json!({"response": piece, "p": "ab"}))).collect();
    let mut last = json!({"response": "", "usage": usage(answer)});
    if !answer.calls().is_empty() {
        last["tool_calls"] = calls(answer);
    }
    parts.push(event("", &last));
    parts.push(raw_event("", "[DONE]"));
    parts
}

fn result(answer: &Answer) -> Value {
    if answer.calls().is_empty() {
        return json!({"response": answer.text(), "tool_calls": [], "usage": usage(answer)});
    }
    json!({"response": null, "tool_calls": calls(answer), "usage": usage(answer)})
}

fn calls(answer: &Answer) -> Value {
    answer.calls().iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect()
}

fn wrap(result: Value) -> Value {
    json!({"result": result, "success": true, "errors": [], "messages": []})
}

fn usage(answer: &Answer) -> Value {
    json!({"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens,
        "total_tokens": answer.total_tokens()})
}
