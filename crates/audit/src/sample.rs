//! What is audited: samples with their marks, and what is said of the whole.

use proofmark_artefact::manifest::ModelEntry;
use proofmark_canon::{Digest, Value};
use serde::{Deserialize, Serialize};

/// One result: what was asked, answered and marked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What evidence calls it: the task id, or the key in a run of ours.
    pub id: String,
    /// What the dataset calls its item.
    pub item: String,
    /// Which of [`Facts::tasks`] it belongs to.
    pub task: usize,
    /// Which of the conditions of a run of ours.
    pub condition: usize,
    /// The question's own text; empty when it is not known.
    pub question: String,
    pub choices: Vec<String>,
    /// Null when it is not known.
    #[serde(with = "as_text")]
    pub gold: Value,
    pub answer: Option<String>,
    pub mark: Mark,
    pub model: String,
    pub turns: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub latency_ms: Option<f64>,
    /// How many attempts the result itself owns up to.
    pub attempts: Option<u64>,
    /// Turns and tokens that are no counts, in their own words.
    pub not_counts: Vec<String>,
    /// The same of attempts.
    pub not_attempts: Option<String>,
    /// The same of the latency.
    pub not_latency: Option<String>,
    /// Its line, or its place in a list, from 1.
    pub number: u64,
    /// The provider's own name of the request behind the answer.
    pub request_id: Option<String>,
    /// Digests of messages that were looked through whole already.
    pub looked: Vec<Digest>,
    /// A verdict that is recorded and is not what the scorer gives: what differs.
    pub other_verdict: Option<String>,
    /// Why a verdict could not be had again from what is recorded.
    pub unscorable: Option<String>,
}

/// What the results say of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    Correct,
    Wrong,
    /// Nobody who ran it has the gold answer, or it was left out.
    #[default]
    Missing,
    /// Something that is neither true nor false, in its own words.
    Malformed(String),
}

impl Sample {
    pub fn is_credited(&self) -> bool {
        self.mark == Mark::Correct
    }

    /// The gold answers as texts: one, those of a list, or none.
    pub fn golds(&self) -> Vec<String> {
        match &self.gold {
            Value::Null | Value::Object(_) => Vec::new(),
            Value::Array(items) => {
                { items.iter().filter(|item| !matches!(item, Value::Null | Value::Array(_) | Value::Object(_))) }
                    .map(Value::to_plain_text)
                    .collect()
            }
            scalar => vec![scalar.to_plain_text()],
        }
    }

    pub fn has_gold(&self) -> bool {
        !self.golds().iter().all(String::is_empty)
    }
}

/// What is said of all samples together.
#[derive(Debug, Default)]
pub struct Facts {
    pub origin: Origin,
    /// The file that the samples stand in, as evidence calls it.
    pub results_name: &'static str,
    pub trajectories_name: &'static str,
    /// Attempts at a sample, of which one answer was chosen.
    pub voting: Disclosure<u64>,
    pub tasks: Vec<TaskFacts>,
    /// Counts and rates that somebody claims, with where.
    pub claims: Vec<Claim>,
    /// What agents were told of their tools: name and text. Empty where it is not known.
    pub tools: Vec<(String, String)>,
    /// Entries of the judge cache that were not what they should be; `None` when nobody says.
    pub integrity_events: Option<Vec<Value>>,
    /// Whether trajectories were given at all.
    pub has_trajectories: bool,
    pub models: Vec<ModelEntry>,
    /// The model that the metadata declares.
    pub declared_model: Option<String>,
    /// Answers to one item are drawn anew for every sample.
    pub is_stochastic: bool,
    /// Whether results of others name their requests.
    pub has_request_ids: bool,
    /// What the results contradict already, found while they were read.
    pub contradictions: Vec<Contradiction>,
    /// Those beyond the ones that are kept.
    pub contradictions_omitted: u64,
    /// What is known of the requests to providers.
    pub requests: Option<Requests>,
    /// When the files say that they were handed in, in milliseconds since 1970.
    pub submitted_at: Option<i64>,
    /// When they are audited, as far as anybody says so.
    pub audited_at: Option<i64>,
}

/// Whose files they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    Own,
    #[default]
    Foreign,
}

/// Something that must be said about a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Disclosure<T> {
    #[default]
    Missing,
    /// Something else stands there, in its own words.
    Malformed(String),
    Given(T),
}

/// One dataset and what was asked of it.
#[derive(Debug, Clone, Default)]
pub struct TaskFacts {
    /// Empty in results of others.
    pub id: String,
    pub split: Disclosure<String>,
    pub revision: Option<String>,
    pub digest: Option<Digest>,
    pub repo: Option<String>,
    pub path: Option<String>,
    /// Whether a split is part of what the dataset is.
    pub needs_split: bool,
    pub needs_revision: bool,
    /// Where somebody presents it as held out.
    pub held_out: Option<String>,
    /// GAIA's level, when only one was asked.
    pub level: Option<u64>,
    /// Whether not all items had to be asked.
    pub is_part: bool,
    /// Tools of an agent of ours that ran without a sandbox.
    pub unconfined: Vec<String>,
}

/// A number that somebody claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Such as `metadata.pass_rate`.
    pub place: String,
    pub kind: ClaimKind,
    /// In its own words when it is no number.
    pub value: Result<f64, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimKind {
    Total,
    Passed,
    Rate,
}

/// Something that does not fit, found while reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    pub finding: &'static str,
    pub sample: Option<String>,
    pub place: Option<String>,
    pub message: String,
}

/// What telemetry says of the requests behind the answers.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// Samples that a provider answered over HTTP.
    pub samples: u64,
    /// Of these, samples whose answer has a request id.
    pub with_id: u64,
    /// What is odd about them, in the order of the file.
    pub odd: Vec<Contradiction>,
    /// Odd ones beyond those that are kept.
    pub odd_omitted: u64,
}

/// A value of any shape as JSON, where bytes do not say what they are.
pub(crate) mod as_text {
    use proofmark_canon::Value;
    use proofmark_canon::json::{self, Integers};
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&value.to_canonical())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        json::parse_with(bytes, Integers::AsText).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::{decode, encode};

    #[test]
    fn a_sample_comes_back_from_its_bytes() {
        let gold = proofmark_canon::json::parse(br#"["a",1.5,{"b":null}]"#).unwrap();
        let sample = Sample {
            id: "t".into(),
            gold,
            mark: Mark::Malformed("`x`".into()),
            turns: Some(u64::MAX),
            latency_ms: Some(-0.5),
            looked: vec![Digest::of(b"m")],
            not_counts: vec!["y".into()],
            answer: Some(String::new()),
            ..Sample::default()
        };
        let mut bytes = Vec::new();
        let back: Sample = decode(encode(&sample, &mut bytes).unwrap()).unwrap();
        assert_eq!(back, sample);
        assert_eq!(decode::<Sample>(encode(&Sample::default(), &mut bytes).unwrap()).unwrap(), Sample::default());
    }
}
