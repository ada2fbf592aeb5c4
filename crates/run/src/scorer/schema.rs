//! `json_schema`: the answer is JSON that a schema accepts.

use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator};
use proofmark_artefact::path::RelPath;
use proofmark_canon::Value;
use proofmark_canon::json::{MAX_DEPTH, parse};

use super::build::{Load, ScorerBuildError};
use super::text::{excerpt, push_excerpt};
use super::verdict::{Answer, ScoreError, Verdict};

/// Parses the answer as JSON and validates it.
///
/// - The answer is one JSON value, alone or inside one fence (```` ```json ````), and nothing else. JSON
///   is read strictly: names that stand twice and integers beyond 2^53 are refused, so that what was validated
///   has one reading.
/// - The schema is draft 2020-12 unless its `$schema` says otherwise. References reach inside the schema and to the
///   published meta-schemas; nothing is ever fetched or opened. `pattern` is Rust regex syntax, in linear time; `format` is an
///   annotation, as the draft has it.
/// - With `match_target` the parsed answer must also equal the target: the target's value, or the JSON that a text
///   target holds. `1` and `1.0` are equal; the order of names does not matter.
/// - The explanation is the first error by its place in the answer.
#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
    match_target: bool,
}

impl Schema {
    pub(super) fn compile(
        name: &str,
        schema: Option<&Value>,
        file: Option<&RelPath>,
        match_target: bool,
        load: &Load<'_>,
    ) -> Result<Self, ScorerBuildError> {
        let refuse = |why: String| ScorerBuildError::Schema { scorer: excerpt(name), why };
        let schema = match (schema, file) {
            (Some(schema), None) => to_serde(schema),
            (None, Some(file)) => {
                let bytes = load(file).map_err(|why| ScorerBuildError::File {
                    scorer: excerpt(name),
                    file: file.clone(),
                    why,
                })?;
                if bytes.len() > MAX_SCHEMA {
                    return Err(refuse(format!("in `{file}` is larger than {MAX_SCHEMA} bytes")));
                }
                to_serde(&parse(&bytes).map_err(|error| refuse(format!("in `{file}` is not JSON: {error}")))?)
            }
            _ => return Err(refuse("is missing or given twice: expected one of `schema` and `file`".to_owned())),
        };
        let validator = jsonschema::options()
            .with_retriever(Nothing)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN))
            .build(&schema)
            .map_err(|error| refuse(format!("cannot be used: {}", first_line(&error))))?;
        Ok(Self { validator, match_target })
    }

    pub(super) fn score(&self, answer: &Answer<'_>) -> Result<Verdict, ScoreError> {
        if self.match_target && answer.expected.is_null() {
            return Err(answer.no_target());
        }
        if answer.text.len() > MAX_ANSWER {
            return Ok(Verdict::fail(format!("the answer is longer than {MAX_ANSWER} bytes")));
        }
        let value = match parse(unfenced(answer.text).as_bytes()) {
            Ok(value) => value,
            Err(error) => {
                let mut why = "the answer is not acceptable JSON: ".to_owned();
                push_excerpt(&mut why, &error.to_string(), MAX_REASON);
                return Ok(Verdict::fail(why));
            }
        };
        let instance = to_serde(&value);
        // The library's order is not a promise of its own; the place in the answer is.
        let first = self
            .validator
            .iter_errors(&instance)
            .take(MAX_ERRORS)
            .min_by_key(|error| (error.instance_path().to_string(), error.schema_path().to_string()));
        if let Some(error) = first {
            let place = error.instance_path().to_string();
            let mut why = "at `".to_owned();
            push_excerpt(&mut why, if place.is_empty() { "/" } else { &place }, MAX_PLACE);
            why.push_str("`: ");
            push_excerpt(&mut why, &error.to_string(), MAX_REASON);
            return Ok(Verdict::fail(why));
        }
        if self.match_target && !is_target(&value, answer.expected) {
            let mut why = "the schema accepts the answer, but it is not the target: found ".to_owned();
            push_excerpt(&mut why, &value.to_string(), MAX_PLACE);
            why.push_str(", expected ");
            push_excerpt(&mut why, &answer.expected.to_plain_text(), MAX_PLACE);
            return Ok(Verdict::fail(why));
        }
        Ok(Verdict::pass(if self.match_target {
            "the schema accepts the answer and it is the target".to_owned()
        } else {
            "the schema accepts the answer".to_owned()
        }))
    }
}

fn is_target(found: &Value, target: &Value) -> bool {
    found == target || target.as_str().is_some_and(|text| parse(text.as_bytes()).is_ok_and(|target| *found == target))
}

/// Returns what stands in the one fence around the text, or the text.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = || {
        let (info, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let body = rest.strip_suffix("```")?;
        // A second fence inside means prose between two blocks, or two values.
        (matches!(info.trim().to_ascii_lowercase().as_str(), "" | "json") && !body.contains("\n```")).then_some(body)
    };
    // The closing fence stands on a line of its own.
    inside().filter(|body| body.is_empty() || body.ends_with('\n') || !body.contains('`')).unwrap_or(text)
}

/// Copies a value for the validator. No deeper than the strict reader lets a value be, or null.
fn to_serde(value: &Value) -> serde_json::Value {
    fn copy(value: &Value, depth: usize) -> serde_json::Value {
        match value {
            Value::Bool(bool) => (*bool).into(),
            Value::Number(number) => {
                let number = number.get();
                // As an integer where it is one, so that messages say `1` and not `1.0`.
                if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                    (number as i64).into()
                } else {
                    number.into()
                }
            }
            Value::String(text) => text.as_str().into(),
            Value::Array(items) if depth < MAX_DEPTH => items.iter().map(|item| copy(item, depth + 1)).collect(),
            Value::Object(map) if depth < MAX_DEPTH => {
                map.iter().map(|(name, value)| (name.to_owned(), copy(value, depth + 1))).collect()
            }
            _ => serde_json::Value::Null,
        }
    }
    copy(value, 0)
}

fn first_line(error: &ValidationError<'_>) -> String {
    let mut why = String::new();
    push_excerpt(&mut why, &error.to_string(), MAX_REASON);
    let place = error.instance_path().to_string();
    if !place.is_empty() {
        why.push_str(" at `");
        push_excerpt(&mut why, &place, MAX_PLACE);
        why.push('`');
    }
    why
}

/// Finds no schema anywhere but in the scorer's own text.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, uri: &Uri<String>) -> Result<serde_json::Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{}` is outside the schema, and nothing is fetched", excerpt(uri.as_str())).into())
    }
}

const MAX_SCHEMA: usize = 1 << 20;
const MAX_ANSWER: usize = 1 << 20;
const MAX_PATTERN: usize = 4 << 20;
const MAX_ERRORS: usize = 64;
const MAX_REASON: usize = 300;
const MAX_PLACE: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::build::tests::{answer, value};

    const PERSON: &str = r#"{"type":"object","required":["name"],"additionalProperties":false,
        "properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0}}}"#;

    fn compile(schema: &str, match_target: bool) -> Result<Schema, ScorerBuildError> {
        Schema::compile("j", Some(&value(schema)), None, match_target, &|_| Err("no files".into()))
    }

    #[test]
    fn the_answer_must_be_json_that_the_schema_accepts() {
        let scorer = compile(PERSON, false).unwrap();
        for (text, right) in [
            (r#"{"name":"Ada"}"#, true),
            (" {\"name\":\"Ada\",\"age\":36}\n", true),
            ("```json\n{\"name\":\"Ada\"}\n```", true),
            ("```\n{\"name\":\"Ada\"}\n```\n", true),
            ("```JSON\n{\"name\":\"a```b\"}\n```", true),
            ("```yaml\n{\"name\":\"Ada\"}\n```", false),
            ("Here: {\"name\":\"Ada\"}", false),
            ("```json\n{\"name\":\"Ada\"}\n```\nDone", false),
            ("```json\n{\"name\":\"Ada\"}\n```\n```json\n{\"name\":\"Ada\"}\n```", false),
            (r#"{"name":"Ada","name":"Bob"}"#, false),
            (r#"{"name":"Ada","age":-1}"#, false),
            (r#"{"name":"Ada","age":1.0}"#, true),
            (r#"{"name":"Ada","age":1.5}"#, false),
            (r#"{"name":"Ada","x":1}"#, false),
            (r#"{"name":"Ada",}"#, false),
            (r#"{'name':'Ada'}"#, false),
            ("{}", false),
            ("[]", false),
            ("banana", false),
            ("NaN", false),
            ("", false),
        ] {
            let verdict = scorer.score(&answer(text, &Value::Null)).unwrap();
            assert_eq!((verdict.passed, verdict.value > 0.0), (right, right), "{text:?}: {}", verdict.explanation);
        }
    }

    #[test]
    fn the_explanation_is_the_first_error_by_its_place() {
        let scorer = compile(PERSON, false).unwrap();
        let why = |text| scorer.score(&answer(text, &Value::Null)).unwrap().explanation;
        assert_eq!(why(r#"{"name":"","age":-1}"#), "at `/age`: -1 is less than the minimum of 0");
        assert_eq!(why("[]"), "at `/`: [] is not of type \"object\"");
        assert_eq!(why("x"), "the answer is not acceptable JSON: column 1: expected a value, found `x`");
    }

    #[test]
    fn the_target_can_be_asked_for_as_well() {
        let scorer = compile(r#"{"type":["object","integer","string"]}"#, true).unwrap();
        for (text, expected, right) in [
            (r#"{"b":1.0,"a":[]}"#, r#"{"a":[],"b":1}"#, true),
            (r#"{"b":1,"a":[]}"#, r#""{\"a\":[],\"b\":1}""#, true),
            (r#"{"b":2}"#, r#"{"b":1}"#, false),
            ("3", "3", true),
            ("3", r#""3""#, true),
            (r#""3""#, r#""3""#, true),
            (r#""3""#, "3", false),
        ] {
            let verdict = scorer.score(&answer(text, &value(expected))).unwrap();
            assert_eq!(verdict.passed, right, "{text} {expected}: {}", verdict.explanation);
        }
        assert!(scorer.score(&answer("3", &Value::Null)).is_err());
    }

    #[test]
    fn nothing_outside_the_schema_is_reached() {
        for reference in ["http://127.0.0.1:1/x.json", "file:///etc/hostname", "other.json", "https://example.com/s"] {
            let error = compile(&format!(r#"{{"$ref":"{reference}"}}"#), false).unwrap_err();
            assert!(matches!(error, ScorerBuildError::Schema { .. }), "{reference}: {error}");
        }
        let inside = compile(r##"{"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}"##, false).unwrap();
        assert!(inside.score(&answer("1", &Value::Null)).unwrap().passed);
        assert!(!inside.score(&answer("\"a\"", &Value::Null)).unwrap().passed);
        assert!(compile(r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#, false).is_ok());
        assert!(compile(r#"{"$schema":"http://127.0.0.1:1/own"}"#, false).is_err());
    }

    #[test]
    fn no_schema_makes_the_library_panic() {
        for schema in [
            r#"{"$schema":"not a uri \u0000"}"#,
            r#"{"$schema":3}"#,
            r#"{"$schema":""}"#,
            r#"{"$id":"::"}"#,
            r#"{"$id":3,"$ref":3}"#,
            r#"{"$anchor":"","$dynamicRef":"\u0000#x"}"#,
            r#"{"$defs":{"a":{"$schema":"http://127.0.0.1:1/own","$id":"http://a/"}},"$ref":"http://a/"}"#,
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"}]}"##,
            r#"{"multipleOf":0,"minLength":-1,"maxItems":1e300,"minimum":"x"}"#,
            r#"{"enum":[],"required":[3],"properties":[],"type":[]}"#,
            "[]",
            "null",
            "true",
            "false",
        ] {
            if let Ok(scorer) = compile(schema, false) {
                for text in ["1", "{}", "[[]]", r#"{"a":{"a":1}}"#, "null", "\"x\"", "1e300", "-0.0"] {
                    let verdict = scorer.score(&answer(text, &Value::Null)).unwrap();
                    assert!(!verdict.passed || schema != "false", "{schema} {text}");
                }
            }
        }
    }

    #[test]
    fn a_schema_may_name_an_older_draft() {
        // A list under `items` is draft 7's way to say what 2020-12 calls `prefixItems`.
        let schema = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}]}"#;
        let scorer = compile(schema, false).unwrap();
        assert!(scorer.score(&answer("[1,\"a\"]", &Value::Null)).unwrap().passed);
        assert!(!scorer.score(&answer("[\"a\"]", &Value::Null)).unwrap().passed);
    }

    #[test]
    fn a_bad_schema_is_refused_with_its_reason() {
        for schema in
            [r#"{"type":"strin"}"#, r#"{"pattern":"("}"#, r#"{"pattern":"(?=a)"}"#, "3", r##"{"$ref":"#/x"}"##]
        {
            let error = compile(schema, false).unwrap_err();
            assert!(error.to_string().starts_with("the schema of scorer `j` cannot be used: "), "{schema}: {error}");
        }
    }

    #[test]
    fn a_schema_can_come_from_a_file() {
        let file: RelPath = "s.json".parse().unwrap();
        let from = |bytes: Result<&[u8], &str>| {
            let bytes = bytes.map(<[u8]>::to_vec).map_err(str::to_owned);
            Schema::compile("j", None, Some(&file), false, &move |_| bytes.clone())
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert_eq!(from(Ok(b"{\"type\":\"object\"}")), Ok(()));
        assert_eq!(
            from(Ok(b"{")).unwrap_err(),
            "the schema of scorer `j` in `s.json` is not JSON: column 2: the text ends inside a value"
        );
        assert_eq!(from(Err("no such file")).unwrap_err(), "cannot read `s.json` for scorer `j`: no such file");
    }

    #[test]
    fn hostile_answers_are_bounded() {
        let scorer = compile(r#"{"type":"array","uniqueItems":true,"items":{"type":"string"}}"#, false).unwrap();
        for text in [
            "[".repeat(500_000),
            format!("[{}1]", "1,".repeat(200_000)),
            format!("\"{}\"", "x".repeat(2 << 20)),
            "{\"a\":".repeat(100_000),
        ] {
            let verdict = scorer.score(&answer(&text, &Value::Null)).unwrap();
            assert!(!verdict.passed && verdict.explanation.chars().count() <= Verdict::MAX_EXPLANATION);
        }
    }
}
