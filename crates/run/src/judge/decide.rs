//! What needs no judge, and how opinions become one verdict.

use std::borrow::Cow;

use proofmark_artefact::record::{Opinion, Order, Stage};
use proofmark_artefact::suite::judge::{JudgeMode, ScoreRange};
use proofmark_artefact::text::{cut, excerpt};
use proofmark_canon::Value;
use proofmark_canon::math::ExactSum;

use super::reply::Spoken;
use super::same::same;
use super::{Case, JudgeError, JudgeScorer};
use crate::scorer::Verdict;

/// What is decided without a judge: the stage, and whether the answer passes. `Err` when the case cannot be judged.
///
/// Whether a case can be judged does not depend on the answer. An answer that is nothing never passes, even where the
/// target is nothing.
pub(crate) fn before(scorer: &JudgeScorer, case: &Case<'_>) -> Result<Option<(Stage, bool)>, JudgeError> {
    let item = || excerpt(case.hint.item_id, 80);
    if scorer.plan.reference && case.expected.is_null() {
        return Err(JudgeError::NoTarget(item()));
    }
    if scorer.plan.mode == JudgeMode::Pairwise && other(scorer, case).is_none() {
        let column = scorer.plan.against.as_deref().unwrap_or("target");
        return Err(JudgeError::NoOther { item: item(), column: column.to_owned() });
    }
    if case.answer.trim().is_empty() && case.pictures.is_empty() {
        return Ok(Some((Stage::Empty, false)));
    }
    let decided = if scorer.plan.first { same(case.answer, case.expected) } else { None };
    Ok(decided.map(|stage| (stage, true)))
}

/// The answer that a case's is compared with: the column's, or the target where the suite names no column. `None` when
/// there is nothing in it, which anything would be better than.
pub(super) fn other<'a>(scorer: &JudgeScorer, case: &Case<'a>) -> Option<Cow<'a, str>> {
    let target = || match (&scorer.plan.against, case.expected) {
        (Some(_), _) | (None, Value::Null) => None,
        (None, Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
        (None, other) => Some(Cow::Owned(other.to_plain_text())),
    };
    case.other.map(Cow::Borrowed).or_else(target).filter(|text| !text.trim().is_empty())
}

/// What one reply is worth: value, and whether it passes.
///
/// A number decides where the suite asks for one, but an answer that a judge calls by a word worth nothing does not pass,
/// whatever its number. A word or a number outside of the declared form is worth nothing.
pub(crate) fn worth(scorer: &JudgeScorer, spoken: &Spoken, order: Option<Order>) -> (f64, bool) {
    let plan = &scorer.plan;
    let word = match (plan.mode, order, spoken.verdict.as_str()) {
        (JudgeMode::Single, _, word) => plan.verdicts.get(word).copied().unwrap_or(0.0),
        (JudgeMode::Pairwise, _, "tie") => TIE,
        (JudgeMode::Pairwise, Some(Order::AnswerFirst), "first") => 1.0,
        (JudgeMode::Pairwise, Some(Order::AnswerSecond), "second") => 1.0,
        (JudgeMode::Pairwise, ..) => 0.0,
    };
    let value = match (plan.score, spoken.score) {
        (None, _) => word,
        (Some(ScoreRange { min, max }), Some(score)) if (min..=max).contains(&score) => {
            ((score - min) / (max - min)).clamp(0.0, 1.0)
        }
        (Some(_), _) => 0.0,
    };
    (value, word > 0.0 && value >= plan.pass)
}

/// One verdict out of all opinions: value, whether it passes, how many are against it, and why in one line.
///
/// - The two orders of a comparison count as one vote: better when both say so, worse when both do, else a tie.
/// - A judge passes the answer when more than half of its votes do; the panel when more than half of its judges do.
/// - The value is the mean over judges of the mean over votes.
pub(crate) fn verdict(scorer: &JudgeScorer, opinions: &[Opinion]) -> (f64, bool, u32, String) {
    let judges: Vec<Bench<'_>> =
        opinions.chunk_by(|a, b| a.judge == b.judge).map(|opinions| Bench::new(scorer, opinions)).collect();
    let mut sum = ExactSum::default();
    judges.iter().for_each(|judge| sum.add(judge.value));
    let value = sum.mean(judges.len() as u64).unwrap_or(0.0).clamp(0.0, 1.0);
    let passing = judges.iter().filter(|judge| judge.passed).count();
    let passed = 2 * passing > judges.len();
    let dissent = opinions.iter().filter(|opinion| opinion.passed != passed).count();
    let explanation = explain(&judges, passing, passed);
    (value, passed, u32::try_from(dissent).unwrap_or(u32::MAX), explanation)
}

/// One judge and what its votes come to.
struct Bench<'a> {
    opinions: &'a [Opinion],
    /// What each vote comes to.
    votes: Vec<Vote<'a>>,
    value: f64,
    passed: bool,
}

struct Vote<'a> {
    said: Cow<'a, str>,
    value: f64,
    passed: bool,
}

impl<'a> Bench<'a> {
    fn new(scorer: &JudgeScorer, opinions: &'a [Opinion]) -> Self {
        let votes: Vec<Vote<'a>> =
            opinions.chunk_by(|a, b| a.vote == b.vote).map(|opinions| Vote::new(scorer, opinions)).collect();
        let mut sum = ExactSum::default();
        votes.iter().for_each(|vote| sum.add(vote.value));
        let value = sum.mean(votes.len() as u64).unwrap_or(0.0);
        let passed = 2 * votes.iter().filter(|vote| vote.passed).count() > votes.len();
        Self { opinions, votes, value, passed }
    }

    fn describe(&self) -> String {
        let id = excerpt(self.opinions.first().map_or("", |opinion| &opinion.judge), 60);
        match &self.votes[..] {
            [only] => format!("{id} {}", only.said),
            votes => {
                let passing = votes.iter().filter(|vote| vote.passed).count();
                let unsteady = votes.iter().filter(|vote| vote.said == INCONSISTENT).count();
                let unsteady = if unsteady == 0 { String::new() } else { format!(", {unsteady} {INCONSISTENT}") };
                format!("{id} {passing} of {} votes pass{unsteady}", votes.len())
            }
        }
    }

    /// The words of the first vote that is as the judge's whole: what it says for itself.
    fn reason(&self) -> &'a str {
        let speaks = self.opinions.iter().find(|opinion| opinion.passed == self.passed);
        speaks.or(self.opinions.first()).map_or("", |opinion| &opinion.reason)
    }
}

impl<'a> Vote<'a> {
    fn new(scorer: &JudgeScorer, opinions: &'a [Opinion]) -> Self {
        match opinions {
            [only] => {
                let said = match only.score {
                    Some(score) => Cow::Owned(format!("{} {score}", excerpt(&only.verdict, 40))),
                    None => Cow::Owned(excerpt(&only.verdict, 40)),
                };
                Self { said, value: only.value, passed: only.passed }
            }
            both => {
                let is_all = |value: f64| both.iter().all(|opinion| opinion.value.total_cmp(&value).is_eq());
                let (said, value) = match () {
                    () if is_all(1.0) => ("better", 1.0),
                    () if is_all(0.0) => ("worse", 0.0),
                    () if is_all(TIE) => ("tie", TIE),
                    () => (INCONSISTENT, TIE),
                };
                Self { said: Cow::Borrowed(said), value, passed: value >= scorer.plan.pass }
            }
        }
    }
}

/// One line: who is for it, what each judge said, and reasons as far as there is room, those against the verdict first.
fn explain(judges: &[Bench<'_>], passing: usize, passed: bool) -> String {
    let mut heads: Vec<String> = judges.iter().map(Bench::describe).collect();
    let lead = match judges.len() {
        0 => return "no judge was asked".to_owned(),
        1 => String::new(),
        count => format!("{passing} of {count} judges pass it: "),
    };
    let length = |heads: &[String]| heads.iter().map(|head| head.chars().count() + 2).sum::<usize>();
    let mut order: Vec<usize> = (0..judges.len()).collect();
    order.sort_by_key(|at| judges[*at].passed == passed);
    let room = Verdict::MAX_EXPLANATION.saturating_sub(lead.chars().count() + length(&heads));
    let each = (room / judges.len()).saturating_sub(AROUND).min(MAX_SHOWN_REASON);
    for at in order {
        let reason = excerpt(judges[at].reason(), MAX_SHOWN_REASON);
        if each >= MIN_SHOWN_REASON && !reason.is_empty() {
            heads[at].push_str(&format!(" (\"{}\")", cut(&reason, each)));
        }
    }
    cut(&format!("{lead}{}", heads.join(", ")), Verdict::MAX_EXPLANATION)
}

/// Two answers are equally good, or a judge that changed its mind with their order cannot tell them apart.
const TIE: f64 = 0.5;

/// A judge that names another answer once they have changed places.
const INCONSISTENT: &str = "inconsistent";

/// Brackets, quotes and spaces around a reason.
const AROUND: usize = 5;
const MAX_SHOWN_REASON: usize = 240;
const MIN_SHOWN_REASON: usize = 16;

#[cfg(test)]
mod tests {
    use super::super::testing::{case, json, pairwise, scored, single};
    use super::*;
    use proofmark_artefact::record::Usage;
    use proofmark_canon::Digest;

    #[test]
    fn the_target_passes_without_a_judge_and_nothing_fails_without_one() {
        let expected = json(r#"["Paris", "Lutetia"]"#);
        for (answer, want) in [
            ("Paris", Some((Stage::Exact, true))),
            ("lutetia.", Some((Stage::Normalised, true))),
            ("It is Paris", None),
            ("London", None),
            ("", Some((Stage::Empty, false))),
            (" \n\u{a0}", Some((Stage::Empty, false))),
        ] {
            assert_eq!(before(&single(), &case(answer, &expected)), Ok(want), "{answer:?}");
        }
        let mut scorer = single();
        scorer.plan.first = false;
        assert_eq!(before(&scorer, &case("Paris", &expected)), Ok(None));
        assert_eq!(before(&single(), &case("", &json("\"\""))), Ok(Some((Stage::Empty, false))));
    }

    #[test]
    fn a_case_that_lacks_something_is_an_error_whatever_the_answer() {
        let null = Value::Null;
        for answer in ["", "x"] {
            assert_eq!(before(&single(), &case(answer, &null)), Err(JudgeError::NoTarget("chad".to_owned())));
            let mut scorer = pairwise();
            let no_other =
                |column: &str| Err(JudgeError::NoOther { item: "chad".to_owned(), column: column.to_owned() });
            assert_eq!(before(&scorer, &case(answer, &null)), no_other("target"));
            scorer.plan.against = Some("baseline".to_owned());
            assert_eq!(before(&scorer, &case(answer, &json("\"gold\""))), no_other("baseline"));
            let blank = Case { other: Some(" "), ..case(answer, &null) };
            assert_eq!(before(&scorer, &blank), no_other("baseline"));
        }
        let mut scorer = single();
        scorer.plan.reference = false;
        assert_eq!(before(&scorer, &case("x", &null)), Ok(None));
    }

    fn says(word: &str, score: Option<f64>) -> Spoken {
        Spoken { verdict: word.to_owned(), score, reason: "r".to_owned() }
    }

    #[test]
    fn a_reply_is_worth_its_word_or_its_number() {
        let mut graded = single();
        graded.plan.verdicts.insert("partly".to_owned(), 0.5);
        graded.plan.pass = 0.5;
        for (scorer, spoken, want) in [
            (&single(), says("pass", None), (1.0, true)),
            (&single(), says("fail", None), (0.0, false)),
            (&single(), says("unheard-of", None), (0.0, false)),
            (&graded, says("partly", None), (0.5, true)),
            (&scored(), says("pass", Some(4.0)), (0.75, true)),
            (&scored(), says("pass", Some(3.0)), (0.5, false)),
            (&scored(), says("fail", Some(5.0)), (1.0, false)),
            (&scored(), says("pass", Some(6.0)), (0.0, false)),
            (&scored(), says("pass", Some(f64::NAN)), (0.0, false)),
            (&scored(), says("pass", None), (0.0, false)),
        ] {
            assert_eq!(worth(scorer, &spoken, None), want, "{spoken:?}");
        }
        let (first, second) = (Some(Order::AnswerFirst), Some(Order::AnswerSecond));
        for (word, order, want) in [
            ("first", first, (1.0, true)),
            ("second", first, (0.0, false)),
            ("first", second, (0.0, false)),
            ("second", second, (1.0, true)),
            ("tie", first, (0.5, false)),
            ("tie", second, (0.5, false)),
            ("third", second, (0.0, false)),
            ("first", None, (0.0, false)),
        ] {
            assert_eq!(worth(&pairwise(), &says(word, None), order), want, "{word} {order:?}");
        }
        let mut lenient = pairwise();
        lenient.plan.pass = 0.5;
        assert_eq!(worth(&lenient, &says("tie", None), first), (0.5, true));
    }

    fn opinion(scorer: &JudgeScorer, judge: &str, vote: u32, order: Option<Order>, word: &str) -> Opinion {
        let (value, passed) = worth(scorer, &says(word, None), order);
        Opinion {
            judge: judge.to_owned(),
            key: Digest::of(b"k"),
            order,
            passed,
            reason: format!("{judge} has its reasons"),
            score: None,
            usage: Usage::default(),
            value,
            verdict: word.to_owned(),
            vote,
        }
    }

    /// Opinions out of `judge: word word`, one word a vote.
    fn panel(scorer: &JudgeScorer, said: &[(&str, &[&str])]) -> Vec<Opinion> {
        let each = |(judge, words): &(&str, &[&str])| -> Vec<Opinion> {
            (0..).zip(*words).map(|(vote, word)| opinion(scorer, judge, vote, None, word)).collect()
        };
        said.iter().flat_map(each).collect()
    }

    #[test]
    fn the_majority_of_judges_decides_and_a_draw_does_not_pass() {
        let scorer = single();
        let third = 1.0 / 3.0;
        type Said<'a> = &'a [(&'a str, &'a [&'a str])];
        let table: [(Said<'_>, f64, bool, u32); 7] = [
            (&[("a", &["pass"])], 1.0, true, 0),
            (&[("a", &["pass"]), ("b", &["pass"]), ("c", &["fail"])], 2.0 * third, true, 1),
            (&[("a", &["pass"]), ("b", &["fail"])], 0.5, false, 1),
            (&[("a", &["pass", "pass", "fail"])], 2.0 * third, true, 1),
            (&[("a", &["pass", "fail"])], 0.5, false, 1),
            // Two judges of three, though most votes are against it.
            (
                &[("a", &["pass", "pass", "fail"]), ("b", &["pass", "pass", "fail"]), ("c", &["fail", "fail", "fail"])],
                4.0 / 9.0,
                true,
                5,
            ),
            (&[], 0.0, false, 0),
        ];
        for (said, value, passed, dissent) in table {
            let (found, found_passed, found_dissent, why) = verdict(&scorer, &panel(&scorer, said));
            assert!((found - value).abs() < 1e-12, "{why}: {found}");
            assert_eq!((found_passed, found_dissent), (passed, dissent), "{why}");
        }
    }

    #[test]
    fn an_explanation_says_who_said_what() {
        let scorer = single();
        let why = |said: &[(&str, &[&str])]| verdict(&scorer, &panel(&scorer, said)).3;
        assert_eq!(why(&[("gpt", &["pass"])]), r#"gpt pass ("gpt has its reasons")"#);
        assert_eq!(
            why(&[("gpt", &["pass"]), ("local", &["fail"]), ("x", &["pass"])]),
            r#"2 of 3 judges pass it: gpt pass ("gpt has its reasons"), local fail ("local has its reasons"), x pass ("x has its reasons")"#
        );
        assert_eq!(why(&[("gpt", &["pass", "fail", "pass"])]), r#"gpt 2 of 3 votes pass ("gpt has its reasons")"#);
        assert_eq!(why(&[]), "no judge was asked");
    }

    #[test]
    fn both_orders_of_a_comparison_are_one_vote() {
        let scorer = pairwise();
        for (first, second, value, passed, dissent, word) in [
            ("first", "second", 1.0, true, 0, "better"),
            ("second", "first", 0.0, false, 0, "worse"),
            ("tie", "tie", 0.5, false, 0, "tie"),
            ("first", "first", 0.5, false, 1, "inconsistent"),
            ("second", "second", 0.5, false, 1, "inconsistent"),
            ("first", "tie", 0.5, false, 1, "inconsistent"),
            ("tie", "first", 0.5, false, 0, "inconsistent"),
        ] {
            let both = [
                opinion(&scorer, "a", 0, Some(Order::AnswerFirst), first),
                opinion(&scorer, "a", 0, Some(Order::AnswerSecond), second),
            ];
            let found = verdict(&scorer, &both);
            assert_eq!((found.0, found.1, found.2), (value, passed, dissent), "{first} {second}");
            assert!(found.3.starts_with(&format!("a {word} (")), "{}", found.3);
        }
    }

    #[test]
    fn an_explanation_is_one_printable_line_of_bounded_length() {
        let scorer = single();
        for count in [1, 2, 9, 40] {
            let mut opinions = Vec::new();
            for at in 0..count {
                let mut opinion = opinion(&scorer, &format!("judge-{at}"), 0, None, "pass");
                opinion.reason = "long\nand \u{1b}[31m\u{202e}odd ".repeat(200);
                opinions.push(opinion);
            }
            let why = verdict(&scorer, &opinions).3;
            assert!(why.chars().count() <= Verdict::MAX_EXPLANATION, "{why}");
            assert!(!why.contains(char::is_control) && !why.contains('\u{202e}'), "{why}");
        }
    }
}
