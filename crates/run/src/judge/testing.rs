//! Scorers and cases for tests.

use std::collections::BTreeMap;

use proofmark_artefact::suite::judge::{JudgeMode, JudgePlan, ScoreRange};
use proofmark_artefact::suite::text::TextSource;
use proofmark_canon::json::parse;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Value};
use proofmark_model::Hint;

use super::{Case, JudgeScorer};

/// A scorer that asks the first judge once for `pass` or `fail`.
pub(super) fn single() -> JudgeScorer {
    let rubric = "Pass an answer that names the capital.";
    JudgeScorer {
        plan: JudgePlan {
            name: "judge".to_owned(),
            rubric: TextSource::Inline(rubric.to_owned()),
            judges: vec!["a".to_owned()],
            mode: JudgeMode::Single,
            against: None,
            reference: true,
            verdicts: BTreeMap::from([("fail".to_owned(), 0.0), ("pass".to_owned(), 1.0)]),
            score: None,
            pass: 1.0,
            votes: 1,
            first: true,
            calibration: None,
        },
        rubric: rubric.to_owned(),
        rubric_digest: Digest::of(rubric.as_bytes()),
        judges: vec![0],
    }
}

/// The same, with a number from 1 to 5 that passes from 4 on.
pub(super) fn scored() -> JudgeScorer {
    let mut scorer = single();
    scorer.plan.score = Some(ScoreRange { min: 1.0, max: 5.0 });
    scorer.plan.pass = 0.75;
    scorer
}

pub(super) fn pairwise() -> JudgeScorer {
    let mut scorer = single();
    let plan = &mut scorer.plan;
    (plan.mode, plan.reference, plan.first) = (JudgeMode::Pairwise, false, false);
    plan.verdicts.clear();
    scorer
}

pub(super) fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

pub(super) fn case<'a>(answer: &'a str, expected: &'a Value) -> Case<'a> {
    Case {
        task_id: "capitals/chad",
        question: &[],
        answer,
        pictures: &[],
        expected,
        other: None,
        seed: SampleSeed::derive(7, "capitals/chad/m/raw/0"),
        hint: Hint {
            key: "capitals/chad/m/raw/0",
            ordinal: 0,
            item_id: "chad",
            item_index: 0,
            sample: 0,
            attempt: 0,
            expected,
            choices: None,
        },
    }
}
