//! What follows from all records together: trajectories, counts, the summary.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::record::Status;
use proofmark_artefact::stats::{Aggregator, Facts, Shape};
use proofmark_artefact::store::{LineError, Lines, MAX_JSON, OpenError, RunDir, names, read_bounded};
use proofmark_artefact::text::excerpt;
use proofmark_canon::{Value, json};

use super::again::Again;
use super::differ::differences;
use super::finding::{Finding, FindingKind, Findings};
use super::{Options, RescoreError};
use crate::collect::Finished;
use crate::publish::{draft_manifest, encode, fill_in};
use crate::ready::Ready;

/// The most differences of one file that are told.
const MOST_DIFFERENCES: usize = 20;

pub(super) struct Totals {
    aggregator: Aggregator,
    /// The records were not in order, so that the summary cannot be made.
    is_broken: bool,
    done: u64,
    status_counts: BTreeMap<Status, u64>,
    conditions_scored: Vec<bool>,
    trajectories: Option<Trajectories>,
    /// Samples whose scoring program failed, and the first of them.
    program_failed: u64,
    first_failed: Option<(String, String)>,
}

struct Trajectories {
    lines: Lines,
    path: PathBuf,
}

impl Totals {
    pub(super) fn new(ready: &Ready, dir: &RunDir) -> Result<Self, RescoreError> {
        let path = dir.file(names::TRAJECTORIES);
        // Whether it should be there is said with the manifest.
        let trajectories = match ready.plan.evidence.record && path.is_file() {
            true => Some(Trajectories { lines: dir.lines(names::TRAJECTORIES)?, path }),
            false => None,
        };
        Ok(Self {
            aggregator: Aggregator::new(Shape::of_plan(
                &ready.plan,
                ready.run_id,
                ready.prices.clone(),
                ready.judge_prices.clone(),
            )),
            is_broken: false,
            done: 0,
            status_counts: BTreeMap::new(),
            conditions_scored: vec![false; ready.plan.conditions.len()],
            trajectories,
            program_failed: 0,
            first_failed: None,
        })
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn count(&mut self, again: Again, findings: &mut Findings) -> Result<(), RescoreError> {
        again.findings.into_iter().for_each(|finding| findings.push(finding));
        if let Some(why) = again.program_failed {
            self.program_failed += 1;
            self.first_failed.get_or_insert((again.key.clone(), why));
        }
        self.done += 1;
        let Some(finished) = again.finished else {
            self.trajectories = None;
            return Ok(());
        };
        *self.status_counts.entry(finished.status).or_default() += 1;
        self.conditions_scored[finished.condition] |= !finished.verdicts.is_empty();
        let facts = Facts {
            task: finished.task,
            item: finished.item,
            model: finished.model,
            condition: finished.condition,
            usage: finished.usage,
            answered_by: finished.answered_by.as_deref(),
            scores: &finished.verdicts,
            unscored: finished.status == Status::Success && finished.verdicts.is_empty(),
        };
        self.is_broken |= self.aggregator.push(&facts).is_err();
        finished.judged.iter().for_each(|judged| self.aggregator.judged(judged));
        self.compare_trajectory(&finished, &again.key, findings)
    }

    /// Holds the next line of the trajectories against what the record gives.
    fn compare_trajectory(
        &mut self,
        finished: &Finished,
        key: &str,
        findings: &mut Findings,
    ) -> Result<(), RescoreError> {
        // One line an attempt.
        for expected in
            finished.lines.trajectory().into_iter().flat_map(|lines| lines.split_inclusive(|byte| *byte == b'\n'))
        {
            self.compare_line(expected, key, findings)?;
        }
        Ok(())
    }

    fn compare_line(&mut self, expected: &[u8], key: &str, findings: &mut Findings) -> Result<(), RescoreError> {
        let Some(Trajectories { lines, path }) = &mut self.trajectories else { return Ok(()) };
        let finding = |message: &str| Finding::new(FindingKind::Trajectory, names::TRAJECTORIES, message);
        let line = match lines.next_line() {
            Ok(line) => line,
            Err(LineError::TooLong { number, limit }) => {
                findings.push(finding(&format!("the line is longer than {limit} bytes")).at(number, Some(key)));
                return Ok(());
            }
            Err(source) => return Err(RescoreError::Line { path: path.clone(), source }),
        };
        let Some(line) = line else {
            findings
                .push(Finding { key: Some(key.to_owned()), ..finding("the file ends before the line of this sample") });
            self.trajectories = None;
            return Ok(());
        };
        if line.ended && expected.strip_suffix(b"\n") == Some(line.bytes) {
            return Ok(());
        }
        let number = line.number;
        let Ok(recorded) = json::parse(line.bytes) else {
            findings.push(finding("the line is not JSON").at(number, Some(key)));
            return Ok(());
        };
        if recorded.get("key").and_then(Value::as_str) != Some(key) {
            findings
                .push(finding("the line belongs to another sample; no later line was compared").at(number, Some(key)));
            self.trajectories = None;
            return Ok(());
        }
        let computed = json::parse(expected).unwrap_or(Value::Null);
        let found = differences(&recorded, &computed, MOST_DIFFERENCES);
        if found.is_empty() {
            findings.push(
                finding("the line has the right content in another form than canonical JSON").at(number, Some(key)),
            );
        }
        for one in found {
            findings.push(Finding {
                field: Some(one.path),
                recorded: Some(one.recorded),
                computed: Some(one.computed),
                ..finding("the record gives something else").at(number, Some(key))
            });
        }
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        ready: &Arc<Ready>,
        dir: &RunDir,
        options: Options,
        findings: &mut Findings,
        not_rerun: &mut Vec<String>,
    ) -> Result<(), RescoreError> {
        if let Some(Trajectories { lines, path }) = &mut self.trajectories {
            match lines.next_line() {
                Ok(None) => {}
                Ok(Some(_)) | Err(LineError::TooLong { .. }) => {
                    let message = "the file goes on after the last sample";
                    findings.push(Finding::new(FindingKind::Trajectory, names::TRAJECTORIES, message));
                }
                Err(source) => return Err(RescoreError::Line { path: path.clone(), source }),
            }
        }
        self.check_manifest(ready, dir.manifest(), findings, not_rerun)?;
        if ready.plan.evidence.record && self.trajectories.is_none() {
            not_rerun.push("trajectories.jsonl: it is not there, or not in step with the records".to_owned());
        }
        for task in ready.plan.tasks.iter().zip(&ready.scorers) {
            let programs = task.1.iter().filter(|scorer| scorer.is_program() && !options.run_commands);
            not_rerun.extend(programs.map(|scorer| {
                format!("scorer `{}` of task `{}`: it runs a program, which was not started", scorer.name(), task.0.id)
            }));
        }
        if let Some((key, why)) = &self.first_failed {
            not_rerun.push(format!(
                "the programs that score {} of the samples: {why} (`{key}` first); their recorded verdicts were used",
                self.program_failed
            ));
        }
        if self.is_broken {
            not_rerun.push("summary.json: the records are not in order, so that it could not be made again".to_owned());
            return Ok(());
        }
        self.check_summary(dir, findings)
    }

    fn check_manifest(
        &self,
        ready: &Ready,
        recorded: &Manifest,
        findings: &mut Findings,
        not_rerun: &mut Vec<String>,
    ) -> Result<(), RescoreError> {
        let platform = recorded.platform.clone();
        let nowhere = proofmark_artefact::manifest::Platform { arch: String::new(), os: String::new() };
        let mut made = draft_manifest(ready, &recorded.harness.version, platform.as_ref().unwrap_or(&nowhere));
        fill_in(&mut made, self.done, &self.status_counts, &self.conditions_scored);
        // What is of the version and the machine, and the digests, which are another check's.
        made.artifacts.clone_from(&recorded.artifacts);
        if made.unicode_version != recorded.unicode_version {
            let (ours, theirs) = (&made.unicode_version, excerpt(&recorded.unicode_version, 80));
            not_rerun.push(format!(
                "the run was made with Unicode {theirs}: with {ours}, case and accents may go otherwise"
            ));
            made.unicode_version.clone_from(&recorded.unicode_version);
        }
        if !ready.plan.determinism.deterministic_artifacts {
            made.platform = platform;
        }
        for one in differences(&json::to_value(recorded)?, &json::to_value(&made)?, MOST_DIFFERENCES) {
            findings.push(Finding {
                field: Some(one.path),
                recorded: Some(one.recorded),
                computed: Some(one.computed),
                ..Finding::new(FindingKind::Manifest, names::MANIFEST, "the suite and the records give something else")
            });
        }
        Ok(())
    }

    fn check_summary(self, dir: &RunDir, findings: &mut Findings) -> Result<(), RescoreError> {
        let computed = encode(names::SUMMARY, &self.aggregator.finish())?;
        let finding = |message: &str| Finding::new(FindingKind::Summary, names::SUMMARY, message);
        let bytes = match read_bounded(&dir.file(names::SUMMARY), MAX_JSON) {
            Ok(bytes) => bytes,
            Err(OpenError::TooLarge { .. }) => {
                findings.push(finding("the file is larger than any summary"));
                return Ok(());
            }
            Err(OpenError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                findings.push(finding("the file is not there"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if bytes == computed {
            return Ok(());
        }
        let Ok(recorded) = json::parse(&bytes) else {
            findings.push(finding("the file is not JSON"));
            return Ok(());
        };
        let found = differences(&recorded, &json::parse(&computed).unwrap_or(Value::Null), MOST_DIFFERENCES);
        if found.is_empty() {
            findings.push(finding("the file has the right content in another form than canonical JSON and a line end"));
        }
        for one in found {
            findings.push(Finding {
                field: Some(one.path),
                recorded: Some(one.recorded),
                computed: Some(one.computed),
                ..finding("the records give something else")
            });
        }
        Ok(())
    }
}
