//! Results of other harnesses: one JSON object with `results`, a list, or JSON lines.

use std::io;
use std::path::Path;

use proofmark_artefact::store::Hashed;
use proofmark_artefact::text::excerpt;
use proofmark_canon::{Digest, Map, Value};

use super::document::{Layout, Part, Parts, each_line, layout_of, open};
use super::fields::{self, first};
use crate::error::AuditError;
use crate::kept::MAX_EVIDENCE;
use crate::sample::{Claim, ClaimKind, Contradiction, Mark, Sample};
use crate::samples::Samples;
use crate::shelf::Filling;

/// What the list of results is called.
const RESULTS: &str = "results";

/// What a file of results holds.
pub struct Results {
    pub samples: Samples,
    pub claims: Vec<Claim>,
    pub contradictions: Vec<Contradiction>,
    /// Those beyond the ones that are kept.
    pub contradictions_omitted: u64,
    pub has_request_ids: bool,
    /// The members beside the results: some harnesses keep the metadata there.
    pub header: Map,
    pub digest: (Digest, u64),
}

/// Reads a file of results.
pub fn load_results(path: &Path) -> Result<Results, AuditError> {
    let mut reading = Reading::default();
    let is_result = |map: &Map| first(map, fields::ID).is_some();
    let digest = match layout_of(open(path)?, RESULTS).map_err(|broken| broken.of(path))? {
        Layout::Object(map) if is_result(&map) => {
            each_line(path, |value, number| reading.add(&value, number, path, "line"))?
        }
        _ => load_document(path, &mut reading)?,
    };
    if reading.filling.is_empty() {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    reading.finish(digest).map_err(AuditError::Scratch)
}

fn load_document(path: &Path, reading: &mut Reading) -> Result<(Digest, u64), AuditError> {
    let mut parts = Parts::new(Hashed::new(open(path)?), RESULTS);
    if parts.is_blank().map_err(|broken| broken.of(path))? {
        return Err(AuditError::Nothing { path: path.to_owned() });
    }
    let mut number = 0;
    while let Some(part) = parts.next_part().map_err(|broken| broken.of(path))? {
        match part {
            Part::Member(name, value) => {
                reading.header.insert(name, value);
            }
            Part::Item(value) => {
                number += 1;
                reading.add(&value, number, path, "result")?;
            }
        }
    }
    Ok(parts.into_source().finish())
}

/// Results while they are read.
#[derive(Default)]
struct Reading {
    filling: Filling<Sample>,
    has_request_ids: bool,
    header: Map,
}

impl Reading {
    fn add(&mut self, value: &Value, number: u64, path: &Path, place: &str) -> Result<(), AuditError> {
        let sample = sample_of(value, number).map_err(|message| AuditError::Shape {
            path: path.to_owned(),
            place: format!("{place} {number}"),
            message,
        })?;
        self.has_request_ids |= sample.request_id.is_some();
        self.filling.push(&sample.id, &sample).map_err(AuditError::Scratch)
    }

    fn finish(self, digest: (Digest, u64)) -> io::Result<Results> {
        let mut found = Vec::new();
        if let Some(Value::Object(summary)) = self.header.get("summary") {
            claims(summary, "summary", &mut found);
        }
        let samples = Samples::new(self.filling, fields::text(&self.header, &["model"]))?;
        let twice = samples.twice(MAX_EVIDENCE)?;
        let mut contradictions = Vec::new();
        for spot in &twice.again {
            let sample = samples.get(*spot)?;
            contradictions.push(Contradiction {
                finding: "duplicate_result",
                place: Some(format!("result {}", sample.number)),
                sample: Some(sample.id),
                message: "the task has another result before this one".to_owned(),
            });
        }
        Ok(Results {
            claims: found,
            contradictions_omitted: twice.omitted,
            contradictions,
            has_request_ids: self.has_request_ids,
            header: self.header,
            digest,
            samples,
        })
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

    fn samples_of(text: &str) -> Vec<Sample> {
        load(text).unwrap().samples.walk().map(|sample| sample.unwrap().1).collect()
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
            let samples = samples_of(&text);
            let shown: Vec<_> =
                samples.iter().map(|s| (s.id.as_str(), s.mark.clone(), s.answer.as_deref(), s.turns)).collect();
            assert_eq!(shown, [("a", Mark::Correct, Some("x"), Some(2)), ("b", Mark::Wrong, Some(""), None)], "{text}");
            assert_eq!(samples[1].golds(), ["7"]);
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
            assert_eq!(samples_of(&format!("[{{\"task_id\":\"a\",\"correct\":{mark}}}]"))[0].mark, want);
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
            ("{\"results\":{}}", "`results` is a mapping"),
            ("{\"a\":1}", "the object of"),
            ("7", "the value of"),
            ("[{\"correct\":true}]", "result 1 of"),
            ("[{\"task_id\":\"a\"},3]", "result 2 of"),
            ("{\"task_id\":\"a\"}\n{\"task_id\":", "line 2 of"),
            ("{\"task_id\":\"a\",\"task_id\":\"b\"}", "is not JSON"),
            (&deep, "is not JSON"),
            ("[{\"task_id\":\"a\"", "is not JSON"),
        ] {
            let error = load(text).err().unwrap().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn a_second_result_of_a_task_is_kept_and_reported() {
        let results = load(r#"[{"task_id":"a"},{"task_id":"a"}]"#).unwrap();
        assert_eq!((results.samples.count(), results.contradictions.len()), (2, 1));
        assert_eq!(results.contradictions[0].place.as_deref(), Some("result 2"));
        let many: Vec<String> = (0..300).map(|_| r#"{"task_id":"a"}"#.to_owned()).collect();
        let results = load(&many.join("\n")).unwrap();
        assert_eq!((results.contradictions.len(), results.contradictions_omitted), (MAX_EVIDENCE, 299 - 100));
    }

    #[test]
    fn attempts_are_the_largest_number_that_a_result_owns_up_to() {
        let of = |text: &str| samples_of(&format!("[{{\"task_id\":\"a\",{text}}}]"))[0].attempts;
        assert_eq!(of(r#""votingAttempts":3,"attempts":50"#), Some(50));
        assert_eq!(of(r#""attempts":["x","y"]"#), Some(2));
        assert_eq!(of(r#""attempts":"50""#), Some(50));
        assert_eq!(of(r#""votes":{"a":3,"b":2}"#), Some(5));
        assert_eq!(of(r#""votes":["a","a","b"]"#), Some(3));
        assert_eq!(of(r#""turns":1"#), None);
        let not = |text: &str| samples_of(&format!("[{{\"task_id\":\"a\",{text}}}]"))[0].not_attempts.clone();
        assert_eq!(not(r#""attempts":"many""#).as_deref(), Some("`attempts` is a string: many"));
        assert_eq!(not(r#""attempts":3"#), None);
    }
}
