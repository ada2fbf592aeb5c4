//! Whether `trajectories.jsonl` tells the same story as `records.jsonl`, line by line.

use std::path::Path;

use super::finding::{Findings, Place, quote};
use super::record::{Line, check_form, report_too_long};
use super::{ValidateError, codes, files, io_error};
use crate::manifest::Manifest;
use crate::record::Record;
use crate::store::names::{RECORDS, TRAJECTORIES};
use crate::store::{LineError, Lines};
use crate::trajectory::{Step, Trajectory};

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
        check_trajectory(line.number, manifest, &trajectory, &record, findings);
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
    if trajectory.run_id != manifest.run_id {
        findings.push(codes::RUN_ID, place, || {
            format!("run_id is `{}`, but the manifest says `{}`", trajectory.run_id, manifest.run_id)
        });
    }
    let mut differs = |field: &str, found: String, expected: String| {
        if found != expected {
            findings
                .push(codes::TRAJECTORY_FIELDS, place, || format!("{field} is {found}, but the record has {expected}"));
        }
    };
    differs("model", quote(&trajectory.model), quote(&record.model));
    differs("task_id", quote(&trajectory.task_id), quote(&record.task));
    differs("turns", trajectory.turns.to_string(), record.turns.to_string());
    let tokens = |usage: &crate::record::Usage| format!("{} and {} tokens", usage.input_tokens, usage.output_tokens);
    differs("usage", tokens(&trajectory.usage), tokens(&record.usage));
    let output = record.output.as_ref().map(|output| output.text.as_str());
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
    check_steps(place, trajectory, record, findings);
}

fn check_steps(place: Place<'_>, trajectory: &Trajectory, record: &Record, findings: &mut Findings) {
    for (at, message) in record.input.messages.iter().enumerate() {
        let expected = Step::prompt(message.role, &message.content);
        if trajectory.steps.get(at) != Some(&expected) {
            findings.push(codes::PROMPT_STEP, place, || {
                format!("step {at} is {}, expected {}", name(trajectory.steps.get(at)), name(Some(&expected)))
            });
            break;
        }
    }
    let Some(output) = &record.output else { return };
    let expected = Step::model_output(&output.text);
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
        Some(Step::ModelOutput { bytes, content_sha256, head }) => {
            format!("an output of {bytes} bytes, {content_sha256}, {}", quote(head))
        }
        Some(Step::ToolCall { name, .. }) => format!("a call of {}", quote(name)),
        Some(Step::ToolResult { name, .. }) => format!("a result of {}", quote(name)),
    }
}
