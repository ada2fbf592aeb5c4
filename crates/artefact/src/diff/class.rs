//! The ways in which a sample can differ between two runs.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::excerpt;

/// One way in which a sample differs. A sample may differ in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Some scorer passed in A and does not in B, or A passed and B ended without a verdict.
    Regression,
    /// Some scorer passes in B and did not in A, or A ended without a verdict; and nothing regressed.
    Improvement,
    /// What came back differs: the answer or the reason why the model stopped.
    OutputChanged,
    /// How the sample ended differs: its status or its error.
    StatusChanged,
    /// A scorer's value moved by more than the tolerance without turning pass or fail, a scorer is on
    /// one side only, or an explanation changed although value and answer did not.
    ScoreChanged,
    /// What was asked differs: the messages, anything else that was sent, the provider or the expected answer.
    InputChanged,
    /// The steps differ, or how many turns and tool calls there were.
    TrajectoryChanged,
    OnlyInA,
    OnlyInB,
    /// Tokens differ and nothing else does.
    UsageChanged,
}

impl Class {
    /// In the order in which they are shown: what people look for first comes first.
    pub const ALL: [Self; 10] = [
        Self::Regression,
        Self::Improvement,
        Self::OutputChanged,
        Self::StatusChanged,
        Self::ScoreChanged,
        Self::InputChanged,
        Self::TrajectoryChanged,
        Self::OnlyInA,
        Self::OnlyInB,
        Self::UsageChanged,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::OutputChanged => "output_changed",
            Self::StatusChanged => "status_changed",
            Self::ScoreChanged => "score_changed",
            Self::InputChanged => "input_changed",
            Self::TrajectoryChanged => "trajectory_changed",
            Self::OnlyInA => "only_in_a",
            Self::OnlyInB => "only_in_b",
            Self::UsageChanged => "usage_changed",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::OutputChanged => "output changed",
            Self::StatusChanged => "status changed",
            Self::ScoreChanged => "score changed",
            Self::InputChanged => "input changed",
            Self::TrajectoryChanged => "trajectory changed",
            Self::OnlyInA => "only in A",
            Self::OnlyInB => "only in B",
            Self::UsageChanged => "usage changed",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a class of change")]
pub struct ClassError(String);

impl FromStr for Class {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let named = Self::ALL.into_iter().find(|class| class.as_str() == text);
        named.ok_or_else(|| ClassError(excerpt(text, 80)))
    }
}

/// The classes of one sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Classes(u16);

impl Classes {
    pub(super) fn insert(&mut self, class: Class) {
        self.0 |= 1 << class as u16;
    }

    pub(super) fn contains(self, class: Class) -> bool {
        self.0 >> class as u16 & 1 == 1
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In the order of [`Class::ALL`].
    pub(super) fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.contains(*class))
    }
}

/// How many samples are in each class. A sample counts once in each of its classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassCounts {
    pub improvement: u64,
    pub input_changed: u64,
    pub only_in_a: u64,
    pub only_in_b: u64,
    pub output_changed: u64,
    pub regression: u64,
    pub score_changed: u64,
    pub status_changed: u64,
    pub trajectory_changed: u64,
    pub usage_changed: u64,
}

impl ClassCounts {
    pub fn of(&self, class: Class) -> u64 {
        let mut copy = *self;
        *copy.slot(class)
    }

    pub(super) fn add(&mut self, classes: Classes) {
        classes.iter().for_each(|class| *self.slot(class) += 1);
    }

    fn slot(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Regression => &mut self.regression,
            Class::Improvement => &mut self.improvement,
            Class::OutputChanged => &mut self.output_changed,
            Class::StatusChanged => &mut self.status_changed,
            Class::ScoreChanged => &mut self.score_changed,
            Class::InputChanged => &mut self.input_changed,
            Class::TrajectoryChanged => &mut self.trajectory_changed,
            Class::OnlyInA => &mut self.only_in_a,
            Class::OnlyInB => &mut self.only_in_b,
            Class::UsageChanged => &mut self.usage_changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable_and_read_back() {
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
            assert_eq!(proofmark_canon::to_vec(&class).unwrap(), format!("\"{class}\"").into_bytes());
        }
        assert!("Regression".parse::<Class>().is_err());
    }

    #[test]
    fn a_set_keeps_its_members_in_order() {
        let mut classes = Classes::default();
        assert!(classes.is_empty());
        classes.insert(Class::UsageChanged);
        classes.insert(Class::Regression);
        assert_eq!(classes.iter().collect::<Vec<_>>(), [Class::Regression, Class::UsageChanged]);
        let mut counts = ClassCounts::default();
        counts.add(classes);
        assert_eq!((counts.of(Class::Regression), counts.of(Class::Improvement)), (1, 0));
    }
}
