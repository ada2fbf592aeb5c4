//! What a run may spend: money, tokens, time. It stops before it goes over, and can be resumed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proofmark_artefact::manifest::PriceEntry;
use proofmark_artefact::record::Usage;

/// How much may be spent, over the whole run: what was spent before it was resumed counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    pub cost_usd: Option<f64>,
    /// Input and output together.
    pub tokens: Option<u64>,
    /// Of this process alone.
    pub time: Option<Duration>,
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spent {
    Cost { spent_usd: f64, most_usd: f64 },
    Tokens { spent: u64, most: u64 },
    Time { most: Duration },
}

impl std::fmt::Display for Spent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cost { spent_usd, most_usd } => write!(f, "${spent_usd:.4} of ${most_usd:.4} are spent"),
            Self::Tokens { spent, most } => write!(f, "{spent} of {most} tokens are spent"),
            Self::Time { most } => write!(f, "{} s have passed", most.as_secs_f64()),
        }
    }
}

/// Keeps count while a run goes.
#[derive(Debug)]
pub(crate) struct Purse {
    budget: Budget,
    start: Instant,
    prices: Vec<Option<PriceEntry>>,
    /// By model: input and output tokens.
    used: Vec<[AtomicU64; 2]>,
    answered: AtomicU64,
    in_flight: AtomicU64,
}

/// A question under way; what it will cost is not known yet.
pub(crate) struct Open<'a>(&'a Purse);

impl Purse {
    pub(crate) fn new(budget: Budget, prices: Vec<Option<PriceEntry>>) -> Self {
        let used = prices.iter().map(|_| Default::default()).collect();
        let (answered, in_flight) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { budget, start: Instant::now(), prices, used, answered, in_flight }
    }

    /// Opens a question, unless it might go over the budget: questions under way are taken to cost what the others
    /// did on average.
    pub(crate) fn open(&self) -> Result<Open<'_>, Spent> {
        let Budget { cost_usd, tokens, time } = self.budget;
        if let Some(most) = time.filter(|most| self.start.elapsed() >= *most) {
            return Err(Spent::Time { most });
        }
        let under_way = self.in_flight.load(Ordering::Relaxed) as f64;
        let answered = self.answered.load(Ordering::Relaxed).max(1) as f64;
        let ahead = 1.0 + (under_way + 1.0) / answered;
        if let Some(most) = tokens {
            let spent = self.tokens();
            if spent as f64 * ahead > most as f64 || spent >= most {
                return Err(Spent::Tokens { spent, most });
            }
        }
        if let Some(most_usd) = cost_usd {
            let spent_usd = self.cost_usd();
            if spent_usd * ahead > most_usd || spent_usd >= most_usd {
                return Err(Spent::Cost { spent_usd, most_usd });
            }
        }
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(Open(self))
    }

    /// Notes what an answer cost.
    pub(crate) fn note(&self, model: usize, usage: Usage) {
        let [input, output] = &self.used[model];
        input.fetch_add(usage.input_tokens, Ordering::Relaxed);
        output.fetch_add(usage.output_tokens, Ordering::Relaxed);
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    fn tokens(&self) -> u64 {
        self.used.iter().flatten().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn cost_usd(&self) -> f64 {
        let cost = |(price, used): (&Option<PriceEntry>, &[AtomicU64; 2])| {
            let [input_tokens, output_tokens] = [0, 1].map(|at: usize| used[at].load(Ordering::Relaxed));
            price.as_ref().map_or(0.0, |price| price.cost(Usage { input_tokens, output_tokens }))
        };
        self.prices.iter().zip(&self.used).map(cost).sum()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purse(budget: Budget) -> Purse {
        let price = PriceEntry { as_of: None, input: 1.0, output: 10.0 };
        Purse::new(budget, vec![Some(price), None])
    }

    const USAGE: Usage = Usage { input_tokens: 1000, output_tokens: 100 };

    #[test]
    fn it_stops_before_it_goes_over() {
        // A question costs 0.2 cents.
        let purse = purse(Budget { cost_usd: Some(0.01), ..Budget::default() });
        let mut asked = 0;
        while let Ok(open) = purse.open() {
            purse.note(0, USAGE);
            drop(open);
            asked += 1;
        }
        assert_eq!(asked, 5);
        assert!(purse.cost_usd() <= 0.01);
    }

    #[test]
    fn questions_under_way_count_as_the_others_did() {
        let purse = purse(Budget { tokens: Some(11_000), ..Budget::default() });
        drop(purse.open());
        purse.note(1, USAGE);
        let open: Vec<_> = std::iter::from_fn(|| purse.open().ok()).collect();
        assert_eq!(open.len(), 9);
        drop(open);
        assert!(purse.open().is_ok());
    }

    #[test]
    fn without_limits_nothing_stops() {
        let purse = purse(Budget::default());
        purse.note(0, Usage { input_tokens: u64::MAX / 2, output_tokens: 0 });
        assert!(purse.open().is_ok());
        assert!(matches!(
            Purse::new(Budget { time: Some(Duration::ZERO), ..Budget::default() }, vec![None]).open(),
            Err(Spent::Time { .. })
        ));
    }
}
