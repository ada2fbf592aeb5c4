//! Anthropic's Messages.

use serde_json::{Value, json};

use super::super::answer::{Answer, REFUSAL, Said, pieces};
use super::super::ask::{self, Asked, flag, number};
use super::event;

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body).map_err(|_| "model: Field required")?);
    asked.max_tokens = Some(number(body, "max_tokens").ok_or("max_tokens: Field required")?);
    let system = ask::text(body.get("system"));
    asked.count(&system);
    let messages = body.get("messages").and_then(Value::as_array).ok_or("messages: Field required")?;
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    for message in messages {
        let content = message.get("content");
        match message.get("role").and_then(Value::as_str) {
            Some("user") => {
                let blocks = content.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let is_result = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("tool_result");
                let mut has_results = false;
                for block in blocks.iter().filter(is_result) {
                    has_results = true;
                    asked.result(ask::text(block.get("content")));
                }
                let text = ask::text(content);
                if !has_results || !text.is_empty() {
                    asked.user(text);
                }
            }
            Some("assistant") => asked.count(&ask::text(content)),
            _ => return Err("messages: a role is neither `user` nor `assistant`".to_owned()),
        }
    }
    asked.has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    asked.is_streamed = flag(body, "stream");
    Ok(asked)
}

pub(super) fn whole(answer: &Answer) -> Value {
    message(answer, blocks(answer).into(), stop_reason(answer).into(), answer.output_tokens)
}

pub(super) fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["type"] = name.into();
        parts.push(event(name, &data));
    };
    push("message_start", json!({"message": message(answer, json!([]), Value::Null, 1)}));
    for (index, mut block) in blocks(answer).into_iter().enumerate() {
        let call = answer.calls().get(index);
        match call {
            Some(_) => block["input"] = json!({}),
            None => block["text"] = "".into(),
        }
        push("content_block_start", json!({"index": index, "content_block": block}));
        if index == 0 {
            push("ping", json!({}));
        }
        match call {
            Some(call) => {
                for piece in pieces(&call.text()) {
                    let delta = json!({"type": "input_json_delta", "partial_json": piece});
                    push("content_block_delta", json!({"index": index, "delta": delta}));
                }
            }
            None => {
                for piece in pieces(answer.text()) {
                    let delta = json!({"type": "text_delta", "text": piece});
                    push("content_block_delta", json!({"index": index, "delta": delta}));
                }
            }
        }
        push("content_block_stop", json!({"index": index}));
    }
    let delta =
        json!({"stop_reason": stop_reason(answer), "stop_details": stop_details(answer), "stop_sequence": null});
    push("message_delta", json!({"delta": delta, "usage": {"output_tokens": answer.output_tokens}}));
    push("message_stop", json!({}));
    parts
}

/// A refusal comes without content: what was said before it is not to be relied on.
fn blocks(answer: &Answer) -> Vec<Value> {
    match &answer.said {
        Said::Calls(calls) => {
            let block = |(index, call): (usize, &ask::Call)| json!({"type": "tool_use", "id": call.id("toolu_", index), "name": call.name, "input": call.arguments});
            calls.iter().enumerate().map(block).collect()
        }
        Said::Refused | Said::Filtered => Vec::new(),
        // An answer of nothing has no block.
        _ if answer.text().is_empty() => Vec::new(),
        _ => vec![json!({"type": "text", "text": answer.text()})],
    }
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.said {
        Said::Cut(_) => "max_tokens",
        Said::Calls(_) => "tool_use",
        Said::Refused | Said::Filtered => "refusal",
        _ => "end_turn",
    }
}

/// What kind of refusal it is; only a refusal has such details.
fn stop_details(answer: &Answer) -> Value {
    match answer.said {
        Said::Refused | Said::Filtered => json!({"type": "refusal", "category": null, "explanation": REFUSAL}),
        _ => Value::Null,
    }
}

fn message(answer: &Answer, content: Value, stop_reason: Value, output_tokens: u64) -> Value {
    let details = if stop_reason.is_null() { Value::Null } else { stop_details(answer) };
    json!({
        "id": answer.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_details": details,
        "stop_sequence": null,
        "usage": {
            "input_tokens": answer.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output_tokens,
            "service_tier": "standard",
        },
    })
}
