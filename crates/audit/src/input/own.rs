//! A run directory of ours.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;

use proofmark_artefact::audit::{Authority, Evidence};
use proofmark_artefact::manifest::{DatasetEntry, Manifest};
use proofmark_artefact::record::{Record, Role, Status};
use proofmark_artefact::store::{MAX_LINE, RunDir, digest_file, names};
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::load::SuiteFile;
use proofmark_artefact::suite::plan::{DatasetPlan, Plan};
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::suite::solver::SandboxKind;
use proofmark_artefact::text::excerpt;
use proofmark_artefact::trajectory::head;
use proofmark_artefact::witness::place::CUT;
use proofmark_artefact::witness::{Block, Sidecar};
use proofmark_canon::{Digest, Value, json};

use super::Inputs;
use super::frame::{Prompts, tail};
use super::telemetry::load_requests;
use crate::error::AuditError;
use crate::look::{Marks, Place};
use crate::policy::Policy;
use crate::rule::Rule;
use crate::sample::{Disclosure, Facts, Mark, Origin, Sample, TaskFacts};
use crate::samples::Samples;
use crate::seen::{Found, Lens, look_at_frame, look_at_prompt};
use crate::shelf::Filling;
use crate::walk::{Stopped, walk};

/// How much of a question is kept: enough to know its text again elsewhere.
const QUESTION: usize = 16 * 1024;

/// The names of the datasets of a run, by which a leak is told.
pub fn marks_of(manifest: &Manifest) -> Marks {
    let is_gaia = |entry: &DatasetEntry| entry.format == Format::Gaia.as_str();
    let mut marks = if manifest.datasets.iter().any(is_gaia) { Marks::gaia() } else { Marks::none() };
    for entry in &manifest.datasets {
        marks = marks.merge(&Marks::of_dataset(entry.repo.as_deref(), entry.path.as_deref(), Some(entry.digest)));
    }
    marks
}

/// What agents of a run were told of their tools.
pub fn tools_of(manifest: &Manifest) -> Vec<(String, String)> {
    let tools = manifest.tasks.iter().filter_map(|task| task.agent.as_ref()).flat_map(|agent| &agent.tools);
    let mut all: Vec<(String, String)> = tools
        .map(|tool| (tool.name.clone(), format!("{}\n{}", tool.description, Value::from(tool.parameters.clone()))))
        .collect();
    all.dedup();
    all
}

/// Where a run was made and where its verdicts are kept, as far as its files say it: never where it is now, as a report is the
/// same wherever it is made.
pub fn places_of(dir: &RunDir) -> Vec<(Place, String)> {
    let manifest = dir.manifest();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = manifest.name.chars().take(60).map(safe).collect();
    // Where a run goes when nobody says where.
    let mut places = vec![(Place::RunDirectory, format!("runs/{name}-{}", &manifest.run_id.to_string()[..12]))];
    let argv = witness_of(dir).map(|block| block.argv).unwrap_or_default();
    for (at, word) in argv.iter().enumerate() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word.as_str(), argv.get(at + 1).map(String::as_str)),
        };
        let place = match option {
            "--run-dir" => Place::RunDirectory,
            "--judge-cache" => Place::JudgeCache,
            _ => continue,
        };
        // Of a path outside of the root only the end is recorded.
        let path = value.map(|value| value.rsplit(CUT).next().unwrap_or_default().trim_start_matches('/').to_owned());
        places.extend(path.filter(|path| !path.is_empty()).map(|path| (place, path)));
    }
    places
}

/// Reads a run: its records, its suite, its witness and its telemetry.
pub fn load_run(dir: &RunDir, lens: &Lens<'_>, workers: NonZeroUsize) -> Result<Inputs, AuditError> {
    let plan = plan_of(dir)?;
    let tasks: HashMap<&str, usize> = plan.tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let rules: Vec<Rule> = plan.tasks.iter().map(|task| Rule::of_plans(&task.scorers, dir.path())).collect();
    let path = dir.file(names::RECORDS);
    let file = File::open(&path).map_err(|source| AuditError::Io { path: path.clone(), source })?;
    let look = |number: u64, line: &[u8]| -> Result<Read, AuditError> {
        let shape =
            |message: String| AuditError::Shape { path: path.clone(), place: format!("line {number}"), message };
        let value =
            json::parse(line).map_err(|source| AuditError::NotJson { path: path.clone(), line: number, source })?;
        let record: Record = json::from_value(&value).map_err(|error| shape(error.to_string()))?;
        let task =
            *tasks.get(record.task.as_str()).ok_or_else(|| shape("a record of no task of the run".to_owned()))?;
        let question = asked(&record);
        let mut sample = sample_of(&record, &question, task, &rules[task], number);
        // Those that the run does not have are one: whoever validates the records finds them.
        let mut conditions = plan.conditions.iter();
        sample.condition =
            conditions.position(|condition| condition.id == record.condition).unwrap_or(plan.conditions.len());
        let oracles = look_at_messages(lens, &sample, &record, number);
        Ok(Read { sample, oracles, tail: tail(&question).to_owned() })
    };
    let (mut filling, mut found, mut prompts) = (Filling::default(), Found::default(), Prompts::default());
    let walked = walk(file, MAX_LINE, workers, look, |read: Read| {
        let sample = &read.sample;
        prompts.take(sample.task, sample.condition, &sample.question, &read.tail);
        found.oracles.extend(read.oracles);
        // A key that stands twice is found by whoever validates the records; the first one keeps its trajectories.
        filling.push(&sample.id, sample).map_err(AuditError::Scratch)
    });
    let (digest, bytes) = walked.map_err(|stopped| stopped_at(&path, stopped))?;
    if filling.is_empty() {
        return Err(AuditError::Nothing { path });
    }
    let samples = Samples::new(filling, None).map_err(AuditError::Scratch)?;
    look_at_frames(lens, &plan, &samples, prompts, &mut found).map_err(AuditError::Scratch)?;
    let mut inputs = Inputs {
        samples,
        latencies: None,
        facts: facts(dir, &plan),
        rules,
        policy: plan.audit.as_ref().map(|audit| Policy::of_config(audit, Authority::Suite)).unwrap_or_default(),
        trajectories: Some(dir.file(names::TRAJECTORIES)).filter(|path| path.is_file()),
        files: BTreeMap::new(),
        found,
    };
    inputs.note_file(names::RECORDS, &digest, bytes);
    for name in [names::MANIFEST, names::CONFIG, names::SUMMARY, names::REPLAY] {
        let path = dir.file(name);
        if path.is_file() {
            let (digest, bytes) = digest_file(&path).map_err(|source| AuditError::Io { path, source })?;
            inputs.note_file(name, &digest, bytes);
        }
    }
    load_requests(dir, &mut inputs)?;
    Ok(inputs)
}

/// The gold answer in the words that all prompts of a task have in common.
fn look_at_frames(
    lens: &Lens<'_>,
    plan: &Plan,
    samples: &Samples,
    prompts: Prompts,
    found: &mut Found,
) -> io::Result<()> {
    let frames = prompts.frames();
    if frames.is_empty() {
        return Ok(());
    }
    for sample in samples.walk() {
        let (_, sample) = sample?;
        let Some(frame) = frames.get(&(sample.task, sample.condition)) else { continue };
        let Some(apart) = frame.told_apart(&sample) else { continue };
        let place =
            format!("the prompt of task `{}`, {} line {}", plan.tasks[sample.task].id, names::RECORDS, sample.number);
        found.oracles.extend(look_at_frame(lens, &apart, &frame.texts, &place));
    }
    Ok(())
}

/// One record.
struct Read {
    sample: Sample,
    /// What was found around its question.
    oracles: Vec<Evidence>,
    /// The end of its prompt.
    tail: String,
}

/// Turns what stopped a walk to an error that names the file.
pub(crate) fn stopped_at(path: &std::path::Path, stopped: Stopped<AuditError>) -> AuditError {
    let path = path.to_owned();
    match stopped {
        Stopped::Line(source) => AuditError::Line { path, source },
        Stopped::Io(source) => AuditError::Io { path, source },
        Stopped::Look(error) => error,
        Stopped::Panicked => AuditError::Panicked,
    }
}

fn plan_of(dir: &RunDir) -> Result<Plan, AuditError> {
    let suite = SuiteFile::read(&dir.file(names::CONFIG)).and_then(|file| file.resolve(&Overrides::default()));
    suite.map_err(|error| AuditError::Suite { message: excerpt(&error.to_string(), 400) })
}

/// What a run says of itself, without its request ids, of which there may be millions.
pub(super) fn witness_of(dir: &RunDir) -> Option<Block> {
    let value = Sidecar::read(&dir.file(names::REPLAY)).ok()?.parse().ok()?;
    json::from_value(&value).ok()
}

fn facts(dir: &RunDir, plan: &Plan) -> Facts {
    let manifest = dir.manifest();
    let witness = witness_of(dir);
    let is_live = manifest.models.iter().any(|model| model.provider != "offline");
    Facts {
        origin: Origin::Own,
        results_name: names::RECORDS,
        trajectories_name: names::TRAJECTORIES,
        voting: Disclosure::Given(manifest.sampling.voting_attempts.unwrap_or(1).into()),
        tasks: plan.tasks.iter().map(|task| task_facts(&task.id, &task.dataset, manifest)).collect(),
        tools: tools_of(manifest),
        integrity_events: witness.map(|block| block.judge_cache_integrity_events),
        has_trajectories: manifest.evidence.recorded,
        is_stochastic: is_live && manifest.sampling.n > 1 && manifest.sampling.temperature.is_none_or(|t| t > 0.0),
        models: manifest.models.clone(),
        ..Facts::default()
    }
}

fn task_facts(id: &str, plan: &DatasetPlan, manifest: &Manifest) -> TaskFacts {
    let entry = manifest.datasets.iter().find(|entry| entry.task == id);
    let is_of_hub = entry.is_some_and(|entry| entry.repo.is_some());
    let split = entry.and_then(|entry| entry.split.clone());
    TaskFacts {
        id: id.to_owned(),
        split: split.map_or(Disclosure::Missing, Disclosure::Given),
        revision: entry.and_then(|entry| entry.revision.clone()),
        // Of a dataset of the hub the digest is that of a list of files; nobody has a file of that digest.
        digest: entry.filter(|_| !is_of_hub).map(|entry| entry.digest),
        repo: entry.and_then(|entry| entry.repo.clone()),
        path: entry.and_then(|entry| entry.path.clone()),
        // A local file is what its digest says; it has no splits unless its format does.
        needs_split: is_of_hub || plan.format == Format::Gaia,
        needs_revision: is_of_hub,
        held_out: None,
        level: None,
        is_part: plan.limit.is_some() || !plan.level.is_empty(),
        unconfined: unconfined(id, manifest),
    }
}

/// The tools of a task whose programs nothing confined.
fn unconfined(id: &str, manifest: &Manifest) -> Vec<String> {
    let task = manifest.tasks.iter().find(|task| task.id == id);
    let tools = task.and_then(|task| task.agent.as_ref()).into_iter().flat_map(|agent| &agent.tools);
    tools.filter(|tool| tool.sandbox == Some(SandboxKind::None)).map(|tool| tool.name.clone()).collect()
}

/// What the user said.
fn asked(record: &Record) -> String {
    let users = record.input.messages.iter().filter(|message| message.role == Role::User);
    users.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
}

fn sample_of(record: &Record, question: &str, task: usize, rule: &Rule, number: u64) -> Sample {
    let answer = record.output.as_ref().map(|output| output.answer().into_owned());
    let mut sample = Sample {
        id: record.key.to_string(),
        item: record.item_id.clone(),
        task,
        question: head(question, QUESTION).to_owned(),
        gold: record.expected.clone(),
        mark: mark_of(record),
        model: record.model.clone(),
        turns: Some(record.turns.into()),
        input_tokens: Some(record.usage.input_tokens),
        output_tokens: Some(record.usage.output_tokens),
        attempts: record.voting.as_ref().map(|voting| voting.answers.len() as u64),
        number,
        looked: record.input.messages.iter().map(|message| Digest::of(message.content.as_bytes())).collect(),
        ..Sample::default()
    };
    let has_images = record.output.as_ref().is_some_and(|output| !output.images.is_empty());
    if has_images {
        sample.unscorable = Some("the answer is a picture".to_owned());
    } else if let Some(answer) = answer.as_deref().filter(|_| !record.scores.is_empty()) {
        sample.other_verdict = other_verdict(record, rule, &sample, answer);
    }
    sample.answer = answer;
    sample
}

fn mark_of(record: &Record) -> Mark {
    match record.scores.first() {
        Some(score) if score.passed => Mark::Correct,
        None if record.status == Status::Success && record.expected.is_null() => Mark::Missing,
        _ => Mark::Wrong,
    }
}

/// The first recorded verdict that is not what its scorer gives.
#[expect(clippy::float_cmp, reason = "the same scorer gives the same number for the same answer")]
fn other_verdict(record: &Record, rule: &Rule, sample: &Sample, answer: &str) -> Option<String> {
    let again = rule.verdicts(sample, answer);
    let pairs = record.scores.iter().zip(again).filter_map(|(score, again)| Some((score, again.ok()?)));
    let mut others = pairs.filter(|(score, again)| score.passed != again.passed || score.value != again.value);
    let (score, again) = others.next()?;
    let said = |passed: bool, value: f64| format!("{} with {value}", if passed { "passed" } else { "failed" });
    Some(format!(
        "scorer `{}`: recorded is {}, scored again it is {}",
        excerpt(&score.scorer, 60),
        said(score.passed, score.value),
        said(again.passed, again.value)
    ))
}

/// The gold answer in messages that stand around the question: they are here whole.
fn look_at_messages(lens: &Lens<'_>, sample: &Sample, record: &Record, number: u64) -> Vec<Evidence> {
    let others = record.input.messages.iter().filter(|message| message.role != Role::User);
    let texts: Vec<&str> = others.map(|message| message.content.as_str()).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let place = format!("{} line {number}", names::RECORDS);
    look_at_prompt(lens, sample, &texts, &place)
}
