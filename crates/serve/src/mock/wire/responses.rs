//! OpenAI's Responses.

use serde_json::{Value, json};

use super::super::answer::{Answer, CREATED, REFUSAL, Said, pieces};
use super::super::ask::{self, Asked, flag, number};
use super::event;

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body)?);
    if let Some(instructions) = body.get("instructions").and_then(Value::as_str) {
        asked.count(instructions);
    }
    match body.get("input") {
        Some(Value::String(text)) => asked.user(text.clone()),
        Some(Value::Array(items)) if !items.is_empty() => {
            for item in items {
                take(&mut asked, item)?;
            }
        }
        _ => return Err("`input` is missing or empty".to_owned()),
    }
    asked.has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    asked.is_streamed = flag(body, "stream");
    asked.max_tokens = number(body, "max_output_tokens");
    Ok(asked)
}

fn take(asked: &mut Asked, item: &Value) -> Result<(), String> {
    match item.get("type").and_then(Value::as_str).unwrap_or("message") {
        "message" => {
            let text = ask::text(item.get("content"));
            match item.get("role").and_then(Value::as_str) {
                Some("user") => asked.user(text),
                Some("system" | "developer" | "assistant") => asked.count(&text),
                _ => return Err("an input item has no `role` that is known".to_owned()),
            }
        }
        "function_call_output" => asked.result(ask::text(item.get("output"))),
        // What the model itself said before: calls, reasoning.
        _ => {}
    }
    Ok(())
}

pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, status(answer), output(answer).into(), usage(answer))
}

pub(super) fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let mut events = Events::default();
    let begun = response(answer, "in_progress", json!([]), Value::Null);
    events.push("response.created", json!({"response": begun}));
    events.push("response.in_progress", json!({"response": begun}));
    for (index, item) in output(answer).into_iter().enumerate() {
        events.item(answer, index, &item);
    }
    let last = if status(answer) == "incomplete" { "response.incomplete" } else { "response.completed" };
    events.push(last, json!({"response": whole(answer)}));
    events.parts
}

#[derive(Default)]
struct Events {
    parts: Vec<Vec<u8>>,
}

impl Events {
    fn push(&mut self, name: &str, mut data: Value) {
        data["type"] = name.into();
        data["sequence_number"] = self.parts.len().into();
        self.parts.push(event(name, &data));
    }

    /// An item from its beginning to its end.
    fn item(&mut self, answer: &Answer, index: usize, item: &Value) {
        let id = item["id"].clone();
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        if let Some(call) = answer.calls().get(index) {
            begun["arguments"] = "".into();
            self.push("response.output_item.added", json!({"output_index": index, "item": begun}));
            for piece in pieces(&call.text()) {
                let delta = json!({"item_id": id, "output_index": index, "delta": piece});
                self.push("response.function_call_arguments.delta", delta);
            }
            let done = json!({"item_id": id, "output_index": index, "name": call.name, "arguments": call.text()});
            self.push("response.function_call_arguments.done", done);
        } else {
            begun["content"] = json!([]);
            self.push("response.output_item.added", json!({"output_index": index, "item": begun}));
            let part = &item["content"][0];
            let (text, field, name) = match answer.said {
                Said::Refused => (REFUSAL, "refusal", "response.refusal"),
                _ => (answer.text(), "text", "response.output_text"),
            };
            let mut empty = part.clone();
            empty[field] = "".into();
            let at = |more: Value| {
                let mut data = json!({"item_id": id, "output_index": index, "content_index": 0});
                if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
                    data.extend(more);
                }
                data
            };
            self.push("response.content_part.added", at(json!({"part": empty})));
            for piece in pieces(text) {
                self.push(&format!("{name}.delta"), at(json!({"delta": piece, "logprobs": []})));
            }
            self.push(&format!("{name}.done"), at(json!({field: text, "logprobs": []})));
            self.push("response.content_part.done", at(json!({"part": part})));
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
}

fn output(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls();
    if calls.is_empty() {
        let part = match answer.said {
            Said::Refused => json!({"type": "refusal", "refusal": REFUSAL}),
            _ => json!({"type": "output_text", "text": answer.text(), "annotations": [], "logprobs": []}),
        };
        let status = status(answer);
        return vec![json!({"type": "message", "id": answer.id("msg_"), "status": status, "role": "assistant",
            "content": [part]})];
    }
    let calls = calls.iter().enumerate();
    calls
        .map(|(index, call)| {
            json!({"type": "function_call", "id": call.id("fc_", index), "call_id": call.id("call_", index),
                "name": call.name, "arguments": call.text(), "status": "completed"})
        })
        .collect()
}

fn status(answer: &Answer) -> &'static str {
    if matches!(answer.said, Said::Cut(_) | Said::Filtered) { "incomplete" } else { "completed" }
}

fn response(answer: &Answer, status: &str, output: Value, usage: Value) -> Value {
    let reason = match answer.said {
        Said::Cut(_) if status == "incomplete" => json!({"reason": "max_output_tokens"}),
        Said::Filtered if status == "incomplete" => json!({"reason": "content_filter"}),
        _ => Value::Null,
    };
    json!({
        "id": answer.id("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": reason,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "service_tier": "default",
        "store": true,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": null,
    })
}

fn usage(answer: &Answer) -> Value {
    json!({
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.total_tokens(),
    })
}
