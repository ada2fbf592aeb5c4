//! Results of tools out of a finished run: for running it again without starting anything.
//!
//! A trajectory names every call and the digest of every result. The result itself is in the head when it is short, and
//! in `bodies/` when whole bodies were kept.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use proofmark_artefact::record::ToolCall;
use proofmark_artefact::spill::mark;
use proofmark_artefact::store::{Bodies, Lines, MAX_LINE, names};
use proofmark_artefact::suite::solver::MAX_OUTPUT;
use proofmark_artefact::trajectory::{Step, StopReason, Trajectory};
use proofmark_canon::{Digest, json};
use proofmark_tool::{Failure, ToolOutput};

/// The calls and results of every attempt of a run.
#[derive(Debug)]
pub(crate) struct RecordedTools {
    file: File,
    bodies: Bodies,
    /// By key and attempt: where the line is. Samples of agents are few.
    lines: BTreeMap<[u8; 16], (u64, usize)>,
}

/// What one attempt did, in its order.
#[derive(Debug)]
pub(super) struct Recorded {
    calls: Mutex<VecDeque<(Step, Returned)>>,
    timed_out_after: Option<u32>,
}

/// A result as it was.
#[derive(Debug, Clone)]
pub(super) struct Returned {
    pub(super) output: ToolOutput,
    pub(super) class: Option<String>,
}

fn place(key: &str, attempt: u32) -> [u8; 16] {
    mark(format!("{attempt} {key}").as_bytes())
}

impl RecordedTools {
    /// Finds the trajectories of a run and checks that every result is there whole.
    pub(crate) fn open(run_dir: &Path) -> Result<Self, String> {
        let path = run_dir.join(names::TRAJECTORIES);
        let unreadable = |error: String| format!("`{}`: {error}", names::TRAJECTORIES);
        let file = File::open(&path).map_err(|_| {
            "no evidence was recorded, so what tools returned is not known (`run --record-evidence`)".to_owned()
        })?;
        let bodies = Bodies::at(&run_dir.join(names::BODIES));
        let mut all = Self { file, bodies, lines: BTreeMap::new() };
        let mut lines = Lines::open(&path, MAX_LINE).map_err(|error| unreadable(error.to_string()))?;
        while let Some(line) = lines.next_line().map_err(|error| unreadable(error.to_string()))? {
            let trajectory = parse(line.bytes).map_err(unreadable)?;
            all.check(&trajectory)?;
            let at = place(trajectory.key.as_str(), trajectory.attempt.unwrap_or(0));
            all.lines.insert(at, (line.offset, line.bytes.len()));
        }
        Ok(all)
    }

    fn check(&self, trajectory: &Trajectory) -> Result<(), String> {
        for step in &trajectory.steps {
            if let Step::ToolResult { output_sha256, .. } = step
                && short(step).is_none()
                && !self.bodies.has(output_sha256)
            {
                return Err(format!(
                    "a result of a tool was not kept whole ({output_sha256} of `{}`); `run --evidence-full-bodies` keeps \
                     them",
                    trajectory.key
                ));
            }
        }
        Ok(())
    }

    /// What an attempt did. One that is not there did nothing.
    pub(super) fn of(&self, key: &str, attempt: u32) -> Result<Recorded, String> {
        let mut recorded = Recorded { calls: Mutex::default(), timed_out_after: None };
        let Some((offset, length)) = self.lines.get(&place(key, attempt)) else { return Ok(recorded) };
        let mut line = vec![0; *length];
        self.file.read_exact_at(&mut line, *offset).map_err(|error| error.to_string())?;
        let trajectory = parse(&line)?;
        if trajectory.stop == Some(StopReason::Timeout) {
            recorded.timed_out_after = Some(trajectory.turns);
        }
        let mut call = None;
        let mut calls = VecDeque::new();
        for step in trajectory.steps {
            match step {
                Step::ToolCall { .. } => call = Some(step),
                Step::ToolResult { .. } => {
                    let returned = self.returned(&step)?;
                    // What was not carried out is not asked for again.
                    let was_made = returned.class.as_deref() != Some(Failure::NotCarriedOut.as_str());
                    calls.extend(call.take().filter(|_| was_made).map(|call| (call, returned)));
                }
                Step::Prompt { .. } | Step::ModelOutput { .. } => {}
            }
        }
        recorded.calls = Mutex::new(calls);
        Ok(recorded)
    }

    fn returned(&self, step: &Step) -> Result<Returned, String> {
        let Step::ToolResult { error, is_error, output_sha256, source, .. } = step else {
            return Err("expected a result".to_owned());
        };
        let content = match short(step) {
            Some(text) => text.as_bytes().to_vec(),
            None => self.bodies.load(output_sha256, MAX_OUTPUT).map_err(|error| error.to_string())?,
        };
        let output = ToolOutput { content, source: source.clone(), is_error: *is_error };
        Ok(Returned { output, class: error.clone() })
    }
}

impl Recorded {
    /// The result of the next call, when it is the call that was recorded; otherwise the call that was.
    pub(super) fn next(&self, call: &ToolCall) -> Result<Returned, String> {
        let next = self.calls.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((recorded, returned)) = next else { return Err("nothing".to_owned()) };
        if Step::tool_call(&call.name, &call.arguments).is_ok_and(|now| now == recorded) {
            return Ok(returned);
        }
        Err(match recorded {
            Step::ToolCall { name, .. } => format!("`{name}`, or with other arguments"),
            _ => "something else".to_owned(),
        })
    }

    /// Whether this is where the sample's time was up.
    pub(super) fn is_over(&self, turns: u32) -> bool {
        let has_none = self.calls.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        has_none && self.timed_out_after.is_some_and(|after| turns >= after)
    }
}

/// The whole result, where its head is that.
fn short(step: &Step) -> Option<&str> {
    match step {
        Step::ToolResult { binary: false, bytes, head, output_sha256, .. }
            if head.len() as u64 == *bytes && Digest::of(head.as_bytes()) == *output_sha256 =>
        {
            Some(head)
        }
        _ => None,
    }
}

fn parse(line: &[u8]) -> Result<Trajectory, String> {
    let value = json::parse(line).map_err(|error| error.to_string())?;
    json::from_value(&value).map_err(|error| error.to_string())
}
