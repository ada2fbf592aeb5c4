//! The checks, in one list. Each is a function of what was read.
//!
//! A check says what it found and how much it could see; what that comes to is the report's business. None of them reads
//! a file, asks anybody, or depends on the order of a map.

mod collision;
mod fabrication;
mod isolation;
mod leakage;
mod no_work;
mod null_agents;
mod oracle;
mod plea;
mod rescore;
mod split;
#[cfg(test)]
mod testing;
mod voting;

use proofmark_artefact::audit::{Coverage, Severity};
use proofmark_artefact::number::counted;
use proofmark_artefact::validate;
use proofmark_run::rescore::Rescored;

use crate::credit::Credit;
use crate::input::gold::Gold;
use crate::kept::{Kept, Reveal};
use crate::rule::Rule;
use crate::sample::{Facts, Sample};
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
    pub run: fn(&Scene<'_>) -> Outcome,
}

/// Everything that a check may look at.
pub struct Scene<'a> {
    pub samples: &'a [Sample],
    /// By sample.
    pub credits: &'a [Credit],
    /// By sample.
    pub seen: &'a [Seen],
    pub found: &'a Found,
    pub facts: &'a Facts,
    /// By task.
    pub rules: &'a [Rule],
    pub gold: Option<&'a Gold>,
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
        run: leakage::run,
    },
    Check {
        id: "AUD-2",
        name: "no work",
        severity: Severity::Critical,
        about: "credit without a model call, without output, or with counts that contradict the text",
        needs: "trajectories, turns and tokens",
        run: no_work::run,
    },
    Check {
        id: "AUD-3",
        name: "oracle leakage",
        severity: Severity::Critical,
        about: "the gold answer stands in what the agent was given, where the task itself does not show it",
        needs: "whole prompts, tool descriptions and gold answers",
        run: oracle::run,
    },
    Check {
        id: "AUD-4",
        name: "grader isolation",
        severity: Severity::Critical,
        about: "tool calls that touch grader, judge cache, gold, run directory, ledger or keys",
        needs: "names and whole arguments of tool calls",
        run: isolation::run,
    },
    Check {
        id: "AUD-5",
        name: "normalisation collision",
        severity: Severity::Warn,
        about: "credit for degenerate answers, and gold answers that the scorer cannot tell from others",
        needs: "answers and gold answers",
        run: collision::run,
    },
    Check {
        id: "AUD-6",
        name: "voting disclosure",
        severity: Severity::Warn,
        about: "attempts that were declared against attempts that are recorded",
        needs: "the number of attempts at a task",
        run: voting::run,
    },
    Check {
        id: "AUD-7",
        name: "split integrity",
        severity: Severity::Warn,
        about: "which split and revision of the dataset was asked, and whether that is what it is said to be",
        needs: "split, revision and digest of the dataset",
        run: split::run,
    },
    Check {
        id: "AUD-8",
        name: "re-score",
        severity: Severity::Critical,
        about: "marks, totals and denominators that do not follow from the answers",
        needs: "answers, gold answers and the scorer",
        run: rescore::run,
    },
    Check {
        id: "AUD-9",
        name: "judge manipulation",
        severity: Severity::Warn,
        about: "texts in answers or outputs that address the grader",
        needs: "answers; outputs of the model where they are recorded",
        run: plea::run,
    },
    Check {
        id: "AUD-10",
        name: "fabrication",
        severity: Severity::Warn,
        about: "answers that look as if no model had been asked for them",
        needs: "request ids, latencies, tokens and the model that the provider names",
        run: fabrication::run,
    },
    Check {
        id: "AUD-11",
        name: "null agents",
        severity: Severity::Warn,
        about: "credit that an empty, a refusing, an echoing or a constant answer would get",
        needs: "gold answers and the scorer",
        run: null_agents::run,
    },
];

impl Scene<'_> {
    /// Samples with what is known of them.
    fn all(&self) -> impl Iterator<Item = (&Sample, &Credit, &Seen)> {
        self.samples.iter().zip(self.credits).zip(self.seen).map(|((sample, credit), seen)| (sample, credit, seen))
    }

    /// Whether the given dataset is that of a task: of several tasks, only those that pin it.
    fn is_of_gold(&self, task: usize) -> bool {
        let tasks = &self.facts.tasks;
        tasks.len() == 1 || tasks.get(task).and_then(|task| task.digest) == self.gold.map(|gold| gold.digest)
    }

    fn rule(&self, sample: &Sample) -> Option<&Rule> {
        self.rules.get(sample.task)
    }

    /// How many of the samples that are due a check of trajectories could see whole, and what was missing.
    fn coverage_of(
        &self,
        check: &str,
        is_due: impl Fn(&Sample, &Credit) -> bool,
        sight: impl Fn(&Sample, &Seen) -> Sight,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut without = 0u64;
        for (sample, _, seen) in self.all().filter(|(sample, credit, _)| is_due(sample, credit)) {
            outcome.coverage.of += 1;
            outcome.coverage.seen += u64::from(sight(sample, seen) == Sight::All);
            without += u64::from(seen.trajectories == 0);
        }
        if !outcome.coverage.is_whole() {
            if without > 0 {
                outcome.gaps.push(format!("{without} of {} samples have no trajectory", outcome.coverage.of));
            }
            let gaps = self.found.gaps.iter().filter(|((of, _), _)| *of == check);
            outcome.gaps.extend(
                gaps.map(|((_, what), count)| format!("{what} ({})", counted(*count, "trajectory", "trajectories"))),
            );
        }
        outcome
    }
}
