//! One trajectory, whoever wrote it: what the model saw, said, called and was given back.
//!
//! Steps are read as harnesses write them: with whole contents, or as digests with the beginning in the clear. A step of
//! a type that nobody knows is kept as such, so that no check can claim to have seen it.

use proofmark_artefact::trajectory::Scan;
use proofmark_canon::{Digest, Map, Value, json};

use crate::input::fields::{self, first};

/// A trajectory.
#[derive(Debug, Default)]
pub struct Trace<'v> {
    pub steps: Vec<Step<'v>>,
    pub turns: Option<u64>,
    pub output_tokens: Option<u64>,
    pub final_answer: Option<&'v str>,
}

/// One thing that happened.
#[derive(Debug)]
pub enum Step<'v> {
    /// Something that the model was shown.
    Shown {
        texts: Vec<&'v str>,
        whole: bool,
        digest: Option<Digest>,
    },
    /// A question to the model: what it was shown with it, and what it said.
    Asked {
        shown: Vec<&'v str>,
        said: Vec<&'v str>,
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        bytes: u64,
    },
    Called {
        name: &'v str,
        args: &'v Value,
        whole: bool,
    },
    Returned {
        texts: Vec<&'v str>,
        source: Option<&'v str>,
        scan: Option<Scan>,
        whole: bool,
    },
    /// A step of a type that is not known, or without one.
    Unknown {
        kind: String,
    },
}

/// Why a line is not a trajectory.
pub type Misshapen = String;

/// The id that a trajectory names: the key in a run of ours, else the task id.
pub fn id_of(value: &Value) -> Result<&str, Misshapen> {
    let map = value.as_object().ok_or_else(|| format!("a trajectory is {}, expected an object", value.kind()))?;
    ["key"]
        .iter()
        .chain(fields::ID)
        .find_map(|name| map.get(name)?.as_str())
        .ok_or_else(|| "a trajectory has no `task_id`".into())
}

impl<'v> Trace<'v> {
    /// Reads a trajectory. A scan that is recorded counts as one of the whole content.
    pub fn of(value: &'v Value) -> Result<Self, Misshapen> {
        let map = value.as_object().ok_or("a trajectory is not an object")?;
        let steps = match first(map, &["steps", "trajectory", "events"]) {
            Some((_, Value::Array(steps))) => steps.as_slice(),
            Some((name, other)) => return Err(format!("`{name}` is {}, expected a list", other.kind())),
            None => &[],
        };
        let steps = steps.iter().enumerate().map(|(at, step)| step_of(step).map_err(|why| format!("step {at}: {why}")));
        let usage = map.get("usage").and_then(Value::as_object);
        Ok(Self {
            steps: steps.collect::<Result<_, _>>()?,
            turns: fields::count(map, fields::TURNS),
            output_tokens: fields::count(map, fields::OUTPUT_TOKENS)
                .or_else(|| fields::count(usage?, fields::OUTPUT_TOKENS)),
            final_answer: map.get("final_answer").and_then(Value::as_str),
        })
    }
}

fn step_of(value: &Value) -> Result<Step<'_>, Misshapen> {
    let map = value.as_object().ok_or_else(|| format!("{}, expected an object", value.kind()))?;
    let kind = match first(map, &["type", "kind", "role"]) {
        Some((_, Value::String(kind))) => kind.as_str(),
        _ => return Ok(Step::Unknown { kind: String::new() }),
    };
    // Case and punctuation are no way to keep a step from being seen.
    let plain: String = kind.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    Ok(match plain.as_str() {
        "prompt" | "system" | "user" | "message" | "instruction" | "developer" => shown(map),
        "llmcall" | "modelcall" | "llm" | "modeloutput" | "assistant" | "completion" | "thought" | "reasoning" => {
            asked(map)
        }
        "toolcall" | "tooluse" | "functioncall" | "action" => called(map),
        "toolresult" | "tooloutput" | "functionresult" | "observation" | "tool" => returned(map)?,
        _ => Step::Unknown { kind: kind.chars().take(40).collect() },
    })
}

/// Members that say something about a step and are no text of it.
const ABOUT: &[&str] = &[
    "type",
    "kind",
    "role",
    "content_sha256",
    "output_sha256",
    "args_sha256",
    "bytes",
    "args_bytes",
    "timestamp",
    "ts",
    "at",
    "id",
    "tool_call_id",
    "model",
    "chunks",
    "scan",
    "usage",
    "latency_ms",
    "head_bytes",
];
/// Members of a question that are the model's own.
const SAID: &[&str] = &[
    "output",
    "response",
    "completion",
    "reasoning",
    "thinking",
    "tool_calls",
    "text",
    "head",
    "answer",
    "final_answer",
];

fn shown(map: &Map) -> Step<'_> {
    let mut texts = Vec::new();
    for (_, value) in map.iter().filter(|(name, _)| !ABOUT.contains(name)) {
        gather(value, &mut texts);
    }
    let digest = map.get("content_sha256").and_then(Value::as_str).and_then(digest);
    Step::Shown { whole: is_whole(map, "content_sha256"), texts, digest }
}

fn asked(map: &Map) -> Step<'_> {
    let (mut shown, mut said) = (Vec::new(), Vec::new());
    // What an `assistant` step holds is what the model said; a call's input is what it was shown.
    let is_call = map.contains("input") || map.contains("messages") || map.contains("prompt") || map.contains("system");
    for (name, value) in map.iter().filter(|(name, _)| !ABOUT.contains(name)) {
        let is_said = SAID.contains(&name) || !is_call && matches!(name, "content" | "message");
        if is_said {
            gather(value, &mut said);
        } else {
            gather_shown(value, &mut shown);
        }
    }
    let usage = map.get("usage").and_then(Value::as_object);
    let tokens = |names| fields::count(map, names).or_else(|| fields::count(usage?, names));
    let bytes = map.get("bytes").and_then(Value::as_u64);
    let bytes = bytes.unwrap_or_else(|| said.iter().map(|text| text.len() as u64).sum());
    Step::Asked {
        input_tokens: tokens(fields::INPUT_TOKENS),
        output_tokens: tokens(fields::OUTPUT_TOKENS),
        shown,
        said,
        bytes,
    }
}

fn called(map: &Map) -> Step<'_> {
    const NONE: &Value = &Value::Null;
    let name =
        first(map, &["name", "tool", "tool_name", "function"]).and_then(|(_, value)| value.as_str()).unwrap_or("");
    let args = first(map, &["args", "arguments", "input", "parameters"]).map_or(NONE, |(_, value)| value);
    let is_cut =
        ["args_truncated", "truncated"].iter().any(|name| map.get(name).and_then(Value::as_bool) == Some(true));
    Step::Called { name, args, whole: !is_cut }
}

fn returned(map: &Map) -> Result<Step<'_>, Misshapen> {
    let mut texts = Vec::new();
    let is_source =
        |name: &str| matches!(name, "name" | "tool" | "url" | "source" | "uri" | "error" | "is_error" | "binary");
    for (_, value) in map.iter().filter(|(name, _)| !ABOUT.contains(name) && !is_source(name)) {
        gather(value, &mut texts);
    }
    let source = first(map, &["url", "source", "uri"]).and_then(|(_, value)| value.as_str());
    let scan = match map.get("scan") {
        None | Some(Value::Null) => None,
        Some(value) => Some(json::from_value::<Scan>(value).map_err(|error| format!("`scan`: {error}"))?),
    };
    let is_binary = map.get("binary").and_then(Value::as_bool) == Some(true);
    Ok(Step::Returned { whole: !is_binary && is_whole(map, "output_sha256"), texts, source, scan })
}

/// Whether the text of a step is all there was: what is only a beginning says how long it was, or has another digest.
fn is_whole(map: &Map, digest_name: &str) -> bool {
    let truncated = ["truncated", "content_truncated", "output_truncated"];
    if truncated.iter().any(|name| map.get(name).and_then(Value::as_bool) == Some(true)) {
        return false;
    }
    let Some(head) = map.get("head").and_then(Value::as_str) else {
        // A digest without any text shows nothing.
        return !map.contains(digest_name) || first(map, &["content", "output", "text", "result"]).is_some();
    };
    match (map.get("bytes").and_then(Value::as_u64), map.get(digest_name).and_then(Value::as_str).and_then(digest)) {
        (_, Some(digest)) => digest == Digest::of(head.as_bytes()),
        (Some(bytes), None) => bytes == head.len() as u64,
        (None, None) => false,
    }
}

fn digest(text: &str) -> Option<Digest> {
    text.parse().or_else(|_| format!("sha256:{text}").parse()).ok()
}

/// All texts within a value, in order.
fn gather<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(map) => map.iter().for_each(|(_, value)| gather(value, texts)),
        _ => {}
    }
}

/// All texts within a value apart from messages of the model's own and of tools, which are looked at where they arose.
fn gather_shown<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather_shown(item, texts)),
        Value::Object(map) => {
            let role = map.get("role").and_then(Value::as_str).unwrap_or_default();
            if !matches!(role.to_ascii_lowercase().as_str(), "assistant" | "tool" | "function" | "model") {
                map.iter().filter(|(name, _)| *name != "role").for_each(|(_, value)| gather_shown(value, texts));
            }
        }
        other => gather(other, texts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(steps: &str, check: impl FnOnce(&Trace<'_>)) {
        let value = json::parse(format!("{{\"task_id\":\"t\",\"steps\":[{steps}]}}").as_bytes()).unwrap();
        check(&Trace::of(&value).unwrap());
    }

    #[test]
    fn every_text_that_the_model_was_shown_is_gathered_whatever_its_member_is_called() {
        trace(r#"{"type":"prompt","system":"S","content":"Q","tools":[{"description":"D"}]}"#, |trace| {
            let Step::Shown { texts, whole, .. } = &trace.steps[0] else { panic!() };
            assert_eq!((texts.as_slice(), *whole), (&["Q", "S", "D"][..], true));
        });
        let call = r#"{"type":"llm_call","messages":[{"role":"user","content":"U"},{"role":"tool","content":"T"},
            {"role":"Assistant","content":"A"}],"input":"I","output":"O","tokens_out":3}"#;
        trace(call, |trace| {
            let Step::Asked { shown, said, output_tokens, bytes, .. } = &trace.steps[0] else { panic!() };
            assert_eq!((shown.as_slice(), said.as_slice()), (&["I", "U"][..], &["O"][..]));
            assert_eq!((*output_tokens, *bytes), (Some(3), 1));
        });
    }

    #[test]
    fn the_type_of_a_step_is_known_in_any_case_and_what_is_not_known_is_kept() {
        for (kind, want) in [
            ("Tool_Call", "called"),
            ("TOOL-CALL", "called"),
            ("toolCall", "called"),
            ("tool_result", "returned"),
            ("Prompt", "shown"),
            ("model_output", "asked"),
            ("dream", "unknown"),
            ("tool_call2", "unknown"),
        ] {
            trace(&format!("{{\"type\":\"{kind}\"}}"), |trace| {
                let found = match trace.steps[0] {
                    Step::Shown { .. } => "shown",
                    Step::Asked { .. } => "asked",
                    Step::Called { .. } => "called",
                    Step::Returned { .. } => "returned",
                    Step::Unknown { .. } => "unknown",
                };
                assert_eq!(found, want, "{kind}");
            });
        }
        trace("{}", |trace| assert!(matches!(trace.steps[0], Step::Unknown { .. })));
    }

    #[test]
    fn a_beginning_is_whole_only_when_digest_or_length_say_so() {
        let digest = Digest::of(b"abc");
        for (step, want) in [
            (r#""output":"abc""#.to_owned(), true),
            (r#""output":"abc","truncated":true"#.to_owned(), false),
            (r#""head":"abc""#.to_owned(), false),
            (r#""head":"abc","bytes":3"#.to_owned(), true),
            (r#""head":"abc","bytes":9"#.to_owned(), false),
            (format!(r#""head":"abc","bytes":9,"output_sha256":"{digest}""#), true),
            (format!(r#""head":"abc","output_sha256":"{}""#, digest.hex()), true),
            (format!(r#""head":"abd","bytes":3,"output_sha256":"{digest}""#), false),
            (format!(r#""output_sha256":"{digest}""#), false),
            (format!(r#""head":"abc","binary":true,"output_sha256":"{digest}""#), false),
        ] {
            trace(&format!("{{\"type\":\"tool_result\",{step}}}"), |trace| {
                let Step::Returned { whole, .. } = trace.steps[0] else { panic!() };
                assert_eq!(whole, want, "{step}");
            });
        }
    }

    #[test]
    fn what_is_no_trajectory_is_refused() {
        for text in [r#"{"steps":7}"#, r#"{"steps":[1]}"#, r#"{"steps":[{"type":"tool_result","scan":{"x":1}}]}"#, "[]"]
        {
            assert!(Trace::of(&json::parse(text.as_bytes()).unwrap()).is_err(), "{text}");
        }
        assert!(id_of(&json::parse(b"{}").unwrap()).is_err());
        assert_eq!(id_of(&json::parse(br#"{"key":"k","task_id":"t"}"#).unwrap()), Ok("k"));
    }
}
