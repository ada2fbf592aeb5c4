//! A model that is right with a probability.
//!
//! The coin is the sample's seed: the same sample always answers the same, another sample of the
//! same item may not. This gives statistics that look like a model's.

use proofmark_canon::seed::Stream;
use proofmark_canon::{Number, Value};

use super::answered;
use crate::ask::{Ask, Reply};

const DEFAULT_ACCURACY: f64 = 0.8;
const SHRUGS: [&str; 4] = ["I do not know", "It depends", "There is no single answer", "I would rather not guess"];

pub(super) fn reply(ask: &Ask<'_>) -> Reply {
    let param = |name: &str| ask.request.params.get(name).and_then(Value::as_f64);
    let accuracy = param("accuracy").unwrap_or(DEFAULT_ACCURACY) + param("lift").unwrap_or(0.0);
    let mut stream =
        Stream::new("proofmark.noisy/1", &[&ask.request.seed.get().to_be_bytes(), ask.hint.key.as_bytes()]);
    let text = if stream.next_unit() < accuracy { right(ask.hint.expected) } else { wrong(ask, &mut stream) };
    answered(ask, text)
}

/// The gold answer as a model would write it.
pub(super) fn right(expected: &Value) -> String {
    match expected {
        Value::Array(items) => items.iter().map(Value::to_plain_text).collect::<Vec<_>>().join(", "),
        other => other.to_plain_text(),
    }
}

/// A wrong answer that looks like one: another choice, another number, a shorter list, a shrug.
fn wrong(ask: &Ask<'_>, stream: &mut Stream) -> String {
    if let Some(texts) = ask.request.params.get("wrong").and_then(Value::as_array)
        && let Some(text) = pick(texts, stream)
    {
        return text.to_plain_text();
    }
    let expected = ask.hint.expected;
    if let Some(choices) = ask.hint.choices {
        // The target may be a text, a letter or an index; leave out what any of them could mean.
        let target = expected.to_plain_text();
        let others: Vec<Value> = choices
            .iter()
            .enumerate()
            .filter(|(at, choice)| {
                choice.to_plain_text() != target && letter(*at) != target && at.to_string() != target
            })
            .map(|(_, choice)| choice.clone())
            .collect();
        if let Some(other) = pick(&others, stream) {
            return other.to_plain_text();
        }
    }
    let number = expected.as_f64().or_else(|| expected.as_str()?.trim().parse().ok());
    if let Some(near) = number.and_then(|n| Number::new(n + 1.0 + stream.next_below(9) as f64)) {
        return Value::Number(near).to_string();
    }
    if let Value::Array(items) = expected
        && items.len() > 1
    {
        return right(&Value::Array(items[1..].to_vec()));
    }
    SHRUGS[stream.next_below(SHRUGS.len() as u64) as usize].to_owned()
}

fn pick<'a>(values: &'a [Value], stream: &mut Stream) -> Option<&'a Value> {
    if values.is_empty() { None } else { values.get(stream.next_below(values.len() as u64) as usize) }
}

fn letter(at: usize) -> String {
    u8::try_from(at).ok().filter(|at| *at < 26).map_or_else(String::new, |at| char::from(b'A' + at).to_string())
}
