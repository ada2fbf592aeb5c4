//! How much a server may send.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

/// The most bytes that a server may send for one call, all messages together. A message cannot be longer either.
pub(super) const MOST: usize = 32 << 20;
/// The most messages for one call. Each costs a task and perhaps a reply, however short it is.
const MESSAGES: usize = 10_000;
/// Bytes of the beginning that are kept for an error.
const BEGINNING: usize = 1 << 10;

/// Counts what a server sends.
#[derive(Debug)]
pub(super) struct Meter {
    state: Mutex<State>,
    spent: Notify,
}

#[derive(Debug)]
struct State {
    left: usize,
    messages: usize,
    is_spent: bool,
    beginning: Vec<u8>,
}

/// A server sent more than it may.
#[derive(Debug, thiserror::Error)]
#[error("the server sent more than it may")]
pub(super) struct Spent;

impl Meter {
    pub(super) fn new() -> Self {
        let state = State { left: MOST, messages: MESSAGES, is_spent: false, beginning: Vec::new() };
        Self { state: Mutex::new(state), spent: Notify::new() }
    }

    /// Counts bytes that came, and messages that ended in them. Nothing may be read any more after an error.
    pub(super) fn take(&self, bytes: &[u8], messages: usize) -> Result<(), Spent> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let room = BEGINNING.saturating_sub(state.beginning.len()).min(bytes.len());
        state.beginning.extend_from_slice(&bytes[..room]);
        let left = (state.left.checked_sub(bytes.len()), state.messages.checked_sub(messages));
        if let (Some(left), Some(messages), false) = (left.0, left.1, state.is_spent) {
            (state.left, state.messages) = (left, messages);
            return Ok(());
        }
        state.is_spent = true;
        drop(state);
        // One session waits at a time, and it may begin to wait after this.
        self.spent.notify_one();
        Err(Spent)
    }

    /// A new call begins.
    pub(super) fn refill(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_spent {
            (state.left, state.messages) = (MOST, MESSAGES);
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_spent
    }

    /// Waits until the server has sent too much.
    pub(super) async fn spent(&self) {
        while !self.is_spent() {
            self.spent.notified().await;
        }
    }

    /// The first bytes that came.
    pub(super) fn beginning(&self) -> Vec<u8> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).beginning.clone()
    }
}

/// A stream that is counted. A message is a line.
pub(super) struct Metered<R> {
    stream: R,
    meter: Arc<Meter>,
}

impl<R> Metered<R> {
    pub(super) fn new(stream: R, meter: Arc<Meter>) -> Self {
        Self { stream, meter }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let read = buf.filled().get(before..).unwrap_or_default();
        let messages = read.iter().filter(|byte| **byte == b'\n').count();
        Poll::Ready(self.meter.take(read, messages).map_err(io::Error::other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_that_is_spent_stays_spent() {
        let meter = Meter::new();
        let half = vec![b'x'; MOST / 2];
        assert!(meter.take(&half, 1).is_ok() && meter.take(&half, 1).is_ok());
        meter.refill();
        assert!(meter.take(&half, 1).is_ok() && meter.take(&half, 1).is_ok());
        assert!(meter.take(b"x", 0).is_err() && meter.is_spent());
        meter.refill();
        assert!(meter.take(b"", 0).is_err());
        assert_eq!(meter.beginning().len(), BEGINNING);
    }

    #[test]
    fn many_short_messages_are_too_much_as_well() {
        let meter = Meter::new();
        assert!(meter.take(b"x", MESSAGES).is_ok());
        meter.refill();
        assert!(meter.take(b"x", MESSAGES).is_ok());
        assert!(meter.take(b"x", 1).is_err() && meter.is_spent());
    }

    #[tokio::test]
    async fn who_waits_late_hears_it_too() {
        let meter = Meter::new();
        assert!(meter.take(&vec![0; MOST + 1], 0).is_err());
        tokio::time::timeout(std::time::Duration::from_secs(5), meter.spent()).await.unwrap();
    }
}
