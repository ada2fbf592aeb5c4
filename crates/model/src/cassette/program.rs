//! A model behind a program, with a cassette. What is kept is the reply: what a program wrote is understood where it ran.

use std::sync::Arc;

use proofmark_artefact::record::Message;
use proofmark_artefact::suite::config::Runner;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_canon::{Digest, json};
use serde::Serialize;

use super::Cassette;
use super::entry::{Answer, Entry};
use super::tape::{ENDPOINT, Marked, Tape, Unsent};
use crate::ask::{Ask, Asked, Asking, Model, Reply, Stop};
use crate::class::Class;

/// A program, or what it said.
pub(crate) struct TapedProgram {
    id: String,
    command: Option<Runner>,
    tape: Tape,
    /// `None` in replay: it need not even be installed.
    inner: Option<Arc<dyn Model>>,
    lane: String,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// What decides the answer of a program, as far as the suite goes.
#[derive(Serialize)]
struct Told<'a> {
    command: Option<&'a Runner>,
    files: Vec<Digest>,
    messages: &'a [Message],
    // A program refuses both, so how many there are is enough.
    tools: usize,
    turns: usize,
}

impl TapedProgram {
    pub(crate) fn new(
        plan: &ModelPlan,
        cassette: &Arc<Cassette>,
        inner: Option<Arc<dyn Model>>,
        clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let lane = inner.as_ref().map_or_else(|| format!("cassette {}", plan.id), |inner| inner.lane().to_owned());
        let (id, command) = (plan.id.clone(), plan.command.clone());
        Self { id, command, tape: Tape::new(cassette, plan), inner, lane, clock }
    }

    async fn answer(&self, ask: Ask<'_>) -> Result<Asked, Stop> {
        let request = ask.request;
        let told = Told {
            command: self.command.as_ref(),
            files: request.files.iter().map(|file| file.digest).collect(),
            messages: &request.messages,
            tools: request.tools.len(),
            turns: request.turns.len(),
        };
        let Ok(body) = json::to_vec(&told) else {
            return Ok(Reply::failed(Class::Unsupported, "the prompt has no canonical form").into());
        };
        let question = self.tape.question(&ask, "", &body);
        let digest = question.digest();
        let log = Marked::new(ask.log, digest);
        let ask = Ask { log: &log, ..ask };
        let cassette = &self.tape.cassette;
        let tell = |endpoint: &str, reply: &Reply| {
            let (at, request_bytes) = ((self.clock)(), body.len() as u64);
            Unsent { id: &self.id, at, endpoint, reply, answer: None, request_bytes }.tell(&ask);
        };
        if let Some(entry) = cassette.find(digest, ask.hint.key).await? {
            let reply = reply_of(entry)?;
            tell(ENDPOINT, &reply);
            return Ok(reply.into());
        }
        let Some(inner) = &self.inner else {
            return Err(Stop { message: "a cassette that is replayed asks nobody".to_owned(), hint: None });
        };
        let asked = inner.ask(ask).await?;
        if !log.has_heard() {
            // It was not started. Whoever tidies the cassette must still see that this was used.
            tell(&self.lane, &asked.reply);
        }
        match cassette.keep(question, Answer::Outcome { reply: asked.reply.clone() }).await? {
            Some(other) => Ok(reply_of(other)?.into()),
            None => Ok(asked),
        }
    }
}

fn reply_of(entry: Entry) -> Result<Reply, Stop> {
    match entry.answer {
        Answer::Outcome { reply } => Ok(reply),
        Answer::Http { .. } => {
            let message = format!("the entry {} of the cassette is not that of a program", entry.digest);
            Err(Stop { message, hint: None })
        }
    }
}

impl Model for TapedProgram {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(self.answer(ask))
    }

    fn check_ready(&self) -> Result<(), Stop> {
        self.inner.as_ref().map_or(Ok(()), |inner| inner.check_ready())
    }

    fn lane(&self) -> &str {
        &self.lane
    }

    fn max_in_flight(&self) -> Option<usize> {
        self.inner.as_ref().and_then(|inner| inner.max_in_flight())
    }

    fn surroundings(&self) -> Vec<(&'static str, String)> {
        self.inner.as_ref().map_or_else(Vec::new, |inner| inner.surroundings())
    }
}
