//! The value tree.

use std::cmp::Ordering;
use std::fmt;

use smol_str::SmolStr;

/// A JSON value that has exactly one canonical text.
#[derive(Clone, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Map),
}

impl Value {
    /// Returns the member of an object, or `None` for a missing member and for anything else.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(bool) = self { Some(*bool) } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(number.get()) } else { None }
    }

    /// The number as a non-negative integer, when it is one.
    pub fn as_u64(&self) -> Option<u64> {
        let number = self.as_f64()?;
        let integer = number as u64;
        #[expect(clippy::float_cmp, reason = "the question is whether the number is that integer exactly")]
        (number >= 0.0 && integer as f64 == number).then_some(integer)
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    pub fn as_object(&self) -> Option<&Map> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// What kind of value it is, in the words of an error message.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "a mapping",
        }
    }

    /// The text a person would type for it: strings bare, everything else as canonical JSON.
    pub fn to_plain_text(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Object(map)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(option: Option<T>) -> Self {
        option.map_or(Self::Null, Into::into)
    }
}

/// Canonical JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_canonical()))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A finite number. Negative zero becomes zero, as its canonical text does.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub struct Number(f64);

impl Number {
    /// The largest integer up to which every integer is a number of its own.
    pub const MAX_SAFE: u64 = (1 << 53) - 1;

    /// Returns `None` for NaN and the infinities.
    pub fn new(number: f64) -> Option<Self> {
        // Adding zero turns -0 to 0 and changes nothing else.
        number.is_finite().then_some(Self(number + 0.0))
    }

    /// Returns `None` for an integer that a double cannot tell from its neighbours.
    pub fn from_u64(integer: u64) -> Option<Self> {
        (integer <= Self::MAX_SAFE).then_some(Self(integer as f64))
    }

    /// Returns `None` for an integer that a double cannot tell from its neighbours.
    pub fn from_i64(integer: i64) -> Option<Self> {
        (integer.unsigned_abs() <= Self::MAX_SAFE).then_some(Self(integer as f64))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<u32> for Number {
    fn from(integer: u32) -> Self {
        Self(f64::from(integer))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Value::Number(*self), f)
    }
}

/// An object: names in canonical order, each once.
#[derive(Clone, PartialEq, Default)]
pub struct Map(Vec<(SmolStr, Value)>);

impl Map {
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a map, or returns the first name that stands twice.
    pub fn from_members(members: Vec<(String, Value)>) -> Result<Self, String> {
        Self::from_named(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    pub(super) fn from_named(mut members: Vec<(SmolStr, Value)>) -> Result<Self, String> {
        // Text that we wrote ourselves is in order already.
        let ordered = members.windows(2).all(|pair| cmp_utf16(&pair[0].0, &pair[1].0) == Ordering::Less);
        if !ordered {
            members.sort_by(|a, b| cmp_utf16(&a.0, &b.0));
            if let Some(twice) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(twice[0].0.to_string());
            }
        }
        Ok(Self(members))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).map(|at| &self.0[at].1)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Sets a member and returns the value it had before.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.as_ref(), value.into());
        match self.position(name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (name.into(), value));
                None
            }
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.find(name).map(|at| self.0.remove(at).1)
    }

    /// The members in canonical order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The member at a position in canonical order.
    pub(super) fn at(&self, position: usize) -> Option<(&str, &Value)> {
        self.0.get(position).map(|(name, value)| (name.as_str(), value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a name stands. Most objects are small: lengths tell most names apart, and to look at all of them is faster
    /// than to compare a few byte by byte.
    fn find(&self, name: &str) -> Option<usize> {
        const SMALL: usize = 16;
        if self.0.len() > SMALL {
            return self.position(name).ok();
        }
        self.0.iter().position(|(have, _)| have.as_str() == name)
    }

    /// Where a name stands, or where it belongs.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(have, _)| cmp_utf16(have, name))
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::iter::Map<std::vec::IntoIter<(SmolStr, Value)>, fn((SmolStr, Value)) -> (String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(name, value)| (name.into(), value))
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Value::Object(self.clone()), f)
    }
}

/// RFC 8785 §3.2.3: names are compared as arrays of UTF-16 code units.
///
/// That differs from the order of UTF-8 bytes only where a surrogate pair (U+10000 and above)
/// meets a character from U+E000 to U+FFFF.
pub fn cmp_utf16(a: &str, b: &str) -> Ordering {
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let shared = x.iter().zip(y).take_while(|(p, q)| p == q).count();
    match (x.get(shared), y.get(shared)) {
        // A lead byte of 0xEE or 0xEF starts U+E000..=U+FFFF; one of 0xF0 and more a surrogate pair.
        (Some(p), Some(q)) if (*p >= 0xEE && *q >= 0xF0) || (*q >= 0xEE && *p >= 0xF0) => {
            if (*p >= 0xF0) == (*q >= 0xF0) { p.cmp(q) } else { q.cmp(p) }
        }
        (p, q) => p.cmp(&q),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_of_names_is_that_of_utf16_units(a in "[a\u{e000}\u{ffff}\u{10000}\u{10ffff}\u{d7ff}é]{0,4}", b in "\\PC{0,4}", c in "[\u{e001}\u{10001}\u{fffd}]{0,3}") {
            for (x, y) in [(&a, &b), (&a, &c), (&b, &c)] {
                let units = x.encode_utf16().collect::<Vec<_>>().cmp(&y.encode_utf16().collect::<Vec<_>>());
                prop_assert_eq!(cmp_utf16(x, y), units, "{:?} {:?}", x, y);
            }
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_refused() {
        let members = vec![("b".to_owned(), Value::Null), ("a".to_owned(), Value::Null), ("b".to_owned(), Value::Null)];
        assert_eq!(Map::from_members(members), Err("b".to_owned()));
    }

    #[test]
    fn negative_zero_is_zero() {
        assert_eq!(Number::new(-0.0).map(|n| n.get().is_sign_negative()), Some(false));
        assert!(Number::new(f64::NAN).is_none() && Number::new(f64::INFINITY).is_none());
        assert!(Number::from_u64(1 << 53).is_none());
    }
}
