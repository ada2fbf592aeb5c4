//! Cohere's replies, whole and in events.

use proofmark_artefact::record::{TokenLogprob, Usage};
use proofmark_canon::Value;

use super::super::parts::{self, Calls, append, non_empty, object};
use super::super::{Assemble, Body, Completion, Finish, WireError, parse_reply};

/// Reads a whole reply.
pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let reply = parse_reply(body)?;
    let Some(message @ Value::Object(_)) = reply.get("message") else {
        return Err(match reply.get("message").and_then(Value::as_str) {
            // An error's message is a text.
            Some(said) => WireError::server(said),
            None => WireError::malformed("the reply has no `message`"),
        });
    };
    let mut stream = Stream::default();
    match message.get("content") {
        None | Some(Value::Null) => {}
        Some(Value::Array(parts)) => parts.iter().try_for_each(|part| stream.take_part(part))?,
        text => append(&mut stream.text, text, "content")?,
    }
    append(&mut stream.plan, message.get("tool_plan"), "tool_plan")?;
    stream.calls.take_all(message.get("tool_calls"))?;
    for item in reply.get("logprobs").and_then(Value::as_array).unwrap_or_default() {
        stream.logprobs.extend(logprob(item));
    }
    stream.take_end(&reply);
    stream.complete().ok_or_else(|| WireError::malformed("the reply has no `finish_reason`"))?
}

/// A reply as it comes.
#[derive(Debug, Default)]
pub(super) struct Stream {
    text: String,
    thinking: String,
    plan: String,
    calls: Calls,
    logprobs: Vec<TokenLogprob>,
    finish: Option<Finish>,
    usage: Usage,
    cached: Option<u64>,
}

impl Assemble for Stream {
    fn take(&mut self, event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let value = parse_reply(data.as_bytes())?;
        let delta = value.get("delta");
        let message = delta.and_then(|delta| delta.get("message"));
        let member = |name| message.and_then(|message| message.get(name));
        match value.get("type").and_then(Value::as_str).unwrap_or(event) {
            "content-start" | "content-delta" => {
                if let Some(part) = member("content") {
                    self.take_part(part)?;
                }
                self.logprobs.extend(value.get("logprobs").and_then(logprob));
            }
            "tool-plan-delta" => append(&mut self.plan, member("tool_plan"), "tool_plan")?,
            "tool-call-start" | "tool-call-delta" => {
                let call = member("tool_calls");
                let call = call.and_then(Value::as_array).map_or(call, <[Value]>::first);
                let call = call.ok_or_else(|| WireError::malformed("an event has no `tool_calls`"))?;
                // The index says which call goes on; without one, a call with an id is a new one.
                let index = value.get("index").and_then(Value::as_u64);
                match index {
                    Some(_) => self.calls.take(index, call)?,
                    None => self.calls.take_fragments(Some(&vec![call.clone()].into()))?,
                }
            }
            "message-end" => {
                self.take_end(delta.unwrap_or(&Value::Null));
                return match self.finish {
                    Some(_) => Ok(true),
                    None => Err(WireError::malformed("the last event has no `finish_reason`")),
                };
            }
            "error" => {
                let said = ["message", "error"].iter().find_map(|name| value.get(name)?.as_str());
                return Err(WireError::server(said.unwrap_or("an error without a message")));
            }
            // Starts, ends, citations, and whatever is new.
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        self.complete().unwrap_or(Err(WireError::cut()))
    }
}

impl Stream {
    /// A part of the content, whole or in pieces; a piece has no type.
    fn take_part(&mut self, part: &Value) -> Result<(), WireError> {
        if part.as_object().is_none() {
            return Err(WireError::malformed(format!("a part of the content is {}, expected a mapping", part.kind())));
        }
        append(&mut self.text, part.get("text"), "text")?;
        append(&mut self.thinking, part.get("thinking"), "thinking")
    }

    /// Why it ended, and what it took.
    fn take_end(&mut self, end: &Value) {
        let error = end.get("error").and_then(Value::as_str);
        self.finish = end.get("finish_reason").and_then(Value::as_str).map(|word| finish(word, error));
        let Some(usage) = end.get("usage") else { return };
        let counted = ["tokens", "billed_units"].iter().find_map(|name| {
            let counts = usage.get(name)?;
            counts.get("input_tokens").or_else(|| counts.get("output_tokens")).map(|_| counts)
        });
        self.usage = parts::usage(counted, "input_tokens", "output_tokens");
        self.cached = parts::count(usage.get("cached_tokens"));
    }

    /// `None` when nothing said why it ended.
    fn complete(self) -> Option<Result<Completion, WireError>> {
        let finish = parts::finish_with_calls(self.finish?, &self.calls);
        let keep = kept(&self.thinking, &self.text, &self.plan);
        let mut reasoning = self.thinking;
        if !reasoning.is_empty() && !self.plan.is_empty() {
            reasoning.push_str("\n\n");
        }
        reasoning.push_str(&self.plan);
        Some(self.calls.finish().map(|calls| Completion {
            text: self.text,
            reasoning: non_empty(reasoning),
            calls,
            logprobs: self.logprobs,
            finish,
            usage: self.usage,
            cached: self.cached,
            keep,
            ..Completion::default()
        }))
    }
}

/// What the next turn gives back: thinking as a part of the content, and the plan.
fn kept(thinking: &str, text: &str, plan: &str) -> Option<Value> {
    let mut keep = Body::new();
    if !thinking.is_empty() {
        let mut content = vec![object([("thinking", thinking.into()), ("type", "thinking".into())])];
        if !text.is_empty() {
            content.push(object([("text", text.into()), ("type", "text".into())]));
        }
        keep.set("content", content);
    }
    if !plan.is_empty() {
        keep.set("tool_plan", plan);
    }
    let keep = keep.into_map();
    (!keep.is_empty()).then_some(Value::Object(keep))
}

/// How likely a chunk of text was. A chunk of several tokens is as likely as all of them together: its text cannot be
/// divided among them.
fn logprob(item: &Value) -> Option<TokenLogprob> {
    let token = item.get("text")?.as_str()?.to_owned();
    let each = item.get("logprobs")?.as_array()?;
    let logprob = each.iter().map(Value::as_f64).sum::<Option<f64>>()?;
    (!each.is_empty() && logprob.is_finite()).then_some(TokenLogprob { logprob, token, top: Vec::new() })
}

fn finish(word: &str, error: Option<&str>) -> Finish {
    let said = || error.unwrap_or(word).to_owned();
    match word {
        "COMPLETE" | "STOP_SEQUENCE" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "TOOL_CALL" => Finish::ToolCalls,
        // The last two are those of older models, behind the same address.
        "ERROR" | "TIMEOUT" | "ERROR_LIMIT" | "USER_CANCEL" => Finish::Failed(said()),
        "ERROR_TOXIC" => Finish::Filtered(said()),
        other => Finish::Other(other.to_owned()),
    }
}
