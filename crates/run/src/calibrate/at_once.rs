//! Futures polled together, a bounded number at a time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs all jobs, at most `limit` at a time, and returns what came of them in their order. The first failure ends it; jobs
/// that are under way then are dropped.
pub(super) async fn at_once<F, T, E>(limit: usize, jobs: impl Iterator<Item = F>) -> Result<Vec<T>, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut jobs = jobs.enumerate();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut done: Vec<Option<T>> = Vec::new();
    poll_fn(|context| {
        loop {
            while running.len() < limit.max(1)
                && let Some((at, job)) = jobs.next()
            {
                done.push(None);
                running.push((at, Box::pin(job)));
            }
            if running.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let before = running.len();
            let mut at = 0;
            while at < running.len() {
                match running[at].1.as_mut().poll(context) {
                    Poll::Pending => at += 1,
                    Poll::Ready(result) => {
                        let (place, _) = running.swap_remove(at);
                        match result {
                            Ok(value) => done[place] = Some(value),
                            Err(error) => return Poll::Ready(Err(error)),
                        }
                    }
                }
            }
            if running.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await?;
    Ok(done.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn results_keep_their_order_and_no_more_than_the_limit_are_under_way() {
        let (running, most) = (Cell::new(0u32), Cell::new(0u32));
        let job = |at: u32| {
            let (running, most) = (&running, &most);
            async move {
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                for _ in 0..at % 7 {
                    tokio::task::yield_now().await;
                }
                running.set(running.get() - 1);
                Ok::<u32, ()>(at)
            }
        };
        let found = at_once(4, (0..50).map(job)).await.unwrap();
        assert_eq!(found, (0..50).collect::<Vec<u32>>());
        assert_eq!((most.get(), running.get()), (4, 0));
        assert_eq!(at_once(4, (0..0).map(job)).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn the_first_failure_ends_it() {
        let started = Cell::new(0);
        let job = |at: u32| {
            started.set(started.get() + 1);
            async move { if at == 5 { Err(at) } else { Ok(at) } }
        };
        assert_eq!(at_once(2, (0..1000).map(job)).await, Err(5));
        assert!(started.get() < 10);
    }
}
