//! How answers are scored, so that they can be scored again without asking anybody.

use std::path::Path;

use proofmark_artefact::suite::plan::ScorerPlan;
use proofmark_canon::Value;
use proofmark_run::scorer::{Answer, Scorer, ScorerEnv, Verdict};

use crate::sample::Sample;

/// The scorers of one task.
#[derive(Debug, Default)]
pub struct Rule {
    /// In the suite's order, the first one is the headline; why it cannot be had, for those that cannot.
    scorers: Vec<Result<Scorer, String>>,
    /// Whether the run says that it was scored so. Otherwise it is a guess that a lenient judge may depart from.
    pub is_declared: bool,
    pub is_gaia: bool,
}

impl Rule {
    /// GAIA's rule, for results that name none.
    pub fn assumed() -> Self {
        Self { is_declared: false, ..Self::of_plans(&[ScorerPlan::Gaia { name: "gaia".into() }], Path::new("")) }
    }

    /// The rule that a harness says its marks come from; `None` for one that we do not have.
    pub fn named(name: &str) -> Option<Self> {
        let plan = match name.trim().to_ascii_lowercase().as_str() {
            "gaia" | "official" | "gaia-official" | "quasi_exact" | "quasi-exact-match" => {
                ScorerPlan::Gaia { name: "gaia".into() }
            }
            "exact" | "exact_match" | "exact-match" => {
                ScorerPlan::Exact { name: "exact".into(), ignore_case: false, trim: true, ignore_punctuation: false }
            }
            _ => return None,
        };
        Some(Self::of_plans(&[plan], Path::new("")))
    }

    /// The scorers of a task of ours. Files that they need are not in a run directory; programs are not started.
    pub fn of_plans(plans: &[ScorerPlan], root: &Path) -> Self {
        let env = ScorerEnv { root: root.to_owned(), path: None, workers: 1, judges: Vec::new() };
        let load = |_: &_| Err("it is not among the files of a run".to_owned());
        let compile = |plan: &ScorerPlan| match plan {
            ScorerPlan::Command { name, .. } => Err(format!("scorer `{name}` is a program")),
            ScorerPlan::Judge(plan) => Err(format!("scorer `{}` asks judges", plan.name)),
            ScorerPlan::ImageHash { name, .. } => Err(format!("scorer `{name}` compares with pictures of the suite")),
            ScorerPlan::Choice { name } => Err(format!("scorer `{name}` needs the options of the dataset's rows")),
            plan => Scorer::compile(plan, &load, &env).map_err(|error| error.to_string()),
        };
        Self {
            scorers: plans.iter().map(compile).collect(),
            is_declared: true,
            is_gaia: matches!(plans.first(), Some(ScorerPlan::Gaia { .. })),
        }
    }

    /// The verdict of every scorer; for each that has none, why.
    pub fn verdicts(&self, sample: &Sample, answer: &str) -> Vec<Result<Verdict, String>> {
        self.scorers.iter().map(|scorer| Self::ask(scorer.as_ref()?, sample, answer)).collect()
    }

    /// Whether the headline scorer passes an answer; why that cannot be said otherwise.
    pub fn passes(&self, sample: &Sample, answer: &str) -> Result<bool, String> {
        let scorer = self.scorers.first().ok_or("the task has no scorer")?;
        Ok(Self::ask(scorer.as_ref().map_err(Clone::clone)?, sample, answer)?.passed)
    }

    fn ask(scorer: &Scorer, sample: &Sample, answer: &str) -> Result<Verdict, String> {
        let choices: Vec<Value> = sample.choices.iter().map(|choice| Value::from(choice.as_str())).collect();
        let answer = Answer {
            text: answer,
            images: &[],
            expected: &sample.gold,
            choices: (!choices.is_empty()).then_some(&choices),
            item_id: &sample.item,
            key: &sample.id,
            messages: &[],
            metadata: None,
        };
        let verdict = scorer.score_now(&answer);
        verdict.ok_or_else(|| format!("scorer `{}` needs more than texts", scorer.name()))?.map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_others_are_scored_by_gaias_rule() {
        let sample = Sample { gold: "17".into(), ..Sample::default() };
        let rule = Rule::assumed();
        assert_eq!((rule.passes(&sample, "$17"), rule.passes(&sample, "18")), (Ok(true), Ok(false)));
        assert!(rule.passes(&Sample::default(), "x").is_err(), "there is no gold answer");
        assert!(!rule.is_declared && Rule::named("GAIA").is_some_and(|rule| rule.is_declared));
        assert!(Rule::named("an LLM").is_none());
    }

    #[test]
    fn what_takes_a_program_or_a_file_is_not_scored() {
        let command =
            ScorerPlan::Command { name: "c".into(), command: vec!["true".into()], timeout: 1.0, files: Vec::new() };
        for (plan, why) in [(command, "is a program"), (ScorerPlan::Choice { name: "c".into() }, "needs the options")] {
            let error = Rule::of_plans(&[plan], Path::new("")).passes(&Sample::default(), "x").unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
