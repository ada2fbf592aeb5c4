//! The answers of a dataset, to hold results against: JSON lines, a list, an object with `rows`, or a table.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use proofmark_artefact::store::{Hashed, Lines, digest_file, read_bounded};
use proofmark_artefact::suite::gaia;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Map, Value};
use proofmark_run::dataset::{is_table, read_table};

use super::fields::{self, first};
use crate::error::AuditError;

const MAX_ROW: usize = 16 << 20;
const MAX_DOCUMENT: u64 = 512 << 20;
/// GAIA keeps its answers in one of these files of a split's folder.
const GAIA_FILES: [&str; 2] = ["metadata.jsonl", "metadata.parquet"];
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

/// Reads a dataset's answers: a file, or a folder of GAIA's with its metadata.
pub fn load_gold(path: &Path) -> Result<Gold, AuditError> {
    let inner = GAIA_FILES.map(|name| path.join(name));
    let inner = inner.iter().find(|inner| inner.is_file()).unwrap_or(&inner[0]);
    let path = if path.is_dir() { inner.as_path() } else { path };
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    let mut rows = HashMap::new();
    let mut add = |map: &Map, place: String| {
        let shape = |message: &str| AuditError::Shape {
            path: path.to_owned(),
            place: place.clone(),
            message: message.to_owned(),
        };
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
    let object = |value: Value, place: String| match value {
        Value::Object(map) => Ok((map, place)),
        _ => Err(AuditError::Shape { path: path.to_owned(), place, message: "not an object".to_owned() }),
    };
    let (digest, bytes) = if is_table(path) {
        let digest = read_table(path, |at, row| add(&row, at.to_string()))?;
        (digest, std::fs::metadata(path).map_err(io)?.len())
    } else if is_document(path)? {
        let bytes = read_bounded(path, MAX_DOCUMENT)?;
        let value = json::parse_with(&bytes, Integers::AsText)
            .map_err(|source| AuditError::NotJsonFile { path: path.to_owned(), source })?;
        let list = value.as_array().or_else(|| value.get("rows")?.as_array()).unwrap_or_default();
        for (at, item) in list.iter().enumerate() {
            // The hub's viewer wraps every row.
            let (map, place) = object(item.get("row").unwrap_or(item).clone(), format!("row {}", at + 1))?;
            add(&map, place)?;
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
            let (map, place) = object(value, format!("line {number}"))?;
            add(&map, place)?;
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
    use proofmark_artefact::store::write_atomic;

    #[test]
    fn lines_lists_and_pages_of_the_hub_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metadata.jsonl");
        let row = r#"{"task_id":"a","Question":"Q?","Final answer":"x"}"#;
        for text in [format!("{row}\n"), format!("[{row}]"), format!("{{\"rows\":[{{\"row\":{row}}}]}}")] {
            write_atomic(&path, text.as_bytes()).unwrap();
            for path in [path.as_path(), dir.path()] {
                let gold = load_gold(path).unwrap();
                assert_eq!(gold.rows["a"], Row { answer: "x".into(), question: Some("Q?".into()), level: None });
                assert_eq!(gold.digest, Digest::of(text.as_bytes()));
            }
        }
    }

    #[test]
    fn tables_are_read_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("gold.csv", "task_id,Question,Final answer,Level\na,\"Q, or?\",x,2\n"),
            ("gold.TSV", "task_id\tQuestion\tFinal answer\tLevel\na\tQ, or?\tx\t2\n"),
        ] {
            let path = dir.path().join(name);
            write_atomic(&path, text.as_bytes()).unwrap();
            let gold = load_gold(&path).unwrap();
            let want = Row { answer: "x".into(), question: Some("Q, or?".into()), level: Some(2) };
            assert_eq!(gold.rows["a"], want, "{name}");
            assert_eq!((gold.digest, gold.bytes), (Digest::of(text.as_bytes()), text.len() as u64));
        }
        for (text, want) in [("task_id,answer\na,x,y\n", "line 2"), ("answer\nx\n", "line 2 of"), ("", "header")] {
            let path = dir.path().join("bad.csv");
            write_atomic(&path, text.as_bytes()).unwrap();
            let error = load_gold(&path).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
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
            write_atomic(&path, text.as_bytes()).unwrap();
            let error = load_gold(&path).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
