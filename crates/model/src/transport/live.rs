//! A model behind an endpoint: encode, wait for a place, ask, understand, try again or give up.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use proofmark_artefact::record::Usage;
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_canon::id;
use reqwest::Url;
use tokio::time::Instant;

use super::breaker::Weight;
use super::endpoint::Endpoint;
use super::http::{Exchange, Failure, How, Whole, exchange};
use super::judge::Verdict;
use super::limit::Signal;
use super::retry::LONGEST_ASKED;
use super::voice::Voice;
use crate::ask::{Ask, Asked, Asking, Model, Reply, Stop, millis};
use crate::cassette::Mode;
use crate::cassette::tape::{ENDPOINT, Marked, Tape, calls_before};
use crate::class::Class;
use crate::wire::{Call, Completion};

pub(crate) struct Live {
    pub(crate) voice: Voice,
    /// Where calls are kept.
    pub(crate) tape: Option<Tape>,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) lane: String,
    pub(crate) last_address: Mutex<Option<(String, Url)>>,
    /// What is missing before anything can be asked.
    pub(crate) missing: Option<Stop>,
    /// Where the address came from, when it is not the provider's own.
    pub(crate) surroundings: Vec<(&'static str, String)>,
}

impl Model for Live {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(self.answer(ask))
    }

    fn lane(&self) -> &str {
        &self.lane
    }

    fn max_in_flight(&self) -> Option<usize> {
        Some(self.endpoint.most)
    }

    fn leaves_traces(&self) -> bool {
        // A cassette may lie anywhere.
        self.tape.is_some()
    }

    fn surroundings(&self) -> Vec<(&'static str, String)> {
        self.surroundings.clone()
    }

    fn hang_up(&self) {
        self.endpoint.link.hang_up();
    }

    fn check_ready(&self) -> Result<(), Stop> {
        if self.tape.as_ref().is_some_and(|tape| tape.cassette.mode() == Mode::Auto) {
            // Everything may be on the cassette; the first question that is not will say so.
            return Ok(());
        }
        self.missing.clone().map_or(Ok(()), Err)
    }
}

impl Live {
    async fn answer(&self, ask: Ask<'_>) -> Result<Asked, Stop> {
        let mut call = match self.voice.wire.encode(&self.voice.judge.model, ask.request) {
            Ok(call) => call,
            Err(why) => return Ok(Reply::failed(Class::Unsupported, why).into()),
        };
        let body = Bytes::from(std::mem::take(&mut call.body));
        let Some(tape) = &self.tape else { return Ok(self.ask_until_done(ask, &call, &body).await?.0) };
        let question = tape.question(&ask, &call.path, &body);
        let digest = question.digest();
        let log = Marked::new(ask.log, digest);
        let ask = Ask { log: &log, ..ask };
        if let Some(entry) = tape.cassette.find(digest, ask.hint.key).await? {
            let (asked, answer) = self.voice.play(entry, call.streamed)?;
            self.voice.tell(&ask, body.len(), &asked, Some(&answer), ENDPOINT);
            return Ok(asked);
        }
        let (asked, whole) = self.ask_until_done(ask, &call, &body).await?;
        if !log.has_heard() {
            // Nothing was sent. Whoever tidies the cassette must still see that this was used.
            self.voice.tell(&ask, body.len(), &asked, None, &self.shown_address(&call));
        }
        let (asked, answer) = self.voice.to_keep(asked, whole, call.streamed)?;
        match tape.cassette.keep(question, answer).await? {
            Some(other) => Ok(self.voice.play(other, call.streamed)?.0),
            None => Ok(asked),
        }
    }

    /// Asks as often as it takes. Returns the reply as it came, too, where there is a whole one and someone keeps it.
    async fn ask_until_done(&self, ask: Ask<'_>, call: &Call, body: &Bytes) -> Result<(Asked, Option<Whole>), Stop> {
        if let Some(stop) = &self.missing {
            return Err(stop.clone());
        }
        let Some(url) = self.address(&call.path) else {
            let message = "the model's name does not fit into an address";
            return Ok((Reply::failed(Class::BadRequest, message).into(), None));
        };
        let guess = guess_tokens(&ask, body);
        let seed = ask.request.seed.get();
        for attempt in 1.. {
            let arrived = Instant::now();
            let Ok(pass) = self.endpoint.breaker.enter().await else { return Ok((self.down(), None)) };
            let permit = self.endpoint.gate.enter(guess).await;
            let waited = arrived.elapsed();
            if let Some(stop) = self.endpoint.stopped.get() {
                return Err(stop.clone());
            }
            let at = (self.voice.clock)();
            let Endpoint { link, headers, deadlines, .. } = &*self.endpoint;
            ask.log.sent();
            let sent = link.post(&url, headers, body, deadlines);
            let how = How { streamed: call.streamed, keeps: self.tape.is_some(), at };
            let mut seen = exchange(link, sent, &*self.voice.wire, how, deadlines).await;
            let result = std::mem::replace(&mut seen.result, Err(Failure::Broken(Class::Network, String::new())));
            match weight(&result) {
                Some(weight) => pass.dead(weight),
                None => pass.alive(),
            }
            let (facts, mut verdict) = (Facts::of(&result), self.voice.judge.judge(result));
            if let (Verdict::Again(_, class, _), Some(asked)) = (&verdict, seen.retry_after)
                && asked > LONGEST_ASKED
            {
                let message = format!("{} asks to be left alone for {} s", self.endpoint.base, asked.as_secs());
                let hint = Some("a limit of the account is used up; wait".to_owned());
                verdict = Verdict::Stop(*class, Stop { message, hint });
            }
            permit.leave(signal(&verdict, &seen), facts.tokens);
            let pause = match &verdict {
                Verdict::Again(why, ..) => self.endpoint.patience.pause(attempt, *why, seen.retry_after, seed),
                _ => None,
            };
            let outcome = match &verdict {
                Verdict::Done(asked) => match asked.reply {
                    Reply::Answered { .. } => AttemptOutcome::Answered,
                    Reply::Failed { .. } => AttemptOutcome::Failed,
                },
                Verdict::Again(..) if pause.is_some() => AttemptOutcome::Retried,
                Verdict::Again(..) => AttemptOutcome::Failed,
                Verdict::Stop(..) => AttemptOutcome::Stopped,
            };
            let class = match &verdict {
                Verdict::Done(asked) => match &asked.reply {
                    Reply::Answered { .. } => None,
                    Reply::Failed { class, .. } => Some(class.clone()),
                },
                Verdict::Again(_, class, _) => Some(class.as_str().to_owned()),
                Verdict::Stop(class, _) => Some(class.as_str().to_owned()),
            };
            ask.log.attempt(&Attempt {
                at: id::rfc3339(at),
                attempt,
                cached_input_tokens: facts.cached,
                call: calls_before(&ask),
                class,
                endpoint: self.shown_address(call),
                first_byte_ms: seen.first_byte.map(millis),
                key: ask.hint.key.to_owned(),
                latency_ms: millis(seen.latency),
                model: self.voice.id.clone(),
                model_returned: facts.model,
                ordinal: ask.hint.ordinal,
                outcome,
                request_bytes: body.len() as u64,
                request_digest: None,
                request_id: seen.request_id.map(|id| self.endpoint.redactor.redact(&id)),
                response_bytes: seen.response_bytes,
                retry_after_ms: seen.retry_after.map(millis),
                status: seen.status.map(i32::from),
                waited_ms: millis(waited),
            });
            match verdict {
                Verdict::Done(asked) => return Ok((*asked, seen.whole)),
                Verdict::Stop(_, stop) => return Err(self.endpoint.stopped.get_or_init(|| stop).clone()),
                Verdict::Again(_, class, message) => match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Ok((Reply::failed(class, message).into(), None)),
                },
            }
        }
        unreachable!("attempts end by themselves")
    }

    /// The address of a call. A model has one or two, so that the last one is most often the next one.
    fn address(&self, path: &str) -> Option<Url> {
        let mut last = self.last_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, url)) = &*last
            && known == path
        {
            return Some(url.clone());
        }
        let url = Url::parse(&format!("{}{path}", self.endpoint.base)).ok()?;
        *last = Some((path.to_owned(), url.clone()));
        Some(url)
    }

    /// The address as telemetry has it.
    fn shown_address(&self, call: &Call) -> String {
        format!("{}{}", self.endpoint.base, call.path.split('?').next().unwrap_or_default())
    }

    fn down(&self) -> Asked {
        let message = format!("not asked: {} had stopped answering", self.endpoint.base);
        Reply::failed(Class::EndpointDown, self.endpoint.link.told(message)).into()
    }
}

/// What telemetry wants to know of a result.
struct Facts {
    model: Option<String>,
    cached: Option<u64>,
    tokens: Option<u64>,
}

impl Facts {
    fn of(result: &Result<Completion, Failure>) -> Self {
        match result {
            Ok(completion) => {
                let Usage { input_tokens, output_tokens } = completion.usage;
                let tokens = Some(input_tokens.saturating_add(output_tokens)).filter(|tokens| *tokens > 0);
                Self { model: completion.model.clone(), cached: completion.cached, tokens }
            }
            // Nothing was used, as far as one can tell.
            Err(_) => Self { model: None, cached: None, tokens: Some(0) },
        }
    }
}

/// How much a result says that nobody is there; `None` when somebody is.
fn weight(result: &Result<Completion, Failure>) -> Option<Weight> {
    match result {
        Err(Failure::Broken(Class::Network, _) | Failure::Barred(_)) => Some(Weight::Heavy),
        Err(Failure::Broken(Class::Timeout, _)) => Some(Weight::Light),
        Err(Failure::Refused(refused)) if refused.class == Class::Server => Some(Weight::Light),
        _ => None,
    }
}

fn signal(verdict: &Verdict, seen: &Exchange) -> Signal {
    match verdict {
        // Some say 503 when it is too much.
        Verdict::Again(..) if matches!(seen.status, Some(429 | 503 | 529)) => Signal::Overload(seen.retry_after),
        Verdict::Done(asked) if matches!(asked.reply, Reply::Answered { .. }) => Signal::Fine(seen.latency),
        _ => Signal::Silent,
    }
}

/// Four bytes a token for what is sent, and the most that may come back.
fn guess_tokens(ask: &Ask<'_>, body: &[u8]) -> u64 {
    let most = ask.request.params.get("max_tokens").and_then(proofmark_canon::Value::as_u64);
    (body.len() as u64).div_ceil(4) + most.unwrap_or(256)
}
