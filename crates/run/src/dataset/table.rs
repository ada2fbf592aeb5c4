//! A table by itself, without a suite: what somebody holds results against.

use std::path::Path;

use proofmark_canon::json::Integers;
use proofmark_canon::{Digest, Map};

use super::context::Tuning;
use super::error::{At, DatasetError};
use super::source::{Kind, Origin, ReadRules, Source};

/// Whether a file is a table, as its name says: CSV, tabs, or Parquet.
pub fn is_table(path: &Path) -> bool {
    kind_of(path).is_some()
}

fn kind_of(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(Kind::Csv { delimiter: b',' }),
        "tsv" => Some(Kind::Csv { delimiter: b'\t' }),
        "parquet" => Some(Kind::Parquet),
        _ => None,
    }
}

/// Calls `each` for every row of a table, in the order of the file, and returns the digest of its bytes. Integers that JSON
/// cannot hold are their digits. A file that is no table by its name is read as CSV.
pub fn read_table<E: From<DatasetError>>(
    path: &Path,
    mut each: impl FnMut(At, Map) -> Result<(), E>,
) -> Result<Digest, E> {
    let kind = kind_of(path).unwrap_or(Kind::Csv { delimiter: b',' });
    let source = Source {
        shown: path.display().to_string(),
        origin: Origin::File { path: path.to_owned(), kind },
        pinned: None,
    };
    let rules = ReadRules { integers: Integers::AsText, max_line: Tuning::default().max_line };
    let (mut rows, _) = source.open(rules)?;
    while let Some(row) = rows.next() {
        let row = row.map_err(|(at, problem)| source.fail(at, problem))?;
        each(row.at, row.row)?;
    }
    let failed = |error| source.fail(None, super::source::read_failed(error));
    Ok(rows.finish().map_err(failed)?)
}
