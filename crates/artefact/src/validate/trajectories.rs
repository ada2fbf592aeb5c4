//! Whether `trajectories.jsonl` tells the same story as `records.jsonl`, line by line.

use std::path::Path;

use super::finding::{Findings, Place, quote};
use super::record::{Line, check_form, report_too_long};
use super::{ValidateError, codes, files, io_error};
use crate::manifest::Manifest;
use crate::record::{Record, Role};
use crate::store::names::{RECORDS, TRAJECTORIES};
use crate::store::{LineError, Lines};
use crate::suite::solver::Protocol;
use crate::trajectory::{PromptRole, Step, Trajectory};

pub(super) fn check_trajectories(
    dir: &Path,
    manifest: &Manifest,
    longest_line: usize,
    findings: &mut Findings,
) -> Result<(), ValidateError> {
    let place = Place::file(TRAJECTORIES);
    let (path, records) = (dir.join(TRAJECTORIES), dir.join(RECORDS));
    let is_file = files::kind_of(&path)? == files::Kind::File;
    if manifest.evidence.recorded != manifest.artifacts.contains_key(TRAJECTORIES) {
        let (recorded, listed) = if manifest.evidence.recorded { ("on", "does not list") } else { ("off", "lists") };
        findings.push(codes::EVIDENCE, place, || {
            format!("evidence.recorded is {recorded}, but the manifest {listed} the file")
        });
    }
    if !is_file {
        return Ok(());
    }
    // Without records there is nothing to compare with, but lines still have a form.
    let mut records = match files::kind_of(&records)? {
        files::Kind::File => Some(Lines::open(&records, longest_line).map_err(io_error(&records))?),
        _ => None,
    };
    let mut lines = Lines::open(&path, longest_line).map_err(io_error(&path))?;
    let mut count = 0;
    // The record whose attempts are being read, and what was seen of them.
    let mut voted: Option<Attempts> = None;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(LineError::TooLong { number, limit }) => {
                report_too_long(TRAJECTORIES, number, limit, findings);
                return Ok(());
            }
            Err(LineError::Io { source, .. }) => return Err(io_error(&path)(source)),
        };
        count = line.number;
        let line = Line { number: line.number, bytes: line.bytes, ended: line.ended };
        let trajectory = check_form::<Trajectory>(TRAJECTORIES, line, longest_line, findings);
        if let Some(trajectory) = &trajectory {
            check_complete(line, trajectory, findings);
        }
        let Some(reader) = &mut records else { continue };
        if let Some(mut attempts) = voted.take() {
            if let Some(trajectory) = trajectory {
                let place = Place::line(TRAJECTORIES, line.number).with_key(trajectory.key.as_str());
                if !attempts.take(manifest, place, &trajectory, findings) {
                    records = None;
                    continue;
                }
            }
            voted = attempts.goes_on();
            continue;
        }
        // What cannot be read in the records was reported there; here it ends the comparison.
        let Ok(Some(record)) = reader.next_line() else {
            findings.push(codes::TRAJECTORY_KEY, Place::line(TRAJECTORIES, line.number), || {
                format!("there is no record for this line; expected as many lines as `{RECORDS}` has")
            });
            records = None;
            continue;
        };
        let (Some(trajectory), Ok(record)) = (trajectory, serde_json::from_slice::<Record>(record.bytes)) else {
            continue;
        };
        if trajectory.key != record.key {
            findings.push(
                codes::TRAJECTORY_KEY,
                Place::line(TRAJECTORIES, line.number).with_key(trajectory.key.as_str()),
                || format!("the record in this place is {}; no later line was compared", quote(record.key.as_str())),
            );
            records = None;
            continue;
        }
        match Attempts::of(&record) {
            Some(mut attempts) => {
                let place = Place::line(TRAJECTORIES, line.number).with_key(trajectory.key.as_str());
                attempts.take(manifest, place, &trajectory, findings);
                voted = attempts.goes_on();
            }
            None => check_trajectory(line.number, manifest, &trajectory, &record, findings),
        }
    }
    if let Some(attempts) = voted {
        findings.push(codes::TRAJECTORY_KEY, place, || {
            let key = quote(attempts.record.key.as_str());
            format!("the file ends after {} of {} attempts at {key}", attempts.seen, attempts.count)
        });
        return Ok(());
    }
    if let Some(reader) = &mut records
        && let Ok(Some(_)) = reader.next_line()
    {
        findings.push(codes::TRAJECTORY_KEY, place, || {
            format!("the file ends after {count} lines, but `{RECORDS}` goes on")
        });
    }
    Ok(())
}

/// The attempts at a sample whose answers were voted on.
struct Attempts {
    record: Record,
    seen: u32,
    count: u32,
    turns: u64,
    tokens: (u64, u64),
}

impl Attempts {
    /// `None` for a sample with one attempt.
    fn of(record: &Record) -> Option<Self> {
        let count = record.voting.as_ref()?.answers.len() as u32;
        (count > 0).then(|| Self { record: record.clone(), seen: 0, count, turns: 0, tokens: (0, 0) })
    }

    /// Compares one attempt with the record. False when the line belongs to something else.
    fn take(
        &mut self,
        manifest: &Manifest,
        place: Place<'_>,
        trajectory: &Trajectory,
        findings: &mut Findings,
    ) -> bool {
        if trajectory.key != self.record.key || trajectory.attempt != Some(self.seen) {
            findings.push(codes::TRAJECTORY_KEY, place, || {
                let key = quote(self.record.key.as_str());
                format!("expected attempt {} of {} at {key}; no later line was compared", self.seen, self.count)
            });
            return false;
        }
        check_identity(place, manifest, trajectory, &self.record, findings);
        let answers = self.record.voting.as_ref().map(|voting| &voting.answers);
        let answer = answers.and_then(|answers| answers.get(self.seen as usize)).and_then(Option::as_deref);
        if trajectory.final_answer.as_deref() != answer {
            findings.push(codes::FINAL_ANSWER, place, || {
                let show = |text: Option<&str>| text.map_or("null".to_owned(), quote);
                let found = show(trajectory.final_answer.as_deref());
                format!("final_answer is {found}, but the record says that this attempt answered {}", show(answer))
            });
        }
        check_prompts(place, manifest, trajectory, &self.record, findings);
        self.seen += 1;
        self.turns += u64::from(trajectory.turns);
        self.tokens.0 += trajectory.usage.input_tokens;
        self.tokens.1 += trajectory.usage.output_tokens;
        let usage = &self.record.usage;
        let is_sum =
            self.turns == u64::from(self.record.turns) && self.tokens == (usage.input_tokens, usage.output_tokens);
        if self.seen == self.count && !is_sum {
            findings.push(codes::TRAJECTORY_FIELDS, place, || {
                format!(
                    "the attempts have {} turns, {} and {} tokens, but the record has {}, {} and {}",
                    self.turns,
                    self.tokens.0,
                    self.tokens.1,
                    self.record.turns,
                    usage.input_tokens,
                    usage.output_tokens
                )
            });
        }
        true
    }

    fn goes_on(self) -> Option<Self> {
        (self.seen < self.count).then_some(self)
    }
}

/// Only a field that may be null can be missing without an error; writing it back shows it.
fn check_complete(line: Line<'_>, trajectory: &Trajectory, findings: &mut Findings) {
    let missing = |bytes: Vec<u8>| bytes.len() > line.bytes.len();
    if proofmark_canon::to_vec(trajectory).is_ok_and(missing) {
        let place = Place::line(TRAJECTORIES, line.number).with_key(trajectory.key.as_str());
        findings.push(codes::LINE_SHAPE, place, || {
            "a field that may be null is missing; expected every field of the schema".to_owned()
        });
    }
}

fn check_trajectory(line: u64, manifest: &Manifest, trajectory: &Trajectory, record: &Record, findings: &mut Findings) {
    let place = Place::line(TRAJECTORIES, line).with_key(trajectory.key.as_str());
    check_identity(place, manifest, trajectory, record, findings);
    let mut differs = |field: &str, found: String, expected: String| {
        if found != expected {
            findings
                .push(codes::TRAJECTORY_FIELDS, place, || format!("{field} is {found}, but the record has {expected}"));
        }
    };
    differs("turns", trajectory.turns.to_string(), record.turns.to_string());
    let tokens = |usage: &crate::record::Usage| format!("{} and {} tokens", usage.input_tokens, usage.output_tokens);
    differs("usage", tokens(&trajectory.usage), tokens(&record.usage));
    if trajectory.stop.is_some() {
        let calls = trajectory.steps.iter().filter(|step| matches!(step, Step::ToolCall { .. })).count();
        differs("the number of tool calls", calls.to_string(), record.tool_calls.to_string());
    }
    let output = record.output.as_ref().map(|output| output.text.as_str());
    // An agent without an answer leaves an empty output, and a reason.
    let output = output.filter(|text| trajectory.no_answer.is_none() || !text.is_empty());
    if trajectory.final_answer.as_deref() != output {
        findings.push(codes::FINAL_ANSWER, place, || {
            let show = |text: Option<&str>| text.map_or("null".to_owned(), quote);
            format!(
                "final_answer is {}, but the record's output is {}",
                show(trajectory.final_answer.as_deref()),
                show(output)
            )
        });
    }
    check_prompts(place, manifest, trajectory, record, findings);
    if trajectory.stop.is_none() {
        check_output(place, trajectory, record, findings);
    }
}

fn check_identity(
    place: Place<'_>,
    manifest: &Manifest,
    trajectory: &Trajectory,
    record: &Record,
    findings: &mut Findings,
) {
    if trajectory.run_id != manifest.run_id {
        findings.push(codes::RUN_ID, place, || {
            format!("run_id is `{}`, but the manifest says `{}`", trajectory.run_id, manifest.run_id)
        });
    }
    for (field, found, expected) in
        [("model", &trajectory.model, &record.model), ("task_id", &trajectory.task_id, &record.task)]
    {
        if found != expected {
            findings.push(codes::TRAJECTORY_FIELDS, place, || {
                format!("{field} is {}, but the record has {}", quote(found), quote(expected))
            });
        }
    }
}

fn check_prompts(
    place: Place<'_>,
    manifest: &Manifest,
    trajectory: &Trajectory,
    record: &Record,
    findings: &mut Findings,
) {
    let messages = &record.input.messages;
    // The text protocol explains itself behind the suite's own system prompts. The record does not hold that.
    let systems = messages.iter().take_while(|message| message.role == Role::System).count();
    let task = manifest.tasks.iter().find(|task| task.id == record.task);
    let is_text = task.and_then(|task| task.agent.as_ref()).is_some_and(|agent| agent.protocol == Protocol::Text);
    let explains = is_text
        && matches!(trajectory.steps.get(systems), Some(Step::Prompt { role, .. }) if *role == PromptRole::System);
    for (at, message) in messages.iter().enumerate() {
        let at = at + usize::from(explains && at >= systems);
        let expected = Step::prompt(message.role, &message.content);
        if trajectory.steps.get(at) != Some(&expected) {
            findings.push(codes::PROMPT_STEP, place, || {
                format!("step {at} is {}, expected {}", name(trajectory.steps.get(at)), name(Some(&expected)))
            });
            break;
        }
    }
}

fn check_output(place: Place<'_>, trajectory: &Trajectory, record: &Record, findings: &mut Findings) {
    let Some(output) = &record.output else { return };
    let expected = Step::model_output(&output.text, None);
    let last = trajectory.steps.iter().rev().find(|step| matches!(step, Step::ModelOutput { .. }));
    if last != Some(&expected) {
        findings.push(codes::OUTPUT_STEP, place, || {
            format!("the last model output is {}, expected {}", name(last), name(Some(&expected)))
        });
    }
}

/// A step in a few words.
fn name(step: Option<&Step>) -> String {
    match step {
        None => "missing".to_owned(),
        Some(Step::Prompt { bytes, content_sha256, head, role }) => {
            format!("a {} prompt of {bytes} bytes, {content_sha256}, {}", role.as_str(), quote(head))
        }
        Some(Step::ModelOutput { bytes, content_sha256, head, .. }) => {
            format!("an output of {bytes} bytes, {content_sha256}, {}", quote(head))
        }
        Some(Step::ToolCall { name, .. }) => format!("a call of {}", quote(name)),
        Some(Step::ToolResult { name, .. }) => format!("a result of {}", quote(name)),
    }
}
