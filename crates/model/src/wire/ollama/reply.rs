//! Ollama's replies, whole and in lines.

use proofmark_artefact::record::{TokenLogprob, TopLogprob};
use proofmark_canon::Value;

use super::super::parts::{self, Calls, append, non_empty};
use super::super::{Assemble, Completion, Finish, WireError, parse_reply};

/// Reads a whole reply: a stream of one line.
pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let reply = parse_reply(body)?;
    let mut stream = Stream::default();
    if stream.take_line(&reply)? { stream.complete() } else { Err(WireError::malformed("the reply is not `done`")) }
}

/// A reply as it comes.
#[derive(Debug, Default)]
pub(super) struct Stream {
    text: String,
    thinking: String,
    calls: Calls,
    finish: Finish,
    /// What is left: log-probabilities, model and usage.
    rest: Completion,
    done: bool,
}

impl Assemble for Stream {
    fn take(&mut self, _event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim().is_empty() {
            return Ok(false);
        }
        self.take_line(&parse_reply(data.as_bytes())?)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        if self.done { self.complete() } else { Err(WireError::cut()) }
    }
}

impl Stream {
    fn take_line(&mut self, line: &Value) -> Result<bool, WireError> {
        if line.get("error").is_some() {
            let said = error_text(line).unwrap_or_else(|| "an error without a message".to_owned());
            return Err(WireError::server(said));
        }
        self.done = line.get("done").and_then(Value::as_bool).unwrap_or(false);
        match line.get("message") {
            Some(message @ Value::Object(_)) => {
                append(&mut self.text, message.get("content"), "content")?;
                append(&mut self.thinking, message.get("thinking"), "thinking")?;
                self.calls.take_all(message.get("tool_calls"))?;
            }
            // The last line of a stream may have nothing more to say.
            None if self.done && self.rest.model.is_some() => {}
            _ => return Err(WireError::malformed("the reply has no `message`")),
        }
        self.rest.logprobs.extend(logprobs(line.get("logprobs")));
        if let Some(model) = line.get("model").and_then(Value::as_str) {
            self.rest.model = Some(model.to_owned());
        }
        if self.done {
            self.rest.usage = parts::usage(Some(line), "prompt_eval_count", "eval_count");
            self.finish = finish(line.get("done_reason").and_then(Value::as_str));
        }
        Ok(self.done)
    }

    fn complete(self) -> Result<Completion, WireError> {
        let finish = parts::finish_with_calls(self.finish, &self.calls);
        let calls = self.calls.finish()?;
        let reasoning = non_empty(self.thinking);
        let keep = reasoning.as_deref().map(Value::from);
        Ok(Completion { text: self.text, reasoning, calls, finish, keep, ..self.rest })
    }
}

/// Older servers do not say why they are done.
fn finish(word: Option<&str>) -> Finish {
    match word {
        None | Some("" | "stop") => Finish::Stop,
        Some("length") => Finish::Length,
        // It says so when there was nothing to answer.
        Some(word @ ("load" | "unload")) => Finish::Failed(format!("the server did nothing but {word} the model")),
        Some(other) => Finish::Other(other.to_owned()),
    }
}

/// How likely each token was; an entry that does not say it is passed over.
fn logprobs(list: Option<&Value>) -> impl Iterator<Item = TokenLogprob> {
    list.and_then(Value::as_array).unwrap_or_default().iter().filter_map(|entry| {
        let (token, logprob) = token(entry)?;
        let others = entry.get("top_logprobs").and_then(Value::as_array).unwrap_or_default();
        let top = others.iter().filter_map(token_of_top).collect();
        Some(TokenLogprob { logprob, token, top })
    })
}

fn token_of_top(entry: &Value) -> Option<TopLogprob> {
    token(entry).map(|(token, logprob)| TopLogprob { logprob, token })
}

fn token(entry: &Value) -> Option<(String, f64)> {
    Some((entry.get("token")?.as_str()?.to_owned(), entry.get("logprob")?.as_f64()?))
}

/// The text of an error, which may stand in an object of its own.
pub(super) fn error_text(value: &Value) -> Option<String> {
    let error = value.get("error")?;
    non_empty(error.get("message").unwrap_or(error).as_str()?.to_owned())
}
