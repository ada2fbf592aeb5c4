//! A value as block-style YAML.

use proofmark_canon::{Map, Value};

use super::scalar::number_text;

/// Writes a value as YAML: block style, two spaces, keys in the order of the map, a final newline.
///
/// The text depends on the value alone. A string is bare only when every reader of YAML 1.1 or 1.2
/// takes it for that string; otherwise it is in double quotes on one line.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) if !items.is_empty() => write_items(items, 0, &mut out),
        Value::Object(map) if !map.is_empty() => write_members(map, 0, &mut out),
        scalar => {
            write_scalar(scalar, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes items; the first line is already indented.
fn write_items(items: &[Value], indent: usize, out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            push_spaces(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Array(items) if !items.is_empty() => write_items(items, indent + STEP, out),
            Value::Object(map) if !map.is_empty() => write_members(map, indent + STEP, out),
            scalar => {
                write_scalar(scalar, out);
                out.push('\n');
            }
        }
    }
}

/// Writes members; the first line is already indented.
fn write_members(map: &Map, indent: usize, out: &mut String) {
    for (at, (name, value)) in map.iter().enumerate() {
        if at > 0 {
            push_spaces(indent, out);
        }
        let mut key = String::new();
        write_string(name, &mut key);
        // YAML 1.2.2 §7.4.3: a key of more than 1024 characters must be marked as one.
        if key.len() > LONGEST_PLAIN_KEY {
            out.push_str("? ");
            out.push_str(&key);
            out.push('\n');
            push_spaces(indent, out);
        } else {
            out.push_str(&key);
        }
        out.push(':');
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                push_spaces(indent + STEP, out);
                write_items(items, indent + STEP, out);
            }
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                push_spaces(indent + STEP, out);
                write_members(map, indent + STEP, out);
            }
            scalar => {
                out.push(' ');
                write_scalar(scalar, out);
                out.push('\n');
            }
        }
    }
}

const STEP: usize = 2;
const LONGEST_PLAIN_KEY: usize = 1000;

fn push_spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

fn write_scalar(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            let text = number_text(*number);
            match text.split_once('e') {
                // YAML 1.1 takes an exponent without a point for text.
                Some((mantissa, exponent)) if !mantissa.contains('.') => {
                    out.push_str(&format!("{mantissa}.0e{exponent}"));
                }
                _ => out.push_str(&text),
            }
        }
        Value::String(text) => write_string(text, out),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn write_string(text: &str, out: &mut String) {
    if is_safe_bare(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if needs_escape(character) => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Control characters, the line ends of YAML 1.1, the byte order mark and what is no character.
///
/// All of them are below U+10000, so four digits are enough.
fn needs_escape(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a text can stand without quotes: it starts with a letter, holds nothing that any YAML
/// reads as syntax, and is no word that some reader takes for a value.
fn is_safe_bare(text: &str) -> bool {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _./-".contains(&byte);
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && text.bytes().all(is_plain)
        && !text.ends_with(' ')
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proofmark_canon::json::parse;

    use super::*;

    fn text_of(json: &str) -> String {
        to_text(&parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn collections_are_blocks_and_empty_ones_are_not() {
        let json = r#"{"a":[1,[2,[]],{"b":{"c":null},"d":[true]}],"e":{},"f":[],"g":{"h":[{"i":"j"}]}}"#;
        let text = "\
a:
  - 1
  - - 2
    - []
  - b:
      c: null
    d:
      - true
e: {}
f: []
g:
  h:
    - i: j
";
        assert_eq!(text_of(json), text);
    }

    #[test]
    fn a_string_is_bare_only_when_no_reader_can_mistake_it() {
        for text in ["abc", "two words", "data/x.jsonl", "a-b_c.d", "nope", "e5", "Yesterday"] {
            assert_eq!(to_text(&text.into()), format!("{text}\n"));
        }
        for text in [
            "",
            " a",
            "a ",
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "true",
            "Null",
            "~",
            "1",
            "1e5",
            "0x1",
            "1:30",
            "a: b",
            "a #b",
            "- a",
            "-",
            "a,b",
            "[a]",
            "{a}",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'a'",
            "a:",
            "#a",
            "|",
            ">",
            "?",
            "<<",
            "=",
            "2001-12-14",
            ".inf",
            "_a",
            "é",
            "a'b",
            "---",
            "...",
        ] {
            assert_eq!(to_text(&text.into()), format!("\"{text}\"\n"));
        }
        assert_eq!(
            to_text(&"a\n\"b\"\\\t\0\u{7f}\u{85}\u{2028}\u{feff}😀".into()),
            "\"a\\n\\\"b\\\"\\\\\\t\\u0000\\u007f\\u0085\\u2028\\ufeff😀\"\n"
        );
    }

    #[test]
    fn numbers_are_numbers_to_yaml_1_1_as_well() {
        for (json, text) in
            [("1e21", "1.0e+21"), ("1.5e300", "1.5e+300"), ("-1e-7", "-1.0e-7"), ("100", "100"), ("0.5", "0.5")]
        {
            assert_eq!(text_of(json), format!("{text}\n"));
        }
    }
}
