//! The checks, in one list. Each is shown every sample once, in the order of their file, and then says what it found.
//!
//! A check says what it found and how much it could see; what that comes to is the report's business. None of them reads
//! a file, asks anybody, or depends on the order of a map. What one has to remember of every sample goes through a sort, so
//! that its memory does not grow with them.

mod collision;
mod fabrication;
mod groups;
mod isolation;
mod leakage;
mod no_work;
mod null_agents;
mod plea;
mod rescore;
mod split;
#[cfg(test)]
mod testing;
mod voting;

use std::io;

use proofmark_artefact::audit::{Coverage, Severity};
use proofmark_artefact::number::counted;
use proofmark_artefact::spill::Spot;
use proofmark_artefact::validate;
use proofmark_run::rescore::Rescored;

use crate::credit::Credit;
use crate::kept::{Kept, Reveal};
use crate::rule::Rule;
use crate::sample::{Facts, Sample};
use crate::samples::Samples;
use crate::seen::{Found, Seen, Sight};

/// One check.
pub struct Check {
    pub id: &'static str,
    pub name: &'static str,
    /// How much its failure weighs, unless the finding itself says more.
    pub severity: Severity,
    /// What it finds, in a sentence.
    pub about: &'static str,
    /// What must have been recorded for it.
    pub needs: &'static str,
    pub begin: fn() -> Box<dyn Checking>,
}

/// A check under way.
pub trait Checking {
    /// Looks at the next sample.
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()>;

    /// Says what it found, once it has seen all samples.
    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome>;
}

/// One sample, and what is known of it.
pub struct Subject<'a> {
    pub spot: Spot,
    pub sample: &'a Sample,
    pub credit: &'a Credit,
    pub seen: &'a Seen,
}

/// Everything else that a check may look at.
pub struct Scene<'a> {
    pub samples: &'a Samples,
    pub found: &'a Found,
    pub facts: &'a Facts,
    /// By task.
    pub rules: &'a [Rule],
    /// When trajectories of others usually begin, in milliseconds since 1970.
    pub usual_moment: Option<i64>,
    /// What came of making every record again from the suite; `None` where there is no suite.
    pub rescored: Option<&'a Rescored>,
    /// What is wrong with the files of a run of ours.
    pub validated: Option<&'a validate::Outcome>,
    pub reveal: Reveal,
}

/// What a check found and could see.
#[derive(Debug, Default)]
pub struct Outcome {
    pub coverage: Coverage,
    pub kept: Kept,
    pub gaps: Vec<String>,
}

/// Every check, in the order of their numbers.
pub const CHECKS: [Check; 11] = [
    Check {
        id: "AUD-1",
        name: "answer leakage",
        severity: Severity::Critical,
        about: "the gold answer reached the agent from the benchmark's own data, an answer key or beside its question",
        needs: "tool results, whole or scanned whole, and gold answers",
        begin: || Box::new(leakage::Leakage::of_results()),
    },
    Check {
        id: "AUD-2",
        name: "no work",
        severity: Severity::Critical,
        about: "credit without a model call, without output, or with counts that contradict the text",
        needs: "trajectories, turns and tokens",
        begin: || Box::new(no_work::NoWork::default()),
    },
    Check {
        id: "AUD-3",
        name: "oracle leakage",
        severity: Severity::Critical,
        about: "the gold answer stands in what the agent was given, where the task itself does not show it",
        needs: "whole prompts, tool descriptions and gold answers",
        begin: || Box::new(leakage::Leakage::of_prompts()),
    },
    Check {
        id: "AUD-4",
        name: "grader isolation",
        severity: Severity::Critical,
        about: "tool calls that touch grader, judge cache, gold, run directory, ledger or keys",
        needs: "names and whole arguments of tool calls",
        begin: || Box::new(isolation::Isolation::default()),
    },
    Check {
        id: "AUD-5",
        name: "normalisation collision",
        severity: Severity::Warn,
        about: "credit for degenerate answers, and gold answers that the scorer cannot tell from others",
        needs: "answers and gold answers",
        begin: || Box::new(collision::Collision::default()),
    },
    Check {
        id: "AUD-6",
        name: "voting disclosure",
        severity: Severity::Warn,
        about: "attempts that were declared against attempts that are recorded",
        needs: "the number of attempts at a task",
        begin: || Box::new(voting::Voting::default()),
    },
    Check {
        id: "AUD-7",
        name: "split integrity",
        severity: Severity::Warn,
        about: "which split and revision of the dataset was asked, and whether that is what it is said to be",
        needs: "split, revision and digest of the dataset",
        begin: || Box::new(split::Split::default()),
    },
    Check {
        id: "AUD-8",
        name: "re-score",
        severity: Severity::Critical,
        about: "marks, totals and denominators that do not follow from the answers",
        needs: "answers, gold answers and the scorer",
        begin: || Box::new(rescore::Rescore::default()),
    },
    Check {
        id: "AUD-9",
        name: "judge manipulation",
        severity: Severity::Warn,
        about: "texts in answers or outputs that address the grader",
        needs: "answers; outputs of the model where they are recorded",
        begin: || Box::new(plea::Pleas::default()),
    },
    Check {
        id: "AUD-10",
        name: "fabrication",
        severity: Severity::Warn,
        about: "answers that look as if no model had been asked for them",
        needs: "request ids, latencies, tokens and the model that the provider names",
        begin: || Box::new(fabrication::Fabrication::default()),
    },
    Check {
        id: "AUD-11",
        name: "null agents",
        severity: Severity::Warn,
        about: "credit that an empty, a refusing, an echoing or a constant answer would get",
        needs: "gold answers and the scorer",
        begin: || Box::new(null_agents::NullAgents::default()),
    },
];

impl Scene<'_> {
    fn rule(&self, sample: &Sample) -> Option<&Rule> {
        self.rules.get(sample.task)
    }
}

/// How many of the samples that are due a check of trajectories could see whole.
#[derive(Default)]
struct Sighted {
    coverage: Coverage,
    without: u64,
}

impl Sighted {
    /// Takes a sample that is due.
    fn take(&mut self, seen: &Seen, sight: Sight) {
        self.coverage.of += 1;
        self.coverage.seen += u64::from(sight == Sight::All);
        self.without += u64::from(seen.trajectories == 0);
    }

    /// What a check covered, and what was missing.
    fn finish(self, check: &str, found: &Found) -> Outcome {
        let mut outcome = Outcome { coverage: self.coverage, ..Outcome::default() };
        if !outcome.coverage.is_whole() {
            if self.without > 0 {
                outcome.gaps.push(format!("{} of {} samples have no trajectory", self.without, outcome.coverage.of));
            }
            let gaps = found.gaps.iter().filter(|((of, _), _)| *of == check);
            outcome.gaps.extend(
                gaps.map(|((_, what), count)| format!("{what} ({})", counted(*count, "trajectory", "trajectories"))),
            );
        }
        outcome
    }
}
