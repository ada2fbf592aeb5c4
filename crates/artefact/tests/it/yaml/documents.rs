//! Documents: what is read, what is refused and where, and the bounds.

use std::fmt::Write as _;

use proofmark_artefact::yaml::{
    MAX_ALIASES, MAX_BYTES, MAX_DEPTH, Node, NodeKind, Span, YamlError, from_node, load, load_bytes,
};
use serde::Deserialize;

fn canonical(text: &str) -> String {
    load(text).unwrap_or_else(|error| panic!("{text:?}: {error}")).to_value().to_string()
}

fn refused(text: &str) -> String {
    let error = load(text).expect_err(text);
    let span = error.span.unwrap_or_else(|| panic!("{text:?}: {error} has no place"));
    let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}:{} {}{hint}", span.line, span.column, error.message)
}

#[test]
fn documents_are_read_as_yaml_1_2_core() {
    for (text, json) in [
        ("", "null"),
        ("\u{feff}", "null"),
        ("# nothing\n", "null"),
        ("%YAML 1.2\n---\na: yes\n", r#"{"a":"yes"}"#),
        ("a: 2001-12-14\nb: 1_000\nc: 1:30\n", r#"{"a":"2001-12-14","b":"1_000","c":"1:30"}"#),
        ("a: 'true'\nb: \"1\"\nc: 'null'\nd: '~'\n", r#"{"a":"true","b":"1","c":"null","d":"~"}"#),
        ("a:\nb: ~\nc: null\nd: {e}\n", r#"{"a":null,"b":null,"c":null,"d":{"e":null}}"#),
        ("- |\n  5\n- >-\n  true\n", r#"["5\n","true"]"#),
        ("1: a\n1.50: b\nTrue: c\n0x10: d\n'2.0': e\n", r#"{"1":"a","1.5":"b","16":"d","2.0":"e","true":"c"}"#),
        ("a: !!str 5\nb: !!str\nc: !!map {}\nd: !!seq [!!int '7']\n", r#"{"a":"5","b":"","c":{},"d":[7]}"#),
        ("!!str 5: a\n", r#"{"5":"a"}"#),
        ("\"<<\": 1\na: <<\n", r#"{"<<":1,"a":"<<"}"#),
        ("a: &x [1]\nb: &x [2]\nc: *x\n", r#"{"a":[1],"b":[2],"c":[2]}"#),
        ("a: [\n  1,\n]\n", r#"{"a":[1]}"#),
        ("a: 1\rb: 2\r\nc: 3", r#"{"a":1,"b":2,"c":3}"#),
        ("a: \"\\ud83d\\ude00\"\n", "{\"a\":\"😀\"}"),
        ("{\"a\":\"\u{85}\u{2028}\u{a0}\"}", "{\"a\":\"\u{85}\u{2028}\u{a0}\"}"),
        ("\"\": 1\n", r#"{"":1}"#),
    ] {
        assert_eq!(canonical(text), json, "{text:?}");
    }
}

#[test]
fn what_is_refused_has_a_place_and_a_hint() {
    let mut wrong = String::new();
    for (text, expected) in REFUSED {
        let found = refused(text);
        if found != *expected {
            let _ = writeln!(wrong, "    ({text:?}, {found:?}),");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const REFUSED: &[(&str, &str)] = &[
    (
        "a: 1\nb: 2\na: 3\nb: 4\n",
        "3:1 the key `a` stands twice in one mapping (it stands first in line 1; remove one of them)",
    ),
    (
        "a: {x: 1, 'x': 2}\n",
        "1:11 the key `x` stands twice in one mapping (it stands first in line 1; remove one of them)",
    ),
    (
        "a: 1\n\"\\u0061\": 2\n",
        "2:1 the key `a` stands twice in one mapping (it stands first in line 1; remove one of them)",
    ),
    ("1: a\n1.0: b\n", "2:1 the key `1` stands twice in one mapping (it stands first in line 1; remove one of them)"),
    (
        "&k a: 1\n*k : 2\n",
        "2:1 the key `a` stands twice in one mapping (it stands first in line 1; remove one of them)",
    ),
    ("? [a]\n: 1\n", "1:3 a key cannot be a list or a mapping (put the key in quotes if it is text)"),
    ("{a: 1}: b\n", "1:1 a key cannot be a list or a mapping (put the key in quotes if it is text)"),
    ("&x [a]: 1\n", "1:4 a key cannot be a list or a mapping (put the key in quotes if it is text)"),
    ("x: &x [a]\n*x : 1\n", "2:1 a key cannot be a list or a mapping (put the key in quotes if it is text)"),
    ("~: 1\n", "1:1 a key cannot be null (put it in quotes, or write the missing key)"),
    (": 1\n", "1:1 a key cannot be null (put it in quotes, or write the missing key)"),
    (".inf: 1\n", "1:1 `.inf` has no canonical form (write a finite number, or put it in quotes if it is text)"),
    ("a: !secret x\n", "1:4 unknown tag `!secret` (remove it, or put the value in quotes if it starts with `!`)"),
    ("a: ! x\n", "1:4 unknown tag `!` (remove it, or put the value in quotes if it starts with `!`)"),
    ("a: !!binary aGk=\n", "1:4 unknown tag `!!binary` (remove it, or put the value in quotes if it starts with `!`)"),
    (
        "a: !<tag:x,2000:y> z\n",
        "1:4 unknown tag `!<tag:x,2000:y>` (remove it, or put the value in quotes if it starts with `!`)",
    ),
    ("a:\n  !x\n  b: 1\n", "2:3 unknown tag `!x` (remove it, or put the value in quotes if it starts with `!`)"),
    ("a: !!int x\n", "1:4 `x` is not a value of the tag `!!int` (remove the tag)"),
    ("a: !!seq {}\n", "1:4 a mapping is not a value of the tag `!!seq` (remove the tag)"),
    ("a: !!map\n", "1:4 nothing is not a value of the tag `!!map` (remove the tag)"),
    (
        "# c\r\n%YAML 1.1\r---\r",
        "2:1 YAML 1.1 is not read, only YAML 1.2 (remove the `%YAML` line, and write `true` and `false` for booleans)",
    ),
    (
        "# c\n%YAML 1.1\n---\na: 1\n",
        "2:1 YAML 1.1 is not read, only YAML 1.2 (remove the `%YAML` line, and write `true` and `false` for booleans)",
    ),
    (
        "%YAML 1.3\n---\na: 1\n",
        "1:1 YAML 1.3 is not read, only YAML 1.2 (remove the `%YAML` line, and write `true` and `false` for booleans)",
    ),
    ("%YAML 2.0\n---\na: 1\n", "1:1 only YAML 1.2 is read (remove the `%YAML` line)"),
    ("a: 1\n---\n", "2:1 a second document starts here (a file holds one document; remove this `---`)"),
    ("a: 1\n...\n---\nb: 2\n", "3:1 a second document starts here (a file holds one document; remove this `---`)"),
    ("a: 1\n...\nb: 2\n", "3:1 a second document starts here (a file holds one document; remove this `---`)"),
    ("a: *x\n", "1:4 the alias `*x` has no anchor before it (put the value in quotes if it starts with `*`)"),
    ("a: [*star]\n", "1:5 the alias `*star` has no anchor before it (put the value in quotes if it starts with `*`)"),
    ("a: &a [*a]\n", "1:8 an alias stands inside the value it names (a value cannot contain itself)"),
    ("a: &a {b: {c: *a}}\n", "1:15 an alias stands inside the value it names (a value cannot contain itself)"),
    (
        "d:\n  <<: {a: 1}\n",
        "2:3 merge keys are not part of YAML 1.2 (write the keys out, or quote `\"<<\"` to mean the text)",
    ),
    ("a:\n\t- 1\n", "2:1 a tab is used as indentation (indent with spaces)"),
    ("a: 1\n\tb: 2\n", "2:1 a tab is used as indentation (indent with spaces)"),
    ("a: |\n\tx\n", "2:1 a text block starts with a tab (indent it with spaces)"),
    (
        "a: b: c\n",
        "1:5 a `:` stands where no key can be (put a value that holds `: ` in quotes, or fix the indentation)",
    ),
    (
        "a: 1\n  b: 2\n",
        "2:4 a `:` stands where no key can be (put a value that holds `: ` in quotes, or fix the indentation)",
    ),
    ("a:\n  b: 1\n c: 2\n", "3:2 expected a key here (align it with the keys above, or indent it under the last one)"),
    (
        "- a\nb: 1\n",
        "2:1 expected an item that starts with `- ` here (align it with the items above, or indent it under the last one)",
    ),
    ("a: 1\n- b\n", "2:3 expected a key here (align it with the keys above, or indent it under the last one)"),
    ("a: - b\n", "1:4 a list cannot start here (put `- ` on a line of its own, or put the value in quotes)"),
    ("a: [1, 2\nb: 3\n", "2:2 a `:` stands where no key can be (is a `]` or a `}` missing above?)"),
    ("a: {b: 1\n", "1:4 `{` is never closed (close it)"),
    ("a: [1}\n", "1:4 `[` is closed by `}` (use the bracket that fits)"),
    ("a: ]\n", "1:4 a closing bracket without an opening one (remove it, or put the value in quotes)"),
    (
        "a: 'x\n",
        "2:1 a quoted text goes on in a line that is not indented (close the quote, or indent the lines that follow it)",
    ),
    ("'a", "1:1 a quote is never closed (close it, or double a `'` inside `'…'`)"),
    ("a: 'x' y\n", "1:8 text goes on after a closing quote (double a `'` inside `'…'`, or quote the whole value)"),
    ("a: \"x\" y\n", "1:8 text goes on after a closing quote (write `\\\"` inside `\"…\"`, or quote the whole value)"),
    (
        "a: \"\\d\"\n",
        "1:4 an unknown escape in a double-quoted text (write `\\\\` for a backslash, or use single quotes)",
    ),
    ("a: \"\\u12\"\n", "1:4 an escape that names no character (`\\x` takes 2 hex digits, `\\u` 4, `\\U` 8)"),
    (
        "a: \"\\ud800\"\n",
        "1:4 a lone surrogate is not a character (write the character itself, or both halves of the pair)",
    ),
    (
        "a: \"\\udc00x\"\n",
        "1:4 a lone surrogate is not a character (write the character itself, or both halves of the pair)",
    ),
    (
        "a: \"\\ud800\\u0041\"\n",
        "1:4 a lone surrogate is not a character (write the character itself, or both halves of the pair)",
    ),
    ("a: @x\n", "1:4 a value without quotes cannot start with `@` (put the value in quotes)"),
    ("a: `x`\n", "1:4 a value without quotes cannot start with ``` (put the value in quotes)"),
    ("a: %x\n", "1:4 a value without quotes cannot start with `%` (put the value in quotes)"),
    (
        "a: b\0c\n",
        "1:5 the control character U+0000 cannot be written here (write it as an escape in double quotes, or remove it)",
    ),
    (
        "# \u{1b}[31m\n",
        "1:3 the control character U+001B cannot be written here (write it as an escape in double quotes, or remove it)",
    ),
    (
        "é: 1\nü: \u{7}\n",
        "2:4 the control character U+0007 cannot be written here (write it as an escape in double quotes, or remove it)",
    ),
    ("a: \u{feff}y\n", "1:4 a byte order mark inside the document (remove it, or write `\\ufeff` in double quotes)"),
    (
        "a: \"\u{7f}\"\n",
        "1:5 the control character U+007F cannot be written here (write it as an escape in double quotes, or remove it)",
    ),
    (
        "a\nb: 1\n",
        "2:2 a `:` stands where no key can be (put a value that holds `: ` in quotes, or fix the indentation)",
    ),
    ("a: 1\nb\n", "2:1 a key without a `:` after it (write `key: value`; a key is on one line and at most 1024 long)"),
    (
        "{a: 1} x\n",
        "1:8 the text goes on after the value (a file holds one value; is an indentation or a `- ` missing?)",
    ),
    ("a: .nan\n", "1:4 `.nan` has no canonical form (write a finite number, or put it in quotes if it is text)"),
    ("a: [-.inf]\n", "1:5 `-.inf` has no canonical form (write a finite number, or put it in quotes if it is text)"),
    ("a: 1e999\n", "1:4 the number 1e999 is too large (write a smaller number, or put it in quotes if it is text)"),
    (
        "a: 0xffffffffffffffff\n",
        "1:4 the integer 0xffffffffffffffff is beyond 2^53 and would lose digits (write a smaller number, or put it in quotes if it is text)",
    ),
    (
        "a: 12345678901234567890\n",
        "1:4 the integer 12345678901234567890 is beyond 2^53 and would lose digits (write a smaller number, or put it in quotes if it is text)",
    ),
    ("p: {{ x }}\n", "1:4 a key cannot be a list or a mapping (put a template in quotes: `\"{{ … }}\"`)"),
    ("p: {{x}}: y\n", "1:4 a key cannot be a list or a mapping (put a template in quotes: `\"{{ … }}\"`)"),
];

#[test]
fn a_span_is_where_the_value_is_written() {
    let text = "\u{feff}é: [1, \"x\"]\r\nlong:\r\n  - &a {b: c}\r\n  - *a\r\n  - |\r\n    text\r\nempty:\r\n";
    let node = load(text).unwrap();
    let at = |node: &Node| (node.span.line, node.span.column);
    let item = |node: &Node, index: usize| match &node.kind {
        NodeKind::Sequence(items) => items[index].clone(),
        other => panic!("{other:?}"),
    };
    let first = node.get("é").unwrap();
    assert_eq!((at(&node), at(first), at(&item(first, 1))), ((1, 1), (1, 4), (1, 8)));
    let long = node.get("long").unwrap();
    assert_eq!(at(long), (3, 3));
    // The copy stands where the alias does; what is inside stands where it was written.
    let (original, copy) = (item(long, 0), item(long, 1));
    assert_eq!((at(&original), at(&copy)), ((3, 8), (4, 5)));
    assert_eq!(at(copy.get("b").unwrap()), (3, 12));
    assert_eq!(at(&item(long, 2)), (6, 5));
    // A value that is not there is seen at its key.
    assert_eq!(at(node.get("empty").unwrap()), (7, 1));
    let NodeKind::Mapping(entries) = &node.kind else { panic!("{node:?}") };
    let keys: Vec<_> = entries.iter().map(|(key, _)| (key.text.as_str(), key.span.line)).collect();
    assert_eq!(keys, [("é", 1), ("long", 2), ("empty", 7)]);
}

#[test]
fn bytes_that_are_not_utf_8_are_named_with_their_place() {
    let found = |bytes: &[u8]| {
        let error = load_bytes(bytes).unwrap_err();
        (error.span, error.message, error.hint.unwrap())
    };
    let place = |line, column| Some(Span { line, column });
    let (span, message, hint) = found("a: é\r\nb: ü\u{0}".as_bytes().split_last().unwrap().1.split_last().unwrap().1);
    assert_eq!((span, message.as_str()), (place(2, 4), "the byte 0xc3 is not valid UTF-8"));
    assert_eq!(hint, "save the file as UTF-8");
    let (span, _, hint) = found(b"\xff\xfea\0:\0");
    assert_eq!((span, hint.as_str()), (place(1, 1), "the file looks like UTF-16; save it as UTF-8"));
    assert_eq!(load_bytes("\u{feff}a: é".as_bytes()).unwrap().to_value().to_string(), "{\"a\":\"é\"}");
}

fn message(text: &str) -> String {
    load(text).expect_err("over a bound").message
}

#[test]
fn size_and_depth_are_bounded() {
    let filled = |bytes: usize| format!("# {}\na: 1", "x".repeat(bytes - "# \na: 1".len()));
    let over = format!("the document has {} bytes, more than {MAX_BYTES}", MAX_BYTES + 1);
    assert_eq!(message(&filled(MAX_BYTES + 1)), over);
    assert!(load(&filled(MAX_BYTES)).is_ok());

    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let too_deep = format!("lists and mappings are nested deeper than {MAX_DEPTH}");
    assert!(load(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(message(&nested(MAX_DEPTH + 1)), too_deep);
    assert_eq!(message(&nested(100_000)), too_deep);
    assert!(load(&"[".repeat(100_000)).is_err());
    let block: String = (0..=MAX_DEPTH).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(message(&block), too_deep);
    assert!(load(&"- ".repeat(50_000)).is_err());
    assert!(load(&"? ".repeat(50_000)).is_err());
    assert!(load(&"{a: ".repeat(50_000)).is_err());
}

#[test]
fn an_alias_bomb_is_refused_before_it_goes_off() {
    let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..10 {
        let copies = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(laughs, "a{level}: &a{level} [{copies}]");
    }
    assert!(message(&laughs).starts_with("anchors and aliases copy more than 200000 values"));

    // One long text, copied often: few values and many bytes.
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 900].join(", "));
    assert!(message(&text).starts_with("anchors and aliases copy more than"));

    // Anchors inside anchors copy on their own, without one alias.
    let nested: String = (0..60).map(|level| format!("&a{level} [")).collect();
    let text = format!("{nested}{}{}", "1,".repeat(10_000), "]".repeat(60));
    assert!(message(&text).starts_with("anchors and aliases copy more than"));

    // A chain of aliases nests deeper than any text does.
    let chain: String = (1..200).map(|level| format!("- &a{level} [*a{}]\n", level - 1)).collect();
    assert_eq!(
        message(&format!("- &a0 []\n{chain}")),
        format!("lists and mappings are nested deeper than {MAX_DEPTH}")
    );

    let many = |count: usize| format!("a: &a 1\nb: [{}]\n", vec!["*a"; count].join(", "));
    assert!(load(&many(MAX_ALIASES)).is_ok());
    assert_eq!(message(&many(MAX_ALIASES + 1)), format!("more than {MAX_ALIASES} aliases"));
}

#[test]
fn a_large_document_is_read_and_a_vast_one_is_not() {
    let rows: String = (0..20_000).map(|row| format!("- {{id: r{row}, n: {row}}}\n")).collect();
    let NodeKind::Sequence(items) = load(&rows).unwrap().kind else { panic!("a list") };
    assert_eq!(items.len(), 20_000);
    let keys: String = (0..20_000).map(|key| format!("k{key}: 1\n")).collect();
    assert_eq!(load(&keys).unwrap().to_value().as_object().unwrap().len(), 20_000);
    assert_eq!(message(&format!("[{}]", "1,".repeat(1_100_000))), "the document has more than 1000000 keys and values");
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Dot,
    Circle(Circle),
    Line { from: (f64, f64), to: [i8; 2] },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Circle {
    radius: f32,
    #[serde(default)]
    label: Option<char>,
}

fn shape(text: &str) -> Result<Shape, YamlError> {
    from_node(&load(text).expect("it is YAML"))
}

#[test]
fn every_kind_of_variant_is_read_by_its_type() {
    assert_eq!(shape("dot"), Ok(Shape::Dot));
    assert_eq!(shape("{type: dot}"), Ok(Shape::Dot));
    assert_eq!(shape("{radius: 2, type: circle}"), Ok(Shape::Circle(Circle { radius: 2.0, label: None })));
    assert_eq!(
        shape("{type: circle, radius: .5, label: é}").unwrap(),
        Shape::Circle(Circle { radius: 0.5, label: Some('é') })
    );
    assert_eq!(
        shape("type: line\nfrom: [0, 1.5]\nto: [-128, 127]").unwrap(),
        Shape::Line { from: (0.0, 1.5), to: [-128, 127] }
    );
}

#[test]
fn a_variant_that_does_not_fit_is_refused_at_its_place() {
    let found = |text: &str| {
        let error = shape(text).expect_err(text);
        let span = error.span.unwrap();
        format!("{}:{} {}", span.line, span.column, error.message)
    };
    for (text, expected) in [
        ("5", "1:1 expected one of `dot`, `circle`, `line`, found the number 5"),
        ("[dot]", "1:1 expected one of `dot`, `circle`, `line`, found a list"),
        ("dott", "1:1 unknown value `dott`"),
        ("circle", "1:1 expected a mapping, found the string \"circle\""),
        ("{type: dot, x: 1}", "1:13 unknown key `x`"),
        ("{type: 5}", "1:8 expected a string, found the number 5"),
        ("{type: }", "1:2 expected a string, found null"),
        ("{type: circle}", "1:1 missing key `radius`"),
        ("{type: circle, radius: 1, color: x}", "1:27 unknown key `color`"),
        ("{type: circle, radius: 1, label: ab}", "1:34 expected a character, found the string \"ab\""),
        ("{type: line, from: [1], to: [1, 1]}", "1:20 expected a tuple of size 2, found 1 items"),
        ("{type: line, from: [1, 2, 3], to: [1, 1]}", "1:27 expected 2 items, found 3"),
        (
            "{type: line, from: [1, 2], to: [1, 128]}",
            "1:36 expected a whole number from -128 to 127, found the number 128",
        ),
        ("{type: line, from: [1, x], to: [1, 1]}", "1:24 expected a number, found the string \"x\""),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}
