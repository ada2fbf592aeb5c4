//! Cassettes: every call to a model, kept so that it can be answered again without one.
//!
//! A cassette sits between a model and the network. Everything above it (classes, records, scores) works as in the real
//! run, and so plane 1 of a replayed run is that of the recorded one, byte for byte.
//!
//! - [`entry`] a request and what came of it; [`store`] the folder of them;
//! - [`tape`] a model's view of a cassette; [`program`] a model behind a program, with a cassette.

pub mod entry;
pub(crate) mod program;
pub mod store;
pub(crate) mod tape;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::ask::Stop;
use entry::{Answer, Entry, Question, RequestDigest};
use store::{CassetteError, Store, Written};

/// What is done with a cassette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Ask, and keep what comes; in place of what was there.
    Record,
    /// Ask nobody: what is not there stops the run.
    Replay,
    /// Take what is there, ask for the rest and keep it.
    Auto,
}

/// A cassette in use.
#[derive(Debug)]
pub struct Cassette {
    store: Store,
    mode: Mode,
}

/// Entries that are unpacked at once. It takes a processor, and memory for large ones.
static READERS: Semaphore = Semaphore::const_new(4);

impl Cassette {
    /// Opens a cassette. One that is not there is made, unless it is to be replayed.
    pub fn open(dir: &Path, mode: Mode) -> Result<Arc<Self>, CassetteError> {
        let store = if mode == Mode::Replay { Store::open(dir)? } else { Store::open_or_create(dir)? };
        Ok(Arc::new(Self { store, mode }))
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether nobody is ever asked.
    pub(crate) fn is_replay(&self) -> bool {
        self.mode == Mode::Replay
    }

    /// What a request is answered with before anybody is asked; `None` to ask. In replay nobody can be, so a miss
    /// stops the run.
    pub(crate) async fn find(self: &Arc<Self>, digest: RequestDigest, key: &str) -> Result<Option<Entry>, Stop> {
        if self.mode == Mode::Record {
            return Ok(None);
        }
        // Nobody closes it.
        let _turn = READERS.acquire().await.ok();
        let found = self.on_thread(move |store| store.load(digest)).await?;
        match self.mode {
            // A failure that may pass is worth another question.
            Mode::Auto => Ok(found.filter(|entry| !entry.answer.is_passing())),
            _ => found.map(Some).ok_or_else(|| self.miss(digest, key)),
        }
    }

    /// Keeps what came of a request. Returns another's entry when that was there first and stands.
    pub(crate) async fn keep(self: &Arc<Self>, question: Question, answer: Answer) -> Result<Option<Entry>, Stop> {
        let mode = self.mode;
        self.on_thread(move |store| {
            let entry = Entry::new(question, answer)?;
            if mode == Mode::Auto && store.add(&entry)? == Written::WasThere {
                let other = store.load(entry.digest)?.filter(|other| !other.answer.is_passing());
                if other.is_some() {
                    return Ok(other);
                }
            } else if mode == Mode::Auto {
                return Ok(None);
            }
            store.replace(&entry).map(|()| None)
        })
        .await
    }

    /// Works with files and packs and unpacks, which is nothing for a thread that others wait for.
    async fn on_thread<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Store) -> Result<T, CassetteError> + Send + 'static,
    ) -> Result<T, Stop> {
        let cassette = Arc::clone(self);
        match tokio::task::spawn_blocking(move || work(&cassette.store)).await {
            Ok(done) => done.map_err(|error| stop_of(&error)),
            Err(_) => Err(Stop {
                message: "a part of the cassette panicked; this is a bug in Proofmark".to_owned(),
                hint: None,
            }),
        }
    }

    fn miss(&self, digest: RequestDigest, key: &str) -> Stop {
        let dir = self.store.dir().display();
        Stop {
            message: format!("sample `{key}` is not on the cassette `{dir}`: it has no {digest}"),
            hint: Some(format!(
                "the suite, a prompt or a parameter is not what was recorded; put it back, or record what is missing \
                 with `--cassette {dir} --cassette-mode auto`"
            )),
        }
    }
}

fn stop_of(error: &CassetteError) -> Stop {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Stop { message, hint: error.hint() }
}
