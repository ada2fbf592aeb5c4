//! The judge cache: what signatures cost, and how fast verdicts are found.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{Bench, Figure, Size, path, release_folder};
use crate::shell::run as shell;

/// Processes that look, each of which knows nothing yet; the best counts.
const TRIES: usize = 5;

pub(super) fn measure(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let large = match size {
        Size::Full => "100000",
        Size::Quick => "10000",
    };
    shell("cargo", &["build", "--release", "--package", "proofmark-trust", "--example", "judge-cache-speed"])?;
    let few = Speed::new(bench, "100")?;
    let many = Speed::new(bench, large)?;
    let mut figures = Vec::new();
    let mut add = |name, value, unit, aim| figures.push(Figure { name, value, unit, aim });
    add("judge cache: signing a judgment", many.least("sign_us")?, "µs", "");
    add("judge cache: checking an entry", many.least("verify_us")?, "µs", "");
    add(
        "judge cache, large: verified lookups a second of one core, new process",
        many.most("cold_per_s")?,
        "1/s",
        "≥ 15,000",
    );
    add("judge cache, large: lookups a second, signatures checked before", many.most("warm_per_s")?, "1/s", "");
    add("judge cache, 100 entries: opening", few.least("open_us")?, "µs", "");
    add("judge cache, large: opening", many.least("open_us")?, "µs", "as with 100");
    Ok(figures)
}

/// What processes said that looked everything up in one store.
struct Speed(Vec<Value>);

impl Speed {
    fn new(bench: &Bench, count: &str) -> Result<Self> {
        let dir = bench.path(&format!("judge-cache-{count}"));
        say("fill", path(&dir), count)?;
        (0..TRIES).map(|_| say("look", path(&dir), count)).collect::<Result<_>>().map(Self)
    }

    fn least(&self, name: &str) -> Result<f64> {
        self.values(name).reduce(f64::min).with_context(|| format!("nobody measured {name}"))
    }

    fn most(&self, name: &str) -> Result<f64> {
        self.values(name).reduce(f64::max).with_context(|| format!("nobody measured {name}"))
    }

    fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        self.0.iter().filter_map(move |said| said[name].as_f64())
    }
}

fn say(what: &str, dir: &str, count: &str) -> Result<Value> {
    let program = release_folder()?.join("examples/judge-cache-speed");
    let output = Command::new(&program).args([what, dir, count]).output().context("cannot start the example")?;
    if !output.status.success() {
        bail!("{} {what} failed: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
