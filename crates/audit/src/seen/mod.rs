//! What trajectories show of their samples, and what is found in them.
//!
//! - [`through`] looks through one trajectory: a pure function of the sample and the line, so that lines can be looked at in
//!   any order and on any thread; [`texts`] single texts: prompts, and words to the grader.
//! - [`sights`] holds what was seen of every sample.

mod sights;
mod texts;
mod through;

use std::collections::BTreeMap;
use std::io;

use proofmark_artefact::audit::Evidence;
use proofmark_artefact::spill::Spot;
use serde::{Deserialize, Serialize};

pub use sights::{Joined, Seens, Sights};
pub(crate) use texts::{look_at_frame, look_at_prompt, pleas_of};
pub(crate) use through::is_token_count_of;
pub use through::look_through;

use crate::kept::{Kept, Reveal};
use crate::look::{Forbidden, Marks};
use crate::sample::Origin;
use crate::trace::Times;

/// The check that gaps in what a trajectory shows of its results belong to.
pub(crate) const LEAK: &str = "AUD-1";
/// The same of its prompts.
pub(crate) const ORACLE: &str = "AUD-3";
/// The same of its calls.
pub(crate) const ISOLATION: &str = "AUD-4";

/// The most findings of one kind that one trajectory gives.
const MOST_OF_ONE: usize = 16;

/// What is the same for all trajectories.
pub struct Lens<'a> {
    pub origin: Origin,
    pub marks: &'a Marks,
    pub forbidden: &'a Forbidden,
    /// What agents were told of their tools.
    pub tools: &'a [(String, String)],
    pub reveal: Reveal,
    /// What evidence calls the file.
    pub file: &'a str,
}

/// What the trajectories of one sample show.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub trajectories: u32,
    pub steps: u64,
    pub model_calls: u64,
    /// Bytes that the model said.
    pub said_bytes: u64,
    pub output_tokens: Option<u64>,
    /// A step's own tokens cannot be right for what it says.
    pub token_mismatch: Option<String>,
    /// Tokens of all calls of the model together; `None` where one does not count.
    pub step_tokens: Option<u64>,
    /// Tokens of the call with most of them.
    pub most_tokens: u64,
    /// Turns or tokens that are no counts, in their own words.
    pub not_count: Option<String>,
    /// How many attempts a trajectory owns up to.
    pub attempts: u64,
    /// Attempts that are no count, in their own words.
    pub not_attempts: Option<String>,
    pub times: Times,
    /// Whether every trajectory showed all that the check looks for.
    pub leak: Sight,
    pub oracle: Sight,
    pub isolation: Sight,
}

/// How much could be seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Sight {
    /// There is no trajectory.
    #[default]
    Nothing,
    Part,
    All,
}

/// What was found in all trajectories.
#[derive(Debug, Default)]
pub struct Found {
    pub leaks: Kept,
    pub oracles: Kept,
    pub touches: Kept,
    pub pleas: Kept,
    /// By check: what was not recorded, and in how many trajectories.
    pub gaps: BTreeMap<(&'static str, &'static str), u64>,
    pub trajectories: u64,
    pub steps: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
}

/// What one trajectory shows.
#[derive(Debug, Default)]
pub struct Looked {
    /// Whose it is.
    pub sample: Spot,
    pub seen: Seen,
    leaks: Vec<Evidence>,
    oracles: Vec<Evidence>,
    touches: Vec<Evidence>,
    pleas: Vec<Evidence>,
    gaps: Vec<(&'static str, &'static str)>,
    tool_calls: u64,
    tool_results: u64,
}

impl Found {
    /// Takes what one trajectory shows, in the order of the file.
    pub fn take(&mut self, looked: Looked, sights: &mut Sights) -> io::Result<()> {
        self.trajectories += 1;
        self.steps += looked.seen.steps;
        self.tool_calls += looked.tool_calls;
        self.tool_results += looked.tool_results;
        self.leaks.extend(looked.leaks);
        self.oracles.extend(looked.oracles);
        self.touches.extend(looked.touches);
        self.pleas.extend(looked.pleas);
        for gap in looked.gaps {
            *self.gaps.entry(gap).or_default() += 1;
        }
        sights.push(looked.sample, &looked.seen)
    }
}

impl Seen {
    /// Takes what the next trajectory of the same sample shows.
    fn join(&mut self, new: Seen) {
        let is_first = self.trajectories == 0;
        let join = |old: Sight, new: Sight| if is_first { new } else { old.min(new) };
        self.leak = join(self.leak, new.leak);
        self.oracle = join(self.oracle, new.oracle);
        self.isolation = join(self.isolation, new.isolation);
        self.trajectories += 1;
        self.steps += new.steps;
        self.model_calls += new.model_calls;
        self.said_bytes += new.said_bytes;
        self.output_tokens = match (self.output_tokens, new.output_tokens) {
            (Some(old), Some(new)) => Some(old.saturating_add(new)),
            (old, new) => old.or(new),
        };
        self.token_mismatch = self.token_mismatch.take().or(new.token_mismatch);
        self.step_tokens = match (is_first, self.step_tokens, new.step_tokens) {
            (true, _, new) => new,
            (_, old, new) => old.zip(new).map(|(old, new)| old.saturating_add(new)),
        };
        self.most_tokens = self.most_tokens.max(new.most_tokens);
        self.not_count = self.not_count.take().or(new.not_count);
        self.attempts = self.attempts.max(new.attempts);
        self.not_attempts = self.not_attempts.take().or(new.not_attempts);
        self.times.join(new.times);
    }
}
