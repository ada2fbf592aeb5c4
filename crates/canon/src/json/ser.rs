//! Canonical text of anything that is `Serialize`.
//!
//! Members are written as they come and put in order when the object ends; a type whose fields
//! are declared in canonical order costs nothing extra.

use std::io;

use serde::ser::{self, Serialize};

use super::read::{ParseError, parse};
use super::value::{Value, cmp_utf16};
use super::write::{append_integer, append_number, append_string};

/// The value has no canonical text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    #[error("NaN and infinities have no canonical form")]
    NotFinite,
    #[error("the integer {0} is beyond 2^53 and would lose digits")]
    UnsafeInteger(String),
    #[error("the name of a member must be a string")]
    NameNotString,
    #[error("the name `{0}` stands twice in one object")]
    DuplicateName(String),
    #[error("bytes have no canonical form; encode them as text")]
    Bytes,
    #[error("{0}")]
    Custom(String),
}

impl ser::Error for EncodeError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}

/// Returns the canonical bytes of a value.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    // What is written most, a record or an answer, has about so many bytes.
    let mut out = Vec::with_capacity(1024);
    to_writer(value, &mut out)?;
    Ok(out)
}

/// Appends the canonical bytes of a value.
pub fn to_writer<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    value.serialize(Encoder { out })
}

/// Turns anything that is `Serialize` to a value tree.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, EncodeError> {
    let bytes = to_vec(value)?;
    parse(&bytes).map_err(|error: ParseError| EncodeError::Custom(error.to_string()))
}

impl Serialize for Value {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => serializer.serialize_f64(number.get()),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for super::value::Map {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl From<EncodeError> for io::Error {
    fn from(error: EncodeError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

struct Encoder<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> ser::Serializer for Encoder<'a> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = Wrapped<List<'a>>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Wrapped<Object<'a>>;

    fn serialize_bool(self, bool: bool) -> Result<(), EncodeError> {
        self.out.extend_from_slice(if bool { b"true" } else { b"false" });
        Ok(())
    }
    fn serialize_i8(self, n: i8) -> Result<(), EncodeError> {
        self.serialize_i64(n.into())
    }
    fn serialize_i16(self, n: i16) -> Result<(), EncodeError> {
        self.serialize_i64(n.into())
    }
    fn serialize_i32(self, n: i32) -> Result<(), EncodeError> {
        self.serialize_i64(n.into())
    }
    fn serialize_i64(self, n: i64) -> Result<(), EncodeError> {
        if n.unsigned_abs() > super::value::Number::MAX_SAFE {
            return Err(EncodeError::UnsafeInteger(n.to_string()));
        }
        append_integer(n, self.out);
        Ok(())
    }
    fn serialize_u8(self, n: u8) -> Result<(), EncodeError> {
        self.serialize_u64(n.into())
    }
    fn serialize_u16(self, n: u16) -> Result<(), EncodeError> {
        self.serialize_u64(n.into())
    }
    fn serialize_u32(self, n: u32) -> Result<(), EncodeError> {
        self.serialize_u64(n.into())
    }
    fn serialize_u64(self, n: u64) -> Result<(), EncodeError> {
        match i64::try_from(n) {
            Ok(n) => self.serialize_i64(n),
            Err(_) => Err(EncodeError::UnsafeInteger(n.to_string())),
        }
    }
    fn serialize_f32(self, n: f32) -> Result<(), EncodeError> {
        self.serialize_f64(n.into())
    }
    fn serialize_f64(self, n: f64) -> Result<(), EncodeError> {
        if !n.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        append_number(n, self.out);
        Ok(())
    }
    fn serialize_char(self, c: char) -> Result<(), EncodeError> {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, text: &str) -> Result<(), EncodeError> {
        append_string(text, self.out);
        Ok(())
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), EncodeError> {
        Err(EncodeError::Bytes)
    }
    fn serialize_none(self) -> Result<(), EncodeError> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), EncodeError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), EncodeError> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), EncodeError> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), EncodeError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        open_variant(variant, self.out);
        to_writer(value, self.out)?;
        self.out.push(b'}');
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, EncodeError> {
        Ok(List::open(self.out))
    }
    fn serialize_tuple(self, _: usize) -> Result<List<'a>, EncodeError> {
        Ok(List::open(self.out))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a>, EncodeError> {
        Ok(List::open(self.out))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Wrapped<List<'a>>, EncodeError> {
        open_variant(variant, self.out);
        Ok(Wrapped(List::open(self.out)))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, EncodeError> {
        Ok(Object::open(self.out))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>, EncodeError> {
        Ok(Object::open(self.out))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Wrapped<Object<'a>>, EncodeError> {
        open_variant(variant, self.out);
        Ok(Wrapped(Object::open(self.out)))
    }
}

fn open_variant(variant: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    append_string(variant, out);
    out.push(b':');
}

/// A list that is being written.
struct List<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> List<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, is_empty: true }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        to_writer(value, self.out)
    }

    fn close(self) -> &'a mut Vec<u8> {
        self.out.push(b']');
        self.out
    }
}

/// An object that is being written.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    /// Where the members start in `out`.
    start: usize,
    /// Names with the range of their `"name":value` text. A static name costs no allocation.
    members: Vec<(std::borrow::Cow<'static, str>, std::ops::Range<usize>)>,
    in_order: bool,
    pending: Option<String>,
}

impl<'a> Object<'a> {
    fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        let start = out.len();
        Self { out, start, members: Vec::new(), in_order: true, pending: None }
    }

    fn member<T: Serialize + ?Sized>(
        &mut self,
        name: std::borrow::Cow<'static, str>,
        value: &T,
    ) -> Result<(), EncodeError> {
        if let Some((last, _)) = self.members.last() {
            self.in_order &= cmp_utf16(last, &name).is_lt();
            self.out.push(b',');
        }
        let from = self.out.len();
        append_string(&name, self.out);
        self.out.push(b':');
        to_writer(value, self.out)?;
        self.members.push((name, from..self.out.len()));
        Ok(())
    }

    fn close(mut self) -> Result<&'a mut Vec<u8>, EncodeError> {
        if !self.in_order {
            self.members.sort_by(|a, b| cmp_utf16(&a.0, &b.0));
            if let Some(twice) = self.members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(EncodeError::DuplicateName(twice[0].0.to_string()));
            }
            let text = self.out.split_off(self.start);
            for (at, (_, range)) in self.members.iter().enumerate() {
                if at > 0 {
                    self.out.push(b',');
                }
                self.out.extend_from_slice(&text[range.start - self.start..range.end - self.start]);
            }
        }
        self.out.push(b'}');
        Ok(self.out)
    }
}

/// A variant's list or object, inside the object that names the variant.
struct Wrapped<T>(T);

macro_rules! list_impl {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for List<'_> {
            type Ok = ();
            type Error = EncodeError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
                self.push(value)
            }
            fn end(self) -> Result<(), EncodeError> {
                self.close();
                Ok(())
            }
        }
    )*};
}
list_impl!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field);

impl ser::SerializeTupleVariant for Wrapped<List<'_>> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.0.push(value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.0.close().push(b'}');
        Ok(())
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.member(name.into(), value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.close().map(|_| ())
    }
}

impl ser::SerializeStructVariant for Wrapped<Object<'_>> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.0.member(name.into(), value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.0.close()?.push(b'}');
        Ok(())
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), EncodeError> {
        let mut text = Vec::new();
        to_writer(name, &mut text)?;
        match parse(&text) {
            Ok(Value::String(name)) => self.pending = Some(name),
            _ => return Err(EncodeError::NameNotString),
        }
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let name = self.pending.take().ok_or(EncodeError::NameNotString)?;
        self.member(name.into(), value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.close().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(serde::Serialize)]
    struct Unordered {
        z: u32,
        a: Option<&'static str>,
        nested: BTreeMap<&'static str, f64>,
    }

    #[test]
    fn fields_are_put_in_order() {
        let value = Unordered { z: 1, a: None, nested: BTreeMap::from([("\u{10000}", 1.5), ("\u{ffff}", 2.0)]) };
        let text = String::from_utf8(to_vec(&value).unwrap()).unwrap();
        assert_eq!(text, "{\"a\":null,\"nested\":{\"\u{10000}\":1.5,\"\u{ffff}\":2},\"z\":1}");
    }

    #[test]
    fn what_has_no_canonical_form_is_refused() {
        assert_eq!(to_vec(&f64::NAN), Err(EncodeError::NotFinite));
        assert_eq!(to_vec(&u64::MAX), Err(EncodeError::UnsafeInteger(u64::MAX.to_string())));
        assert_eq!(to_vec(&BTreeMap::from([(1u8, 2u8)])), Err(EncodeError::NameNotString));
    }
}
