//! A message that came in events.

use std::collections::btree_map::Entry;

use proofmark_canon::Value;

use super::super::body::{count_of, text_of};
use super::super::{Assemble, Completion, Finish, WireError, parse_reply};
use super::refuse::is_filter;
use super::reply::{Block, Message, error_text};

#[derive(Debug, Default)]
pub(super) struct Events {
    message: Message,
    /// Whether the last event came.
    complete: bool,
}

impl Assemble for Events {
    fn take(&mut self, _event: &str, data: &str) -> Result<bool, WireError> {
        // The event's name stands in the data once more.
        let event = parse_reply(data.as_bytes())?;
        match text_of(&event, "type")? {
            "message_start" => self.message.begin(event.get("message").unwrap_or(&Value::Null))?,
            "content_block_start" => self.start_block(&event)?,
            "content_block_delta" => self.grow_block(&event)?,
            "message_delta" => {
                self.message.end(event.get("delta").unwrap_or(&Value::Null))?;
                self.message.count(&event)?;
            }
            "message_stop" => self.complete = true,
            "error" => {
                let reason = error_text(&event);
                if !is_filter(&reason) {
                    return Err(WireError::server(reason));
                }
                self.message.finish = Some(Finish::Filtered(reason));
                self.complete = true;
            }
            // `ping`, `content_block_stop`, and events to come.
            _ => {}
        }
        Ok(self.complete)
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        if !self.complete {
            return Err(WireError::cut());
        }
        self.message.into_completion()
    }
}

impl Events {
    fn start_block(&mut self, event: &Value) -> Result<(), WireError> {
        let Some(block) = event.get("content_block") else {
            return Err(WireError::malformed("`content_block_start` has no `content_block`"));
        };
        match self.message.blocks.entry(index(event)?) {
            Entry::Vacant(place) => place.insert(Block::read(block)?),
            Entry::Occupied(_) => return Err(WireError::malformed("a content block starts twice")),
        };
        Ok(())
    }

    fn grow_block(&mut self, event: &Value) -> Result<(), WireError> {
        let Some(block) = self.message.blocks.get_mut(&index(event)?) else {
            return Err(WireError::malformed("a content block goes on that never started"));
        };
        let Some(delta) = event.get("delta") else {
            return Err(WireError::malformed("`content_block_delta` has no `delta`"));
        };
        match (text_of(delta, "type")?, block) {
            ("text_delta", Block::Text(text)) => text.push_str(text_of(delta, "text")?),
            ("thinking_delta", Block::Thinking { text, .. }) => text.push_str(text_of(delta, "thinking")?),
            ("signature_delta", Block::Thinking { signature, .. }) => signature.push_str(text_of(delta, "signature")?),
            ("input_json_delta", Block::Call { partial, .. }) => partial.push_str(text_of(delta, "partial_json")?),
            (_, Block::Other) => {}
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta", _) => {
                return Err(WireError::malformed("a content block goes on as something else"));
            }
            // `citations_delta`, and deltas to come.
            _ => {}
        }
        Ok(())
    }
}

fn index(event: &Value) -> Result<u64, WireError> {
    count_of(event, "index")?.ok_or_else(|| WireError::malformed("the event has no `index`"))
}
