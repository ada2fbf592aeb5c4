//! One trajectory, whoever wrote it: what the model saw, said, called and was given back.
//!
//! Steps are read as harnesses write them: with whole contents, or as digests with the beginning in the clear. A step of
//! a type that nobody knows is kept as such, so that no check can claim to have seen it.
//!
//! - [`call`] calls of tools, in steps of their own or within what the model said; [`result`] what came back; [`moment`] when.

mod call;
mod moment;
mod result;

use proofmark_canon::{Digest, Map, Value};

use crate::input::fields::{self, first};
use crate::input::results::{attempts, not_attempts};

pub use call::{Args, Call};
pub use moment::{Times, moment};
pub use result::{Extent, Return};

/// A trajectory.
#[derive(Debug, Default)]
pub struct Trace<'v> {
    pub steps: Vec<Step<'v>>,
    pub turns: Option<u64>,
    pub output_tokens: Option<u64>,
    pub final_answer: Option<&'v str>,
    /// How many attempts the line owns up to.
    pub attempts: Option<u64>,
    /// Attempts that are no count, in their own words.
    pub not_attempts: Option<String>,
    /// Turns or tokens that are no counts, in their own words: of the line, or of one of its steps.
    pub not_count: Option<String>,
    pub times: Times,
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
    /// A question to the model: what it was shown with it, and what it said and called.
    Asked {
        shown: Vec<Heard<'v>>,
        said: Vec<&'v str>,
        calls: Vec<Call<'v>>,
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        bytes: u64,
        /// Tokens that are no count, in their own words.
        not_count: Option<String>,
    },
    /// A call, with its result where both are one step.
    Called {
        call: Call<'v>,
        returned: Option<Return<'v>>,
    },
    Returned(Return<'v>),
    /// A step of a type that is not known, or without one.
    Unknown {
        kind: String,
    },
}

/// Something that a question shows the model.
#[derive(Debug)]
pub enum Heard<'v> {
    Given(&'v str),
    /// A turn of the model's own, as the question has it. The last one is what it is made to go on from.
    Own {
        texts: Vec<&'v str>,
        calls: Vec<Call<'v>>,
        is_last: bool,
    },
    Tool(Return<'v>),
}

/// Why a line is not a trajectory.
pub type Misshapen = String;

/// The ids that a trajectory names: the key in a run of ours, the task id elsewhere. Never empty.
pub fn ids_of(value: &Value) -> Result<Vec<&str>, Misshapen> {
    let map = value.as_object().ok_or_else(|| format!("a trajectory is {}, expected an object", value.kind()))?;
    let names = ["key"].iter().chain(fields::ID);
    let ids: Vec<&str> = names.filter_map(|name| map.get(name)?.as_str()).collect();
    if ids.is_empty() { Err("a trajectory has no `task_id`".to_owned()) } else { Ok(ids) }
}

impl<'v> Trace<'v> {
    /// Reads a trajectory.
    pub fn of(value: &'v Value) -> Result<Self, Misshapen> {
        let map = value.as_object().ok_or("a trajectory is not an object")?;
        let steps = match first(map, &["steps", "trajectory", "events"]) {
            Some((_, Value::Array(steps))) => steps.as_slice(),
            Some((name, other)) => return Err(format!("`{name}` is {}, expected a list", other.kind())),
            None => &[],
        };
        let mut times = Times::default();
        let maps = steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.as_object()?)));
        maps.for_each(|(at, step)| times.take(at, step));
        let steps = steps.iter().enumerate().map(|(at, step)| step_of(step).map_err(|why| format!("step {at}: {why}")));
        let usage = map.get("usage").and_then(Value::as_object);
        let steps: Vec<Step<'v>> = steps.collect::<Result<_, _>>()?;
        let not_count = {
            let of_steps = steps.iter().find_map(|step| match step {
                Step::Asked { not_count, .. } => not_count.clone(),
                _ => None,
            });
            fields::not_a_count(map, fields::TURNS).or_else(|| not_tokens(map)).or(of_steps)
        };
        Ok(Self {
            attempts: attempts(map),
            not_attempts: not_attempts(map),
            not_count,
            times,
            steps,
            turns: fields::count(map, fields::TURNS),
            output_tokens: fields::count(map, fields::OUTPUT_TOKENS)
                .or_else(|| fields::count(usage?, fields::OUTPUT_TOKENS)),
            final_answer: map.get("final_answer").and_then(Value::as_str),
        })
    }

    /// Whether a question shows the model turns of its own or results: they may or may not have steps of their own.
    pub fn has_history(&self) -> bool {
        let is_told = |heard: &Heard<'_>| !matches!(heard, Heard::Given(_));
        self.steps.iter().any(|step| matches!(step, Step::Asked { shown, .. } if shown.iter().any(is_told)))
    }
}

fn step_of(value: &Value) -> Result<Step<'_>, Misshapen> {
    let map = value.as_object().ok_or_else(|| format!("{}, expected an object", value.kind()))?;
    let text = |name| map.get(name).and_then(Value::as_str);
    let kind = match first(map, &["type", "kind", "role"]) {
        // A message is what its role says.
        Some((_, Value::String(kind))) if plain(kind) == "message" => text("role").unwrap_or(kind),
        Some((_, Value::String(kind))) => kind.as_str(),
        _ => return Ok(Step::Unknown { kind: String::new() }),
    };
    Ok(match plain(kind).as_str() {
        "prompt" | "system" | "user" | "message" | "instruction" | "developer" => shown(map),
        "llmcall" | "modelcall" | "llm" | "modeloutput" | "assistant" | "completion" | "thought" | "reasoning" => {
            asked(map)?
        }
        "toolcall" | "tooluse" | "functioncall" | "action" => {
            Step::Called { call: Call::of(map), returned: Return::of_call(map)? }
        }
        "toolresult" | "tooloutput" | "functionresult" | "functioncalloutput" | "observation" | "tool" => {
            Step::Returned(Return::of(map)?)
        }
        _ => Step::Unknown { kind: kind.chars().take(40).collect() },
    })
}

/// A type or role without case and punctuation, which are no way to keep a step from being seen.
fn plain(kind: &str) -> String {
    kind.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
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
    "task_id",
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "model",
    "chunks",
    "scan",
    "usage",
    "latency_ms",
    "duration_ms",
    "head_bytes",
    "truncated",
    "args_truncated",
    "content_truncated",
    "output_truncated",
];
/// What is longer is not about a step, whatever it is called.
const LONGEST_ABOUT: usize = 256;
/// Members of a question that are the model's own.
const SAID: &[&str] = &[
    "output",
    "response",
    "completion",
    "reasoning",
    "thinking",
    "tool_calls",
    "function_call",
    "text",
    "head",
    "answer",
    "final_answer",
];

fn is_about(name: &str, value: &Value) -> bool {
    ABOUT.contains(&name) && value.as_str().is_none_or(|text| text.len() <= LONGEST_ABOUT)
}

fn shown(map: &Map) -> Step<'_> {
    let mut texts = Vec::new();
    for (_, value) in map.iter().filter(|(name, value)| !is_about(name, value)) {
        gather(value, &mut texts);
    }
    let digest = map.get("content_sha256").and_then(Value::as_str).and_then(digest);
    Step::Shown { whole: result::is_whole(map, "content_sha256"), texts, digest }
}

fn asked(map: &Map) -> Result<Step<'_>, Misshapen> {
    let (mut shown, mut said, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    // What an `assistant` step holds is what the model said; a call's input is what it was shown.
    let is_call = map.contains("input") || map.contains("messages") || map.contains("prompt") || map.contains("system");
    for (name, value) in map.iter().filter(|(name, value)| !is_about(name, value)) {
        let is_said = SAID.contains(&name) || !is_call && matches!(name, "content" | "message");
        if is_said {
            gather(value, &mut said);
            call::find(name, value, &mut calls);
        } else {
            hear(value, &mut shown)?;
            if let Some(Heard::Own { is_last, .. }) = shown.last_mut() {
                *is_last = true;
            }
        }
    }
    // Some put the answer behind the messages that it answers.
    if said.is_empty()
        && let Some(Heard::Own { is_last: true, .. }) = shown.last()
        && let Some(Heard::Own { texts, calls: own, .. }) = shown.pop()
    {
        said = texts;
        calls.extend(own);
    }
    let usage = map.get("usage").and_then(Value::as_object);
    let tokens = |names| fields::count(map, names).or_else(|| fields::count(usage?, names));
    let bytes = map.get("bytes").and_then(Value::as_u64);
    let bytes = bytes.unwrap_or_else(|| said.iter().map(|text| text.len() as u64).sum());
    Ok(Step::Asked {
        input_tokens: tokens(fields::INPUT_TOKENS),
        output_tokens: tokens(fields::OUTPUT_TOKENS),
        shown,
        said,
        calls,
        bytes,
        not_count: not_tokens(map),
    })
}

/// What stands where tokens should be counted, in its own words.
fn not_tokens(map: &Map) -> Option<String> {
    let of = |map: &Map| {
        [fields::INPUT_TOKENS, fields::OUTPUT_TOKENS].iter().find_map(|names| fields::not_a_count(map, names))
    };
    of(map).or_else(|| of(map.get("usage")?.as_object()?))
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

/// What a member of a question shows: texts, and messages with whose they are.
fn hear<'v>(value: &'v Value, heard: &mut Vec<Heard<'v>>) -> Result<(), Misshapen> {
    match value {
        Value::String(text) => heard.push(Heard::Given(text)),
        Value::Array(items) => return items.iter().try_for_each(|item| hear(item, heard)),
        Value::Object(map) => {
            let word = |name| plain(map.get(name).and_then(Value::as_str).unwrap_or_default());
            if matches!(word("role").as_str(), "assistant" | "model" | "ai") {
                let (mut texts, mut calls) = (Vec::new(), Vec::new());
                for (name, value) in map.iter().filter(|(name, value)| !is_about(name, value)) {
                    gather(value, &mut texts);
                    call::find(name, value, &mut calls);
                }
                heard.push(Heard::Own { texts, calls, is_last: false });
            } else if matches!(word("role").as_str(), "tool" | "function")
                || matches!(word("type").as_str(), "toolresult" | "functioncalloutput")
            {
                heard.push(Heard::Tool(Return::of(map)?));
            } else {
                map.iter().filter(|(name, _)| *name != "role").try_for_each(|(_, value)| hear(value, heard))?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proofmark_canon::json;

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
            let given: Vec<&str> = shown
                .iter()
                .filter_map(|heard| if let Heard::Given(text) = heard { Some(*text) } else { None })
                .collect();
            assert_eq!((given.as_slice(), said.as_slice()), (&["I", "U"][..], &["O"][..]));
            assert!(matches!(shown[2..], [Heard::Tool(_), Heard::Own { is_last: true, .. }]), "{shown:?}");
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
                    Step::Returned(_) => "returned",
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
            (format!(r#""output":"abc","bytes":3,"output_sha256":"{digest}""#), true),
            (format!(r#""output":"abd","output_sha256":"{digest}""#), false),
            (r#""output":"abc","bytes":90000"#.to_owned(), false),
            (r#""output":{"a":"b"},"bytes":12"#.to_owned(), true),
            (r#""output":{"a":"b"},"bytes":90000"#.to_owned(), false),
            (r#""error":"abc""#.to_owned(), true),
            (r#""output":null"#.to_owned(), true),
            (r#""name":"bash""#.to_owned(), false),
            (format!(r#""head":"abc","binary":true,"output_sha256":"{digest}""#), false),
        ] {
            trace(&format!("{{\"type\":\"tool_result\",{step}}}"), |trace| {
                let Step::Returned(returned) = &trace.steps[0] else { panic!() };
                assert_eq!(returned.extent == Extent::Whole, want, "{step}");
            });
        }
    }

    #[test]
    fn what_is_no_trajectory_is_refused() {
        for text in [r#"{"steps":7}"#, r#"{"steps":[1]}"#, r#"{"steps":[{"type":"tool_result","scan":{"x":1}}]}"#, "[]"]
        {
            assert!(Trace::of(&json::parse(text.as_bytes()).unwrap()).is_err(), "{text}");
        }
        assert!(ids_of(&json::parse(b"{}").unwrap()).is_err());
        assert_eq!(ids_of(&json::parse(br#"{"key":"k","task_id":"t"}"#).unwrap()), Ok(vec!["k", "t"]));
    }
}
