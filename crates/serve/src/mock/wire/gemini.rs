//! Gemini's generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::super::answer::{Answer, Said, pieces};
use super::super::ask::{self, Asked, Pictures, number};
use super::{base64, event};

pub(super) fn read(model: &str, body: &Value, is_streamed: bool) -> Result<Asked, String> {
    let mut asked = Asked::new(model);
    let system = body.get("systemInstruction").or_else(|| body.get("system_instruction"));
    let system = ask::text(system.and_then(|system| system.get("parts")));
    asked.count(&system);
    let contents = body.get("contents").and_then(Value::as_array).filter(|contents| !contents.is_empty());
    for content in contents.ok_or("contents is not specified")? {
        let parts = content.get("parts").and_then(Value::as_array).ok_or("contents.parts must not be empty.")?;
        let text = ask::text(content.get("parts"));
        match content.get("role").and_then(Value::as_str).unwrap_or("user") {
            "model" => asked.count(&text),
            "user" | "function" => {
                let results: Vec<&Value> = parts.iter().filter_map(|part| part.get("functionResponse")).collect();
                for result in &results {
                    asked.result(result_text(result.get("response")));
                }
                if results.is_empty() || !text.is_empty() {
                    asked.user(text);
                }
            }
            _ => return Err("Please use a valid role: user, model.".to_owned()),
        }
    }
    if let Some(config) = body.get("generationConfig").or_else(|| body.get("generation_config")) {
        asked.max_tokens = number(config, "maxOutputTokens");
        let modalities = config.get("responseModalities").and_then(Value::as_array);
        if modalities
            .is_some_and(|all| all.iter().any(|one| one.as_str().is_some_and(|one| one.eq_ignore_ascii_case("image"))))
        {
            asked.pictures = Some(Pictures::default());
        }
    }
    asked.has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    asked.is_streamed = is_streamed;
    Ok(asked)
}

/// What a tool gave: Gemini wants an object, in which clients put a text under a name of their own.
fn result_text(response: Option<&Value>) -> String {
    let only = response
        .and_then(Value::as_object)
        .filter(|members| members.len() == 1)
        .and_then(|members| members.values().next());
    match only.or(response) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    match &answer.said {
        // The prompt itself was blocked: there are no candidates.
        Said::Refused => {
            let mut reply = reply(answer, None, 0);
            reply["promptFeedback"] = json!({"blockReason": "PROHIBITED_CONTENT"});
            reply
        }
        Said::Filtered => {
            let ratings =
                json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true}]);
            reply(answer, Some(json!({"finishReason": "SAFETY", "index": 0, "safetyRatings": ratings})), 0)
        }
        _ => reply(answer, Some(candidate(parts(answer), Some(finish(answer)))), answer.output_tokens),
    }
}

/// The stream as server-sent events.
pub(super) fn events(answer: &Answer) -> Vec<Vec<u8>> {
    replies(answer).iter().map(|reply| event("", reply)).collect()
}

/// The stream as one JSON list.
pub(super) fn list(answer: &Answer) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for reply in replies(answer) {
        let start = if parts.is_empty() { '[' } else { ',' };
        parts.push(format!("{start}{reply}\r\n").into_bytes());
    }
    parts.push(b"]".to_vec());
    parts
}

fn replies(answer: &Answer) -> Vec<Value> {
    if matches!(answer.said, Said::Refused | Said::Filtered) {
        return vec![whole(answer)];
    }
    let parts: Vec<Value> = match &answer.said {
        Said::Calls(_) | Said::Pictures(_) => parts(answer),
        _ => pieces(answer.text()).map(|piece| json!({"text": piece})).collect(),
    };
    let mut so_far = 0;
    let count = parts.len() as u64;
    let mut replies: Vec<Value> = parts
        .into_iter()
        .map(|part| {
            so_far += 1;
            reply(answer, Some(candidate(vec![part], None)), answer.output_tokens * so_far / count)
        })
        .collect();
    let last = candidate(vec![json!({"text": ""})], Some(finish(answer)));
    replies.push(reply(answer, Some(last), answer.output_tokens));
    replies
}

fn parts(answer: &Answer) -> Vec<Value> {
    match &answer.said {
        Said::Calls(calls) => {
            calls.iter().map(|call| json!({"functionCall": {"name": call.name, "args": call.arguments}})).collect()
        }
        Said::Pictures(pictures) => pictures
            .iter()
            .map(|bytes| json!({"inlineData": {"mimeType": "image/png", "data": base64(bytes)}}))
            .collect(),
        _ => vec![json!({"text": answer.text()})],
    }
}

fn candidate(parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    candidate
}

fn finish(answer: &Answer) -> &'static str {
    if matches!(answer.said, Said::Cut(_)) { "MAX_TOKENS" } else { "STOP" }
}

fn reply(answer: &Answer, candidate: Option<Value>, output_tokens: u64) -> Value {
    let mut reply = json!({
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": output_tokens,
            "totalTokenCount": answer.input_tokens + output_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": answer.input_tokens}],
        },
        "modelVersion": answer.model,
        "responseId": answer.id(""),
    });
    if let Some(candidate) = candidate {
        reply["candidates"] = json!([candidate]);
    }
    reply
}
