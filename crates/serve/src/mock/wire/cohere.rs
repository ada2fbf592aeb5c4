//! Cohere's chat, version 2.

use serde_json::{Value, json};

use super::super::answer::{Answer, Said, pieces};
use super::super::ask::{self, Asked, flag, number};
use super::event;

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body)?);
    asked.messages(body)?;
    asked.is_streamed = flag(body, "stream");
    asked.max_tokens = number(body, "max_tokens");
    Ok(asked)
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant"});
    if answer.calls().is_empty() {
        message["content"] = json!([{"type": "text", "text": answer.text()}]);
    } else {
        message["tool_plan"] = "I will use the tools.".into();
        let calls = answer.calls().iter().enumerate();
        message["tool_calls"] = calls.map(|(index, call)| tool_call(call, index, &call.text())).collect();
    }
    json!({"id": answer.id(""), "finish_reason": finish(answer), "message": message, "usage": usage(answer)})
}

pub(super) fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["type"] = name.into();
        parts.push(event(name, &data));
    };
    let message = json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
    push("message-start", json!({"id": answer.id(""), "delta": {"message": message}}));
    for (index, call) in answer.calls().iter().enumerate() {
        let head = tool_call(call, index, "");
        push("tool-call-start", json!({"index": index, "delta": {"message": {"tool_calls": head}}}));
        for piece in pieces(&call.text()) {
            let more = json!({"message": {"tool_calls": {"function": {"arguments": piece}}}});
            push("tool-call-delta", json!({"index": index, "delta": more}));
        }
        push("tool-call-end", json!({"index": index}));
    }
    if answer.calls().is_empty() {
        let head = json!({"message": {"content": {"type": "text", "text": ""}}});
        push("content-start", json!({"index": 0, "delta": head}));
        for piece in pieces(answer.text()) {
            push("content-delta", json!({"index": 0, "delta": {"message": {"content": {"text": piece}}}}));
        }
        push("content-end", json!({"index": 0}));
    }
    push("message-end", json!({"delta": {"finish_reason": finish(answer), "usage": usage(answer)}}));
    parts
}

fn tool_call(call: &ask::Call, index: usize, arguments: &str) -> Value {
    json!({"id": call.id(&format!("{}_", call.name), index), "type": "function",
        "function": {"name": call.name, "arguments": arguments}})
}

fn finish(answer: &Answer) -> &'static str {
    match answer.said {
        Said::Cut(_) => "MAX_TOKENS",
        Said::Calls(_) => "TOOL_CALL",
        _ => "COMPLETE",
    }
}

fn usage(answer: &Answer) -> Value {
    let tokens = json!({"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens});
    json!({"billed_units": tokens, "tokens": tokens})
}
