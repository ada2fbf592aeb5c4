//! The tree of a document, in which everything knows its place.

use proofmark_canon::json::cmp_utf16;
use proofmark_canon::{Map, Number, Value};

/// A place in a text: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub line: u32,
    pub column: u32,
}

/// A value and where it is written.
///
/// What an alias brought in has the alias' place at its top and the anchor's places inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub kind: NodeKind,
    pub span: Span,
}

/// A value as YAML 1.2 core has it, mappings in written order.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping, unique in it.
///
/// Keys are strings. One that is written as a number or a boolean is the canonical text of what it
/// says (`1.50:` is `1.5`, `True:` is `true`), as the structured hash of such a mapping always was;
/// null and collections are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    pub span: Span,
}

/// One step from a value to a value inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl Node {
    /// Returns the value without its places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(bool) => Value::Bool(*bool),
            NodeKind::Number(number) => Value::Number(*number),
            NodeKind::String(text) => Value::String(text.clone()),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            NodeKind::Mapping(entries) => {
                // Sorted once, not inserted one by one: a mapping may have a million keys.
                let mut members: Vec<_> =
                    entries.iter().map(|(key, value)| (key.text.clone(), value.to_value())).collect();
                members.sort_by(|a, b| cmp_utf16(&a.0, &b.0));
                // A tree built by hand may repeat a key; one that was loaded cannot.
                members.dedup_by(|later, first| later.0 == first.0);
                Value::Object(Map::from_members(members).unwrap_or_default())
            }
        }
    }

    /// Returns the value of a key, when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            NodeKind::Mapping(entries) => entries.iter().find(|(have, _)| have.text == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the place of the deepest value that the path reaches.
    ///
    /// A step that leads nowhere ends the walk: `tasks[0].prompt` of a task without a prompt is the
    /// place of the task.
    pub fn lookup(&self, path: &[PathStep<'_>]) -> Span {
        let mut here = self;
        for step in path {
            let next = match (step, &here.kind) {
                (PathStep::Key(key), _) => here.get(key),
                (PathStep::Index(index), NodeKind::Sequence(items)) => items.get(*index),
                (PathStep::Index(_), _) => None,
            };
            let Some(next) = next else { break };
            here = next;
        }
        here.span
    }
}
