//! The two passes over a dataset.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::spill::{Duplicate, Duplicates, Place, mark};
use proofmark_artefact::suite::config::{Format, OnBadRow};
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::Digest;
use proofmark_canon::json::Integers;

use super::context::DataContext;
use super::error::{At, DatasetError, Problem};
use super::gaia;
use super::hub;
use super::item::{Home, Item, Mapping, is_inside};
use super::jsonl::parse_row;
use super::names::show;
use super::shuffle::{self, Order, Shuffler};
use super::source::{Kind, Origin, ReadRules, Rows, Source, Stamp, read_failed};

/// Reads a dataset once: checks every row, computes the digest, counts, and finds duplicate ids.
///
/// Touches nothing but the hub's cache and unlinked scratch files. Blocks; a hub dataset is fetched on a thread of its own.
pub fn prepare(plan: &DatasetPlan, context: &DataContext) -> Result<Prepared, DatasetError> {
    let whole = |problem| DatasetError::new(shown_name(plan), None, problem);
    let mut mapping = Mapping::new(plan, context).map_err(whole)?;
    let Located { sources, digest, revision, home } = locate(plan, context)?;
    if let Some(home) = home {
        mapping.home = home;
    }
    let reading = Arc::new(Reading {
        sources,
        mapping,
        rules: ReadRules {
            integers: if context.strict { Integers::Refuse } else { Integers::AsText },
            max_line: context.tuning.max_line,
        },
        on_bad_row: plan.on_bad_row,
    });
    let pass = first_pass(&reading, plan, context)?;
    // A hub dataset is named by all of its files, a local one by its bytes.
    let digest = digest.unwrap_or_else(|| pass.files[0].digest);
    if let Some(expected) = plan.dataset_hash.filter(|expected| *expected != digest) {
        return Err(whole(Problem::Hash { expected, found: digest }));
    }
    if pass.rows == 0 {
        return Err(whole(Problem::Empty { skipped: pass.skipped }));
    }
    let mut prepared = Prepared {
        digest,
        rows: pass.rows,
        rows_skipped: pass.skipped,
        revision,
        files: pass.files,
        reading,
        stamps: pass.stamps,
        order: pass.order,
        limit: plan.limit.unwrap_or(u64::MAX),
        attachments: BTreeMap::new(),
    };
    if prepared.reading.mapping.home.listed.is_some() {
        prepared.attachments = hub::fetch_attachments(plan, context, &prepared)?;
    }
    Ok(prepared)
}

/// A dataset that was read once and found good.
pub struct Prepared {
    /// What the data is: the SHA-256 of a local file's bytes, of the canonical JSON of inline rows,
    /// or of the canonical JSON `[{path, sha256}…]` of a hub dataset's files.
    pub digest: Digest,
    /// Rows that become items.
    pub rows: u64,
    /// Bad rows that were left out.
    pub rows_skipped: u64,
    /// The commit of a hub dataset.
    pub revision: Option<String>,
    /// The files that were read, with the digests of their bytes.
    pub files: Vec<UsedFile>,
    reading: Arc<Reading>,
    stamps: Vec<Option<Stamp>>,
    order: Option<Order>,
    limit: u64,
    /// What items attach that came from the hub, with the digests that it was fetched with.
    pub(crate) attachments: BTreeMap<RelPath, Digest>,
}

/// One file of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// As the suite or the hub names it.
    pub path: String,
    pub digest: Digest,
}

impl Prepared {
    /// Starts the second pass: items in final order, streamed.
    ///
    /// Ends with an error when a file is no longer the one that [`prepare`] read.
    pub fn items(&self) -> Result<Items, DatasetError> {
        let walk = match &self.order {
            Some(order) => {
                let rows = order.walk().map_err(|error| self.reading.sources[0].fail(None, scratch_failed(error)))?;
                Way::Shuffled(Box::new(rows))
            }
            None => Way::Files { next: 0, current: None },
        };
        Ok(Items {
            reading: Arc::clone(&self.reading),
            expected: self.files.iter().map(|file| file.digest).zip(self.stamps.iter().copied()).collect(),
            way: walk,
            index: 0,
            limit: self.limit,
            canonical: Vec::new(),
            over: false,
        })
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("digest", &self.digest)
            .field("rows", &self.rows)
            .field("rows_skipped", &self.rows_skipped)
            .field("revision", &self.revision)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// What both passes share.
struct Reading {
    sources: Vec<Source>,
    mapping: Mapping,
    rules: ReadRules,
    on_bad_row: OnBadRow,
}

impl Reading {
    /// Returns the next good row of a source as an item; bad rows are counted when they may be skipped.
    fn next_item(
        &self,
        source: &Source,
        rows: &mut Rows,
        canonical: &mut Vec<u8>,
        want_canonical: bool,
        skipped: &mut u64,
    ) -> Option<Result<(At, Item), DatasetError>> {
        loop {
            let (at, problem) = match rows.next()? {
                Err((at, problem)) => (at, problem),
                Ok(row) if self.mapping.leaves_out(&row.row).unwrap_or(false) => continue,
                Ok(row) => {
                    canonical.clear();
                    if want_canonical || self.mapping.id_is_digest() {
                        row.row.append_canonical(canonical);
                    }
                    match self.mapping.apply(row.row, canonical) {
                        Ok(item) => return Some(Ok((row.at, item))),
                        Err(problem) => (Some(row.at), problem),
                    }
                }
            };
            if self.on_bad_row == OnBadRow::Fail || !problem.is_of_row() {
                return Some(Err(source.fail(at, problem)));
            }
            *skipped += 1;
        }
    }

    /// Reads a source up to a place to name the id that stands there.
    fn id_at(&self, place: Place) -> Option<String> {
        let source = self.sources.get(place.file as usize)?;
        let (mut rows, _) = source.open(self.rules).ok()?;
        let (mut canonical, mut skipped) = (Vec::new(), 0);
        while let Some(Ok((at, item))) = self.next_item(source, &mut rows, &mut canonical, false, &mut skipped) {
            if number_of(at) == place.number {
                return Some(item.id);
            }
        }
        None
    }
}

/// What the first pass found.
struct FirstPass {
    rows: u64,
    skipped: u64,
    files: Vec<UsedFile>,
    stamps: Vec<Option<Stamp>>,
    order: Option<Order>,
}

fn first_pass(reading: &Reading, plan: &DatasetPlan, context: &DataContext) -> Result<FirstPass, DatasetError> {
    let scratch = context.scratch.as_deref();
    let mut ids = Duplicates::new(context.tuning.sort_entries, scratch);
    let mut shuffler = plan.shuffle.map(|seed| Shuffler::new(seed, plan.limit, &context.tuning, scratch));
    // Without a shuffle the first rows are the items; nothing behind them matters.
    let stop = if shuffler.is_some() { u64::MAX } else { plan.limit.unwrap_or(u64::MAX) };
    let mut pass = FirstPass { rows: 0, skipped: 0, files: Vec::new(), stamps: Vec::new(), order: None };
    let mut canonical = Vec::new();
    for (file, source) in (0u32..).zip(&reading.sources) {
        let used = |digest| UsedFile { path: source.shown.clone(), digest };
        if let Some(digest) = source.pinned.filter(|_| pass.rows >= stop) {
            pass.files.push(used(digest));
            pass.stamps.push(None);
            continue;
        }
        let (mut rows, stamp) = source.open(reading.rules)?;
        while pass.rows < stop {
            let wanted = shuffler.is_some();
            let Some(item) = reading.next_item(source, &mut rows, &mut canonical, wanted, &mut pass.skipped) else {
                break;
            };
            let (at, item) = item?;
            let place = Place { file, number: number_of(at) };
            ids.push(mark(item.id.as_bytes()), place).map_err(|error| source.fail(None, scratch_failed(error)))?;
            if let Some(shuffler) = &mut shuffler {
                let pushed = shuffler.push(&item.id, place, &canonical);
                pushed.map_err(|error| source.fail(None, scratch_failed(error)))?;
            }
            pass.rows += 1;
        }
        let digest = rows.finish().map_err(|error| source.fail(None, read_failed(error)))?;
        if source.pinned.is_some_and(|pinned| pinned != digest) {
            return Err(source.fail(None, Problem::Changed));
        }
        pass.files.push(used(digest));
        pass.stamps.push(stamp);
    }
    let whole = |error| DatasetError::new(shown_name(plan), None, scratch_failed(error));
    if let Some(twice) = ids.finish(1).map_err(whole)?.earliest.first() {
        return Err(duplicate(reading, twice));
    }
    pass.order = shuffler.map(Shuffler::finish).transpose().map_err(whole)?;
    if let (Some(_), Some(limit)) = (&pass.order, plan.limit) {
        pass.rows = pass.rows.min(limit);
    }
    Ok(pass)
}

fn duplicate(reading: &Reading, twice: &Duplicate) -> DatasetError {
    let Duplicate { first, again } = *twice;
    let (before, source) = (&reading.sources[first.file as usize], &reading.sources[again.file as usize]);
    let first_at = before.at(first.number);
    let shown =
        if first.file == again.file { first_at.to_string() } else { format!("{first_at} of `{}`", before.shown) };
    let problem = Problem::DuplicateId {
        id: show(&reading.id_at(again).unwrap_or_default()),
        first: shown,
        from_digest: reading.mapping.id_is_digest(),
    };
    source.fail(Some(source.at(again.number)), problem)
}

/// Items in final order.
pub struct Items {
    reading: Arc<Reading>,
    /// What every source was in the first pass.
    expected: Vec<(Digest, Option<Stamp>)>,
    way: Way,
    index: u64,
    limit: u64,
    canonical: Vec<u8>,
    over: bool,
}

enum Way {
    Files { next: usize, current: Option<(usize, Box<Rows>)> },
    Shuffled(Box<shuffle::Rows>),
}

impl Iterator for Items {
    type Item = Result<Item, DatasetError>;

    fn next(&mut self) -> Option<Result<Item, DatasetError>> {
        if self.over {
            return None;
        }
        let item = match &self.way {
            Way::Files { .. } => self.next_streamed(),
            Way::Shuffled(_) => self.next_shuffled(),
        };
        match item {
            Some(Ok(mut item)) => {
                item.index = self.index;
                self.index += 1;
                Some(Ok(item))
            }
            other => {
                self.over = true;
                other
            }
        }
    }
}

impl Items {
    fn next_streamed(&mut self) -> Option<Result<Item, DatasetError>> {
        let Way::Files { next, current } = &mut self.way else { return None };
        loop {
            if let Some((at, rows)) = current {
                let source = &self.reading.sources[*at];
                if self.index < self.limit {
                    let item = self.reading.next_item(source, rows, &mut self.canonical, false, &mut 0);
                    if let Some(item) = item {
                        return Some(item.map(|(_, item)| item));
                    }
                }
                let (at, rows) = current.take()?;
                let digest = match rows.finish() {
                    Ok(digest) => digest,
                    Err(error) => return Some(Err(source.fail(None, read_failed(error)))),
                };
                if digest != self.expected[at].0 {
                    return Some(Err(source.fail(None, Problem::Changed)));
                }
            }
            if self.index >= self.limit {
                return None;
            }
            let source = self.reading.sources.get(*next)?;
            match reopen(source, self.reading.rules, self.expected[*next]) {
                Ok(rows) => *current = Some((*next, Box::new(rows))),
                Err(error) => return Some(Err(error)),
            }
            *next += 1;
        }
    }

    fn next_shuffled(&mut self) -> Option<Result<Item, DatasetError>> {
        let Way::Shuffled(rows) = &mut self.way else { return None };
        let (place, row) = match rows.next()? {
            Ok(row) => row,
            Err(error) => return Some(Err(self.reading.sources[0].fail(None, scratch_failed(error)))),
        };
        // The row was written as canonical JSON, so its bytes are what its digest is made of.
        let item = parse_row(row, self.reading.rules.integers).and_then(|map| self.reading.mapping.apply(map, row));
        Some(item.map_err(|problem| {
            let source = &self.reading.sources[place.file as usize];
            source.fail(Some(source.at(place.number)), problem)
        }))
    }
}

/// Opens a source again. When its size or time differ, its bytes are compared before any row is used,
/// so that a changed file costs no asks; other changes show at its end.
fn reopen(source: &Source, rules: ReadRules, expected: (Digest, Option<Stamp>)) -> Result<Rows, DatasetError> {
    let (rows, stamp) = source.open(rules)?;
    if stamp != expected.1 && source.digest()? != expected.0 {
        return Err(source.fail(None, Problem::Changed));
    }
    Ok(rows)
}

/// Where the data is.
pub(super) struct Located {
    pub sources: Vec<Source>,
    /// Known before reading for hub datasets.
    pub digest: Option<Digest>,
    pub revision: Option<String>,
    /// Where attachments are, when that is not the suite's root.
    pub home: Option<Home>,
}

fn locate(plan: &DatasetPlan, context: &DataContext) -> Result<Located, DatasetError> {
    let whole = |problem| DatasetError::new(shown_name(plan), None, problem);
    let named = || plan.path.as_ref().ok_or_else(|| whole(Problem::NotConfigured("path")));
    let open = |path: &RelPath, kind| {
        let full = path.under(&context.root);
        // A path that does not resolve is reported when it is opened.
        if full.exists() && !is_inside(&full, &context.root) {
            return Err(whole(Problem::Outside));
        }
        Ok(Source { shown: path.to_string(), origin: Origin::File { path: full, kind }, pinned: None })
    };
    let file = |kind| open(named()?, kind);
    let source = match plan.format {
        Format::Jsonl => file(Kind::Jsonl)?,
        Format::Csv => file(Kind::Csv { delimiter: delimiter(plan).map_err(whole)? })?,
        Format::Parquet => file(Kind::Parquet)?,
        Format::Inline => {
            let rows = plan.rows.clone().ok_or_else(|| whole(Problem::NotConfigured("rows")))?;
            Source { shown: shown_name(plan), origin: Origin::Inline(Arc::new(rows)), pinned: None }
        }
        Format::Hf => return hub::locate(plan, context),
        Format::Gaia if plan.repo.is_some() => return hub::locate(plan, context),
        Format::Gaia => {
            let top = named()?;
            let in_top = |path: &RelPath| gaia::below(top, path.as_str());
            let is_there = |path: &RelPath| in_top(path).is_ok_and(|path| path.under(&context.root).is_file());
            let (path, kind) = gaia::metadata(plan, is_there).map_err(whole)?;
            let source = open(&in_top(&path).map_err(whole)?, kind)?;
            let below = gaia::folder(plan).map(|folder| in_top(&folder)).transpose().map_err(whole)?;
            let home = Home { root: context.root.as_path().into(), below, listed: None };
            return Ok(Located { sources: vec![source], digest: None, revision: None, home: Some(home) });
        }
    };
    Ok(Located { sources: vec![source], digest: None, revision: None, home: None })
}

/// The separator of a `csv` file.
pub(super) fn delimiter(plan: &DatasetPlan) -> Result<u8, Problem> {
    match plan.delimiter.as_deref().unwrap_or(",").as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => Ok(*byte),
        _ => Err(Problem::Delimiter(show(plan.delimiter.as_deref().unwrap_or_default()))),
    }
}

/// What messages call the dataset as a whole.
pub(super) fn shown_name(plan: &DatasetPlan) -> String {
    match plan.format {
        Format::Inline => "inline rows".to_owned(),
        Format::Hf => plan.repo.as_deref().map_or_else(|| "hub dataset".to_owned(), show),
        Format::Gaia if plan.repo.is_some() => plan.repo.as_deref().map(show).unwrap_or_default(),
        Format::Jsonl | Format::Csv | Format::Parquet | Format::Gaia => {
            plan.path.as_ref().map_or_else(|| "dataset".to_owned(), ToString::to_string)
        }
    }
}

fn scratch_failed(source: std::io::Error) -> Problem {
    Problem::Io { action: "use a scratch file", source }
}

fn number_of(at: At) -> u64 {
    match at {
        At::Line(number) | At::Row(number) => number,
    }
}
