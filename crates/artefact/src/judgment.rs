//! What judges were asked and what they said: the lines of `judgments.jsonl` and of the judge cache.
//!
//! A judgment is found by everything that its verdict depends on, so that another gold answer, rubric or judge
//! never finds it. Who signed it, and whether that can be believed, is the business of `proofmark-trust`.

use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, Map, seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Usage;

/// The version of a judgment's shape.
pub const JUDGMENT_SCHEMA: u32 = 1;

/// Everything that a verdict depends on. Two questions are the same when all of it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Digest of the answer that is judged: its text, and the digests of its pictures.
    #[schemars(with = "String")]
    pub answer: Digest,
    /// Digest of the gold answer's canonical form; null when the judge is shown none.
    #[schemars(with = "Option<String>")]
    pub expected: Option<Digest>,
    /// The judge: `provider:model-id`.
    pub judge: String,
    /// The parameters it is asked with.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub params: Map,
    /// Digest of everything that is sent: messages, pictures, the declared form of the reply.
    #[schemars(with = "String")]
    pub prompt: Digest,
    /// Digest of the rubric's text.
    #[schemars(with = "String")]
    pub rubric: Digest,
    /// What decides how the judge is reached besides its name: address, API; empty when nothing does.
    pub serving: String,
    /// The task's id in the suite, and the item's: `task/item`, each part percent-encoded.
    pub task_id: String,
    /// Which of the votes it is, from 0.
    pub vote: u32,
}

impl Question {
    /// The key under which a judgment is found.
    pub fn key(&self) -> Result<Digest, EncodeError> {
        Ok(seed::derive("proofmark.judgment-key/1", &[&proofmark_canon::to_vec(self)?]))
    }
}

/// What a judge said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The model that the provider says has answered.
    pub answered_by: Option<String>,
    /// How often it was asked until its reply had the declared form: 1 or 2.
    pub asked: u32,
    /// Why, in the judge's words.
    pub reason: String,
    /// Digest of the reply's text.
    #[schemars(with = "String")]
    pub reply: Digest,
    /// The number it gave, where the suite asks for one.
    pub score: Option<f64>,
    pub usage: Usage,
    /// One of the words that the suite declares.
    pub verdict: String,
}

impl Said {
    /// Whether both say the same of the answer, whatever their words.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.verdict == other.verdict && self.score.map(f64::to_bits) == other.score.map(f64::to_bits)
    }
}

/// One judgment: what is signed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgment {
    /// When the run that asked was started, by the clock of whoever signs: RFC 3339 in UTC.
    pub judged_at: String,
    pub question: Question,
    pub said: Said,
    pub schema_version: u32,
    /// The digest of an earlier judgment of the same question that this one was asked to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub supersedes: Option<Digest>,
}

impl Judgment {
    /// The canonical bytes: what is signed, and what the digest is of.
    pub fn canonical(&self) -> Result<Vec<u8>, EncodeError> {
        proofmark_canon::to_vec(self)
    }
}

/// A judgment and who vouches for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub judgment: Judgment,
    /// Null when nobody does.
    pub signature: Option<Signed>,
}

/// A signature over a judgment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The fingerprint of the key.
    pub signer: String,
    /// Ed25519 over the SHA-256 of `proofmark.judgment/1`, a zero byte and the judgment's canonical form; in base64.
    pub value: String,
}

/// Something in a judge cache that could not be believed. The judge was asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntegrityEvent {
    /// What was found, in one line.
    pub detail: String,
    /// The question that was looked up.
    #[schemars(with = "String")]
    pub key: Digest,
    pub reason: IntegrityReason,
    /// The fingerprint that the entry names, where it names one.
    pub signer: Option<String>,
}

/// Why an entry of a judge cache was not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntegrityReason {
    /// It has no signature.
    Unsigned,
    /// Its signature does not fit its bytes.
    Altered,
    /// It is cut off, or not an entry at all.
    Malformed,
    /// It is signed, but answers another question than the one it stands under.
    Misplaced,
    /// Its signer is not in the trust file.
    UnknownSigner,
    /// Its signer may not act as judge.
    WrongRole,
    /// Its signer's key was not valid yet, or not any more.
    OutOfValidity,
    /// Its signer's key was revoked.
    Revoked,
    /// The signed list of entries names it, but it is not there.
    Missing,
    /// A later verdict on the same question was seen before and is gone.
    RolledBack,
    /// The signed list of entries is missing or does not hold.
    List,
}

impl IntegrityReason {
    /// In a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Altered => "altered",
            Self::Malformed => "malformed",
            Self::Misplaced => "misplaced",
            Self::UnknownSigner => "by an unknown signer",
            Self::WrongRole => "by a signer that is no judge",
            Self::OutOfValidity => "out of validity",
            Self::Revoked => "by a revoked key",
            Self::Missing => "missing",
            Self::RolledBack => "rolled back",
            Self::List => "in a list that does not hold",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            answer: Digest::of(b"a"),
            expected: None,
            judge: "openai:j".into(),
            params: Map::new(),
            prompt: Digest::of(b"p"),
            rubric: Digest::of(b"r"),
            serving: String::new(),
            task_id: "t/1".into(),
            vote: 0,
        }
    }

    #[test]
    fn every_part_of_a_question_is_in_its_key() {
        let base = question();
        let mut params = Map::new();
        params.insert("stream", true);
        let others = [
            Question { answer: Digest::of(b"b"), ..base.clone() },
            Question { expected: Some(Digest::of(b"b")), ..base.clone() },
            Question { judge: "openai:k".into(), ..base.clone() },
            Question { params, ..base.clone() },
            Question { prompt: Digest::of(b"b"), ..base.clone() },
            Question { rubric: Digest::of(b"b"), ..base.clone() },
            Question { serving: "x".into(), ..base.clone() },
            Question { task_id: "t/2".into(), ..base.clone() },
            Question { vote: 1, ..base.clone() },
        ];
        let mut keys: Vec<Digest> = others.iter().map(|question| question.key().unwrap()).collect();
        keys.push(base.key().unwrap());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1);
        assert_eq!(base.key().unwrap(), question().key().unwrap());
    }
}
