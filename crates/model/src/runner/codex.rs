//! What `codex exec --json` writes: one event a line.

use proofmark_canon::Value;

use super::output::{Answer, Heard, Spent, Trouble, Words, count, last_line, parse};
use crate::class::Class;

/// The last message of the agent is the answer, once the turn is complete. The events do not say which model it was.
pub(super) fn read(text: &str) -> Heard {
    let mut answer = Answer { finish: "stop".to_owned(), ..Answer::default() };
    let (mut is_complete, mut failed, mut error) = (false, None, None);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let event = match parse(line) {
            Ok(event) => event,
            Err(why) => return Heard::Unreadable(format!("line {}: {why}", at + 1)),
        };
        let message = |value: &Value| value.get("message").and_then(Value::as_str).map(str::to_owned);
        match event.get("type").and_then(Value::as_str) {
            Some("item.completed") => {
                let item =
                    event.get("item").filter(|item| item.get("type").and_then(Value::as_str) == Some("agent_message"));
                if let Some(said) = item.and_then(|item| item.get("text")).and_then(Value::as_str) {
                    said.clone_into(&mut answer.text);
                }
            }
            Some("turn.completed") => {
                is_complete = true;
                // Counts the whole thread so far; reasoning is part of the output, the cache of the input.
                if let Some(usage) = event.get("usage") {
                    answer.spent = Spent::default();
                    let [input, output, cached] =
                        ["input_tokens", "output_tokens", "cached_input_tokens"].map(|name| count(usage, name));
                    answer.spent.add(input, output, cached);
                }
            }
            Some("turn.failed") => failed = Some(event.get("error").and_then(message).unwrap_or_default()),
            // Also said of a connection that is tried again, and then means nothing.
            Some("error") => error = message(&event),
            _ => {}
        }
    }
    match failed.or(error.filter(|_| !is_complete)) {
        Some(message) => {
            let message = if message.trim().is_empty() { "turn.failed" } else { &message };
            Heard::Report(Trouble::of(message, None, WORDS, answer.spent))
        }
        None if is_complete => Heard::Answer(answer),
        None => Heard::Unreadable("its output has no `turn.completed`".to_owned()),
    }
}

/// Ends badly without an event when it cannot even begin.
pub(super) fn explain(stderr: &str) -> Option<Trouble> {
    let trouble = Trouble::of(last_line(stderr), None, WORDS, Spent::default());
    (trouble.class != Class::Runner).then_some(trouble)
}

const WORDS: Words = &[
    ("not logged in", Class::Auth, true),
    ("incorrect api key", Class::Auth, true),
    ("missing environment variable", Class::Auth, true),
    ("please log out and sign in again", Class::Auth, true),
    ("quota exceeded. check your plan", Class::Auth, true),
    ("model is not supported when using codex", Class::BadRequest, true),
    ("hit your usage limit", Class::RateLimited, false),
    ("usage limit has been reached", Class::RateLimited, false),
    ("selected model is at capacity", Class::RateLimited, false),
    ("ran out of room in the model's context window", Class::BadRequest, false),
    ("stream disconnected before completion", Class::StreamCut, false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::record::Usage;

    const START: &str = "{\"type\":\"thread.started\",\"thread_id\":\"0199\"}\n{\"type\":\"turn.started\"}\n";

    #[test]
    fn the_last_message_of_a_complete_turn_is_the_answer() {
        let text = format!(
            "{START}{}\n{}\n{}\n{}\n{}\n",
            r#"{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I will look."}}"#,
            r#"{"type":"error","message":"Reconnecting... 1/5"}"#,
            r#"{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"Paris"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}"#,
        );
        let Heard::Answer(answer) = read(&text) else { panic!("{:?}", read(&text)) };
        assert_eq!((answer.text.as_str(), answer.finish.as_str(), answer.model), ("Paris", "stop", None));
        assert_eq!(answer.spent.usage, Usage { input_tokens: 24763, output_tokens: 122 });
        assert_eq!(answer.spent.cached, Some(24448));
    }

    #[test]
    fn reports_have_their_class() {
        for (event, class, message, stops) in [
            (
                r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no, url: http://h, request id: r"}}"#,
                Class::Auth,
                "unexpected status 401 Unauthorized: no",
                true,
            ),
            (
                r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 1:37 AM."}}"#,
                Class::RateLimited,
                "You've hit your usage limit. Try again at 1:37 AM.",
                false,
            ),
            (
                r#"{"type":"turn.failed","error":{"message":"stream disconnected before completion: x"}}"#,
                Class::StreamCut,
                "stream disconnected before completion: x",
                false,
            ),
            (
                r#"{"type":"turn.failed","error":{"message":"{\"type\":\"error\",\"status\":400,\"error\":{\"message\":\"The 'x' model is not supported when using Codex with a ChatGPT account.\"}}"}}"#,
                Class::BadRequest,
                "The 'x' model is not supported when using Codex with a ChatGPT account.",
                true,
            ),
            (r#"{"type":"error","message":"it broke"}"#, Class::Runner, "it broke", false),
            (r#"{"type":"turn.failed"}"#, Class::Runner, "turn.failed", false),
        ] {
            let Heard::Report(trouble) = read(&format!("{START}{event}\n")) else { panic!("{event}") };
            assert_eq!((trouble.class, trouble.message.as_str(), trouble.stops), (class, message, stops), "{event}");
        }
    }

    #[test]
    fn a_failed_turn_is_no_answer_even_after_a_message() {
        let text = r#"{"type":"item.completed","item":{"type":"agent_message","text":"half"}}
{"type":"turn.failed","error":{"message":"x"}}"#;
        assert!(matches!(read(text), Heard::Report(_)));
    }

    #[test]
    fn events_that_stop_short_are_no_answer() {
        let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"half"}}"#;
        assert_eq!(read(said), Heard::Unreadable("its output has no `turn.completed`".to_owned()));
        assert_eq!(read(""), Heard::Unreadable("its output has no `turn.completed`".to_owned()));
        let Heard::Unreadable(why) = read(&format!("{START}oops\n")) else { panic!() };
        assert!(why.starts_with("line 3: its output is not JSON"), "{why}");
    }
}
