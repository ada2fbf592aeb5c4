//! Checks, rungs, and what came of one path.

use proofmark_canon::RunId;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::words;
use crate::replay::outcome::{Answer, Status, Trouble};
use crate::summary::Interval;

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    Inputs,
    Artefacts,
    Scores,
    Reexecution,
    Live,
}

impl Rung {
    pub const ALL: [Self; 5] = [Self::Inputs, Self::Artefacts, Self::Scores, Self::Reexecution, Self::Live];

    /// From 1.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.number() == number)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Artefacts => "artefacts",
            Self::Scores => "scores",
            Self::Reexecution => "re-execution",
            Self::Live => "live",
        }
    }
}

/// By its number, which is what people count.
impl Serialize for Rung {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    pub actual: Option<String>,
    /// What was asked of it.
    pub check: String,
    pub expected: Option<String>,
    /// A name in the run directory, or an input's path from the root.
    pub file: Option<String>,
    /// From 1, where one line is meant.
    pub line: Option<u64>,
    pub note: Option<String>,
    pub status: Status,
}

impl Check {
    pub fn new(check: impl Into<String>, status: Status) -> Self {
        let (actual, expected, file, line, note) = (None, None, None, None, None);
        Self { actual, check: check.into(), expected, file, line, note, status }
    }

    /// A check of a file.
    pub fn of(file: impl Into<String>, check: impl Into<String>, status: Status) -> Self {
        Self { file: Some(file.into()), ..Self::new(check, status) }
    }

    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    #[must_use]
    pub fn line(self, line: Option<u64>) -> Self {
        Self { line, ..self }
    }

    #[must_use]
    pub fn values(self, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), actual: Some(actual.into()), ..self }
    }
}

/// How many failed checks of a rung are kept; all are counted.
pub const MOST_FAILED: u64 = 100;

/// A rung that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Climb {
    pub answer: Answer,
    pub checks: Vec<Check>,
    /// Failed checks, also those that are not among `checks`.
    pub failed: u64,
    /// What the rung leaves open although it holds.
    pub gaps: Vec<String>,
    /// Of the first rung: how many inputs were looked at. For the sentences alone.
    #[serde(skip)]
    pub inputs: InputsSeen,
    pub name: &'static str,
    #[schemars(with = "u8", range(min = 1, max = 5))]
    pub rung: Rung,
}

/// How many of a run's inputs were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputsSeen {
    #[default]
    All,
    Some,
    None,
}

impl Climb {
    pub fn new(rung: Rung) -> Self {
        let (checks, gaps) = (Vec::new(), Vec::new());
        Self { answer: Answer::Holds, checks, failed: 0, gaps, inputs: InputsSeen::All, name: rung.name(), rung }
    }

    /// A rung that could not be tried: nothing of it was looked at.
    pub fn open(rung: Rung, check: &str, why: impl Into<String>) -> Self {
        let mut climb = Self::new(rung);
        climb.push(Check::new(check, Status::Unchecked).note(why));
        climb
    }

    /// Adds a check. Of failed ones the first hundred are kept.
    pub fn push(&mut self, check: Check) {
        let answer = match check.status {
            Status::Ok | Status::Skip => Answer::Holds,
            Status::Fail => Answer::DoesNotHold,
            Status::Unchecked => Answer::CannotCheck,
        };
        self.answer = Answer::all([self.answer, answer]);
        if check.status == Status::Fail {
            self.failed += 1;
            if self.failed > MOST_FAILED {
                return;
            }
        }
        self.checks.push(check);
    }

    /// Counts failures that were made elsewhere and not kept.
    pub fn add_failed(&mut self, more: u64) {
        if more > 0 {
            self.failed += more;
            self.answer = Answer::DoesNotHold;
        }
    }

    /// Adds a check that holds, or does not for a reason.
    pub fn settle(&mut self, file: &str, check: &str, result: Result<(), String>) {
        self.push(match result {
            Ok(()) => Check::of(file, check, Status::Ok),
            Err(why) => Check::of(file, check, Status::Fail).note(why),
        });
    }

    pub fn add_gap(&mut self, gap: impl Into<String>) {
        self.gaps.push(gap.into());
    }
}

/// How far somebody wants to climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// As far as the evidence allows, and not beyond this rung.
    UpTo(Rung),
    /// This rung: less is not enough.
    At(Rung),
}

impl Demand {
    pub fn rung(self) -> Rung {
        match self {
            Self::UpTo(rung) | Self::At(rung) => rung,
        }
    }
}

/// What came of one path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    pub answer: Answer,
    /// The rung that was demanded; null when it was to go as far as the evidence allows.
    pub demanded: Option<u8>,
    /// What the rung that was reached does not prove, in a sentence.
    pub does_not_prove: String,
    /// Why nothing could be checked.
    pub error: Option<Trouble>,
    /// What the rungs that were reached leave open.
    pub gaps: Vec<String>,
    /// What live models answered; null when none was asked.
    pub live: Option<LiveReport>,
    /// As it was asked for.
    pub path: String,
    /// What the rung that was reached proves, in a sentence.
    pub proves: String,
    /// The highest rung that holds with all below it; 0 for none.
    pub reached: u8,
    /// As the manifest has it; null below rung 2.
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    /// Every rung that was tried, from the first.
    pub rungs: Vec<Climb>,
    /// Why it went no higher; null when it went as far as it was to go.
    pub stopped: Option<String>,
}

impl Outcome {
    /// Nothing was climbed yet.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            answer: Answer::CannotCheck,
            demanded: None,
            does_not_prove: String::new(),
            error: None,
            gaps: Vec::new(),
            live: None,
            path: path.into(),
            proves: String::new(),
            reached: 0,
            run_id: None,
            rungs: Vec::new(),
            stopped: None,
        }
    }

    /// Adds the next rung and returns whether it holds, so that the next one may be tried.
    pub fn climb(&mut self, climb: Climb) -> bool {
        let holds = climb.answer == Answer::Holds;
        let number = climb.rung.number();
        // Live samples can be asked where there is no cassette; whoever leaves rung 4 out says so with a gap.
        let follows = number == self.reached + 1 || (climb.rung == Rung::Live && self.reached == Rung::Scores.number());
        if holds && follows {
            self.reached = number;
            self.gaps.extend(climb.gaps.iter().cloned());
        }
        if !holds {
            self.stopped = Some(match climb.answer {
                Answer::DoesNotHold => format!("rung {number} ({}) does not hold", climb.name),
                _ => format!("rung {number} ({}) could not be checked", climb.name),
            });
        }
        self.rungs.push(climb);
        holds
    }

    /// Says what it came to. To be called once, when nothing more is climbed.
    #[must_use]
    pub fn finish(mut self, demand: Demand) -> Self {
        let failed = self.rungs.iter().any(|climb| climb.answer == Answer::DoesNotHold);
        self.demanded = match demand {
            Demand::UpTo(_) => None,
            Demand::At(rung) => Some(rung.number()),
        };
        self.answer = match self.demanded {
            _ if failed => Answer::DoesNotHold,
            Some(demanded) if self.reached < demanded => Answer::CannotCheck,
            _ if self.reached == 0 => Answer::CannotCheck,
            _ => Answer::Holds,
        };
        let reached = Rung::of_number(self.reached);
        let inputs =
            self.rungs.iter().find(|climb| climb.rung == Rung::Inputs).map_or(InputsSeen::All, |climb| climb.inputs);
        self.proves = words::proves(reached, inputs, &self.gaps, self.live.as_ref());
        self.does_not_prove = words::does_not_prove(reached).to_owned();
        self
    }
}

/// What came of asking live models again.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LiveReport {
    /// How many samples were asked.
    pub asked: u64,
    /// Samples that cannot be compared: no answer or no score, then or now.
    pub not_comparable: u64,
    /// Recorded as failed, and passes now.
    pub now_pass: u64,
    /// Recorded as passed, and fails now.
    pub now_fail: u64,
    /// Of those that can be compared: how many pass or fail as recorded.
    pub outcome: Agreement,
    /// Two-sided p-value of McNemar's exact test on `now_pass` and `now_fail`.
    pub p_value: f64,
    /// What chose the samples: the same seed chooses the same ones.
    pub seed: u64,
    /// Of those that can be compared: how many give the same text.
    pub text: Agreement,
}

/// How many of how many agree, with a 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Agreement {
    pub agree: u64,
    pub interval: Interval,
    pub of: u64,
}

impl Agreement {
    pub fn new(agree: u64, of: u64) -> Self {
        let interval = crate::stats::interval::wilson(agree as f64, of);
        Self { agree, interval: crate::stats::estimate::rounded_interval(interval), of }
    }
}

/// How many paths came to which answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    pub cannot_check: usize,
    pub does_not_hold: usize,
    pub holds: usize,
    pub paths: usize,
}

impl Summary {
    pub fn of(outcomes: &[Outcome]) -> Self {
        let count = |answer| outcomes.iter().filter(|outcome| outcome.answer == answer).count();
        Self {
            cannot_check: count(Answer::CannotCheck),
            does_not_hold: count(Answer::DoesNotHold),
            holds: count(Answer::Holds),
            paths: outcomes.len(),
        }
    }

    pub fn answer(self) -> Answer {
        match self {
            Self { does_not_hold: 1.., .. } => Answer::DoesNotHold,
            Self { cannot_check: 1.., .. } => Answer::CannotCheck,
            _ => Answer::Holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climb(rung: Rung, status: Status) -> Climb {
        let mut climb = Climb::new(rung);
        climb.push(Check::new("x", status));
        climb
    }

    /// Climbs with these results and says what it came to: the answer and the rung reached.
    fn came_to(statuses: &[Status], demand: Demand) -> (Answer, u8) {
        let mut outcome = Outcome::new("run");
        for (rung, status) in Rung::ALL.into_iter().zip(statuses) {
            if !outcome.climb(climb(rung, *status)) {
                break;
            }
        }
        let outcome = outcome.finish(demand);
        (outcome.answer, outcome.reached)
    }

    #[test]
    fn what_was_not_demanded_may_be_missing_and_what_was_may_not() {
        use Status::{Fail, Ok, Skip, Unchecked};
        let (up, at) = (Demand::UpTo(Rung::Scores), Demand::At(Rung::Scores));
        for (statuses, demand, want) in [
            (&[Ok, Ok, Ok][..], up, (Answer::Holds, 3)),
            (&[Ok, Ok, Ok], at, (Answer::Holds, 3)),
            (&[Skip, Ok, Ok], at, (Answer::Holds, 3)),
            (&[Ok, Ok, Unchecked], up, (Answer::Holds, 2)),
            (&[Ok, Ok, Unchecked], at, (Answer::CannotCheck, 2)),
            (&[Ok, Ok], at, (Answer::CannotCheck, 2)),
            (&[Ok, Fail, Ok], up, (Answer::DoesNotHold, 1)),
            (&[Fail], at, (Answer::DoesNotHold, 0)),
            (&[Unchecked], up, (Answer::CannotCheck, 0)),
            (&[], up, (Answer::CannotCheck, 0)),
        ] {
            assert_eq!(came_to(statuses, demand), want, "{statuses:?} {demand:?}");
        }
    }

    #[test]
    fn failures_are_all_counted_and_some_are_kept() {
        let mut climb = climb(Rung::Artefacts, Status::Ok);
        for _ in 0..250 {
            climb.push(Check::new("x", Status::Fail));
        }
        climb.push(Check::new("y", Status::Ok));
        climb.add_failed(7);
        assert_eq!((climb.failed, climb.checks.len(), climb.answer), (257, 102, Answer::DoesNotHold));
    }

    #[test]
    fn rungs_are_numbered_from_one() {
        let numbers: Vec<u8> = Rung::ALL.iter().map(|rung| rung.number()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert!(Rung::ALL.iter().all(|rung| Rung::of_number(rung.number()) == Some(*rung)));
        assert_eq!((Rung::of_number(0), Rung::of_number(6)), (None, None));
    }
}
