//! The trajectory of a single question, written without a tree of steps.
//!
//! A run of single questions writes one a sample, and evidence must cost next to nothing there. What stands in it stands
//! in it in canonical order; a property test holds the bytes to those of [`Trajectory`](super::Trajectory).

use proofmark_canon::json::{EncodeError, append_count, append_string};
use proofmark_canon::{Digest, RunId, SampleKey};

use super::{PROMPT_HEAD, head};
use crate::record::{Message, Usage};

/// A single question and its answer, whose parts are elsewhere.
#[derive(Debug)]
pub struct SingleRef<'a> {
    /// `None` when there is none.
    pub answer: Option<&'a str>,
    pub key: &'a SampleKey,
    pub messages: &'a [Message],
    pub model: &'a str,
    pub run_id: RunId,
    pub task_id: &'a str,
    pub usage: Usage,
}

impl SingleRef<'_> {
    /// Appends its line without the line end.
    pub fn append(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(b"{\"final_answer\":");
        let start = out.len();
        match self.answer {
            Some(answer) => append_string(answer, out),
            None => out.extend_from_slice(b"null"),
        }
        let answered = start..out.len();
        out.extend_from_slice(b",\"key\":");
        append_string(self.key.as_str(), out);
        out.extend_from_slice(b",\"model\":");
        append_string(self.model, out);
        out.extend_from_slice(b",\"run_id\":\"");
        out.extend_from_slice(&self.run_id.text());
        out.extend_from_slice(b"\",\"steps\":[");
        let mut is_first = true;
        for message in self.messages {
            separate(&mut is_first, out);
            open_step(&message.content, out)?;
            append_string(head(&message.content, PROMPT_HEAD), out);
            out.extend_from_slice(b",\"role\":\"");
            out.extend_from_slice(message.role.as_str().as_bytes());
            out.extend_from_slice(b"\",\"type\":\"prompt\"}");
        }
        if let Some(answer) = self.answer {
            separate(&mut is_first, out);
            open_step(answer, out)?;
            match head(answer, PROMPT_HEAD) {
                // It was written a moment ago.
                whole if whole.len() == answer.len() => out.extend_from_within(answered),
                part => append_string(part, out),
            }
            out.extend_from_slice(b",\"type\":\"model_output\"}");
        }
        out.extend_from_slice(b"],\"task_id\":");
        append_string(self.task_id, out);
        out.extend_from_slice(if self.answer.is_some() { b",\"turns\":1" } else { b",\"turns\":0" });
        out.extend_from_slice(b",\"usage\":{\"input_tokens\":");
        append_count(self.usage.input_tokens, out)?;
        out.extend_from_slice(b",\"output_tokens\":");
        append_count(self.usage.output_tokens, out)?;
        out.extend_from_slice(b"}}");
        Ok(())
    }
}

fn separate(is_first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::replace(is_first, false) {
        out.push(b',');
    }
}

/// Appends a step up to its head.
fn open_step(content: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.extend_from_slice(b"{\"bytes\":");
    append_count(content.len() as u64, out)?;
    out.extend_from_slice(b",\"content_sha256\":\"");
    out.extend_from_slice(&Digest::of(content.as_bytes()).text());
    out.extend_from_slice(b"\",\"head\":");
    Ok(())
}

#[cfg(test)]
mod tests {
    use proofmark_canon::json;
    use proptest::prelude::*;

    use super::super::{Step, Trajectory};
    use super::*;
    use crate::record::Role;

    /// Texts with what must be escaped, and around the length at which a head is cut.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~é\"\\\\\u{0}-\u{1f}]{0,40}",
            (PROMPT_HEAD - 4..PROMPT_HEAD + 4, "[\"é\u{1F600}]{1,3}").prop_map(|(n, end)| "x".repeat(n) + &end),
        ]
    }

    fn message() -> impl Strategy<Value = Message> {
        let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant)];
        (role, text()).prop_map(|(role, content)| Message::new(role, content))
    }

    proptest! {
        #[test]
        fn a_single_question_is_written_like_any_other_trajectory(
            answer in proptest::option::of(text()),
            messages in proptest::collection::vec(message(), 0..4),
            (model, task) in (text(), text()),
            (input_tokens, output_tokens) in (0..1u64 << 53, 0..1u64 << 53),
        ) {
            let key = SampleKey::new(&task, "i", &model, "c", 0);
            let (run_id, usage) = (RunId::from_digest(&Digest::of(b"x")), Usage { input_tokens, output_tokens });
            let steps = messages.iter().map(|message| Step::prompt(message.role, &message.content));
            let steps = steps.chain(answer.as_deref().map(|answer| Step::model_output(answer, None))).collect();
            let whole = Trajectory {
                attempt: None,
                final_answer: answer.clone(),
                key: key.clone(),
                model: model.clone(),
                no_answer: None,
                run_id,
                steps,
                stop: None,
                task_id: task.clone(),
                turns: u32::from(answer.is_some()),
                usage,
            };
            let answer = answer.as_deref();
            let single =
                SingleRef { answer, key: &key, messages: &messages, model: &model, run_id, task_id: &task, usage };
            let mut line = Vec::new();
            single.append(&mut line).unwrap();
            prop_assert_eq!(String::from_utf8(line).unwrap(), String::from_utf8(json::to_vec(&whole).unwrap()).unwrap());
        }
    }

    #[test]
    fn counts_that_would_lose_digits_are_refused() {
        let usage = Usage { input_tokens: 1 << 60, output_tokens: 0 };
        let (key, run_id) = (SampleKey::new("t", "i", "m", "c", 0), RunId::from_digest(&Digest::of(b"x")));
        let single = SingleRef { answer: None, key: &key, messages: &[], model: "m", run_id, task_id: "t", usage };
        assert!(matches!(single.append(&mut Vec::new()), Err(EncodeError::UnsafeInteger(_))));
    }
}
