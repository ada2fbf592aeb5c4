//! The start of a run, noted while the first questions are under way.
//!
//! The witness says at which commit the suite was, and git takes its time in a large repository. The questions need not
//! wait for it; the answers do, in front of the journal, until the start stands in its file. So a run that was killed has
//! either noted its start or kept no answer.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use proofmark_artefact::manifest::Platform;
use proofmark_artefact::store::Claim;
use tokio::sync::watch;

use crate::execute::RunError;
use crate::ready::Ready;
use crate::witness::{Invocation, Witness};

/// A witness that is being made, or is made.
pub(crate) struct Beginning {
    making: JoinHandle<io::Result<Witness>>,
    begun: Begun,
}

impl Beginning {
    /// Takes away what an earlier run left of a witness, and begins a new one.
    pub(crate) fn start(
        ready: &Arc<Ready>,
        claim: &Claim,
        invocation: Invocation,
        version: &str,
        platform: &Platform,
    ) -> io::Result<Self> {
        Witness::clear(claim)?;
        let (noted, begun) = watch::channel(false);
        let (ready, dir, starts) = (Arc::clone(ready), claim.dir().to_owned(), Witness::starts_of(claim));
        let (version, platform) = (version.to_owned(), platform.clone());
        let making = std::thread::Builder::new().name("begin".to_owned()).spawn(move || {
            let witness = Witness::new(&ready, &dir, invocation, &version, &platform);
            witness.note_start(&starts)?;
            noted.send_replace(true);
            Ok(witness)
        })?;
        Ok(Self { making, begun: Begun(begun) })
    }

    pub(crate) fn begun(&self) -> Begun {
        self.begun.clone()
    }

    /// The witness, once there is one.
    pub(crate) fn finish(self) -> Result<Witness, RunError> {
        self.making.join().map_err(|_| RunError::Panicked)?.map_err(RunError::Witness)
    }
}

/// Whether the start was noted.
#[derive(Clone)]
pub(crate) struct Begun(watch::Receiver<bool>);

impl Begun {
    /// Returns when it was; an error when it never will be.
    pub(crate) async fn wait(&self) -> io::Result<()> {
        if *self.0.borrow() {
            return Ok(());
        }
        let noted = self.0.clone().wait_for(|noted| *noted).await.map(drop);
        noted.map_err(|_| io::Error::other("the start of the run could not be noted"))
    }

    /// For a journal that belongs to no run.
    #[cfg(test)]
    pub(crate) fn now() -> Self {
        Self(watch::channel(true).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_wait_for_the_start_and_fail_without_one() {
        let (noted, begun) = watch::channel(false);
        let begun = Begun(begun);
        let waiting = tokio::spawn({
            let begun = begun.clone();
            async move { begun.wait().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        noted.send_replace(true);
        waiting.await.unwrap().unwrap();
        drop(noted);
        begun.wait().await.unwrap();
        let (never, begun) = watch::channel(false);
        drop(never);
        assert!(Begun(begun).wait().await.is_err());
    }
}
