//! Names of members that come as anything that is `Serialize`.

use serde::ser::{Impossible, Serialize, Serializer};

use super::ser::EncodeError;

/// Puts a name behind others. A name is a string, or something that is written as one.
pub(super) struct NameEncoder<'a> {
    pub(super) names: &'a mut String,
}

type Never = Impossible<(), EncodeError>;

/// What a name cannot be.
macro_rules! refused {
    ($($method:ident($($of:ty),*) -> $gives:ty;)*) => {$(
        fn $method(self, $(_: $of),*) -> Result<$gives, EncodeError> {
            Err(EncodeError::NameNotString)
        }
    )*};
}

impl Serializer for NameEncoder<'_> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_str(self, text: &str) -> Result<(), EncodeError> {
        self.names.push_str(text);
        Ok(())
    }
    fn serialize_char(self, c: char) -> Result<(), EncodeError> {
        self.names.push(c);
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), EncodeError> {
        self.serialize_str(variant)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), EncodeError> {
        Err(EncodeError::NameNotString)
    }
    refused! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ser::to_vec;
    use super::*;
    use std::collections::BTreeMap;

    #[derive(serde::Serialize, PartialEq, Eq, PartialOrd, Ord)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        OneWord,
    }

    #[derive(serde::Serialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Wrapped(String);

    #[test]
    fn whatever_is_written_as_a_string_is_a_name() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(text(to_vec(&BTreeMap::from([("a\"b", 1)])).unwrap()), r#"{"a\"b":1}"#);
        assert_eq!(text(to_vec(&BTreeMap::from([('é', 1)])).unwrap()), r#"{"é":1}"#);
        assert_eq!(text(to_vec(&BTreeMap::from([(Kind::OneWord, 1)])).unwrap()), r#"{"one_word":1}"#);
        assert_eq!(text(to_vec(&BTreeMap::from([(Wrapped("w".into()), 1)])).unwrap()), r#"{"w":1}"#);
    }

    #[test]
    fn nothing_else_is() {
        assert_eq!(to_vec(&BTreeMap::from([(true, 1)])), Err(EncodeError::NameNotString));
        assert_eq!(to_vec(&BTreeMap::from([(vec!["a"], 1)])), Err(EncodeError::NameNotString));
        assert_eq!(to_vec(&BTreeMap::from([((), 1)])), Err(EncodeError::NameNotString));
    }
}
