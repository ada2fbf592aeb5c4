//! A model that answers from a file.
//!
//! ```yaml
//! answers:                 # by item id; a list gives one answer for each sample, over and over
//!   france: Paris
//!   chad: [N'Djamena, Ndjamena]
//! patterns:                # tried in order on the last user message; $1 is the first group
//!   - {match: "capital of (\\w+)", answer: "The capital of $1 is unknown to me"}
//! default: I do not know   # without it an unknown item is an error record
//! ```

use std::collections::BTreeMap;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::record::{Status, Usage};
use proofmark_artefact::yaml;
use proofmark_canon::{Map, Value};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::{answered, input_tokens, last_user};
use crate::ask::{Ask, Reply};
use crate::build::{BuildError, BuildModel};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    answers: BTreeMap<String, Answer>,
    #[serde(default)]
    patterns: Vec<PatternLine>,
    #[serde(default)]
    default: Option<String>,
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
        Ok(Self { answers: file.answers, patterns, default: file.default })
    }

    /// Whether it answers some items by their ids, which only the harness knows.
    pub fn knows_items(&self) -> bool {
        !self.answers.is_empty()
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

    pub(super) fn reply(&self, ask: &Ask<'_>) -> Reply {
        if let Some(Answer(texts)) = self.answers.get(ask.hint.item_id) {
            return answered(ask, texts[ask.hint.sample as usize % texts.len()].clone());
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
