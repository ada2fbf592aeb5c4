//! The ways in which the trajectories of a sample can differ.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One way in which how an answer was earned differs. A sample may differ in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrajectoryKind {
    /// Which tools were called, or how often.
    Tools,
    /// The same calls came in another order.
    Order,
    /// What a tool was called with.
    Arguments,
    /// What a tool returned.
    Results,
    /// What the model said on the way.
    Outputs,
    /// What the model was shown besides results.
    Prompts,
    /// How often the model was asked.
    Turns,
    /// Why the agent stopped.
    Stop,
    /// The final answer, or why there is none.
    Answer,
    /// An attempt is in one run only.
    Attempts,
    /// Which attempt counts, or by how many votes.
    Chosen,
}

impl TrajectoryKind {
    /// In the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Tools,
        Self::Order,
        Self::Arguments,
        Self::Results,
        Self::Outputs,
        Self::Prompts,
        Self::Turns,
        Self::Stop,
        Self::Answer,
        Self::Attempts,
        Self::Chosen,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Order => "order",
            Self::Arguments => "arguments",
            Self::Results => "results",
            Self::Outputs => "outputs",
            Self::Prompts => "prompts",
            Self::Turns => "turns",
            Self::Stop => "stop",
            Self::Answer => "answer",
            Self::Attempts => "attempts",
            Self::Chosen => "chosen",
        }
    }
}

impl fmt::Display for TrajectoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everything in which the trajectories of one sample differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds(u16);

impl Kinds {
    /// Tokens of a turn, which are no change by themselves.
    pub(super) const USAGE: Self = Self(1 << 15);
    /// Something that has no name of its own: no honest run has it.
    pub(super) const OTHER: Self = Self(1 << 14);

    pub(super) fn put(&mut self, kind: TrajectoryKind, is: bool) {
        if is {
            self.0 |= 1 << kind as u16;
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the trajectory is another one, and not only another price of the same.
    pub(super) fn is_change(self) -> bool {
        self.0 & !Self::USAGE.0 != 0
    }

    pub(super) fn contains(self, kind: TrajectoryKind) -> bool {
        self.0 >> kind as u16 & 1 == 1
    }

    /// In the order of [`TrajectoryKind::ALL`].
    pub(super) fn iter(self) -> impl Iterator<Item = TrajectoryKind> {
        TrajectoryKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}
