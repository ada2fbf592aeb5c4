//! Members under the several names that harnesses give them.

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

/// The first of these members as a count.
pub fn count(map: &Map, names: &[&'static str]) -> Option<u64> {
    first(map, names)?.1.as_u64()
}

pub fn number(map: &Map, names: &[&'static str]) -> Option<f64> {
    first(map, names)?.1.as_f64()
}
