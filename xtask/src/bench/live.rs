//! Live models against the mock provider in a process of its own.
//!
//! What is measured is us: our rate, our CPU, our memory. The provider's CPU is given beside it, to see which of
//! the two is at its end.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use super::{Bench, Cost, Figure, Size, bare, path};

/// Questions at once that are tried for the best rate.
const CONCURRENCIES: [&str; 4] = ["16", "32", "64", "128"];
const LATENCY_MS: f64 = 50.0;

pub(super) fn measure(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let (few, many, most) = match size {
        Size::Full => (1_000, 10_000, 100_000),
        Size::Quick => (1_000, 2_000, 10_000),
    };
    for items in [few, many, most] {
        bench.write_live_suite(items)?;
    }
    let mut figures = Vec::new();
    let mut add = |name, value, unit, aim| figures.push(Figure { name, value, unit, aim });

    let slow = Provider::start(&bench.program, "50")?;
    let ideal = few as f64 * LATENCY_MS / 1000.0 / 32.0;
    let cost = slow.best(bench, few, &["--concurrency", "32"], 5)?;
    add("live, 50 ms, 32 at once: time over the ideal", (cost.wall_s / ideal - 1.0) * 100.0, "%", "≤ 5");
    add("live, 50 ms, 32 at once: samples a second", few as f64 / cost.wall_s, "1/s", "");
    let found = slow.best(bench, few, &[], 2)?;
    add("live, 50 ms, concurrency found by itself: samples a second", few as f64 / found.wall_s, "1/s", "");
    drop(slow);

    let fast = Provider::start(&bench.program, "0")?;
    let before = fast.cpu_s()?;
    let cost = fast.best(bench, many, &["--concurrency", "32"], 3)?;
    let theirs = (fast.cpu_s()? - before) / 3.0;
    add("live, 0 ms, 32 at once: samples a second", many as f64 / cost.wall_s, "1/s", "");
    add("live, 0 ms: our CPU a sample", cost.cpu_s / many as f64 * 1e6, "µs", "≤ 60");
    add("live, 0 ms: the provider's CPU a sample", theirs / many as f64 * 1e6, "µs", "");
    add("live, 0 ms: peak RSS", cost.peak_rss_mb, "MB", "");
    let before = fast.cpu_s()?;
    let bare = (0..3).map(|_| bare::ask(&fast.base, most)).collect::<Result<Vec<_>>>()?;
    let theirs = (fast.cpu_s()? - before) / 3.0;
    let rate = bare.into_iter().fold(0.0, f64::max);
    add("live, 0 ms: what the provider gives to a bare socket, samples a second", rate, "1/s", "");
    add("live, 0 ms: the provider's CPU for a bare socket, a sample", theirs / most as f64 * 1e6, "µs", "");
    let mut best = 0.0f64;
    for concurrency in CONCURRENCIES {
        let cost = fast.best(bench, many, &["--concurrency", concurrency], 2)?;
        best = best.max(many as f64 / cost.wall_s);
    }
    add("live, 0 ms, best concurrency: samples a second", best, "1/s", "");

    let small = fast.best(bench, few, &["--concurrency", "32"], 3)?;
    let large = fast.best(bench, most, &["--concurrency", "32"], 1)?;
    add("live: peak RSS, 1,000 samples", small.peak_rss_mb, "MB", "");
    add("live: peak RSS, 100,000 samples", large.peak_rss_mb, "MB", "");
    add("live: growth of peak RSS", (large.peak_rss_mb / small.peak_rss_mb - 1.0) * 100.0, "%", "flat");
    Ok(figures)
}

/// A mock provider in a process of its own. It ends with its stdin.
pub(super) struct Provider {
    child: Child,
    base: String,
}

impl Provider {
    pub(super) fn start(program: &Path, latency_ms: &str) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["mock-provider", "--exit-with-stdin", "--latency", latency_ms])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the mock provider")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the provider has no stdout")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let base = line.trim().rsplit(' ').next().context("the provider does not say where it listens")?.to_owned();
        Ok(Self { child, base })
    }

    /// Runs a suite several times into a new directory; the best time counts.
    pub(super) fn best(&self, bench: &Bench, items: u64, more: &[&str], tries: usize) -> Result<Cost> {
        let suite = bench.path(&format!("live-{items}.yaml"));
        let dir = bench.path(&format!("runs/live-{items}"));
        let mut arguments = vec!["run", path(&suite), "--run-dir", path(&dir), "--format", "json"];
        arguments.extend(more);
        let base = format!("{}/v1", self.base);
        let environment = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_API_KEY", "none")];
        let mut best: Option<Cost> = None;
        for _ in 0..tries {
            // Taking the old files away is not what is measured.
            if dir.exists() {
                std::fs::remove_dir_all(&dir)?;
            }
            let cost = bench.cost_with(&arguments, &environment)?;
            best = Some(best.filter(|best| best.wall_s <= cost.wall_s).unwrap_or(cost));
        }
        best.context("nothing was measured")
    }

    /// Seconds of CPU that the provider has used, from the kernel's table: a hundredth of a second is its unit.
    fn cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let numbers: Vec<f64> = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
        Ok(numbers.iter().sum::<f64>() / 100.0)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
