//! Canonical text of anything that is `Serialize`.
//!
//! Members are written as they come and put in order when the object ends; a type whose fields
//! are declared in canonical order costs nothing extra.

use std::io;
use std::ops::Range;

use serde::ser::{self, Serialize};

use super::name::NameEncoder;
use super::read::{ParseError, parse};
use super::special::first_special;
use super::value::{Value, cmp_utf16};
use super::write::{append_count, append_integer, append_number, append_string};

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
    // As many members as a record has open: to grow step by step is slower than the rest.
    let mut sink = Sink { out, members: Vec::with_capacity(32), names: String::new() };
    value.serialize(Encoder { sink: &mut sink })
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

/// Where text goes, and what is known of the objects that are open.
struct Sink<'o> {
    out: &'o mut Vec<u8>,
    /// The members of all open objects, those of the innermost one last.
    members: Vec<Member>,
    /// Their names, one behind the other.
    names: String,
}

/// A member that was written.
struct Member {
    name: Name,
    /// Where its `"name":value` starts in the text. It ends before the comma of the next one.
    start: usize,
}

/// The name of a member.
#[derive(Clone, Copy)]
enum Name {
    /// Of a field: it is there as long as the program.
    Fixed(&'static str),
    /// In the names.
    Kept { start: usize, end: usize },
}

impl Name {
    fn of(self, names: &str) -> &str {
        match self {
            Self::Fixed(name) => name,
            Self::Kept { start, end } => &names[start..end],
        }
    }
}

struct Encoder<'a, 'o> {
    sink: &'a mut Sink<'o>,
}

impl<'a, 'o> ser::Serializer for Encoder<'a, 'o> {
    type Ok = ();
    type Error = EncodeError;
    type SerializeSeq = List<'a, 'o>;
    type SerializeTuple = List<'a, 'o>;
    type SerializeTupleStruct = List<'a, 'o>;
    type SerializeTupleVariant = Wrapped<List<'a, 'o>>;
    type SerializeMap = Object<'a, 'o>;
    type SerializeStruct = Object<'a, 'o>;
    type SerializeStructVariant = Wrapped<Object<'a, 'o>>;

    fn serialize_bool(self, bool: bool) -> Result<(), EncodeError> {
        self.sink.out.extend_from_slice(if bool { b"true" } else { b"false" });
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
        append_integer(n, self.sink.out);
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
        append_count(n, self.sink.out)
    }
    fn serialize_f32(self, n: f32) -> Result<(), EncodeError> {
        self.serialize_f64(n.into())
    }
    fn serialize_f64(self, n: f64) -> Result<(), EncodeError> {
        if !n.is_finite() {
            return Err(EncodeError::NotFinite);
        }
        append_number(n, self.sink.out);
        Ok(())
    }
    fn serialize_char(self, c: char) -> Result<(), EncodeError> {
        self.serialize_str(c.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, text: &str) -> Result<(), EncodeError> {
        append_string(text, self.sink.out);
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
        self.sink.out.extend_from_slice(b"null");
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
        open_variant(variant, self.sink.out);
        value.serialize(Encoder { sink: &mut *self.sink })?;
        self.sink.out.push(b'}');
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a, 'o>, EncodeError> {
        Ok(List::open(self.sink))
    }
    fn serialize_tuple(self, _: usize) -> Result<List<'a, 'o>, EncodeError> {
        Ok(List::open(self.sink))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a, 'o>, EncodeError> {
        Ok(List::open(self.sink))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Wrapped<List<'a, 'o>>, EncodeError> {
        open_variant(variant, self.sink.out);
        Ok(Wrapped(List::open(self.sink)))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a, 'o>, EncodeError> {
        Ok(Object::open(self.sink))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a, 'o>, EncodeError> {
        Ok(Object::open(self.sink))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Wrapped<Object<'a, 'o>>, EncodeError> {
        open_variant(variant, self.sink.out);
        Ok(Wrapped(Object::open(self.sink)))
    }
}

/// Appends a name with its colon, and a comma before it when another member is there. Hardly one holds anything to escape.
fn append_name(name: &str, is_first: bool, out: &mut Vec<u8>) {
    /// Names of fields are shorter.
    const SHORT: usize = 28;
    if name.len() > SHORT || first_special(name.as_bytes()).is_some() {
        if !is_first {
            out.push(b',');
        }
        append_string(name, out);
        out.push(b':');
        return;
    }
    // Put together here and appended once: what is appended is looked at for room each time.
    let mut text = [b','; SHORT + 4];
    let end = name.len() + 2;
    text[1] = b'"';
    text[2..end].copy_from_slice(name.as_bytes());
    text[end] = b'"';
    text[end + 1] = b':';
    out.extend_from_slice(&text[usize::from(is_first)..end + 2]);
}

fn open_variant(variant: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    append_string(variant, out);
    out.push(b':');
}

/// A list that is being written.
struct List<'a, 'o> {
    sink: &'a mut Sink<'o>,
    is_empty: bool,
}

impl<'a, 'o> List<'a, 'o> {
    fn open(sink: &'a mut Sink<'o>) -> Self {
        sink.out.push(b'[');
        Self { sink, is_empty: true }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.sink.out.push(b',');
        }
        value.serialize(Encoder { sink: &mut *self.sink })
    }

    fn close(self) -> &'a mut Vec<u8> {
        self.sink.out.push(b']');
        self.sink.out
    }
}

/// An object that is being written.
struct Object<'a, 'o> {
    sink: &'a mut Sink<'o>,
    /// Where its members start in the text, in the members and in the names.
    start: usize,
    first: usize,
    names: usize,
    /// Where its names end.
    names_end: usize,
    in_order: bool,
}

impl<'a, 'o> Object<'a, 'o> {
    fn open(sink: &'a mut Sink<'o>) -> Self {
        sink.out.push(b'{');
        let (start, first, names) = (sink.out.len(), sink.members.len(), sink.names.len());
        Self { sink, start, first, names, names_end: names, in_order: true }
    }

    /// Writes the name that was put behind the others.
    fn name(&mut self) {
        let start = self.names_end;
        self.names_end = self.sink.names.len();
        self.begin(Name::Kept { start, end: self.names_end });
    }

    /// Begins a member.
    fn begin(&mut self, name: Name) {
        let Sink { out, members, names } = &mut *self.sink;
        let text = name.of(names);
        let last = members[self.first..].last();
        if let Some(last) = last {
            self.in_order &= cmp_utf16(last.name.of(names), text).is_lt();
        }
        let is_first = last.is_none();
        // Behind the comma.
        let start = out.len() + usize::from(!is_first);
        append_name(text, is_first, out);
        members.push(Member { name, start });
    }

    /// Writes the value of the name that was written last.
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        value.serialize(Encoder { sink: &mut *self.sink })
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.begin(Name::Fixed(name));
        self.value(value)
    }

    fn close(self) -> Result<&'a mut Vec<u8>, EncodeError> {
        let Self { sink: Sink { out, members, names }, start, first, .. } = self;
        if !self.in_order {
            let ends = members[first + 1..].iter().map(|next| next.start - 1).chain([out.len()]);
            let mut own: Vec<(&str, Range<usize>)> = members[first..]
                .iter()
                .zip(ends)
                .map(|(member, end)| (member.name.of(names), member.start - start..end - start))
                .collect();
            own.sort_by(|a, b| cmp_utf16(a.0, b.0));
            if let Some(twice) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(EncodeError::DuplicateName(twice[0].0.to_owned()));
            }
            let text = out.split_off(start);
            for (at, (_, place)) in own.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(&text[place]);
            }
        }
        members.truncate(first);
        names.truncate(self.names);
        out.push(b'}');
        Ok(out)
    }
}

/// A variant's list or object, inside the object that names the variant.
struct Wrapped<T>(T);

macro_rules! list_impl {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for List<'_, '_> {
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

impl ser::SerializeTupleVariant for Wrapped<List<'_, '_>> {
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

impl ser::SerializeStruct for Object<'_, '_> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.member(name, value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.close().map(|_| ())
    }
}

impl ser::SerializeStructVariant for Wrapped<Object<'_, '_>> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), EncodeError> {
        self.0.member(name, value)
    }
    fn end(self) -> Result<(), EncodeError> {
        self.0.close()?.push(b'}');
        Ok(())
    }
}

impl ser::SerializeMap for Object<'_, '_> {
    type Ok = ();
    type Error = EncodeError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), EncodeError> {
        name.serialize(NameEncoder { names: &mut self.sink.names })?;
        self.name();
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.value(value)
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
