//! How long an answer takes.

use std::str::FromStr;
use std::time::Duration;

use proofmark_canon::Digest;
use proofmark_canon::math::{exp, ln};
use proofmark_canon::seed::Stream;

/// A longer wait looks like a hang; `--fault stall=…` is there for that.
const MAX_MS: f64 = 600_000.0;

/// How long an answer takes, chosen by the request's digest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Latency {
    /// As fast as it can.
    #[default]
    None,
    /// Always as long.
    Fixed(Duration),
    /// Anything between two times, each as likely.
    Uniform { low: Duration, high: Duration },
    /// Mostly near the median, sometimes much longer: what real providers look like.
    Lognormal { median: Duration, sigma: f64 },
}

impl Latency {
    /// Reads `lognormal:MEDIAN,SIGMA` with the median in milliseconds.
    pub fn parse_distribution(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is not lognormal:MEDIAN,SIGMA, such as lognormal:200,0.5");
        let (median, sigma) =
            text.strip_prefix("lognormal:").and_then(|rest| rest.split_once(',')).ok_or_else(refuse)?;
        let median = parse_ms(median)?;
        let sigma = sigma.trim().parse().ok().filter(|sigma| (0.0..=3.0).contains(sigma));
        let sigma: f64 = sigma.ok_or_else(|| format!("the sigma of `{text}` is not a number from 0 to 3"))?;
        Ok(Self::Lognormal { median, sigma })
    }

    pub(super) fn of(self, path: &str, body: &Digest) -> Duration {
        let stream = || Stream::new("proofmark.mock-latency/1", &[path.as_bytes(), body.as_bytes()]);
        match self {
            Self::None => Duration::ZERO,
            Self::Fixed(wait) => wait,
            Self::Uniform { low, high } => low + (high - low).mul_f64(stream().next_unit()),
            Self::Lognormal { median, sigma } => {
                let longest = Duration::from_secs_f64(MAX_MS / 1000.0);
                median.mul_f64(exp(sigma * normal(&mut stream()))).min(longest)
            }
        }
    }
}

/// A draw of the standard normal distribution, by Box and Muller.
fn normal(stream: &mut Stream) -> f64 {
    // 1 - u is in (0, 1], whose logarithm is finite.
    let radius = (-2.0 * ln(1.0 - stream.next_unit())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * stream.next_unit())
}

impl FromStr for Latency {
    type Err = String;

    /// Reads `50` or `20..80`, in milliseconds.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("..") {
            None => Ok(match parse_ms(text)? {
                Duration::ZERO => Self::None,
                wait => Self::Fixed(wait),
            }),
            Some((low, high)) => {
                let (low, high) = (parse_ms(low)?, parse_ms(high)?);
                if low > high {
                    return Err(format!("`{text}` begins above its end"));
                }
                Ok(Self::Uniform { low, high })
            }
        }
    }
}

fn parse_ms(text: &str) -> Result<Duration, String> {
    let ms: Option<f64> = text.trim().parse().ok().filter(|ms| (0.0..=MAX_MS).contains(ms));
    ms.map(|ms| Duration::from_secs_f64(ms / 1000.0))
        .ok_or_else(|| format!("`{text}` is not a number of milliseconds from 0 to {MAX_MS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(latency: Latency) -> Vec<Duration> {
        let mut times: Vec<_> = (0..4_001_u32).map(|n| latency.of("/x", &Digest::of(&n.to_be_bytes()))).collect();
        times.sort();
        times
    }

    #[test]
    fn milliseconds_and_ranges_are_read() {
        assert_eq!("0".parse(), Ok(Latency::None));
        assert_eq!("2.5".parse(), Ok(Latency::Fixed(Duration::from_micros(2_500))));
        let (low, high) = (Duration::from_millis(20), Duration::from_millis(80));
        assert_eq!("20..80".parse(), Ok(Latency::Uniform { low, high }));
        for text in ["", "x", "-1", "80..20", "NaN", "inf", "1e9", "1..", "20..80..90"] {
            assert!(text.parse::<Latency>().is_err(), "{text}");
        }
        for text in ["lognormal:200", "normal:1,2", "lognormal:200,-1", "lognormal:200,9"] {
            assert!(Latency::parse_distribution(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_is_filled_evenly() {
        let times = times("20..80".parse().unwrap());
        assert!(times[0] >= Duration::from_millis(20) && times[4_000] <= Duration::from_millis(80));
        let middle = times[2_000].as_secs_f64() * 1000.0;
        assert!((middle - 50.0).abs() < 3.0, "{middle}");
    }

    #[test]
    fn a_lognormal_has_its_median_and_a_long_tail() {
        let times = times(Latency::parse_distribution("lognormal:200,0.5").unwrap());
        let [middle, late] = [2_000, 3_365].map(|at| times[at].as_secs_f64() * 1000.0);
        assert!((middle - 200.0).abs() < 10.0, "{middle}");
        // One sigma above: 200 × e^0.5.
        assert!((late - 329.7).abs() < 20.0, "{late}");
    }
}
