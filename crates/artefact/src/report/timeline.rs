//! Trajectories of the samples that are shown, cut so that the page stays small.
//!
//! They are read after the samples were chosen, in one pass over `trajectories.jsonl` that keeps the lines of shown
//! samples alone. Agents have one to show, and answers that were voted on; the trajectory of a question that was asked
//! once is its prompt and its answer.
//!
//! Shown samples that have one share [`ALL`] bytes evenly, and the attempts at a sample share its part. So what is shown
//! of one depends on how many there are, and not on how long the others are.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use proofmark_canon::{Digest, json};
use serde::Deserialize;

use super::sample::{Clip, Sample};
use super::select::Selection;
use crate::manifest::Manifest;
use crate::record::Usage;
use crate::spill::mark;
use crate::store::{LineError, Lines, MAX_LINE, names};
use crate::trajectory::{PromptRole, Step, StopReason, Trajectory};
use crate::words;

/// The most bytes of text that all trajectories of a page take.
pub(super) const ALL: usize = 8 << 20;
/// The most that those of one sample take.
const SAMPLE: usize = 256 << 10;
/// Attempts at a sample that are shown; the one that counts is always among them.
const ATTEMPTS: u32 = 8;
/// Steps of an attempt that are shown.
const STEPS: usize = 120;
/// Room that a step has at least.
const STEP: usize = 200;
/// The longest text of a step that is shown whole.
const TEXT: usize = 4096;
const NAME: usize = 128;
const SOURCE: usize = 512;
/// Finds that are told of each result.
const FINDS: usize = 6;

/// By the sample's position: its attempts in order.
#[derive(Debug, Default)]
pub(super) struct Timelines(BTreeMap<u64, Vec<Attempt>>);

/// One attempt at a sample.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) number: Option<u32>,
    pub(super) answer: Option<Clip>,
    pub(super) no_answer: Option<Clip>,
    pub(super) stop: Option<StopReason>,
    pub(super) turns: u32,
    pub(super) tool_calls: u64,
    pub(super) usage: Usage,
    pub(super) events: Vec<Event>,
    /// How many steps were left out, and before which of the events.
    pub(super) left_out: (usize, usize),
}

/// One step as it is shown.
#[derive(Debug)]
pub(super) enum Event {
    Prompt { role: PromptRole, body: Body },
    Turn { number: u32, body: Body, usage: Option<Usage> },
    Call { name: String, args: Clip, cut: Option<u64> },
    Result { name: String, body: Body, source: Option<Clip>, error: Option<String>, binary: bool, finds: Vec<String> },
}

/// A content: how long it is, its digest, and as much of its head as there is room for.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: u64,
    pub(super) digest: Digest,
    pub(super) head_bytes: u64,
    pub(super) head: Clip,
}

impl Timelines {
    /// Reads the trajectories of shown samples. A line that is none is passed over: `validate` says what is wrong with it.
    pub(super) fn read(run_dir: &Path, manifest: &Manifest, selection: &Selection) -> io::Result<Self> {
        let agents = selection.samples.iter().filter(|sample| has_timeline(manifest, sample));
        let wanted: HashMap<[u8; 16], &Sample> = agents.map(|sample| (sample.mark, sample)).collect();
        if wanted.is_empty() || !manifest.evidence.recorded {
            return Ok(Self::default());
        }
        let share = (ALL / wanted.len()).min(SAMPLE);
        let mut lines = match Lines::open(&run_dir.join(names::TRAJECTORIES), MAX_LINE) {
            Ok(lines) => lines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut found: BTreeMap<u64, Vec<Attempt>> = BTreeMap::new();
        loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Self(found)),
                Err(LineError::TooLong { .. }) => continue,
                Err(LineError::Io { source, .. }) => return Err(source),
            };
            let Ok(glance) = serde_json::from_slice::<Glance<'_>>(line.bytes) else { continue };
            let Some(sample) = wanted.get(&mark(glance.key.as_bytes())) else { continue };
            let (all, chosen) = sample.votes.as_ref().map_or((1, None), |votes| (votes.all, votes.chosen));
            let number = glance.attempt.unwrap_or(0);
            let attempts = found.entry(sample.position).or_default();
            // One more than are shown, for the one that counts; a file of a stranger may hold any number.
            let is_shown = number < ATTEMPTS || Some(number) == chosen;
            if !is_shown || attempts.len() > ATTEMPTS as usize {
                continue;
            }
            let Some(trajectory) = parse(line.bytes) else { continue };
            attempts.push(Attempt::of(trajectory, share / all.clamp(1, ATTEMPTS + 1) as usize));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attempts at the sample at a position.
    pub(super) fn at(&self, position: u64) -> &[Attempt] {
        self.0.get(&position).map_or(&[], Vec::as_slice)
    }
}

/// Whether there is more to see than a prompt and an answer.
pub(super) fn has_timeline(manifest: &Manifest, sample: &Sample) -> bool {
    sample.votes.is_some() || manifest.tasks.get(sample.task).is_some_and(|task| task.agent.is_some())
}

/// As much of a trajectory as is needed to know whether it is shown.
#[derive(Deserialize)]
struct Glance<'a> {
    attempt: Option<u32>,
    #[serde(borrow)]
    key: Cow<'a, str>,
}

fn parse(line: &[u8]) -> Option<Trajectory> {
    json::parse(line).ok().and_then(|value| json::from_value(&value).ok())
}

impl Attempt {
    /// Keeps both ends of the steps, and of each as much as the room allows.
    fn of(trajectory: Trajectory, room: usize) -> Self {
        let all = trajectory.steps.len();
        let shown = (room / STEP).clamp(4, STEPS).min(all);
        let text = (room / shown.max(1)).clamp(STEP, TEXT);
        let (first, last) = if shown == all { (all, all) } else { (shown - shown / 3, all - shown / 3) };
        let (mut events, mut turn, mut tool_calls) = (Vec::with_capacity(shown), 0, 0);
        for (at, step) in trajectory.steps.into_iter().enumerate() {
            turn += u32::from(matches!(step, Step::ModelOutput { .. }));
            tool_calls += u64::from(matches!(step, Step::ToolCall { .. }));
            if at < first || at >= last {
                events.push(Event::of(step, turn, text));
            }
        }
        Self {
            number: trajectory.attempt,
            answer: trajectory.final_answer.map(|answer| Clip::of(&answer, text)),
            no_answer: trajectory.no_answer.map(|why| Clip::of(&why, SOURCE)),
            stop: trajectory.stop,
            turns: trajectory.turns,
            tool_calls,
            usage: trajectory.usage,
            events,
            left_out: (last - first, first),
        }
    }
}

impl Event {
    fn of(step: Step, turn: u32, room: usize) -> Self {
        let name = |name: &str| crate::text::cut(name, NAME);
        let body = |bytes, digest, head: &str| Body {
            bytes,
            digest,
            head_bytes: head.len() as u64,
            head: Clip::of(head, room),
        };
        match step {
            Step::Prompt { bytes, content_sha256, head, role } => {
                Self::Prompt { role, body: body(bytes, content_sha256, &head) }
            }
            Step::ModelOutput { bytes, content_sha256, head, usage } => {
                Self::Turn { number: turn, body: body(bytes, content_sha256, &head), usage }
            }
            Step::ToolCall { args, args_bytes, name: tool, .. } => {
                // Arguments that were cut are a text: the beginning of their JSON.
                let text = match (args_bytes, args.as_str()) {
                    (Some(_), Some(text)) => text.to_owned(),
                    _ => String::from_utf8_lossy(&json::to_vec(&args).unwrap_or_default()).into_owned(),
                };
                Self::Call { name: name(&tool), args: Clip::of(&text, room), cut: args_bytes }
            }
            Step::ToolResult {
                binary, bytes, error, head, is_error, name: tool, output_sha256, scan, source, ..
            } => {
                let class = error.unwrap_or_else(|| "error".to_owned());
                Self::Result {
                    name: name(&tool),
                    body: body(bytes, output_sha256, &head),
                    source: source.map(|source| Clip::of(&source, SOURCE)),
                    error: is_error.then(|| name(&class)),
                    binary,
                    finds: scan.map(|scan| words::finds(&scan, FINDS)).unwrap_or_default(),
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
