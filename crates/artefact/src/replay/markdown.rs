//! The block in a report's markdown, which is derived, against the sidecar, which is authoritative.

use proofmark_canon::{Digest, Value};

use super::block::Dialect;
use crate::text::excerpt;
use crate::witness::markdown::{NOT_SHOWN, REQUEST_IDS, captured, count_ids, view};
use crate::witness::sidecar::{IdList, counts};
use crate::yaml;

/// The largest report that is looked at.
pub const MAX_MARKDOWN: u64 = 64 << 20;

/// A fenced replay block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    pub dialect: Dialect,
    pub text: String,
    /// Whether the report holds another one.
    pub is_not_alone: bool,
}

/// Returns the first replay block of a report.
pub fn find(text: &str) -> Option<Fence> {
    let mut found: Option<Fence> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((mark, width, info)) = opening(line) else { continue };
        let dialect = match info.split_whitespace().collect::<Vec<_>>()[..] {
            ["yaml", "proofmark-replay", ..] => Some(Dialect::Proofmark),
            ["yaml", "ahd-replay", ..] => Some(Dialect::Ahd),
            _ => None,
        };
        let mut inside = String::new();
        // A fence inside another one is its text.
        for line in lines.by_ref() {
            if closes(line, mark, width) {
                break;
            }
            if dialect.is_some() {
                inside.push_str(line);
                inside.push('\n');
            }
        }
        match (dialect, &mut found) {
            (Some(_), Some(first)) => first.is_not_alone = true,
            (Some(dialect), None) => found = Some(Fence { dialect, text: inside, is_not_alone: false }),
            (None, _) => {}
        }
    }
    found
}

fn opening(line: &str) -> Option<(char, usize, &str)> {
    let bare = line.trim_start_matches(' ');
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = bare.trim_start_matches(mark);
    let width = bare.len() - info.len();
    (line.len() - bare.len() <= 3 && width >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, width, info))
}

fn closes(line: &str, mark: char, width: usize) -> bool {
    let bare = line.trim_start_matches(' ');
    let rest = bare.trim_start_matches(mark);
    line.len() - bare.len() <= 3 && bare.len() - rest.len() >= width && rest.trim().is_empty()
}

/// Reads a block's YAML.
///
/// AHD writes names such as `@cf/google/gemma` without quotes, which is not YAML; they are quoted here.
pub fn read(fence: &Fence) -> Result<Value, yaml::YamlError> {
    let strict = yaml::load(&fence.text).map(|node| node.to_value());
    match (strict, fence.dialect) {
        (Err(error), Dialect::Ahd) => yaml::load(&quoted(&fence.text)).map(|node| node.to_value()).map_err(|_| error),
        (strict, _) => strict,
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.lines() {
        match line.split_once(": ") {
            Some((name, value)) if value.trim_start().starts_with(['@', '`', '%']) => {
                out.push_str(&format!("{name}: '{}'\n", value.trim().replace('\'', "''")));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Where the markdown says something else than the sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub field: String,
    pub sidecar: String,
    pub markdown: String,
}

/// Compares what the markdown says with the sidecar, whose request ids come apart. The markdown may say less, but not
/// leave out what a run ate.
pub fn compare(markdown: &Value, sidecar: &Value, ids: &[IdList], dialect: Dialect) -> Vec<Difference> {
    let mut found = Vec::new();
    let Some(members) = markdown.as_object() else {
        found.push(difference("block", Some(sidecar), Some(markdown)));
        return found;
    };
    let needed: &[&str] = match dialect {
        Dialect::Proofmark => &["schema_version", "kind", "suite", "inputs"],
        Dialect::Ahd => &["schema_version", "kind", "token"],
    };
    let is_backfilled = sidecar.get("backfilled").and_then(Value::as_bool) == Some(true);
    for name in needed.iter().copied().chain(is_backfilled.then_some("backfilled")) {
        if !members.contains(name) {
            found.push(difference(name, sidecar.get(name), None));
        }
    }
    // A long list of inputs is cut in the view, which says by how much.
    let hidden = members.get(NOT_SHOWN).and_then(Value::as_u64);
    let inputs = sidecar.get("inputs").and_then(Value::as_array).unwrap_or_default().len();
    let kept = hidden.and_then(|hidden| inputs.checked_sub(usize::try_from(hidden).ok()?));
    let mut truth = match dialect {
        Dialect::Proofmark => view(sidecar, kept.unwrap_or(usize::MAX)),
        Dialect::Ahd => sidecar.clone(),
    };
    let models = sidecar.get("models").and_then(Value::as_array).unwrap_or_default().len();
    count_ids(&mut truth, &counts(ids, models));
    let counted = match dialect {
        Dialect::Proofmark => None,
        Dialect::Ahd => count_listed(markdown, ids),
    };
    let members = counted.as_ref().and_then(Value::as_object).unwrap_or(members);
    for (name, value) in members.iter().filter(|(name, _)| *name != NOT_SHOWN || kept.is_none()) {
        compare_at(name, name, Some(value), truth.get(name), &mut found);
    }
    found
}

/// A markdown that lists request ids, with their number in the place of each list that is the sidecar's.
fn count_listed(markdown: &Value, ids: &[IdList]) -> Option<Value> {
    let Value::Object(mut members) = markdown.clone() else { return None };
    let mut models = members.get("models")?.as_array()?.to_vec();
    for list in ids {
        let Some(Value::Object(model)) = models.get_mut(list.model) else { continue };
        let Some(Value::Array(said)) = model.get(REQUEST_IDS) else { continue };
        let text = Value::Array(said.clone()).to_canonical();
        if Digest::of(&text[1..text.len() - 1]) == list.digest {
            model.insert(REQUEST_IDS, captured(list.count));
        }
    }
    members.insert("models", models);
    Some(Value::Object(members))
}

fn compare_at(path: &str, name: &str, markdown: Option<&Value>, sidecar: Option<&Value>, found: &mut Vec<Difference>) {
    let (Some(said), Some(truth)) = (markdown, sidecar) else {
        // Nothing and null are the same.
        if markdown.or(sidecar).is_some_and(|value| !value.is_null()) {
            found.push(difference(path, sidecar, markdown));
        }
        return;
    };
    match (said, truth) {
        _ if said == truth => {}
        (_, Value::String(_))
            if name == REQUEST_IDS && count_of(said).is_some() && count_of(said) == count_of(truth) => {}
        (Value::Object(said), Value::Object(truth)) => {
            for (name, value) in said.iter() {
                compare_at(&format!("{path}.{name}"), name, Some(value), truth.get(name), found);
            }
        }
        (Value::Array(said), Value::Array(truth)) if said.len() == truth.len() => {
            for (at, (said, truth)) in said.iter().zip(truth).enumerate() {
                compare_at(&format!("{path}[{at}]"), name, Some(said), Some(truth), found);
            }
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => {
            found.push(difference(path, Some(truth), Some(said)));
        }
        _ => {
            let (said_text, truth_text) = (said.to_plain_text(), truth.to_plain_text());
            if said_text != truth_text && !is_short_for(&said_text, &truth_text, name) {
                found.push(difference(path, Some(truth), Some(said)));
            }
        }
    }
}

/// `3`, `"3 captured"`.
fn count_of(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.split_whitespace().next()?.parse().ok(),
        value => value.as_u64(),
    }
}

/// Whether a text is the beginning of a hash or a commit, long enough to be meant.
fn is_short_for(short: &str, whole: &str, name: &str) -> bool {
    let short = short.trim_end_matches('…').trim_end_matches("...");
    let hex = match whole.strip_prefix("sha256:") {
        Some(hex) => hex,
        None if name.ends_with("commit") => whole,
        None => return false,
    };
    let short = short.strip_prefix("sha256:").unwrap_or(short);
    short.len() >= LEAST_DIGITS && hex.starts_with(short)
}

const LEAST_DIGITS: usize = 7;

fn difference(field: &str, sidecar: Option<&Value>, markdown: Option<&Value>) -> Difference {
    let show = |value: Option<&Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => excerpt(&value.to_plain_text(), 120),
    };
    Difference { field: field.to_owned(), sidecar: show(sidecar), markdown: show(markdown) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::witness::Sidecar;
    use proofmark_canon::json::parse;

    #[test]
    fn a_block_is_found_by_its_fence_and_nothing_else() {
        let report = "# r\n\n```yaml proofmark-replay\na: 1\n```\n";
        assert_eq!(find(report).unwrap().text, "a: 1\n");
        for text in [
            "```yaml\na: 1\n```\n",
            "````\n```yaml ahd-replay\na: 1\n```\n````\n",
            "    ```yaml ahd-replay\n    a: 1\n",
            "`yaml ahd-replay`",
            "",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        let two = find("~~~yaml ahd-replay\na: 1\n~~~\n```yaml ahd-replay\nb: 1\n```\n").unwrap();
        assert!(two.is_not_alone && two.dialect == Dialect::Ahd && two.text == "a: 1\n");
        assert_eq!(find("```yaml ahd-replay\na: 1").unwrap().text, "a: 1\n");
    }

    #[test]
    fn names_that_start_with_an_at_sign_are_read_in_blocks_of_ahd() {
        let fence = |dialect| Fence { dialect, text: "models:\n  - id: @cf/it's\n".into(), is_not_alone: false };
        assert_eq!(read(&fence(Dialect::Ahd)).unwrap().to_string(), r#"{"models":[{"id":"@cf/it's"}]}"#);
        assert!(read(&fence(Dialect::Proofmark)).is_err());
    }

    #[test]
    fn inputs_that_the_view_leaves_out_are_counted() {
        let sidecar = r#"{"schema_version":1,"kind":"critique","suite":{},"inputs":[{"path":"a"},{"path":"b"}]}"#;
        let sidecar = parse(sidecar.as_bytes()).unwrap();
        let base = "schema_version: 1\nkind: critique\nsuite: {}\n";
        for (text, fields) in [
            ("inputs: [{path: a}]\ninputs_not_shown: 1\n", vec![]),
            ("inputs: [{path: a}]\ninputs_not_shown: 0\n", vec!["inputs"]),
            ("inputs: [{path: b}]\ninputs_not_shown: 1\n", vec!["inputs[0].path"]),
            ("inputs: [{path: a}]\n", vec!["inputs"]),
            ("inputs: []\ninputs_not_shown: 9\n", vec!["inputs", "inputs_not_shown"]),
            ("", vec!["inputs"]),
        ] {
            let said = yaml::load(&format!("{base}{text}")).unwrap().to_value();
            let found = compare(&said, &sidecar, &[], Dialect::Proofmark);
            assert_eq!(found.into_iter().map(|d| d.field).collect::<Vec<_>>(), fields, "{text}");
        }
    }

    #[test]
    fn the_view_may_be_shorter_but_not_different() {
        let hash = format!("sha256:{}", "ab".repeat(32));
        let sidecar = format!(
            r#"{{"schema_version":1,"kind":"critique","token":{{"path":"t.yml","hash":"{hash}"}},"brief":null,
            "ahd_commit":"{}","models":[{{"id":"m","provider_request_ids":["a","b"]}}],"argv":["x"]}}"#,
            "c".repeat(40)
        );
        let sidecar = Sidecar::of_bytes(sidecar.as_bytes()).unwrap();
        let (sidecar, ids) = (sidecar.parse().unwrap(), sidecar.lists());
        let base = "schema_version: 1\nkind: critique\n";
        for (text, fields) in [
            ("token: {path: t.yml, hash: 'sha256:abababab…'}\n", vec![]),
            ("token: {hash: ababababab}\nbrief: null\nsurplus: null\n", vec![]),
            ("token: {path: u.yml}\n", vec!["token.path"]),
            ("token: {hash: 'sha256:abac0000'}\n", vec!["token.hash"]),
            ("token: {hash: 'sha256:a'}\n", vec!["token.hash"]),
            ("token: x\n", vec!["token"]),
            ("brief: null\n", vec!["token"]),
            ("token: {}\nahd_commit: ccccccc\n", vec![]),
            ("token: {}\nahd_commit: ccccccd\n", vec!["ahd_commit"]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: 2 captured}]\n", vec![]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: 2}]\n", vec![]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: 3}]\n", vec!["models[0].provider_request_ids"]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: [a, b]}]\n", vec![]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: [b, a]}]\n", vec!["models[0].provider_request_ids"]),
            ("token: {}\nmodels: [{id: m, provider_request_ids: [a]}]\n", vec!["models[0].provider_request_ids"]),
            ("token: {}\nmodels: []\n", vec!["models"]),
            ("token: {}\nsurplus: x\n", vec!["surplus"]),
        ] {
            let said = yaml::load(&format!("{base}{text}")).unwrap().to_value();
            let found: Vec<String> = compare(&said, &sidecar, ids, Dialect::Ahd).into_iter().map(|d| d.field).collect();
            assert_eq!(found, fields, "{text}");
        }
    }
}
