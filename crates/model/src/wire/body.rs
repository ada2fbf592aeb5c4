//! What wires have in common: reading a reply, writing a body.

use proofmark_artefact::record::Role;
use proofmark_canon::json::{self, Integers, ParseErrorKind};
use proofmark_canon::{Map, Value};

use super::WireError;
use crate::ask::Request;

/// A JSON object under construction; keys end up in canonical order.
#[derive(Debug, Default)]
pub(crate) struct Body(Map);

impl Body {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(name, value);
        self
    }

    /// Copies parameters that have the same name and meaning on both sides.
    pub(crate) fn copy(&mut self, request: &Request, names: &[&str]) -> &mut Self {
        for name in names {
            self.copy_as(request, name, name);
        }
        self
    }

    /// Copies one parameter under the provider's name for it.
    pub(crate) fn copy_as(&mut self, request: &Request, name: &str, theirs: &str) -> &mut Self {
        if let Some(value) = request.params.get(name) {
            self.0.insert(theirs, value.clone());
        }
        self
    }

    /// Adds what the user wants in the body besides; objects are merged member by member, and the user's values win.
    pub(crate) fn merge_extra(&mut self, request: &Request) -> &mut Self {
        if let Some(Value::Object(extra)) = request.params.get("extra_body") {
            merge(&mut self.0, extra);
        }
        self
    }

    pub(crate) fn into_map(self) -> Map {
        self.0
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(512);
        self.0.append_canonical(&mut bytes);
        bytes
    }
}

impl From<Body> for Value {
    fn from(body: Body) -> Self {
        Self::Object(body.0)
    }
}

fn merge(into: &mut Map, extra: &Map) {
    for (name, value) in extra.iter() {
        let merged = match (into.remove(name), value) {
            (Some(Value::Object(mut ours)), Value::Object(theirs)) => {
                merge(&mut ours, theirs);
                Value::Object(ours)
            }
            _ => value.clone(),
        };
        into.insert(name, merged);
    }
}

/// Reads a reply's JSON. Integers too large for a number become text: they are ids, never counts.
pub(crate) fn parse_reply(bytes: &[u8]) -> Result<Value, WireError> {
    json::parse_with(bytes, Integers::AsText).map_err(|error| match error.kind {
        ParseErrorKind::UnexpectedEnd => WireError::truncated(),
        _ => WireError::malformed(format!("the reply is not JSON: {error}")),
    })
}

/// A JSON object out of its members.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut map = Map::new();
    for (name, value) in members {
        map.insert(name, value);
    }
    Value::Object(map)
}

/// A member of a reply that must be a text.
pub(crate) fn text_of<'a>(value: &'a Value, name: &str) -> Result<&'a str, WireError> {
    match value.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(WireError::malformed(format!("`{name}` is {}, expected a text", other.kind()))),
        None => Err(WireError::malformed(format!("the reply has no `{name}`"))),
    }
}

/// A count in a reply; `None` when it is missing or null.
pub(crate) fn count_of(value: &Value, name: &str) -> Result<Option<u64>, WireError> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(count) => match count.as_u64() {
            Some(count) => Ok(Some(count)),
            None => Err(WireError::malformed(format!("`{name}` is {}, expected a count", count.kind()))),
        },
    }
}

/// All system messages as one text; empty ones say nothing.
pub(crate) fn system_text(request: &Request) -> Result<Option<String>, String> {
    let mut texts = Vec::new();
    for message in request.messages.iter().filter(|message| message.role == Role::System) {
        if let Some(attachment) = message.attachments.first() {
            return Err(format!("a system message cannot carry a file such as `{}`", attachment.name));
        }
        if !message.content.is_empty() {
            texts.push(message.content.as_str());
        }
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}
