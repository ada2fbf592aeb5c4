//! From files to a report.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use proofmark_artefact::audit::{Report, Totals};
use proofmark_artefact::store::{MAX_LINE, RunDir, names};
use proofmark_artefact::text::excerpt;
use proofmark_artefact::validate::{self, validate_run};
use proofmark_canon::json::{self, Integers};
use proofmark_run::rescore::Rescored;

use crate::checks::{CHECKS, Checking, Outcome, Scene, Subject};
use crate::credit::{Credit, is_marked};
use crate::error::AuditError;
use crate::input::Inputs;
use crate::input::document::open;
use crate::input::gold::load_gold;
use crate::input::metadata::{Metadata, load_metadata};
use crate::input::own::{load_run, marks_of, places_of, stopped_at, tools_of};
use crate::input::results::load_results;
use crate::input::telemetry::Latencies;
use crate::kept::Reveal;
use crate::look::{Forbidden, Marks, Place};
use crate::policy::Policy;
use crate::report::report;
use crate::rule::Rule;
use crate::sample::{Facts, Origin, TaskFacts};
use crate::seen::{Found, Lens, Looked, Seens, Sights, look_through};
use crate::trace::{Trace, ids_of, moment};
use crate::walk::walk;

/// How to audit.
#[derive(Debug, Clone)]
pub struct Options {
    /// The dataset's own answers.
    pub gold: Option<PathBuf>,
    pub reveal: Reveal,
    /// RFC 3339; no clock is read.
    pub audited_at: Option<String>,
    pub policy: Policy,
    /// How many threads look at trajectories. The report does not depend on it.
    pub workers: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            gold: None,
            reveal: Reveal::default(),
            audited_at: None,
            policy: Policy::default(),
            workers: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// Files of another harness.
#[derive(Debug, Clone)]
pub struct Foreign {
    pub results: PathBuf,
    pub trajectories: Option<PathBuf>,
    pub metadata: Option<PathBuf>,
}

/// The longest trajectory of another harness that is read.
const MAX_TRAJECTORY: usize = 64 << 20;

/// Audits a run directory. `rescored` is what came of making its records again, where its suite could be loaded.
pub fn audit_run(dir: &Path, options: &Options, rescored: Option<&Rescored>) -> Result<Report, AuditError> {
    check_moment(options)?;
    let dir = RunDir::open(dir)?;
    let manifest = dir.manifest();
    let marks = marks_of(manifest);
    let mut forbidden = Forbidden::usual();
    forbidden.add_marks(&marks);
    for dataset in &manifest.datasets {
        // A folder of GAIA's holds attachments too; its metadata is known by name.
        if let Some(path) = dataset.path.as_deref().filter(|path| path.contains('.')) {
            forbidden.add(Place::Gold, path);
        }
    }
    for (place, path) in places_of(&dir) {
        forbidden.add(place, &path);
    }
    let tools = tools_of(manifest);
    let lens = Lens {
        origin: Origin::Own,
        marks: &marks,
        forbidden: &forbidden,
        tools: &tools,
        reveal: options.reveal,
        file: names::TRAJECTORIES,
    };
    let inputs = load_run(&dir, &lens, options.workers)?;
    let validated = validate_run(dir.path())?;
    finish(inputs, &lens, options, MAX_LINE, rescored, Some(&validated))
}

/// Audits results of another harness.
pub fn audit_results(files: &Foreign, options: &Options) -> Result<Report, AuditError> {
    check_moment(options)?;
    let mut inputs = load_foreign(files)?;
    inputs.facts.audited_at = options.audited_at.as_deref().and_then(|text| moment(&text.into()));
    let task = &inputs.facts.tasks[0];
    let marks = Marks::gaia().merge(&Marks::of_dataset(
        task.repo.as_deref().filter(|repo| repo.contains('/')),
        None,
        task.digest,
    ));
    let mut forbidden = Forbidden::usual();
    forbidden.add_marks(&marks);
    let tools = inputs.facts.tools.clone();
    let lens = Lens {
        origin: Origin::Foreign,
        marks: &marks,
        forbidden: &forbidden,
        tools: &tools,
        reveal: options.reveal,
        file: "trajectories",
    };
    finish(inputs, &lens, options, MAX_TRAJECTORY, None, None)
}

fn load_foreign(files: &Foreign) -> Result<Inputs, AuditError> {
    let results = load_results(&files.results)?;
    let mut metadata = Metadata::default();
    let mut read = None;
    if let Some(path) = &files.metadata {
        let (map, digest, bytes) = load_metadata(path)?;
        metadata.take(&map, "metadata");
        read = Some((digest, bytes));
    }
    metadata.take(&results.header, "results");
    if let Some(proofmark_canon::Value::Object(summary)) = results.header.get("summary") {
        metadata.take(summary, "results.summary");
    }
    // The summary's numbers were taken with the results.
    metadata.claims.retain(|claim| !claim.place.starts_with("results.summary"));
    let mut task = metadata.task;
    task.needs_split = true;
    task.needs_revision = true;
    let rule = metadata.scorer.as_deref().and_then(Rule::named).unwrap_or_else(Rule::assumed);
    let mut claims = results.claims;
    claims.extend(metadata.claims);
    let mut inputs = Inputs {
        samples: results.samples,
        latencies: None,
        facts: Facts {
            origin: Origin::Foreign,
            results_name: "results",
            trajectories_name: "trajectories",
            voting: metadata.voting,
            tasks: vec![task],
            claims,
            tools: metadata.tools,
            integrity_events: metadata.integrity_events,
            has_trajectories: files.trajectories.is_some(),
            declared_model: metadata.model,
            submitted_at: metadata.submitted_at,
            contradictions: results.contradictions,
            contradictions_omitted: results.contradictions_omitted,
            has_request_ids: results.has_request_ids,
            ..Facts::default()
        },
        rules: vec![rule],
        policy: Policy::default(),
        trajectories: files.trajectories.clone(),
        files: BTreeMap::new(),
        found: Found::default(),
    };
    let (digest, bytes) = results.digest;
    inputs.note_file("results", &digest, bytes);
    if let Some((digest, bytes)) = read {
        inputs.note_file("metadata", &digest, bytes);
    }
    Ok(inputs)
}

/// Looks through the trajectories, runs the checks and writes the report.
fn finish(
    mut inputs: Inputs,
    lens: &Lens<'_>,
    options: &Options,
    longest: usize,
    rescored: Option<&Rescored>,
    validated: Option<&validate::Outcome>,
) -> Result<Report, AuditError> {
    if let Some(path) = &options.gold {
        let gold = load_gold(path)?;
        inputs.note_file("gold", &gold.digest, gold.bytes);
        let tasks = &inputs.facts.tasks;
        // Of several tasks, the dataset is that of those which pin it.
        let is_of = |task: &TaskFacts| tasks.len() == 1 || task.digest == Some(gold.digest);
        let of_gold = tasks.iter().map(is_of).collect();
        inputs.samples.take_gold(gold, of_gold);
    }
    let mut sights = Sights::default();
    let trajectory_bytes = look_at_all(&mut inputs, lens, options, longest, &mut sights)?;
    let files = std::mem::take(&mut inputs.files);
    let policy = options.policy.clone().or(std::mem::take(&mut inputs.policy));
    let latencies = inputs.latencies.take();
    let judged = (|| {
        let seens = sights.finish()?;
        let scene = Scene {
            samples: &inputs.samples,
            found: &inputs.found,
            facts: &inputs.facts,
            rules: &inputs.rules,
            usual_moment: if lens.origin == Origin::Foreign { seens.usual_moment()? } else { None },
            rescored,
            validated,
            reveal: options.reveal,
        };
        let totals = Totals { trajectory_bytes, ..Totals::default() };
        judge_all(&scene, &seens, latencies, totals)
    })();
    let (outcomes, totals) = judged.map_err(AuditError::Scratch)?;
    Ok(report(outcomes, &policy, options.audited_at.clone(), files, totals))
}

/// Shows every sample to every check, in one pass.
fn judge_all(
    scene: &Scene<'_>,
    seens: &Seens,
    mut latencies: Option<Latencies>,
    mut totals: Totals,
) -> io::Result<(Vec<Outcome>, Totals)> {
    let mut checks: Vec<Box<dyn Checking>> = CHECKS.iter().map(|check| (check.begin)()).collect();
    let mut joined = seens.joined()?;
    for (ordinal, sample) in (0..).zip(scene.samples.walk()) {
        let (spot, mut sample) = sample?;
        if let Some(latencies) = &mut latencies {
            sample.latency_ms = latencies.of(ordinal, &sample)?;
        }
        let credit = Credit::of(&sample, scene.rules.get(sample.task));
        totals.samples += 1;
        totals.marked_correct += u64::from(sample.is_credited());
        totals.unmarked += u64::from(!is_marked(&sample));
        totals.rescored_correct += u64::from(matches!(credit, Credit::Supported | Credit::None { deserved: true }));
        let subject = Subject { spot, sample: &sample, credit: &credit, seen: &joined.of(spot)? };
        checks.iter_mut().try_for_each(|check| check.take(scene, &subject))?;
    }
    let outcomes = checks.into_iter().map(|check| check.finish(scene)).collect::<io::Result<_>>()?;
    let found = scene.found;
    totals.steps = found.steps;
    totals.tool_calls = found.tool_calls;
    totals.tool_results = found.tool_results;
    totals.trajectories = found.trajectories;
    Ok((outcomes, totals))
}

fn look_at_all(
    inputs: &mut Inputs,
    lens: &Lens<'_>,
    options: &Options,
    longest: usize,
    sights: &mut Sights,
) -> Result<u64, AuditError> {
    let Some(path) = inputs.trajectories.clone() else { return Ok(0) };
    let file = open(&path)?;
    let samples = &inputs.samples;
    let look = |line: u64, bytes: &[u8]| -> Result<Looked, AuditError> {
        let value = json::parse_with(bytes, Integers::AsText).map_err(|source| AuditError::NotJson {
            path: path.clone(),
            line,
            source,
        })?;
        let shape = |message| AuditError::Shape { path: path.clone(), place: format!("line {line}"), message };
        let ids = ids_of(&value).map_err(shape)?;
        let found = ids.iter().find_map(|id| samples.find(id).transpose());
        let Some((at, sample)) = found.transpose().map_err(AuditError::Scratch)? else {
            return Err(AuditError::UnknownTask { path: path.clone(), line, id: excerpt(ids[0], 80) });
        };
        let trace = Trace::of(&value).map_err(shape)?;
        Ok(look_through(lens, at, &sample, line, &trace))
    };
    let found = &mut inputs.found;
    let take = |looked| found.take(looked, sights).map_err(AuditError::Scratch);
    let walked = walk(file, longest, options.workers, look, take);
    let (digest, bytes) = walked.map_err(|stopped| stopped_at(&path, stopped))?;
    let name = if lens.origin == Origin::Own { names::TRAJECTORIES } else { "trajectories" };
    inputs.note_file(name, &digest, bytes);
    Ok(bytes)
}

/// A moment is written as RFC 3339 has it, so that reports can be compared as texts.
fn check_moment(options: &Options) -> Result<(), AuditError> {
    let Some(text) = &options.audited_at else { return Ok(()) };
    if is_moment(text) { Ok(()) } else { Err(AuditError::Moment { text: excerpt(text, 60) }) }
}

/// Whether a text is a moment of RFC 3339: `2026-07-03T00:00:00Z`, with a fraction or an offset.
fn is_moment(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = |at: usize| match at {
        4 | 7 => bytes[at] == b'-',
        10 => matches!(bytes[at], b'T' | b't' | b' '),
        13 | 16 => bytes[at] == b':',
        _ => bytes[at].is_ascii_digit(),
    };
    if bytes.len() < 20 || !(0..19).all(shape) {
        return false;
    }
    let number = |from: usize| text.get(from..from + 2).and_then(|digits| digits.parse::<u8>().ok()).unwrap_or(99);
    if !(1..=12).contains(&number(5))
        || !(1..=31).contains(&number(8))
        || number(11) > 23
        || number(14) > 59
        || number(17) > 60
    {
        return false;
    }
    let rest = &text[19..];
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || digits > 9 {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    match rest.as_bytes() {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].into_iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_what_rfc_3339_says() {
        for text in ["2026-07-03T00:00:00Z", "2026-07-03T23:59:60.123Z", "2026-07-03 10:00:00+02:00"] {
            assert!(is_moment(text), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-07-03",
            "2026-13-03T00:00:00Z",
            "2026-07-03T00:00:00",
            "2026-07-03T00:00:00.Z",
            "2026-07-03T24:00:00Zé",
        ] {
            assert!(!is_moment(text), "{text}");
        }
    }
}
