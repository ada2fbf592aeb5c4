//! `cargo xtask bench`: speed and memory on a release build.
//!
//! The machine is noisy, so times are given as a ratio to a yardstick that runs beside them
//! (`openssl dgst -sha256` over the same files), and every figure is the best of several tries.

mod audit;
mod bare;
mod cache;
mod evidence;
mod live;
mod verify;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use proofmark_artefact::store::write_atomic;

use crate::shell::{need, root, run as shell, say};

/// How large the runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// 100,000 and 1,000,000 samples: the figures we publish.
    Full,
    /// A tenth of that, to see that the bench itself works.
    Quick,
}

/// One part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Audit,
    Cache,
    Evidence,
    Live,
    Verify,
}

/// What one process took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    wall_s: f64,
    /// User and system time.
    cpu_s: f64,
    peak_rss_mb: f64,
}

/// One line of the result.
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    aim: &'static str,
}

/// Measures one part alone and keeps nothing, while that part is worked at.
pub(crate) fn run_part(part: Part, size: Size) -> Result<()> {
    need("openssl", "openssl")?;
    shell("cargo", &["build", "--release", "--package", "proofmark"])?;
    let bench = Bench::bare()?;
    let figures = match part {
        Part::Audit => audit::measure(&bench, size)?,
        Part::Cache => cache::measure(&bench, size)?,
        Part::Evidence => evidence::measure(&bench, size)?,
        Part::Live => live::measure(&bench, size)?,
        Part::Verify => verify::measure(&bench, size)?,
    };
    say(&table(&figures));
    Ok(())
}

pub(crate) fn run(size: Size) -> Result<()> {
    need("openssl", "openssl")?;
    // GNU time measures a child's peak memory and CPU from outside.
    if !Path::new("/usr/bin/time").exists() {
        shell("apt-get", &["update", "-q"])?;
        shell("apt-get", &["install", "-y", "-q", "time"])?;
    }
    shell("cargo", &["build", "--release"])?;
    let bench = Bench::new(size)?;
    let mut figures = bench.measure()?;
    figures.extend(verify::measure(&bench, size)?);
    figures.extend(evidence::measure(&bench, size)?);
    figures.extend(live::measure(&bench, size)?);
    figures.extend(audit::measure(&bench, size)?);
    figures.extend(cache::measure(&bench, size)?);
    report(size, &figures)
}

struct Bench {
    work: tempfile::TempDir,
    program: PathBuf,
    small: u64,
    large: u64,
}

impl Bench {
    fn new(size: Size) -> Result<Self> {
        let (small, large) = match size {
            Size::Full => (100_000, 1_000_000),
            Size::Quick => (10_000, 100_000),
        };
        let bench = Self { small, large, ..Self::bare()? };
        for (name, items, accuracy) in [("small", small, "0.8"), ("large", large, "0.8"), ("changed", large, "0.8")] {
            bench.write_suite(name, items, accuracy)?;
        }
        Ok(bench)
    }

    /// Without the suites of the large runs.
    fn bare() -> Result<Self> {
        // Beside the sources, not in a temporary folder that may be in memory.
        let parent = root().join("bench/work");
        std::fs::create_dir_all(&parent)?;
        Ok(Self { work: tempfile::tempdir_in(parent)?, program: release_program()?, small: 0, large: 0 })
    }

    fn measure(&self) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        let mut add = |name, value, unit, aim| figures.push(Figure { name, value, unit, aim });

        let start = self.best(7, &["--version"])?;
        add("start-up of `--version`", start.wall_s * 1000.0, "ms", "< 10");

        let small = self.run_suite("small", 3)?;
        let large = self.run_suite("large", 1)?;
        let (few, many) = (self.small as f64, self.large as f64);
        add("run, small: samples a second", few / small.wall_s, "1/s", "≥ 50,000");
        add("run, small: CPU a sample", small.cpu_s / few * 1e6, "µs", "");
        add("run, small: peak RSS", small.peak_rss_mb, "MB", "");
        add("run, large: samples a second", many / large.wall_s, "1/s", "≥ 50,000");
        add("run, large: CPU a sample", large.cpu_s / many * 1e6, "µs", "");
        add("run, large: peak RSS", large.peak_rss_mb, "MB", "≤ 200");
        add(
            "run: growth of peak RSS, small to large",
            (large.peak_rss_mb / small.peak_rss_mb - 1.0) * 100.0,
            "%",
            "< 20",
        );

        self.run_suite("changed", 1)?;
        let (a, b) = (self.path("runs/large"), self.path("runs/changed"));
        let (records_a, records_b) = (a.join("records.jsonl"), b.join("records.jsonl"));
        let size = std::fs::metadata(&records_a)?.len() as f64;
        add("records.jsonl of the large run", size / 1e6, "MB", "");

        let (mut diff, mut both) = (f64::INFINITY, f64::INFINITY);
        let mut diff_cost = None;
        for _ in 0..3 {
            both = both.min(yardstick(&[&records_a, &records_b])?);
            let cost = self.cost(&["diff", path(&a), path(&b), "--format", "json"])?;
            diff = diff.min(cost.wall_s);
            diff_cost = Some(cost);
        }
        let diff_cost = diff_cost.context("no diff was measured")?;
        add("diff: time as a ratio to openssl over both files", diff / both, "×", "≤ 3");
        add("diff: time", diff, "s", "");
        add("diff: peak RSS", diff_cost.peak_rss_mb, "MB", "");

        let (mut validate, mut one) = (f64::INFINITY, f64::INFINITY);
        let mut peak = 0.0f64;
        for _ in 0..3 {
            one = one.min(yardstick(&[&records_a])?);
            let cost = self.cost(&["validate", path(&a)])?;
            validate = validate.min(cost.wall_s);
            peak = peak.max(cost.peak_rss_mb);
        }
        add("validate: time as a ratio to openssl over the file", validate / one, "×", "≤ 6");
        add("validate: time", validate, "s", "");
        add("validate: peak RSS", peak, "MB", "");
        add("openssl over one records file", one, "s", "");
        Ok(figures)
    }

    /// Runs a suite several times; the best time counts.
    fn run_suite(&self, name: &str, tries: usize) -> Result<Cost> {
        let suite = self.path(&format!("{name}.yaml"));
        let dir = self.path(&format!("runs/{name}"));
        let arguments = ["run", path(&suite), "--run-dir", path(&dir), "--overwrite", "--format", "json"];
        self.best(tries, &arguments)
    }

    fn best(&self, tries: usize, arguments: &[&str]) -> Result<Cost> {
        let mut best: Option<Cost> = None;
        for _ in 0..tries {
            let cost = self.cost(arguments)?;
            if best.is_none_or(|best| cost.wall_s < best.wall_s) {
                best = Some(cost);
            }
        }
        best.context("nothing was measured")
    }

    /// Runs the program under GNU time.
    fn cost(&self, arguments: &[&str]) -> Result<Cost> {
        self.cost_with(arguments, &[])
    }

    fn cost_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Cost> {
        let start = Instant::now();
        let output = Command::new("/usr/bin/time")
            .args(["-f", "%U %S %M"])
            .arg(&self.program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .context("cannot start /usr/bin/time")?;
        let wall_s = start.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("`proofmark {}` failed: {text}", arguments.join(" "));
        }
        let last = text.lines().last().unwrap_or_default();
        let numbers: Vec<f64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [user, system, kilobytes] = numbers[..] else { bail!("GNU time printed `{last}`") };
        Ok(Cost { wall_s, cpu_s: user + system, peak_rss_mb: kilobytes / 1024.0 })
    }

    /// One task, an exact scorer, evidence off. `changed` answers 1 % of the items differently.
    fn write_suite(&self, name: &str, items: u64, accuracy: &str) -> Result<()> {
        let data = self.path(&format!("{name}.jsonl"));
        let mut file = BufWriter::new(std::fs::File::create(&data)?);
        for i in 0..items {
            // The item keeps its id and its question; another gold answer makes another reply.
            let answer = if name == "changed" && i % 100 == 0 { i + 1 } else { i + i % 97 };
            writeln!(file, r#"{{"id":"q{i:07}","question":"What is {i} plus {}?","answer":"{answer}"}}"#, i % 97)?;
        }
        file.flush()?;
        let suite = format!(
            "name: bench\nseed: 1\nmodels: [{{id: noisy, model: \"offline:noisy\", params: {{accuracy: {accuracy}}}}}]\n\
             tasks:\n  - id: sums\n    dataset: {{format: jsonl, path: {name}.jsonl, id: id, target: answer}}\n    \
             prompt: \"{{{{ question }}}} Answer with the number only.\"\n    scorers: [{{type: exact}}]\n"
        );
        write_atomic(&self.path(&format!("{name}.yaml")), suite.as_bytes())?;
        Ok(())
    }

    /// One task that the provider echoes.
    fn write_live_suite(&self, items: u64) -> Result<()> {
        let data = self.path(&format!("live-{items}.jsonl"));
        let mut file = BufWriter::new(std::fs::File::create(&data)?);
        for i in 0..items {
            writeln!(file, r#"{{"id":"q{i:07}","input":"What is {i} plus {}?","target":"none"}}"#, i % 97)?;
        }
        file.flush()?;
        let suite = format!(
            "name: bench\nmodels: [{{id: mock, model: \"openai:mock\"}}]\ntasks:\n  - id: echo\n    \
             dataset: {{format: jsonl, path: live-{items}.jsonl, id: id}}\n    scorers: [{{type: exact}}]\n"
        );
        write_atomic(&self.path(&format!("live-{items}.yaml")), suite.as_bytes())?;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Where cargo put the release build.
fn release_program() -> Result<PathBuf> {
    Ok(release_folder()?.join("proofmark"))
}

fn release_folder() -> Result<PathBuf> {
    let output =
        Command::new("cargo").args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(root()).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let target = metadata["target_directory"].as_str().context("cargo names no target directory")?;
    Ok(Path::new(target).join("release"))
}

/// Seconds that openssl takes over the files.
fn yardstick(files: &[&Path]) -> Result<f64> {
    let start = Instant::now();
    let status = Command::new("openssl").args(["dgst", "-sha256"]).args(files).stdout(Stdio::null()).status()?;
    if !status.success() {
        bail!("openssl failed");
    }
    Ok(start.elapsed().as_secs_f64())
}

fn table(figures: &[Figure]) -> String {
    let mut table = String::from("| figure | value | unit | aim |\n|---|---:|---|---|\n");
    for figure in figures {
        let _ = writeln!(table, "| {} | {:.2} | {} | {} |", figure.name, figure.value, figure.unit, figure.aim);
    }
    table
}

/// Prints the figures and keeps them.
fn report(size: Size, figures: &[Figure]) -> Result<()> {
    let table = table(figures);
    let values: BTreeMap<&str, f64> = figures.iter().map(|figure| (figure.name, figure.value)).collect();
    let json = serde_json::to_string_pretty(&values)?;
    say(&format!("\n{table}\n{json}\n"));
    if size == Size::Full {
        let dir = root().join("bench/runs");
        std::fs::create_dir_all(&dir)?;
        let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(root()).output()?;
        let commit = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        let file = dir.join(format!("{commit}.md"));
        write_atomic(&file, format!("{table}\n```json\n{json}\n```\n").as_bytes())?;
        say(&format!("kept in {}\n", file.display()));
    }
    Ok(())
}
