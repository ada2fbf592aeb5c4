//! What other harnesses say of the whole.

use std::path::Path;

use proofmark_artefact::store::read_bounded;
use proofmark_artefact::text::excerpt;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Map, Value};

use super::fields;
use super::results::claims;
use crate::error::AuditError;
use crate::sample::{Claim, Disclosure, TaskFacts};
use crate::trace::moment;

const MAX_METADATA: u64 = 16 << 20;

/// What a file of metadata says.
#[derive(Debug, Default)]
pub struct Metadata {
    pub voting: Disclosure<u64>,
    pub task: TaskFacts,
    pub claims: Vec<Claim>,
    pub tools: Vec<(String, String)>,
    pub integrity_events: Option<Vec<Value>>,
    /// The scorer that the marks are said to come from.
    pub scorer: Option<String>,
    pub model: Option<String>,
    /// In milliseconds since 1970.
    pub submitted_at: Option<i64>,
}

/// Reads a file of metadata and returns its digest and size too.
pub fn load_metadata(path: &Path) -> Result<(Map, Digest, u64), AuditError> {
    let bytes = read_bounded(path, MAX_METADATA)?;
    let value = json::parse_with(&bytes, Integers::AsText)
        .map_err(|source| AuditError::NotJsonFile { path: path.to_owned(), source })?;
    match value {
        Value::Object(map) => Ok((map, Digest::of(&bytes), bytes.len() as u64)),
        other => Err(AuditError::Shape {
            path: path.to_owned(),
            place: "the value".to_owned(),
            message: format!("{}, expected an object", other.kind()),
        }),
    }
}

impl Metadata {
    /// Takes what an object says. What an earlier one said stays.
    pub fn take(&mut self, map: &Map, place: &str) {
        let at = |names: &[&'static str]| fields::first(map, names).map(|(_, value)| value);
        if self.voting == Disclosure::Missing
            && let Some(value) = at(&["voting_attempts", "votingAttempts"])
        {
            self.voting = match value.as_u64() {
                Some(attempts) if attempts > 0 => Disclosure::Given(attempts),
                _ => Disclosure::Malformed(format!("{} `{}`", value.kind(), excerpt(&value.to_plain_text(), 40))),
            };
        }
        if self.task.split == Disclosure::Missing
            && let Some(value) = at(&["gaia_split", "gaiaSplit", "split", "dataset_split"])
        {
            self.task.split = match value {
                Value::String(split) if !split.trim().is_empty() => Disclosure::Given(split.trim().to_owned()),
                other => Disclosure::Malformed(format!("{} `{}`", other.kind(), excerpt(&other.to_plain_text(), 40))),
            };
        }
        let text = |names| fields::text(map, names).filter(|text| !text.is_empty());
        let task = &mut self.task;
        task.revision = task.revision.take().or_else(|| text(&["dataset_revision", "gaia_revision", "revision"]));
        task.repo = task.repo.take().or_else(|| text(&["dataset_repo", "dataset", "repo"]));
        task.digest = task.digest.or_else(|| digest(&text(&["dataset_sha256", "dataset_digest", "gold_sha256"])?));
        task.held_out = task.held_out.take().or_else(|| {
            let (name, value) = fields::first(map, &["held_out", "heldOut", "is_held_out", "test_set"])?;
            matches!(value, Value::Bool(true)).then(|| format!("{place}.{name}"))
        });
        // A list of levels is not one of them.
        task.level = task.level.or_else(|| at(&["gaia_level", "gaiaLevel", "level"])?.as_u64());
        self.scorer = self.scorer.take().or_else(|| text(&["scorer", "scoring", "judge_rule"]));
        self.submitted_at = self.submitted_at.or_else(|| moment(at(&["submitted_at", "submittedAt"])?));
        self.model = self.model.take().or_else(|| text(&["model"]));
        if let Some(events) = at(&["judge_cache_integrity_events"]) {
            let events = match events {
                Value::Array(events) => events.clone(),
                // Some count them.
                other if other.as_u64() == Some(0) => Vec::new(),
                other => vec![other.clone()],
            };
            self.integrity_events.get_or_insert_default().extend(events);
        }
        if let Some(Value::Array(tools)) = at(&["tool_catalogue", "tool_catalog", "tools"]) {
            self.tools.extend(tools.iter().map(|tool| {
                let name = tool.get("name").and_then(Value::as_str).or(tool.as_str()).unwrap_or_default();
                (name.to_owned(), tool.to_plain_text())
            }));
        }
        claims(map, place, &mut self.claims);
    }
}

/// A digest with or without its prefix.
fn digest(text: &str) -> Option<Digest> {
    let text = text.to_ascii_lowercase();
    text.parse().or_else(|_| format!("sha256:{text}").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Metadata {
        let value = json::parse(text.as_bytes()).unwrap();
        let mut metadata = Metadata::default();
        metadata.take(value.as_object().unwrap(), "metadata");
        metadata
    }

    #[test]
    fn attempts_are_a_count_or_kept_in_their_own_words() {
        assert_eq!(of("{}").voting, Disclosure::Missing);
        assert_eq!(of(r#"{"voting_attempts":3}"#).voting, Disclosure::Given(3));
        for (text, want) in
            [("\"3\"", "a string `3`"), ("0", "a number `0`"), ("-1", "a number `-1`"), ("1.5", "a number `1.5`")]
        {
            let voting = of(&format!("{{\"voting_attempts\":{text}}}")).voting;
            assert_eq!(voting, Disclosure::Malformed(want.to_owned()));
        }
    }

    #[test]
    fn a_digest_may_lack_its_prefix() {
        let hex = "ab".repeat(32);
        for text in [hex.clone(), format!("sha256:{hex}"), hex.to_uppercase()] {
            assert_eq!(of(&format!("{{\"dataset_sha256\":\"{text}\"}}")).task.digest.unwrap().hex(), hex);
        }
        assert_eq!(of(r#"{"dataset_sha256":"x"}"#).task.digest, None);
    }

    #[test]
    fn integrity_events_are_a_list_a_count_or_not_said() {
        assert_eq!(of("{}").integrity_events, None);
        assert_eq!(of(r#"{"judge_cache_integrity_events":0}"#).integrity_events, Some(vec![]));
        assert_eq!(of(r#"{"judge_cache_integrity_events":[]}"#).integrity_events, Some(vec![]));
        for text in ["2", "[{}]", "true", "\"one\""] {
            let events = of(&format!("{{\"judge_cache_integrity_events\":{text}}}")).integrity_events.unwrap();
            assert_eq!(events.len(), 1, "{text}");
        }
    }
}
