//! Results of other harnesses: one JSON object with `results`, a list, or JSON lines.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use proofmark_artefact::store::{Hashed, Lines};
use proofmark_artefact::text::excerpt;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Map, Value};

use super::fields::{self, first};
use crate::error::AuditError;
use crate::kept::MAX_EVIDENCE;
use crate::sample::{Claim, ClaimKind, Contradiction, Mark, Sample};

/// The largest file that is one JSON value. Lines have no such limit.
const MAX_DOCUMENT: u64 = 512 << 20;
/// The longest line of results.
const MAX_RESULT: usize = 16 << 20;

/// What a file of results holds.
#[derive(Debug, Default)]
pub struct Results {
    pub samples: Vec<Sample>,
    pub index: HashMap<String, usize>,
    pub claims: Vec<Claim>,
    pub contradictions: Vec<Contradiction>,
    /// Those beyond the ones that are kept.
    pub contradictions_omitted: u64,
    /// Of the whole, when the file says it.
    pub model: Option<String>,
    /// The members beside the results: some harnesses keep the metadata there.
    pub header: Map,
    pub digest: Option<(Digest, u64)>,
}

/// Reads a file of results.
pub fn load_results(path: &Path) -> Result<Results, AuditError> {
    let mut results = Results::default();
    if has_one_result_a_line(path)? {
        results.digest = Some(load_lines(path, &mut results)?);
    } else {
        results.digest = Some(load_document(path, &mut results)?);
    }
    if results.samples.is_empty() {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    Ok(results)
}

/// Whether the first line is a whole result by itself.
fn has_one_result_a_line(path: &Path) -> Result<bool, AuditError> {
    let mut lines = Lines::new(open(path)?, MAX_RESULT);
    let Ok(Some(line)) = lines.next_line() else { return Ok(false) };
    let value = json::parse_with(line.bytes, Integers::AsText);
    Ok(value.is_ok_and(|value| {
        value.as_object().is_some_and(|map| first(map, fields::ID).is_some() && !map.contains("results"))
    }))
}

fn open(path: &Path) -> Result<BufReader<File>, AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    // Opening a pipe would wait for its writer: look before.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(proofmark_artefact::store::OpenError::NotAFile(path.to_owned()).into());
    }
    Ok(BufReader::new(File::open(path).map_err(io)?))
}

fn load_lines(path: &Path, results: &mut Results) -> Result<(Digest, u64), AuditError> {
    let mut lines = Lines::new(Hashed::new(open(path)?), MAX_RESULT);
    while let Some(line) = lines.next_line().map_err(|source| AuditError::Line { path: path.to_owned(), source })? {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let number = line.number;
        let value = json::parse_with(line.bytes, Integers::AsText).map_err(|source| AuditError::NotJson {
            path: path.to_owned(),
            line: number,
            source,
        })?;
        results.add(&value, number).map_err(|message| AuditError::Shape {
            path: path.to_owned(),
            place: format!("line {number}"),
            message,
        })?;
    }
    let hashed = lines.drain().map_err(|source| AuditError::Io { path: path.to_owned(), source })?;
    Ok(hashed.finish())
}

fn load_document(path: &Path, results: &mut Results) -> Result<(Digest, u64), AuditError> {
    let io = |source| AuditError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    open(path)?.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        let path = path.to_owned();
        return Err(proofmark_artefact::store::OpenError::TooLarge { path, limit: MAX_DOCUMENT }.into());
    }
    let digest = (Digest::of(&bytes), bytes.len() as u64);
    if bytes.trim_ascii().is_empty() {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    let value = json::parse_with(&bytes, Integers::AsText)
        .map_err(|source| AuditError::NotJsonFile { path: path.to_owned(), source })?;
    drop(bytes);
    let shape = |place: &str, message: &str| AuditError::Shape {
        path: path.to_owned(),
        place: place.to_owned(),
        message: message.to_owned(),
    };
    let list = match &value {
        Value::Array(items) => items,
        Value::Object(map) => {
            results.take_header(map);
            match map.get("results") {
                Some(Value::Array(items)) => items,
                Some(_) => return Err(shape("`results`", "not a list")),
                None => return Err(shape("the object", "has no `results`")),
            }
        }
        _ => return Err(shape("the value", "neither an object nor a list")),
    };
    for (at, item) in list.iter().enumerate() {
        let number = at as u64 + 1;
        results.add(item, number).map_err(|message| AuditError::Shape {
            path: path.to_owned(),
            place: format!("result {number}"),
            message,
        })?;
    }
    Ok(digest)
}

impl Results {
    fn take_header(&mut self, map: &Map) {
        self.model = fields::text(map, &["model"]);
        if let Some(Value::Object(summary)) = map.get("summary") {
            claims(summary, "summary", &mut self.claims);
        }
        for (name, value) in map.iter().filter(|(name, _)| *name != "results") {
            self.header.insert(name, value.clone());
        }
    }

    fn add(&mut self, value: &Value, number: u64) -> Result<(), String> {
        let mut sample = sample_of(value, number)?;
        if sample.model.is_empty() {
            sample.model = self.model.clone().unwrap_or_default();
        }
        if self.index.contains_key(&sample.id) && self.contradictions.len() >= MAX_EVIDENCE {
            self.contradictions_omitted += 1;
        } else if self.index.contains_key(&sample.id) {
            self.contradictions.push(Contradiction {
                finding: "duplicate_result",
                sample: Some(sample.id.clone()),
                place: Some(format!("result {number}")),
                message: "the task has another result before this one".to_owned(),
            });
        } else {
            self.index.insert(sample.id.clone(), self.samples.len());
        }
        self.samples.push(sample);
        Ok(())
    }
}

/// One result.
fn sample_of(value: &Value, number: u64) -> Result<Sample, String> {
    let map = value.as_object().ok_or_else(|| format!("a result is {}, expected an object", value.kind()))?;
    let id = fields::text(map, fields::ID).filter(|id| !id.is_empty()).ok_or("a result has no `task_id`")?;
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(Value::to_plain_text).collect();
    Ok(Sample {
        item: id.clone(),
        id,
        question: fields::text(map, fields::QUESTION).unwrap_or_default(),
        choices: first(map, fields::CHOICES).map(|(_, value)| texts(value)).unwrap_or_default(),
        gold: first(map, fields::GOLD).map(|(_, value)| value.clone()).filter(is_gold).unwrap_or_default(),
        answer: fields::text(map, fields::ANSWER).or_else(|| has_null(map, fields::ANSWER).then(String::new)),
        mark: mark_of(map),
        model: fields::text(map, &["model"]).unwrap_or_default(),
        turns: fields::count(map, fields::TURNS),
        input_tokens: fields::count(map, fields::INPUT_TOKENS),
        output_tokens: fields::count(map, fields::OUTPUT_TOKENS),
        latency_ms: fields::number(map, fields::LATENCY_MS),
        attempts: attempts(map),
        not_attempts: not_attempts(map),
        not_counts: [fields::TURNS, fields::INPUT_TOKENS, fields::OUTPUT_TOKENS]
            .into_iter()
            .filter_map(|names| fields::not_a_count(map, names))
            .collect(),
        not_latency: fields::not_a_number(map, fields::LATENCY_MS),
        request_id: fields::text(map, &["request_id", "requestId", "response_id"]),
        number,
        ..Sample::default()
    })
}

/// GAIA's test split has `?` where nobody may see the answer.
fn is_gold(value: &Value) -> bool {
    !matches!(value, Value::String(text) if matches!(text.trim(), "" | "?"))
}

fn has_null(map: &Map, names: &[&str]) -> bool {
    names.iter().any(|name| map.get(name).is_some_and(Value::is_null))
}

/// The most attempts that an object owns up to: a count, a list of them, or votes by answer.
pub(crate) fn attempts(map: &Map) -> Option<u64> {
    fields::ATTEMPTS.iter().filter_map(|name| attempts_of(map.get(name)?)).max()
}

/// What stands where attempts should be counted, in its own words.
pub(crate) fn not_attempts(map: &Map) -> Option<String> {
    fields::ATTEMPTS.iter().find_map(|name| {
        let value = map.get(name).filter(|value| !value.is_null())?;
        attempts_of(value).is_none().then(|| fields::in_words(name, value))
    })
}

fn attempts_of(value: &Value) -> Option<u64> {
    match value {
        Value::Object(votes) => votes.iter().map(|(_, count)| count.as_u64()).sum(),
        other => fields::as_count(other),
    }
}

fn mark_of(map: &Map) -> Mark {
    let Some((name, value)) = first(map, fields::MARK) else { return Mark::Missing };
    match value {
        Value::Bool(true) => Mark::Correct,
        Value::Bool(false) => Mark::Wrong,
        // Some harnesses write 1 and 0; anything between is no mark.
        Value::Number(number) if number.get().total_cmp(&1.0).is_eq() => Mark::Correct,
        Value::Number(number) if number.get().total_cmp(&0.0).is_eq() => Mark::Wrong,
        other => Mark::Malformed(format!("`{name}` is {}: {}", other.kind(), excerpt(&other.to_plain_text(), 40))),
    }
}

/// The numbers that an object claims.
pub(super) fn claims(map: &Map, place: &str, claims: &mut Vec<Claim>) {
    for (name, kind) in [
        ("total", ClaimKind::Total),
        ("total_questions", ClaimKind::Total),
        ("totalQuestions", ClaimKind::Total),
        ("total_tasks", ClaimKind::Total),
        ("passed", ClaimKind::Passed),
        ("correct", ClaimKind::Passed),
        ("passRate", ClaimKind::Rate),
        ("pass_rate", ClaimKind::Rate),
        ("accuracy", ClaimKind::Rate),
    ] {
        // A list or a mapping of this name is something else: the tasks that passed, the rate of every level.
        let value = match map.get(name) {
            Some(Value::Number(number)) => Ok(number.get()),
            Some(Value::String(text)) => claimed(text).ok_or_else(|| excerpt(text, 40)),
            _ => continue,
        };
        claims.push(Claim { place: format!("{place}.{name}"), kind, value });
    }
}

/// A number in a text, also in percent.
fn claimed(text: &str) -> Option<f64> {
    let number = |text: &str| fields::as_number(&text.into());
    match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::store::write_atomic;

    fn load(text: &str) -> Result<Results, AuditError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.json");
        write_atomic(&path, text.as_bytes()).unwrap();
        load_results(&path)
    }

    #[test]
    fn the_three_shapes_give_the_same_samples() {
        let one = r#"{"task_id":"a","correct":true,"answer":"x","expected_output":"x","turns":2}"#;
        let two = r#"{"task_id":"b","correct":false,"answer":null,"expected_output":7}"#;
        for text in [
            format!("{{\"results\":[{one},{two}]}}"),
            format!("[{one},{two}]"),
            format!("{one}\n{two}\n"),
            format!("{one}\n\n{two}"),
            format!("[\n {one},\n {two}\n]\n"),
        ] {
            let results = load(&text).unwrap();
            let shown: Vec<_> =
                results.samples.iter().map(|s| (s.id.as_str(), s.mark.clone(), s.answer.as_deref(), s.turns)).collect();
            assert_eq!(shown, [("a", Mark::Correct, Some("x"), Some(2)), ("b", Mark::Wrong, Some(""), None)], "{text}");
            assert_eq!(results.samples[1].golds(), ["7"]);
        }
    }

    #[test]
    fn a_mark_is_true_false_or_reported() {
        for (mark, want) in [
            ("true", Mark::Correct),
            ("false", Mark::Wrong),
            ("1", Mark::Correct),
            ("0", Mark::Wrong),
            ("null", Mark::Missing),
            ("\"false\"", Mark::Malformed("`correct` is a string: false".into())),
            ("0.5", Mark::Malformed("`correct` is a number: 0.5".into())),
        ] {
            assert_eq!(load(&format!("[{{\"task_id\":\"a\",\"correct\":{mark}}}]")).unwrap().samples[0].mark, want);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        let deep = format!("[{}]", "[".repeat(200));
        for (text, want) in [
            ("", "holds no results"),
            ("  \n", "holds no results"),
            ("[]", "holds no results"),
            ("not json", "is not JSON"),
            ("{\"results\":{}}", "`results` of"),
            ("{\"a\":1}", "the object of"),
            ("7", "the value of"),
            ("[{\"correct\":true}]", "result 1 of"),
            ("[{\"task_id\":\"a\"},3]", "result 2 of"),
            ("{\"task_id\":\"a\"}\n{\"task_id\":", "line 2 of"),
            ("{\"task_id\":\"a\",\"task_id\":\"b\"}", "is not JSON"),
            (&deep, "is not JSON"),
            ("[{\"task_id\":\"a\"", "is not JSON"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn a_second_result_of_a_task_is_kept_and_reported() {
        let results = load(r#"[{"task_id":"a"},{"task_id":"a"}]"#).unwrap();
        assert_eq!((results.samples.len(), results.contradictions.len()), (2, 1));
    }

    #[test]
    fn attempts_are_the_largest_number_that_a_result_owns_up_to() {
        let of = |text: &str| load(&format!("[{{\"task_id\":\"a\",{text}}}]")).unwrap().samples[0].attempts;
        assert_eq!(of(r#""votingAttempts":3,"attempts":50"#), Some(50));
        assert_eq!(of(r#""attempts":["x","y"]"#), Some(2));
        assert_eq!(of(r#""attempts":"50""#), Some(50));
        assert_eq!(of(r#""votes":{"a":3,"b":2}"#), Some(5));
        assert_eq!(of(r#""votes":["a","a","b"]"#), Some(3));
        assert_eq!(of(r#""turns":1"#), None);
        let not =
            |text: &str| load(&format!("[{{\"task_id\":\"a\",{text}}}]")).unwrap().samples[0].not_attempts.clone();
        assert_eq!(not(r#""attempts":"many""#).as_deref(), Some("`attempts` is a string: many"));
        assert_eq!(not(r#""attempts":3"#), None);
    }
}
