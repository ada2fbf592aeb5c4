//! Calls of tools, which a stream gives in pieces.

use std::collections::BTreeMap;

use proofmark_artefact::record::ToolCall;
use proofmark_canon::Value;

use super::fields;
use crate::wire::WireError;

/// Calls under construction, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: Vec<Pending>,
    /// Which one an index means now.
    at: BTreeMap<u64, usize>,
}

#[derive(Debug, Default)]
struct Pending {
    id: String,
    name: String,
    arguments: String,
    /// Arguments that came as JSON instead of JSON text.
    value: Option<Value>,
}

impl Calls {
    /// Takes a call, or a piece of the one that the index means.
    pub(super) fn take(&mut self, index: u64, call: &Value) -> Result<(), WireError> {
        let id = fields::text(call, "id")?.unwrap_or_default();
        let function = fields::object(call, "function")?;
        let function = function.ok_or_else(|| WireError::malformed("a tool call of the reply has no `function`"))?;
        // Some servers give every call the index 0; another id is another call.
        let goes_on = |pending: &Pending| id.is_empty() || pending.id.is_empty() || pending.id == id;
        let known = self.at.get(&index).copied().filter(|at| self.list.get(*at).is_some_and(goes_on));
        let at = known.unwrap_or(self.list.len());
        if known.is_none() {
            self.list.push(Pending::default());
            self.at.insert(index, at);
        }
        let Some(pending) = self.list.get_mut(at) else { return Ok(()) };
        if pending.id.is_empty() {
            pending.id = id.to_owned();
        }
        if pending.name.is_empty() {
            pending.name = fields::text(function, "name")?.unwrap_or_default().to_owned();
        }
        match fields::member(function, "arguments") {
            None => {}
            Some(Value::String(text)) => pending.arguments.push_str(text),
            Some(value @ Value::Object(_)) => pending.value = Some(value.clone()),
            Some(other) => return Err(fields::unexpected("arguments", other, "a text")),
        }
        Ok(())
    }

    pub(super) fn complete(self) -> Result<Vec<(String, ToolCall)>, WireError> {
        let calls = self.list.into_iter().map(|Pending { id, name, arguments, value }| {
            if name.is_empty() {
                return Err(WireError::malformed("a tool call of the reply has no `name`"));
            }
            let arguments = fields::arguments(&value.map_or(arguments, |value| value.to_string()));
            Ok((id, ToolCall { arguments, name }))
        });
        calls.collect()
    }
}
