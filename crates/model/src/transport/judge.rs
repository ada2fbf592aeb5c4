//! What a result means for a sample.

use proofmark_artefact::record::Output;
use proofmark_artefact::text::visible;

use super::http::Failure;
use super::retry::Failed;
use crate::ask::{Asked, Blob, Reply, Stop, Turn};
use crate::class::Class;
use crate::secret::Redactor;
use crate::wire::{Completion, Finish, Then};

/// Tells what results mean, in words that hold no key.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The provider's name of the model.
    pub(crate) model: String,
    /// Where it is asked.
    pub(crate) base: String,
    pub(crate) redactor: Redactor,
}

/// What to do after an attempt.
pub(crate) enum Verdict {
    Done(Box<Asked>),
    /// Worth another attempt: the failure that stands when there is none.
    Again(Failed, Class, String),
    /// Nothing will come of any question.
    Stop(Class, Stop),
}

impl Judge {
    /// What a result means for the sample.
    pub(crate) fn judge(&self, result: Result<Completion, Failure>) -> Verdict {
        let failed = |class, message: String| Verdict::Done(Box::new(Reply::failed(class, message).into()));
        match result {
            Ok(completion) => self.answer(completion),
            Err(Failure::Broken(Class::Timeout, message)) => Verdict::Again(Failed::TimedOut, Class::Timeout, message),
            Err(Failure::Broken(class, message)) => Verdict::Again(Failed::Passing, class, message),
            Err(Failure::Barred(message)) => failed(Class::Network, message),
            Err(Failure::Wire(error)) => match error.class {
                // A reply that makes no sense will make none the second time; one that was cut off may.
                Class::Malformed => failed(Class::Malformed, self.words(&error.message)),
                class => Verdict::Again(Failed::Passing, class, self.words(&error.message)),
            },
            Err(Failure::Refused(refused)) => {
                let words = self.words(&refused.message);
                match refused.then {
                    Then::Fail => failed(refused.class, words),
                    Then::Retry => {
                        let why = if refused.class == Class::Timeout { Failed::TimedOut } else { Failed::Passing };
                        // The provider's words about limits hold times and names that differ from call to call.
                        let message = match refused.class {
                            Class::RateLimited => "the provider's limit was exceeded, also after every retry",
                            Class::Timeout => "the provider gave up waiting",
                            _ => "the provider failed, also after every retry",
                        };
                        Verdict::Again(why, refused.class, message.to_owned())
                    }
                    Then::Stop => {
                        let hint = match refused.class {
                            Class::Auth => "check the key and the account; nothing more was asked",
                            _ => "check the model's name and the address; nothing more was asked",
                        };
                        let message = format!("`{}` at {}: {words}", self.model, self.base);
                        Verdict::Stop(refused.class, Stop { message, hint: Some(hint.to_owned()) })
                    }
                }
            }
        }
    }

    /// An answer, or what looks like one and is none.
    fn answer(&self, completion: Completion) -> Verdict {
        let Completion { mut text, mut reasoning, calls, images, logprobs, finish, usage, model, keep, .. } =
            completion;
        let failed =
            |class, message: String| Verdict::Done(Box::new(Reply::failed(class, message).with_usage(usage).into()));
        // A provider that repeats the key does not get it into a record.
        self.redactor.redact_whole(&mut text);
        if let Some(reasoning) = &mut reasoning {
            self.redactor.redact_whole(reasoning);
        }
        match &finish {
            Finish::Filtered(why) => {
                return failed(Class::ContentFilter, self.named("the provider's filter stopped it", why));
            }
            Finish::Refused(why) => return failed(Class::Refusal, self.named("the model declined", why)),
            Finish::Failed(why) => {
                return failed(Class::Server, self.named("the provider failed while it answered", why));
            }
            _ => {}
        }
        // White space says nothing, on whichever wire it comes.
        if text.trim().is_empty() && calls.is_empty() && images.is_empty() {
            let why = if finish == Finish::Length { "; the limit of tokens was used up before one began" } else { "" };
            return failed(Class::Empty, format!("the model gave no answer{why}"));
        }
        let mut blobs = Vec::new();
        let mut facts = Vec::new();
        for image in images {
            match Blob::picture(image.bytes) {
                Ok((image, blob)) => {
                    facts.push(image);
                    blobs.push(blob);
                }
                Err(error) => return failed(Class::Malformed, format!("what came is no picture: {error}")),
            }
        }
        let output = Output {
            answered_by: model,
            images: facts,
            logprobs,
            reasoning: reasoning.filter(|text| !text.is_empty()),
            text: text.clone(),
            tool_calls: calls.iter().map(|(_, call)| call.clone()).collect(),
        };
        let finish_reason = finish.as_str().to_owned();
        let next = Some(Turn::Model { text, calls, keep });
        Verdict::Done(Box::new(Asked { reply: Reply::Answered { finish_reason, output, usage }, blobs, next }))
    }

    /// A provider's words as they may be shown and kept: short, without keys, without what a terminal obeys.
    fn words(&self, text: &str) -> String {
        let redacted = self.redactor.redact(text);
        let line: String = redacted.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(MAX_WORDS).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        format!("{}{more}", visible(&short))
    }

    fn named(&self, what: &str, why: &str) -> String {
        if why.trim().is_empty() { what.to_owned() } else { format!("{what}: {}", self.words(why)) }
    }
}

/// The longest text of a provider that is kept.
const MAX_WORDS: usize = 300;

#[cfg(test)]
mod tests {
    use proofmark_artefact::record::ToolCall;
    use proofmark_canon::Value;

    use super::*;

    fn judged(completion: Completion) -> Reply {
        let judge = Judge { model: "m".to_owned(), base: "http://x".to_owned(), redactor: Redactor::default() };
        match judge.judge(Ok(completion)) {
            Verdict::Done(asked) => asked.reply,
            Verdict::Again(..) | Verdict::Stop(..) => panic!("it is the end"),
        }
    }

    #[track_caller]
    fn assert_failed(completion: Completion, expected: (&str, &str)) {
        match judged(completion) {
            Reply::Failed { class, message, .. } => assert_eq!((class.as_str(), message.as_str()), expected),
            Reply::Answered { output, .. } => panic!("`{}` is an answer", output.text),
        }
    }

    #[test]
    fn white_space_alone_is_no_answer_and_beside_a_call_it_is() {
        for text in ["", "  \n ", "\u{a0}\t"] {
            let blank = Completion { text: text.to_owned(), ..Completion::default() };
            let call = (String::new(), ToolCall { name: "f".to_owned(), arguments: Value::Null });
            let called = Completion { calls: vec![call], ..blank.clone() };
            assert_failed(blank, ("empty", "the model gave no answer"));
            assert!(matches!(judged(called), Reply::Answered { .. }), "{text:?}");
        }
    }

    #[test]
    fn an_end_that_is_none_is_told_once_whatever_the_text() {
        for (finish, expected) in [
            (Finish::Filtered(String::new()), ("content_filter", "the provider's filter stopped it")),
            (Finish::Filtered("hate".into()), ("content_filter", "the provider's filter stopped it: hate")),
            (Finish::Refused(String::new()), ("refusal", "the model declined")),
            (Finish::Failed("x".into()), ("server", "the provider failed while it answered: x")),
        ] {
            assert_failed(Completion { text: "half".to_owned(), finish, ..Completion::default() }, expected);
        }
    }
}
