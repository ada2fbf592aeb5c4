//! What `gemini --output-format json` writes: one document, or a report of an error on its stderr.

use proofmark_canon::Value;

use super::output::{Answer, Heard, Spent, Trouble, Words, count, largest, last_line, parse};
use crate::class::Class;

pub(super) fn read(text: &str) -> Heard {
    let document = match parse(text) {
        Ok(document) => document,
        Err(why) => return Heard::Unreadable(why),
    };
    let spent = spent(&document);
    if let Some(error) = document.get("error").filter(|error| !error.is_null()) {
        return Heard::Report(report(error, spent));
    }
    match document.get("response") {
        Some(Value::String(text)) => Heard::Answer(Answer {
            text: text.clone(),
            finish: "stop".to_owned(),
            model: answered_by(&document),
            spent,
        }),
        Some(Value::Null) => Heard::Answer(Answer { spent, ..Answer::default() }),
        _ => Heard::Unreadable("its output has no `response`".to_owned()),
    }
}

/// The report is a document among other lines of the stderr; the exit code says the same in one number.
pub(super) fn explain(code: Option<i32>, stderr: &str) -> Option<Trouble> {
    let begins = stderr.match_indices('{').filter(|(at, _)| *at == 0 || stderr.as_bytes()[at - 1] == b'\n');
    for (at, _) in begins.take(MAX_DOCUMENTS) {
        // Lines may follow the document, which ends with a brace of its own line.
        let ends = [Some(stderr.len()), stderr.rfind("\n}").map(|end| end + 2)];
        for end in ends.into_iter().flatten().filter(|end| *end > at) {
            let document = parse(&stderr[at..end]).ok();
            if let Some(error) = document.as_ref().and_then(|document| document.get("error")) {
                return Some(report(error, Spent::default()));
            }
        }
    }
    let trouble = Trouble::of(last_line(stderr), code.and_then(status), WORDS, Spent::default());
    match code {
        Some(AUTHENTICATION) => Some(Trouble { class: Class::Auth, stops: true, ..trouble }),
        Some(INPUT) => Some(Trouble { class: Class::BadRequest, ..trouble }),
        _ => (trouble.class != Class::Runner).then_some(trouble),
    }
}

fn report(error: &Value, spent: Spent) -> Trouble {
    let kind = error.get("type").and_then(Value::as_str).unwrap_or("error");
    let message = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or(kind);
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| i32::try_from(code).ok());
    let trouble = Trouble::of(message, code.and_then(status), WORDS, spent);
    match (kind, code) {
        ("FatalAuthenticationError", _) | (_, Some(AUTHENTICATION)) => {
            Trouble { class: Class::Auth, stops: true, ..trouble }
        }
        ("FatalInputError", _) | (_, Some(INPUT)) => Trouble { class: Class::BadRequest, ..trouble },
        _ => trouble,
    }
}

/// Codes from 400 on are those of the API.
fn status(code: i32) -> Option<u16> {
    u16::try_from(code).ok().filter(|code| *code >= 400)
}

/// What every model took: tools' results are input, thoughts are output.
fn spent(document: &Value) -> Spent {
    let mut spent = Spent::default();
    for (_, model) in models(document) {
        if let Some(tokens) = model.get("tokens") {
            let input = count(tokens, "prompt").saturating_add(count(tokens, "tool"));
            let output = count(tokens, "candidates").saturating_add(count(tokens, "thoughts"));
            spent.add(input, output, count(tokens, "cached"));
        }
    }
    spent
}

/// The only model with the role `main`, where roles are told; else the one that wrote most.
fn answered_by(document: &Value) -> Option<String> {
    let is_main = |model: &Value| model.get("roles").and_then(|roles| roles.get("main")).is_some();
    let mut main = models(document).filter(|(_, model)| is_main(model));
    match (main.next(), main.next()) {
        (Some((name, _)), None) => Some(name.to_owned()),
        _ => largest(
            models(document)
                .map(|(name, model)| (name, model.get("tokens").map_or(0, |tokens| count(tokens, "candidates")))),
        ),
    }
}

fn models(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let models = document.get("stats").and_then(|stats| stats.get("models")).and_then(Value::as_object);
    models.into_iter().flat_map(|models| models.iter())
}

/// Documented exit codes.
const AUTHENTICATION: i32 = 41;
const INPUT: i32 = 42;

const MAX_DOCUMENTS: usize = 8;

const WORDS: Words = &[
    ("api key not valid", Class::Auth, true),
    ("please set an auth method", Class::Auth, true),
    ("when using gemini api, you must specify", Class::Auth, true),
    ("exhausted your capacity", Class::RateLimited, false),
    ("exhausted your daily quota", Class::RateLimited, false),
    ("quota exceeded", Class::RateLimited, false),
    ("resource_exhausted", Class::RateLimited, false),
    ("no capacity available", Class::RateLimited, false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::record::Usage;

    #[test]
    fn an_answer_comes_with_its_model_and_everything_that_was_spent() {
        let text = r#"{"session_id":"s","response":"Paris","stats":{"models":{
            "gemini-2.5-flash-lite":{"api":{"totalRequests":1},"tokens":{"prompt":4308,"candidates":90,"total":4398,"cached":0,"thoughts":0,"tool":0},"roles":{"utility_router":{}}},
            "gemini-2.5-pro":{"api":{"totalRequests":2},"tokens":{"prompt":24939,"candidates":20,"total":25113,"cached":21263,"thoughts":154,"tool":3},"roles":{"main":{}}}},
            "tools":{"totalCalls":1}}}"#;
        let Heard::Answer(answer) = read(text) else { panic!("{:?}", read(text)) };
        assert_eq!((answer.text.as_str(), answer.model.as_deref()), ("Paris", Some("gemini-2.5-pro")));
        assert_eq!(answer.spent.usage, Usage { input_tokens: 4308 + 24939 + 3, output_tokens: 90 + 20 + 154 });
        assert_eq!(answer.spent.cached, Some(21263));
    }

    #[test]
    fn without_roles_the_model_that_wrote_most_has_answered() {
        let text =
            r#"{"response":"x","stats":{"models":{"a":{"tokens":{"candidates":1}},"b":{"tokens":{"candidates":7}}}}}"#;
        assert!(matches!(read(text), Heard::Answer(answer) if answer.model.as_deref() == Some("b")));
        for text in [r#"{"response":"x"}"#, r#"{"response":"x","stats":{"models":[]}}"#] {
            assert!(matches!(read(text), Heard::Answer(answer) if answer.model.is_none()));
        }
    }

    #[test]
    fn reports_have_their_class_on_either_stream() {
        for (error, class, message, stops) in [
            (
                r#"{"type":"FatalAuthenticationError","message":"Please sign in","code":41}"#,
                Class::Auth,
                "Please sign in",
                true,
            ),
            (
                r#"{"type":"Error","message":"[API Error: API key not valid. Please pass a valid API key.]"}"#,
                Class::Auth,
                "[API Error: API key not valid. Please pass a valid API key.]",
                true,
            ),
            (
                r#"{"type":"Error","message":"You have exhausted your capacity on this model.","code":429}"#,
                Class::RateLimited,
                "You have exhausted your capacity on this model.",
                false,
            ),
            (r#"{"type":"ApiError","message":"Internal","code":500}"#, Class::Server, "Internal", false),
            (r#"{"type":"FatalInputError","message":"No input","code":42}"#, Class::BadRequest, "No input", false),
            (
                r#"{"type":"FatalTurnLimitedError","message":"Reached max session turns","code":53}"#,
                Class::Runner,
                "Reached max session turns",
                false,
            ),
            (r#""plain""#, Class::Runner, "plain", false),
            ("{}", Class::Runner, "error", false),
        ] {
            let document = format!("{{\n  \"session_id\": \"s\",\n  \"error\": {error}\n}}");
            let Heard::Report(trouble) = read(&document) else { panic!("{error}") };
            assert_eq!((trouble.class, trouble.message.as_str(), trouble.stops), (class, message, stops), "{error}");
            for stderr in [
                document.clone(),
                format!("Loaded cached credentials.\n{document}\n"),
                format!("{{x}}\n{document}\nbye\n"),
            ] {
                assert_eq!(explain(Some(1), &stderr), Some(trouble.clone()), "{stderr}");
            }
        }
    }

    #[test]
    fn exit_codes_speak_where_nothing_else_does() {
        assert!(explain(Some(41), "").is_some_and(|trouble| trouble.class == Class::Auth && trouble.stops));
        assert!(explain(Some(42), "bad argument").is_some_and(|trouble| trouble.class == Class::BadRequest));
        assert_eq!(explain(Some(53), "Reached max session turns"), None);
        assert_eq!(explain(None, "{"), None);
    }

    #[test]
    fn other_documents_are_not_answers() {
        for text in ["", "{}", "[]", r#"{"response":1}"#, "Hello"] {
            assert!(matches!(read(text), Heard::Unreadable(_)), "{text}");
        }
        assert!(matches!(read(r#"{"response":null}"#), Heard::Answer(answer) if answer.text.is_empty()));
    }
}
