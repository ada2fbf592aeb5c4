//! What a live model and a replayed one have in common: the same words for the same replies.

use std::sync::Arc;

use super::http::Whole;
use super::judge::{Judge, Verdict};
use crate::ask::{Ask, Asked, Reply, Stop};
use crate::cassette::entry::{Answer, Body, Entry};
use crate::cassette::tape::Unsent;
use crate::wire::Wire;

/// Milliseconds since 1970, from whoever has a clock.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How a model speaks, wherever its replies come from.
pub(crate) struct Voice {
    /// The model's id in the suite.
    pub(crate) id: String,
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) judge: Judge,
    pub(crate) clock: Clock,
}

impl Voice {
    /// Takes an entry for the reply that it holds.
    pub(crate) fn play(&self, entry: Entry, streamed: bool) -> Result<(Asked, Answer), Stop> {
        let digest = entry.digest;
        match entry.answer {
            Answer::Outcome { reply } => Ok((reply.clone().into(), Answer::Outcome { reply })),
            Answer::Http { body, headers, status } => {
                let body = body.bytes().ok_or_else(|| Stop {
                    message: format!("the entry {digest} of the cassette holds a body that is not base64"),
                    hint: None,
                })?;
                let whole = Whole { status, headers, body };
                let asked = self.understand(&whole, streamed)?;
                let Whole { status, headers, body } = whole;
                Ok((asked, Answer::Http { body: Body::of(body), headers, status }))
            }
        }
    }

    /// What a cassette keeps of a question's end, and what is answered then: that which a replay would answer.
    pub(crate) fn to_keep(&self, asked: Asked, whole: Option<Whole>, streamed: bool) -> Result<(Asked, Answer), Stop> {
        let redactor = &self.judge.redactor;
        let Some(mut whole) = whole else {
            let reply = asked.reply.clone();
            return Ok((asked, Answer::Outcome { reply }));
        };
        let mut held_key = redactor.redact_bytes(&mut whole.body);
        if matches!(asked.reply, Reply::Failed { .. })
            && let Ok(text) = std::str::from_utf8(&whole.body)
        {
            // A refusal may repeat the ends of a key; what is said of it is redacted in the same way.
            let redacted = redactor.redact(text);
            held_key |= redacted != text;
            whole.body = redacted.into_bytes();
        }
        for value in whole.headers.values_mut() {
            redactor.redact_whole(value);
        }
        let asked = if held_key { self.understand(&whole, streamed)? } else { asked };
        let Whole { status, headers, body } = whole;
        Ok((asked, Answer::Http { body: Body::of(body), headers, status }))
    }

    /// Writes down a question that was sent nowhere.
    pub(crate) fn tell(&self, ask: &Ask<'_>, sent: usize, asked: &Asked, answer: Option<&Answer>, endpoint: &str) {
        let (at, request_bytes) = ((self.clock)(), sent as u64);
        Unsent { id: &self.id, at, endpoint, reply: &asked.reply, answer, request_bytes }.tell(ask);
    }

    fn understand(&self, whole: &Whole, streamed: bool) -> Result<Asked, Stop> {
        match self.judge.judge(whole.understand(&*self.wire, streamed)) {
            Verdict::Done(asked) => Ok(*asked),
            // Kept by a build that thought otherwise. What it means now is the last word.
            Verdict::Again(_, class, message) => Ok(Reply::failed(class, message).into()),
            Verdict::Stop(_, stop) => Err(stop),
        }
    }
}
