//! Datasets, read as a run reads them.

mod formats;
mod gaia;
mod hub;
mod order;
mod rows;

use std::fs::File;
use std::io::Write;

use proofmark_artefact::suite::config::{Format, OnBadRow};
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_run::dataset::{DataContext, DatasetError, Item, prepare};
use tempfile::TempDir;

/// A suite's folder with files in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn with(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.put(name, bytes);
        folder
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        File::create(self.0.path().join(name)).unwrap().write_all(bytes.as_ref()).unwrap();
    }

    fn context(&self) -> DataContext {
        DataContext::new(self.0.path())
    }

    fn items(&self, plan: &DatasetPlan) -> Result<Vec<Item>, DatasetError> {
        prepare(plan, &self.context())?.items()?.collect()
    }

    /// The ids in final order, or the message and hint of the error.
    fn ids(&self, plan: &DatasetPlan) -> Result<String, String> {
        let items = self.items(plan).map_err(|error| report(&error))?;
        assert!(items.iter().zip(0..).all(|(item, index)| item.index == index));
        Ok(items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>().join(" "))
    }
}

fn report(error: &DatasetError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn plan(format: Format) -> DatasetPlan {
    let path = match format {
        Format::Jsonl => Some("d.jsonl"),
        Format::Csv => Some("d.csv"),
        Format::Parquet => Some("d.parquet"),
        Format::Inline | Format::Hf | Format::Gaia => None,
    };
    DatasetPlan {
        format,
        path: path.map(|path| path.parse().unwrap()),
        rows: None,
        repo: None,
        revision: None,
        config: None,
        split: None,
        level: vec![],
        data_files: None,
        dataset_hash: None,
        id: None,
        input: None,
        target: None,
        choices: None,
        files: vec![],
        metadata: vec![],
        limit: None,
        shuffle: None,
        on_bad_row: OnBadRow::Fail,
        delimiter: None,
    }
}

/// A JSON Lines plan with an id field.
fn jsonl() -> DatasetPlan {
    DatasetPlan { id: Some("id".into()), ..plan(Format::Jsonl) }
}

fn json(text: &str) -> proofmark_canon::Value {
    proofmark_canon::json::parse(text.as_bytes()).unwrap()
}
