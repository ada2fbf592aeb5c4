//! Which of several answers counts.

use proofmark_artefact::record::{Voting, VotingRule};
use proofmark_artefact::suite::config::Tie;

use super::Attempt;

/// Elects the answer that most attempts gave. Attempts without an answer, or with an empty one, have no vote.
pub(crate) fn elect(attempts: &[Attempt], tie: Tie) -> Voting {
    let answers: Vec<Option<String>> = attempts.iter().map(|attempt| attempt.final_answer.clone()).collect();
    // In the order in which they were first given: how many gave it, the first and the last who did.
    let mut counts: Vec<(String, u32, usize, usize)> = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Some(answer) = answer.as_deref().map(compared).filter(|answer| !answer.is_empty()) else { continue };
        match counts.iter_mut().find(|(known, ..)| *known == answer) {
            Some((_, votes, _, last)) => {
                *votes += 1;
                *last = at;
            }
            None => counts.push((answer, 1, at, at)),
        }
    }
    let most = counts.iter().map(|(_, votes, ..)| *votes).max().unwrap_or(0);
    let best: Vec<_> = counts.iter().filter(|(_, votes, ..)| *votes == most).collect();
    let (chosen, rule) = match (best.as_slice(), tie) {
        ([], _) => (None, VotingRule::NoAnswers),
        ([(_, _, first, _)], _) => (Some(*first), VotingRule::Majority),
        ([(_, _, first, _), ..], Tie::First) => (Some(*first), VotingRule::TieFirst),
        (several, Tie::Last) => (several.iter().map(|(.., last)| *last).max(), VotingRule::TieLast),
        (_, Tie::NoAnswer) => (None, VotingRule::TieNoAnswer),
    };
    Voting { answers, chosen: chosen.map(|at| at as u32), rule, votes: most }
}

/// What votes compare: the answer without regard to case, white space and a full stop at its end.
fn compared(answer: &str) -> String {
    let words: Vec<String> = answer.split_whitespace().map(str::to_lowercase).collect();
    let joined = words.join(" ");
    joined.strip_suffix('.').map_or_else(|| joined.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voted(answers: &[Option<&str>], tie: Tie) -> (Option<u32>, VotingRule, u32) {
        let attempt = |answer: &Option<&str>| Attempt { final_answer: answer.map(str::to_owned), ..Attempt::default() };
        let voting = elect(&answers.iter().map(attempt).collect::<Vec<_>>(), tie);
        assert_eq!(voting.answers.len(), answers.len());
        (voting.chosen, voting.rule, voting.votes)
    }

    #[test]
    fn the_answer_that_most_attempts_gave_counts_as_it_was_first_written() {
        let paris = [Some("Lyon"), Some("Paris"), Some(" paris. "), None];
        assert_eq!(voted(&paris, Tie::First), (Some(1), VotingRule::Majority, 2));
        assert_eq!(voted(&[Some("a")], Tie::NoAnswer), (Some(0), VotingRule::Majority, 1));
    }

    #[test]
    fn a_tie_goes_as_the_suite_says() {
        let tied = [Some("a"), Some("b"), Some("B"), Some("A"), Some("c")];
        assert_eq!(voted(&tied, Tie::First), (Some(0), VotingRule::TieFirst, 2));
        assert_eq!(voted(&tied, Tie::Last), (Some(3), VotingRule::TieLast, 2));
        assert_eq!(voted(&tied, Tie::NoAnswer), (None, VotingRule::TieNoAnswer, 2));
    }

    #[test]
    fn attempts_without_an_answer_elect_nobody() {
        assert_eq!(voted(&[None, None], Tie::First), (None, VotingRule::NoAnswers, 0));
        assert_eq!(voted(&[Some("a"), Some(""), Some(" ")], Tie::Last), (Some(0), VotingRule::Majority, 1));
        assert_eq!(voted(&[], Tie::Last), (None, VotingRule::NoAnswers, 0));
    }
}
