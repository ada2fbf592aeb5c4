//! Notices that an endpoint is dead.
//!
//! After some failures in a row nobody is let through but one who looks again now and then, at growing
//! distances. Whoever waits uses up no retries. When it has been dead for too long, nobody waits any
//! more: samples are skipped at once, and every look that finds it alive ends that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct Breaker {
    /// How long a dead endpoint is waited for.
    patience: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Weight of the failures since it last answered.
    failures: u32,
    has_answered: bool,
    /// Since when it is dead.
    dead_since: Option<Instant>,
    next_look: Option<Instant>,
    looks: u32,
    is_looking: bool,
}

/// The endpoint has been dead for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Down;

/// A way through. What came of it must be said; dropping it says nothing.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    breaker: &'a Breaker,
    is_look: bool,
}

/// How much a failure says about the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Nobody is there.
    Heavy = 4,
    /// Somebody is there and failed: it may be the question.
    Light = 1,
}

/// Weight of failures in a row from which on an endpoint is taken for dead.
const DEAD: u32 = 32;
/// One that has never answered is waited for less long: it is likely to be a wrong address.
const STRANGER: u32 = 12;
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(15);

impl Breaker {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, state: Mutex::default(), changed: Notify::new() }
    }

    /// Waits until the endpoint may be asked.
    pub(crate) async fn enter(&self) -> Result<Pass<'_>, Down> {
        // Nearly always.
        if self.lock().dead_since.is_none() {
            return Ok(Pass { breaker: self, is_look: false });
        }
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that no change is missed.
            changed.as_mut().enable();
            let wake = {
                let mut state = self.lock();
                let Some(dead_since) = state.dead_since else { return Ok(Pass { breaker: self, is_look: false }) };
                let now = Instant::now();
                let look_at = state.next_look.unwrap_or(now);
                if !state.is_looking && look_at <= now {
                    state.is_looking = true;
                    return Ok(Pass { breaker: self, is_look: true });
                }
                let patience = if state.has_answered { self.patience } else { self.patience / STRANGER };
                let give_up = dead_since + patience;
                if give_up <= now {
                    return Err(Down);
                }
                if state.is_looking { give_up } else { look_at.min(give_up) }
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// The endpoint answered, whatever it said.
    pub(crate) fn alive(self) {
        let mut state = self.breaker.lock();
        let was_dead = state.dead_since.is_some();
        *state = State { has_answered: true, ..State::default() };
        drop(state);
        if was_dead {
            self.breaker.changed.notify_waiters();
        }
    }

    /// It did not.
    pub(crate) fn dead(self, weight: Weight) {
        let mut state = self.breaker.lock();
        state.failures = state.failures.saturating_add(weight as u32);
        if state.failures >= DEAD {
            let now = Instant::now();
            state.dead_since.get_or_insert(now);
            if self.is_look || state.next_look.is_none() {
                let distance = FIRST_LOOK.saturating_mul(1 << state.looks.min(10)).min(LAST_LOOK);
                state.looks += 1;
                state.next_look = Some(now + distance);
            }
        }
    }

    /// Whether this is the one who looks again.
    #[cfg(test)]
    fn is_look(&self) -> bool {
        self.is_look
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_look {
            self.breaker.lock().is_looking = false;
            self.breaker.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);
    const FAILURES: u32 = 8;

    async fn kill(breaker: &Breaker) {
        breaker.enter().await.unwrap().alive();
        for _ in 0..FAILURES {
            breaker.enter().await.unwrap().dead(Weight::Heavy);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_failures_are_nothing() {
        let breaker = Breaker::new(PATIENCE);
        for _ in 0..FAILURES - 1 {
            breaker.enter().await.unwrap().dead(Weight::Heavy);
        }
        breaker.enter().await.unwrap().alive();
        for _ in 0..FAILURES - 1 {
            breaker.enter().await.unwrap().dead(Weight::Heavy);
        }
        assert!(!breaker.enter().await.unwrap().is_look());
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_endpoint_is_looked_at_by_one_at_a_time_and_the_others_wait() {
        let breaker = Breaker::new(PATIENCE);
        kill(&breaker).await;
        let start = Instant::now();
        let look = breaker.enter().await.unwrap();
        assert!(look.is_look());
        assert_eq!(start.elapsed(), FIRST_LOOK);
        let waiting = tokio::time::timeout(Duration::from_secs(1), breaker.enter()).await;
        assert!(waiting.is_err());
        look.alive();
        assert!(!breaker.enter().await.unwrap().is_look());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let breaker = Breaker::new(PATIENCE);
        kill(&breaker).await;
        let start = Instant::now();
        let mut looks = 0;
        let down = loop {
            match breaker.enter().await {
                Ok(pass) => {
                    looks += 1;
                    pass.dead(Weight::Heavy);
                }
                Err(down) => break down,
            }
        };
        assert_eq!(down, Down);
        assert_eq!(start.elapsed(), PATIENCE);
        assert!((4..=6).contains(&looks), "{looks}");
        // From now on it is said at once, until a look finds it alive.
        assert_eq!(breaker.enter().await.err(), Some(Down));
        tokio::time::sleep(LAST_LOOK).await;
        breaker.enter().await.unwrap().alive();
        assert!(breaker.enter().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_is_waited_for_less_long_and_a_failing_server_longer() {
        let breaker = Breaker::new(PATIENCE);
        for _ in 0..FAILURES {
            breaker.enter().await.unwrap().dead(Weight::Heavy);
        }
        let start = Instant::now();
        while let Ok(pass) = breaker.enter().await {
            pass.dead(Weight::Heavy);
        }
        let waited = start.elapsed();
        assert!(waited >= PATIENCE / STRANGER && waited < PATIENCE / STRANGER * 2, "{waited:?}");

        let breaker = Breaker::new(PATIENCE);
        for _ in 0..DEAD - 1 {
            breaker.enter().await.unwrap().dead(Weight::Light);
        }
        assert!(!breaker.enter().await.unwrap().is_look());
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_is_given_up_leaves_the_way_free() {
        let breaker = Breaker::new(PATIENCE);
        kill(&breaker).await;
        let look = breaker.enter().await.unwrap();
        drop(look);
        assert!(breaker.enter().await.unwrap().is_look());
    }
}
