//! What was asked, whatever the wire.

use serde_json::Value;

/// A request in our words.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) model: String,
    /// The last text that is not the model's own: a user message, or what a tool gave.
    pub(super) prompt: String,
    /// Whether the prompt is what a tool gave.
    pub(super) is_result: bool,
    pub(super) input_tokens: u64,
    pub(super) max_tokens: Option<u64>,
    pub(super) has_tools: bool,
    pub(super) is_streamed: bool,
    /// Whether a stream ends with the counts, where that is for the client to say.
    pub(super) wants_usage: bool,
    pub(super) wants_logprobs: bool,
    pub(super) pictures: Option<Pictures>,
}

/// Pictures that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pictures {
    pub(super) count: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Default for Pictures {
    fn default() -> Self {
        Self { count: 1, width: 64, height: 64 }
    }
}

impl Asked {
    pub(super) fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Takes what a user said.
    pub(super) fn user(&mut self, text: String) {
        self.count(&text);
        (self.prompt, self.is_result) = (text, false);
    }

    /// Takes what a tool gave.
    pub(super) fn result(&mut self, text: String) {
        self.count(&text);
        (self.prompt, self.is_result) = (text, true);
    }

    /// Takes anything else that was sent: instructions, and what the model said before.
    pub(super) fn count(&mut self, text: &str) {
        self.input_tokens += tokens(text);
    }

    /// Takes messages in the form that most providers share.
    pub(super) fn messages(&mut self, body: &Value) -> Result<(), String> {
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.filter(|messages| !messages.is_empty());
        for message in messages.ok_or("`messages` is missing or empty")? {
            let text = text(message.get("content"));
            match message.get("role").and_then(Value::as_str) {
                Some("user") => self.user(text),
                Some("tool" | "function") => self.result(text),
                Some("system" | "developer" | "assistant") => self.count(&text),
                _ => return Err("a message has no `role` that is known".to_owned()),
            }
        }
        self.has_tools = body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
        Ok(())
    }
}

/// The model that a body names.
pub(super) fn model(body: &Value) -> Result<&str, String> {
    body.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()).ok_or("`model` is missing".to_owned())
}

/// The text of a content: a string, or a list of parts of which some have text.
pub(super) fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(part_text).collect(),
        _ => String::new(),
    }
}

fn part_text(part: &Value) -> Option<&str> {
    part.get("text").or_else(|| part.get("document")?.get("data")).or(Some(part)).and_then(Value::as_str)
}

pub(super) fn flag(body: &Value, name: &str) -> bool {
    body.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn number(body: &Value, name: &str) -> Option<u64> {
    body.get(name).and_then(Value::as_u64)
}

/// Four bytes a token, rounded up, as offline models count.
pub(super) fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    /// An object.
    pub(super) arguments: Value,
}

/// More candidates than this are not looked at: each may be as long as the prompt.
const MAX_CALLS: usize = 16;

/// Finds every `call:NAME {json}` in a prompt.
pub(super) fn calls(prompt: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = prompt;
    for _ in 0..MAX_CALLS {
        let Some((_, after)) = rest.split_once("call:") else { break };
        rest = after;
        let end =
            after.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.')).unwrap_or(after.len());
        let (name, json) = after.split_at(end);
        let json = json.trim_start();
        let Some(length) = object_length(json).filter(|_| !name.is_empty()) else { continue };
        if let Ok(arguments @ Value::Object(_)) = serde_json::from_str(&json[..length]) {
            calls.push(Call { name: name.to_owned(), arguments });
            rest = &json[length..];
        }
    }
    calls
}

/// How long the JSON object at the start of a text is.
fn object_length(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    if !text.starts_with('{') {
        return None;
    }
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_found_wherever_they_stand() {
        let found = calls(r#"please call:add {"a": 1, "b": "}\"{"} and then call:get-time {} thanks"#);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), &found[0].arguments), ("add", &json!({"a": 1, "b": "}\"{"})));
        assert_eq!((found[1].name.as_str(), &found[1].arguments), ("get-time", &json!({})));
    }

    #[test]
    fn what_is_no_call_is_left_alone() {
        for text in ["", "call:", "call: {}", "call:x", "call:x {", "call:x [1]", "call:x {1}", "I call: nobody"] {
            assert_eq!(calls(text), [], "{text}");
        }
        assert_eq!(calls("call:x {1} call:y {}").len(), 1);
    }

    #[test]
    fn a_hostile_prompt_takes_no_time() {
        let text = "call:x {".repeat(200_000);
        assert_eq!(calls(&text), []);
    }

    #[test]
    fn the_last_user_message_is_the_prompt() {
        let mut asked = Asked::new("m");
        let messages = json!({"messages": [
            {"role": "system", "content": "12345"},
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": null},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]},
        ]});
        asked.messages(&messages).unwrap();
        assert_eq!((asked.prompt.as_str(), asked.is_result, asked.input_tokens), ("ab", false, 2 + 2 + 1));
        for bad in [json!({}), json!({"messages": []}), json!({"messages": [{"content": "x"}]}), json!([])] {
            assert!(Asked::new("m").messages(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_tool_gave_is_a_prompt_too() {
        let mut asked = Asked::new("m");
        let messages = json!({"messages": [
            {"role": "user", "content": "call:x {}"},
            {"role": "assistant", "tool_calls": []},
            {"role": "tool", "content": "42"},
        ], "tools": [{}]});
        asked.messages(&messages).unwrap();
        assert_eq!((asked.prompt.as_str(), asked.is_result, asked.has_tools), ("42", true, true));
    }
}
