//! A model behind an endpoint: encode, wait for a place, ask, understand, try again or give up.

use std::sync::Arc;
use std::time::Duration;

use proofmark_artefact::picture;
use proofmark_artefact::record::{Image, Output, Usage};
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_artefact::text::visible;
use proofmark_canon::{Digest, id};
use reqwest::Url;
use tokio::time::Instant;

use super::breaker::Weight;
use super::endpoint::Endpoint;
use super::http::{Exchange, Failure, exchange};
use super::limit::Signal;
use super::retry::Failed;
use crate::ask::{Ask, Asked, Asking, Blob, Model, Reply, Stop, Turn};
use crate::class::Class;
use crate::wire::{Call, Completion, Finish, Then, Wire};

/// Milliseconds since 1970, from whoever has a clock.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub(crate) struct Live {
    /// The model's id in the suite.
    pub(crate) id: String,
    /// The provider's name of it.
    pub(crate) model: String,
    pub(crate) wire: Box<dyn Wire>,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) lane: String,
    pub(crate) clock: Clock,
    /// What is missing before anything can be asked.
    pub(crate) missing: Option<Stop>,
    /// Where the address came from, when it is not the provider's own.
    pub(crate) surroundings: Vec<(&'static str, String)>,
}

impl Model for Live {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(self.ask_until_done(ask))
    }

    fn lane(&self) -> &str {
        &self.lane
    }

    fn max_in_flight(&self) -> Option<usize> {
        Some(self.endpoint.most)
    }

    fn surroundings(&self) -> Vec<(&'static str, String)> {
        self.surroundings.clone()
    }

    fn check_ready(&self) -> Result<(), Stop> {
        self.missing.clone().map_or(Ok(()), Err)
    }
}

/// What to do after an attempt.
enum Verdict {
    Done(Box<Asked>),
    /// Worth another attempt: the failure that stands when there is none.
    Again(Failed, Class, String),
    Stop(Stop),
}

impl Live {
    async fn ask_until_done(&self, ask: Ask<'_>) -> Result<Asked, Stop> {
        self.check_ready()?;
        let call = match self.wire.encode(&self.model, ask.request) {
            Ok(call) => call,
            Err(why) => return Ok(Reply::failed(Class::Unsupported, why).into()),
        };
        let url = Url::parse(&format!("{}{}", self.endpoint.shown, call.path));
        let Ok(url) = url else {
            return Ok(Reply::failed(Class::BadRequest, "the model's name does not fit into an address").into());
        };
        let guess = guess_tokens(&ask, &call);
        let seed = ask.request.seed.get();
        for attempt in 1.. {
            let arrived = Instant::now();
            let Ok(pass) = self.endpoint.breaker.enter().await else { return Ok(self.down()) };
            let permit = self.endpoint.gate.enter(guess).await;
            let waited = arrived.elapsed();
            if let Some(stop) = self.endpoint.stopped.get() {
                return Err(stop.clone());
            }
            let at = (self.clock)();
            let Endpoint { client, headers, deadlines, .. } = &*self.endpoint;
            let request_bytes = call.body.len() as u64;
            let mut seen = exchange(client, url.clone(), headers.clone(), &*self.wire, call.clone(), deadlines).await;
            let result = std::mem::replace(&mut seen.result, Err(Failure::Broken(Class::Network, String::new())));
            match weight(&result) {
                Some(weight) => pass.dead(weight),
                None => pass.alive(),
            }
            let (facts, verdict) = (Facts::of(&result), self.judge(result));
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
                Verdict::Stop(_) => AttemptOutcome::Stopped,
            };
            let class = match &verdict {
                Verdict::Done(asked) => match &asked.reply {
                    Reply::Answered { .. } => None,
                    Reply::Failed { class, .. } => Some(class.clone()),
                },
                Verdict::Again(_, class, _) => Some(class.as_str().to_owned()),
                Verdict::Stop(_) => Some(Class::Auth.as_str().to_owned()),
            };
            ask.log.attempt(&Attempt {
                at: id::rfc3339(at),
                attempt,
                cached_input_tokens: facts.cached,
                call: calls_before(&ask),
                class,
                endpoint: format!("{}{}", self.endpoint.shown, call.path.split('?').next().unwrap_or_default()),
                first_byte_ms: seen.first_byte.map(millis),
                key: ask.hint.key.to_owned(),
                latency_ms: millis(seen.latency),
                model: self.id.clone(),
                model_returned: facts.model,
                ordinal: ask.hint.ordinal,
                outcome,
                request_bytes,
                request_id: seen.request_id,
                response_bytes: seen.response_bytes,
                retry_after_ms: seen.retry_after.map(millis),
                status: seen.status.map(i32::from),
                waited_ms: millis(waited),
            });
            match verdict {
                Verdict::Done(asked) => return Ok(*asked),
                Verdict::Stop(stop) => return Err(self.endpoint.stopped.get_or_init(|| stop).clone()),
                Verdict::Again(_, class, message) => match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Ok(Reply::failed(class, message).into()),
                },
            }
        }
        unreachable!("attempts end by themselves")
    }

    /// What a result means for the sample.
    fn judge(&self, result: Result<Completion, Failure>) -> Verdict {
        let failed = |class, message: String| Verdict::Done(Box::new(Reply::failed(class, message).into()));
        match result {
            Ok(completion) => self.answer(completion),
            Err(Failure::Broken(Class::Timeout, message)) => Verdict::Again(Failed::TimedOut, Class::Timeout, message),
            Err(Failure::Broken(class, message)) => Verdict::Again(Failed::Passing, class, message),
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
                    Then::Stop => Verdict::Stop(Stop {
                        message: format!("`{}` at {}: {words}", self.model, self.endpoint.base),
                        hint: Some(match refused.class {
                            Class::Auth => "check the key and the account; nothing more was asked".to_owned(),
                            _ => "check the model's name and the address; nothing more was asked".to_owned(),
                        }),
                    }),
                }
            }
        }
    }

    /// An answer, or what looks like one and is none.
    fn answer(&self, completion: Completion) -> Verdict {
        let Completion { text, reasoning, calls, images, logprobs, finish, usage, model, keep, .. } = completion;
        let failed =
            |class, message: String| Verdict::Done(Box::new(Reply::failed(class, message).with_usage(usage).into()));
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
        if text.is_empty() && calls.is_empty() && images.is_empty() {
            let why = if finish == Finish::Length { "; the limit of tokens was used up before one began" } else { "" };
            return failed(Class::Empty, format!("the model gave no answer{why}"));
        }
        let mut blobs = Vec::new();
        let mut facts = Vec::new();
        for image in images {
            let seen = match picture::sniff(&image.bytes) {
                Ok(seen) => seen,
                Err(error) => return failed(Class::Malformed, format!("what came is no picture: {error}")),
            };
            let digest = Digest::of(&image.bytes);
            facts.push(Image {
                bytes: image.bytes.len() as u64,
                digest,
                height: seen.height,
                media_type: seen.media_type.to_owned(),
                width: seen.width,
            });
            blobs.push(Blob { digest, media_type: seen.media_type.to_owned(), bytes: image.bytes });
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
        let redacted = self.endpoint.redactor.redact(text);
        let line: String = redacted.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(MAX_WORDS).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        format!("{}{more}", visible(&short))
    }

    fn named(&self, what: &str, why: &str) -> String {
        if why.trim().is_empty() { what.to_owned() } else { format!("{what}: {}", self.words(why)) }
    }

    fn down(&self) -> Asked {
        let message = format!("not asked: {} had stopped answering", self.endpoint.base);
        Reply::failed(Class::EndpointDown, message).into()
    }
}

/// The longest text of a provider that is kept.
const MAX_WORDS: usize = 300;

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
        Err(Failure::Broken(Class::Network, _)) => Some(Weight::Heavy),
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
fn guess_tokens(ask: &Ask<'_>, call: &Call) -> u64 {
    let most = ask.request.params.get("max_tokens").and_then(proofmark_canon::Value::as_u64);
    (call.body.len() as u64).div_ceil(4) + most.unwrap_or(256)
}

fn calls_before(ask: &Ask<'_>) -> u32 {
    ask.request.turns.iter().filter(|turn| matches!(turn, Turn::Model { .. })).count() as u32
}

fn millis(duration: Duration) -> f64 {
    // Three digits are enough, and keep lines short.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
