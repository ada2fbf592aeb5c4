//! From an answer to a finished record.

use std::path::Path;

use proofmark_artefact::record::{
    InputRef, Output, RECORD_SCHEMA, Record, RecordRef, SCORER_ERROR, SampleError, Score, Status, output_fingerprint,
};
use proofmark_artefact::stats::Verdict;
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::gaia;
use proofmark_artefact::trajectory::{SingleRef, StepRef, Trajectory};
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, RunId, SampleKey};
use proofmark_model::{Reply, Request};

use crate::agent::Earned;
use crate::collect::Finished;
use crate::ready::Ready;
use crate::scorer::{Answer, AnswerImage, ScoreError};
use crate::source::Unit;

/// A sample has no canonical record.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the record of `{key}`")]
pub struct RecordError {
    key: String,
    source: EncodeError,
}

/// Where an answer's pictures are, and who judges it.
#[derive(Clone, Copy)]
pub(crate) struct Scoring<'a> {
    pub(crate) run_dir: &'a Path,
    pub(crate) programs: Programs<'a>,
}

/// What becomes of scorers that start a program.
#[derive(Clone, Copy)]
pub(crate) enum Programs<'a> {
    Run,
    /// They are not started: what this record says of them stands.
    Recorded(&'a Record),
}

/// Scores a reply and encodes its record, and its trajectory when evidence is on.
pub(crate) async fn finish_sample(
    ready: &Ready,
    scoring: Scoring<'_>,
    unit: &Unit,
    key: SampleKey,
    request: &Request,
    fingerprint: Digest,
    came: Came,
) -> Result<Finished, RecordError> {
    let Came { reply, earned } = came;
    let (mut status, usage) = (reply.status(), reply.usage());
    let (output, finish_reason, mut error) = reply.into_parts();
    let mut scores = Vec::new();
    let mut program_failed = false;
    if let Some(output) = output.as_ref().filter(|_| !is_unscored(ready, unit)) {
        match score_all(ready, scoring, unit, &key, request, output).await {
            Ok(all) => scores = all,
            // An answer that could not be scored is not an answer that failed: it has no score at all.
            Err(failed) => {
                status = Status::Error;
                program_failed = failed.is_of_program;
                error = Some(failed.error);
            }
        }
    }
    let plan = &ready.plan;
    let (item, model) = (&unit.work.item, &plan.models[unit.model]);
    let task = &plan.tasks[unit.work.task].id;
    let encode = || -> Result<(Vec<u8>, Evidence), EncodeError> {
        let record = RecordRef {
            condition: &plan.conditions[unit.condition].id,
            error: error.as_ref(),
            expected: &item.expected,
            finish_reason: finish_reason.as_deref(),
            input: InputRef { fingerprint, messages: &request.messages },
            item_id: &item.id,
            key: &key,
            latency_ms: None,
            model: &model.id,
            ordinal: unit.ordinal,
            output: output.as_ref(),
            output_fingerprint: output_fingerprint(output.as_ref(), finish_reason.as_deref(), error.as_ref())?,
            provider: model.provider(),
            run_id: ready.run_id,
            sample: unit.sample,
            schema_version: RECORD_SCHEMA,
            scores: &scores,
            seed: request.seed,
            started_at: &ready.run_id.spine(unit.ordinal),
            status,
            task,
            tool_calls: match &earned {
                Some(earned) => earned.tool_calls(),
                None => output.as_ref().map_or(0, |output| output.tool_calls.len() as u32),
            },
            turns: earned.as_ref().map_or_else(|| u32::from(output.is_some()), Earned::turns),
            usage,
            voting: earned.as_ref().and_then(|earned| earned.voting.as_ref()),
        };
        let mut line = Vec::with_capacity(1024);
        json::to_writer(&record, &mut line)?;
        line.push(b'\n');
        if !plan.evidence.record {
            return Ok((line, None));
        }
        if let Some(earned) = &earned {
            let of = TrajectoryOf { key: &key, model: &model.id, run_id: ready.run_id, task };
            return Ok((line, Some(of.lines(earned).map_err(|error| error.to_string()))));
        }
        let prompts = request.messages.iter().map(|message| StepRef::prompt(message.role, &message.content));
        let single = SingleRef {
            final_answer: output.as_ref().map(|output| output.text.as_str()),
            key: &key,
            model: &model.id,
            run_id: ready.run_id,
            steps: prompts.chain(output.as_ref().map(|output| StepRef::model_output(&output.text))).collect(),
            task_id: task,
            turns: u32::from(output.is_some()),
            usage,
        };
        let mut evidence = Vec::with_capacity(line.len() + 512);
        let written = json::to_writer(&single, &mut evidence);
        evidence.push(b'\n');
        let evidence = written.map(|()| evidence).map_err(|error| error.to_string());
        Ok((line, Some(evidence)))
    };
    let (record, trajectory) = encode().map_err(|source| RecordError { key: key.to_string(), source })?;
    // A record counts without its evidence; the run is then not submittable, and says so.
    let (trajectory, evidence_failed) = match trajectory {
        None => (None, None),
        Some(Ok(lines)) => (Some(lines), None),
        Some(Err(why)) => (None, Some(why)),
    };
    Ok(Finished {
        ordinal: unit.ordinal,
        task: unit.work.task,
        item: item.index,
        model: unit.model,
        condition: unit.condition,
        status,
        error_class: error.map(|error| error.class),
        program_failed,
        usage,
        answered_by: output.and_then(|output| output.answered_by),
        verdicts: scores.iter().map(Verdict::from).collect(),
        record,
        trajectory,
        evidence_failed,
    })
}

/// Whether the item is one of a split whose gold answers nobody has: its samples are answered and not scored.
fn is_unscored(ready: &Ready, unit: &Unit) -> bool {
    let dataset = &ready.plan.tasks[unit.work.task].dataset;
    let is_hidden = dataset.format == Format::Gaia && dataset.split.as_deref() == Some(gaia::HIDDEN_SPLIT);
    is_hidden && unit.work.item.expected.is_null()
}

/// What came of asking.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) reply: Reply,
    /// For agents.
    pub(crate) earned: Option<Earned>,
}

impl From<Reply> for Came {
    fn from(reply: Reply) -> Self {
        Self { reply, earned: None }
    }
}

/// The lines of trajectories, or why there are none; `None` when evidence is off.
type Evidence = Option<Result<Vec<u8>, String>>;

/// Whose trajectories.
struct TrajectoryOf<'a> {
    key: &'a SampleKey,
    model: &'a str,
    run_id: RunId,
    task: &'a str,
}

impl TrajectoryOf<'_> {
    /// One line an attempt.
    fn lines(&self, earned: &Earned) -> Result<Vec<u8>, EncodeError> {
        let mut lines = Vec::new();
        for (at, attempt) in earned.attempts.iter().enumerate() {
            json::to_writer(
                &Trajectory {
                    attempt: earned.voting.as_ref().map(|_| at as u32),
                    final_answer: attempt.final_answer.clone(),
                    key: self.key.clone(),
                    model: self.model.to_owned(),
                    no_answer: attempt.no_answer.clone(),
                    run_id: self.run_id,
                    steps: attempt.steps.clone(),
                    stop: attempt.stop,
                    task_id: self.task.to_owned(),
                    turns: attempt.turns,
                    usage: attempt.usage,
                },
                &mut lines,
            )?;
            lines.push(b'\n');
        }
        Ok(lines)
    }
}

/// No verdict, and whose fault that is.
struct NotScored {
    error: SampleError,
    /// A program failed, which may go otherwise the next time.
    is_of_program: bool,
}

async fn score_all(
    ready: &Ready,
    scoring: Scoring<'_>,
    unit: &Unit,
    key: &SampleKey,
    request: &Request,
    output: &Output,
) -> Result<Vec<Score>, NotScored> {
    let item = &unit.work.item;
    let run_dir = scoring.run_dir;
    let images: Vec<AnswerImage<'_>> = output.images.iter().map(|facts| AnswerImage { facts, run_dir }).collect();
    let answer = Answer {
        text: &output.answer(),
        images: &images,
        expected: &item.expected,
        choices: item.choices.as_deref(),
        item_id: &item.id,
        key: key.as_str(),
        messages: &request.messages,
        metadata: Some(&item.metadata),
    };
    let scorers = &ready.scorers[unit.work.task];
    let mut scores = Vec::with_capacity(scorers.len());
    let mut of_programs = None;
    for (at, scorer) in scorers.iter().enumerate() {
        if let (Programs::Recorded(record), true) = (scoring.programs, scorer.is_program()) {
            match record.scores.get(at).filter(|score| score.scorer == scorer.name()) {
                Some(score) => scores.push(score.clone()),
                // Without scores, the record's error is this program's or that of a scorer behind it.
                None => {
                    of_programs = of_programs.or(record.error.clone()).or_else(|| {
                        let message = format!("the record has no score of scorer `{}`", scorer.name());
                        Some(SampleError { class: SCORER_ERROR.to_owned(), message })
                    });
                }
            }
            continue;
        }
        let verdict = match scorer.score_now(&answer) {
            Some(verdict) => verdict,
            None => scorer.score(&answer).await,
        };
        let verdict = verdict.map_err(|error| NotScored {
            is_of_program: matches!(error, ScoreError::Command(_)),
            error: SampleError {
                class: SCORER_ERROR.to_owned(),
                message: match error {
                    // It names the scorer itself.
                    ScoreError::Command(error) => error.to_string(),
                    other => format!("scorer `{}`: {other}", scorer.name()),
                },
            },
        });
        let verdict = match (verdict, &of_programs) {
            // A program before it had failed, so that nobody asked this one.
            (Err(failed), Some(error)) if failed.error != *error => break,
            (verdict, _) => verdict?,
        };
        scores.push(Score {
            explanation: verdict.explanation,
            judge: None,
            passed: verdict.passed,
            scorer: scorer.name().to_owned(),
            value: verdict.value,
        });
    }
    match of_programs {
        Some(error) => Err(NotScored { error, is_of_program: true }),
        None => Ok(scores),
    }
}
