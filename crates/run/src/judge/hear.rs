//! Asks all judges of a scorer about one answer.

use proofmark_artefact::judgment::{Entry, JUDGMENT_SCHEMA, Judgment, Question, Said};
use proofmark_artefact::record::{Judged, Opinion, Order, Stage};
use proofmark_artefact::suite::judge::JudgeMode;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Value};
use proofmark_model::{Reply, Request, Turn};
use serde::Serialize;

use super::prompt::{Prompt, prompt, reminder};
use super::reply::{Spoken, read};
use super::{Case, Desk, Heard, Judge, JudgeError, JudgeScorer, decide};

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 2000;

/// Judges one answer: first without a judge, then with all of them.
///
/// Judgments that are known are not asked for again, and give the same bytes as those that are new.
pub async fn hear(scorer: &JudgeScorer, case: &Case<'_>, desk: &dyn Desk) -> Result<Heard, JudgeError> {
    if let Some((stage, passed)) = decide::before(scorer, case)? {
        let explanation = match stage {
            Stage::Exact => "the answer is the target",
            Stage::Normalised => "the answer is the target, but for case, punctuation and white space",
            Stage::Empty | Stage::Judge => "there is no answer to judge",
        };
        return Ok(Heard {
            passed,
            value: if passed { 1.0 } else { 0.0 },
            explanation: explanation.to_owned(),
            judged: Judged { dissent: 0, opinions: Vec::new(), stage },
            entries: Vec::new(),
        });
    }
    let orders: &[Option<Order>] = match scorer.plan.mode {
        JudgeMode::Single => &[None],
        JudgeMode::Pairwise => &[Some(Order::AnswerFirst), Some(Order::AnswerSecond)],
    };
    let mut opinions = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for judge in &scorer.judges {
        for vote in 0..scorer.plan.votes {
            for order in orders {
                let (opinion, entry) = opinion(scorer, case, desk, *judge, vote, *order).await?;
                // Two opinions may rest on one judgment.
                if !opinions.iter().any(|known: &Opinion| known.key == opinion.key) {
                    entries.push(entry);
                }
                opinions.push(opinion);
            }
        }
    }
    let (value, passed, dissent, explanation) = decide::verdict(scorer, &opinions);
    Ok(Heard { passed, value, explanation, judged: Judged { dissent, opinions, stage: Stage::Judge }, entries })
}

/// Asks one judge for one vote, in one order of a comparison.
pub(crate) async fn opinion(
    scorer: &JudgeScorer,
    case: &Case<'_>,
    desk: &dyn Desk,
    at: usize,
    vote: u32,
    order: Option<Order>,
) -> Result<(Opinion, Entry), JudgeError> {
    let judge = desk.judge(at);
    let sent = prompt(scorer, case, vote, order);
    let encode = |error: proofmark_canon::json::EncodeError| JudgeError::Encode(error.to_string());
    let question = question(scorer, case, judge, &sent, vote).map_err(encode)?;
    let key = question.key().map_err(encode)?;
    let entry = match desk.known(&key, &question) {
        Some(entry) => entry,
        None => {
            let said = ask(scorer, case, desk, at, sent, &format!("{vote}/{order:?}")).await?;
            let judgment = Judgment {
                judged_at: desk.judged_at().to_owned(),
                question,
                said,
                schema_version: JUDGMENT_SCHEMA,
                supersedes: None,
            };
            desk.keep(&key, judgment).map_err(JudgeError::Keep)?
        }
    };
    let said = &entry.judgment.said;
    let spoken = Spoken { verdict: said.verdict.clone(), score: said.score, reason: said.reason.clone() };
    let (value, passed) = decide::worth(scorer, &spoken, order);
    let Spoken { verdict, score, reason } = spoken;
    let (usage, id) = (said.usage, judge.plan.id.clone());
    Ok((Opinion { judge: id, key, order, passed, reason, score, usage, value, verdict, vote }, entry))
}

fn question(
    scorer: &JudgeScorer,
    case: &Case<'_>,
    judge: &Judge,
    sent: &Prompt,
    vote: u32,
) -> Result<Question, proofmark_canon::json::EncodeError> {
    #[derive(Serialize)]
    struct Answer<'a> {
        images: Vec<Digest>,
        text: &'a str,
    }
    let answer =
        Answer { images: case.pictures.iter().map(|picture| picture.facts.digest).collect(), text: case.answer };
    let shows_target = scorer.plan.reference && *case.expected != Value::Null;
    Ok(Question {
        answer: Digest::of(&proofmark_canon::to_vec(&answer)?),
        expected: shows_target.then(|| Digest::of(&case.expected.to_canonical())),
        judge: judge.plan.model.clone(),
        params: (*judge.params).clone(),
        prompt: Digest::of(&proofmark_canon::to_vec(&sent.messages)?),
        rubric: scorer.rubric_digest,
        serving: judge.serving.clone(),
        task_id: case.task_id.to_owned(),
        vote,
    })
}

/// Asks a judge until its reply has the declared form: twice at most.
async fn ask(
    scorer: &JudgeScorer,
    case: &Case<'_>,
    desk: &dyn Desk,
    at: usize,
    sent: Prompt,
    which: &str,
) -> Result<Said, JudgeError> {
    let judge = desk.judge(at);
    let mut request = Request {
        messages: sent.messages.into(),
        files: sent.files.into(),
        turns: Vec::new(),
        tools: Default::default(),
        params: judge.params.clone(),
        // Votes with one seed would be one vote.
        seed: SampleSeed::derive(u64::from(case.seed.get()), &format!("judge/{}/{which}", judge.plan.id)),
    };
    let mut usage = proofmark_artefact::record::Usage::default();
    let mut misfit = String::new();
    for asked in 1..=2 {
        let reply = desk.ask(at, &request, case.hint).await?.reply;
        let spent = reply.usage();
        usage.input_tokens = usage.input_tokens.saturating_add(spent.input_tokens);
        usage.output_tokens = usage.output_tokens.saturating_add(spent.output_tokens);
        let output = match reply {
            Reply::Answered { output, .. } => output,
            Reply::Failed { class, message, .. } => {
                return Err(JudgeError::Failed { judge: judge.plan.id.clone(), class, message });
            }
        };
        match read(scorer, &output.text) {
            Ok(Spoken { verdict, score, reason }) => {
                let reason = reason.chars().take(MAX_REASON).collect();
                let reply = Digest::of(output.text.as_bytes());
                return Ok(Said { answered_by: output.answered_by, asked, reason, reply, score, usage, verdict });
            }
            Err(why) => misfit = why,
        }
        request.turns.push(Turn::Model { text: output.text, calls: Vec::new(), keep: None });
        request.turns.push(Turn::User { text: reminder(scorer, &misfit) });
    }
    Err(JudgeError::Misfit { judge: judge.plan.id.clone(), why: misfit })
}
