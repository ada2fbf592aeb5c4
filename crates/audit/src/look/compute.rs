//! What shells and programs make of strings, as far as the text alone decides it.

use std::collections::BTreeMap;

use super::unravel::{MAX_PIECE, MAX_VALUE, literals, turn_words, unquote};

/// Puts in its place what a shell would: `$(echo x)`, `${name/x/y}`, `${name:2}`, a format with its words.
pub(super) fn substitute(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(&rest[..at]);
        let after = &rest[at..];
        let made = echoed(after).or_else(|| changed(after, variables));
        match made.filter(|_| out.len() < text.len() + 16 * MAX_PIECE) {
            Some((value, length)) => {
                out.push_str(&value);
                rest = &after[length..];
            }
            None => {
                out.push_str(&after[..1]);
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What a command says that only says something, and its length: `$(echo x)`, `` `printf 'a%s' b` ``.
fn echoed(text: &str) -> Option<(String, usize)> {
    let (open, close) = if text.starts_with("$(") { (2, ')') } else { (text.starts_with('`').then_some(1)?, '`') };
    let inner = &text[open..text.floor_char_boundary(MAX_VALUE)];
    let end = inner.find(close)?;
    let length = open + end + 1;
    let inner = inner[..end].trim();
    if inner.contains(['|', ';', '&', '<', '>']) {
        return None;
    }
    if let Some(words) = inner.strip_prefix("echo ") {
        let words = words.trim_start_matches("-n ").trim_start_matches("-e ");
        return Some((unquote(words.trim()), length));
    }
    let words: Vec<String> = inner.strip_prefix("printf ")?.split_whitespace().map(unquote).collect();
    let (format, words) = words.split_first()?;
    Some((formatted(format, words), length))
}

/// What a variable is with a part of it changed, and the length of that.
fn changed(text: &str, variables: &BTreeMap<String, String>) -> Option<(String, usize)> {
    let inner = text.strip_prefix("${")?;
    let inner = &inner[..inner.floor_char_boundary(MAX_VALUE)];
    let inner = &inner[..inner.find('}')?];
    let sign = inner.find(['/', ':', '#', '%'])?;
    let value = variables.get(&inner[..sign])?;
    let rest = &inner[sign + 1..];
    let made = match &inner[sign..=sign] {
        "/" => {
            let (what, put) =
                rest.trim_start_matches('/').split_once('/').unwrap_or((rest.trim_start_matches('/'), ""));
            if what.is_empty() { value.clone() } else { value.replace(what, put) }
        }
        ":" => {
            let (from, count) = rest.split_once(':').unwrap_or((rest, ""));
            let from: usize = from.trim().parse().ok()?;
            let count: usize = count.trim().parse().unwrap_or(usize::MAX);
            value.chars().skip(from).take(count).collect()
        }
        "#" => value.strip_prefix(rest).unwrap_or(value).to_owned(),
        _ => value.strip_suffix(rest).unwrap_or(value).to_owned(),
    };
    Some((made, inner.len() + 3))
}

/// A format with words in the places that it has for them.
fn formatted(format: &str, words: &[String]) -> String {
    let mut words = words.iter();
    let mut out = String::new();
    let mut rest = format;
    while let Some((at, length)) = ["%s", "{}"].iter().filter_map(|sign| Some((rest.find(sign)?, sign.len()))).min() {
        out.push_str(&rest[..at]);
        out.push_str(words.next().map_or("", String::as_str));
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// Puts strings in the place of what a program makes of strings: turned round, joined by another, put into a format.
pub(super) fn compute(text: &str) -> String {
    let strings = literals(text);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, literal) in strings.iter().enumerate() {
        if literal.start < done {
            continue;
        }
        let behind = &text[literal.end..];
        let before = text[..literal.start].trim_end();
        let made = match () {
            () if behind.starts_with("[::-1]") => Some((turn_words(&literal.text), literal.start, literal.end + 6)),
            () if before.ends_with("reversed(") => Some((turn_words(&literal.text), literal.start, literal.end)),
            () if behind.starts_with(".join(") || behind.starts_with(".format(") || is_percent(behind) => {
                let close = behind[..behind.floor_char_boundary(MAX_PIECE)].find(')').map(|end| literal.end + end + 1);
                close.map(|close| {
                    let parts: Vec<String> = strings[at + 1..]
                        .iter()
                        .take_while(|part| part.end <= close)
                        .map(|part| part.text.clone())
                        .collect();
                    let made = if behind.starts_with(".join(") {
                        parts.join(&literal.text)
                    } else {
                        formatted(&literal.text, &parts)
                    };
                    (made, literal.start, close)
                })
            }
            () => None,
        };
        if let Some((made, start, end)) = made.filter(|(made, _, _)| made.len() <= MAX_PIECE) {
            out.push_str(&text[done..start]);
            out.push('\'');
            out.push_str(&made);
            out.push('\'');
            done = end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// Whether a string is a format for what follows in brackets: `'%s' % (`.
fn is_percent(behind: &str) -> bool {
    behind.trim_start().strip_prefix('%').is_some_and(|rest| rest.trim_start().starts_with('('))
}
