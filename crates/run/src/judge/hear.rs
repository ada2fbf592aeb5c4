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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};
    use std::sync::{Arc, Mutex};

    use proofmark_artefact::record::Usage;
    use proofmark_artefact::suite::plan::ModelPlan;
    use proofmark_model::{Ask, Asking, Class, Hint, Model, Stop};

    use super::super::testing::{case, json, pairwise, single};
    use super::*;

    const PASS: &str = r#"{"reason": "right", "verdict": "pass"}"#;
    const FAIL: &str = r#"{"reason": "wrong", "verdict": "fail"}"#;

    /// Judges who say what they are told to, one reply after the other, and a shelf that keeps it.
    #[derive(Default)]
    struct Scripted {
        judges: Vec<Judge>,
        replies: Mutex<Vec<VecDeque<Result<Reply, Stop>>>>,
        asked: Mutex<Vec<(usize, Request)>>,
        kept: Mutex<BTreeMap<Digest, Entry>>,
    }

    struct Mute;

    impl Model for Mute {
        fn ask<'a>(&'a self, _: Ask<'a>) -> Asking<'a> {
            unreachable!("the desk answers for it")
        }
    }

    impl Scripted {
        fn new(said: &[&[&str]]) -> Self {
            let usage = Usage { input_tokens: 10, output_tokens: 2 };
            let replies = said.iter().map(|said| said.iter().map(|text| Ok(Reply::of_text(*text, usage))).collect());
            let judge = |at: usize| Judge {
                plan: ModelPlan::named(format!("judge-{at}"), format!("offline:judge-{at}")),
                model: Arc::new(Mute),
                params: Arc::default(),
                serving: String::new(),
            };
            let judges = (0..said.len()).map(judge).collect();
            Self { judges, replies: Mutex::new(replies.collect()), ..Self::default() }
        }

        fn asked(&self) -> Vec<usize> {
            self.asked.lock().unwrap().iter().map(|(judge, _)| *judge).collect()
        }
    }

    impl Desk for Scripted {
        fn judge(&self, at: usize) -> &Judge {
            &self.judges[at]
        }

        fn known(&self, key: &Digest, question: &Question) -> Option<Entry> {
            let entry = self.kept.lock().unwrap().get(key).cloned();
            assert!(entry.as_ref().is_none_or(|entry| entry.judgment.question == *question));
            entry
        }

        fn ask<'a>(&'a self, judge: usize, request: &'a Request, _: Hint<'a>) -> Asking<'a> {
            self.asked.lock().unwrap().push((judge, request.clone()));
            let reply = self.replies.lock().unwrap()[judge].pop_front().expect("one reply for every question");
            Box::pin(async { reply.map(Into::into) })
        }

        fn keep(&self, key: &Digest, judgment: Judgment) -> Result<Entry, String> {
            let entry = Entry { judgment, signature: None };
            assert!(self.kept.lock().unwrap().insert(*key, entry.clone()).is_none(), "kept twice");
            Ok(entry)
        }

        fn judged_at(&self) -> &str {
            "2026-01-01T00:00:00Z"
        }
    }

    /// A panel of as many judges as the desk has.
    fn panel(desk: &Scripted, scorer: JudgeScorer) -> JudgeScorer {
        JudgeScorer { judges: (0..desk.judges.len()).collect(), ..scorer }
    }

    fn hear_now(scorer: &JudgeScorer, case: &Case<'_>, desk: &Scripted) -> Result<Heard, JudgeError> {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(hear(scorer, case, desk))
    }

    #[test]
    fn what_needs_no_judge_asks_none() {
        let expected = json("\"N'Djamena\"");
        let desk = Scripted::new(&[&[]]);
        for (answer, stage, passed) in
            [("N'Djamena", Stage::Exact, true), ("n'djamena.", Stage::Normalised, true), (" ", Stage::Empty, false)]
        {
            let heard = hear_now(&single(), &case(answer, &expected), &desk).unwrap();
            assert_eq!((heard.judged.stage, heard.passed, heard.entries.len()), (stage, passed, 0));
        }
        assert!(matches!(hear_now(&single(), &case("x", &Value::Null), &desk), Err(JudgeError::NoTarget(_))));
        assert!(desk.asked().is_empty());
    }

    #[test]
    fn a_reply_that_does_not_fit_is_asked_for_once_more() {
        let expected = json("\"x\"");
        let desk = Scripted::new(&[&["It passes!", PASS]]);
        let heard = hear_now(&single(), &case("y", &expected), &desk).unwrap();
        assert!(heard.passed && heard.judged.stage == Stage::Judge);
        let said = &heard.entries[0].judgment.said;
        assert_eq!((said.asked, said.usage.input_tokens, said.usage.output_tokens), (2, 20, 4));
        let asked = desk.asked.lock().unwrap();
        let [Turn::Model { text, .. }, Turn::User { text: reminder }] = &asked[1].1.turns[..] else { panic!() };
        assert_eq!(text, "It passes!");
        assert!(reminder.contains("it is not one JSON object and nothing else") && !reminder.contains("It passes"));
        assert_eq!(asked[0].1.messages, asked[1].1.messages);
    }

    #[test]
    fn a_second_misfit_is_an_error_and_nothing_is_kept() {
        let expected = json("\"x\"");
        let desk = Scripted::new(&[&["pass", "{\"verdict\": \"pass\"}", PASS]]);
        let error = hear_now(&single(), &case("y", &expected), &desk).unwrap_err();
        let why = "it has no member `reason`".to_owned();
        assert_eq!(error, JudgeError::Misfit { judge: "judge-0".to_owned(), why });
        assert_eq!(desk.asked().len(), 2);
        assert!(desk.kept.lock().unwrap().is_empty());
    }

    #[test]
    fn a_judge_that_fails_or_stops_gives_no_verdict() {
        let expected = json("\"x\"");
        let desk = Scripted::new(&[&[PASS], &[]]);
        desk.replies.lock().unwrap()[1].push_back(Ok(Reply::failed(Class::Server, "broken")));
        let error = hear_now(&panel(&desk, single()), &case("y", &expected), &desk).unwrap_err();
        assert!(
            matches!(&error, JudgeError::Failed { judge, message, .. } if judge == "judge-1" && message == "broken")
        );
        let desk = Scripted::new(&[&[]]);
        desk.replies.lock().unwrap()[0].push_back(Err(Stop { message: "no key".to_owned(), hint: None }));
        assert!(matches!(hear_now(&single(), &case("y", &expected), &desk), Err(JudgeError::Stop(_))));
    }

    #[test]
    fn known_judgments_are_not_asked_for_and_give_the_same() {
        let expected = json("\"x\"");
        let desk = Scripted::new(&[&[PASS, FAIL, PASS, FAIL]]);
        let mut scorer = single();
        scorer.plan.votes = 3;
        let cold = hear_now(&scorer, &case("y", &expected), &desk).unwrap();
        let warm = hear_now(&scorer, &case("y", &expected), &desk).unwrap();
        assert_eq!(cold, warm);
        assert_eq!(desk.asked().len(), 3);
        assert!(cold.passed && cold.judged.dissent == 1 && cold.entries.len() == 3);
        // Another answer, target or rubric is another question.
        let other = json("\"z\"");
        for (rubric, answer, expected) in [("", "yy", &expected), ("", "y", &other), ("other", "y", &expected)] {
            let mut desk = Scripted::new(&[&[FAIL]]);
            *desk.kept.get_mut().unwrap() = BTreeMap::from_iter(
                cold.entries.iter().map(|entry| (entry.judgment.question.key().unwrap(), entry.clone())),
            );
            let mut scorer = single();
            scorer.rubric.push_str(rubric);
            scorer.rubric_digest = Digest::of(scorer.rubric.as_bytes());
            hear_now(&scorer, &case(answer, expected), &desk).unwrap();
            assert_eq!(desk.asked().len(), 1, "{rubric} {answer}");
        }
    }

    #[test]
    fn every_vote_of_every_judge_is_a_question_of_its_own() {
        let expected = json("\"x\"");
        let desk = Scripted::new(&[&[PASS, PASS], &[PASS, PASS], &[FAIL, FAIL]]);
        let mut scorer = panel(&desk, single());
        scorer.plan.votes = 2;
        let heard = hear_now(&scorer, &case("y", &expected), &desk).unwrap();
        assert_eq!(desk.asked(), [0, 0, 1, 1, 2, 2]);
        assert_eq!((heard.passed, heard.judged.dissent), (true, 2));
        assert!(
            heard.explanation.starts_with("2 of 3 judges pass it: judge-0 2 of 2 votes pass"),
            "{}",
            heard.explanation
        );
        let mut keys: Vec<Digest> = heard.judged.opinions.iter().map(|opinion| opinion.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!((keys.len(), heard.entries.len()), (6, 6));
    }

    #[test]
    fn a_comparison_is_asked_in_both_orders() {
        let expected = json("null");
        for (first, second, value, word) in [
            ("first", "second", 1.0, "better"),
            ("first", "first", 0.5, "inconsistent"),
            ("second", "first", 0.0, "worse"),
        ] {
            let says = [first, second].map(|word| format!("{{\"reason\": \"r\", \"verdict\": \"{word}\"}}"));
            let desk = Scripted::new(&[&[&says[0], &says[1]]]);
            let heard = hear_now(&pairwise(), &Case { other: Some("b"), ..case("a", &expected) }, &desk).unwrap();
            assert_eq!((heard.value, heard.passed), (value, value > 0.75));
            assert!(heard.explanation.contains(word));
            let orders: Vec<_> = heard.judged.opinions.iter().map(|opinion| opinion.order).collect();
            assert_eq!(orders, [Some(Order::AnswerFirst), Some(Order::AnswerSecond)]);
        }
    }
}
