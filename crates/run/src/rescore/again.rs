//! One record made again from the suite and its own output.

use std::path::Path;

use proofmark_artefact::record::{Record, SCORER_ERROR};
use proofmark_artefact::store::names;
use proofmark_artefact::text::excerpt;
use proofmark_artefact::trajectory::Trajectory;
use proofmark_canon::{Value, json};

use super::differ::{Difference, differences};
use super::earned::came_of;
use super::finding::{Finding, FindingKind};
use super::{Options, RescoreError};
use crate::collect::Finished;
use crate::judge::RecordedDesk;
use crate::ready::Ready;
use crate::recorded::reply_of;
use crate::sample::{Programs, Scoring, finish_sample};
use crate::source::Unit;

/// A sample of the suite and its recorded line, without the line end.
pub(super) struct Pair {
    pub(super) unit: Unit,
    pub(super) number: u64,
    pub(super) line: Vec<u8>,
    /// Of an agent.
    pub(super) trajectories: Vec<Trajectory>,
}

/// What came of one record.
pub(super) struct Again {
    /// `None` when the line holds no answer that could be scored.
    pub(super) finished: Option<Finished>,
    pub(super) key: String,
    pub(super) findings: Vec<Finding>,
    /// A program failed, now or in the run: its verdict was taken over.
    pub(super) program_failed: Option<String>,
}

/// The most differences of one record that are told.
const MOST_DIFFERENCES: usize = 24;

/// Scores a recorded output again and compares the record that comes of it.
pub(super) async fn score_again(
    ready: &Ready,
    run_dir: &Path,
    pair: Pair,
    options: Options,
) -> Result<Again, RescoreError> {
    let Pair { unit, number, line, trajectories } = pair;
    let key = unit.key(&ready.plan);
    let mut again = Again { finished: None, key: key.to_string(), findings: Vec::new(), program_failed: None };
    let malformed = |why: String| {
        let why = format!("the line is not a record: {}", excerpt(&why, 200));
        Finding::new(FindingKind::Malformed, names::RECORDS, why).at(number, Some(key.as_str()))
    };
    let parsed = json::parse(&line).map_err(|error| error.to_string());
    let value = match parsed {
        Ok(value) => value,
        Err(why) => {
            again.findings.push(malformed(why));
            return Ok(again);
        }
    };
    let record: Record = match json::from_value(&value) {
        Ok(record) => record,
        Err(error) => {
            again.findings.push(malformed(error.to_string()));
            return Ok(again);
        }
    };
    let reply = match reply_of(record.clone()) {
        Ok(reply) => reply,
        Err(error) => {
            again.findings.push(malformed(error.to_string()));
            return Ok(again);
        }
    };
    let came = match ready.is_of_agent(unit.work.task) {
        true => came_of(ready, &record, reply, trajectories),
        false => reply.into(),
    };
    let (request, fingerprint) = unit.request(ready, &key)?;
    let has_programs = ready.scorers[unit.work.task].iter().any(|scorer| scorer.is_program());
    let programs = if options.run_commands { Programs::Run } else { Programs::Recorded(&record) };
    let judgments = ready.recorded_judgments.as_ref().and_then(Option::as_ref);
    let desk = &RecordedDesk { judges: &ready.judges, judgments };
    let scoring = Scoring { run_dir, programs, desk };
    let mut finished = finish_sample(ready, scoring, &unit, key.clone(), &request, fingerprint, came.clone()).await?;
    let is_same = |finished: &Finished| finished.lines.record().strip_suffix(b"\n") == Some(&line);
    let had_failed = record.error.as_ref().is_some_and(|error| error.class == SCORER_ERROR);
    if options.run_commands && has_programs && !is_same(&finished) && (finished.program_failed || had_failed) {
        // A program that ran out of time, now or then, is no sign that anybody changed anything.
        again.program_failed = Some(if finished.program_failed {
            "a program failed now".to_owned()
        } else {
            "a program failed in the run and not now".to_owned()
        });
        let scoring = Scoring { run_dir, programs: Programs::Recorded(&record), desk };
        finished = finish_sample(ready, scoring, &unit, key.clone(), &request, fingerprint, came).await?;
    }
    if !is_same(&finished) {
        let computed = json::parse(finished.lines.record()).unwrap_or(Value::Null);
        let found = differences(&value, &computed, MOST_DIFFERENCES);
        if found.is_empty() {
            let message = "the line has the right content in another form than canonical JSON";
            again
                .findings
                .push(Finding::new(FindingKind::Malformed, names::RECORDS, message).at(number, Some(key.as_str())));
        }
        let why = computed.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
        again.findings.extend(found.into_iter().map(|one| explain(one, &record, why).at(number, Some(key.as_str()))));
    }
    again.finished = Some(finished);
    Ok(again)
}

/// Says of a difference what contradicts the record.
fn explain(difference: Difference, record: &Record, error: Option<&str>) -> Finding {
    let Difference { path, recorded, computed } = difference;
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let (kind, message) = match first {
        "scores" => {
            let at: Option<usize> = path.strip_prefix("scores[").and_then(|rest| rest.split(']').next()?.parse().ok());
            let scorer = at.and_then(|at| record.scores.get(at)).map_or("", |score| &score.scorer);
            let why = error.map(|error| format!(" ({})", excerpt(error, 200))).unwrap_or_default();
            (FindingKind::Score, format!("scorer `{}` gives something else{why}", excerpt(scorer, 80)))
        }
        "input" | "expected" | "item_id" | "seed" => (FindingKind::Input, "the suite gives another one".to_owned()),
        "output_fingerprint" => (FindingKind::Record, "the recorded answer has another one".to_owned()),
        "status" | "error" => (FindingKind::Record, "scoring the recorded answer ends otherwise".to_owned()),
        _ => (FindingKind::Record, "the run gives another one".to_owned()),
    };
    Finding {
        field: Some(path),
        recorded: Some(recorded),
        computed: Some(computed),
        ..Finding::new(kind, names::RECORDS, message)
    }
}
