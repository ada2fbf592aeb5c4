//! How offline models behave in time. Nothing here changes what they answer.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proofmark_artefact::record::{Status, Usage};
use proofmark_canon::Value;
use proofmark_canon::seed::Stream;

use crate::ask::{Ask, Reply};

/// Delays and bookkeeping, for tests of what is around a model.
#[derive(Clone, Default)]
pub struct Behaviour {
    /// Waits up to this long before every answer, on top of the model's own `latency_ms`.
    pub jitter: Option<Duration>,
    /// Changes the jitter from run to run, so that samples finish in another order.
    pub jitter_salt: u64,
    /// A line with the sample's key for every question asked, written before it is answered.
    pub ask_log: Option<Arc<Mutex<File>>>,
}

impl Behaviour {
    /// Notes that a question was asked; returns a failure when it cannot be noted.
    pub(super) fn log_ask(&self, key: &str) -> Option<Reply> {
        let log = self.ask_log.as_ref()?;
        let line = format!("{key}\n");
        let written = log.lock().map_err(|_| ()).and_then(|mut file| file.write_all(line.as_bytes()).map_err(|_| ()));
        written.is_err().then(|| Reply::Failed {
            class: "ask_log".to_owned(),
            message: "cannot write the log of questions".to_owned(),
            status: Status::Error,
            usage: Usage::default(),
        })
    }

    /// Takes as long as a real model might.
    pub(super) async fn wait(&self, ask: &Ask<'_>) {
        let mut wait =
            ask.request.params.get("latency_ms").and_then(latency_range).map_or(Duration::ZERO, |(low, high)| {
                let mut stream = Stream::new("proofmark.latency/1", &[&ask.request.seed.get().to_be_bytes()]);
                Duration::from_secs_f64((low + (high - low) * stream.next_unit()) / 1000.0)
            });
        if let Some(jitter) = self.jitter {
            let labels: [&[u8]; 2] = [&self.jitter_salt.to_be_bytes(), ask.hint.key.as_bytes()];
            wait += jitter.mul_f64(Stream::new("proofmark.jitter/1", &labels).next_unit());
        }
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

/// Reads `5` or `[5, 20]`, in milliseconds.
pub(super) fn latency_range(value: &Value) -> Option<(f64, f64)> {
    let (low, high) = match value {
        Value::Number(number) => (number.get(), number.get()),
        Value::Array(ends) if ends.len() == 2 => (ends[0].as_f64()?, ends[1].as_f64()?),
        _ => return None,
    };
    (0.0 <= low && low <= high && high <= 600_000.0).then_some((low, high))
}
