//! What goes wrong, and how often.

use std::fmt;
use std::str::FromStr;

use proofmark_canon::Digest;
use proofmark_canon::seed::Stream;

/// A way to fail. The order is that of [`Fault::ALL`]; it decides which requests a fault falls on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Status 429.
    RateLimited,
    /// Status 500.
    ServerError,
    /// Status 529.
    Overloaded,
    /// Fewer bytes than announced, then the connection closes.
    Truncated,
    /// The head at once, the body drop by drop.
    Slow,
    /// The connection is reset instead of an answer.
    Reset,
    /// Status 200 and a body that is not JSON.
    Malformed,
    /// Status 200 and an answer without text.
    Empty,
    /// Status 200 and the wire's own shape of a content filter.
    Filter,
    /// Status 200 and the wire's own shape of a refusal.
    Refusal,
    /// Nothing comes, ever.
    Stall,
    /// A stream that ends in good order before its last event.
    StreamCut,
    /// Status 502 and a page of HTML, as a gateway would send it.
    Html,
    /// Status 400: something in the request is wrong.
    BadRequest,
    /// Status 400: the conversation is too long for the model.
    ContextLength,
}

impl Fault {
    pub const ALL: [Self; 15] = [
        Self::RateLimited,
        Self::ServerError,
        Self::Overloaded,
        Self::Truncated,
        Self::Slow,
        Self::Reset,
        Self::Malformed,
        Self::Empty,
        Self::Filter,
        Self::Refusal,
        Self::Stall,
        Self::StreamCut,
        Self::Html,
        Self::BadRequest,
        Self::ContextLength,
    ];

    /// The word on the command line, in the log and in the counts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "429",
            Self::ServerError => "500",
            Self::Overloaded => "529",
            Self::Truncated => "truncated",
            Self::Slow => "slow",
            Self::Reset => "reset",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Filter => "filter",
            Self::Refusal => "refusal",
            Self::Stall => "stall",
            Self::StreamCut => "stream-cut",
            Self::Html => "html",
            Self::BadRequest => "400",
            Self::ContextLength => "context",
        }
    }
}

/// How many requests of a hundred fail in which way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults(Vec<(Fault, f64)>);

impl Faults {
    /// Every request fails in this way.
    pub fn every(fault: Fault) -> Self {
        Self(vec![(fault, 100.0)])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fault of a request, if it has one: always the same for the same path and body.
    pub(super) fn of(&self, path: &str, body: &Digest) -> Option<Fault> {
        if self.0.is_empty() {
            return None;
        }
        let at = Stream::new("proofmark.mock-fault/1", &[path.as_bytes(), body.as_bytes()]).next_unit() * 100.0;
        let mut end = 0.0;
        self.0.iter().find_map(|(fault, percent)| {
            end += percent;
            (at < end).then_some(*fault)
        })
    }
}

impl FromStr for Faults {
    type Err = String;

    /// Reads `429=10,500=5`: percentages, each from 0 to 100 and together at most 100.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults: Vec<(Fault, f64)> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, percent) =
                part.split_once('=').ok_or_else(|| format!("`{part}` is not FAULT=PERCENT, such as 429=10"))?;
            let fault = Fault::ALL.into_iter().find(|fault| fault.as_str() == name.trim()).ok_or_else(|| {
                format!("there is no fault `{name}`; there are {}", Fault::ALL.map(Fault::as_str).join(", "))
            })?;
            let percent = percent.trim().parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            let percent: f64 = percent.ok_or_else(|| format!("`{part}` needs a percentage from 0 to 100"))?;
            if faults.iter().any(|(have, _)| *have == fault) {
                return Err(format!("`{name}` stands twice"));
            }
            faults.push((fault, percent));
        }
        let sum: f64 = faults.iter().map(|(_, percent)| percent).sum();
        if sum > 100.0 + 1e-9 {
            return Err(format!("the percentages add up to {sum}, expected at most 100"));
        }
        // In one order, so that the way it is typed does not change who fails.
        faults.retain(|(_, percent)| *percent > 0.0);
        faults.sort_by_key(|(fault, _)| *fault as usize);
        Ok(Self(faults))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_in_any_order() {
        let faults: Faults = "500=5, 429=10,slow=0".parse().unwrap();
        assert_eq!(faults.0, [(Fault::RateLimited, 10.0), (Fault::ServerError, 5.0)]);
        assert_eq!("".parse(), Ok(Faults::default()));
    }

    #[test]
    fn what_is_not_a_percentage_is_refused() {
        for text in ["429", "429=", "429=-1", "429=101", "429=NaN", "teapot=1", "429=1,429=2", "429=60,500=41"] {
            assert!(text.parse::<Faults>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_share_of_faults_is_what_was_asked_for() {
        let faults: Faults = "429=10,500=5,truncated=2,slow=2,reset=1".parse().unwrap();
        let mut counts = [0; 15];
        for n in 0..20_000_u32 {
            if let Some(fault) = faults.of("/v1/chat/completions", &Digest::of(&n.to_be_bytes())) {
                counts[fault as usize] += 1;
            }
        }
        for (fault, percent) in [(0, 10.0), (1, 5.0), (3, 2.0), (4, 2.0), (5, 1.0)] {
            let share = f64::from(counts[fault]) / 200.0;
            assert!((share - percent).abs() < 0.5, "{fault}: {share}");
        }
        assert_eq!(counts[2] + counts[6..].iter().sum::<i32>(), 0);
    }

    #[test]
    fn a_request_has_the_same_fault_every_time_but_not_on_every_path() {
        let faults: Faults = "429=50".parse().unwrap();
        let at = |path: &str, n: u32| faults.of(path, &Digest::of(&n.to_be_bytes()));
        assert!((0..50).all(|n| at("/a", n) == at("/a", n)));
        assert!((0..50).any(|n| at("/a", n) != at("/b", n)));
    }
}
