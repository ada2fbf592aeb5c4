//! A model that answers from a file.
//!
//! ```yaml
//! answers:                 # by item id; a list gives one answer for each sample, over and over
//!   france: Paris
//!   chad: [N'Djamena, Ndjamena]
//! patterns:                # tried in order on the last user message; $1 is the first group
//!   - {match: "capital of (\\w+)", answer: "The capital of $1 is unknown to me"}
//! default: I do not know   # without it an unknown item is an error record
//! agents:                  # by item id: what an agent says, turn by turn; the last turn is said again and again
//!   chad:
//!     - {text: Let me look., calls: [{name: file_read, args: {path: towns.csv}}]}
//!     - {text: "The answer is {result}"}    # the last result of a tool, without white space around it
//!   mali:                  # one list for each attempt, where answers are voted on
//!     attempts: [[{text: Bamako}], [{text: Segou}]]
//!   niger: [{text: "The capital is Nia", cut: true}]    # as if the answer had been too long
//! fits: 20000              # bytes of a conversation with an agent; a longer one does not fit into the model
//! ```

use std::collections::BTreeMap;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::record::{Output, Status, ToolCall, Usage};
use proofmark_artefact::yaml;
use proofmark_canon::{Map, Value};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::{answered, input_tokens, last_user, tokens};
use crate::ask::{Ask, Asked, CUT, Reply, Turn};
use crate::build::{BuildError, BuildModel};
use crate::class::Class;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    answers: BTreeMap<String, Answer>,
    #[serde(default)]
    patterns: Vec<PatternLine>,
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    agents: BTreeMap<String, Turns>,
    #[serde(default)]
    fits: Option<u64>,
}

/// What an agent says, by attempt and then by turn.
struct Turns(Vec<Vec<Said>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<SaidCall>,
    #[serde(default)]
    cut: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidCall {
    name: String,
    #[serde(default)]
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempts {
    attempts: Vec<Vec<Said>>,
}

impl<'de> Deserialize<'de> for Turns {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = match &value {
            Value::Array(_) => proofmark_canon::json::from_value(&value).map(|turns| vec![turns]),
            _ => proofmark_canon::json::from_value(&value).map(|Attempts { attempts }| attempts),
        };
        let turns: Vec<Vec<Said>> = read.map_err(serde::de::Error::custom)?;
        if turns.is_empty() || turns.iter().any(Vec::is_empty) {
            return Err(serde::de::Error::custom("expected at least one turn"));
        }
        Ok(Self(turns))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternLine {
    r#match: String,
    answer: String,
}

/// One answer, or one for each sample.
struct Answer(Vec<String>);

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(items) if !items.is_empty() => Ok(Self(items.iter().map(Value::to_plain_text).collect())),
            Value::Array(_) | Value::Object(_) | Value::Null => {
                Err(serde::de::Error::custom("expected an answer, or a list of answers"))
            }
            other => Ok(Self(vec![other.to_plain_text()])),
        }
    }
}

/// Answers out of a file.
pub struct Script {
    answers: BTreeMap<String, Answer>,
    patterns: Vec<(Regex, String)>,
    default: Option<String>,
    agents: BTreeMap<String, Turns>,
    fits: u64,
}

impl Script {
    pub(super) fn load(params: &Map, with: &BuildModel<'_>) -> Result<Self, BuildError> {
        let hint = || Some("give it one: `params: {file: answers.yaml}`".to_owned());
        let Some(path) = params.get("file").and_then(Value::as_str) else {
            return Err(BuildError::new("`offline:scripted` needs a file of answers", hint()));
        };
        let path: RelPath = path.parse().map_err(|error| BuildError::new(format!("{error}"), None))?;
        let bytes = (with.load)(&path).map_err(|error| BuildError::new(error, None))?;
        Self::load_bytes(&bytes, path.as_str())
    }

    /// Reads a script; errors name it by the given path.
    pub fn load_bytes(bytes: &[u8], path: &str) -> Result<Self, BuildError> {
        let file: ScriptFile = yaml::load_bytes(bytes).and_then(|node| yaml::from_node(&node)).map_err(|error| {
            // One line: the suite's own error has the picture.
            let at = error.span.map_or_else(String::new, |span| format!(" line {}", span.line));
            BuildError::new(format!("`{path}`{at}: {}", error.message), error.hint)
        })?;
        let mut patterns = Vec::new();
        for line in file.patterns {
            let regex = RegexBuilder::new(&line.r#match).size_limit(1 << 20).build();
            let regex = regex.map_err(|error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                let why = last.strip_prefix("error: ").unwrap_or(last);
                BuildError::new(
                    format!("`{path}`: the pattern `{}` is not a regular expression: {why}", line.r#match),
                    None,
                )
            })?;
            patterns.push((regex, line.answer));
        }
        let fits = file.fits.unwrap_or(u64::MAX);
        Ok(Self { answers: file.answers, patterns, default: file.default, agents: file.agents, fits })
    }

    /// Whether it answers some items by their ids, which only the harness knows.
    pub fn knows_items(&self) -> bool {
        !self.answers.is_empty() || !self.agents.is_empty()
    }

    /// The answer by patterns and default, from the text of the last user message alone.
    pub fn answer(&self, prompt: &str) -> Option<String> {
        for (regex, template) in &self.patterns {
            if let Some(found) = regex.captures(prompt) {
                let mut text = String::new();
                found.expand(template, &mut text);
                return Some(text);
            }
        }
        self.default.clone()
    }

    pub(super) fn ask(&self, ask: &Ask<'_>) -> Asked {
        let Some(Turns(attempts)) = self.agents.get(ask.hint.item_id) else { return self.reply(ask).into() };
        let length = length(ask);
        if length > self.fits {
            let message = format!("the conversation has {length} bytes, and the model takes {}", self.fits);
            return Reply::failed(Class::ContextLength, message).into();
        }
        let turns = &attempts[ask.hint.attempt as usize % attempts.len()];
        let nth = ask.request.turns.iter().filter(|turn| matches!(turn, Turn::Model { .. })).count();
        let said = &turns[nth.min(turns.len() - 1)];
        let result = ask.request.turns.iter().rev().find_map(|turn| match turn {
            Turn::Tool { output, .. } => Some(output.trim()),
            Turn::User { text } => Some(text.trim()),
            Turn::Model { .. } => None,
        });
        let result = result.unwrap_or_default();
        let text = said.text.replace("{result}", result);
        let calls: Vec<(String, ToolCall)> = said
            .calls
            .iter()
            .enumerate()
            .map(|(at, call)| {
                let arguments = call.args.clone().unwrap_or_else(|| Value::Object(Map::new()));
                (format!("call_{nth}_{at}"), ToolCall { arguments: filled(arguments, result), name: call.name.clone() })
            })
            .collect();
        let written = calls.iter().map(|(_, call)| tokens(&call.arguments.to_plain_text())).sum::<u64>();
        let usage = Usage { input_tokens: input_tokens(ask), output_tokens: tokens(&text) + written };
        let tool_calls: Vec<ToolCall> = calls.iter().map(|(_, call)| call.clone()).collect();
        let finish_reason = match (said.cut, calls.is_empty()) {
            (true, _) => CUT,
            (false, true) => "stop",
            (false, false) => "tool_calls",
        };
        let finish_reason = finish_reason.to_owned();
        let output = Output { tool_calls, ..Output::of_text(text.clone()) };
        let reply = Reply::Answered { finish_reason, output, usage };
        Asked { reply, blobs: Vec::new(), next: Some(Turn::Model { text, calls, keep: None }) }
    }

    pub(super) fn reply(&self, ask: &Ask<'_>) -> Reply {
        if let Some(Answer(texts)) = self.answers.get(ask.hint.item_id) {
            return answered(ask, texts[(ask.hint.sample as usize + ask.hint.attempt as usize) % texts.len()].clone());
        }
        if let Some(text) = self.answer(last_user(&ask.request.messages)) {
            return answered(ask, text);
        }
        Reply::Failed {
            class: "no_script".to_owned(),
            message: format!("the script has no answer for item `{}`", ask.hint.item_id),
            status: Status::Error,
            usage: Usage { input_tokens: input_tokens(ask), output_tokens: 0 },
        }
    }
}

/// Bytes of everything that was said so far.
fn length(ask: &Ask<'_>) -> u64 {
    let messages = ask.request.messages.iter().map(|message| message.content.len());
    let turns = ask.request.turns.iter().map(|turn| match turn {
        Turn::Model { text, .. } | Turn::User { text } => text.len(),
        Turn::Tool { output, .. } => output.len(),
    });
    messages.chain(turns).sum::<usize>() as u64
}

/// Arguments with the last result in the place of `{result}`.
fn filled(args: Value, result: &str) -> Value {
    match args {
        Value::String(text) => text.replace("{result}", result).into(),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| filled(item, result)).collect()),
        Value::Object(members) => {
            let mut all = Map::new();
            for (name, value) in members.iter() {
                all.insert(name, filled(value.clone(), result));
            }
            Value::Object(all)
        }
        other => other,
    }
}
