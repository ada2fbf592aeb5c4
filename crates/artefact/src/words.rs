//! Trajectories in words, the same wherever people read them: the report, `show`, `diff`.

use crate::number::{count, counted, money};
use crate::record::{Usage, Voting, VotingRule};
use crate::trajectory::{Form, Hit, Scan, StopReason};

/// Why an agent stopped, as the end of a sentence: `stopped: …`.
pub fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Answered => "it answered",
        StopReason::Length => "its answer was cut at the most tokens that it may have",
        StopReason::Submitted => "it handed its answer in",
        StopReason::MaxTurns => "it had no turns left",
        StopReason::MaxToolCalls => "it had no tool calls left",
        StopReason::MaxTokens => "it had no tokens left",
        StopReason::Timeout => "its time was up",
        StopReason::ContextOverflow => "the conversation no longer fitted into the model",
        StopReason::ModelError => "a question to the model failed",
    }
}

/// Which attempt counts, and why.
pub fn vote(voting: &Voting) -> String {
    let all = voting.answers.len() as u64;
    let why = match voting.rule {
        VotingRule::Majority => "its answer had more votes than any other",
        VotingRule::TieFirst => "several answers had as many votes, and the first one counts",
        VotingRule::TieLast => "several answers had as many votes, and the last one counts",
        VotingRule::TieNoAnswer => "several answers had as many votes, and none counts then",
        VotingRule::NoAnswers => "no attempt had an answer",
    };
    match voting.chosen {
        Some(attempt) => {
            format!(
                "attempt {attempt} counts: {why} ({} of {})",
                count(voting.votes.into()),
                counted(all, "attempt", "attempts")
            )
        }
        None => format!("none of {} counts: {why}", counted(all, "attempt", "attempts")),
    }
}

/// What was found in a result, one sentence a find. At most `limit`, and a word on the rest.
pub fn finds(scan: &Scan, limit: usize) -> Vec<String> {
    let gold = scan.gold.iter().map(|hit| ("the gold answer", hit));
    let question = scan.question.iter().map(|hit| ("the question", hit));
    let all = scan.gold.len() + scan.question.len();
    let mut finds: Vec<String> = gold.chain(question).take(limit).map(|(what, hit)| find(what, hit)).collect();
    let more = scan.more.saturating_add((all - finds.len()) as u64);
    if more > 0 {
        finds.push(format!("and {}", counted(more, "more find", "more finds")));
    }
    finds
}

fn find(what: &str, hit: &Hit) -> String {
    let form = match hit.form {
        Form::Verbatim => "verbatim",
        Form::Folded => "but for case, marks, spaces and punctuation",
        Form::Number => "as a number that is written otherwise",
        Form::List => "as a list with other separators",
        Form::Html => "in HTML",
        Form::Url => "percent-encoded",
        Form::Json => "with JSON escapes",
        Form::Base64 => "in base64",
        Form::Hex => "in hexadecimal",
    };
    format!("{what} stands in this result at byte {}, {form}", count(hit.offset))
}

/// `12 tokens in, 3 out`, and what they cost where that is known.
pub fn tokens(usage: Usage, cost_usd: Option<f64>) -> String {
    let tokens = format!("{} in, {} out", counted(usage.input_tokens, "token", "tokens"), count(usage.output_tokens));
    match cost_usd {
        // Four decimals would show nothing at all.
        Some(cost) if cost > 0.0 && cost < 0.0001 => format!("{tokens}, under {}", money(0.0001)),
        Some(cost) => format!("{tokens}, {}", money(cost)),
        None => tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_says_who_won_and_by_what_rule() {
        let vote = |chosen, rule, votes| {
            super::vote(&Voting { answers: vec![Some("a".into()), None, Some("a".into())], chosen, rule, votes })
        };
        assert_eq!(
            vote(Some(2), VotingRule::Majority, 2),
            "attempt 2 counts: its answer had more votes than any other (2 of 3 attempts)"
        );
        assert_eq!(
            vote(None, VotingRule::TieNoAnswer, 1),
            "none of 3 attempts counts: several answers had as many votes, and none counts then"
        );
    }

    #[test]
    fn finds_beyond_the_limit_are_counted() {
        let hit = |offset| Hit { form: Form::Verbatim, length: 3, offset };
        let scan = Scan { gold: vec![hit(1234), hit(2)], more: 4, question: vec![Hit { form: Form::Hex, ..hit(9) }] };
        assert_eq!(
            finds(&scan, 1),
            ["the gold answer stands in this result at byte 1,234, verbatim", "and 6 more finds"]
        );
        assert_eq!(
            finds(&scan, 9)[2..],
            ["the question stands in this result at byte 9, in hexadecimal", "and 4 more finds"]
        );
        assert!(finds(&Scan::default(), 3).is_empty());
    }

    #[test]
    fn a_small_cost_is_not_nothing() {
        let usage = Usage { input_tokens: 1, output_tokens: 2000 };
        assert_eq!(tokens(usage, None), "1 token in, 2,000 out");
        assert_eq!(tokens(usage, Some(0.00001)), "1 token in, 2,000 out, under US$ 0.0001");
        assert_eq!(tokens(usage, Some(0.5)), "1 token in, 2,000 out, US$ 0.5000");
        assert_eq!(tokens(usage, Some(0.0)), "1 token in, 2,000 out, US$ 0.00");
    }
}
