//! Judges that play a part, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proofmark_artefact::judgment::{Entry, Judgment, Question};
use proofmark_artefact::record::{Output, Usage};
use proofmark_artefact::suite::judge::{JudgeMode, JudgePlan};
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::suite::text::TextSource;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, Value};
use proofmark_model::{Ask, Asking, Hint, Model, Reply, Request};

use crate::judge::{Case, Desk, Judge, JudgeScorer};

/// A scorer with one judge, `pass` and `fail`.
pub(super) fn scorer() -> JudgeScorer {
    let rubric = "Pass an answer that is right.";
    let plan = JudgePlan {
        name: "judge".into(),
        rubric: TextSource::Inline(rubric.into()),
        judges: vec!["j0".into()],
        mode: JudgeMode::Single,
        against: None,
        reference: false,
        verdicts: [("fail".to_owned(), 0.0), ("pass".to_owned(), 1.0)].into(),
        score: None,
        pass: 1.0,
        votes: 1,
        first: true,
        calibration: None,
    };
    JudgeScorer { plan, rubric: rubric.into(), rubric_digest: Digest::of(rubric.as_bytes()), judges: vec![0] }
}

/// A case without question and target.
pub(super) fn case(answer: &str) -> Case<'_> {
    let key = "t/1/m/raw/0";
    let (ordinal, item_index) = (0, 0);
    let (sample, attempt, expected) = (0, 0, &Value::Null);
    let hint = Hint { key, ordinal, item_id: "1", item_index, sample, attempt, expected, choices: None };
    let seed = SampleSeed::derive(7, key);
    Case { task_id: "t/1", question: &[], answer, pictures: &[], expected, other: None, seed, hint }
}

/// What a played judge replies: to the text of its prompt, the answer's key, and how often it was asked before.
pub(super) type Part = Box<dyn Fn(&Asked<'_>) -> Option<String> + Send + Sync>;

pub(super) struct Asked<'a> {
    /// Everything that was sent, one message after the other.
    pub(super) sent: String,
    pub(super) item_id: &'a str,
    pub(super) seed: u32,
}

/// A verdict in the declared form.
pub(super) fn says(verdict: &str) -> Option<String> {
    Some(format!("{{\"reason\":\"because\",\"verdict\":\"{verdict}\"}}"))
}

/// A desk whose judges play parts; keeps nothing.
pub(super) struct Played {
    judges: Vec<Judge>,
    parts: Vec<Part>,
    pub(super) asked: AtomicU64,
}

impl Played {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        let judge = |at: usize| Judge {
            plan: ModelPlan::named(format!("j{at}"), "openai:gpt-4.1"),
            model: Arc::new(Nobody),
            params: Arc::new(Map::new()),
            serving: String::new(),
        };
        Self { judges: (0..parts.len()).map(judge).collect(), parts, asked: AtomicU64::new(0) }
    }

    pub(super) fn one(part: impl Fn(&Asked<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::new(vec![Box::new(part)])
    }

    pub(super) fn judges(&self) -> &[Judge] {
        &self.judges
    }
}

struct Nobody;

impl Model for Nobody {
    fn ask<'a>(&'a self, _: Ask<'a>) -> Asking<'a> {
        unreachable!("the desk answers")
    }
}

impl Desk for Played {
    fn judge(&self, at: usize) -> &Judge {
        &self.judges[at]
    }

    fn known(&self, _: &Digest, _: &Question) -> Option<Entry> {
        None
    }

    fn ask<'a>(&'a self, judge: usize, request: &'a Request, hint: Hint<'a>) -> Asking<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let sent = request.messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n");
        let asked = Asked { sent, item_id: hint.item_id, seed: request.seed.get() };
        let reply = match (self.parts[judge])(&asked) {
            Some(text) => Reply::Answered {
                finish_reason: "stop".into(),
                output: Output { text, ..Output::default() },
                usage: Usage::default(),
            },
            None => Reply::failed(proofmark_model::Class::Server, "gone"),
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(reply.into())
        })
    }

    fn keep(&self, _: &Digest, judgment: Judgment) -> Result<Entry, String> {
        Ok(Entry { judgment, signature: None })
    }

    fn judged_at(&self) -> &str {
        ""
    }
}
