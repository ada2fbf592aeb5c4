//! What is counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::route::Endpoint;

/// The counts at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Connections opened.
    pub connections: u64,
    /// Requests of every kind, those for the counts themselves left out.
    pub requests: u64,
    /// Requests that are being answered now.
    pub at_once: u64,
    /// The most requests that were being answered at once.
    pub most_at_once: u64,
    pub by_path: BTreeMap<String, u64>,
    /// What went wrong on purpose, by the words of `--fault`; `rate-limit` and `max-concurrent` for the limits.
    pub by_fault: BTreeMap<String, u64>,
    pub by_status: BTreeMap<u16, u64>,
}

/// Why a request was not answered as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Fault(Fault),
    RateLimit,
    MaxConcurrent,
}

impl Why {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.as_str(),
            Self::RateLimit => "rate-limit",
            Self::MaxConcurrent => "max-concurrent",
        }
    }
}

const STATUSES: [u16; 13] = [200, 400, 401, 403, 404, 405, 413, 429, 500, 502, 503, 529, 0];

/// The counts as they grow.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) connections: AtomicU64,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
    paths: [AtomicU64; Endpoint::ALL.len()],
    faults: [AtomicU64; Fault::ALL.len()],
    rate_limit: AtomicU64,
    max_concurrent: AtomicU64,
    statuses: [AtomicU64; STATUSES.len()],
}

impl Counts {
    pub(super) fn path(&self, endpoint: Endpoint) {
        add(&self.paths[endpoint as usize]);
    }

    pub(super) fn fault(&self, why: Why) {
        add(match why {
            Why::Fault(fault) => &self.faults[fault as usize],
            Why::RateLimit => &self.rate_limit,
            Why::MaxConcurrent => &self.max_concurrent,
        });
    }

    pub(super) fn status(&self, status: u16) {
        let at = STATUSES.iter().position(|have| *have == status).unwrap_or(STATUSES.len() - 1);
        add(&self.statuses[at]);
    }

    /// Takes a place among those that are being answered; also says how many there are now.
    pub(super) fn enter(self: &Arc<Self>) -> (InFlight, u64) {
        let now = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(now, Ordering::Relaxed);
        (InFlight(Arc::clone(self)), now)
    }

    pub(super) fn now(&self) -> Stats {
        let counted =
            |counts: &[AtomicU64]| counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let mut stats = Stats {
            connections: self.connections.load(Ordering::Relaxed),
            at_once: self.at_once.load(Ordering::Relaxed),
            most_at_once: self.most_at_once.load(Ordering::Relaxed),
            ..Stats::default()
        };
        for (endpoint, count) in Endpoint::ALL.into_iter().zip(counted(&self.paths)) {
            if count > 0 && endpoint != Endpoint::Stats {
                stats.requests += count;
                stats.by_path.insert(endpoint.label().to_owned(), count);
            }
        }
        let faults = Fault::ALL.into_iter().map(Why::Fault).zip(counted(&self.faults));
        let limits = [
            (Why::RateLimit, self.rate_limit.load(Ordering::Relaxed)),
            (Why::MaxConcurrent, self.max_concurrent.load(Ordering::Relaxed)),
        ];
        for (why, count) in faults.chain(limits).filter(|(_, count)| *count > 0) {
            stats.by_fault.insert(why.as_str().to_owned(), count);
        }
        stats.by_status = STATUSES.into_iter().zip(counted(&self.statuses)).filter(|(_, count)| *count > 0).collect();
        stats
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// A place among the requests that are being answered; given back when dropped.
pub(super) struct InFlight(Arc<Counts>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_once_is_a_high_water_mark() {
        let counts = Arc::new(Counts::default());
        let (first, _) = counts.enter();
        let (_second, now) = counts.enter();
        assert_eq!(now, 2);
        drop(first);
        assert_eq!(counts.enter().1, 2);
        assert_eq!(counts.now().most_at_once, 2);
    }

    #[test]
    fn every_variant_has_a_count_of_its_own() {
        let counts = Counts::default();
        Endpoint::ALL.into_iter().for_each(|endpoint| counts.path(endpoint));
        Fault::ALL.into_iter().for_each(|fault| counts.fault(Why::Fault(fault)));
        let stats = counts.now();
        assert_eq!(stats.by_path.len(), Endpoint::ALL.len() - 1);
        assert_eq!(stats.by_fault.len(), Fault::ALL.len());
        assert!(stats.by_fault.values().chain(stats.by_path.values()).all(|count| *count == 1));
    }
}
