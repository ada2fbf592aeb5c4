//! Summary and report out of the records of a finished run.

use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, Hasher};

use crate::record::Record;
use crate::report::{self, Grid, Limits, Selector};
use crate::stats::{AggregateError, Aggregator, FactsError, FactsReader, Shape};
use crate::store::{LineError, OpenError, RunDir, names};

/// The files that follow from the records, and what was read to make them.
#[derive(Debug)]
pub struct Rebuilt {
    /// Of `records.jsonl` as it is now.
    pub records_digest: Digest,
    /// The bytes of `summary.json`.
    pub summary: Vec<u8>,
    /// The bytes of `report.html`.
    pub report: Vec<u8>,
}

/// The records do not give a summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot read `records.jsonl`")]
    Line(#[from] LineError),
    #[error("line {line} of `records.jsonl` is not a record")]
    Malformed { line: u64, source: json::ParseError },
    #[error("line {line} of `records.jsonl` does not have the shape of a record")]
    Shape { line: u64, source: json::ShapeError },
    #[error("line {line} of `records.jsonl` does not fit the run")]
    Facts { line: u64, source: FactsError },
    #[error("line {line} of `records.jsonl` does not fit the run")]
    Aggregate { line: u64, source: AggregateError },
    #[error("`records.jsonl` ends in the middle of line {line}")]
    Torn { line: u64 },
    #[error("the summary has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("cannot render the report")]
    Render(#[source] std::io::Error),
}

/// Reads every record once and makes the files that follow from them, byte for byte as the run made them.
pub fn rebuild(dir: &RunDir) -> Result<Rebuilt, RebuildError> {
    let manifest = dir.manifest();
    let shape = Shape::of_manifest(manifest);
    let mut facts_reader = FactsReader::new(&shape);
    let mut aggregator = Aggregator::new(shape.clone());
    let mut selector = Selector::new(Grid::of(manifest), Limits::default());
    let mut hasher = Hasher::new();
    let mut lines = dir.lines(names::RECORDS)?;
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        if !line.ended {
            return Err(RebuildError::Torn { line: number });
        }
        hasher.update(line.bytes);
        hasher.update(b"\n");
        let value = json::parse(line.bytes).map_err(|source| RebuildError::Malformed { line: number, source })?;
        let record: Record = json::from_value(&value).map_err(|source| RebuildError::Shape { line: number, source })?;
        let facts = facts_reader.read(&record).map_err(|source| RebuildError::Facts { line: number, source })?;
        aggregator.push(&facts).map_err(|source| RebuildError::Aggregate { line: number, source })?;
        record.scores.iter().filter_map(|score| score.judge.as_ref()).for_each(|judged| aggregator.judged(judged));
        let shown = report::Facts::of(&record, facts.task, facts.model, facts.condition);
        selector.push_record(&shown, &record);
    }
    let summary = aggregator.finish();
    let mut page = Vec::new();
    report::render(manifest, &summary, &selector.finish(), dir.path(), &mut page).map_err(RebuildError::Render)?;
    let mut summary = json::to_vec(&summary)?;
    summary.push(b'\n');
    Ok(Rebuilt { records_digest: hasher.finish(), summary, report: page })
}
