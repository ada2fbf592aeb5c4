//! A model whose replies are all on a cassette. Nobody is asked, and nothing is needed to ask.

use super::voice::Voice;
use crate::ask::{Ask, Asked, Asking, Model, Reply, Stop};
use crate::cassette::tape::{ENDPOINT, Marked, Tape};
use crate::class::Class;

pub(crate) struct Replay {
    voice: Voice,
    tape: Tape,
    lane: String,
}

impl Replay {
    pub(crate) fn new(voice: Voice, tape: Tape) -> Self {
        let lane = format!("cassette {}", voice.id);
        Self { voice, tape, lane }
    }

    async fn answer(&self, ask: Ask<'_>) -> Result<Asked, Stop> {
        let call = match self.voice.wire.encode(&self.voice.judge.model, ask.request) {
            Ok(call) => call,
            Err(why) => return Ok(Reply::failed(Class::Unsupported, why).into()),
        };
        let digest = self.tape.question(&ask, &call.path, &call.body).digest();
        let found = self.tape.cassette.find(digest, ask.hint.key).await?;
        let Some(entry) = found else {
            return Err(Stop { message: "a cassette that is replayed asks nobody".to_owned(), hint: None });
        };
        let (asked, answer) = self.voice.play(entry, call.streamed)?;
        let log = Marked::new(ask.log, digest);
        self.voice.tell(&Ask { log: &log, ..ask }, call.body.len(), &asked, Some(&answer), ENDPOINT);
        Ok(asked)
    }
}

impl Model for Replay {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(self.answer(ask))
    }

    fn lane(&self) -> &str {
        &self.lane
    }
}
