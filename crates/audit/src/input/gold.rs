//! The answers of a dataset, to hold results against: JSON lines, a list, an object with `rows`, or a table.

use std::io;
use std::path::Path;

use proofmark_artefact::spill::MARK;
use proofmark_artefact::store::Hashed;
use proofmark_artefact::suite::gaia;
use proofmark_canon::{Digest, Map, Value};
use proofmark_run::dataset::{is_table, read_table};
use serde::{Deserialize, Serialize};

use super::document::{Layout, Part, Parts, each_line, layout_of, open};
use super::fields::{self, first};
use crate::error::AuditError;
use crate::sample::as_text;
use crate::shelf::{Filling, Shelf};

/// What the hub calls its list of rows.
const ROWS: &str = "rows";
/// GAIA keeps its answers in one of these files of a split's folder.
const GAIA_FILES: [&str; 2] = ["metadata.jsonl", "metadata.parquet"];
const ANSWER: &[&str] = &["Final answer", "expected_output", "expected", "gold", "ground_truth", "target", "answer"];

/// A dataset's answers by item.
pub struct Gold {
    rows: Shelf<Row>,
    pub digest: Digest,
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: String,
    #[serde(with = "as_text")]
    pub answer: Value,
    pub question: Option<String>,
    /// GAIA's.
    pub level: Option<u32>,
    /// Where it stands in its file.
    place: String,
}

impl Gold {
    /// The row of an item.
    pub fn find(&self, item: &str) -> io::Result<Option<Row>> {
        self.rows.find(item)?.map(|spot| self.rows.get(spot)).transpose()
    }

    /// Goes through the rows whose ids are not among these, which are marks in order.
    pub fn others(&self, named: impl Iterator<Item = io::Result<[u8; MARK]>>, take: impl FnMut(Row)) -> io::Result<()> {
        self.rows.others(named, take)
    }
}

/// Reads a dataset's answers: a file, or a folder of GAIA's with its metadata.
pub fn load_gold(path: &Path) -> Result<Gold, AuditError> {
    let inner = GAIA_FILES.map(|name| path.join(name));
    let inner = inner.iter().find(|inner| inner.is_file()).unwrap_or(&inner[0]);
    let path = if path.is_dir() { inner.as_path() } else { path };
    let mut rows = Filling::default();
    let (digest, bytes) = if is_table(path) {
        let digest = read_table(path, |at, row| add(&mut rows, &row, path, at.to_string()))?;
        let io = |source| AuditError::Io { path: path.to_owned(), source };
        (digest, std::fs::metadata(path).map_err(io)?.len())
    } else if layout_of(open(path)?, ROWS).map_err(|broken| broken.of(path))? == Layout::Document {
        load_document(path, &mut rows)?
    } else {
        each_line(path, |value, number| add_value(&mut rows, &value, path, format!("line {number}")))?
    };
    if rows.is_empty() {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    let rows = rows.finish().map_err(AuditError::Scratch)?;
    if let Some(spot) = rows.twice(1).map_err(AuditError::Scratch)?.again.first() {
        let place = rows.get(*spot).map_err(AuditError::Scratch)?.place;
        let message = "its id stands twice in the dataset".to_owned();
        return Err(AuditError::Shape { path: path.to_owned(), place, message });
    }
    Ok(Gold { rows, digest, bytes })
}

fn load_document(path: &Path, rows: &mut Filling<Row>) -> Result<(Digest, u64), AuditError> {
    let mut parts = Parts::new(Hashed::new(open(path)?), ROWS);
    let mut number = 0u64;
    while let Some(part) = parts.next_part().map_err(|broken| broken.of(path))? {
        let Part::Item(item) = part else { continue };
        number += 1;
        // The hub's viewer wraps every row.
        add_value(rows, item.get("row").unwrap_or(&item), path, format!("row {number}"))?;
    }
    Ok(parts.into_source().finish())
}

fn add_value(rows: &mut Filling<Row>, value: &Value, path: &Path, place: String) -> Result<(), AuditError> {
    match value {
        Value::Object(map) => add(rows, map, path, place),
        _ => Err(AuditError::Shape { path: path.to_owned(), place, message: "not an object".to_owned() }),
    }
}

fn add(rows: &mut Filling<Row>, map: &Map, path: &Path, place: String) -> Result<(), AuditError> {
    let Some(id) = fields::text(map, fields::ID) else {
        let message = "a row has no `task_id`".to_owned();
        return Err(AuditError::Shape { path: path.to_owned(), place, message });
    };
    let row = Row {
        id,
        answer: first(map, ANSWER).map(|(_, value)| value.clone()).unwrap_or_default(),
        question: fields::text(map, fields::QUESTION),
        level: map.get(gaia::LEVEL).and_then(gaia::level),
        place,
    };
    rows.push(&row.id, &row).map_err(AuditError::Scratch)
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
                let row = gold.find("a").unwrap().unwrap();
                assert_eq!((row.answer, row.question.as_deref(), row.level), ("x".into(), Some("Q?"), None));
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
            let row = gold.find("a").unwrap().unwrap();
            assert_eq!(
                (row.answer, row.question.as_deref(), row.level),
                ("x".into(), Some("Q, or?"), Some(2)),
                "{name}"
            );
            assert_eq!((gold.digest, gold.bytes), (Digest::of(text.as_bytes()), text.len() as u64));
        }
        for (text, want) in [("task_id,answer\na,x,y\n", "line 2"), ("answer\nx\n", "line 2 of"), ("", "header")] {
            let path = dir.path().join("bad.csv");
            write_atomic(&path, text.as_bytes()).unwrap();
            let error = load_gold(&path).err().unwrap().to_string();
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
            let error = load_gold(&path).err().unwrap().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
