//! Variants of an enum: a string, or a mapping whose `type` names the variant.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{self, DeserializeSeed, Visitor};

use super::de::Members;
use super::error::{YamlError, one_of};
use super::node::{Key, Node, NodeKind, Span};

/// The member that names the variant of an enum.
const TAG: &str = "type";

/// A variant written as its name alone.
pub(super) struct Named<'de> {
    text: &'de str,
    span: Span,
}

impl<'de> Named<'de> {
    pub(super) fn new(text: &'de str, span: Span) -> Self {
        Self { text, span }
    }

    fn needs_content(&self) -> YamlError {
        YamlError::new(format!("expected a mapping, found the string \"{}\"", self.text))
            .with_hint(format!("write `{{{TAG}: {}}}`", self.text))
            .at(self.span)
    }
}

impl<'de> de::EnumAccess<'de> for Named<'de> {
    type Error = YamlError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), YamlError> {
        let read = seed.deserialize(BorrowedStrDeserializer::<YamlError>::new(self.text));
        read.map(|variant| (variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for Named<'de> {
    type Error = YamlError;

    fn unit_variant(self) -> Result<(), YamlError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, YamlError> {
        Err(self.needs_content())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, YamlError> {
        Err(self.needs_content())
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, YamlError> {
        Err(self.needs_content())
    }
}

/// A variant written as a mapping with a `type`.
pub(super) struct Tagged<'de> {
    name: &'de str,
    members: Members<'de>,
}

impl<'de> Tagged<'de> {
    /// Finds the variant that a mapping names.
    pub(super) fn find(entries: &'de [(Key, Node)], variants: &[&str]) -> Result<Self, YamlError> {
        let Some(skip) = entries.iter().position(|(key, _)| key.text == TAG) else {
            let error = YamlError::new(format!("missing key `{TAG}`"));
            return Err(error.with_hint(format!("expected {}", one_of(variants))));
        };
        let value = &entries[skip].1;
        let NodeKind::String(name) = &value.kind else { return Err(value.expected_string()) };
        if !variants.contains(&name.as_str()) {
            return Err(YamlError::unknown(TAG, name, variants).at(value.span));
        }
        Ok(Self { name, members: Members::without(entries, skip) })
    }
}

impl<'de> de::EnumAccess<'de> for Tagged<'de> {
    type Error = YamlError;
    type Variant = Members<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Members<'de>), YamlError> {
        let read = seed.deserialize(BorrowedStrDeserializer::<YamlError>::new(self.name));
        read.map(|variant| (variant, self.members))
    }
}

impl<'de> de::VariantAccess<'de> for Members<'de> {
    type Error = YamlError;

    fn unit_variant(mut self) -> Result<(), YamlError> {
        match self.peek() {
            None => Ok(()),
            Some((key, _)) => Err(YamlError::unknown("key", &key.text, &[TAG]).at(key.span)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, YamlError> {
        seed.deserialize(MapAccessDeserializer::new(self))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, YamlError> {
        Err(YamlError::new("a mapping cannot hold values without names"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_map(self)
    }
}
