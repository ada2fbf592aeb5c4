//! What a run may spend: money, tokens, time. It stops before it goes over, and can be resumed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proofmark_artefact::manifest::PriceEntry;
use proofmark_artefact::record::Usage;
use tokio::sync::Notify;

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
///
/// What a question will cost is known only when it was answered. So that a limit is kept all the same, the first question to
/// a model is asked alone, and each that is under way is taken to cost as much as the dearest one so far.
#[derive(Debug)]
pub(crate) struct Purse {
    budget: Budget,
    start: Instant,
    prices: Vec<Option<PriceEntry>>,
    state: Mutex<State>,
    /// Somebody is done, so that there may be room for others.
    changed: Notify,
}

/// What was spent, and what is under way. By model; judges stand behind the models.
#[derive(Debug)]
struct State {
    used: Vec<Usage>,
    /// What the dearest answer cost; `None` before the first one.
    dearest: Vec<Option<Sum>>,
    under_way: Vec<u64>,
    answered: u64,
    /// What judges cost, of all answers together.
    judged: Sum,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sum {
    tokens: f64,
    usd: f64,
}

/// A question under way; what it will cost is not known yet.
pub(crate) struct Open<'a> {
    purse: &'a Purse,
    model: usize,
}

/// Whether one more may be asked.
enum Room {
    Yes,
    /// When others are done, there may be.
    Perhaps,
    No(Spent),
}

impl Purse {
    pub(crate) fn new(budget: Budget, prices: Vec<Option<PriceEntry>>) -> Self {
        let state = State {
            used: vec![Usage::default(); prices.len()],
            dearest: vec![None; prices.len()],
            under_way: vec![0; prices.len()],
            answered: 0,
            judged: Sum::default(),
        };
        Self { budget, start: Instant::now(), prices, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Opens a question to a model when it is sure to stay within the budget, as far as that can be known; waits for
    /// others that are under way when that may decide it.
    pub(crate) async fn open(&self, model: usize) -> Result<Open<'_>, Spent> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on nobody who is done goes unheard.
            changed.as_mut().enable();
            if let Some(open) = self.try_open(model)? {
                return Ok(open);
            }
            changed.await;
        }
    }

    fn try_open(&self, model: usize) -> Result<Option<Open<'_>>, Spent> {
        if let Some(most) = self.budget.time.filter(|most| self.start.elapsed() >= *most) {
            return Err(Spent::Time { most });
        }
        if self.counts() {
            let mut state = self.lock();
            match self.room(&state, model) {
                Room::Yes => state.under_way[model] += 1,
                Room::Perhaps => return Ok(None),
                Room::No(spent) => return Err(spent),
            }
        }
        Ok(Some(Open { purse: self, model }))
    }

    fn room(&self, state: &State, model: usize) -> Room {
        let is_alone = state.under_way.iter().all(|count| *count == 0);
        if state.dearest[model].is_none() && !is_alone {
            return Room::Perhaps;
        }
        let of_judges = state.judged.divided(state.answered);
        let ahead = state.under_way.iter().zip(&state.dearest).enumerate().map(|(at, (count, dearest))| {
            let count = (*count + u64::from(at == model)) as f64;
            dearest.map_or_else(Sum::default, |dearest| dearest.plus(of_judges)).times(count)
        });
        let ahead = ahead.fold(Sum::default(), Sum::plus);
        let spent = self.spent(state);
        let is_over = |spent: f64, ahead: f64, most: f64| spent >= most || spent + ahead > most;
        let over_tokens = self.budget.tokens.filter(|most| is_over(spent.tokens, ahead.tokens, *most as f64));
        let over_cost = self.budget.cost_usd.filter(|most| is_over(spent.usd, ahead.usd, *most));
        match (over_tokens, over_cost) {
            (None, None) => Room::Yes,
            _ if !is_alone => Room::Perhaps,
            (Some(most), _) => Room::No(Spent::Tokens { spent: spent.tokens as u64, most }),
            (None, Some(most_usd)) => Room::No(Spent::Cost { spent_usd: spent.usd, most_usd }),
        }
    }

    /// Notes what an answer cost. One that failed for nothing says nothing of what others will cost.
    pub(crate) fn note(&self, model: usize, usage: Usage, has_answered: bool) {
        if !self.counts() {
            return;
        }
        let cost = self.cost(model, usage);
        let mut state = self.lock();
        let used = &mut state.used[model];
        used.input_tokens = used.input_tokens.saturating_add(usage.input_tokens);
        used.output_tokens = used.output_tokens.saturating_add(usage.output_tokens);
        state.answered += 1;
        if has_answered || cost != Sum::default() {
            let dearest = state.dearest[model].unwrap_or_default();
            state.dearest[model] =
                Some(Sum { tokens: dearest.tokens.max(cost.tokens), usd: dearest.usd.max(cost.usd) });
        }
    }

    /// Notes what a judge cost: part of what an answer costs in all.
    pub(crate) fn note_judge(&self, judge: usize, usage: Usage) {
        if !self.counts() {
            return;
        }
        let cost = self.cost(judge, usage);
        let mut state = self.lock();
        let used = &mut state.used[judge];
        used.input_tokens = used.input_tokens.saturating_add(usage.input_tokens);
        used.output_tokens = used.output_tokens.saturating_add(usage.output_tokens);
        state.judged = state.judged.plus(cost);
    }

    /// The most time that the run may take, and how much of it is left; `None` without a limit.
    pub(crate) fn time_left(&self) -> Option<(Duration, Duration)> {
        self.budget.time.map(|most| (most, most.saturating_sub(self.start.elapsed())))
    }

    /// Whether anybody wants to know what was spent.
    fn counts(&self) -> bool {
        self.budget.cost_usd.is_some() || self.budget.tokens.is_some()
    }

    fn cost(&self, model: usize, usage: Usage) -> Sum {
        let usd = self.prices[model].as_ref().map_or(0.0, |price| price.cost(usage));
        Sum { tokens: usage.input_tokens as f64 + usage.output_tokens as f64, usd }
    }

    fn spent(&self, state: &State) -> Sum {
        let all = state.used.iter().enumerate().map(|(model, usage)| self.cost(model, *usage));
        all.fold(Sum::default(), Sum::plus)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, usd: self.usd + other.usd }
    }

    fn times(self, count: f64) -> Self {
        Self { tokens: self.tokens * count, usd: self.usd * count }
    }

    fn divided(self, by: u64) -> Self {
        self.times(1.0 / by.max(1) as f64)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.purse.counts() {
            let mut state = self.purse.lock();
            state.under_way[self.model] = state.under_way[self.model].saturating_sub(1);
            drop(state);
            self.purse.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn purse(budget: Budget) -> Purse {
        let price = PriceEntry { as_of: None, input: 1.0, output: 10.0 };
        Purse::new(budget, vec![Some(price), None])
    }

    const USAGE: Usage = Usage { input_tokens: 1000, output_tokens: 100 };

    #[tokio::test]
    async fn it_stops_before_it_goes_over() {
        // A question costs 0.2 cents.
        let purse = purse(Budget { cost_usd: Some(0.01), ..Budget::default() });
        let mut asked = 0;
        while let Ok(open) = purse.open(0).await {
            purse.note(0, USAGE, true);
            drop(open);
            asked += 1;
        }
        assert_eq!(asked, 5);
    }

    /// However many ask at once, and whatever their questions cost, as long as none costs more than one before it did.
    #[tokio::test]
    async fn any_number_at_once_stays_within_the_limit_and_the_sum_that_is_told_is_the_sum() {
        let purse = Arc::new(purse(Budget { cost_usd: Some(0.0235), ..Budget::default() }));
        let workers: Vec<_> = (0..128)
            .map(|_| {
                let purse = Arc::clone(&purse);
                tokio::spawn(async move {
                    loop {
                        let open = match purse.open(0).await {
                            Ok(open) => open,
                            Err(spent) => return spent,
                        };
                        tokio::task::yield_now().await;
                        purse.note(0, USAGE, true);
                        drop(open);
                    }
                })
            })
            .collect();
        for worker in workers {
            let Spent::Cost { spent_usd, most_usd } = worker.await.unwrap() else { panic!("another limit") };
            assert!((spent_usd - 0.022).abs() < 1e-9 && spent_usd < most_usd, "{spent_usd}");
        }
    }

    #[tokio::test]
    async fn the_first_question_to_a_model_is_asked_alone() {
        let purse = purse(Budget { tokens: Some(11_000), ..Budget::default() });
        let first = purse.open(1).await.unwrap();
        let waits = tokio::time::timeout(Duration::from_millis(20), purse.open(1)).await;
        assert!(waits.is_err(), "nobody knows what one costs");
        // It failed and cost nothing: that says nothing of the next.
        purse.note(1, Usage::default(), false);
        drop(first);
        let second = purse.open(1).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(20), purse.open(1)).await.is_err());
        purse.note(1, USAGE, true);
        drop(second);
        let mut open = Vec::new();
        while let Ok(Ok(one)) = tokio::time::timeout(Duration::from_millis(20), purse.open(1)).await {
            open.push(one);
        }
        assert_eq!(open.len(), 9);
    }

    #[tokio::test]
    async fn what_judges_cost_is_part_of_what_an_answer_costs() {
        let purse = purse(Budget { tokens: Some(5_000), ..Budget::default() });
        let first = purse.open(0).await.unwrap();
        purse.note(0, USAGE, true);
        purse.note_judge(1, USAGE);
        drop(first);
        let second = purse.open(0).await.unwrap();
        purse.note(0, USAGE, true);
        purse.note_judge(1, USAGE);
        drop(second);
        assert!(matches!(purse.open(0).await, Err(Spent::Tokens { spent: 4_400, most: 5_000 })));
    }

    #[tokio::test]
    async fn without_limits_nothing_stops() {
        let purse = purse(Budget::default());
        purse.note(0, Usage { input_tokens: u64::MAX / 2, output_tokens: 0 }, true);
        assert!(purse.open(0).await.is_ok());
        let late = Purse::new(Budget { time: Some(Duration::ZERO), ..Budget::default() }, vec![None]);
        assert!(matches!(late.open(0).await, Err(Spent::Time { .. })));
    }
}
