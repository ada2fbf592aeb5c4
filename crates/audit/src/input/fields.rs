//! Members under the several names that harnesses give them.

use proofmark_artefact::text::excerpt;
use proofmark_canon::{Map, Value};

pub const ID: &[&str] = &["task_id", "taskId", "id", "question_id", "item_id"];
pub const QUESTION: &[&str] = &["question", "Question", "prompt", "input"];
pub const ANSWER: &[&str] =
    &["answer", "model_answer", "final_answer", "finalAnswer", "prediction", "response", "output"];
pub const GOLD: &[&str] = &[
    "expected_output",
    "expectedOutput",
    "expected",
    "expected_answer",
    "gold",
    "gold_answer",
    "ground_truth",
    "Final answer",
    "target",
];
pub const MARK: &[&str] = &["correct", "is_correct", "isCorrect", "passed", "pass", "score"];
pub const TURNS: &[&str] = &["turns", "n_turns", "num_turns", "steps_taken"];
pub const INPUT_TOKENS: &[&str] = &["inputTokens", "input_tokens", "prompt_tokens", "tokens_in"];
pub const OUTPUT_TOKENS: &[&str] = &["outputTokens", "output_tokens", "completion_tokens", "tokens_out"];
pub const LATENCY_MS: &[&str] = &["wallMs", "wall_ms", "latency_ms", "latencyMs", "duration_ms"];
pub const ATTEMPTS: &[&str] = &[
    "votingAttempts",
    "voting_attempts",
    "attempts",
    "n_attempts",
    "num_attempts",
    "attempt_count",
    "best_of",
    "pass_k",
    "votes",
    "n_votes",
    "num_votes",
];
pub const CHOICES: &[&str] = &["choices", "options"];

/// The first of these members that is there and not null.
pub fn first<'v>(map: &'v Map, names: &[&'static str]) -> Option<(&'static str, &'v Value)> {
    names.iter().find_map(|name| Some((*name, map.get(name).filter(|value| !value.is_null())?)))
}

/// The first of these members as a text; scalars as a person would type them.
pub fn text(map: &Map, names: &[&'static str]) -> Option<String> {
    match first(map, names)?.1 {
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_plain_text()),
    }
}

/// The first of these members as a count; digits in a text are one too.
pub fn count(map: &Map, names: &[&'static str]) -> Option<u64> {
    as_count(first(map, names)?.1)
}

/// What stands where a count should, in its own words. Somebody claims something with it, and nobody can say what.
pub fn not_a_count(map: &Map, names: &[&'static str]) -> Option<String> {
    let (name, value) = first(map, names)?;
    as_count(value).is_none().then(|| in_words(name, value))
}

pub fn number(map: &Map, names: &[&'static str]) -> Option<f64> {
    as_number(first(map, names)?.1)
}

pub fn not_a_number(map: &Map, names: &[&'static str]) -> Option<String> {
    let (name, value) = first(map, names)?;
    as_number(value).is_none().then(|| in_words(name, value))
}

/// A count, or the length of a list of what is counted.
pub fn as_count(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Array(items) => Some(items.len() as u64),
        other => other.as_u64(),
    }
}

/// A finite number, also as a text.
pub fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        other => other.as_f64(),
    }
}

/// Such as: `outputTokens` is a number: -5.
pub fn in_words(name: &str, value: &Value) -> String {
    format!("`{name}` is {}: {}", value.kind(), excerpt(&value.to_plain_text(), 40))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_canon::json;

    #[test]
    fn a_count_is_digits_and_anything_else_is_kept_in_its_own_words() {
        for (text, want) in [
            ("7", Ok(7)),
            ("\"7\"", Ok(7)),
            ("7.0", Ok(7)),
            ("[1,2]", Ok(2)),
            ("-5", Err("`turns` is a number: -5")),
            ("1.5", Err("`turns` is a number: 1.5")),
            ("\"NaN\"", Err("`turns` is a string: NaN")),
            ("true", Err("`turns` is a boolean: true")),
        ] {
            let value = json::parse(format!("{{\"turns\":{text}}}").as_bytes()).unwrap();
            let map = value.as_object().unwrap();
            assert_eq!(count(map, TURNS), want.ok(), "{text}");
            assert_eq!(not_a_count(map, TURNS).as_deref(), want.err(), "{text}");
        }
        assert_eq!((as_number(&"NaN".into()), as_number(&" 0.5 ".into())), (None, Some(0.5)));
    }
}
