//! A model that fails on a schedule, to see what a pipeline does with failures.
//!
//! `schedule` is walked by the item's position and the sample's index, so that what fails does not
//! depend on the order in which samples are asked.

use proofmark_artefact::record::{Status, Usage};
use proofmark_canon::Value;

use super::{answered, input_tokens, noisy};
use crate::ask::{Ask, Reply};

#[derive(Clone, Copy)]
pub(super) enum Step {
    Ok,
    Error,
    Timeout,
    RateLimited,
}

const DEFAULT: [Step; 4] = [Step::Ok, Step::Error, Step::Timeout, Step::RateLimited];

pub(super) fn parse_schedule(value: &Value) -> Option<Vec<Step>> {
    let steps = value.as_array()?.iter().map(|step| match step.as_str()? {
        "ok" => Some(Step::Ok),
        "error" => Some(Step::Error),
        "timeout" => Some(Step::Timeout),
        "rate_limited" => Some(Step::RateLimited),
        _ => None,
    });
    steps.collect::<Option<Vec<_>>>().filter(|steps| !steps.is_empty())
}

pub(super) fn reply(ask: &Ask<'_>) -> Reply {
    let given = ask.request.params.get("schedule").and_then(parse_schedule);
    let schedule = given.as_deref().unwrap_or(&DEFAULT);
    let at = (ask.hint.item_index + u64::from(ask.hint.sample)) % schedule.len() as u64;
    let failed = |class: &str, message: &str, status| Reply::Failed {
        class: class.to_owned(),
        message: message.to_owned(),
        status,
        usage: Usage { input_tokens: input_tokens(ask), output_tokens: 0 },
    };
    match schedule[at as usize] {
        Step::Ok => answered(ask, noisy::right(ask.hint.expected)),
        Step::Error => failed("server", "the schedule says that the server fails here", Status::Error),
        Step::Timeout => failed("timeout", "the schedule says that no answer comes in time", Status::Timeout),
        Step::RateLimited => failed("rate_limited", "the schedule says that the limit is reached", Status::RateLimited),
    }
}
