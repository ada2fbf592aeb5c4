//! AUD-2: credit for which nothing was done.

use std::io;

use proofmark_artefact::audit::{Evidence, Severity};

use super::{Checking, Outcome, Scene, Subject};
use crate::kept::finding;
use crate::sample::{Origin, Sample};
use crate::seen::{Seen, is_token_count_of};

#[derive(Default)]
pub(super) struct NoWork {
    outcome: Outcome,
    without: u64,
    uncounted: u64,
    /// Words of the first sample whose counts are none.
    example: Option<String>,
}

impl Checking for NoWork {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let Subject { sample, credit, seen, .. } = subject;
        if !sample.is_credited() {
            return Ok(());
        }
        let outcome = &mut self.outcome;
        if credit.is_in_question() {
            outcome.coverage.of += 1;
            let odd = sample.not_counts.first().or(seen.not_count.as_ref());
            outcome.coverage.seen += u64::from(seen.trajectories > 0 && odd.is_none());
            self.without += u64::from(seen.trajectories == 0);
            if let Some(words) = odd {
                self.uncounted += 1;
                self.example.get_or_insert_with(|| words.clone());
            }
        }
        if let Some((name, why)) = idleness(sample, seen, scene.facts.origin) {
            outcome.kept.push(finding(Severity::Critical, name, sample, format!("marked as correct, but {why}")));
        } else if scene.facts.origin == Origin::Foreign {
            outcome.kept.extend(too_many(sample, seen));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Scene<'_>) -> io::Result<Outcome> {
        let Self { mut outcome, without, uncounted, example } = *self;
        let of = outcome.coverage.of;
        if without > 0 {
            outcome.gaps.push(format!("{without} of {of} samples have no trajectory"));
        }
        if let Some(words) = example {
            outcome.gaps.push(format!("{uncounted} of {of} samples have turns or tokens that are no counts: {words}"));
        }
        Ok(outcome)
    }
}

/// One call with more tokens than all of them. Some count only the last call, or leave out what a model thinks, so that it takes a
/// great many to be a contradiction.
fn too_many(sample: &Sample, seen: &Seen) -> Option<Evidence> {
    let (total, most) = (sample.output_tokens?, seen.most_tokens);
    let is_absurd = most > total.saturating_mul(100).saturating_add(10_000);
    let severity = if is_absurd { Severity::Critical } else { Severity::Warn };
    let message = format!("a call of the model has {most} tokens, but all of them together {total}");
    (most > total).then(|| finding(severity, "tokens_contradicted", sample, message))
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
        let is_silent = seen.model_calls > 0 && seen.said_bytes == 0 && seen.step_tokens == Some(0);
        if is_silent && !is_uncounted {
            return Some(("no_output_tokens", "every call of the model says nothing, in no tokens".to_owned()));
        }
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
            (sample.clone(), Seen { said_bytes: 0, step_tokens: Some(0), ..seen.clone() }, Some("no_output_tokens")),
            (sample.clone(), Seen { said_bytes: 0, step_tokens: None, ..seen.clone() }, None),
            (sample.clone(), Seen { step_tokens: Some(0), ..seen.clone() }, None),
            (sample.clone(), Seen { said_bytes: 20_000, ..seen.clone() }, Some("token_mismatch")),
            (Sample { answer: Some("x".repeat(9_000)), ..sample.clone() }, seen.clone(), Some("token_mismatch")),
            (sample, Seen { token_mismatch: Some("step 1".into()), ..seen }, Some("token_mismatch")),
        ] {
            let found = idleness(&sample, &seen, Origin::Foreign).map(|(name, _)| name);
            assert_eq!(found, want, "{sample:?} {seen:?}");
        }
    }

    #[test]
    fn one_call_has_no_more_tokens_than_all_of_them() {
        let sample = Sample { output_tokens: Some(3), ..Sample::default() };
        for (most, want) in [(3, None), (4, Some(Severity::Warn)), (90_000, Some(Severity::Critical))] {
            let seen = Seen { most_tokens: most, ..Seen::default() };
            assert_eq!(too_many(&sample, &seen).map(|evidence| evidence.severity), want, "{most}");
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
