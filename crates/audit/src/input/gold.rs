//! The answers of a dataset, to hold results against: JSON lines, a list, or an object with `rows`.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use proofmark_artefact::store::{Hashed, Lines, digest_file, read_bounded};
use proofmark_artefact::suite::gaia;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Value};

use super::fields::{self, first};
use crate::error::AuditError;

const MAX_ROW: usize = 16 << 20;
const MAX_DOCUMENT: u64 = 512 << 20;
/// GAIA keeps its answers in this file of a split's folder.
const GAIA_FILE: &str = "metadata.jsonl";
const ANSWER: &[&str] = &["Final answer", "expected_output", "expected", "gold", "ground_truth", "target", "answer"];

/// A dataset's answers by item.
#[derive(Debug)]
pub struct Gold {
    pub rows: HashMap<String, Row>,
    pub digest: Digest,
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    pub answer: Value,
    pub question: Option<String>,
    /// GAIA's.
    pub level: Option<u32>,
}

/// Reads a dataset's answers: a file, or a folder of GAIA's with its `metadata.jsonl`.
pub fn load_gold(path: &Path) -> Result<Gold, AuditError> {
    let inner = path.join(GAIA_FILE);
    let path = if path.is_dir() { inner.as_path() } else { path };
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    let mut rows = HashMap::new();
    let mut add = |value: &Value, place: String| {
        let shape = |message: &str| AuditError::Shape {
            path: path.to_owned(),
            place: place.clone(),
            message: message.to_owned(),
        };
        let map = value.as_object().ok_or_else(|| shape("not an object"))?;
        let id = fields::text(map, fields::ID).ok_or_else(|| shape("a row has no `task_id`"))?;
        let answer = first(map, ANSWER).map(|(_, value)| value.clone()).unwrap_or_default();
        let row = Row {
            answer,
            question: fields::text(map, fields::QUESTION),
            level: map.get(gaia::LEVEL).and_then(gaia::level),
        };
        match rows.insert(id, row) {
            None => Ok(()),
            Some(_) => Err(shape("its id stands twice in the dataset")),
        }
    };
    let is_document = is_document(path)?;
    let (digest, bytes) = if is_document {
        let bytes = read_bounded(path, MAX_DOCUMENT)?;
        let value = json::parse_with(&bytes, Integers::AsText)
            .map_err(|source| AuditError::NotJsonFile { path: path.to_owned(), source })?;
        let list = value.as_array().or_else(|| value.get("rows")?.as_array()).unwrap_or_default();
        for (at, item) in list.iter().enumerate() {
            // The hub's viewer wraps every row.
            add(item.get("row").unwrap_or(item), format!("row {}", at + 1))?;
        }
        digest_file(path).map_err(io)?
    } else {
        let mut lines = Lines::new(Hashed::new(File::open(path).map_err(io)?), MAX_ROW);
        while let Some(line) = lines.next_line().map_err(|source| AuditError::Line { path: path.to_owned(), source })? {
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            let number = line.number;
            let value = json::parse_with(line.bytes, Integers::AsText).map_err(|source| AuditError::NotJson {
                path: path.to_owned(),
                line: number,
                source,
            })?;
            add(&value, format!("line {number}"))?;
        }
        lines.drain().map_err(io)?.finish()
    };
    if rows.is_empty() {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    Ok(Gold { rows, digest, bytes })
}

/// Whether the file is one JSON value rather than one a line.
fn is_document(path: &Path) -> Result<bool, AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(proofmark_artefact::store::OpenError::NotAFile(path.to_owned()).into());
    }
    let mut lines = Lines::new(File::open(path).map_err(io)?, MAX_ROW);
    let Ok(Some(line)) = lines.next_line() else { return Ok(false) };
    let is_list = line.bytes.trim_ascii_start().first() == Some(&b'[');
    let value = json::parse_with(line.bytes, Integers::AsText);
    Ok(is_list || value.map_or(true, |value| value.get("rows").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lists_and_pages_of_the_hub_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metadata.jsonl");
        let row = r#"{"task_id":"a","Question":"Q?","Final answer":"x"}"#;
        for text in [format!("{row}\n"), format!("[{row}]"), format!("{{\"rows\":[{{\"row\":{row}}}]}}")] {
            std::fs::write(&path, &text).unwrap();
            for path in [path.as_path(), dir.path()] {
                let gold = load_gold(path).unwrap();
                assert_eq!(gold.rows["a"], Row { answer: "x".into(), question: Some("Q?".into()), level: None });
                assert_eq!(gold.digest, Digest::of(text.as_bytes()));
            }
        }
    }

    #[test]
    fn what_is_no_dataset_is_refused_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gold.jsonl");
        let row = r#"{"task_id":"a","answer":"x"}"#;
        for (text, want) in [
            ("", "holds no results"),
            ("7\n", "line 1 of"),
            (r#"{"answer":"x"}"#, "line 1 of"),
            (&format!("{row}\n{row}\n"), "line 2 of"),
            ("[1]", "row 1 of"),
            ("{oops", "is not JSON"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load_gold(&path).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
