//! What `claude -p --output-format json` writes: one result document.

use proofmark_canon::Value;

use super::output::{Answer, Heard, Spent, Trouble, Words, count, largest, last_line, parse};
use crate::ask::CUT;
use crate::class::Class;

pub(super) fn read(text: &str) -> Heard {
    let document = match parse(text) {
        Ok(document) => document,
        Err(why) => return Heard::Unreadable(why),
    };
    // With `--verbose` in the user's settings it is the list of all messages, the result last.
    let result = match &document {
        Value::Array(messages) => messages.iter().rev().find(|message| is_result(message)),
        Value::Object(_) => Some(&document),
        _ => None,
    };
    let Some(result) = result else {
        return Heard::Unreadable("its output has no result".to_owned());
    };
    let spent = spent(result);
    let said = result.get("result").and_then(Value::as_str);
    let subtype = result.get("subtype").and_then(Value::as_str).unwrap_or("success");
    if result.get("is_error").and_then(Value::as_bool) == Some(true) || subtype != "success" {
        let errors = result.get("errors").and_then(Value::as_array);
        let message = said
            .filter(|said| !said.trim().is_empty())
            .or_else(|| errors.and_then(<[_]>::last).and_then(Value::as_str))
            .unwrap_or(subtype);
        let status =
            result.get("api_error_status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        return Heard::Report(Trouble::of(message, status, WORDS, spent));
    }
    let finish = match result.get("stop_reason").and_then(Value::as_str) {
        Some("refusal") => {
            let message = "the model declined the request".to_owned();
            return Heard::Report(Trouble { class: Class::Refusal, message, spent, stops: false });
        }
        Some("end_turn" | "stop_sequence") | None => "stop",
        Some("max_tokens") => CUT,
        Some(other) => other,
    };
    match said {
        Some(text) => Heard::Answer(Answer {
            text: text.to_owned(),
            finish: finish.to_owned(),
            model: answered_by(result),
            spent,
        }),
        None => Heard::Unreadable("its output has no `result`".to_owned()),
    }
}

/// Ends badly without a document when it cannot even begin.
pub(super) fn explain(stderr: &str) -> Option<Trouble> {
    let trouble = Trouble::of(last_line(stderr), None, WORDS, Spent::default());
    (trouble.class != Class::Runner).then_some(trouble)
}

fn is_result(message: &Value) -> bool {
    message.get("type").and_then(Value::as_str) == Some("result")
}

/// `modelUsage` has every model that was used, small helpers included; older versions have `usage` alone.
fn spent(result: &Value) -> Spent {
    let mut spent = Spent::default();
    let models = result.get("modelUsage").and_then(Value::as_object).filter(|models| !models.is_empty());
    if let Some(models) = models {
        for (_, model) in models.iter() {
            let (read, made) = (count(model, "cacheReadInputTokens"), count(model, "cacheCreationInputTokens"));
            let input = count(model, "inputTokens").saturating_add(read).saturating_add(made);
            spent.add(input, count(model, "outputTokens"), read);
        }
    } else if let Some(usage) = result.get("usage") {
        let (read, made) = (count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens"));
        let input = count(usage, "input_tokens").saturating_add(read).saturating_add(made);
        spent.add(input, count(usage, "output_tokens"), read);
    }
    spent
}

/// The model of the conversation. Where helpers were used, too, it is the one whose tokens are those of `usage`, which
/// counts the conversation alone; else the one that wrote most.
fn answered_by(result: &Value) -> Option<String> {
    let models = result.get("modelUsage").and_then(Value::as_object)?;
    let usage = result.get("usage");
    let mut same = models.iter().filter(|(_, model)| {
        usage.is_some_and(|usage| {
            let written = count(usage, "output_tokens");
            written > 0
                && count(model, "outputTokens") == written
                && count(model, "inputTokens") == count(usage, "input_tokens")
        })
    });
    match (same.next(), same.next()) {
        (Some((name, _)), None) => Some(name.to_owned()),
        _ => largest(models.iter().map(|(name, model)| (name, count(model, "outputTokens")))),
    }
}

const WORDS: Words = &[
    ("invalid api key", Class::Auth, true),
    ("not logged in", Class::Auth, true),
    ("please run /login", Class::Auth, true),
    ("oauth token has expired", Class::Auth, true),
    ("oauth token revoked", Class::Auth, true),
    ("failed to authenticate", Class::Auth, true),
    ("credit balance is too low", Class::Auth, true),
    ("usage limit reached", Class::RateLimited, false),
    ("hit your session limit", Class::RateLimited, false),
    ("hit your weekly limit", Class::RateLimited, false),
    ("hit your limit", Class::RateLimited, false),
    ("violate our usage policy", Class::Refusal, false),
    ("prompt is too long", Class::BadRequest, false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::record::Usage;

    #[test]
    fn an_answer_comes_with_its_model_and_everything_that_was_spent() {
        let text = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":2113,"num_turns":1,
            "result":"B","stop_reason":"end_turn","session_id":"s","total_cost_usd":0.01,
            "usage":{"input_tokens":5,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":4},
            "modelUsage":{
              "claude-haiku-x":{"inputTokens":300,"outputTokens":27,"cacheReadInputTokens":0,"cacheCreationInputTokens":0},
              "claude-opus-x":{"inputTokens":5,"outputTokens":4,"cacheReadInputTokens":1000,"cacheCreationInputTokens":100}},
            "permission_denials":[]}"#;
        let Heard::Answer(answer) = read(text) else { panic!("{:?}", read(text)) };
        assert_eq!((answer.text.as_str(), answer.finish.as_str()), ("B", "stop"));
        // The helper wrote more; the conversation was not its.
        assert_eq!(answer.model.as_deref(), Some("claude-opus-x"));
        assert_eq!(answer.spent.usage, Usage { input_tokens: 1405, output_tokens: 31 });
        assert_eq!(answer.spent.cached, Some(1000));
    }

    #[test]
    fn without_a_match_the_model_that_wrote_most_has_answered() {
        let read_model = |models: &str| match read(&format!(r#"{{"result":"x","modelUsage":{models}}}"#)) {
            Heard::Answer(answer) => answer.model,
            other => panic!("{other:?}"),
        };
        assert_eq!(read_model(r#"{"a":{"outputTokens":3},"b":{"outputTokens":9}}"#).as_deref(), Some("b"));
        assert_eq!(read_model(r#"{"a":{}}"#).as_deref(), Some("a"));
        assert_eq!(read_model(r#"{"a":{"outputTokens":3},"b":{"outputTokens":3}}"#), None);
        assert_eq!(read_model("{}"), None);
        assert_eq!(read_model("null"), None);
    }

    #[test]
    fn older_versions_count_in_usage_alone() {
        let text = r#"{"type":"result","result":"x","usage":{"input_tokens":3,"cache_read_input_tokens":15635,"output_tokens":6}}"#;
        let Heard::Answer(answer) = read(text) else { panic!() };
        assert_eq!((answer.spent.usage.input_tokens, answer.spent.usage.output_tokens), (15638, 6));
        assert_eq!(answer.model, None);
    }

    #[test]
    fn the_result_is_found_in_a_list_of_messages() {
        let text = r#"[{"type":"system","subtype":"init"},{"type":"result","subtype":"success","result":"x"}]"#;
        assert!(matches!(read(text), Heard::Answer(answer) if answer.text == "x"));
    }

    #[test]
    fn reports_have_their_class() {
        for (text, class, message, stops) in [
            (
                r#"{"is_error":true,"subtype":"success","result":"Invalid API key · Please run /login"}"#,
                Class::Auth,
                "Invalid API key · Please run /login",
                true,
            ),
            (
                r#"{"is_error":true,"result":"API Error: 401 {\"error\":{\"message\":\"bad\"}}"}"#,
                Class::Auth,
                "API Error: 401 bad",
                true,
            ),
            (
                r#"{"is_error":true,"result":"You've hit your session limit","api_error_status":429}"#,
                Class::RateLimited,
                "You've hit your session limit",
                false,
            ),
            (
                r#"{"is_error":true,"result":"Claude AI usage limit reached|1760000000"}"#,
                Class::RateLimited,
                "Claude AI usage limit reached|1760000000",
                false,
            ),
            (
                r#"{"is_error":true,"result":"API Error: 529 Overloaded"}"#,
                Class::RateLimited,
                "API Error: 529 Overloaded",
                false,
            ),
            (
                r#"{"is_error":true,"result":"API Error: 500 Internal server error"}"#,
                Class::Server,
                "API Error: 500 Internal server error",
                false,
            ),
            (r#"{"is_error":false,"subtype":"error_max_turns"}"#, Class::Runner, "error_max_turns", false),
            (
                r#"{"is_error":true,"subtype":"error_during_execution","errors":["first","last"]}"#,
                Class::Runner,
                "last",
                false,
            ),
            (r#"{"is_error":true,"result":"something else"}"#, Class::Runner, "something else", false),
            (
                r#"{"subtype":"success","result":"","stop_reason":"refusal"}"#,
                Class::Refusal,
                "the model declined the request",
                false,
            ),
        ] {
            let Heard::Report(trouble) = read(text) else { panic!("{text}") };
            assert_eq!((trouble.class, trouble.message.as_str(), trouble.stops), (class, message, stops), "{text}");
        }
    }

    #[test]
    fn other_documents_are_not_answers() {
        for text in ["", "[]", "3", "{}", r#"{"result":3}"#, r#"{"subtype":"success"}"#, "Hello"] {
            assert!(matches!(read(text), Heard::Unreadable(_)), "{text}");
        }
    }

    #[test]
    fn an_answer_with_such_words_is_an_answer() {
        let text = r#"{"is_error":false,"subtype":"success","result":"Invalid API key · Please run /login"}"#;
        assert!(matches!(read(text), Heard::Answer(_)));
    }
}
