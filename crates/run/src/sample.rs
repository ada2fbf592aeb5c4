//! From an answer to a finished record.

use std::path::Path;

use proofmark_artefact::judgment::Entry;
use proofmark_artefact::record::{
    InputRef, Output, RECORD_SCHEMA, Record, RecordRef, SCORER_ERROR, SampleError, Score, Status, output_fingerprint,
};
use proofmark_artefact::stats::Verdict;
use proofmark_artefact::store::load_output;
use proofmark_artefact::suite::config::Format;
use proofmark_artefact::suite::gaia;
use proofmark_artefact::suite::judge::JudgeMode;
use proofmark_artefact::trajectory::{SingleRef, Trajectory};
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::{Digest, RunId, SampleKey, Value};
use proofmark_model::{Reply, Request, Stop};

use crate::agent::Earned;
use crate::collect::{Evidence, Finished, Lines};
use crate::judge::{Case, Desk, Form, Heard, JudgeError, JudgeScorer, Picture, hear};
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

/// A sample did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinishError {
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A judge cannot be asked, now or later.
    #[error(transparent)]
    Stop(#[from] Stop),
}

/// Where an answer's pictures are, and who judges it.
#[derive(Clone, Copy)]
pub(crate) struct Scoring<'a> {
    pub(crate) run_dir: &'a Path,
    pub(crate) programs: Programs<'a>,
    /// Asks judges, or looks up what they said.
    pub(crate) desk: &'a dyn Desk,
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
) -> Result<Finished, FinishError> {
    let Came { reply, earned } = came;
    let (mut status, usage) = (reply.status(), reply.usage());
    let (output, finish_reason, mut error) = reply.into_parts();
    let mut scores = Vec::new();
    let mut program_failed = false;
    let mut judgments = Vec::new();
    if let Some(output) = output.as_ref().filter(|_| !is_unscored(ready, unit)) {
        match score_all(ready, scoring, unit, &key, request, output, &mut judgments).await {
            Ok(all) => scores = all,
            Err(NotScored::Stop(stop)) => return Err(stop.into()),
            // An answer that could not be scored is not an answer that failed: it has no score at all.
            Err(NotScored::Failed { error: failed, is_of_program }) => {
                status = Status::Error;
                program_failed = is_of_program;
                error = Some(failed);
            }
        }
    }
    let plan = &ready.plan;
    let (item, model) = (&unit.work.item, &plan.models[unit.model]);
    let task = &plan.tasks[unit.work.task].id;
    let encode = || -> Result<Lines, EncodeError> {
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
        let mut text = Vec::with_capacity(guess_size(request, output.as_ref(), plan.evidence.record));
        json::to_writer(&record, &mut text)?;
        text.push(b'\n');
        let length = text.len();
        // A record counts without its evidence; the run is then not submittable, and says so.
        let with = |mut text: Vec<u8>, written: Result<(), EncodeError>| {
            let evidence = written.map_or_else(|error| Evidence::Failed(error.to_string()), |()| Evidence::Kept);
            if evidence != Evidence::Kept {
                text.truncate(length);
            }
            Lines::new(text, length, evidence)
        };
        if !plan.evidence.record {
            return Ok(Lines::new(text, length, Evidence::Off));
        }
        if let Some(earned) = &earned {
            let of = TrajectoryOf { key: &key, model: &model.id, run_id: ready.run_id, task };
            let written = of.append(earned, &mut text);
            return Ok(with(text, written));
        }
        let single = SingleRef {
            answer: output.as_ref().map(|output| output.text.as_str()),
            key: &key,
            messages: &request.messages,
            model: &model.id,
            run_id: ready.run_id,
            task_id: task,
            usage,
        };
        let written = single.append(&mut text);
        text.push(b'\n');
        Ok(with(text, written))
    };
    let lines = encode().map_err(|source| RecordError { key: key.to_string(), source })?;
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
        judged: scores.into_iter().filter_map(|score| score.judge).collect(),
        judgments: encode_judgments(&judgments).map_err(|source| RecordError { key: key.to_string(), source })?,
        lines,
    })
}

/// About as many bytes as the lines of a sample have: growing step by step would copy them again and again.
fn guess_size(request: &Request, output: Option<&Output>, has_evidence: bool) -> usize {
    const OF_RECORD: usize = 1024;
    const OF_TRAJECTORY: usize = 640;
    let prompt: usize = request.messages.iter().map(|message| message.content.len()).sum();
    let answer = output.map_or(0, |output| output.text.len());
    let escapes = (prompt + answer) / 16;
    let record = OF_RECORD + prompt + answer + escapes;
    // Its answer stands in it twice.
    if has_evidence { record + OF_TRAJECTORY + prompt + 2 * answer + escapes } else { record }
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

/// Whose trajectories.
struct TrajectoryOf<'a> {
    key: &'a SampleKey,
    model: &'a str,
    run_id: RunId,
    task: &'a str,
}

impl TrajectoryOf<'_> {
    /// One line an attempt.
    fn append(&self, earned: &Earned, lines: &mut Vec<u8>) -> Result<(), EncodeError> {
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
                lines,
            )?;
            lines.push(b'\n');
        }
        Ok(())
    }
}

/// No verdict, and whose fault that is.
enum NotScored {
    Failed {
        error: SampleError,
        /// A program or a judge failed, which may go otherwise the next time.
        is_of_program: bool,
    },
    Stop(Stop),
}

/// One line a judgment.
fn encode_judgments(entries: &[Entry]) -> Result<Vec<u8>, EncodeError> {
    let mut lines = Vec::new();
    for entry in entries {
        lines.extend(Form::Published.encode(entry)?);
    }
    Ok(lines)
}

async fn score_all(
    ready: &Ready,
    scoring: Scoring<'_>,
    unit: &Unit,
    key: &SampleKey,
    request: &Request,
    output: &Output,
    judgments: &mut Vec<Entry>,
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
        if let Some(judge) = scorer.judge() {
            match put_before(judge, scoring, unit, key, request, &answer).await {
                Ok(heard) => {
                    let Heard { passed, value, explanation, judged, entries } = heard;
                    for entry in entries {
                        // Two scorers may ask the same.
                        if !judgments.contains(&entry) {
                            judgments.push(entry);
                        }
                    }
                    let scorer = scorer.name().to_owned();
                    scores.push(Score { explanation, judge: Some(judged), passed, scorer, value });
                }
                Err(JudgeError::Stop(stop)) => return Err(NotScored::Stop(stop)),
                // The run is over: what it could not judge then cannot be judged now.
                Err(error) if error.is_not_recorded() && recorded_error(scoring).is_some() => {
                    of_programs = of_programs.or_else(|| recorded_error(scoring));
                }
                Err(error) => {
                    let message = format!("scorer `{}`: {error}", scorer.name());
                    let error = SampleError { class: SCORER_ERROR.to_owned(), message };
                    return Err(NotScored::Failed { error: of_programs.unwrap_or(error), is_of_program: true });
                }
            }
            continue;
        }
        let verdict = match scorer.score_now(&answer) {
            Some(verdict) => verdict,
            None => scorer.score(&answer).await,
        };
        let verdict = verdict.map_err(|error| {
            let is_of_program = matches!(error, ScoreError::Command(_));
            let message = match error {
                // It names the scorer itself.
                ScoreError::Command(error) => error.to_string(),
                other => format!("scorer `{}`: {other}", scorer.name()),
            };
            (SampleError { class: SCORER_ERROR.to_owned(), message }, is_of_program)
        });
        let verdict = match (verdict, &of_programs) {
            // A program before it had failed, so that nobody asked this one.
            (Err((failed, _)), Some(error)) if failed != *error => break,
            (verdict, _) => verdict.map_err(|(error, is_of_program)| NotScored::Failed { error, is_of_program })?,
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
        Some(error) => Err(NotScored::Failed { error, is_of_program: true }),
        None => Ok(scores),
    }
}

/// The error of the record that is made again, if it is a scorer's.
fn recorded_error(scoring: Scoring<'_>) -> Option<SampleError> {
    let Programs::Recorded(record) = scoring.programs else { return None };
    record.error.clone().filter(|error| error.class == SCORER_ERROR)
}

/// The first two parts of a sample's key, which are percent-encoded: the task's id and the item's.
pub(crate) fn task_and_item(key: &str) -> &str {
    key.match_indices('/').nth(1).map_or(key, |(at, _)| &key[..at])
}

/// Puts an answer before the judges of a scorer.
async fn put_before(
    scorer: &JudgeScorer,
    scoring: Scoring<'_>,
    unit: &Unit,
    key: &SampleKey,
    request: &Request,
    answer: &Answer<'_>,
) -> Result<Heard, JudgeError> {
    let mut pictures = Vec::with_capacity(answer.images.len());
    for image in answer.images {
        let bytes = load_output(scoring.run_dir, image.facts).map_err(|error| JudgeError::Keep(error.to_string()))?;
        pictures.push(Picture { facts: image.facts.clone(), bytes: bytes.into() });
    }
    let item = &unit.work.item;
    let other = match &scorer.plan.against {
        Some(column) => item.metadata.get(column).or_else(|| item.fields.get(column)).map(Value::to_plain_text),
        None => (!item.expected.is_null()).then(|| item.expected.to_plain_text()),
    };
    let case = Case {
        task_id: task_and_item(key.as_str()),
        question: &request.messages,
        answer: answer.text,
        pictures: &pictures,
        expected: &item.expected,
        other: other.as_deref().filter(|_| scorer.plan.mode == JudgeMode::Pairwise),
        seed: request.seed,
        hint: unit.hint(key),
    };
    hear(scorer, &case, scoring.desk).await
}
