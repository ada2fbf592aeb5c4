//! What a program wrote, in our words.

use proofmark_artefact::record::Usage;
use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Number, Value};

use super::pointer::Pointer;
use super::preset::Form;
use super::{claude, codex, gemini};
use crate::class::Class;
use crate::wire::{Then, refused_by_status};

/// What a program writes to its stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Output {
    /// All of it is the answer.
    Text,
    /// One JSON document; `place` is the pointer to the answer as the suite wrote it.
    Json { answer: Pointer, place: String, model: Option<Pointer> },
    /// As a known program does.
    Known(Form),
}

/// What was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Answer(Answer),
    /// The program itself says that it failed.
    Report(Trouble),
    /// Not what the program documents; says what is wrong with it.
    Unreadable(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    /// As in records; empty for `stop`.
    pub(super) finish: String,
    /// The model that answered, where the program says so.
    pub(super) model: Option<String>,
    pub(super) spent: Spent,
}

/// Tokens as the program counted them, over all the models that it used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    /// Input that came from a cache, where it says so.
    pub(super) cached: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) class: Class,
    pub(super) message: String,
    pub(super) spent: Spent,
    /// No other question would fare better.
    pub(super) stops: bool,
}

impl Output {
    pub(super) fn read(&self, stdout: &[u8]) -> Heard {
        let Ok(text) = std::str::from_utf8(stdout) else {
            return Heard::Unreadable("its output is not UTF-8".to_owned());
        };
        match self {
            Self::Text => {
                let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
                Heard::Answer(Answer { text: text.to_owned(), ..Answer::default() })
            }
            Self::Json { answer, place, model } => match parse(text) {
                Ok(document) => read_places(&document, answer, place, model.as_ref()),
                Err(why) => Heard::Unreadable(why),
            },
            Self::Known(Form::Claude) => claude::read(text),
            Self::Known(Form::Codex) => codex::read(text),
            Self::Known(Form::Gemini) => gemini::read(text),
        }
    }

    /// What a known program means when it ends badly without a report on its stdout.
    pub(super) fn explain(&self, code: Option<i32>, stderr: &str) -> Option<Trouble> {
        match self {
            Self::Known(Form::Claude) => claude::explain(stderr),
            Self::Known(Form::Codex) => codex::explain(stderr),
            Self::Known(Form::Gemini) => gemini::explain(code, stderr),
            Self::Text | Self::Json { .. } => None,
        }
    }
}

fn read_places(document: &Value, answer: &Pointer, place: &str, model: Option<&Pointer>) -> Heard {
    let text = match answer.find(document) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => {
            return Heard::Unreadable(format!("`{place}` of its output is {}, expected a string", other.kind()));
        }
        None => return Heard::Unreadable(format!("its output has no `{place}`")),
    };
    let model = match model.and_then(|pointer| pointer.find(document)) {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(other) => {
            return Heard::Unreadable(format!("the model's name in its output is {}, expected a string", other.kind()));
        }
    };
    Heard::Answer(Answer { text, model, ..Answer::default() })
}

/// Reads a JSON document. Integers too large for a number become text: they are ids, never counts.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    json::parse_with(text.trim().as_bytes(), Integers::AsText)
        .map_err(|error| format!("its output is not JSON: {error}"))
}

/// A number of tokens; 0 for what is none.
pub(super) fn count(object: &Value, name: &str) -> u64 {
    object.get(name).and_then(Value::as_u64).map_or(0, |count| count.min(Number::MAX_SAFE))
}

impl Spent {
    /// Adds what one model took. Nobody spends so much that the sum stops being exact.
    pub(super) fn add(&mut self, input: u64, output: u64, cached: u64) {
        let sum = |a: u64, b: u64| a.saturating_add(b).min(Number::MAX_SAFE);
        self.usage.input_tokens = sum(self.usage.input_tokens, input);
        self.usage.output_tokens = sum(self.usage.output_tokens, output);
        self.cached = Some(sum(self.cached.unwrap_or(0), cached));
    }
}

/// Returns the name with the largest number, or `None` when two have it: who answered is never guessed.
pub(super) fn largest<'a>(names: impl Iterator<Item = (&'a str, u64)>) -> Option<String> {
    let mut best: Option<(&str, u64, bool)> = None;
    for (name, number) in names {
        best = match best {
            Some((_, most, _)) if number > most => Some((name, number, true)),
            Some((winner, most, _)) if number == most => Some((winner, most, false)),
            None => Some((name, number, true)),
            other => other,
        };
    }
    best.filter(|(.., is_alone)| *is_alone).map(|(name, ..)| name.to_owned())
}

/// Words that a program documents for a failure: what they mean, and whether nothing else would fare better.
pub(super) type Words = &'static [(&'static str, Class, bool)];

impl Trouble {
    /// Sorts a report of a program: by its own words, by the status of the API behind it, else as the program's.
    pub(super) fn of(message: &str, status: Option<u16>, words: Words, spent: Spent) -> Self {
        let (found, message) = unwrap(message);
        let lower = message.to_lowercase();
        if let Some((_, class, stops)) = words.iter().find(|(word, ..)| lower.contains(word)) {
            return Self { class: *class, message, spent, stops: *stops };
        }
        match status.or(found).or_else(|| status_in(&message)).filter(|status| (400..600).contains(status)) {
            Some(status) => {
                let refused = refused_by_status(status, message);
                Self { class: refused.class, message: refused.message, spent, stops: refused.then == Then::Stop }
            }
            None => Self { class: Class::Runner, message, spent, stops: false },
        }
    }
}

/// Takes the message out of an API's error that was pasted into a text, and cuts off what is different each time.
fn unwrap(message: &str) -> (Option<u16>, String) {
    let mut status = None;
    let mut text = message.trim().to_owned();
    if let Some(at) = text.find('{')
        && let Ok(inner) = json::parse_with(text[at..].trim_end_matches([']', ' ', '\n']).as_bytes(), Integers::AsText)
    {
        let error = inner.get("error").unwrap_or(&inner);
        status = [inner.get("status"), error.get("code"), inner.get("code")]
            .into_iter()
            .find_map(|value| value.and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok()));
        if let Some(said) = error.get("message").or_else(|| inner.get("detail")).and_then(Value::as_str) {
            text = format!("{}{said}", &text[..at]);
        }
    }
    let end = PASSING.iter().filter_map(|word| text.find(word)).min().unwrap_or(text.len());
    text.truncate(end);
    (status, text)
}

/// The HTTP status that programs put into their words.
fn status_in(message: &str) -> Option<u16> {
    ["API Error: ", "unexpected status ", "last status: "].iter().find_map(|before| {
        let (_, after) = message.split_once(before)?;
        let digits = after.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        (!after[3..].starts_with(|c: char| c.is_ascii_digit())).then(|| digits.parse().ok())?
    })
}

/// The last line that says something.
pub(super) fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// Where the part of a message begins that is different each time.
const PASSING: [&str; 6] =
    [", url: ", ", cf-ray: ", ", request id: ", " (request id: ", " (request_id: ", " Full report available at: "];

#[cfg(test)]
mod tests {
    use super::*;

    fn json_output(pointer: &str, model: Option<&str>) -> Output {
        Output::Json {
            answer: Pointer::parse(pointer).unwrap(),
            place: pointer.to_owned(),
            model: model.map(|text| Pointer::parse(text).unwrap()),
        }
    }

    fn answer(text: &str, model: Option<&str>) -> Heard {
        Heard::Answer(Answer { text: text.into(), model: model.map(Into::into), ..Answer::default() })
    }

    #[test]
    fn one_line_end_of_a_text_is_not_part_of_the_answer() {
        for (written, want) in [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("\n", ""), ("a\r", "a\r")]
        {
            assert_eq!(Output::Text.read(written.as_bytes()), answer(want, None));
        }
        assert_eq!(Output::Text.read(b"\xff"), Heard::Unreadable("its output is not UTF-8".to_owned()));
    }

    #[test]
    fn an_answer_is_found_where_the_pointer_says() {
        let output = json_output("/a/0", Some("/m"));
        assert_eq!(output.read(br#" {"a":["x"],"m":"big"} "#), answer("x", Some("big")));
        assert_eq!(output.read(br#"{"a":["x"],"m":null}"#), answer("x", None));
        assert_eq!(output.read(br#"{"a":["x"]}"#), answer("x", None));
        for (document, want) in [
            (r#"{"a":[1]}"#, "`/a/0` of its output is a number, expected a string"),
            (r#"{"a":[null]}"#, "`/a/0` of its output is null, expected a string"),
            (r#"{"a":[]}"#, "its output has no `/a/0`"),
            (r#"{"a":["x"],"m":[]}"#, "the model's name in its output is a list, expected a string"),
            (r#"{"a":["x"]"#, "its output is not JSON: column 11: the text ends inside a value"),
            ("", "its output is not JSON: column 1: the text ends inside a value"),
        ] {
            assert_eq!(output.read(document.as_bytes()), Heard::Unreadable(want.to_owned()), "{document}");
        }
    }

    #[test]
    fn the_largest_is_alone_or_nobody() {
        for (names, want) in [
            (&[("a", 1), ("b", 2)][..], Some("b")),
            (&[("a", 2), ("b", 2)], None),
            (&[("a", 2), ("b", 2), ("c", 3)], Some("c")),
            (&[("a", 0)], Some("a")),
            (&[], None),
        ] {
            assert_eq!(largest(names.iter().copied()).as_deref(), want);
        }
    }

    #[test]
    fn a_report_is_sorted_by_words_then_by_status() {
        const WORDS: Words = &[("out of credit", Class::Auth, true)];
        for (message, status, want, class, stops) in [
            ("Out of credit", Some(400), "Out of credit", Class::Auth, true),
            ("API Error: 529 Overloaded", None, "API Error: 529 Overloaded", Class::RateLimited, false),
            ("API Error: 5290", None, "API Error: 5290", Class::Runner, false),
            (
                "unexpected status 401 Unauthorized: x, url: http://h, request id: r",
                None,
                "unexpected status 401 Unauthorized: x",
                Class::Auth,
                true,
            ),
            (
                "exceeded retry limit, last status: 500 Internal, request id: 1",
                None,
                "exceeded retry limit, last status: 500 Internal",
                Class::Server,
                false,
            ),
            (
                r#"API Error: 500 {"type":"error","error":{"message":"Internal"},"request_id":"req_1"}"#,
                None,
                "API Error: 500 Internal",
                Class::Server,
                false,
            ),
            (
                r#"{"type":"error","status":400,"error":{"message":"no such thing"}}"#,
                None,
                "no such thing",
                Class::BadRequest,
                false,
            ),
            (
                r#"[API Error: {"error":{"code":429,"message":"Slow down"}}]"#,
                None,
                "[API Error: Slow down",
                Class::RateLimited,
                false,
            ),
            ("it broke {", None, "it broke {", Class::Runner, false),
            ("é", Some(200), "é", Class::Runner, false),
            ("API Error: éé", None, "API Error: éé", Class::Runner, false),
        ] {
            let trouble = Trouble::of(message, status, WORDS, Spent::default());
            assert_eq!((trouble.message.as_str(), trouble.class, trouble.stops), (want, class, stops), "{message}");
        }
    }

    #[test]
    fn counts_cannot_grow_beyond_what_is_exact() {
        let value = parse(r#"{"a":1e300,"b":12,"c":-1,"d":9007199254740991,"e":1.5}"#).unwrap();
        assert_eq!(["a", "b", "c", "d", "e", "f"].map(|name| count(&value, name)), [0, 12, 0, Number::MAX_SAFE, 0, 0]);
        let mut spent = Spent::default();
        spent.add(Number::MAX_SAFE, 1, 0);
        spent.add(Number::MAX_SAFE, 1, 0);
        assert_eq!(spent.usage, Usage { input_tokens: Number::MAX_SAFE, output_tokens: 2 });
    }
}
