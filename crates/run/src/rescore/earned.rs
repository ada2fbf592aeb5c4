//! How agents earned their answers, out of the trajectories that a run left.
//!
//! Records of agents say how many turns they took and which attempt counts; the trajectories say so too, step by step.
//! What a record was made from is made again from the trajectories, so that the two cannot part unseen.

use proofmark_artefact::record::{Record, SCORER_ERROR};
use proofmark_artefact::store::{Lines, RunDir, names};
use proofmark_artefact::trajectory::{Step, StopReason, Trajectory};
use proofmark_canon::json;
use proofmark_model::Reply;

use super::RescoreError;
use crate::agent::{Attempt, Earned, Failed, elect};
use crate::ready::Ready;
use crate::sample::Came;

/// The trajectories of a run, in step with its records.
pub(super) struct Earners {
    /// `None` when there are none, or they cannot be read any further.
    lines: Option<Lines>,
    /// A line that belongs to a later sample.
    ahead: Option<Trajectory>,
}

impl Earners {
    pub(super) fn open(ready: &Ready, dir: &RunDir) -> Result<Self, RescoreError> {
        let has = ready.has_agents() && dir.file(names::TRAJECTORIES).is_file();
        let lines = has.then(|| dir.lines(names::TRAJECTORIES)).transpose()?;
        Ok(Self { lines, ahead: None })
    }

    /// The trajectories of the next sample, when they are its own. What is wrong with lines is said where they are
    /// compared.
    pub(super) fn next(&mut self, key: &str) -> Vec<Trajectory> {
        let mut own = Vec::new();
        while let Some(lines) = &mut self.lines {
            let ahead = self.ahead.take().or_else(|| {
                let line = lines.next_line().ok().flatten()?;
                json::parse(line.bytes).ok().and_then(|value| json::from_value(&value).ok())
            });
            let Some(trajectory) = ahead else {
                self.lines = None;
                break;
            };
            if trajectory.key.as_str() != key {
                self.ahead = Some(trajectory);
                break;
            }
            own.push(trajectory);
        }
        own
    }
}

/// What a record of an agent was made from, as its trajectories tell it. The record itself is asked only for what they
/// do not hold: the words of a failed question, and who answered.
pub(super) fn came_of(ready: &Ready, record: &Record, reply: Reply, trajectories: Vec<Trajectory>) -> Came {
    if trajectories.is_empty() {
        // No evidence was kept: how many turns it took is the record's word alone.
        let counts = Attempt { turns: record.turns, tool_calls: record.tool_calls, ..Attempt::default() };
        return Came { reply, earned: Some(Earned { attempts: vec![counts], voting: record.voting.clone() }) };
    }
    let own_error = record.error.as_ref().filter(|error| error.class != SCORER_ERROR);
    let attempts: Vec<Attempt> = trajectories
        .into_iter()
        .map(|trajectory| Attempt {
            answered_by: record.output.as_ref().and_then(|output| output.answered_by.clone()),
            failed: (trajectory.stop == Some(StopReason::ModelError)).then(|| Failed {
                class: own_error.map_or_else(String::new, |error| error.class.clone()),
                message: own_error.map_or_else(String::new, |error| error.message.clone()),
                status: record.status,
            }),
            tool_calls: trajectory.steps.iter().filter(|step| matches!(step, Step::ToolCall { .. })).count() as u32,
            final_answer: trajectory.final_answer,
            no_answer: trajectory.no_answer,
            steps: trajectory.steps,
            stop: trajectory.stop,
            turns: trajectory.turns,
            usage: trajectory.usage,
        })
        .collect();
    let votes = ready.plan.sampling.voting_attempts > 1;
    let voting = votes.then(|| elect(&attempts, ready.plan.sampling.voting_tie));
    let earned = Earned { attempts, voting };
    Came { reply: earned.reply(), earned: Some(earned) }
}
