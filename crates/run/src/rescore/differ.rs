//! Where two JSON values differ.

use proofmark_artefact::text::excerpt;
use proofmark_canon::Value;

/// One place where they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Such as `cells[0].counts.passed`; empty for the whole.
    pub(super) path: String,
    /// Shortened; `absent` when the recorded value has no such member.
    pub(super) recorded: String,
    pub(super) computed: String,
}

/// Returns the first differences, at most `most` of them.
pub(super) fn differences(recorded: &Value, computed: &Value, most: usize) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(Some(recorded), Some(computed), &mut String::new(), most, &mut found);
    found
}

fn walk(
    recorded: Option<&Value>,
    computed: Option<&Value>,
    path: &mut String,
    most: usize,
    found: &mut Vec<Difference>,
) {
    if recorded == computed || found.len() >= most {
        return;
    }
    let length = path.len();
    match (recorded, computed) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (name, value) in left.iter() {
                push_name(name, path);
                walk(Some(value), right.get(name), path, most, found);
                path.truncate(length);
            }
            for (name, value) in right.iter().filter(|(name, _)| !left.contains(name)) {
                push_name(name, path);
                walk(None, Some(value), path, most, found);
                path.truncate(length);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                path.push_str(&format!("[{at}]"));
                walk(left.get(at), right.get(at), path, most, found);
                path.truncate(length);
            }
        }
        _ => {
            found.push(Difference { path: path.clone(), recorded: show(recorded), computed: show(computed) });
        }
    }
}

/// Names of a stranger can be long or strange.
fn push_name(name: &str, path: &mut String) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&excerpt(name, 80));
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| excerpt(&value.to_string(), 160))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(left: &str, right: &str, most: usize) -> Vec<(String, String, String)> {
        let parse = |text: &str| proofmark_canon::json::parse(text.as_bytes()).unwrap();
        let found = differences(&parse(left), &parse(right), most);
        found.into_iter().map(|one| (one.path, one.recorded, one.computed)).collect()
    }

    #[test]
    fn every_difference_is_named_by_its_path() {
        let triple = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        for (left, right, want) in [
            ("{}", "{}", vec![]),
            (r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3]}}"#, vec![triple("a.b[1]", "2", "3")]),
            (r#"{"a":1}"#, r#"{"b":1}"#, vec![triple("a", "1", "absent"), triple("b", "absent", "1")]),
            ("[1]", "[1,\"x\"]", vec![triple("[1]", "absent", "\"x\"")]),
            ("[]", "{}", vec![triple("", "[]", "{}")]),
            (r#"{"a\n":1}"#, r#"{"a\n":null}"#, vec![triple("a\\n", "1", "null")]),
        ] {
            assert_eq!(differ(left, right, 9), want, "{left} {right}");
        }
        assert_eq!(differ("[1,2,3]", "[4,5,6]", 2).len(), 2);
        assert!(differ(&format!("\"{}\"", "x".repeat(9999)), "0", 1)[0].1.len() < 200);
    }
}
