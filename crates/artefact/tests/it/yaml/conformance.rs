//! Every vector of the structured hash, as the JavaScript reference computes it.
//!
//! A vector whose name is not in the table fails the test, and so does a name without a vector.

use proofmark_artefact::yaml::load;
use proofmark_canon::json::parse;
use proofmark_canon::{Digest, Value};

/// What we do with a vector.
enum Ours {
    /// The same canonical text and the same digest.
    Same,
    /// An error, and this is a part of its message.
    Refused(&'static str),
    /// The same value; the reference sorts names that look like array indices first, RFC 8785 does not.
    SameValue,
    /// Another value, deliberately.
    Differs(&'static str),
}

use Ours::{Differs, Refused, Same, SameValue};

const YAML_1_1: &str = "YAML 1.1 is not read, only YAML 1.2";

const TABLE: &[(&str, Ours)] = &[
    ("flat-sorted", Same),
    ("flat-reordered", Same),
    ("nested", Same),
    ("array-of-maps", Same),
    ("deep", Same),
    ("json-input", Same),
    ("json-pretty", Same),
    ("comments-and-whitespace", Same),
    ("doc-start-end", Same),
    ("empty-doc", Same),
    ("whitespace-only-doc", Same),
    ("comment-only-doc", Same),
    ("doc-marker-only", Same),
    ("empty-map", Same),
    ("empty-string", Same),
    ("scalar-string-doc", Same),
    ("scalar-number-doc", Same),
    ("scalar-bool-doc", Same),
    ("multiline-plain-doc", Same),
    ("yes-no-on-off", Same),
    // A directive that changes what `yes` means makes two readings of one text.
    ("yaml11-directive-bools", Refused(YAML_1_1)),
    ("int-zero", Same),
    ("neg-zero-int", Same),
    ("one-point-zero", Same),
    ("float-point1-plus-point2", Same),
    ("float-point3", Same),
    ("one-third", Same),
    ("exp-1e21", Same),
    ("exp-1e20", Same),
    ("exp-123456789012345680000", Same),
    ("exp-capital-plus", Same),
    ("exp-max", Same),
    ("int-2p53", Same),
    // The reference rounds these; two documents would share a digest.
    ("int-2p53-plus-1", Refused("would lose digits")),
    ("int-100-digits", Refused("would lose digits")),
    ("neg-int-2p53-1", Same),
    ("float-17-digits", Same),
    ("octal-0o", Same),
    ("octal-01-style-yaml11", Refused(YAML_1_1)),
    ("hex", Same),
    ("underscore-num-11", Refused(YAML_1_1)),
    ("sexagesimal-11", Refused(YAML_1_1)),
    // The reference writes null for every one of them.
    ("inf", Refused("has no canonical form")),
    ("version-string", Same),
    // `1` is in the core schema's set of floats; the reference falls back to a string.
    ("tag-int-float", Differs(r#"{"a":1,"b":7,"c":true,"d":null}"#)),
    ("datetime-plain", Same),
    ("date-yaml11", Refused(YAML_1_1)),
    ("date-yaml11-other", Refused(YAML_1_1)),
    // The reference loses the content of these, so that different documents share a digest.
    ("date-tag", Refused("unknown tag `!!timestamp`")),
    ("date-tag-other", Refused("unknown tag `!!timestamp`")),
    ("set-tag", Refused("unknown tag `!!set`")),
    ("omap-tag", Refused("unknown tag `!!omap`")),
    ("omap-tag-other", Refused("unknown tag `!!omap`")),
    ("unknown-tag", Refused("unknown tag `!mytag`")),
    ("unknown-tag-scalar", Refused("unknown tag `!mytag`")),
    ("int-like-mixed-case", SameValue),
    ("int-key-2p53", Same),
    ("float-key", SameValue),
    // Null and collections have no text that is theirs alone.
    ("null-key", Refused("a key cannot be null")),
    ("empty-key", Refused("a key cannot be null")),
    ("seq-key", Refused("a key cannot be a list or a mapping")),
    ("map-key", Refused("a key cannot be a list or a mapping")),
    // In 1.2 core `<<` is a plain key, which is never what its writer meant.
    ("merge-key-core", Refused("merge keys are not part of YAML 1.2")),
    ("merge-key-yaml11", Refused(YAML_1_1)),
    ("merge-tag", Refused("unknown tag `!!merge`")),
    ("anchors-aliases", Same),
    ("anchor-scalar", Same),
    ("duplicate-keys", Refused("the key `a` stands twice")),
    ("duplicate-keys-json", Refused("the key `a` stands twice")),
    // The reference lets the last one win.
    ("duplicate-keys-int-str", Refused("the key `1` stands twice")),
    ("astral-value", Same),
    // The reference keeps half a pair, which is not Unicode text.
    ("lone-surrogate-escape", Refused("a lone surrogate is not a character")),
    ("lone-low-surrogate-escape", Refused("a lone surrogate is not a character")),
    ("surrogate-pair-escape", Same),
    ("nfc-vs-nfd", Same),
    ("control-chars", Same),
    ("u2028-2029", Same),
    ("nbsp-bom-inside", Same),
    ("quote-backslash-slash", Same),
    ("html-chars", Same),
    ("bom-prefix", Same),
    ("crlf", Same),
    ("multiline-literal-keep", Same),
    ("multiline-folded", Same),
    ("multiline-double-quoted", Same),
    ("multiline-single-quoted", Same),
    ("multiline-plain", Same),
    ("literal-crlf", Same),
    ("trailing-spaces-literal", Same),
    ("colon-in-plain", Same),
    ("long-line", Same),
    ("tab-after-colon", Same),
    ("int-key-limit-disambiguated", SameValue),
    ("alias-scalar-x99", Same),
    // The reference stops at 100 aliases of one anchor, whatever they copy; our budget counts what is copied.
    ("alias-scalar-x100", Differs("aliases")),
    ("alias-scalar-x101", Differs("aliases")),
    ("anchor-on-key", Same),
    ("block-seq-in-map-same-indent", Same),
    ("compact-nested-seq", Same),
    ("indent-indicator", Same),
    ("document-directive-tag", Refused("unknown tag `!e!x`")),
    ("escape-slash-line-continuation", Same),
    ("quoted-special-keys", Same),
    ("number-with-trailing-space-comment", Same),
    ("exp-precision-edges", Same),
    ("err-multi-doc", Refused("a second document starts here")),
    ("err-tab-indent", Refused("a tab is used as indentation")),
    ("err-unclosed-flow", Refused("`[` is never closed")),
    ("err-unclosed-quote", Refused("a quoted text goes on in a line that is not indented")),
    ("err-bad-indent", Refused("a `:` stands where no key can be")),
    ("err-at-indicator", Refused("a value without quotes cannot start with `@`")),
    ("err-cyclic-alias", Refused("an alias stands inside the value it names")),
    ("err-cyclic-map", Refused("an alias stands inside the value it names")),
];

fn vectors() -> Vec<Value> {
    let file = parse(include_bytes!("../../data/structured-hash-vectors.json")).expect("the file is JSON");
    file.get("vectors").and_then(Value::as_array).expect("a list").to_vec()
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("{field} of {vector}"))
}

#[test]
fn every_vector_is_in_the_table_and_every_row_has_a_vector() {
    let have: Vec<String> = vectors().iter().map(|vector| text(vector, "name").to_owned()).collect();
    let listed: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    assert_eq!(have, listed);
}

#[test]
fn every_vector_gives_what_the_table_says() {
    for vector in vectors() {
        let name = text(&vector, "name");
        let (_, ours) = TABLE.iter().find(|(row, _)| *row == name).expect(name);
        let read = load(text(&vector, "yaml")).map(|node| node.to_value());
        match ours {
            Same => {
                let canonical = read.unwrap_or_else(|error| panic!("{name}: {error}")).to_canonical();
                assert_eq!(String::from_utf8_lossy(&canonical), text(&vector, "canonical"), "{name}");
                assert_eq!(Digest::of(&canonical).to_string(), text(&vector, "sha256"), "{name}");
            }
            SameValue => {
                let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(read, parse(text(&vector, "canonical").as_bytes()).unwrap(), "{name}");
                assert_ne!(read.to_string(), text(&vector, "canonical"), "{name} is the same text: list it as `Same`");
            }
            Differs("aliases") => {
                let aliases = text(&vector, "yaml").matches('*').count();
                let copies = vec!["1"; aliases].join(",");
                assert_eq!(read.unwrap().to_string(), format!(r#"{{"a":1,"b":[{copies}]}}"#), "{name}");
            }
            Differs(canonical) => assert_eq!(read.unwrap().to_string(), *canonical, "{name}"),
            Refused(message) => {
                let error = read.expect_err(name);
                assert!(error.message.contains(message), "{name}: {error}");
                assert!(error.span.is_some(), "{name}: {error} has no place");
            }
        }
    }
}

#[test]
fn what_the_reference_refuses_we_refuse_unless_the_table_says_otherwise() {
    for vector in vectors().iter().filter(|vector| vector.get("canonical").is_some_and(Value::is_null)) {
        let name = text(vector, "name");
        let deliberate = TABLE.iter().any(|(row, ours)| *row == name && matches!(ours, Differs(_)));
        assert!(deliberate || load(text(vector, "yaml")).is_err(), "{name}");
    }
}
