//! The parameters of models: which there are and what they may be.
//!
//! A wire lists the names it has a word for; what a name may hold is the same for all of them.

use proofmark_canon::Value;

/// Parameters that every provider understands.
pub(crate) const COMMON: [&str; 4] = ["temperature", "top_p", "max_tokens", "stop"];

/// Parameters of every live model, whatever its wire: `seed` decides whether one is sent, `stream` how the reply
/// comes, `extra_body` what else goes into the request.
pub(crate) const LIVE: [&str; 3] = ["seed", "stream", "extra_body"];

/// Members of a request that `extra_body` may not touch: what is asked, of whom, and how the reply comes.
pub(crate) const FIXED_MEMBERS: [&str; 9] =
    ["model", "messages", "input", "contents", "prompt", "stream", "stream_options", "system", "tools"];

/// What a value must be.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Number(f64, f64),
    Whole(u64, u64),
    Flag,
    Text,
    Texts,
    Object,
    /// `true`, `false`, or a number.
    Seed,
    /// A word out of a list.
    OneOf(&'static [&'static str]),
    TextOrObject,
    FlagOrText,
}

/// What each parameter may hold.
pub(crate) const KINDS: &[(&str, Kind)] = &[
    ("temperature", Kind::Number(0.0, 10.0)),
    ("top_p", Kind::Number(0.0, 1.0)),
    ("max_tokens", Kind::Whole(1, 1 << 32)),
    ("stop", Kind::Texts),
    ("seed", Kind::Seed),
    ("stream", Kind::Flag),
    ("extra_body", Kind::Object),
    ("top_k", Kind::Whole(0, 1 << 20)),
    ("min_p", Kind::Number(0.0, 1.0)),
    ("frequency_penalty", Kind::Number(-10.0, 10.0)),
    ("presence_penalty", Kind::Number(-10.0, 10.0)),
    ("repetition_penalty", Kind::Number(0.0, 10.0)),
    ("reasoning_effort", Kind::OneOf(&["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
    ("thinking_budget", Kind::Whole(0, 1 << 24)),
    ("response_schema", Kind::Object),
    ("logprobs", Kind::Flag),
    ("top_logprobs", Kind::Whole(0, 20)),
    ("tool_choice", Kind::TextOrObject),
    ("parallel_tool_calls", Kind::Flag),
    ("service_tier", Kind::Text),
    ("num_ctx", Kind::Whole(1, 1 << 32)),
    ("keep_alive", Kind::Text),
    ("think", Kind::FlagOrText),
    ("size", Kind::Text),
    ("quality", Kind::Text),
    ("background", Kind::Text),
    ("style", Kind::Text),
    ("image_format", Kind::OneOf(&["png", "jpeg", "webp"])),
    ("aspect_ratio", Kind::Text),
    ("width", Kind::Whole(1, 16_384)),
    ("height", Kind::Whole(1, 16_384)),
    ("steps", Kind::Whole(1, 1000)),
    ("guidance", Kind::Number(0.0, 100.0)),
    ("negative_prompt", Kind::Text),
    ("safe_prompt", Kind::Flag),
    ("safety_mode", Kind::Text),
];

/// Checks one parameter; the error says what was expected.
pub(crate) fn check(name: &str, value: &Value) -> Result<(), String> {
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let fits = match kind {
        Kind::Number(low, high) => value.as_f64().is_some_and(|n| (*low..=*high).contains(&n)),
        Kind::Whole(low, high) => value.as_u64().is_some_and(|n| (*low..=*high).contains(&n)),
        Kind::Flag => value.as_bool().is_some(),
        Kind::Text => value.as_str().is_some_and(|text| !text.is_empty()),
        Kind::Texts => value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some())),
        Kind::Object => value.as_object().is_some(),
        Kind::Seed => value.as_bool().is_some() || value.as_u64().is_some_and(|n| n < 1 << 31),
        Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Kind::TextOrObject => value.as_str().is_some() || value.as_object().is_some(),
        Kind::FlagOrText => value.as_bool().is_some() || value.as_str().is_some(),
    };
    if fits {
        return Ok(());
    }
    Err(match kind {
        Kind::Number(low, high) => format!("a number from {low} to {high}"),
        Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
        Kind::Flag => "true or false".to_owned(),
        Kind::Text => "a text".to_owned(),
        Kind::Texts => "a list of texts".to_owned(),
        Kind::Object => "a mapping".to_owned(),
        Kind::Seed => "true, false or a whole number below 2^31".to_owned(),
        Kind::OneOf(words) => format!("one of {}", words.join(", ")),
        Kind::TextOrObject => "a text or a mapping".to_owned(),
        Kind::FlagOrText => "true, false or a text".to_owned(),
    })
}
