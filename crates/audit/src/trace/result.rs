//! What came back from a tool.

use proofmark_artefact::trajectory::Scan;
use proofmark_canon::json::append_string;
use proofmark_canon::{Digest, Map, Value, json};

use super::call::CAME_BACK;
use super::{Misshapen, digest, gather, is_about};
use crate::input::fields::first;

/// A result.
#[derive(Debug)]
pub struct Return<'v> {
    /// Every text of it by itself.
    pub texts: Vec<&'v str>,
    /// What the agent saw as one: the parts that are not bookkeeping.
    body: Vec<&'v Value>,
    /// The beginning, where only that was kept.
    pub head: Option<&'v str>,
    pub source: Option<&'v str>,
    pub scan: Option<Scan>,
    pub extent: Extent,
}

/// How much of a result is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    Part,
    /// Nothing says what came back.
    Absent,
}

/// Where a result's content usually stands.
const CONTENT: &[&str] = &["content", "output", "text", "result"];
/// Texts that an agent is shown together.
const TOGETHER: &[&str] = &[
    "content",
    "output",
    "text",
    "result",
    "head",
    "stdout",
    "stderr",
    "error",
    "data",
    "response",
    "observation",
    "tool_output",
];

impl<'v> Return<'v> {
    pub fn of(map: &'v Map) -> Result<Self, Misshapen> {
        let is_of_result = |name: &str| {
            !matches!(name, "name" | "tool" | "tool_name" | "url" | "source" | "uri" | "is_error" | "binary")
        };
        Self::read(map, is_of_result)
    }

    /// The result in the step of its call, where there is one.
    pub fn of_call(map: &'v Map) -> Result<Option<Self>, Misshapen> {
        if first(map, CAME_BACK).is_none() {
            return Ok(None);
        }
        let is_of_result = |name: &str| CAME_BACK.contains(&name);
        let returned = Self::read(map, is_of_result)?;
        let extent = if is_cut(map) { Extent::Part } else { Extent::Whole };
        Ok(Some(Self { head: None, extent, ..returned }))
    }

    fn read(map: &'v Map, is_of_result: impl Fn(&str) -> bool) -> Result<Self, Misshapen> {
        let (mut texts, mut body, mut is_absent) = (Vec::new(), Vec::new(), true);
        for (name, value) in map.iter().filter(|(name, value)| !is_about(name, value) && is_of_result(name)) {
            is_absent = false;
            gather(value, &mut texts);
            match value {
                Value::Array(_) | Value::Object(_) => body.push(value),
                Value::String(_) if TOGETHER.contains(&name) => body.push(value),
                _ => {}
            }
        }
        let scan = match map.get("scan") {
            None | Some(Value::Null) => None,
            Some(value) => Some(json::from_value::<Scan>(value).map_err(|error| format!("`scan`: {error}"))?),
        };
        let is_binary = map.get("binary").and_then(Value::as_bool) == Some(true);
        let extent = match () {
            () if is_absent => Extent::Absent,
            () if !is_binary && is_whole(map, "output_sha256") => Extent::Whole,
            () => Extent::Part,
        };
        Ok(Self {
            texts,
            body,
            head: map.get("head").and_then(Value::as_str),
            source: first(map, &["url", "source", "uri"]).and_then(|(_, value)| value.as_str()),
            scan,
            extent,
        })
    }

    /// The result as the agent saw it, when that is more than one text: blocks behind each other, any other structure as
    /// JSON with its names and numbers.
    ///
    /// Where an answer stands tells what it is, and in a structure that is said by what stands beside it. A member that
    /// `is_echo` is left out, as it is what the call itself said.
    pub fn as_one(&self, is_echo: &dyn Fn(&str, &str) -> bool) -> Option<String> {
        if matches!(self.body.as_slice(), [] | [Value::String(_)]) {
            return None;
        }
        let mut out = Vec::new();
        let mut count = 0;
        for value in &self.body {
            match (value, blocks(value)) {
                (Value::String(text), _) => {
                    count += 1;
                    line(text, &mut out);
                }
                (_, Some(texts)) => {
                    count += texts.len();
                    texts.iter().for_each(|text| line(text, &mut out));
                }
                (_, None) => {
                    count += 2;
                    append(value, is_echo, &mut out);
                    out.push(b'\n');
                }
            }
        }
        // One block is the text that was looked at by itself.
        if count < 2 { None } else { String::from_utf8(out).ok() }
    }
}

fn line(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// The texts of a list of content blocks.
fn blocks(value: &Value) -> Option<Vec<&str>> {
    let block = |item: &'_ Value| match item {
        Value::Object(map) if map.iter().all(|(name, _)| matches!(name, "type" | "text" | "annotations")) => true,
        Value::String(_) => true,
        _ => false,
    };
    let items = value.as_array().filter(|items| items.iter().all(block))?;
    Some(items.iter().filter_map(|item| item.as_str().or_else(|| item.get("text")?.as_str())).collect())
}

/// JSON of a value without what the call itself said.
fn append(value: &Value, is_echo: &dyn Fn(&str, &str) -> bool, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append(item, is_echo, out);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            let kept = map.iter().filter(|(name, value)| !value.as_str().is_some_and(|text| is_echo(name, text)));
            out.push(b'{');
            for (at, (name, value)) in kept.enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append_string(name, out);
                out.push(b':');
                append(value, is_echo, out);
            }
            out.push(b'}');
        }
        scalar => scalar.append_canonical(out),
    }
}

fn is_cut(map: &Map) -> bool {
    let names = ["truncated", "content_truncated", "output_truncated"];
    names.iter().any(|name| map.get(name).and_then(Value::as_bool) == Some(true))
}

/// Whether the text of a step is all there was: what is only a beginning says how long it was, or has another digest.
pub(super) fn is_whole(map: &Map, digest_name: &str) -> bool {
    if is_cut(map) {
        return false;
    }
    let bytes = map.get("bytes").and_then(Value::as_u64);
    let recorded = map.get(digest_name).and_then(Value::as_str).and_then(digest);
    if let Some(head) = map.get("head").and_then(Value::as_str) {
        return match (bytes, recorded) {
            (_, Some(digest)) => digest == Digest::of(head.as_bytes()),
            (Some(bytes), None) => bytes == head.len() as u64,
            (None, None) => false,
        };
    }
    match first(map, CONTENT).map(|(_, value)| value) {
        // A digest without any text shows nothing.
        None => !map.contains(digest_name),
        Some(Value::String(text)) => {
            let is_long = |bytes| bytes == text.len() as u64 || bytes == text.chars().count() as u64;
            bytes.is_none_or(is_long) && recorded.is_none_or(|digest| digest == Digest::of(text.as_bytes()))
        }
        // Nobody knows how somebody else wrote down a structure, but not in a multiple of its length.
        Some(value) => bytes.is_none_or(|bytes| bytes <= 4 * value.to_canonical().len() as u64 + 256),
    }
}
