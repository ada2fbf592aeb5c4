//! Models that need no network.
//!
//! Deterministic: an answer depends on the request and the hint alone. They go through the same
//! path as live models, so that a pipeline can be tried, tested and timed without spending.
//!
//! - `echo` repeats the last user message;
//! - [`scripted`] answers from a file;
//! - [`noisy`] is right with a probability;
//! - [`faulty`] fails on a schedule;
//! - [`painter`] makes a picture, whatever the suite's `output` says;
//! - [`judge`] judges answers for `judge` scorers.

mod behaviour;
mod faulty;
mod judge;
mod noisy;
mod painter;
mod scripted;

use std::sync::Arc;

use proofmark_artefact::record::{Message, Role, Usage};
use proofmark_canon::{Map, Value};

use crate::ask::{Ask, Asking, Model, Reply, Turn};
use crate::build::{BuildError, BuildModel};

pub use behaviour::Behaviour;
pub use scripted::Script;

/// The models of this provider.
pub const NAMES: [&str; 6] = ["echo", "scripted", "noisy", "faulty", "painter", "judge"];

/// One line for people about a model of this provider.
pub fn about(name: &str) -> &'static str {
    match name {
        "echo" => "repeats the last user message",
        "scripted" => "answers from a file",
        "noisy" => "is right with a probability",
        "faulty" => "fails on a schedule",
        "painter" => "makes a picture (`output: image`)",
        "judge" => "judges answers, for `judges`",
        _ => "",
    }
}

/// The parameters of a model, or `None` when there is no such model.
pub(crate) fn known_params(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "echo" => Some(&["latency_ms"]),
        "scripted" => Some(&["file", "latency_ms"]),
        "noisy" => Some(&["accuracy", "lift", "wrong", "latency_ms"]),
        "faulty" => Some(&["schedule", "latency_ms"]),
        "painter" => Some(&["width", "height", "latency_ms"]),
        "judge" => Some(&["leniency", "noise", "position_bias", "length_bias", "injectable", "misfits", "latency_ms"]),
        _ => None,
    }
}

/// Checks one parameter; the error says what was expected.
pub(crate) fn check_param(name: &str, value: &Value) -> Result<(), &'static str> {
    let number = value.as_f64();
    let (fits, expected) = match name {
        "accuracy" | "leniency" | "noise" | "position_bias" | "length_bias" => {
            (number.is_some_and(|n| (0.0..=1.0).contains(&n)), "a number from 0 to 1")
        }
        "lift" => (number.is_some_and(|n| (-1.0..=1.0).contains(&n)), "a number from -1 to 1"),
        "wrong" => {
            let is_list = value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some()));
            (is_list, "a list of texts")
        }
        "latency_ms" => (
            behaviour::latency_range(value).is_some(),
            "a number up to 600000, or a list of a smallest and a largest one",
        ),
        "schedule" => (faulty::parse_schedule(value).is_some(), "a list of ok, error, timeout, rate_limited"),
        "width" | "height" => (painter::parse_side(value).is_some(), "a whole number from 1 to 1024"),
        "injectable" => (value.as_bool().is_some(), "true or false"),
        "misfits" => (judge::parse_misfits(value).is_some(), "a whole number up to 10"),
        "file" => (value.as_str().is_some(), "the path of a file"),
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(expected) }
}

pub(crate) fn build(name: &str, params: &Map, with: &BuildModel<'_>) -> Result<Arc<dyn Model>, BuildError> {
    let voice = match name {
        "scripted" => Voice::Scripted(scripted::Script::load(params, with)?),
        "noisy" => Voice::Noisy,
        "faulty" => Voice::Faulty,
        "painter" => Voice::Painter,
        "judge" => Voice::Judge,
        _ => Voice::Echo,
    };
    Ok(Arc::new(Offline { voice, behaviour: with.offline.clone() }))
}

struct Offline {
    voice: Voice,
    behaviour: Behaviour,
}

enum Voice {
    Echo,
    Scripted(scripted::Script),
    Noisy,
    Faulty,
    Painter,
    Judge,
}

impl Model for Offline {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(async move {
            if let Some(failure) = self.behaviour.log_ask(ask.hint.key) {
                return Ok(failure.into());
            }
            let asked = match &self.voice {
                Voice::Echo => answered(&ask, last_user(&ask.request.messages).to_owned()).into(),
                Voice::Scripted(script) => script.ask(&ask),
                Voice::Noisy => noisy::reply(&ask).into(),
                Voice::Faulty => faulty::reply(&ask).into(),
                Voice::Painter => painter::paint(&ask),
                Voice::Judge => judge::reply(&ask).into(),
            };
            self.behaviour.wait(&ask).await;
            Ok(asked)
        })
    }
}

/// The text of the last user message, or nothing.
fn last_user(messages: &[Message]) -> &str {
    messages.iter().rev().find(|message| message.role == Role::User).map_or("", |message| &message.content)
}

fn answered(ask: &Ask<'_>, text: String) -> Reply {
    let usage = Usage { input_tokens: input_tokens(ask), output_tokens: tokens(&text) };
    Reply::of_text(text, usage)
}

fn input_tokens(ask: &Ask<'_>) -> u64 {
    let prompt: u64 = ask.request.messages.iter().map(|message| tokens(&message.content)).sum();
    let turns = ask.request.turns.iter().map(|turn| match turn {
        Turn::Model { text, .. } | Turn::User { text } | Turn::Tool { output: text, .. } => tokens(text),
    });
    prompt + turns.sum::<u64>()
}

/// Four bytes a token, rounded up: a stand-in that no one will take for a tokenizer.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}
