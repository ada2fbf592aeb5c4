//! JavaScript values to bytes, as sorted keys and `JSON.stringify` give them.

use std::collections::BTreeSet;

use super::convert::{Js, Object};
use super::{JsError, Loss};

/// Returns the bytes that are hashed.
pub(super) fn canonical(value: &Js, losses: &mut BTreeSet<Loss>) -> Result<Vec<u8>, JsError> {
    let mut out = Vec::new();
    append(value, &mut out, losses, 0)?;
    Ok(out)
}

/// Shared values are written as often as they are named.
const MAX_BYTES: usize = 64 << 20;
const MAX_DEPTH: usize = 500;

fn append(value: &Js, out: &mut Vec<u8>, losses: &mut BTreeSet<Loss>, depth: usize) -> Result<(), JsError> {
    if out.len() > MAX_BYTES || depth > MAX_DEPTH {
        return Err(JsError::new("aliases copy too much"));
    }
    match value {
        Js::Null => {
            losses.insert(Loss::Null);
            out.extend_from_slice(b"null");
        }
        Js::Bool(bool) => out.extend_from_slice(if *bool { b"true" } else { b"false" }),
        Js::Number(number) if number.is_finite() => proofmark_canon::json::append_number(number + 0.0, out),
        Js::Number(_) => {
            losses.insert(Loss::NotFinite);
            out.extend_from_slice(b"null");
        }
        Js::Text(text) => append_text(text, out),
        Js::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                append(item, out, losses, depth + 1)?;
            }
            out.push(b']');
        }
        Js::Object(object) => {
            if object.is_empty() {
                losses.insert(Loss::EmptyMapping);
            }
            append_object(object, out, losses, depth)?;
        }
        Js::Bytes(bytes) => {
            out.push(b'{');
            for (at, byte) in bytes.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                out.extend_from_slice(format!("{comma}\"{at}\":{byte}").as_bytes());
            }
            out.push(b'}');
        }
        Js::Opaque => out.extend_from_slice(b"{}"),
    }
    Ok(())
}

/// JavaScript lists keys that are array indices first and by their number, then the others as they were added: sorted.
fn append_object(object: &Object, out: &mut Vec<u8>, losses: &mut BTreeSet<Loss>, depth: usize) -> Result<(), JsError> {
    let mut indices: Vec<(u32, &Vec<u16>, &Js)> = Vec::new();
    let mut names: Vec<(&Vec<u16>, &Js)> = Vec::new();
    for (name, value) in object {
        if name.iter().copied().eq("__proto__".encode_utf16()) {
            // Assigned, not defined: it sets the prototype, and prototypes are not written.
            losses.insert(Loss::Proto);
            continue;
        }
        match array_index(name) {
            Some(index) => indices.push((index, name, value)),
            None => names.push((name, value)),
        }
    }
    indices.sort_by_key(|(index, ..)| *index);
    let members = indices.into_iter().map(|(_, name, value)| (name, value)).chain(names);
    out.push(b'{');
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        append_text(name, out);
        out.push(b':');
        append(value, out, losses, depth + 1)?;
    }
    out.push(b'}');
    Ok(())
}

/// The number of a key that is the text of an integer from 0 to 2^32 - 2.
fn array_index(name: &[u16]) -> Option<u32> {
    if name.is_empty() || name.len() > 10 || (name.len() > 1 && name[0] == u16::from(b'0')) {
        return None;
    }
    let mut number = 0u64;
    for unit in name {
        let digit = char::from_u32(u32::from(*unit))?.to_digit(10)?;
        number = number * 10 + u64::from(digit);
    }
    u32::try_from(number).ok().filter(|index| *index < u32::MAX)
}

/// A string in quotes. Halves of characters are escaped, whole ones are not.
fn append_text(units: &[u16], out: &mut Vec<u8>) {
    out.push(b'"');
    for found in char::decode_utf16(units.iter().copied()) {
        match found {
            Err(half) => out.extend_from_slice(format!("\\u{:04x}", half.unpaired_surrogate()).as_bytes()),
            Ok('"') => out.extend_from_slice(b"\\\""),
            Ok('\\') => out.extend_from_slice(b"\\\\"),
            Ok('\u{8}') => out.extend_from_slice(b"\\b"),
            Ok('\t') => out.extend_from_slice(b"\\t"),
            Ok('\n') => out.extend_from_slice(b"\\n"),
            Ok('\u{c}') => out.extend_from_slice(b"\\f"),
            Ok('\r') => out.extend_from_slice(b"\\r"),
            Ok(c) if c < ' ' => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            Ok(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}
