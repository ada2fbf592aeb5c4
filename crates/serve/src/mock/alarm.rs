//! Waits that end on time.
//!
//! The runtime's own timers have a grain of a millisecond, always end late, and wake everything that falls into one grain
//! together. A provider whose latency is measured against must not do so: here a thread of its own sleeps to the microsecond,
//! and wakes everyone a little before time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// A sleeper wakes up late, and so does whoever is woken by one: together by this much on a virtual machine. Everyone is
/// woken so much before time and stays awake for the rest.
const LEAD: Duration = Duration::from_micros(250);

/// Someone who waits.
struct Waiter {
    due: Instant,
    wake: oneshot::Sender<()>,
}

/// Returns when the moment has come, and hardly later; at once when there is none.
pub(super) async fn wait_until(moment: Option<Instant>) {
    static ALARMS: OnceLock<Option<Sender<Waiter>>> = OnceLock::new();
    let Some(due) = moment.filter(|due| *due > Instant::now()) else { return };
    let (wake, woken) = oneshot::channel();
    let waiter = Waiter { due, wake };
    let sent = match ALARMS.get_or_init(start) {
        Some(alarms) => alarms.send(waiter).is_ok(),
        None => false,
    };
    if !sent || woken.await.is_err() {
        // Without the thread it is late rather than never.
        tokio::time::sleep_until(due).await;
    }
    while Instant::now() < due {
        // Almost: whoever needs the processor more gets it.
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}

fn start() -> Option<Sender<Waiter>> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("alarm".to_owned()).spawn(move || watch(&receiver));
    thread.is_ok().then_some(sender)
}

fn watch(waiters: &Receiver<Waiter>) {
    // By time, then in the order in which they came.
    let mut due: BinaryHeap<Reverse<(Instant, u64)>> = BinaryHeap::new();
    let mut wakes = std::collections::BTreeMap::new();
    for number in 0u64.. {
        let next = loop {
            let Some(Reverse((first, of))) = due.peek().copied() else {
                match waiters.recv() {
                    Ok(waiter) => break waiter,
                    Err(_) => return,
                }
            };
            let sleep = first.saturating_duration_since(Instant::now()).saturating_sub(LEAD);
            if sleep.is_zero() {
                due.pop();
                // Who no longer waits does not mind.
                let _ = wakes.remove(&of).map(|wake: oneshot::Sender<()>| wake.send(()));
                continue;
            }
            match waiters.recv_timeout(sleep) {
                Ok(waiter) => break waiter,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        };
        due.push(Reverse((next.due, number)));
        wakes.insert(number, next.wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_end_in_their_order_and_never_early() {
        let start = Instant::now();
        let timed = |ms: u64| async move {
            wait_until(Some(start + Duration::from_millis(ms))).await;
            (ms, start.elapsed() >= Duration::from_millis(ms))
        };
        let (a, b, c) = tokio::join!(timed(30), timed(10), timed(20));
        assert_eq!([a, b, c], [(30, true), (10, true), (20, true)]);
    }
}
