//! `verify` of a large run directory: rungs 1 and 2 against `openssl dgst -sha256` over the same files.
//!
//! The directory is a real run whose long files were made long afterwards and pinned again. Rung 2 hashes records and
//! trajectories without a look into them, so their content does not matter; the telemetry is read and is real.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use proofmark_artefact::manifest::Manifest;
use proofmark_artefact::store::{digest_file, names, write_atomic};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::telemetry::{Attempt, AttemptOutcome};
use proofmark_artefact::witness::{Block, markdown};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Bench, Figure, Size, path, yardstick};

pub(super) fn measure(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let bytes: u64 = match size {
        Size::Full => 2_000_000_000,
        Size::Quick => 200_000_000,
    };
    let dir = make_run(bench, bytes)?;
    let files: Vec<PathBuf> = names::PLANE_1.iter().chain(&names::PLANE_2).map(|name| dir.join(name)).collect();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).filter(|file| file.exists()).collect();
    let arguments = ["verify", path(&dir), "--rung", "2"];
    let (mut ours, mut theirs, mut peak) = (f64::INFINITY, f64::INFINITY, 0.0f64);
    // Once before, so that both find the files in memory.
    yardstick(&files)?;
    for _ in 0..3 {
        theirs = theirs.min(yardstick(&files)?);
        let cost = bench.cost(&arguments)?;
        ours = ours.min(cost.wall_s);
        peak = peak.max(cost.peak_rss_mb);
    }
    std::fs::remove_dir_all(&dir)?;
    let figure = |name, value, unit, aim| Figure { name, value, unit, aim };
    Ok(vec![
        figure("verify, rungs 1 and 2: time as a ratio to openssl over the files", ours / theirs, "×", "< 0.8"),
        figure("verify, rungs 1 and 2: time", ours, "s", ""),
        figure("verify, rungs 1 and 2: peak RSS", peak, "MB", ""),
        figure("openssl over the files", theirs, "s", ""),
        figure("size of the verified run", bytes as f64 / 1e6, "MB", ""),
    ])
}

/// A run directory of so many bytes: records 60 %, trajectories 30 %, telemetry 6 %, the page the rest.
fn make_run(bench: &Bench, bytes: u64) -> Result<PathBuf> {
    write_atomic(&bench.path("verify.jsonl"), b"{\"id\":\"a\",\"input\":\"x\",\"target\":\"x\"}\n")?;
    let suite = "name: bench\nmodels: [{id: mock, model: \"offline:echo\"}]\nevidence: {record: true}\ntasks:\n  - id: echo\n    \
                 dataset: {format: jsonl, path: verify.jsonl, id: id}\n    scorers: [{type: exact}]\n";
    write_atomic(&bench.path("verify.yaml"), suite.as_bytes())?;
    let dir = bench.path("runs/verify");
    bench.cost(&["run", path(&bench.path("verify.yaml")), "--run-dir", path(&dir)])?;
    for (name, percent) in [(names::RECORDS, 60), (names::TRAJECTORIES, 30), (names::REPORT_HTML, 4)] {
        lengthen(&dir.join(name), bytes * percent / 100)?;
    }
    let ids = write_telemetry(&dir.join(names::TELEMETRY), bytes * 6 / 100)?;
    pin(&dir, ids)?;
    Ok(dir)
}

fn lengthen(file: &Path, bytes: u64) -> Result<()> {
    let mut out = BufWriter::new(File::options().append(true).open(file)?);
    // Not all the same, lest something on the way is clever.
    let block: Vec<u8> = (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut left = bytes;
    while left > 0 {
        let length = left.min(block.len() as u64);
        out.write_all(&block[..length as usize])?;
        left -= length;
    }
    Ok(out.flush()?)
}

/// Writes attempts that were answered, and returns their request ids in order.
fn write_telemetry(file: &Path, bytes: u64) -> Result<Vec<String>> {
    let mut out = BufWriter::new(File::create(file)?);
    let (mut written, mut ids) = (0, Vec::new());
    while written < bytes {
        let ordinal = ids.len() as u64;
        let id = format!("req_{ordinal:032x}");
        let attempt = Attempt {
            at: "2026-11-16T00:00:00.000Z".to_owned(),
            attempt: 1,
            cached_input_tokens: None,
            call: 0,
            class: None,
            endpoint: "https://api.example/v1/chat/completions".to_owned(),
            first_byte_ms: Some(101.25),
            key: format!("echo/{ordinal}/mock/default/0"),
            latency_ms: 230.5,
            model: "mock".to_owned(),
            model_returned: Some("mock-1-2026-01-31".to_owned()),
            ordinal,
            outcome: AttemptOutcome::Answered,
            request_bytes: 812,
            request_digest: None,
            request_id: Some(id.clone()),
            response_bytes: 1944,
            retry_after_ms: None,
            status: Some(200),
            waited_ms: 0.0,
        };
        let line = canonical(&attempt)?;
        out.write_all(&line)?;
        written += line.len() as u64;
        ids.push(id);
    }
    out.flush()?;
    Ok(ids)
}

/// Makes every pin right for what the files are now.
fn pin(dir: &Path, ids: Vec<String>) -> Result<()> {
    let digest = |name: &str| -> Result<_> { Ok(digest_file(&dir.join(name))?.0) };
    let mut manifest: Manifest = load(dir, names::MANIFEST)?;
    for (name, pin) in &mut manifest.artifacts {
        *pin = digest(name)?;
    }
    write_atomic(&dir.join(names::MANIFEST), &canonical(&manifest)?)?;
    let mut block: Block = load(dir, names::REPLAY)?;
    block.models.first_mut().context("a model")?.provider_request_ids = ids;
    let summary: Summary = load(dir, names::SUMMARY)?;
    write_atomic(&dir.join(names::REPORT_MD), markdown::render(&block, &summary)?.as_bytes())?;
    block.artifacts.insert(names::TELEMETRY.to_owned(), digest(names::TELEMETRY)?);
    for (name, pin) in &mut block.artifacts {
        *pin = digest(name)?;
    }
    write_atomic(&dir.join(names::REPLAY), &canonical(&block)?)?;
    Ok(())
}

fn load<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<T> {
    serde_json::from_slice(&std::fs::read(dir.join(name))?).with_context(|| format!("cannot read `{name}`"))
}

fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = proofmark_canon::to_vec(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
