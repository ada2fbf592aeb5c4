//! A record as the checks see it: borrowed from its line, nothing kept that is not looked at.
//!
//! It mirrors [`crate::record::Record`], and a test holds the two together. It is stricter in one
//! point: fields that may be null must still be there.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use proofmark_canon::Digest;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::record::{Attachment, Image, Judged, Never, Role, Status, TokenLogprob, ToolCall, Usage, Voting};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a record")]
pub(super) struct RecordView<'a> {
    #[serde(borrow)]
    pub(super) condition: Text<'a>,
    #[serde(borrow, deserialize_with = "present")]
    pub(super) error: Option<ErrorView<'a>>,
    /// Whether there is a gold answer.
    #[serde(deserialize_with = "present")]
    pub(super) expected: Option<IgnoredAny>,
    #[serde(borrow, deserialize_with = "present")]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(rename = "input")]
    _input: InputView,
    #[serde(borrow)]
    pub(super) item_id: Text<'a>,
    #[serde(borrow)]
    pub(super) key: Text<'a>,
    #[serde(rename = "latency_ms", deserialize_with = "present")]
    _latency_ms: Option<Never>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) ordinal: u64,
    #[serde(borrow, deserialize_with = "present")]
    pub(super) output: Option<OutputView<'a>>,
    pub(super) output_fingerprint: Digest,
    #[serde(borrow)]
    pub(super) provider: Text<'a>,
    #[serde(borrow)]
    pub(super) run_id: Text<'a>,
    pub(super) sample: u32,
    pub(super) schema_version: u32,
    #[serde(borrow)]
    pub(super) scores: Vec<ScoreView<'a>>,
    pub(super) seed: u32,
    #[serde(borrow)]
    pub(super) started_at: Text<'a>,
    pub(super) status: Status,
    #[serde(borrow)]
    pub(super) task: Text<'a>,
    #[serde(rename = "tool_calls")]
    _tool_calls: u32,
    #[serde(rename = "turns")]
    _turns: u32,
    pub(super) usage: Usage,
    #[serde(rename = "voting", default)]
    _voting: Option<Voting>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an error")]
pub(super) struct ErrorView<'a> {
    #[serde(borrow)]
    pub(super) class: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an input")]
struct InputView {
    #[serde(rename = "fingerprint")]
    _fingerprint: Digest,
    #[serde(rename = "messages")]
    _messages: Each<MessageView>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a message")]
struct MessageView {
    #[serde(rename = "attachments", default)]
    _attachments: Each<Attachment>,
    #[serde(rename = "content")]
    _content: AnyText,
    #[serde(rename = "role")]
    _role: Role,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "an output")]
pub(super) struct OutputView<'a> {
    #[serde(borrow, default)]
    pub(super) answered_by: Option<Text<'a>>,
    #[serde(default)]
    pub(super) images: Vec<Image>,
    #[serde(default, rename = "logprobs")]
    _logprobs: Each<TokenLogprob>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(default)]
    pub(super) tool_calls: Vec<ToolCall>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a score")]
pub(super) struct ScoreView<'a> {
    #[serde(rename = "explanation")]
    _explanation: AnyText,
    #[serde(default)]
    pub(super) judge: Option<Judged>,
    pub(super) passed: bool,
    #[serde(borrow)]
    pub(super) scorer: Text<'a>,
    pub(super) value: f64,
}

/// A text that borrows when it can. A bare `Cow` behind an `Option` would always be copied.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A text that is only required to be one.
struct AnyText;

impl<'de> Deserialize<'de> for AnyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = AnyText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, _: &str) -> Result<AnyText, E> {
                Ok(AnyText)
            }
        }
        deserializer.deserialize_str(V)
    }
}

/// A list whose entries are read and dropped one by one.
struct Each<T>(PhantomData<T>);

impl<T> Default for Each<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Each<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Each<T>, A::Error> {
                while list.next_element::<T>()?.is_some() {}
                Ok(Each(PhantomData))
            }
        }
        deserializer.deserialize_seq(V(PhantomData))
    }
}

/// Reads a field that may be null; with a function of its own it may not be missing.
fn present<'de, D: Deserializer<'de>, T: de::Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::record::Record;

    fn sample() -> Value {
        let digest = Digest::of(b"x").to_string();
        json!({
            "condition": "raw", "error": {"class": "c", "message": "m"}, "expected": [1, {"a": null}],
            "finish_reason": "stop", "input": {"fingerprint": digest, "messages": [{
                "attachments": [{"bytes": 1, "digest": digest, "media_type": "image/png", "name": "a.png"}],
                "content": "a\nb", "role": "user"}]},
            "item_id": "1", "key": "k", "latency_ms": null, "model": "m", "ordinal": 1, "output": {
                "answered_by": "m-2", "images": [{"bytes": 1, "digest": digest, "height": 1, "media_type": "image/png", "width": 1}],
                "logprobs": [{"logprob": -0.5, "token": "t", "top": [{"logprob": -0.5, "token": "t"}]}],
                "reasoning": "r", "text": "t\n", "tool_calls": [{"arguments": 1, "name": "f"}]},
            "output_fingerprint": digest, "provider": "p", "run_id": "00112233445566778899aabbccddeeff", "sample": 0,
            "schema_version": 1, "scores": [{"explanation": "e", "judge": {"dissent": 0, "opinions": [{
                "judge": "j", "key": digest, "order": "answer_first", "passed": true, "reason": "r", "score": 0.5,
                "usage": {"input_tokens": 1, "output_tokens": 2}, "value": 1, "verdict": "pass", "vote": 0}],
                "stage": "judge"}, "passed": true, "scorer": "s", "value": 0.5}],
            "seed": 1, "started_at": "s", "status": "error", "task": "t", "tool_calls": 0, "turns": 0,
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "voting": {"answers": ["a", null], "chosen": 0, "rule": "majority", "votes": 1},
        })
    }

    /// Fields that may hold anything.
    const ANYTHING: [&str; 2] = ["arguments", "expected"];

    /// Fields below the top that are left out when there is nothing to say.
    const OPTIONAL: [&str; 10] = [
        "answered_by",
        "attachments",
        "chosen",
        "images",
        "logprobs",
        "order",
        "reasoning",
        "score",
        "tool_calls",
        "top",
    ];

    fn view_reads(value: &Value) -> bool {
        let text = value.to_string();
        serde_json::from_str::<RecordView<'_>>(&text).is_ok()
    }

    /// The pointers of all objects inside the value, without those in `expected`, which may be anything.
    fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.push(at.to_owned());
                for (name, member) in members.iter().filter(|(name, _)| *name != "expected") {
                    objects(member, &format!("{at}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    objects(item, &format!("{at}/{position}"), found);
                }
            }
            _ => {}
        }
    }

    /// The names of the properties of all objects in a schema.
    fn properties(schema: &Value, found: &mut Vec<Vec<String>>) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    found.push(properties.keys().cloned().collect());
                }
                members.values().for_each(|member| properties(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| properties(item, found)),
            _ => {}
        }
    }

    #[test]
    fn the_view_has_exactly_the_fields_of_a_record() {
        let sample = sample();
        let mut pointers = Vec::new();
        objects(&sample, "", &mut pointers);
        // The sample is full: it holds every object of the schema, with every property.
        let (mut in_schema, mut in_sample) = (Vec::new(), Vec::<Vec<String>>::new());
        properties(&crate::schema::all().iter().find(|s| s.name == "record").unwrap().value(), &mut in_schema);
        for pointer in &pointers {
            in_sample.push(sample.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect());
        }
        in_schema.sort();
        in_sample.sort();
        // Some shapes stand in more than one place.
        in_sample.dedup();
        assert_eq!(in_schema, in_sample);
        // The view takes it whole and refuses it with one field less, more or of another type.
        assert!(view_reads(&sample));
        for pointer in &pointers {
            let names: Vec<String> = sample.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
            for name in names {
                let mut changed = sample.clone();
                let object = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
                let was = object.remove(&name).unwrap();
                let is_of_score = name == "judge" && !pointer.contains("opinions");
                let may_miss =
                    name == "voting" || is_of_score || (OPTIONAL.contains(&name.as_str()) && pointer.len() > 1);
                assert_eq!(view_reads(&changed), may_miss, "without {pointer}/{name}");
                assert!(!may_miss || serde_json::from_value::<Record>(changed.clone()).is_ok(), "{pointer}/{name}");
                let object = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
                object.insert(name.clone(), if was.is_boolean() { json!(1) } else { json!(true) });
                let agree = serde_json::from_value::<Record>(changed.clone()).is_ok() == view_reads(&changed);
                assert!(
                    agree && (ANYTHING.contains(&name.as_str()) || !view_reads(&changed)),
                    "type of {pointer}/{name}"
                );
            }
            let mut changed = sample.clone();
            changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("zz".to_owned(), json!(1));
            assert!(!view_reads(&changed) && serde_json::from_value::<Record>(changed).is_err(), "{pointer}/zz");
        }
    }

    #[test]
    fn the_view_and_a_record_agree_on_nulls() {
        for name in ["error", "finish_reason", "output", "latency_ms", "expected", "status", "scores", "usage", "key"] {
            let mut changed = sample();
            changed[name] = Value::Null;
            assert_eq!(view_reads(&changed), serde_json::from_value::<Record>(changed.clone()).is_ok(), "{name}");
        }
    }

    #[test]
    fn texts_without_escapes_are_not_copied() {
        let text = sample().to_string();
        let view: RecordView<'_> = serde_json::from_str(&text).unwrap();
        assert!(matches!(view.item_id.0, Cow::Borrowed(_)));
        assert!(matches!(view.finish_reason.unwrap().0, Cow::Borrowed(_)));
        assert_eq!(&*view.output.unwrap().text, "t\n");
    }
}
