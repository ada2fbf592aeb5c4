//! GAIA's published layout: where its metadata is, and what of a row may be seen.
//!
//! A split is a folder such as `2023/validation` with the metadata (`metadata.parquet` or `metadata.jsonl`, or one file a
//! level) and the attachments beside it. The metadata holds the gold answers and the steps of a human's solution, so a
//! row is narrowed to the fields that are needed before anything else looks at it, and no row can attach the metadata.

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::gaia;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Map, Number, Value};

use super::error::{Problem, Role};
use super::source::Kind;

/// How a suite wants its GAIA.
#[derive(Debug)]
pub(super) struct Rules {
    /// Empty for all.
    levels: Vec<u32>,
    /// Whether the split's gold answers are kept from everybody.
    is_hidden: bool,
}

impl Rules {
    /// `None` for every other format.
    pub(super) fn new(plan: &DatasetPlan) -> Option<Self> {
        (plan.format == Format::Gaia).then(|| {
            let own = plan.config.as_deref().and_then(gaia::config).and_then(|(_, level)| level);
            Self {
                levels: own.map_or_else(|| plan.level.clone(), |own| vec![own]),
                is_hidden: plan.split.as_deref() == Some(gaia::HIDDEN_SPLIT),
            }
        })
    }

    /// Whether the row is of a level that is wanted.
    pub(super) fn wants(&self, row: &Map) -> Result<bool, Problem> {
        if self.levels.is_empty() {
            return Ok(true);
        }
        // A row without a level is refused when it is narrowed.
        let Some(value) = row.get(gaia::LEVEL) else { return Ok(true) };
        Ok(self.levels.contains(&level(value)?))
    }

    /// Keeps what is needed. Gold answers that stand for none become null.
    pub(super) fn narrow(&self, mut row: Map) -> Result<Map, Problem> {
        let mut narrow = Map::new();
        for field in [gaia::ID, gaia::QUESTION, gaia::FILE] {
            if let Some(value) = row.remove(field) {
                narrow.insert(field, value);
            }
        }
        if let Some(value) = row.get(gaia::LEVEL) {
            narrow.insert(gaia::LEVEL, Number::from_u64(level(value)?.into()).map(Value::Number));
        }
        match row.remove(gaia::ANSWER) {
            None if self.is_hidden => drop(narrow.insert(gaia::ANSWER, Value::Null)),
            None => {}
            Some(gold) if !is_gold(&gold) => {
                if !self.is_hidden {
                    return Err(Problem::NoGold);
                }
                narrow.insert(gaia::ANSWER, Value::Null);
            }
            Some(gold) => drop(narrow.insert(gaia::ANSWER, gold)),
        }
        Ok(narrow)
    }
}

/// The folder of a split, such as `2023/validation`.
pub(super) fn folder(plan: &DatasetPlan) -> Option<RelPath> {
    let (year, _) = gaia::config(plan.config.as_deref()?)?;
    format!("{year}/{}", plan.split.as_deref()?).parse().ok()
}

/// Returns the file that holds the metadata. One file of a level goes before one with all, parquet before JSON lines.
pub(super) fn metadata(plan: &DatasetPlan, is_there: impl Fn(&RelPath) -> bool) -> Result<(RelPath, Kind), Problem> {
    let folder = folder(plan).ok_or(Problem::NotConfigured("config"))?;
    let level = plan.config.as_deref().and_then(gaia::config).and_then(|(_, level)| level);
    let stems = level.map(|level| format!("metadata.level{level}")).into_iter().chain(["metadata".to_owned()]);
    for stem in stems {
        for (extension, kind) in [("parquet", Kind::Parquet), ("jsonl", Kind::Jsonl)] {
            let path = below(&folder, &format!("{stem}.{extension}"))?;
            if is_there(&path) {
                return Ok((path, kind));
            }
        }
    }
    Err(Problem::NoMetadata { folder: folder.to_string() })
}

/// Joins two paths.
pub(super) fn below(folder: &RelPath, name: &str) -> Result<RelPath, Problem> {
    let path = |text: &str| text.parse::<RelPath>();
    // By itself first: what leaves the folder must not be hidden by what stands before it.
    let joined = path(name).and_then(|name| path(&format!("{folder}/{name}")));
    joined.map_err(|source| Problem::AttachmentPath { field: gaia::FILE.to_owned(), source })
}

/// Whether a file of a split holds gold answers.
pub(super) fn is_metadata(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("metadata.")
}

fn level(value: &Value) -> Result<u32, Problem> {
    gaia::level(value).ok_or_else(|| Problem::FieldKind {
        role: Role::Metadata,
        field: gaia::LEVEL.to_owned(),
        expected: "a level from 1 to 3",
        found: match value {
            Value::String(_) | Value::Number(_) => "another one",
            other => other.kind(),
        },
    })
}

fn is_gold(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !matches!(text.trim(), "" | "?"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Map {
        match proofmark_canon::json::parse(text.as_bytes()) {
            Ok(Value::Object(map)) => map,
            other => panic!("{other:?}"),
        }
    }

    fn narrowed(is_hidden: bool, text: &str) -> Result<String, String> {
        let rules = Rules { levels: vec![], is_hidden };
        rules.narrow(row(text)).map(|row| Value::Object(row).to_string()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn nothing_but_the_needed_fields_is_left_of_a_row() {
        let text = r#"{"Annotator Metadata":{"Steps":"1. Look"},"Final answer":"7","Level":"2","Question":"q","file_name":"","file_path":"","other":1,"task_id":"t"}"#;
        let want = r#"{"Final answer":"7","Level":2,"Question":"q","file_name":"","task_id":"t"}"#;
        assert_eq!(narrowed(false, text).as_deref(), Ok(want));
    }

    #[test]
    fn gold_answers_are_missing_in_the_hidden_split_only() {
        for gold in [r#"{"Final answer":"?"}"#, r#"{"Final answer":" "}"#, r#"{"Final answer":null}"#] {
            assert_eq!(narrowed(true, gold).as_deref(), Ok(r#"{"Final answer":null}"#), "{gold}");
            assert_eq!(narrowed(false, gold).unwrap_err(), "the row has no gold answer", "{gold}");
        }
        assert_eq!(narrowed(true, "{}").as_deref(), Ok(r#"{"Final answer":null}"#));
        // The mapping says which field is missing.
        assert_eq!(narrowed(false, "{}").as_deref(), Ok("{}"));
        assert_eq!(narrowed(true, r#"{"Final answer":"7"}"#).as_deref(), Ok(r#"{"Final answer":"7"}"#));
    }

    #[test]
    fn levels_choose_rows_and_strange_levels_are_refused() {
        let rules = Rules { levels: vec![1, 3], is_hidden: false };
        for (text, want) in [
            (r#"{"Level":1}"#, Some(true)),
            (r#"{"Level":"3"}"#, Some(true)),
            (r#"{"Level":2}"#, Some(false)),
            (r#"{"Level":4}"#, None),
            (r#"{"Level":[1]}"#, None),
        ] {
            assert_eq!(rules.wants(&row(text)).ok(), want, "{text}");
        }
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder() {
        let folder: RelPath = "2023/test".parse().unwrap();
        assert_eq!(below(&folder, "a.csv").unwrap().as_str(), "2023/test/a.csv");
        for name in ["../validation/metadata.jsonl", "/etc/passwd", "a/../../x", "", "a\\b"] {
            assert!(below(&folder, name).is_err(), "{name}");
        }
        for (name, want) in [("metadata.jsonl", true), ("Metadata.level1.Parquet", true), ("my-metadata.csv", false)] {
            assert_eq!(is_metadata(name), want, "{name}");
        }
    }
}
