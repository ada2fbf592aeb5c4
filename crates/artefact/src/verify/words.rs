//! What a rung proves and what it does not, in one sentence each.

use super::ladder::{InputsSeen, LiveReport, Rung};
use crate::number::percent;

/// What is known once this rung holds with all below it.
pub(super) fn proves(reached: Option<Rung>, inputs: InputsSeen, gaps: &[String], live: Option<&LiveReport>) -> String {
    // What was not looked at is not claimed.
    let inputs = match inputs {
        InputsSeen::All => Some("the inputs are the ones"),
        InputsSeen::Some => Some("the inputs that could be looked at are the ones"),
        InputsSeen::None => None,
    };
    let mut text = match reached {
        None => return "nothing".to_owned(),
        Some(Rung::Inputs) => match inputs {
            Some(inputs) => format!("{inputs} that the report says the run was fed"),
            None => "the witness says which inputs the run was fed; none of them was looked at".to_owned(),
        },
        Some(Rung::Artefacts) => {
            let unchanged = "no file of the run changed since its witness was written";
            inputs.map_or(unchanged.to_owned(), |inputs| format!("{inputs} the run was fed, and {unchanged}"))
        }
        Some(Rung::Scores) => {
            "the files are as the run left them, and every score and total follows from the recorded answers by the \
             suite's own scorers"
                .to_owned()
        }
        Some(Rung::Reexecution) => {
            "the harness gives the same records, scores and totals again, byte for byte, from the recorded responses"
                .to_owned()
        }
        Some(Rung::Live) => match live {
            Some(live) => format!(
                "every score and total follows from the recorded answers, and {} of {} samples that were asked again \
                 pass or fail as recorded ({} to {} with 95 % confidence)",
                live.outcome.agree,
                live.outcome.of,
                percent(live.outcome.interval.low),
                percent(live.outcome.interval.high)
            ),
            None => "samples that were asked again pass or fail as recorded".to_owned(),
        },
    };
    if !gaps.is_empty() {
        text.push_str(&format!("; left open: {}", gaps.join("; ")));
    }
    text
}

/// What nobody should take it for.
pub(super) fn does_not_prove(reached: Option<Rung>) -> &'static str {
    match reached {
        None => "anything about the run",
        Some(Rung::Inputs) => {
            "that the run's results are what it came to: its records, scores and totals were not looked at"
        }
        Some(Rung::Artefacts) => {
            "who wrote the witness: whoever edits a file and every digest of it, the witness included, is found by a \
             signature only; nor that the scores follow from the answers"
        }
        Some(Rung::Scores) => {
            "that a model gave the recorded answers: answers that were made up together with their scores and digests \
             would pass"
        }
        Some(Rung::Reexecution) => {
            "that the responses came from the models that are named: a cassette that was made up would pass"
        }
        Some(Rung::Live) => {
            "that the models then were the ones that answer today, or that no other run was thrown away"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_has_its_own_two_sentences_without_a_full_stop() {
        let all: Vec<Option<Rung>> = [None].into_iter().chain(Rung::ALL.map(Some)).collect();
        let mut seen = std::collections::BTreeSet::new();
        for rung in all {
            for text in [proves(rung, InputsSeen::All, &[], None), does_not_prove(rung).to_owned()] {
                assert!(!text.ends_with('.') && seen.insert(text.clone()), "{text}");
            }
        }
        let text =
            proves(Some(Rung::Inputs), InputsSeen::Some, &["1 of 5 inputs could not be checked".to_owned()], None);
        assert!(text.ends_with("; left open: 1 of 5 inputs could not be checked"), "{text}");
    }

    #[test]
    fn nothing_is_claimed_of_inputs_that_were_not_looked_at() {
        let text = |inputs| proves(Some(Rung::Artefacts), inputs, &[], None);
        assert!(text(InputsSeen::All).starts_with("the inputs are the ones the run was fed, and no file"));
        assert!(text(InputsSeen::Some).starts_with("the inputs that could be looked at are the ones the run was fed"));
        assert_eq!(text(InputsSeen::None), "no file of the run changed since its witness was written");
    }
}
