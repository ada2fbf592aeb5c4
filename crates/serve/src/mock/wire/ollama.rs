//! Ollama's own chat.

use serde_json::{Value, json};

use super::super::answer::{Answer, CREATED_TEXT, Said, pieces};
use super::super::ask::{self, Asked, number};

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body)?);
    asked.messages(body)?;
    // Streams unless it is told not to.
    asked.is_streamed = body.get("stream").and_then(Value::as_bool).unwrap_or(true);
    asked.max_tokens = body.get("options").and_then(|options| number(options, "num_predict"));
    Ok(asked)
}

pub(super) fn whole(answer: &Answer) -> Value {
    done(answer, message(answer, answer.text()))
}

/// A line for every piece.
pub(super) fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let line = |value: &Value| format!("{value}\n").into_bytes();
    let part = |message: Value| {
        line(&json!({"model": answer.model, "created_at": CREATED_TEXT, "message": message, "done": false}))
    };
    let mut parts: Vec<_> = pieces(answer.text()).map(|piece| part(message(answer, piece))).collect();
    if !answer.calls().is_empty() {
        parts.push(part(message(answer, "")));
    }
    parts.push(line(&done(answer, json!({"role": "assistant", "content": ""}))));
    parts
}

fn message(answer: &Answer, text: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !answer.calls().is_empty() {
        let calls = answer.calls().iter();
        message["tool_calls"] =
            calls.map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}})).collect();
    }
    message
}

fn done(answer: &Answer, message: Value) -> Value {
    json!({
        "model": answer.model,
        "created_at": CREATED_TEXT,
        "message": message,
        "done": true,
        "done_reason": if matches!(answer.said, Said::Cut(_)) { "length" } else { "stop" },
        "total_duration": 3_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": answer.input_tokens,
        "prompt_eval_duration": 1_000_000,
        "eval_count": answer.output_tokens,
        "eval_duration": 1_000_000,
    })
}
