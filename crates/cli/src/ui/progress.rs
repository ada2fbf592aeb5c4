//! Progress: a bar on a terminal, plain lines otherwise.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use proofmark_run::collect::{Observer, Progress};

use proofmark_artefact::number::count;

/// Shows how far a run is, on stderr.
pub(crate) struct Meter {
    start: Instant,
    /// Samples that were done before this process began.
    before: Option<u64>,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    /// When the next line is due.
    Lines(Duration),
    Nothing,
}

/// How often a plain line is printed.
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Meter {
    pub(crate) fn new(is_terminal: bool, samples: u64, is_quiet: bool) -> Self {
        let shown = if is_quiet {
            Shown::Nothing
        } else if is_terminal {
            let bar = ProgressBar::with_draw_target(Some(samples), ProgressDrawTarget::stderr_with_hz(8));
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Shown::Bar(bar)
        } else {
            Shown::Lines(LINE_EVERY)
        };
        Self { start: Instant::now(), before: None, shown }
    }

    fn describe(&self, progress: Progress) -> String {
        let elapsed = self.start.elapsed().as_secs_f64().max(1e-6);
        let fresh = progress.done - self.before.unwrap_or(0);
        let rate = fresh as f64 / elapsed;
        let mut text = format!("{}/s", count(rate as u64));
        if rate < 10.0 {
            text = format!("{rate:.1}/s");
        }
        if progress.errors > 0 {
            text.push_str(&format!(", {} errors", count(progress.errors)));
        }
        if progress.cost_usd > 0.0 {
            text.push_str(&format!(", ${:.4}", progress.cost_usd));
        }
        if fresh > 0 && progress.done < progress.samples {
            let left = (progress.samples - progress.done) as f64 / rate;
            text.push_str(&format!(", {} left", human_duration(left)));
        }
        text
    }
}

impl Observer for Meter {
    fn progress(&mut self, progress: Progress) {
        self.before.get_or_insert(progress.done);
        let text = self.describe(progress);
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_position(progress.done);
                bar.set_message(text);
                if progress.done == progress.samples {
                    bar.finish_and_clear();
                }
            }
            Shown::Lines(due) => {
                let elapsed = self.start.elapsed();
                if elapsed >= *due {
                    *due = elapsed + LINE_EVERY;
                    let (done, samples) = (count(progress.done), count(progress.samples));
                    let _ = writeln!(std::io::stderr(), "{done} of {samples} samples, {text}");
                }
            }
        }
    }
}

/// What a bar counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Bytes,
    Samples,
}

/// Shows how far something is that may take long: a bar on a terminal, nothing otherwise.
pub(crate) struct Bar {
    start: Instant,
    counted: Counted,
    /// `None`: there is no terminal.
    bar: Option<OnceLock<ProgressBar>>,
    /// When it is drawn next, in milliseconds since the start.
    due: AtomicU64,
}

/// What is done sooner is not worth a bar, in milliseconds.
const WORTH_A_BAR: u64 = 500;
/// How often a bar is drawn, in milliseconds.
const DRAW_EVERY: u64 = 125;

impl Bar {
    pub(crate) fn new(is_terminal: bool, counted: Counted) -> Self {
        let bar = is_terminal.then(OnceLock::new);
        Self { start: Instant::now(), counted, bar, due: AtomicU64::new(WORTH_A_BAR) }
    }

    /// May be called from several threads, as often as there is something new.
    pub(crate) fn show(&self, done: u64, total: u64) {
        let Some(bar) = &self.bar else { return };
        let elapsed = self.start.elapsed();
        let (now, due) = (elapsed.as_millis() as u64, self.due.load(Ordering::Relaxed));
        // One thread draws; the others go on.
        let is_ours = now >= due
            && self.due.compare_exchange(due, now + DRAW_EVERY, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_ours {
            return;
        }
        let bar = bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_position(done);
        bar.set_message(self.counted.describe(done, total, elapsed));
    }

    /// Takes the bar away. What follows is written where it was.
    pub(crate) fn clear(self) {
        if let Some(bar) = self.bar.and_then(OnceLock::into_inner) {
            bar.finish_and_clear();
        }
    }
}

impl Counted {
    fn describe(self, done: u64, total: u64, elapsed: Duration) -> String {
        let mut text = match self {
            Self::Bytes => {
                let megabytes = |bytes: u64| count(bytes.div_ceil(1_000_000));
                format!("{} of {} MB hashed", megabytes(done), megabytes(total))
            }
            Self::Samples => format!("{} of {} samples scored again", count(done), count(total)),
        };
        if done > 0 {
            let left = elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done as f64;
            text.push_str(&format!(", {} left", human_duration(left)));
        }
        text
    }
}

fn human_duration(seconds: f64) -> String {
    let seconds = seconds.min(360_000.0) as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_something_is_reads_like_a_sentence() {
        let second = Duration::from_secs(1);
        for (counted, done, total, elapsed, want) in [
            (Counted::Bytes, 210_500_000, 1_500_000_000, second, "211 of 1,500 MB hashed, 6 s left"),
            (Counted::Bytes, 1_500_000_000, 1_500_000_000, second, "1,500 of 1,500 MB hashed, 0 s left"),
            (Counted::Bytes, 0, 1, second, "0 of 1 MB hashed"),
            (Counted::Bytes, 2, 1, second, "1 of 1 MB hashed, 0 s left"),
            (Counted::Samples, 1_000, 91_000, 2 * second, "1,000 of 91,000 samples scored again, 3 min 00 s left"),
        ] {
            assert_eq!(counted.describe(done, total, elapsed), want);
        }
    }

    #[test]
    fn without_a_terminal_there_is_no_bar() {
        let bar = Bar { due: AtomicU64::new(0), ..Bar::new(false, Counted::Bytes) };
        bar.show(1, 2);
        assert!(bar.bar.is_none() && bar.due.load(Ordering::Relaxed) == 0);
        bar.clear();
    }
}
