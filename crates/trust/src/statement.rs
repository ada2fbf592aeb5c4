//! Statements about files: which they are, by SHA-256, and what is said of them (in-toto Statement v1).

use std::collections::BTreeMap;

use proofmark_canon::json::{self, NotCanonical, ParseError, ShapeError, Value};
use proofmark_canon::{Digest, to_vec};
use serde::{Deserialize, Serialize};

const TYPE: &str = "https://in-toto.io/Statement/v1";
/// The most files that one statement is about: as many as an archive may list.
pub const MAX_SUBJECTS: usize = 65_536;
/// The most values in a statement: four for each file, and what is said of them.
const MAX_VALUES: usize = 4 * MAX_SUBJECTS + 65_536;
const MAX_NAME: usize = 4096;

/// What is said of which files.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    predicate_type: String,
    subjects: BTreeMap<String, Digest>,
    predicate: Value,
}

/// It is no statement of ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatementError {
    #[error("the statement is not JSON")]
    Json(#[source] ParseError),
    #[error("the statement is not canonical JSON")]
    NotCanonical(#[source] NotCanonical),
    #[error("the statement does not have the shape of one")]
    Shape(#[source] ShapeError),
    #[error("the statement has the type `{0}`, expected `{TYPE}`")]
    Type(String),
    #[error("the statement says `{found}`, expected `{wanted}`")]
    PredicateType { found: String, wanted: String },
    #[error("the statement is about no file")]
    NoSubject,
    #[error("the statement is about more than {MAX_SUBJECTS} files")]
    TooMany,
    #[error("the statement names `{0}` twice")]
    Twice(String),
    #[error("the statement has a file without a usable name")]
    Name,
    #[error("the statement's predicate is not an object")]
    Predicate,
    #[error("the digest of `{0}` is not SHA-256 in 64 lower-case hex digits, alone")]
    Digest(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementFile {
    #[serde(rename = "_type")]
    kind: String,
    predicate: Value,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    subject: Vec<SubjectFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectFile {
    digest: BTreeMap<String, String>,
    name: String,
}

impl Statement {
    /// A statement of a type, which is a URI of ours, about files.
    pub fn new(
        predicate_type: &str,
        subjects: impl IntoIterator<Item = (String, Digest)>,
        predicate: Value,
    ) -> Result<Self, StatementError> {
        let mut all = BTreeMap::new();
        for (name, digest) in subjects {
            if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
                return Err(StatementError::Name);
            }
            if all.insert(name.clone(), digest).is_some() {
                return Err(StatementError::Twice(name));
            }
            if all.len() > MAX_SUBJECTS {
                return Err(StatementError::TooMany);
            }
        }
        if all.is_empty() {
            return Err(StatementError::NoSubject);
        }
        if predicate.as_object().is_none() {
            return Err(StatementError::Predicate);
        }
        Ok(Self { predicate_type: predicate_type.to_owned(), subjects: all, predicate })
    }

    /// Canonical JSON: what goes into an envelope. Files are in the order of their names.
    pub fn to_bytes(&self) -> Vec<u8> {
        let subject = |(name, digest): (&String, &Digest)| SubjectFile {
            digest: BTreeMap::from([("sha256".to_owned(), digest.hex())]),
            name: name.clone(),
        };
        let file = StatementFile {
            kind: TYPE.to_owned(),
            predicate: self.predicate.clone(),
            predicate_type: self.predicate_type.clone(),
            subject: self.subjects.iter().map(subject).collect(),
        };
        to_vec(&file).expect("values that canonical JSON can say")
    }

    /// Reads bytes whose signature was checked.
    pub fn parse(bytes: &[u8], predicate_type: &str) -> Result<Self, StatementError> {
        let value = json::parse_bounded(bytes, MAX_VALUES).map_err(StatementError::Json)?;
        json::check_canonical(bytes).map_err(StatementError::NotCanonical)?;
        let file: StatementFile = json::from_value(&value).map_err(StatementError::Shape)?;
        let short = |text: String| text.chars().take(200).collect::<String>();
        if file.kind != TYPE {
            return Err(StatementError::Type(short(file.kind)));
        }
        if file.predicate_type != predicate_type {
            let wanted = predicate_type.to_owned();
            return Err(StatementError::PredicateType { found: short(file.predicate_type), wanted });
        }
        let mut subjects = Vec::with_capacity(file.subject.len());
        for SubjectFile { digest, name } in file.subject {
            let hex = digest.get("sha256").filter(|_| digest.len() == 1);
            match hex.and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok()) {
                Some(digest) => subjects.push((name, digest)),
                None => return Err(StatementError::Digest(short(name))),
            }
        }
        Self::new(predicate_type, subjects, file.predicate)
    }

    /// Files by name, with their digests.
    pub fn subjects(&self) -> &BTreeMap<String, Digest> {
        &self.subjects
    }

    pub fn predicate(&self) -> &Value {
        &self.predicate
    }

    pub fn predicate_type(&self) -> &str {
        &self.predicate_type
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "https://proofmark.dev/attestation/test/v1";

    fn statement() -> Statement {
        let files = ["b.json", "a.json"].map(|name| (name.to_owned(), Digest::of(name.as_bytes())));
        Statement::new(KIND, files, json::parse(br#"{"clean":true}"#).unwrap()).unwrap()
    }

    #[test]
    fn a_statement_comes_back_in_canonical_bytes() {
        let bytes = statement().to_bytes();
        let (a, b) = (Digest::of(b"a.json").hex(), Digest::of(b"b.json").hex());
        let expected = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","predicate":{{"clean":true}},"predicateType":"{KIND}","subject":[{{"digest":{{"sha256":"{a}"}},"name":"a.json"}},{{"digest":{{"sha256":"{b}"}},"name":"b.json"}}]}}"#
        );
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), expected);
        assert_eq!(Statement::parse(&bytes, KIND).unwrap(), statement());
    }

    #[test]
    fn what_says_something_else_is_refused() {
        let good = String::from_utf8(statement().to_bytes()).unwrap();
        let hex = Digest::of(b"a.json").hex();
        for (from, to, expected) in [
            ("Statement/v1", "Statement/v0.1", "has the type"),
            ("test/v1", "test/v2", "expected `https://proofmark.dev"),
            ("{\"clean\":true}", "true", "predicate is not an object"),
            ("b.json", "a.json", "names `a.json` twice"),
            ("b.json", "", "without a usable name"),
            ("b.json", "\\n", "without a usable name"),
            ("sha256", "sha1", "digest of `a.json`"),
            (&hex, &hex.to_uppercase(), "digest of `a.json`"),
            (&hex, "00", "digest of `a.json`"),
            ("\"clean\"", " \"clean\"", "not canonical"),
            ("\"predicate\"", "\"extra\":1,\"predicate\"", "shape"),
        ] {
            let error = Statement::parse(good.replace(from, to).as_bytes(), KIND).unwrap_err().to_string();
            assert!(error.contains(expected), "{from} → {to}: {error}");
        }
        let none = Statement::new(KIND, [], statement().predicate).unwrap_err();
        assert!(matches!(none, StatementError::NoSubject));
    }
}
