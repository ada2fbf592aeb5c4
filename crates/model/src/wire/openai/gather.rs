//! Gathers an answer of Chat Completions: a whole reply is read as a stream of one part.

use proofmark_artefact::record::{TokenLogprob, Usage};
use proofmark_canon::{Map, Value};

use super::calls::Calls;
use super::fault::Fault;
use super::fields;
use crate::class::Class;
use crate::wire::{Assemble, Completion, Finish, WireError, parse_reply};

/// What has come of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    text: String,
    refusal: String,
    reasoning: String,
    /// Whether the reasoning came as `reasoning_content`, which DeepSeek wants back with calls, even when empty.
    has_reasoning_content: bool,
    /// OpenRouter's form of reasoning, which it wants back with calls.
    reasoning_details: Vec<Value>,
    calls: Calls,
    logprobs: Vec<TokenLogprob>,
    finish: Option<String>,
    /// What Azure's filter found, or an error that stands for a filter.
    filtered: Vec<String>,
    usage: Usage,
    cached: Option<u64>,
    model: Option<String>,
}

/// How the parts of an answer come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Message,
    Delta,
}

/// Reads a whole reply.
pub(super) fn decode(body: &[u8]) -> Result<Completion, WireError> {
    let reply = parse_reply(body)?;
    if let Some(fault) = Fault::inside(&reply) {
        return fault.into_reply();
    }
    let mut gathered = Gathered::default();
    gathered.take_head(&reply)?;
    let choice = fields::list(&reply, "choices")?.first();
    gathered.take_choice(choice.ok_or_else(|| WireError::malformed("the reply has no `choices`"))?, Form::Message)?;
    gathered.complete()
}

impl Gathered {
    /// Takes what stands beside the choices. Returns whether the usage was there.
    fn take_head(&mut self, reply: &Value) -> Result<bool, WireError> {
        if let Some(model) = fields::model(reply)? {
            self.model = Some(model);
        }
        for result in fields::list(reply, "prompt_filter_results")? {
            self.take_filter(result);
        }
        // Groq has it in a member of its own.
        let usage = match fields::object(reply, "usage")? {
            None => reply.get("x_groq").and_then(|own| fields::member(own, "usage")),
            usage => usage,
        };
        let Some(usage) = usage else { return Ok(false) };
        self.usage.input_tokens = fields::count(usage, "prompt_tokens")?.unwrap_or(0);
        self.usage.output_tokens = fields::count(usage, "completion_tokens")?.unwrap_or(0);
        self.cached = match fields::object(usage, "prompt_tokens_details")? {
            Some(details) => fields::count(details, "cached_tokens")?,
            None => fields::count(usage, "prompt_cache_hit_tokens")?,
        };
        Ok(true)
    }

    fn take_choice(&mut self, choice: &Value, form: Form) -> Result<(), WireError> {
        if let Some(fault) = Fault::inside(choice) {
            return self.take_fault(fault);
        }
        let name = if form == Form::Message { "message" } else { "delta" };
        match fields::object(choice, name)? {
            Some(part) => self.take_part(part, form)?,
            None if form == Form::Message => return Err(WireError::malformed("the reply's choice has no `message`")),
            None => {}
        }
        if let Some(logprobs) = fields::object(choice, "logprobs")? {
            fields::logprobs(fields::list(logprobs, "content")?, &mut self.logprobs)?;
        }
        self.take_filter(choice);
        // Some servers write an empty text where others write null.
        if let Some(word) = fields::text(choice, "finish_reason")?.filter(|word| !word.is_empty()) {
            self.finish = Some(word.to_owned());
        }
        Ok(())
    }

    fn take_part(&mut self, part: &Value, form: Form) -> Result<(), WireError> {
        match fields::member(part, "content") {
            None => {}
            Some(Value::String(text)) => self.text.push_str(text),
            Some(Value::Array(parts)) => parts.iter().try_for_each(|part| self.take_content(part))?,
            Some(other) => return Err(fields::unexpected("content", other, "a text")),
        }
        self.refusal.push_str(fields::text(part, "refusal")?.unwrap_or_default());
        // Some servers send the same under both names.
        match fields::text(part, "reasoning_content")? {
            Some(text) => {
                self.has_reasoning_content = true;
                self.reasoning.push_str(text);
            }
            None => self.reasoning.push_str(fields::text(part, "reasoning")?.unwrap_or_default()),
        }
        for detail in fields::list(part, "reasoning_details")? {
            self.take_detail(detail, form);
        }
        for (position, call) in fields::list(part, "tool_calls")?.iter().enumerate() {
            let index = if form == Form::Message { None } else { fields::count(call, "index")? };
            self.calls.take(index.unwrap_or(position as u64), call)?;
        }
        Ok(())
    }

    /// Takes one part of a content that is a list.
    fn take_content(&mut self, part: &Value) -> Result<(), WireError> {
        match fields::text(part, "type")?.unwrap_or_default() {
            "text" | "output_text" => self.text.push_str(fields::text(part, "text")?.unwrap_or_default()),
            "refusal" => self.refusal.push_str(fields::text(part, "refusal")?.unwrap_or_default()),
            other => {
                let other = fields::word(other);
                return Err(WireError::malformed(format!("the reply's `content` has a part of the type `{other}`")));
            }
        }
        Ok(())
    }

    /// Takes one block of reasoning, or in a stream a piece of one: pieces follow each other under the same index. No
    /// real block has many members, and joining many is slow.
    fn take_detail(&mut self, detail: &Value, form: Form) {
        let same = |last: &&mut Value| {
            form == Form::Delta
                && last.get("index").is_some()
                && last.get("index") == detail.get("index")
                && last.get("type") == detail.get("type")
        };
        match (self.reasoning_details.last_mut().filter(same), detail) {
            (Some(Value::Object(last)), Value::Object(more)) if last.len().max(more.len()) <= 32 => join(last, more),
            _ => self.reasoning_details.push(detail.clone()),
        }
    }

    /// Takes what Azure's filter says of a prompt or a choice.
    fn take_filter(&mut self, of: &Value) {
        let Some(results) = of.get("content_filter_results").and_then(Value::as_object) else { return };
        for (category, result) in results.iter() {
            let category = fields::word(category);
            let is_filtered = result.get("filtered").and_then(Value::as_bool) == Some(true);
            if is_filtered && self.filtered.len() < 32 && !self.filtered.contains(&category) {
                self.filtered.push(category);
            }
        }
    }

    /// Takes an error in the place of more answer.
    fn take_fault(&mut self, fault: Fault) -> Result<(), WireError> {
        if !fault.is_filter() {
            return Err(WireError::server(fault.into_message()));
        }
        self.filtered.push(fault.into_message());
        self.finish = Some("content_filter".to_owned());
        Ok(())
    }

    fn complete(self) -> Result<Completion, WireError> {
        let Some(word) = self.finish else {
            // Every server documents one, and OpenRouter leaves it out when the model behind it went away.
            return Err(WireError::malformed("the reply has no `finish_reason`"));
        };
        let calls = self.calls.complete()?;
        let finish = if !self.filtered.is_empty() {
            Finish::Filtered(self.filtered.join(", "))
        } else {
            finish(&word, self.refusal, !calls.is_empty())
        };
        let mut keep = Map::new();
        if !calls.is_empty() {
            if self.has_reasoning_content {
                keep.insert("reasoning_content", self.reasoning.as_str());
            }
            if !self.reasoning_details.is_empty() {
                keep.insert("reasoning_details", self.reasoning_details);
            }
        }
        Ok(Completion {
            text: self.text,
            reasoning: Some(self.reasoning).filter(|text| !text.is_empty()),
            calls,
            images: Vec::new(),
            logprobs: self.logprobs,
            finish,
            usage: self.usage,
            cached: self.cached,
            model: self.model,
            keep: (!keep.is_empty()).then_some(Value::Object(keep)),
        })
    }
}

/// Our word for why an answer ended.
fn finish(word: &str, refusal: String, has_calls: bool) -> Finish {
    match word {
        "content_filter" => Finish::Filtered(String::new()),
        _ if !refusal.is_empty() => Finish::Refused(refusal),
        "refusal" => Finish::Refused(String::new()),
        // OpenAI ends a call that `tool_choice` named with `stop`.
        "stop" if has_calls => Finish::ToolCalls,
        // Together says `eos`, Hugging Face's servers the other two.
        "stop" | "eos" | "eos_token" | "stop_sequence" => Finish::Stop,
        "length" | "max_tokens" => Finish::Length,
        "tool_calls" => Finish::ToolCalls,
        "function_call" if has_calls => Finish::ToolCalls,
        // The old form of a call, which nobody asked for; beside it a text is no answer.
        "function_call" => Finish::Failed("the reply calls a function in the old form".to_owned()),
        // OpenRouter, vLLM and SGLang, DeepSeek: the server gave up in the middle.
        "error" | "abort" | "insufficient_system_resource" => {
            Finish::Failed(format!("the provider ended the answer with `{word}`"))
        }
        other => Finish::Other(fields::word(other)),
    }
}

/// Adds a piece of a block of reasoning to what is there of it.
fn join(block: &mut Map, piece: &Map) {
    for (name, more) in piece.iter() {
        let joined = match (block.remove(name), more) {
            (Some(Value::String(had)), Value::String(more)) if matches!(name, "text" | "summary" | "data") => {
                Value::String(had + more)
            }
            (Some(had), Value::Null) => had,
            _ => more.clone(),
        };
        block.insert(name, joined);
    }
}

/// Puts a stream of chunks together.
#[derive(Debug, Default)]
pub(super) struct Stream {
    gathered: Gathered,
    /// `[DONE]` came, or an error in its place.
    is_done: bool,
    /// The usage came with the finish reason or after it.
    has_final_usage: bool,
}

impl Assemble for Stream {
    fn take(&mut self, event: &str, data: &str) -> Result<bool, WireError> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(true);
        }
        let chunk = parse_chunk(data)?;
        let fault = Fault::inside(&chunk).or_else(|| (event == "error").then(|| Fault::read(&chunk)));
        if let Some(fault) = fault {
            self.gathered.take_fault(fault)?;
            self.is_done = true;
            return Ok(true);
        }
        let has_usage = self.gathered.take_head(&chunk)?;
        for choice in fields::list(&chunk, "choices")? {
            // One answer is asked for; others, if somebody asks for them on the side, are not ours.
            if fields::count(choice, "index")?.unwrap_or(0) == 0 {
                self.gathered.take_choice(choice, Form::Delta)?;
            }
        }
        self.has_final_usage |= has_usage && self.gathered.finish.is_some();
        Ok(false)
    }

    /// `[DONE]` is how a stream says that it is whole. A finish reason alone is not: what may still be missing then is
    /// the usage, which is asked for and comes last, and without it the cost of the answer would silently be nothing.
    /// When both came, only `[DONE]` itself is missing, which adds nothing, and some servers never send it.
    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        if self.is_done || self.has_final_usage { self.gathered.complete() } else { Err(WireError::cut()) }
    }
}

/// Reads one event of a stream; one that ends inside of a value is where the stream was cut.
pub(super) fn parse_chunk(data: &str) -> Result<Value, WireError> {
    parse_reply(data.as_bytes()).map_err(|error| if error.class == Class::Truncated { WireError::cut() } else { error })
}
