//! How many requests an endpoint is sent at once and a minute.
//!
//! The number of requests at once adapts: it falls when the endpoint says that it is too much, and grows
//! back while it is used to the full and nothing is said. Requests and tokens a minute are buckets that
//! fill steadily. All of it is on tokio's clock, so that tests can hold it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// What an endpoint may be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    /// Requests at once in the beginning.
    pub(crate) start: usize,
    /// Requests at once, at most.
    pub(crate) most: usize,
    pub(crate) requests_per_minute: Option<u32>,
    pub(crate) tokens_per_minute: Option<u64>,
}

/// Lets requests through.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: f64,
    /// Held by whoever is next, where rates make people wait: they are served in the order in which they came. Without
    /// rates nobody takes it.
    turn: Option<tokio::sync::Mutex<()>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many may be under way; the whole part counts.
    limit: f64,
    in_flight: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
    /// Grows by one with every answer until the endpoint has complained once.
    is_probing: bool,
    /// Counts decreases. What began before the last one says nothing about the limit that came of it.
    epoch: u64,
    /// Complaints since the last answer.
    complaints: u32,
    /// Nobody is let through before.
    paused_until: Option<Instant>,
    fastest: Option<Duration>,
    /// A moving average.
    usual: Option<Duration>,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// A place under the limit. Dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Permit {
    shared: Arc<Shared>,
    epoch: u64,
    /// Tokens that were taken in advance.
    reserved: u64,
}

/// What an attempt says about the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// It answered, after this long.
    Fine(Duration),
    /// It says that it is too much.
    Overload(Option<Duration>),
    /// Neither.
    Silent,
}

/// How much the limit falls when the endpoint complains.
const DECREASE: f64 = 0.7;
/// An answer that takes this many times as long as the fastest shows a queue: growing further gains nothing.
const SLOWED: u32 = 4;
/// Complaints in a row after which everyone waits, not only those who were told to.
const PAUSE_AFTER: u32 = 3;

impl Gate {
    pub(crate) fn new(rates: Rates) -> Self {
        let most = rates.most.max(1);
        let state = State {
            limit: rates.start.clamp(1, most) as f64,
            in_flight: 0,
            waiting: VecDeque::new(),
            is_probing: true,
            epoch: 0,
            complaints: 0,
            paused_until: None,
            fastest: None,
            usual: None,
            requests: rates.requests_per_minute.map(|rate| Bucket::new(f64::from(rate))),
            tokens: rates.tokens_per_minute.map(|rate| Bucket::new(rate as f64)),
        };
        let turn = (state.requests.is_some() || state.tokens.is_some()).then(tokio::sync::Mutex::default);
        Self(Arc::new(Shared { most: most as f64, turn, state: Mutex::new(state) }))
    }

    /// Waits for a place, then for the buckets. `tokens` is what the request will cost, as far as one can guess.
    pub(crate) async fn enter(&self, tokens: u64) -> Permit {
        // Tokio's mutex is a queue. Whoever gives up, waiting for a turn or having it, lets the next one in.
        let _turn = match &self.0.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        let mut permit = self.place().await;
        loop {
            let wait = {
                let mut state = self.0.lock();
                let now = Instant::now();
                match state.paused_until.filter(|until| *until > now) {
                    Some(until) => until - now,
                    None => match state.draw(now, tokens) {
                        Ok(()) => {
                            permit.reserved = tokens;
                            permit.epoch = state.epoch;
                            return permit;
                        }
                        Err(wait) => wait,
                    },
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn place(&self) -> Permit {
        let receiver = {
            let mut state = self.0.lock();
            if state.in_flight < state.room() && state.waiting.is_empty() {
                state.in_flight += 1;
                return Permit { shared: Arc::clone(&self.0), epoch: state.epoch, reserved: 0 };
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            receiver
        };
        match receiver.await {
            Ok(permit) => permit,
            // The sender lives in the state, which `self` keeps.
            Err(_) => std::future::pending().await,
        }
    }

    /// How many may be under way now.
    #[cfg(test)]
    fn limit(&self) -> usize {
        self.0.lock().room()
    }
}

impl Permit {
    /// Gives the place back and says what came of it.
    pub(crate) fn leave(self, signal: Signal, tokens: Option<u64>) {
        let mut state = self.shared.lock();
        if let (Some(used), Some(bucket)) = (tokens, &mut state.tokens) {
            bucket.level += self.reserved as f64 - used as f64;
        }
        match signal {
            Signal::Fine(latency) => state.grow(latency, self.shared.most),
            Signal::Overload(pause) => {
                state.complaints += 1;
                if self.epoch == state.epoch {
                    state.epoch += 1;
                    state.is_probing = false;
                    state.limit = (state.limit.min(state.in_flight as f64) * DECREASE).max(1.0);
                }
                if let Some(pause) = pause
                    && state.complaints >= PAUSE_AFTER
                {
                    state.paused_until = Some(Instant::now() + pause);
                }
            }
            Signal::Silent => {}
        }
        drop(state);
        // The place itself goes back when `self` is dropped.
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut handed = Vec::new();
        {
            let mut state = self.shared.lock();
            state.in_flight -= 1;
            while state.in_flight < state.room()
                && let Some(next) = state.waiting.pop_front()
            {
                // Nobody may be waiting behind it any more; then the next one is asked.
                if next.is_closed() {
                    continue;
                }
                state.in_flight += 1;
                handed.push((next, Self { shared: Arc::clone(&self.shared), epoch: state.epoch, reserved: 0 }));
            }
        }
        // Outside of the lock: a permit that nobody takes is dropped right here.
        for (next, permit) in handed {
            drop(next.send(permit));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn room(&self) -> usize {
        self.limit as usize
    }

    fn grow(&mut self, latency: Duration, most: f64) {
        self.complaints = 0;
        let fastest = self.fastest.map_or(latency, |fastest| fastest.min(latency));
        let usual = self.usual.map_or(latency, |usual| (usual * 7 + latency) / 8);
        (self.fastest, self.usual) = (Some(fastest), Some(usual));
        // Half is enough: places that were just given back count as used.
        let is_used = self.in_flight * 2 >= self.room();
        if !is_used || self.limit >= most {
            return;
        }
        // Long answers differ by nature; a queue shows only when hardly anything is fast any more.
        if usual > fastest * SLOWED && fastest > Duration::from_millis(5) {
            self.is_probing = false;
            return;
        }
        self.limit = (self.limit + if self.is_probing { 1.0 } else { 1.0 / self.limit }).min(most);
    }

    /// Takes from both buckets, or says how long to wait.
    fn draw(&mut self, now: Instant, tokens: u64) -> Result<(), Duration> {
        let mut wait = Duration::ZERO;
        for bucket in [&mut self.requests, &mut self.tokens].into_iter().flatten() {
            wait = wait.max(bucket.wait(now));
        }
        if !wait.is_zero() {
            return Err(wait);
        }
        if let Some(bucket) = &mut self.requests {
            bucket.level -= 1.0;
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.level -= tokens as f64;
        }
        Ok(())
    }
}

/// Fills steadily. It may be overdrawn by one request, so that one larger than the bucket is possible.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    at: Option<Instant>,
}

impl Bucket {
    fn new(per_minute: f64) -> Self {
        // A tenth of a minute's worth at once: providers count in shorter windows than they say.
        let capacity = (per_minute / 10.0).max(1.0);
        Self { per_second: per_minute / 60.0, capacity, level: capacity, at: None }
    }

    fn wait(&mut self, now: Instant) -> Duration {
        let since = now - self.at.replace(now).unwrap_or(now);
        self.level = (self.level + since.as_secs_f64() * self.per_second).min(self.capacity);
        let missing = if self.capacity < 2.0 { 1.0 - self.level } else { 1e-9 - self.level };
        if missing <= 1e-9 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64((missing / self.per_second).max(0.001))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Rates = Rates { start: 8, most: 64, requests_per_minute: None, tokens_per_minute: None };
    const QUICK: Signal = Signal::Fine(Duration::from_millis(10));

    async fn fill(gate: &Gate) -> Vec<Permit> {
        let mut permits = Vec::new();
        while let Ok(permit) = tokio::time::timeout(Duration::from_millis(1), gate.enter(0)).await {
            permits.push(permit);
        }
        permits
    }

    /// Keeps the gate busy with answers of 10 ms.
    async fn busy(gate: &Gate, workers: usize, rounds: usize) {
        let work = |gate: Gate| async move {
            for _ in 0..rounds {
                let permit = gate.enter(0).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                permit.leave(QUICK, None);
            }
        };
        let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(gate.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_grows_while_it_is_used_and_nobody_complains() {
        let gate = Gate::new(OPEN);
        let start = Instant::now();
        busy(&gate, 64, 20).await;
        assert_eq!(gate.limit(), 64);
        // 8, 16, 32, then 64 at once: three rounds more than with 64 from the beginning.
        assert!(start.elapsed() <= Duration::from_millis(240), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_grow_when_it_is_not_used() {
        let gate = Gate::new(OPEN);
        busy(&gate, 2, 100).await;
        assert_eq!(gate.limit(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn one_burst_of_complaints_counts_once_and_growth_is_slow_after_it() {
        let gate = Gate::new(Rates { start: 40, ..OPEN });
        let permits = fill(&gate).await;
        permits.into_iter().for_each(|permit| permit.leave(Signal::Overload(None), None));
        assert_eq!(gate.limit(), 28);
        fill(&gate).await.into_iter().for_each(|permit| permit.leave(QUICK, None));
        assert_eq!(gate.limit(), 28);
        fill(&gate).await.into_iter().for_each(|permit| permit.leave(QUICK, None));
        assert!((28..=29).contains(&gate.limit()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_falls_below_one() {
        let gate = Gate::new(Rates { start: 2, ..OPEN });
        for _ in 0..20 {
            gate.enter(0).await.leave(Signal::Overload(None), None);
        }
        assert_eq!(gate.limit(), 1);
        drop(gate.enter(0).await);
    }

    #[tokio::test(start_paused = true)]
    async fn complaints_in_a_row_make_everyone_wait() {
        let gate = Gate::new(OPEN);
        let start = Instant::now();
        for _ in 0..3 {
            gate.enter(0).await.leave(Signal::Overload(Some(Duration::from_secs(7))), None);
        }
        gate.enter(0).await.leave(QUICK, None);
        assert_eq!(start.elapsed().as_secs(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_a_minute_are_kept() {
        let gate = Gate::new(Rates { requests_per_minute: Some(60), ..OPEN });
        let start = Instant::now();
        for _ in 0..126 {
            gate.enter(0).await.leave(QUICK, None);
        }
        let seconds = start.elapsed().as_secs_f64();
        assert!((119.0..=121.0).contains(&seconds), "{seconds}");
    }

    /// Starts waiters that note their number when they are let in.
    fn queue(gate: &Gate, count: usize) -> (Vec<tokio::task::JoinHandle<()>>, Arc<Mutex<Vec<usize>>>) {
        let served = Arc::new(Mutex::new(Vec::new()));
        let wait = |number: usize| {
            let (gate, served) = (gate.clone(), Arc::clone(&served));
            tokio::spawn(async move {
                let permit = gate.enter(10).await;
                served.lock().unwrap().push(number);
                tokio::time::sleep(Duration::from_millis(10)).await;
                permit.leave(QUICK, Some(10));
            })
        };
        ((0..count).map(wait).collect(), served)
    }

    #[tokio::test(start_paused = true)]
    async fn rates_serve_in_the_order_of_arrival() {
        for rates in [
            Rates { requests_per_minute: Some(240), ..OPEN },
            Rates { requests_per_minute: Some(6), ..OPEN },
            Rates { tokens_per_minute: Some(2400), ..OPEN },
            Rates { start: 1, most: 1, requests_per_minute: Some(240), ..OPEN },
        ] {
            let gate = Gate::new(rates);
            let (waiting, served) = queue(&gate, 80);
            for task in waiting {
                task.await.unwrap();
            }
            assert_eq!(*served.lock().unwrap(), (0..80).collect::<Vec<_>>(), "{rates:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_in_the_queue_of_a_rate_holds_nobody_up() {
        let gate = Gate::new(Rates { requests_per_minute: Some(60), ..OPEN });
        let start = Instant::now();
        let (waiting, served) = queue(&gate, 36);
        tokio::time::sleep(Duration::from_millis(100)).await;
        // The one whose turn it is, one in the middle, the last one.
        for number in [7, 20, 35] {
            waiting[number].abort();
        }
        for task in waiting {
            drop(task.await);
        }
        let left: Vec<usize> = (0..36).filter(|number| ![7, 20, 35].contains(number)).collect();
        assert_eq!(*served.lock().unwrap(), left);
        // Seven at once, then one a second: what nobody took is there for the next one.
        let seconds = start.elapsed().as_secs_f64();
        assert!((25.0..=27.0).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_a_minute_are_kept_and_corrected_afterwards() {
        let gate = Gate::new(Rates { tokens_per_minute: Some(6000), ..OPEN });
        let start = Instant::now();
        // Guessed at 500, used 100: what counts is what was used.
        for _ in 0..126 {
            gate.enter(500).await.leave(QUICK, Some(100));
        }
        let seconds = start.elapsed().as_secs_f64();
        assert!((115.0..=126.0).contains(&seconds), "{seconds}");
        // One that is larger than the bucket is possible.
        tokio::time::timeout(Duration::from_secs(600), gate.enter(100_000)).await.unwrap().leave(QUICK, None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_no_hole() {
        let gate = Gate::new(Rates { start: 1, most: 1, ..OPEN });
        let held = gate.enter(0).await;
        for _ in 0..10 {
            assert!(tokio::time::timeout(Duration::from_millis(1), gate.enter(0)).await.is_err());
        }
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter(0).await }
        });
        tokio::task::yield_now().await;
        drop(held);
        drop(waiting.await.unwrap());
        assert_eq!(fill(&gate).await.len(), 1);
    }
}
