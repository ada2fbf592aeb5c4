//! Who asks what next: one lane for each endpoint.
//!
//! A worker of a lane takes the lane's next sample. What it meets on the way and belongs to another lane
//! waits there. So an endpoint that is slow or dead holds up its own lane and no other, until the window
//! between the oldest and the newest sample is used up.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::source::{Source, SourceError, Unit};

/// The samples of a run, sorted by lane as they are taken.
pub(crate) struct Lanes {
    /// By model.
    of_model: Vec<usize>,
    /// Something was put into the lane by somebody else.
    arrived: Vec<Notify>,
    state: Mutex<State>,
}

struct State {
    source: Source,
    waiting: Vec<VecDeque<Unit>>,
}

/// What taking a sample from the source came to.
pub(crate) enum Pulled {
    Mine(Box<Unit>),
    /// It was for another lane, and waits there.
    Others,
    End,
}

impl Lanes {
    pub(crate) fn new(source: Source, of_model: Vec<usize>) -> Self {
        let lanes = of_model.iter().max().map_or(1, |last| last + 1);
        let arrived = (0..lanes).map(|_| Notify::new()).collect();
        let waiting = (0..lanes).map(|_| VecDeque::new()).collect();
        Self { of_model, arrived, state: Mutex::new(State { source, waiting }) }
    }

    /// Takes a sample that waits in the lane. It has its place in the window already.
    pub(crate) fn pop(&self, lane: usize) -> Option<Unit> {
        self.lock().waiting[lane].pop_front()
    }

    /// Takes the next sample from the source. Whoever calls has a place in the window for it.
    pub(crate) fn pull(&self, lane: usize) -> Result<Pulled, SourceError> {
        let mut state = self.lock();
        let Some(unit) = state.source.next_unit()? else { return Ok(Pulled::End) };
        let its = self.of_model[unit.model];
        if its == lane && state.waiting[lane].is_empty() {
            return Ok(Pulled::Mine(Box::new(unit)));
        }
        state.waiting[its].push_back(unit);
        drop(state);
        self.arrived[its].notify_one();
        Ok(Pulled::Others)
    }

    /// Waits until somebody puts something into the lane.
    pub(crate) fn arrived(&self, lane: usize) -> Notified<'_> {
        self.arrived[lane].notified()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
