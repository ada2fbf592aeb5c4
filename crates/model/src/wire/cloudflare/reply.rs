//! What models that write text answer, whole and in chunks.
//!
//! Older models have a form of their own (`response`, `tool_calls`), newer ones OpenAI's (`choices`). Both are read,
//! whichever comes.

use proofmark_canon::Value;

use super::super::parts::{self, Calls, append, non_empty};
use super::super::{Assemble, Completion, Finish, WireError, parse_reply};
use super::Reported;

/// Reads a whole reply.
pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let envelope = parse_reply(body)?;
    if let Some(failed) = failure(&envelope) {
        return failed;
    }
    let Some(result @ Value::Object(_)) = envelope.get("result") else {
        return Err(WireError::malformed("the reply has no `result`"));
    };
    let mut stream = Stream::default();
    if let Some(choice) = choice(result) {
        let message = choice.get("message").unwrap_or(choice);
        stream.take_message(message)?;
        append(&mut stream.text, choice.get("text"), "text")?;
        stream.calls.take_all(message.get("tool_calls"))?;
    } else if result.get("response").is_some() || result.get("tool_calls").is_some() {
        stream.take_response(result.get("response"));
        stream.calls.take_all(result.get("tool_calls"))?;
    } else {
        return Err(WireError::malformed("the result has neither `response` nor `choices`"));
    }
    stream.take_frame(result);
    stream.complete()
}

/// What a reply that began well says when it failed: an error, or an answer that a filter stopped.
pub(super) fn failure(envelope: &Value) -> Option<Result<Completion, WireError>> {
    let success = envelope.get("success").and_then(Value::as_bool);
    let reported = if success == Some(true) { None } else { Reported::of(envelope) };
    match reported {
        Some(reported) if reported.is_filter() => {
            Some(Ok(Completion { finish: Finish::Filtered(reported.text()), ..Completion::default() }))
        }
        Some(reported) => Some(Err(WireError::server(reported.text()))),
        None => (success == Some(false)).then(|| Err(WireError::server("a failure without a message"))),
    }
}

/// A reply as it comes.
#[derive(Debug, Default)]
pub(super) struct Stream {
    text: String,
    reasoning: String,
    refusal: String,
    calls: Calls,
    finish: Finish,
    /// What is left: model and usage.
    rest: Completion,
    done: bool,
}

impl Assemble for Stream {
    fn take(&mut self, _event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(true);
        }
        let chunk = parse_reply(data.as_bytes())?;
        if let Some(failed) = failure(&chunk) {
            self.finish = failed?.finish;
            self.done = true;
            return Ok(true);
        }
        if let Some(choice) = choice(&chunk) {
            let delta = choice.get("delta").unwrap_or(choice);
            self.take_message(delta)?;
            self.calls.take_fragments(delta.get("tool_calls"))?;
        } else {
            self.take_response(chunk.get("response"));
            self.calls.take_fragments(chunk.get("tool_calls"))?;
        }
        self.take_frame(&chunk);
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        if self.done { self.complete() } else { Err(WireError::cut()) }
    }
}

impl Stream {
    /// A message or a piece of one in OpenAI's form.
    fn take_message(&mut self, message: &Value) -> Result<(), WireError> {
        append(&mut self.text, message.get("content"), "content")?;
        append(&mut self.refusal, message.get("refusal"), "refusal")?;
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|name| message.get(name)?.as_str());
        self.reasoning.push_str(reasoning.unwrap_or_default());
        Ok(())
    }

    /// A text. JSON that was asked for comes as JSON, and a streamed token that looks like a number comes as one.
    fn take_response(&mut self, response: Option<&Value>) {
        match response {
            None | Some(Value::Null) => {}
            Some(response) => self.text.push_str(&response.to_plain_text()),
        }
    }

    /// What stands around the message. Older models do not say why they ended.
    fn take_frame(&mut self, frame: &Value) {
        let said = choice(frame).unwrap_or(frame).get("finish_reason").or_else(|| frame.get("finish_reason"));
        if let Some(word) = said.and_then(Value::as_str) {
            self.finish = finish(word);
        }
        if let Some(model) = frame.get("model").and_then(Value::as_str) {
            self.rest.model = Some(model.to_owned());
        }
        parts::take_usage(&mut self.rest, frame);
    }

    fn complete(self) -> Result<Completion, WireError> {
        let finish = match non_empty(self.refusal) {
            Some(said) => Finish::Refused(said),
            None => parts::finish_with_calls(self.finish, &self.calls),
        };
        let (calls, reasoning) = (self.calls.finish()?, non_empty(self.reasoning));
        Ok(Completion { text: self.text, reasoning, calls, finish, ..self.rest })
    }
}

fn choice(reply: &Value) -> Option<&Value> {
    reply.get("choices")?.as_array()?.first()
}

fn finish(word: &str) -> Finish {
    match word {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "tool_calls" => Finish::ToolCalls,
        "content_filter" => Finish::Filtered(word.to_owned()),
        "error" => Finish::Failed("the provider ended the answer with an error".to_owned()),
        other => Finish::Other(other.to_owned()),
    }
}
