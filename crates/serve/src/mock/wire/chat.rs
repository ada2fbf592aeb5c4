//! OpenAI's Chat Completions, which many others speak too.

use serde_json::{Value, json};

use super::super::answer::{Answer, CREATED, REFUSAL, Said, pieces};
use super::super::ask::{self, Asked, flag, number, tokens};
use super::{event, raw_event};

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body)?);
    asked.messages(body)?;
    asked.is_streamed = flag(body, "stream");
    // Mistral, which names its seed otherwise, always counts.
    let is_mistral = body.get("random_seed").is_some();
    asked.wants_usage = is_mistral || body.get("stream_options").is_some_and(|options| flag(options, "include_usage"));
    asked.wants_logprobs = flag(body, "logprobs");
    asked.max_tokens = number(body, "max_completion_tokens").or_else(|| number(body, "max_tokens"));
    Ok(asked)
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut message =
        json!({"role": "assistant", "content": content(answer), "refusal": refusal(answer), "annotations": []});
    if !answer.calls().is_empty() {
        message["tool_calls"] = calls(answer).into();
    }
    json!({
        "id": answer.id("chatcmpl-"),
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": if answer.wants_logprobs { logprobs(pieces(answer.text())) } else { Value::Null },
            "finish_reason": finish(answer),
        }],
        "usage": usage(answer),
        "service_tier": "default",
        "system_fingerprint": "fp_proofmark",
    })
}

pub(super) fn stream(answer: &Answer) -> Vec<Vec<u8>> {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": answer.id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": answer.model,
            "choices": choices,
            "service_tier": "default",
            "system_fingerprint": "fp_proofmark",
        });
        if answer.wants_usage {
            chunk["usage"] = usage;
        }
        event("", &chunk)
    };
    let delta = |delta: Value, logprobs: Value, finish: Value| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}]), Value::Null)
    };
    let first = if answer.calls().is_empty() { json!("") } else { Value::Null };
    let mut parts =
        vec![delta(json!({"role": "assistant", "content": first, "refusal": null}), Value::Null, Value::Null)];
    for piece in pieces(answer.text()) {
        let logprobs = if answer.wants_logprobs { logprobs([piece].into_iter()) } else { Value::Null };
        parts.push(delta(json!({"content": piece}), logprobs, Value::Null));
    }
    if answer.said == Said::Refused {
        parts.extend(pieces(REFUSAL).map(|piece| delta(json!({"refusal": piece}), Value::Null, Value::Null)));
    }
    for (index, call) in answer.calls().iter().enumerate() {
        let head = json!({"index": index, "id": call.id("call_", index), "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        parts.push(delta(json!({"tool_calls": [head]}), Value::Null, Value::Null));
        for piece in pieces(&call.text()) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            parts.push(delta(json!({"tool_calls": [more]}), Value::Null, Value::Null));
        }
    }
    parts.push(delta(json!({}), Value::Null, finish(answer).into()));
    if answer.wants_usage {
        parts.push(chunk(json!([]), usage(answer)));
    }
    parts.push(raw_event("", "[DONE]"));
    parts
}

fn content(answer: &Answer) -> Value {
    match answer.said {
        Said::Calls(_) | Said::Refused => Value::Null,
        _ => answer.text().into(),
    }
}

fn refusal(answer: &Answer) -> Value {
    if answer.said == Said::Refused { REFUSAL.into() } else { Value::Null }
}

fn calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls().iter().enumerate();
    calls
        .map(|(index, call)| {
            json!({"id": call.id("call_", index), "type": "function",
                "function": {"name": call.name, "arguments": call.text()}})
        })
        .collect()
}

fn finish(answer: &Answer) -> &'static str {
    match answer.said {
        Said::Cut(_) => "length",
        Said::Calls(_) => "tool_calls",
        Said::Filtered => "content_filter",
        _ => "stop",
    }
}

/// Every piece is a token; the longer, the less likely.
fn logprobs<'a>(pieces: impl Iterator<Item = &'a str>) -> Value {
    let content: Vec<Value> = pieces
        .map(|piece| {
            let logprob = -0.125 * tokens(piece) as f64;
            json!({"token": piece, "logprob": logprob, "bytes": piece.as_bytes(), "top_logprobs": []})
        })
        .collect();
    json!({"content": content, "refusal": null})
}

fn usage(answer: &Answer) -> Value {
    json!({
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.total_tokens(),
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    })
}
