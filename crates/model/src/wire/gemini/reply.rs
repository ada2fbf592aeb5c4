//! A reply, whole or in chunks: each chunk has the shape of a whole one.

use data_encoding::BASE64;
use proofmark_artefact::record::{TokenLogprob, ToolCall, TopLogprob};
use proofmark_canon::Value;

use super::super::body::{count_of, object, text_of};
use super::super::{Assemble, Completion, Finish, Picture, WireError, parse_reply};
use super::refuse::error_text;

pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let mut chunks = Chunks::default();
    chunks.add(parse_reply(body)?)?;
    chunks.into_completion().ok_or_else(|| WireError::malformed("the reply has no `finishReason`"))
}

/// What came so far.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    completion: Completion,
    reasoning: String,
    /// As they came, for the case that they have to go back.
    parts: Vec<Value>,
    /// Whether one of them has a signature.
    signed: bool,
    stop: Option<Stop>,
    /// Why the prompt was not answered at all.
    blocked: Option<String>,
    picture_bytes: usize,
}

#[derive(Debug)]
struct Stop {
    reason: String,
    message: Option<String>,
}

impl Assemble for Chunks {
    /// There is no last event, and no chunk says of itself that none follows: some servers give a reason to stop
    /// with every chunk, and counts may come after it. So the stream is read to its end.
    fn take(&mut self, _event: &str, data: &str) -> Result<bool, WireError> {
        self.add(parse_reply(data.as_bytes())?)?;
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        self.into_completion().ok_or_else(WireError::cut)
    }
}

impl Chunks {
    fn add(&mut self, mut chunk: Value) -> Result<(), WireError> {
        if let Some(reason) = error_text(&chunk) {
            return Err(WireError::server(reason));
        }
        if !matches!(chunk, Value::Object(_)) {
            return Err(WireError::malformed(format!("the reply is {}, expected a mapping", chunk.kind())));
        }
        if let Some(model) = chunk.get("modelVersion").and_then(Value::as_str) {
            self.completion.model = Some(model.to_owned());
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            self.count(usage)?;
        }
        if let Some(reason) = chunk.get("promptFeedback").and_then(|feedback| feedback.get("blockReason")) {
            self.blocked = reason.as_str().map(str::to_owned);
        }
        match remove(&mut chunk, "candidates") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(candidates)) => {
                // Only one is asked for; should there be more, the first one counts.
                let mut candidates = candidates.into_iter();
                let first = candidates.find(|one| one.get("index").is_none_or(|index| index.as_u64() == Some(0)));
                first.map_or(Ok(()), |first| self.add_candidate(first))
            }
            Some(other) => Err(WireError::malformed(format!("`candidates` is {}, expected a list", other.kind()))),
        }
    }

    fn add_candidate(&mut self, mut candidate: Value) -> Result<(), WireError> {
        let mut content = remove(&mut candidate, "content").unwrap_or_default();
        let parts = match remove(&mut content, "parts") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(parts)) => parts,
            Some(other) => return Err(WireError::malformed(format!("`parts` is {}, expected a list", other.kind()))),
        };
        let goes_on = !parts.is_empty();
        for part in parts {
            self.add_part(part)?;
        }
        if let Some(logprobs) = candidate.get("logprobsResult") {
            read_logprobs(logprobs, &mut self.completion.logprobs)?;
        }
        match candidate.get("finishReason") {
            // A reason that is followed by more of the answer was not the end of it.
            None | Some(Value::Null) if goes_on => self.stop = None,
            None | Some(Value::Null) => {}
            Some(Value::String(reason)) => {
                let message = candidate.get("finishMessage").and_then(Value::as_str).map(str::to_owned);
                self.stop = Some(Stop { reason: reason.clone(), message });
            }
            Some(other) => {
                return Err(WireError::malformed(format!("`finishReason` is {}, expected a text", other.kind())));
            }
        }
        Ok(())
    }

    fn add_part(&mut self, part: Value) -> Result<(), WireError> {
        let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        if part.get("text").is_some() {
            let text = text_of(&part, "text")?;
            if is_thought { &mut self.reasoning } else { &mut self.completion.text }.push_str(text);
        } else if let Some(call) = part.get("functionCall") {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let arguments = match call.get("args") {
                None | Some(Value::Null) => object([]),
                Some(arguments) => arguments.clone(),
            };
            self.completion.calls.push((id, ToolCall { name: text_of(call, "name")?.to_owned(), arguments }));
        } else if let Some(data) = part.get("inlineData").filter(|_| !is_thought) {
            // Pictures of a thought are drafts.
            self.add_picture(data)?;
        }
        self.signed |= part.get("thoughtSignature").is_some();
        self.parts.push(part);
        Ok(())
    }

    fn add_picture(&mut self, data: &Value) -> Result<(), WireError> {
        if !text_of(data, "mimeType")?.starts_with("image/") {
            return Ok(());
        }
        let encoded = text_of(data, "data")?.as_bytes();
        self.picture_bytes = self.picture_bytes.saturating_add(encoded.len() / 4 * 3);
        if self.picture_bytes > MAX_PICTURE_BYTES {
            return Err(WireError::malformed("the pictures of the reply are larger than 64 MiB"));
        }
        let bytes = BASE64.decode(encoded).map_err(|_| WireError::malformed("a picture is not base64"))?;
        self.completion.images.push(Picture { bytes });
        Ok(())
    }

    /// Counts are those of the whole reply so far; a chunk may leave some of them out.
    fn count(&mut self, usage: &Value) -> Result<(), WireError> {
        if !matches!(usage, Value::Object(_) | Value::Null) {
            return Err(WireError::malformed(format!("`usageMetadata` is {}, expected counts", usage.kind())));
        }
        let counted = &mut self.completion.usage;
        if let Some(prompt) = count_of(usage, "promptTokenCount")? {
            counted.input_tokens = prompt;
        }
        let (answer, thoughts) = (count_of(usage, "candidatesTokenCount")?, count_of(usage, "thoughtsTokenCount")?);
        if answer.is_some() || thoughts.is_some() {
            let output = answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0));
            counted.output_tokens = counted.output_tokens.max(output);
        }
        self.completion.cached = count_of(usage, "cachedContentTokenCount")?.or(self.completion.cached);
        Ok(())
    }

    /// The reply, or `None` when nothing says that it ended.
    fn into_completion(self) -> Option<Completion> {
        let mut completion = self.completion;
        completion.finish = match (self.stop, self.blocked) {
            (Some(stop), _) => stop.into_finish(!completion.calls.is_empty()),
            (None, Some(reason)) => Finish::Filtered(reason),
            (None, None) => return None,
        };
        completion.reasoning = (!self.reasoning.is_empty()).then_some(self.reasoning);
        // Signatures have to go back only with the calls that they belong to.
        completion.keep = (self.signed && !completion.calls.is_empty()).then(|| self.parts.into());
        Some(completion)
    }
}

impl Stop {
    fn into_finish(self, has_calls: bool) -> Finish {
        let Self { reason, message } = self;
        let explained = || message.as_ref().map_or_else(|| reason.clone(), |message| format!("{reason}: {message}"));
        match reason.as_str() {
            "STOP" if has_calls => Finish::ToolCalls,
            "STOP" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "LANGUAGE"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => Finish::Filtered(explained()),
            "MALFORMED_FUNCTION_CALL"
            | "MALFORMED_RESPONSE"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"
            | "NO_IMAGE"
            | "IMAGE_OTHER"
            | "OTHER" => Finish::Failed(explained()),
            _ => Finish::Other(reason),
        }
    }
}

fn remove(value: &mut Value, name: &str) -> Option<Value> {
    if let Value::Object(members) = value { members.remove(name) } else { None }
}

/// `chosenCandidates` and `topCandidates` go side by side, one of each for a token.
fn read_logprobs(result: &Value, into: &mut Vec<TokenLogprob>) -> Result<(), WireError> {
    let list = |name| result.get(name).and_then(Value::as_array).unwrap_or_default();
    let mut tops = list("topCandidates").iter();
    for chosen in list("chosenCandidates") {
        let mut top = Vec::new();
        let others = tops.next().and_then(|top| top.get("candidates")).and_then(Value::as_array);
        for other in others.unwrap_or_default() {
            let (token, logprob) = read_token(other)?;
            top.push(TopLogprob { token, logprob });
        }
        let (token, logprob) = read_token(chosen)?;
        into.push(TokenLogprob { token, logprob, top });
    }
    Ok(())
}

fn read_token(candidate: &Value) -> Result<(String, f64), WireError> {
    // A probability of one is a logarithm of zero, and zeros are left out.
    let logprob = match candidate.get("logProbability") {
        None => 0.0,
        Some(number) => number.as_f64().ok_or_else(|| WireError::malformed("a `logProbability` is not a number"))?,
    };
    Ok((text_of(candidate, "token")?.to_owned(), logprob))
}

/// What all pictures of a reply may have together.
const MAX_PICTURE_BYTES: usize = 64 << 20;
