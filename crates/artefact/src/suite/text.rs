//! Fields of a suite that can be written in more than one shape.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::config::{Condition, Conditions, Group, NamedCondition, Shuffle};
use crate::path::RelPath;
use crate::record::Role;

/// Text in the suite or in a file: `"…"` or `{file: prompts/x.md}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSource {
    Inline(String),
    File(RelPath),
}

/// A prompt: a text, a file, or chat messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSource {
    Text(TextSource),
    Messages(Vec<MessageSource>),
}

/// One message of a chat prompt; its content is a template.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageSource {
    pub role: Role,
    pub content: TextSource,
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileRef {
    file: RelPath,
}

impl<'de> Deserialize<'de> for TextSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = TextSource;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or `{file: PATH}`")
            }
            fn visit_str<E>(self, text: &str) -> Result<TextSource, E> {
                Ok(TextSource::Inline(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextSource, A::Error> {
                FileRef::deserialize(de::value::MapAccessDeserializer::new(map)).map(|r| TextSource::File(r.file))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl Serialize for TextSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(text) => serializer.serialize_str(text),
            Self::File(path) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("file", path)?;
                map.end()
            }
        }
    }
}

impl JsonSchema for TextSource {
    fn schema_name() -> Cow<'static, str> {
        "TextSource".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Text in the suite, or a file that holds it",
            "anyOf": [{"type": "string"}, generator.subschema_for::<FileRef>()],
        })
    }
}

impl<'de> Deserialize<'de> for PromptSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = PromptSource;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, `{file: PATH}`, or a list of `{role: …, content: …}` messages")
            }
            fn visit_str<E>(self, text: &str) -> Result<PromptSource, E> {
                Ok(PromptSource::Text(TextSource::Inline(text.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PromptSource, A::Error> {
                FileRef::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|r| PromptSource::Text(TextSource::File(r.file)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PromptSource, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = list.next_element()? {
                    messages.push(message);
                }
                Ok(PromptSource::Messages(messages))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl Serialize for PromptSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Messages(messages) => messages.serialize(serializer),
        }
    }
}

impl JsonSchema for PromptSource {
    fn schema_name() -> Cow<'static, str> {
        "PromptSource".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A strict template: a text, a file, or chat messages",
            "anyOf": [
                {"type": "string"},
                generator.subschema_for::<FileRef>(),
                {"type": "array", "minItems": 1, "items": generator.subschema_for::<MessageSource>()},
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Conditions;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("conditions by name, or a list of conditions with `id`s")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Conditions, A::Error> {
                let mut conditions = Vec::new();
                // `raw:` with nothing behind it is an arm that changes nothing.
                while let Some((name, condition)) = map.next_entry::<String, Option<Condition>>()? {
                    conditions.push((name, condition.unwrap_or_default()));
                }
                Ok(Conditions(conditions))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Conditions, A::Error> {
                let mut conditions = Vec::new();
                while let Some(named) = list.next_element::<NamedCondition>()? {
                    let NamedCondition { id, system, prompt, params, token } = named;
                    conditions.push((id, Condition { system, prompt, params, token }));
                }
                Ok(Conditions(conditions))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for Conditions {
    fn schema_name() -> Cow<'static, str> {
        "Conditions".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let condition = generator.subschema_for::<Condition>();
        json_schema!({
            "description": "Named prompt arms, in the order in which they are written",
            "anyOf": [
                {"type": "object", "additionalProperties": {"anyOf": [condition, {"type": "null"}]}},
                {"type": "array", "items": generator.subschema_for::<NamedCondition>()},
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Shuffle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Shuffle;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a seed")
            }
            fn visit_bool<E>(self, on: bool) -> Result<Shuffle, E> {
                Ok(if on { Shuffle::SuiteSeed } else { Shuffle::Off })
            }
            fn visit_u64<E>(self, seed: u64) -> Result<Shuffle, E> {
                Ok(Shuffle::Seed(seed))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl JsonSchema for Shuffle {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Shuffle".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 0}]})
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Group;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number or the name of a group")
            }
            fn visit_str<E>(self, name: &str) -> Result<Group, E> {
                Ok(Group::Name(name.to_owned()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Group, E> {
                u32::try_from(number).map(Group::Number).map_err(|_| E::custom("there is no such group"))
            }
        }
        deserializer.deserialize_any(V)
    }
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl JsonSchema for Group {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Group".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]})
    }
}

impl TextSource {
    /// The file, when the text is in one.
    pub fn file(&self) -> Option<&RelPath> {
        if let Self::File(path) = self { Some(path) } else { None }
    }
}
