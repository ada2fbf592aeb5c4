//! A reply on its way out: whole, in parts, drop by drop, or broken off.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::stats::InFlight;

/// The body of a reply.
pub(super) struct Outgoing {
    parts: VecDeque<Bytes>,
    ending: Ending,
    pace: Option<Pace>,
    /// Given back with the last part, before the client can know that it was the last.
    in_flight: Option<InFlight>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The length is known beforehand.
    Whole,
    /// In good order, with a length that shows only at the end.
    Open,
    /// The connection breaks; what came before is flushed first.
    Broken,
    Breaking,
}

struct Pace {
    gap: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Outgoing {
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        let parts = if bytes.is_empty() { VecDeque::new() } else { [bytes.into()].into() };
        Self { parts, ending: Ending::Whole, pace: None, in_flight: None }
    }

    pub(super) fn stream(parts: Vec<Vec<u8>>) -> Self {
        let parts = parts.into_iter().filter(|part| !part.is_empty()).map(Bytes::from).collect();
        Self { parts, ending: Ending::Open, pace: None, in_flight: None }
    }

    /// Breaks the connection after the first half of the bytes.
    pub(super) fn broken(mut self) -> Self {
        let all: Vec<u8> = self.parts.iter().flatten().copied().collect();
        let half = Bytes::from(all).split_to(self.len() / 2);
        self.parts = if half.is_empty() { VecDeque::new() } else { [half].into() };
        self.ending = Ending::Broken;
        self
    }

    /// Spreads the bytes over a time.
    pub(super) fn slow(mut self, over: Duration) -> Self {
        const DROPS: usize = 8;
        if self.ending == Ending::Whole
            && let Some(mut rest) = self.parts.pop_front()
        {
            let size = rest.len().div_ceil(DROPS).max(1);
            while !rest.is_empty() {
                self.parts.push_back(rest.split_to(size.min(rest.len())));
            }
        }
        let gap = over / u32::try_from(self.parts.len().max(1)).unwrap_or(u32::MAX);
        self.pace = Some(Pace { gap, sleep: Box::pin(sleep(gap)) });
        self
    }

    /// Holds a place until the last part is out.
    pub(super) fn holding(mut self, in_flight: InFlight) -> Self {
        self.in_flight = Some(in_flight);
        self
    }

    /// Whether its length is known beforehand.
    pub(super) fn is_whole(&self) -> bool {
        self.ending == Ending::Whole
    }

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        if let Some(pace) = this.pace.as_mut().filter(|_| !this.parts.is_empty()) {
            ready!(pace.sleep.as_mut().poll(context));
            pace.sleep.as_mut().reset(tokio::time::Instant::now() + pace.gap);
        }
        if let Some(part) = this.parts.pop_front() {
            if this.parts.is_empty() && matches!(this.ending, Ending::Whole | Ending::Open) {
                this.in_flight = None;
            }
            return Poll::Ready(Some(Ok(Frame::data(part))));
        }
        match this.ending {
            Ending::Whole | Ending::Open => Poll::Ready(None),
            Ending::Broken => {
                // One round of waiting lets the connection flush what it has.
                this.ending = Ending::Breaking;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ending::Breaking => Poll::Ready(Some(Err(Broken))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty() && matches!(self.ending, Ending::Whole | Ending::Open)
    }

    fn size_hint(&self) -> SizeHint {
        match self.ending {
            Ending::Whole => SizeHint::with_exact(self.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

/// The connection is broken on purpose.
#[derive(Debug)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is broken on purpose")
    }
}

impl std::error::Error for Broken {}
