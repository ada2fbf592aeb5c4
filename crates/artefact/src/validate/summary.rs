//! Whether `summary.json` is the one that the records give.

use std::path::Path;

use proofmark_canon::{Map, Value};

use super::files::{self, JsonFile};
use super::finding::{Findings, Place, quote};
use super::order::Whole;
use super::{CheckedFile, ValidateError, codes};
use crate::manifest::Manifest;
use crate::store::names::SUMMARY;
use crate::summary::{SUMMARY_SCHEMA, Summary};

pub(super) fn check_summary(
    dir: &Path,
    manifest: &Manifest,
    whole: Option<Whole>,
    findings: &mut Findings,
) -> Result<Option<CheckedFile>, ValidateError> {
    let Some(file) = JsonFile::load(dir, SUMMARY, findings)? else { return Ok(None) };
    let checked = file.checked(SUMMARY);
    files::check_digest(&checked, manifest, findings);
    let place = Place::file(SUMMARY);
    let found = file.read::<Summary>(SUMMARY, findings);
    if let Some(found) = &found {
        if found.schema_version != SUMMARY_SCHEMA {
            findings.push(codes::VERSION, place, || {
                format!("schema_version is {}, expected {SUMMARY_SCHEMA}", found.schema_version)
            });
        }
        if found.run_id != manifest.run_id {
            findings.push(codes::RUN_ID, place, || {
                format!("run_id is `{}`, but the manifest says `{}`", found.run_id, manifest.run_id)
            });
        }
    }
    match whole.map_or(Err("there are no records to make it from"), |whole| whole.summary) {
        Err(why) => findings
            .push(codes::SUMMARY_UNCHECKED, place, || format!("the summary was not compared with the records: {why}")),
        Ok(expected) => {
            let mut bytes = proofmark_canon::to_vec(&expected).unwrap_or_default();
            bytes.push(b'\n');
            if bytes != file.bytes {
                let where_ = found.as_ref().and_then(|found| difference(&expected, found));
                findings.push(codes::SUMMARY_DIFFERS, place, || {
                    where_.unwrap_or_else(|| "the bytes are not those that the records give".to_owned())
                });
            }
        }
    }
    Ok(Some(checked))
}

/// Names the first place where two summaries differ, with both values.
fn difference(expected: &Summary, found: &Summary) -> Option<String> {
    let expected = proofmark_canon::json::to_value(expected).ok()?;
    let found = proofmark_canon::json::to_value(found).ok()?;
    let mut path = String::new();
    let (expected, found) = first_difference(&expected, &found, &mut path)?;
    let show = |value: Option<&Value>| value.map_or("missing".to_owned(), |value| quote(&value.to_string()));
    Some(format!("{} is {}, but the records give {}", path.trim_start_matches('.'), show(found), show(expected)))
}

type Sides<'v> = (Option<&'v Value>, Option<&'v Value>);

/// Walks down to the first difference; the path that leads there is left in `path`.
fn first_difference<'v>(expected: &'v Value, found: &'v Value, path: &mut String) -> Option<Sides<'v>> {
    if expected == found {
        return None;
    }
    let length = path.len();
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            for name in names(a, b) {
                path.push('.');
                path.push_str(name);
                match (a.get(name), b.get(name)) {
                    (Some(x), Some(y)) if x == y => {}
                    (Some(x), Some(y)) => return first_difference(x, y, path),
                    sides => return Some(sides),
                }
                path.truncate(length);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                path.push_str(&format!("[{at}]"));
                match (a.get(at), b.get(at)) {
                    (Some(x), Some(y)) if x == y => {}
                    (Some(x), Some(y)) => return first_difference(x, y, path),
                    sides => return Some(sides),
                }
                path.truncate(length);
            }
        }
        _ => {}
    }
    Some((Some(expected), Some(found)))
}

fn names<'v>(a: &'v Map, b: &'v Map) -> std::collections::BTreeSet<&'v str> {
    a.iter().chain(b.iter()).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let parse = |text: &str| proofmark_canon::json::parse(text.as_bytes()).unwrap();
        for (a, b, want) in [
            ("{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":3}]}", Some((".a[1].b", "2", "3"))),
            ("{\"a\":[1]}", "{\"a\":[1,2]}", Some((".a[1]", "", "2"))),
            ("{\"a\":1,\"b\":1}", "{\"b\":1}", Some((".a", "1", ""))),
            ("{\"a\":1}", "{\"a\":1}", None),
            ("{\"a\":[]}", "{\"a\":{}}", Some((".a", "[]", "{}"))),
        ] {
            let (a, b) = (parse(a), parse(b));
            let mut path = String::new();
            let sides = first_difference(&a, &b, &mut path);
            let show = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
            let found = sides.map(|(x, y)| (path.as_str(), show(x), show(y)));
            assert_eq!(found, want.map(|(path, x, y)| (path, x.to_owned(), y.to_owned())));
        }
    }
}
