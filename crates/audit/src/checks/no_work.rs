//! AUD-2: credit for which nothing was done.

use proofmark_artefact::audit::Severity;

use super::{Outcome, Scene};
use crate::kept::finding;
use crate::sample::{Origin, Sample};
use crate::seen::{Seen, is_token_count_of};

pub(super) fn run(scene: &Scene<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut without = 0u64;
    for (sample, credit, seen) in scene.all().filter(|(sample, ..)| sample.is_credited()) {
        if credit.is_in_question() {
            outcome.coverage.of += 1;
            outcome.coverage.seen += u64::from(seen.trajectories > 0);
            without += u64::from(seen.trajectories == 0);
        }
        if let Some((name, why)) = idleness(sample, seen, scene.facts.origin) {
            outcome.kept.push(finding(Severity::Critical, name, sample, format!("marked as correct, but {why}")));
        }
    }
    if without > 0 {
        outcome.gaps.push(format!("{without} of {} samples have no trajectory", outcome.coverage.of));
    }
    outcome
}

/// What shows that nothing was done for a sample.
fn idleness(sample: &Sample, seen: &Seen, origin: Origin) -> Option<(&'static str, String)> {
    let tokens = sample.output_tokens.or(seen.output_tokens);
    // Our own harness writes zeros for a model that does not count.
    let is_uncounted =
        origin == Origin::Own && sample.output_tokens == Some(0) && sample.input_tokens.unwrap_or_default() == 0;
    if sample.turns == Some(0) {
        return Some(("no_turns", "it has no turns".to_owned()));
    }
    if tokens == Some(0) && !is_uncounted {
        return Some(("no_output_tokens", "the model has put out no tokens".to_owned()));
    }
    if seen.trajectories > 0 {
        if seen.steps == 0 {
            return Some(("empty_trajectory", "its trajectory is empty".to_owned()));
        }
        if seen.model_calls == 0 {
            return Some(("no_model_call", "its trajectory has no call of a model".to_owned()));
        }
        if let Some(why) = &seen.token_mismatch {
            return Some(("token_mismatch", why.clone()));
        }
    }
    let answer_bytes = sample.answer.as_deref().map_or(0, str::len) as u64;
    let bytes = answer_bytes.max(seen.said_bytes);
    match tokens {
        Some(tokens) if !is_uncounted && !is_token_count_of(tokens, bytes) => {
            Some(("token_mismatch", format!("{bytes} bytes are said to be {tokens} tokens")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_done_is_seen_in_turns_tokens_and_steps() {
        let sample = Sample { turns: Some(2), output_tokens: Some(20), input_tokens: Some(9), ..Sample::default() };
        let seen = Seen { trajectories: 1, steps: 3, model_calls: 1, said_bytes: 40, ..Seen::default() };
        let none = |sample: &Sample| Sample { output_tokens: None, ..sample.clone() };
        for (sample, seen, want) in [
            (sample.clone(), seen.clone(), None),
            (Sample { turns: Some(0), ..sample.clone() }, seen.clone(), Some("no_turns")),
            (Sample { output_tokens: Some(0), ..sample.clone() }, seen.clone(), Some("no_output_tokens")),
            (none(&sample), Seen { output_tokens: Some(0), ..seen.clone() }, Some("no_output_tokens")),
            (none(&sample), seen.clone(), None),
            (sample.clone(), Seen { steps: 0, model_calls: 0, ..seen.clone() }, Some("empty_trajectory")),
            (sample.clone(), Seen { model_calls: 0, ..seen.clone() }, Some("no_model_call")),
            (sample.clone(), Seen::default(), None),
            (sample.clone(), Seen { said_bytes: 20_000, ..seen.clone() }, Some("token_mismatch")),
            (Sample { answer: Some("x".repeat(9_000)), ..sample.clone() }, seen.clone(), Some("token_mismatch")),
            (sample, Seen { token_mismatch: Some("step 1".into()), ..seen }, Some("token_mismatch")),
        ] {
            let found = idleness(&sample, &seen, Origin::Foreign).map(|(name, _)| name);
            assert_eq!(found, want, "{sample:?} {seen:?}");
        }
    }

    #[test]
    fn a_model_of_ours_that_does_not_count_is_not_idle() {
        let sample = Sample { turns: Some(1), output_tokens: Some(0), input_tokens: Some(0), ..Sample::default() };
        assert_eq!(idleness(&sample, &Seen::default(), Origin::Own), None);
        assert!(idleness(&sample, &Seen::default(), Origin::Foreign).is_some());
        assert!(idleness(&Sample { input_tokens: Some(7), ..sample }, &Seen::default(), Origin::Own).is_some());
    }
}
