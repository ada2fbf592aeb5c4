//! Typed values out of a tree, with every error at the innermost node it arose in.
//!
//! Nothing is converted: a boolean comes from a boolean, a string from a string, an integer from a
//! whole number. An enum is a string (a unit variant) or a mapping with a `type` that names the
//! variant; what else the mapping holds is the variant's content.

use proofmark_canon::Number;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Visitor};

use super::error::{YamlError, excerpt, one_of};
use super::node::{Key, Node, NodeKind};
use super::scalar::{as_number, number_text};
use super::variant::{Named, Tagged};

/// Reads a typed value out of a tree.
pub fn from_node<'a, T: Deserialize<'a>>(node: &'a Node) -> Result<T, YamlError> {
    T::deserialize(node)
}

impl Node {
    /// What it is, in the words of an error message.
    fn in_words(&self) -> String {
        match &self.kind {
            NodeKind::Null => "null".to_owned(),
            NodeKind::Bool(bool) => format!("the boolean {bool}"),
            NodeKind::Number(number) => format!("the number {}", number_text(*number)),
            NodeKind::String(text) => format!("the string \"{}\"", excerpt(text)),
            NodeKind::Sequence(_) => "a list".to_owned(),
            NodeKind::Mapping(_) => "a mapping".to_owned(),
        }
    }

    fn expected(&self, what: &str) -> YamlError {
        let error = YamlError::new(format!("expected {what}, found {}", self.in_words())).at(self.span);
        match self.kind {
            NodeKind::Null => error.with_hint("write a value, or remove the key"),
            _ => error,
        }
    }

    fn expected_boolean(&self) -> YamlError {
        let error = self.expected("a boolean");
        match &self.kind {
            NodeKind::String(text) if matches!(text.as_str(), "true" | "false") => {
                error.with_hint("write it without quotes")
            }
            NodeKind::String(_) | NodeKind::Number(_) => error.with_hint("write `true` or `false`, without quotes"),
            _ => error,
        }
    }

    fn expected_number(&self, what: &str) -> YamlError {
        let error = self.expected(what);
        let NodeKind::String(text) = &self.kind else { return error };
        let bare = text.replace(['_', ','], "");
        match as_number(text).or_else(|| as_number(&bare)) {
            Some(Ok(_)) if *text == bare => error.with_hint("write it without quotes"),
            Some(Ok(_)) => error.with_hint(format!("write `{}`", excerpt(&bare))),
            _ => error,
        }
    }

    pub(super) fn expected_string(&self) -> YamlError {
        let error = self.expected("a string");
        match self.kind {
            NodeKind::Bool(_) | NodeKind::Number(_) => error.with_hint("put it in quotes"),
            _ => error,
        }
    }

    fn integer(&self, least: i64, most: i64) -> Result<i64, YamlError> {
        let NodeKind::Number(number) = self.kind else { return Err(self.expected_number("a whole number")) };
        let number = number.get();
        let (least, most) = (least.max(-SAFE), most.min(SAFE));
        if number.fract() != 0.0 {
            return Err(self.expected("a whole number"));
        }
        // Both bounds are exact as doubles: they are within 2^53.
        if number < least as f64 || number > most as f64 {
            return Err(self.expected(&format!("a whole number from {least} to {most}")));
        }
        Ok(number as i64)
    }

    fn visit_integer<'de, V: Visitor<'de>>(&self, least: i64, most: i64, visitor: V) -> Result<V::Value, YamlError> {
        let integer = self.integer(least, most)?;
        let visited = match u64::try_from(integer) {
            Ok(integer) => visitor.visit_u64(integer),
            Err(_) => visitor.visit_i64(integer),
        };
        visited.map_err(|error: YamlError| error.at(self.span))
    }
}

const SAFE: i64 = Number::MAX_SAFE as i64;

macro_rules! deserialize_integers {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
            let most = i64::try_from(<$type>::MAX).unwrap_or(i64::MAX);
            let least = i64::try_from(<$type>::MIN).unwrap_or(i64::MIN);
            self.visit_integer(least, most, visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &'de Node {
    type Error = YamlError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        let visited = match &self.kind {
            NodeKind::Null => visitor.visit_unit(),
            NodeKind::Bool(bool) => visitor.visit_bool(*bool),
            NodeKind::Number(number) => {
                let float = number.get();
                if float.fract() == 0.0 && float.abs() <= SAFE as f64 {
                    return self.visit_integer(-SAFE, SAFE, visitor);
                }
                visitor.visit_f64(float)
            }
            NodeKind::String(text) => visitor.visit_borrowed_str(text),
            NodeKind::Sequence(items) => visit_items(items, visitor),
            NodeKind::Mapping(entries) => visitor.visit_map(Members::new(entries)),
        };
        visited.map_err(|error| error.at(self.span))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Bool(_) => self.deserialize_any(visitor),
            _ => Err(self.expected_boolean()),
        }
    }

    deserialize_integers! {
        deserialize_i8: i8, deserialize_i16: i16, deserialize_i32: i32, deserialize_i64: i64, deserialize_i128: i128,
        deserialize_u8: u8, deserialize_u16: u16, deserialize_u32: u32, deserialize_u64: u64, deserialize_u128: u128,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Number(number) => visitor.visit_f64(number.get()).map_err(|error: YamlError| error.at(self.span)),
            _ => Err(self.expected_number("a number")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::String(_) => self.deserialize_any(visitor),
            _ => Err(self.expected_string()),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
        .map_err(|error: YamlError| error.at(self.span))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Null => self.deserialize_any(visitor),
            _ => Err(self.expected("null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_newtype_struct(self).map_err(|error| error.at(self.span))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Sequence(_) => self.deserialize_any(visitor),
            NodeKind::Null => Err(self.expected("a list")),
            _ => Err(self.expected("a list").with_hint("write `[…]`, or items on lines that start with `- `")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.kind {
            NodeKind::Mapping(_) => self.deserialize_any(visitor),
            _ => Err(self.expected("a mapping")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_map(visitor).map_err(|error| match &self.kind {
            NodeKind::Mapping(_) | NodeKind::Null => error,
            // The keys are the help here: whoever wrote a text does not know them.
            _ => error.with_hint(format!("write `key: value` lines; the keys are {}", list(fields))),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        match &self.kind {
            NodeKind::String(text) => visitor.visit_enum(Named::new(text, self.span)),
            NodeKind::Mapping(entries) => Tagged::find(entries, variants).and_then(|tagged| visitor.visit_enum(tagged)),
            _ => Err(self.expected(&one_of(variants))),
        }
        .map_err(|error| error.at(self.span))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf }
}

impl<'de> de::IntoDeserializer<'de, YamlError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Visits a list, and refuses items that the visitor had no use for.
fn visit_items<'de, V: Visitor<'de>>(items: &'de [Node], visitor: V) -> Result<V::Value, YamlError> {
    let mut rest = Items { rest: items.iter() };
    let value = visitor.visit_seq(&mut rest)?;
    match rest.rest.next() {
        None => Ok(value),
        Some(left) => {
            let used = items.len() - rest.rest.len() - 1;
            Err(YamlError::new(format!("expected {used} items, found {}", items.len())).at(left.span))
        }
    }
}

struct Items<'de> {
    rest: std::slice::Iter<'de, Node>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = YamlError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, YamlError> {
        self.rest.next().map(|item| seed.deserialize(item).map_err(|error| error.at(item.span))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The entries of a mapping, without the one at `skip`.
pub(super) struct Members<'de> {
    entries: &'de [(Key, Node)],
    at: usize,
    skip: Option<usize>,
}

impl<'de> Members<'de> {
    fn new(entries: &'de [(Key, Node)]) -> Self {
        Self { entries, at: 0, skip: None }
    }

    /// The entries but one.
    pub(super) fn without(entries: &'de [(Key, Node)], skip: usize) -> Self {
        Self { entries, at: 0, skip: Some(skip) }
    }

    /// The entry that is read next.
    pub(super) fn peek(&mut self) -> Option<&'de (Key, Node)> {
        if self.skip == Some(self.at) {
            self.at += 1;
        }
        self.entries.get(self.at)
    }
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = YamlError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, YamlError> {
        let Some((key, _)) = self.peek() else { return Ok(None) };
        let read = seed.deserialize(BorrowedStrDeserializer::<YamlError>::new(&key.text));
        read.map(Some).map_err(|error| error.at(key.span))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, YamlError> {
        let (_, value) = self.peek().ok_or_else(|| YamlError::new("a value without a key"))?;
        self.at += 1;
        seed.deserialize(value).map_err(|error| error.at(value.span))
    }
}
