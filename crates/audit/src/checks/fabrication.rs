//! AUD-10: answers that look as if no model had been asked for them.

use std::io;

use proofmark_artefact::answerer::{Answerer, answerer};
use proofmark_artefact::audit::{Coverage, Evidence, Severity};
use proofmark_artefact::spill::{Spot, mark};
use proofmark_artefact::text::excerpt;

use super::groups::Groups;
use super::{Checking, Outcome, Scene, Subject};
use crate::kept::{Kept, MAX_EVIDENCE, finding};
use crate::sample::{Facts, Origin, Sample};
use crate::shelf::Earliest;
use crate::trace::Times;

/// Tokens a second that no provider delivers for one answer.
const FASTEST: f64 = 20_000.0;
/// Shorter answers say nothing about a rate.
const RATED_TOKENS: u64 = 64;
/// Two answers of this length are not the same by chance.
const LONG: usize = 200;

#[derive(Default)]
pub(super) struct Fabrication {
    samples: u64,
    /// Those of others that have a latency with tokens, or a request id.
    timed: u64,
    kept: Kept,
    /// Request ids of others.
    ids: Groups<24>,
    /// By item of a stochastic model, what is the same of answers that are the same: nothing where they are short.
    answers: Groups<41>,
}

impl Checking for Fabrication {
    fn take(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        self.samples += 1;
        match scene.facts.origin {
            Origin::Own if scene.facts.requests.is_some() => self.kept.extend(odd_rate(subject.sample)),
            Origin::Own => {}
            Origin::Foreign => self.foreign(scene, subject)?,
        }
        if scene.facts.is_stochastic {
            let (sample, answer) = (subject.sample, subject.sample.answer.as_deref().unwrap_or_default());
            let is_long = answer.len() >= LONG;
            let note = if is_long { [&[1], &mark(answer.as_bytes())[..]].concat() } else { Vec::new() };
            // The key without the number of the sample.
            let item = sample.id.rsplit_once('/').map_or(sample.id.as_str(), |(item, _)| item);
            self.answers.push(item.as_bytes(), subject.spot, &note)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, scene: &Scene<'_>) -> io::Result<Outcome> {
        let mut outcome = match scene.facts.origin {
            Origin::Own => own(scene, self.samples),
            Origin::Foreign => foreign(scene, self.samples, self.timed),
        };
        outcome.kept.append(self.kept);
        repeated_ids(scene, self.ids, &mut outcome.kept)?;
        repeated_answers(scene, self.answers, &mut outcome.kept)?;
        Ok(outcome)
    }
}

impl Fabrication {
    fn foreign(&mut self, scene: &Scene<'_>, subject: &Subject<'_>) -> io::Result<()> {
        let Subject { sample, seen, spot, .. } = subject;
        let is_timed = sample.latency_ms.is_some() && sample.output_tokens.is_some();
        self.timed += u64::from(is_timed || sample.request_id.is_some());
        self.kept.extend(
            sample.not_counts.iter().chain(&sample.not_latency).map(|words| {
                finding(Severity::Warn, "not_a_number", sample, format!("{words}, which no provider gives"))
            }),
        );
        // One who keeps ids keeps them of every answer.
        let is_answered = sample.answer.as_ref().is_some_and(|answer| !answer.is_empty());
        if scene.facts.has_request_ids && is_answered && sample.request_id.is_none() {
            let message = "it has no request id, although others have";
            self.kept.push(finding(Severity::Warn, "missing_request_id", sample, message));
        }
        self.kept.extend(odd_times(sample, &seen.times, scene.facts, scene.usual_moment));
        self.kept.extend(odd_rate(sample));
        self.kept.extend(other_model(sample, scene.facts.declared_model.as_deref()));
        match &sample.request_id {
            Some(id) => self.ids.push(id.as_bytes(), *spot, &[]),
            None => Ok(()),
        }
    }
}

/// Telemetry says how a run of ours came by its answers.
fn own(scene: &Scene<'_>, samples: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let is_live = scene.facts.models.iter().any(|model| !matches!(model.provider.as_str(), "offline" | "command"));
    match &scene.facts.requests {
        None if is_live => {
            outcome.coverage.of = samples;
            outcome.gaps.push("there is no telemetry of requests".to_owned());
        }
        None => {}
        Some(requests) => {
            outcome.coverage = Coverage { of: requests.samples, seen: requests.with_id };
            if !outcome.coverage.is_whole() {
                let missing = requests.samples - requests.with_id;
                outcome.gaps.push(format!("{missing} of {} answers have no request id", requests.samples));
            }
            outcome.kept.extend(requests.odd.iter().map(|odd| Evidence {
                finding: odd.finding.to_owned(),
                gold: None,
                message: odd.message.clone(),
                place: odd.place.clone(),
                sample: odd.sample.clone(),
                severity: Severity::Warn,
            }));
            outcome.kept.omit(requests.odd_omitted);
        }
    }
    outcome
}

fn foreign(scene: &Scene<'_>, of: u64, seen: u64) -> Outcome {
    let mut outcome = Outcome { coverage: Coverage { of, seen }, ..Outcome::default() };
    if !scene.facts.has_request_ids {
        outcome.gaps.push("request ids are not recorded".to_owned());
    }
    if !outcome.coverage.is_whole() {
        outcome.gaps.push(format!("{} of {of} samples have neither a latency with tokens nor a request id", of - seen));
    }
    outcome
}

/// Request ids that stand at several results.
fn repeated_ids(scene: &Scene<'_>, ids: Groups<24>, kept: &mut Kept) -> io::Result<()> {
    let mut pairs = Earliest::new(MAX_EVIDENCE);
    ids.each(|first, this| {
        if first != this {
            pairs.push((this.spot(), first.spot()));
        }
    })?;
    let (pairs, omitted) = pairs.into_parts();
    for (this, first) in pairs {
        let other = scene.samples.get(first)?.id;
        let message = format!("its request id is that of `{}` too", excerpt(&other, 60));
        kept.push(finding(Severity::Warn, "repeated_request_id", &scene.samples.get(this)?, message));
    }
    kept.omit(omitted);
    Ok(())
}

/// Moments that do not fit each other. There is no clock: only what the files themselves and `--audited-at` say.
fn odd_times(sample: &Sample, times: &Times, facts: &Facts, usual: Option<i64>) -> Option<Evidence> {
    const DAY: i64 = 86_400_000;
    let (first, last) = (times.first?, times.last?);
    let (name, message) = match () {
        () if let Some((step, seconds)) = times.backwards => {
            ("time_runs_backwards", format!("step {step} happened {seconds} seconds before one that it follows"))
        }
        () if facts.audited_at.is_some_and(|audited| last > audited) => {
            ("in_the_future", "a step happened after the audit".to_owned())
        }
        // A day alone is written for any time of it, in any zone.
        () if facts.submitted_at.is_some_and(|submitted| last > submitted + 2 * DAY) => {
            ("after_submission", "a step happened after the results were handed in".to_owned())
        }
        () if last - first > 30 * DAY => {
            ("implausible_span", format!("{} days lie between its steps", (last - first) / DAY))
        }
        () if let Some(usual) = usual.filter(|usual| (first - usual).abs() > 366 * DAY) => {
            ("far_from_the_others", format!("it happened {} days away from the others", (first - usual).abs() / DAY))
        }
        () => return None,
    };
    Some(finding(Severity::Warn, name, sample, message))
}

fn odd_rate(sample: &Sample) -> Option<Evidence> {
    let (latency, tokens) = (sample.latency_ms?, sample.output_tokens?);
    if latency < 0.0 {
        let message = format!("it took {latency} milliseconds");
        return Some(finding(Severity::Warn, "impossible_latency", sample, message));
    }
    let is_too_fast = tokens >= RATED_TOKENS && tokens as f64 * 1000.0 > FASTEST * latency;
    let message = format!("{tokens} tokens in {latency} milliseconds: no provider is so fast");
    is_too_fast.then(|| finding(Severity::Warn, "impossible_rate", sample, message))
}

fn other_model(sample: &Sample, declared: Option<&str>) -> Option<Evidence> {
    let declared = declared.filter(|declared| !declared.is_empty() && !sample.model.is_empty())?;
    let is_same = declared == sample.model || answerer(declared, None, &sample.model) != Answerer::Another;
    let message = format!("the model is `{}`, declared is `{}`", excerpt(&sample.model, 60), excerpt(declared, 60));
    (!is_same).then(|| finding(Severity::Warn, "other_model", sample, message))
}

/// A stochastic model that gives the same long answer to every sample of an item was asked once.
fn repeated_answers(scene: &Scene<'_>, answers: Groups<41>, kept: &mut Kept) -> io::Result<()> {
    let mut items = Earliest::new(MAX_EVIDENCE);
    let mut group: Option<(Spot, u64, bool)> = None;
    let mut close = |group: Option<(Spot, u64, bool)>| {
        if let Some((spot, count, true)) = group.filter(|(_, count, _)| *count > 1) {
            items.push((spot, count));
        }
    };
    answers.each(|first, this| {
        if first == this {
            close(group.replace((this.spot(), 1, this.note()[0] == 1)));
        } else if let Some((_, count, is_same)) = &mut group {
            *count += 1;
            *is_same &= first.note() == this.note();
        }
    })?;
    close(group);
    let (items, omitted) = items.into_parts();
    for (spot, count) in items {
        let message = format!("{count} samples of a stochastic model have the same long answer");
        kept.push(finding(Severity::Warn, "identical_outputs", &scene.samples.get(spot)?, message));
    }
    kept.omit(omitted);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_no_provider_delivers_are_odd() {
        for (tokens, latency, want) in [
            (20, 10.0, None),
            (100, 1.0, Some("impossible_rate")),
            (1000, 0.0, Some("impossible_rate")),
            (1000, 10_000.0, None),
            (1000, -1.0, Some("impossible_latency")),
        ] {
            let sample = Sample { output_tokens: Some(tokens), latency_ms: Some(latency), ..Sample::default() };
            assert_eq!(odd_rate(&sample).map(|evidence| evidence.finding).as_deref(), want, "{tokens} {latency}");
        }
    }

    #[test]
    fn moments_fit_each_other() {
        const DAY: i64 = 86_400_000;
        let times = Times { first: Some(1000 * DAY), last: Some(1001 * DAY), backwards: None };
        let facts = Facts { submitted_at: Some(1002 * DAY), audited_at: Some(1003 * DAY), ..Facts::default() };
        for (times, facts, usual, want) in [
            (times.clone(), &facts, Some(1000 * DAY), None),
            (Times::default(), &facts, None, None),
            (Times { backwards: Some((3, 3600)), ..times.clone() }, &facts, None, Some("time_runs_backwards")),
            (Times { last: Some(1004 * DAY), ..times.clone() }, &facts, None, Some("in_the_future")),
            (
                Times { last: Some(1005 * DAY), ..times.clone() },
                &Facts { submitted_at: Some(1002 * DAY), ..Facts::default() },
                None,
                Some("after_submission"),
            ),
            (Times { first: Some(900 * DAY), ..times.clone() }, &facts, None, Some("implausible_span")),
            (times, &facts, Some(200 * DAY), Some("far_from_the_others")),
        ] {
            let found = odd_times(&Sample::default(), &times, facts, usual).map(|evidence| evidence.finding);
            assert_eq!(found.as_deref(), want, "{times:?}");
        }
    }

    #[test]
    fn the_model_of_a_result_is_the_declared_one_or_a_snapshot_of_it() {
        for (model, declared, same) in [
            ("gpt-x", Some("gpt-x"), true),
            ("gpt-x-2026-01-31", Some("openai:gpt-x"), true),
            ("gpt-y", Some("gpt-x"), false),
            ("", Some("gpt-x"), true),
            ("gpt-y", None, true),
        ] {
            let sample = Sample { model: model.into(), ..Sample::default() };
            assert_eq!(other_model(&sample, declared).is_none(), same, "{model}");
        }
    }

    #[test]
    fn a_stochastic_model_does_not_say_the_same_at_length_every_time() {
        use super::super::testing::{credited, findings, outcome_of};
        let long = "a long answer ".repeat(20);
        let samples = |second: &str| [credited("t/a/m/c/0", &long, "x"), credited("t/a/m/c/1", second, "x")];
        let other = format!("{long}!");
        for (second, is_stochastic, want) in [
            (long.as_str(), true, &[("identical_outputs", Severity::Warn)][..]),
            (long.as_str(), false, &[]),
            (other.as_str(), true, &[]),
            ("short", true, &[]),
        ] {
            let facts = crate::sample::Facts { origin: Origin::Own, is_stochastic, ..Default::default() };
            assert_eq!(findings(outcome_of::<Fabrication>(&samples(second), &[], &facts)), want);
        }
    }

    #[test]
    fn a_request_id_that_stands_twice_is_found_and_one_that_is_missing_is_said() {
        use super::super::testing::{findings, outcome_of};
        let sample = |id: &str, request: Option<&str>| Sample {
            id: id.into(),
            request_id: request.map(str::to_owned),
            ..Sample::default()
        };
        let facts = Facts { has_request_ids: true, ..Facts::default() };
        let look = |samples: &[Sample], facts: &Facts| outcome_of::<Fabrication>(samples, &[], facts);
        let outcome = look(&[sample("a", Some("r")), sample("b", Some("r"))], &facts);
        assert_eq!(findings(outcome), [("repeated_request_id", Severity::Warn)]);
        let outcome = look(&[sample("a", Some("r")), sample("b", None)], &facts);
        assert_eq!((outcome.coverage.seen, outcome.coverage.of, outcome.gaps.len()), (1, 2, 1));
        // Where there is no answer there was no request.
        let answered = |id: &str, request| Sample { answer: Some("x".into()), ..sample(id, request) };
        let outcome = look(&[answered("a", Some("r")), answered("b", None), sample("c", None)], &facts);
        assert_eq!(findings(outcome), [("missing_request_id", Severity::Warn)]);
        assert_eq!(findings(look(&[answered("a", None), answered("b", None)], &Facts::default())), []);
    }
}
