//! What one line of `records.jsonl` must be, by itself and under its manifest.
//!
//! `input.fingerprint` is not checked: it covers the whole request, of which a record holds the
//! messages only.

use std::ops::Range;

use proofmark_canon::SampleKey;
use proofmark_canon::json::check_canonical;
use proofmark_canon::seed::SampleSeed;
use serde::Deserialize;

use super::blocks::Block;
use super::codes;
use super::finding::{Findings, Place, quote, quote_all};
use super::outputs::Named;
use super::view::{RecordView, ScoreView};
use crate::axes::Axes;
use crate::manifest::{Manifest, TaskEntry};
use crate::record::{Output, RECORD_SCHEMA, SCORER_ERROR, SampleError, Status, Usage, output_fingerprint};
use crate::spill::mark;
use crate::stats::Verdict;
use crate::store::names::RECORDS;
use crate::suite::config::Format;
use crate::suite::gaia;
use crate::text::excerpt;

/// A manifest as records are held against it.
pub(super) struct Rules<'m> {
    pub(super) manifest: &'m Manifest,
    run_id: String,
    axes: Axes<'m>,
    pub(super) longest_line: usize,
}

impl<'m> Rules<'m> {
    pub(super) fn new(manifest: &'m Manifest, longest_line: usize) -> Self {
        let axes = Axes::of_manifest(manifest);
        Self { manifest, run_id: manifest.run_id.to_string(), axes, longest_line }
    }

    /// Whether the task's data is known to come without gold answers, and its samples then without scores.
    fn may_lack_gold(&self, task: &str) -> bool {
        let dataset = self.manifest.datasets.iter().find(|dataset| dataset.task == task);
        dataset.is_some_and(|dataset| {
            dataset.format == Format::Gaia.as_str() && dataset.split.as_deref() == Some(gaia::HIDDEN_SPLIT)
        })
    }
}

/// What the checks over all records need of one: where it stands and what it says.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) line: u64,
    /// Where the line is in its block.
    pub(super) span: Range<usize>,
    pub(super) ordinal: u64,
    pub(super) task: usize,
    pub(super) model: usize,
    pub(super) condition: usize,
    pub(super) sample: u32,
    /// Sixteen bytes of the digest of the item's id.
    pub(super) item: [u8; 16],
    pub(super) usage: Usage,
    pub(super) answered_by: Option<Box<str>>,
    /// Which of [`Checked::verdicts`] are the record's.
    pub(super) verdicts: Range<usize>,
    /// What judge scorers say.
    pub(super) judged: Vec<crate::record::Judged>,
    /// It has an answer and no gold answer, so that it cannot be scored.
    pub(super) unscored: bool,
}

/// One or more lines in a row.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Record(Fact),
    /// This many lines that cannot be placed.
    Unplaced(u64),
}

/// What came out of a block.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) findings: Findings,
    pub(super) entries: Vec<Entry>,
    pub(super) verdicts: Vec<Verdict>,
    /// The pictures that records name, with their lines.
    pub(super) images: Vec<(u64, Named)>,
    /// By [`Status::ALL`].
    pub(super) statuses: [u64; 5],
    /// Lines that could not be read as records at all.
    pub(super) unreadable: u64,
}

impl Checked {
    fn unplaced(&mut self) {
        if let Some(Entry::Unplaced(count)) = self.entries.last_mut() {
            *count += 1;
        } else {
            self.entries.push(Entry::Unplaced(1));
        }
    }
}

/// Checks the lines of a block.
pub(super) fn check_block(rules: &Rules<'_>, block: &Block) -> Checked {
    let mut checked = Checked::default();
    if block.too_long {
        report_too_long(RECORDS, block.first_line, rules.longest_line, &mut checked.findings);
        checked.unreadable += 1;
        checked.unplaced();
        return checked;
    }
    let bytes = block.bytes();
    let (mut start, mut number) = (0, block.first_line);
    while start < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[start..]).map(|at| start + at);
        let span = start..end.unwrap_or(bytes.len());
        let line = Line { number, bytes: &bytes[span.clone()], ended: end.is_some() };
        match check_form::<RecordView<'_>>(RECORDS, line, rules.longest_line, &mut checked.findings) {
            None => {
                checked.unreadable += 1;
                checked.unplaced();
            }
            Some(record) => {
                checked.statuses[record.status as usize] += 1;
                if let Some(mut fact) = check_record(rules, number, &record, &mut checked) {
                    fact.span = span.clone();
                    checked.entries.push(Entry::Record(fact));
                } else {
                    checked.unplaced();
                }
            }
        }
        start = span.end + 1;
        number += 1;
    }
    checked
}

/// A line with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    pub(super) ended: bool,
}

pub(super) fn report_too_long(file: &str, line: u64, limit: usize, findings: &mut Findings) {
    findings.push(codes::LINE_TOO_LONG, Place::line(file, line), || {
        format!("the line is longer than {limit} bytes, the most we read")
    });
}

/// Checks how a line is written and reads it. One that is readable but not canonical is still read.
pub(super) fn check_form<'a, T: Deserialize<'a>>(
    file: &str,
    line: Line<'a>,
    limit: usize,
    findings: &mut Findings,
) -> Option<T> {
    let place = Place::line(file, line.number);
    let mut bytes = line.bytes;
    if !line.ended {
        findings
            .push(codes::LINE_END, place, || "the last line has no line end; expected one after every line".to_owned());
    }
    if bytes.len() > limit {
        report_too_long(file, line.number, limit, findings);
        return None;
    }
    if line.number == 1
        && let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf")
    {
        findings
            .push(codes::BOM, place, || "the file starts with a byte order mark; expected the first line".to_owned());
        bytes = rest;
    }
    if bytes.is_empty() {
        findings.push(codes::BLANK_LINE, place, || "the line is empty; expected a JSON object".to_owned());
        return None;
    }
    let not_canonical = check_canonical(bytes).err();
    if let Some(why) = not_canonical {
        findings.push(codes::LINE_NOT_CANONICAL, place, || format!("the line is {why}; expected canonical JSON"));
    }
    // Checked as a whole, so that the reader need not check string by string.
    let text = std::str::from_utf8(bytes).ok()?;
    match serde_json::from_str(text) {
        Ok(value) => Some(value),
        Err(error) => {
            // A line that is no JSON was reported above as not canonical: it cannot be both.
            if not_canonical.is_none() || error.is_data() {
                findings.push(codes::LINE_SHAPE, place, || shape_message(&error));
            }
            None
        }
    }
}

/// What serde says, in our words: its line number is always 1 and says nothing.
pub(super) fn shape_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("{} at byte {}; expected the shape of the schema", excerpt(what, 200), error.column())
}

fn check_record(rules: &Rules<'_>, number: u64, record: &RecordView<'_>, checked: &mut Checked) -> Option<Fact> {
    let place = Place::line(RECORDS, number).with_key(&record.key);
    let findings = &mut checked.findings;
    if record.schema_version != RECORD_SCHEMA {
        findings.push(codes::VERSION, place, || {
            format!("schema_version is {}, expected {RECORD_SCHEMA}", record.schema_version)
        });
    }
    if *record.run_id != *rules.run_id {
        findings.push(codes::RUN_ID, place, || {
            format!("run_id is {}, but the manifest says `{}`", quote(&record.run_id), rules.run_id)
        });
    }
    check_identity(rules, place, record, findings);
    check_content(place, record, findings);
    for image in record.output.iter().flat_map(|output| &output.images) {
        match Named::of(image) {
            Some(named) => checked.images.push((number, named)),
            None => findings.push(codes::IMAGE_FACTS, place, || {
                format!("a picture has the media type {}, which is not one that is stored", quote(&image.media_type))
            }),
        }
    }
    let task = rules.axes.task(&record.task);
    check_scores(rules, place, task, record, findings);
    let usage_ok = check_usage(place, record, findings);
    let (model, condition) = check_references(rules, place, task, record, findings)?;
    let first = checked.verdicts.len();
    // A value out of range was reported; the statistics are not made for one.
    let verdict = |score: &ScoreView<'_>| Verdict { value: score.value.clamp(0.0, 1.0), passed: score.passed };
    checked.verdicts.extend(record.scores.iter().map(verdict));
    Some(Fact {
        line: number,
        span: 0..0,
        ordinal: record.ordinal,
        task: task?,
        model,
        condition,
        sample: record.sample,
        item: mark(record.item_id.as_bytes()),
        usage: if usage_ok { record.usage } else { Usage::default() },
        answered_by: record.output.as_ref().and_then(|o| o.answered_by.as_deref()).map(Into::into),
        verdicts: first..checked.verdicts.len(),
        judged: record.scores.iter().filter_map(|score| score.judge.clone()).collect(),
        unscored: record.status == Status::Success && record.scores.is_empty(),
    })
}

/// Key, seed and moment follow from other fields.
fn check_identity(rules: &Rules<'_>, place: Place<'_>, record: &RecordView<'_>, findings: &mut Findings) {
    let key = SampleKey::new(&record.task, &record.item_id, &record.model, &record.condition, record.sample);
    if *key.as_str() != *record.key {
        findings.push(codes::KEY, place, || {
            format!("key is {}, but its parts make {}", quote(&record.key), quote(key.as_str()))
        });
    }
    let seed = SampleSeed::derive(rules.manifest.sampling.seed, key.as_str()).get();
    if seed != record.seed {
        findings.push(codes::SEED, place, || {
            format!("seed is {}, but {seed} is derived from the suite's seed and the key", record.seed)
        });
    }
    let moment = rules.manifest.run_id.spine(record.ordinal);
    if *moment != *record.started_at {
        findings.push(codes::STARTED_AT, place, || {
            format!(
                "started_at is {}, but the spine has `{moment}` for ordinal {}",
                quote(&record.started_at),
                record.ordinal
            )
        });
    }
}

/// Status, error and output belong together, and the fingerprint covers what came back.
fn check_content(place: Place<'_>, record: &RecordView<'_>, findings: &mut Findings) {
    let status = record.status.as_str();
    let mut contradiction =
        |what: &str| findings.push(codes::STATUS, place, || format!("status is `{status}`, {what}"));
    if record.status == Status::Success {
        if record.error.is_some() {
            contradiction("but there is an error; expected none");
        }
        if record.output.is_none() {
            contradiction("but there is no output; expected one");
        }
    } else {
        match &record.error {
            None => contradiction("but there is no error; expected the reason"),
            Some(error) if *error.class == *SCORER_ERROR && record.output.is_none() => {
                contradiction("and scoring failed, but there is no output that was scored");
            }
            Some(_) => {}
        }
        if !record.scores.is_empty() {
            contradiction("but there are scores; expected none");
        }
    }
    let output = record.output.as_ref().map(|output| Output {
        images: output.images.clone(),
        reasoning: output.reasoning.as_ref().map(|text| text.0.as_ref().to_owned()),
        text: output.text.0.as_ref().to_owned(),
        tool_calls: output.tool_calls.clone(),
        ..Output::default()
    });
    let error = record.error.as_ref().map(|error| SampleError {
        class: error.class.0.as_ref().to_owned(),
        message: error.message.0.as_ref().to_owned(),
    });
    // Texts always have a canonical form, so there is no error to report here.
    if let Ok(expected) = output_fingerprint(output.as_ref(), record.finish_reason.as_deref(), error.as_ref())
        && expected != record.output_fingerprint
    {
        findings.push(codes::OUTPUT_FINGERPRINT, place, || {
            format!("output_fingerprint is {}, but what came back has {expected}", record.output_fingerprint)
        });
    }
}

fn check_scores(
    rules: &Rules<'_>,
    place: Place<'_>,
    task: Option<usize>,
    record: &RecordView<'_>,
    findings: &mut Findings,
) {
    for score in record.scores.iter().filter(|score| !(0.0..=1.0).contains(&score.value)) {
        findings.push(codes::VALUE, place, || {
            format!("the value of {} is {}, expected one from 0 to 1", quote(&score.scorer), score.value)
        });
    }
    let Some(task) = task.filter(|_| record.status == Status::Success) else { return };
    let TaskEntry { id, scorers: expected, .. } = &rules.manifest.tasks[task];
    if record.scores.is_empty() && record.expected.is_none() && rules.may_lack_gold(id) {
        return;
    }
    let same = expected.len() == record.scores.len()
        && expected.iter().zip(&record.scores).all(|(name, score)| **name == *score.scorer);
    if !same {
        findings.push(codes::SCORERS, place, || {
            let found: Vec<&str> = record.scores.iter().map(|score| &*score.scorer).collect();
            format!("scores are by {}, but the task's scorers are {}", quote_all(&found), quote_all(expected))
        });
    }
}

/// A count beyond 2^40 would only serve to overflow a sum.
fn check_usage(place: Place<'_>, record: &RecordView<'_>, findings: &mut Findings) -> bool {
    const MOST: u64 = 1 << 40;
    let Usage { input_tokens, output_tokens } = record.usage;
    let fits = input_tokens <= MOST && output_tokens <= MOST;
    if !fits {
        findings.push(codes::USAGE, place, || {
            format!("usage is {input_tokens} and {output_tokens} tokens, expected at most {MOST}")
        });
    }
    fits
}

/// Returns the positions of model and condition when the record can be placed in the run.
fn check_references(
    rules: &Rules<'_>,
    place: Place<'_>,
    task: Option<usize>,
    record: &RecordView<'_>,
    findings: &mut Findings,
) -> Option<(usize, usize)> {
    let model = rules.axes.model(&record.model);
    let condition = rules.axes.condition(&record.condition);
    for (kind, name, found) in
        [("task", &record.task, task), ("model", &record.model, model), ("condition", &record.condition, condition)]
    {
        if found.is_none() {
            findings.push(codes::REFERENCE, place, || format!("{kind} {} is not one of the manifest's", quote(name)));
        }
    }
    if let Some(model) = model {
        let expected = &rules.manifest.models[model].provider;
        if **expected != *record.provider {
            findings.push(codes::PROVIDER, place, || {
                format!("provider is {}, but the model's is {}", quote(&record.provider), quote(expected))
            });
        }
    }
    let n = rules.manifest.sampling.n;
    if record.sample >= n {
        findings.push(codes::REFERENCE, place, || format!("sample is {}, but the run has n = {n}", record.sample));
        return None;
    }
    model.zip(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes and whether the line was read.
    fn form(bytes: &[u8], number: u64, limit: usize) -> (Vec<&'static str>, bool) {
        let mut findings = Findings::default();
        let line = Line { number, bytes, ended: true };
        let read = check_form::<Vec<u32>>("x", line, limit, &mut findings).is_some();
        (findings.kept.iter().map(|finding| finding.code).collect(), read)
    }

    #[test]
    fn a_line_gets_one_finding_for_each_thing_that_is_wrong() {
        let cases: &[(&[u8], u64, &[&str], bool)] = &[
            (b"[1,2]", 1, &[], true),
            (b"[1, 2]", 1, &["V020"], true),
            (b"[1,2]\r", 1, &["V020"], true),
            (b"[1,", 1, &["V020"], false),
            (b"[1,\xff]", 1, &["V020"], false),
            (b"{}", 1, &["V025"], false),
            (b"{ }", 1, &["V020", "V025"], false),
            (b"", 1, &["V022"], false),
            (b"\xef\xbb\xbf[1]", 1, &["V023"], true),
            (b"\xef\xbb\xbf[1]", 2, &["V020"], false),
            (b"\xef\xbb\xbf", 1, &["V023", "V022"], false),
            (b"[1,2,3,4,5]", 1, &["V024"], false),
        ];
        for (bytes, number, codes, read) in cases {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(form(bytes, *number, 10), (codes.to_vec(), *read), "{text:?} as line {number}");
        }
    }

    #[test]
    fn counters_of_statuses_are_in_the_order_of_all() {
        for (at, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, at);
        }
    }
}
