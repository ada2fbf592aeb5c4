//! Every vector of the structured hash, to the byte, and what it loses.

use std::collections::BTreeSet;

use proofmark_artefact::replay::js::{Loss, read};
use proofmark_canon::Value;
use proofmark_canon::json::parse;

/// Vectors whose hash does not pin the document. All others lose nothing, except that `null` and `{}` are shared.
const LOSSY: &[(&str, &[Loss])] = &[
    ("int-2p53-plus-1", &[Loss::Digits]),
    ("int-100-digits", &[Loss::Digits]),
    ("inf", &[Loss::NotFinite]),
    ("tag-int-float", &[Loss::Tag]),
    ("date-yaml11", &[Loss::Date]),
    ("date-yaml11-other", &[Loss::Date]),
    ("date-tag", &[Loss::Date]),
    ("date-tag-other", &[Loss::Date]),
    ("set-tag", &[Loss::Set]),
    ("omap-tag", &[Loss::OrderedMap]),
    ("omap-tag-other", &[Loss::OrderedMap]),
    ("unknown-tag", &[Loss::Tag]),
    ("unknown-tag-scalar", &[Loss::Tag]),
    ("null-key", &[Loss::Key]),
    ("empty-key", &[Loss::Key]),
    ("seq-key", &[Loss::Key]),
    ("map-key", &[Loss::Key]),
    ("duplicate-keys-int-str", &[Loss::Key]),
    ("document-directive-tag", &[Loss::Tag]),
];

fn vectors() -> Vec<Value> {
    let file = parse(include_bytes!("../data/structured-hash-vectors.json")).expect("the file is JSON");
    file.get("vectors").and_then(Value::as_array).expect("a list").to_vec()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("{field} of {vector}"))
}

#[test]
fn every_vector_gives_the_bytes_and_the_hash_of_the_reference() {
    assert_eq!(vectors().len(), 113);
    for vector in vectors() {
        let name = text(&vector, "name");
        let form = read(text(&vector, "yaml").as_bytes());
        if vector.get("canonical").is_some_and(Value::is_null) {
            assert!(form.is_err(), "{name}: {form:?}");
            continue;
        }
        let form = form.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(String::from_utf8_lossy(&form.canonical), text(&vector, "canonical"), "{name}");
        assert_eq!(form.digest().to_string(), text(&vector, "sha256"), "{name}");
    }
}

#[test]
fn vectors_that_lose_something_say_what_and_the_others_say_nothing() {
    for vector in vectors() {
        let name = text(&vector, "name");
        let Ok(form) = read(text(&vector, "yaml").as_bytes()) else { continue };
        let shared = [Loss::Null, Loss::EmptyMapping];
        let found: BTreeSet<Loss> = form.losses.iter().copied().filter(|loss| !shared.contains(loss)).collect();
        let want = LOSSY.iter().find(|(row, _)| *row == name).map(|(_, losses)| *losses).unwrap_or_default();
        assert_eq!(found, want.iter().copied().collect(), "{name}");
    }
    for (name, _) in LOSSY {
        assert!(vectors().iter().any(|vector| text(vector, "name") == *name), "{name} is no vector");
    }
}

#[test]
fn vectors_that_share_a_hash_are_the_same_or_lossy() {
    for (a, b) in [("date-tag", "date-tag-other"), ("omap-tag", "omap-tag-other"), ("int-2p53", "int-2p53-plus-1")] {
        let all = vectors();
        let form = |name: &str| {
            let vector = all.iter().find(|vector| text(vector, "name") == name).expect(name);
            read(text(vector, "yaml").as_bytes()).unwrap()
        };
        assert_eq!(form(a).digest(), form(b).digest());
        assert!(!form(b).losses.is_empty());
    }
}

#[test]
fn what_no_vector_shows_is_read_as_the_reference_does() {
    for (yaml, canonical, losses) in [
        ("a: {}\n", r#"{"a":{}}"#, &[Loss::EmptyMapping][..]),
        ("a: ~\n", r#"{"a":null}"#, &[Loss::Null]),
        ("__proto__: {a: 1}\nb: 2\n", r#"{"b":2}"#, &[Loss::Proto]),
        ("a: {__proto__: 1}\n", r#"{"a":{}}"#, &[Loss::Proto]),
        ("a: !!binary SGk=\n", r#"{"a":{"0":72,"1":105}}"#, &[Loss::Bytes]),
        ("a: !!pairs [x: 1, x: 2]\n", r#"{"a":[{"x":1},{"x":2}]}"#, &[]),
        ("a: !!set [x]\n", r#"{"a":["x"]}"#, &[Loss::Tag]),
        ("a: !!str 5\nb: ! 6\n", r#"{"a":"5","b":"6"}"#, &[]),
        (".nan: a\n.inf: b\n", r#"{"Infinity":"b","NaN":"a"}"#, &[]),
        ("%YAML 1.1\n---\n<<: {a: 1}\na: 2\n", r#"{"a":2}"#, &[]),
        ("%YAML 1.1\n---\na: 2\n<<: [{a: 1, b: 3}, {b: 4}]\n", r#"{"a":2,"b":3}"#, &[]),
        ("%YAML 1.1\n---\n'<<': {a: 1}\n", r#"{"<<":{"a":1}}"#, &[]),
        ("a: '\\uD800'\nb: \"\\uD800\"\n", r#"{"a":"\\uD800","b":"\ud800"}"#, &[]),
        ("a: \\ud800\nb: \"\\ud83d\\ude00\"\n", r#"{"a":"\\ud800","b":"😀"}"#, &[]),
        ("\"\\uD800\": 1\n\"\u{e000}\": 2\nz: 3\n", "{\"z\":3,\"\\ud800\":1,\"\u{e000}\":2}", &[]),
        ("{\"b\":[true,false],\"a\":-0.0}", r#"{"a":0,"b":[true,false]}"#, &[]),
        ("&a {x: 1}\n", r#"{"x":1}"#, &[]),
        ("a: &e []\nb: [*e]\n", r#"{"a":[],"b":[[]]}"#, &[]),
    ] {
        let form = read(yaml.as_bytes()).unwrap_or_else(|error| panic!("{yaml}: {error}"));
        assert_eq!(String::from_utf8_lossy(&form.canonical), canonical, "{yaml}");
        assert_eq!(form.losses, losses.iter().copied().collect(), "{yaml}");
    }
}

#[test]
fn what_is_hostile_is_refused_and_never_slow() {
    let deep = "[".repeat(10_000);
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for at in 1..40 {
        bomb.push_str(&format!("a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1));
    }
    let mut merges = String::from("%YAML 1.1\n---\na0: &a0 {x: 1}\n");
    for at in 1..60 {
        merges.push_str(&format!("a{at}: &a{at} {{<<: [*a{}, *a{}]}}\n", at - 1, at - 1));
    }
    for text in [
        deep.as_str(),
        &bomb,
        &merges,
        "a: !!timestamp x\n",
        "a: !!binary '?'\n",
        "a: !!set {b: 1}\n",
        "a: !!omap [{b: 1, c: 2}]\n",
        "a: !!omap [b: 1, b: 2]\n",
        "a: !!merge x\n",
        "? !!timestamp 2001-01-01\n: 1\n",
        "%YAML 1.1\n---\n<<: 1\n",
        "*a\n",
        "a: \"\\uD800\u{10d800}\"\n",
        "? [[a]]\n: 1\n",
        "a: \u{7}\n",
    ] {
        assert!(read(text.as_bytes()).is_err(), "{}", &text[..text.len().min(60)]);
    }
    assert!(read(b"\xff\xfe").is_err());
    assert!(read(&vec![b' '; 9 << 20]).is_err());
}
