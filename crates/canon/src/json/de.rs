//! Typed values out of a tree.

use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::value::{Map, Value};

/// The value does not have the shape of the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(String);

impl de::Error for ShapeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Reads a typed value out of a tree.
pub fn from_value<T: de::DeserializeOwned>(value: &Value) -> Result<T, ShapeError> {
    T::deserialize(value)
}

impl<'de> de::Deserializer<'de> for &'de Value {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Number(number) => {
                let number = number.get();
                if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                    if number < 0.0 { visitor.visit_i64(number as i64) } else { visitor.visit_u64(number as u64) }
                } else {
                    visitor.visit_f64(number)
                }
            }
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(de::value::SeqDeserializer::new(items.iter())),
            Value::Object(map) => visitor.visit_map(Members { rest: map, at: 0 }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        match self {
            Value::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Object(map) => {
                visitor.visit_enum(de::value::MapAccessDeserializer::new(Members { rest: map, at: 0 }))
            }
            other => Err(de::Error::custom(format!(
                "expected {name} (one of {}), found {}",
                variants.join(", "),
                other.kind()
            ))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, ShapeError> for &'de Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Members<'de> {
    rest: &'de Map,
    at: usize,
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = ShapeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ShapeError> {
        let Some((name, _)) = self.rest.at(self.at) else { return Ok(None) };
        seed.deserialize(de::value::BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ShapeError> {
        let (_, value) = self.rest.at(self.at).ok_or_else(|| de::Error::custom("a value without a name"))?;
        self.at += 1;
        seed.deserialize(value)
    }
}

impl<'de> de::Deserialize<'de> for Value {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> de::Deserialize<'de> for Map {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => Ok(map),
            other => Err(de::Error::custom(format!("expected a mapping, found {}", other.kind()))),
        }
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Self)
    }
    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Value, E> {
        let number = super::value::Number::from_u64(n);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("the integer {n} is beyond 2^53 and would lose digits")))
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Value, E> {
        let number = super::value::Number::from_i64(n);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("the integer {n} is beyond 2^53 and would lose digits")))
    }
    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Value, E> {
        let number = super::value::Number::new(n);
        number.map(Value::Number).ok_or_else(|| E::custom("NaN and infinities have no canonical form"))
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }
    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            members.push((name.into(), value));
        }
        let map = Map::from_named(members)
            .map_err(|name| de::Error::custom(format!("the name `{name}` stands twice in one object")))?;
        Ok(Value::Object(map))
    }
}
