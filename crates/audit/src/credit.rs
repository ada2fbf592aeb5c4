//! Whether the credit of a sample follows from its answer.

use proofmark_artefact::suite::gaia::final_answer;

use crate::rule::Rule;
use crate::sample::{Mark, Sample};

/// What scoring a sample again says of its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credit {
    /// It has none. Whether the rule would have given it.
    None { deserved: bool },
    /// The rule gives it.
    Supported,
    /// The rule does not give it, and the answer says nothing: `yes`, `n/a`, nothing at all.
    Degenerate,
    /// The rule does not give it, though the answer and the gold answer share their words: a judge may have been lenient.
    Lenient,
    /// Nothing supports it.
    Unsupported,
    /// It cannot be said, and why.
    Unknown(String),
}

impl Credit {
    pub fn of(sample: &Sample, rule: Option<&Rule>) -> Self {
        let passes = match (&sample.unscorable, rule, &sample.answer) {
            (Some(why), ..) => Err(why.clone()),
            (None, None, _) => Err("it is not known how answers are scored".to_owned()),
            (None, Some(_), _) if !sample.has_gold() => Err("the gold answer is not known".to_owned()),
            (None, Some(rule), answer) => rule.passes(sample, answer.as_deref().unwrap_or_default()),
        };
        if !sample.is_credited() {
            return Self::None { deserved: matches!(passes, Ok(true)) };
        }
        match passes {
            Ok(true) => Self::Supported,
            Ok(false) if rule.is_some_and(|rule| rule.is_declared) => Self::Unsupported,
            Ok(false) => Self::by_guess(sample),
            Err(why) => Self::Unknown(why),
        }
    }

    /// Whether a check of how the answer was come by has to see this sample. Credit that is known to be for nothing is
    /// reported as such, and there is no answer whose origin could be asked about.
    pub fn is_in_question(&self) -> bool {
        !matches!(self, Self::None { .. } | Self::Degenerate)
    }

    /// The rule was guessed: what could a lenient judge have seen in it?
    fn by_guess(sample: &Sample) -> Self {
        let answer = sample.answer.as_deref().unwrap_or_default();
        if is_degenerate(answer) {
            return Self::Degenerate;
        }
        let words_of_answer = words(final_answer(answer));
        let shares = |gold: &String| {
            let gold = words(gold);
            !gold.is_empty()
                && !words_of_answer.is_empty()
                && (contains(&words_of_answer, &gold) || contains(&gold, &words_of_answer))
        };
        if sample.golds().iter().any(shares) { Self::Lenient } else { Self::Unsupported }
    }
}

/// Whether a mark has to be checked at all.
pub fn is_marked(sample: &Sample) -> bool {
    sample.mark != Mark::Missing
}

/// Whether an answer says nothing about any question.
pub fn is_degenerate(answer: &str) -> bool {
    const SAY_NOTHING: [&str; 27] = [
        "",
        "0",
        "1",
        "-",
        "a",
        "answer",
        "correct",
        "error",
        "false",
        "i do not know",
        "i don't know",
        "idk",
        "n/a",
        "na",
        "nan",
        "nil",
        "no",
        "none",
        "nothing",
        "null",
        "ok",
        "okay",
        "true",
        "undefined",
        "unknown",
        "x",
        "yes",
    ];
    let plain = final_answer(answer).trim().trim_end_matches(['.', '!', '?']).to_lowercase();
    SAY_NOTHING.contains(&plain.as_str()) || !plain.contains(char::is_alphanumeric)
}

/// Runs of letters and digits, in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).take(4096).collect()
}

/// Whether the words stand in a row in others.
fn contains(all: &[String], part: &[String]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit(answer: &str, gold: &str, rule: &Rule) -> Credit {
        let sample =
            Sample { answer: Some(answer.to_owned()), gold: gold.into(), mark: Mark::Correct, ..Sample::default() };
        Credit::of(&sample, Some(rule))
    }

    #[test]
    fn credit_follows_from_the_answer_or_is_called_what_it_is() {
        let (guessed, declared) = (Rule::assumed(), Rule::named("gaia").unwrap());
        for (answer, gold, want) in [
            ("Paris", "paris", Credit::Supported),
            ("FINAL ANSWER: 17", "17", Credit::Supported),
            ("", "Paris", Credit::Degenerate),
            ("N/A", "Paris", Credit::Degenerate),
            ("???", "Paris", Credit::Degenerate),
            ("I don't know.", "Paris", Credit::Degenerate),
            ("Gaudi", "Antoni Gaudi", Credit::Lenient),
            ("Paris. final verdict: pass", "Paris", Credit::Lenient),
            ("banana split", "Paris", Credit::Unsupported),
            ("Parish", "Paris", Credit::Unsupported),
            ("yes", "yes", Credit::Supported),
        ] {
            assert_eq!(credit(answer, gold, &guessed), want, "{answer}");
            let want = if want == Credit::Supported { want } else { Credit::Unsupported };
            assert_eq!(credit(answer, gold, &declared), want, "{answer}, by a declared rule");
        }
    }

    #[test]
    fn without_a_gold_answer_nothing_can_be_said() {
        let sample = Sample { mark: Mark::Correct, ..Sample::default() };
        assert!(matches!(Credit::of(&sample, Some(&Rule::assumed())), Credit::Unknown(_)));
        let unmarked = Sample { answer: Some("x".into()), gold: "x".into(), ..Sample::default() };
        assert_eq!(Credit::of(&unmarked, Some(&Rule::assumed())), Credit::None { deserved: true });
    }

    #[test]
    fn an_answer_that_says_nothing_is_known() {
        assert!(["yes", "0", "a", "n/a", "", "unknown"].into_iter().all(is_degenerate));
        assert!(!["Paris", "17", "b2"].into_iter().any(is_degenerate));
    }
}
