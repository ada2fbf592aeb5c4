//! Properties: nothing panics, what is written is read back.

use proofmark_artefact::suite::config::Suite;
use proofmark_artefact::yaml::{Node, NodeKind, from_node, load, load_bytes, to_text};
use proofmark_canon::{Map, Number, Value};
use proptest::prelude::*;

/// Pieces that mean something to a YAML parser, so that random texts get far into it.
const PIECES: &[&str] = &[
    "a",
    "b: ",
    "- ",
    "? ",
    ": ",
    "\n",
    "\n  ",
    "\n\t",
    " ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "|\n",
    ">-\n ",
    "\"",
    "'",
    "\\u",
    "\\ud800",
    "#",
    " #c\n",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "<<: ",
    "~",
    "true",
    "1",
    ".inf",
    "0x",
    "1e999",
    "\u{feff}",
    "\r\n",
    "\r",
    "é",
    "😀",
    "\0",
    "\u{85}",
    "\u{2028}",
    "name: ",
    "models: ",
    "tasks:\n",
    "type: exact",
];

fn yamlish() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Every place of a tree is in the text.
fn check_places(node: &Node, lines: u32) {
    assert!(node.span.line >= 1 && node.span.line <= lines && node.span.column >= 1, "{:?}", node.span);
    match &node.kind {
        NodeKind::Sequence(items) => items.iter().for_each(|item| check_places(item, lines)),
        NodeKind::Mapping(entries) => entries.iter().for_each(|(_, value)| check_places(value, lines)),
        _ => {}
    }
}

fn check_text(text: &str) {
    match load(text).and_then(|node| {
        let lines = text.matches(['\n', '\r']).count() as u32 + 1;
        check_places(&node, lines);
        let value = node.to_value();
        assert_eq!(load(&to_text(&value)).expect("what we write is read").to_value(), value);
        from_node::<Suite>(&node)
    }) {
        Ok(_) => {}
        Err(error) => {
            assert!(error.span.is_some(), "{text:?}: {error} has no place");
            let rendered = error.render("suite.yaml", text);
            assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "{rendered:?}");
            // The line that the error is about can always be shown.
            assert!(rendered.contains(" | "), "{text:?}: {rendered}");
        }
    }
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        "[\u{0}-\u{a0}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}\u{10000}]{0,6}",
        "[-a-zA-Z0-9 _./:#,?!&*|>%@'\"]{0,8}",
        prop::sample::select(PIECES).prop_map(str::to_owned),
        prop::sample::select(&["yes", "No", "null", "", " ", "a ", "0o7", "1_0", "1:30", ".nan", "y", "=", "<<"][..])
            .prop_map(str::to_owned),
    ]
}

/// Some as long as a key can be without a mark, and longer.
fn any_length() -> impl Strategy<Value = String> {
    prop_oneof![9 => any_string(), 1 => "[a-z\n]{980,1100}"]
}

fn any_value<S: Strategy<Value = String> + Clone + 'static>(strings: S) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>().prop_filter_map("finite", |n| Number::new(n).map(Value::Number)),
        any::<i64>().prop_filter_map("finite", |n| Number::new(n as f64).map(Value::Number)),
        (-1000i64..1000).prop_filter_map("safe", |n| Number::from_i64(n).map(Value::Number)),
        strings.clone().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((strings.clone(), inner), 0..5).prop_map(|members| {
                let mut map = Map::new();
                for (name, value) in members {
                    map.insert(name, value);
                }
                Value::Object(map)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_yaml_never_panics_and_every_error_has_a_place(text in yamlish()) {
        check_text(&text);
    }

    #[test]
    fn random_characters_never_panic(text in "\\PC{0,60}") {
        check_text(&text);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Err(error) = load_bytes(&bytes) {
            prop_assert!(error.span.is_some(), "{} has no place", error);
            let _ = error.render("x.yaml", &String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn what_is_written_is_read_back(value in any_value(any_length().boxed())) {
        let text = to_text(&value);
        prop_assert!(text.ends_with('\n'));
        let read = load(&text).map_err(|error| TestCaseError::fail(error.render("x.yaml", &text)))?;
        prop_assert_eq!(read.to_value(), value);
    }

    #[test]
    fn canonical_json_is_yaml(value in any_value(any_string().boxed())) {
        // What YAML calls not printable is refused raw, in quotes as well; an escape is the same JSON.
        let is_printable = |c| !matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
        let mut text = String::new();
        for character in value.to_string().chars() {
            match is_printable(character) {
                true => text.push(character),
                false => text.push_str(&format!("\\u{:04x}", u32::from(character))),
            }
        }
        let read = load(&text).map_err(|error| TestCaseError::fail(error.render("x.json", &text)))?;
        prop_assert_eq!(read.to_value(), value);
    }
}
