//! What evidence costs: CPU of a run of single questions, and the disk of a run of agents.

use std::fmt::Write as _;

use anyhow::Result;
use proofmark_artefact::store::{names, write_atomic};

use super::live::Provider;
use super::{Bench, Figure, Size, path};

pub(super) fn measure(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let mut figures = asked_questions(bench)?;
    let short = echoed(bench, |item| format!("What is {item} plus {}?", item % 97))?;
    let long =
        echoed(bench, |item| format!("Question {item}: {}", "which of these words is the last one? ".repeat(12)))?;
    let figure = |name, value, aim| Figure { name, value, unit: "%", aim };
    figures.extend([
        figure(
            "evidence: CPU it adds to 10,000 short questions that are echoed within the process",
            short.added,
            "≤ 15",
        ),
        figure("evidence: the same with questions and answers of 480 bytes, the most that it weighs", long.added, ""),
        Figure { name: "evidence: CPU of these 10,000 with it", value: long.with, unit: "s", aim: "" },
    ]);
    figures.extend(agents(bench, size)?);
    Ok(figures)
}

/// 10,000 single questions put to a provider over HTTP, with and without evidence.
fn asked_questions(bench: &Bench) -> Result<Vec<Figure>> {
    let items = 10_000;
    bench.write_live_suite(items)?;
    let provider = Provider::start(&bench.program, "0")?;
    let (mut with, mut without) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        for (flag, best) in [("--record-evidence=false", &mut without), ("--record-evidence=true", &mut with)] {
            *best = best.min(provider.best(bench, items, &["--concurrency", "32", flag], 1)?.cpu_s);
        }
    }
    Ok(vec![Figure {
        name: "evidence: CPU it adds to 10,000 single questions over HTTP",
        value: (with / without - 1.0) * 100.0,
        unit: "%",
        aim: "≤ 15",
    }])
}

/// What evidence adds to a run.
struct Added {
    /// In percent.
    added: f64,
    /// Seconds of CPU with evidence.
    with: f64,
}

/// The same with a model that costs nothing and an echo for an answer: the most that evidence can weigh.
fn echoed(bench: &Bench, question: impl Fn(u64) -> String) -> Result<Added> {
    const TURNS: u32 = 25;
    let items = 10_000;
    let mut data = String::new();
    for item in 0..items {
        writeln!(data, "{{\"id\":\"i{item}\",\"input\":\"{}\",\"target\":\"answer {item}\"}}", question(item))?;
    }
    write_atomic(&bench.path("evidence.jsonl"), data.as_bytes())?;
    let suite = "name: evidence\nmodels: [{id: echo, model: \"offline:echo\"}]\ntasks:\n  - id: t\n    dataset: {format: jsonl, \
                 path: evidence.jsonl, id: id}\n    scorers: [{type: exact}]\n";
    write_atomic(&bench.path("evidence.yaml"), suite.as_bytes())?;
    let (suite, dir) = (bench.path("evidence.yaml"), bench.path("runs/evidence"));
    let (mut with, mut without) = (0.0, 0.0);
    // By turns, so that both meet the same machine. The sum of many: a clock that counts hundredths is too coarse for one.
    for _ in 0..TURNS {
        for (flag, sum) in [("--record-evidence=false", &mut without), ("--record-evidence=true", &mut with)] {
            let arguments = ["run", path(&suite), "--run-dir", path(&dir), "--overwrite", "--format", "json", flag];
            *sum += bench.cost(&arguments)?.cpu_s;
        }
    }
    Ok(Added { added: (with / without - 1.0) * 100.0, with: with / f64::from(TURNS) })
}

/// 165 tasks whose agents get 30 results of 200 KB each.
fn agents(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let (tasks, results) = match size {
        Size::Full => (165, 30),
        Size::Quick => (20, 30),
    };
    let (mut data, mut script) = (String::new(), String::from("agents:\n"));
    for task in 0..tasks {
        writeln!(
            data,
            "{{\"id\":\"i{task}\",\"input\":\"What does page {task} say of the town of Xanten?\",\"target\":\"Answer {task}\",\"file\":\"pages/p{}.txt\"}}",
            task % 8
        )?;
        let reads = format!(
            "{{calls: [{}]}}",
            vec![format!("{{name: file_read, args: {{path: p{}.txt}}}}", task % 8); results].join(", ")
        );
        writeln!(script, "  i{task}:\n    - {reads}\n    - {{text: \"Answer {task}\"}}")?;
    }
    std::fs::create_dir_all(bench.path("pages"))?;
    for page in 0..8u32 {
        let mut text = String::with_capacity(200_000);
        let mut word = page.wrapping_mul(2_654_435_761).max(1);
        while text.len() < 200_000 {
            // Words of a page that has never been.
            word ^= word << 13;
            word ^= word >> 17;
            word ^= word << 5;
            write!(text, "w{:x} and {}, ", word % 65_536, word % 1_000)?;
        }
        text.truncate(200_000);
        write_atomic(&bench.path(&format!("pages/p{page}.txt")), text.as_bytes())?;
    }
    write_atomic(&bench.path("agents.jsonl"), data.as_bytes())?;
    write_atomic(&bench.path("agents-script.yaml"), script.as_bytes())?;
    let suite = "name: agents\nmodels: [{id: script, model: \"offline:scripted\", params: {file: agents-script.yaml}}]\nevidence: \
                 {record: true}\ntasks:\n  - id: t\n    dataset: {format: jsonl, path: agents.jsonl, id: id, files: [file]}\n    \
                 solver: {type: agent, tools: [{type: file_read, max_output: 262144}]}\n    scorers: [{type: exact}]\n";
    write_atomic(&bench.path("agents.yaml"), suite.as_bytes())?;
    let dir = bench.path("runs/agents");
    let suite = bench.path("agents.yaml");
    let cost = bench.cost(&["run", path(&suite), "--run-dir", path(&dir), "--overwrite", "--format", "json"])?;
    let bytes: u64 =
        std::fs::read_dir(&dir)?.filter_map(|entry| entry.ok()?.metadata().ok()).map(|file| file.len()).sum();
    let trajectories = std::fs::metadata(dir.join(names::TRAJECTORIES))?.len();
    std::fs::remove_dir_all(&dir)?;
    let scanned = (tasks * results) as f64 * 0.2;
    let figure = |name, value, unit, aim| Figure { name, value, unit, aim };
    Ok(vec![
        figure("agents, 165 × 30 results of 200 KB: run directory", bytes as f64 / 1e6, "MB", "< 40"),
        figure("agents: trajectories.jsonl", trajectories as f64 / 1e6, "MB", ""),
        figure("agents: results hashed and scanned a second", scanned / cost.wall_s, "MB/s", ""),
        figure("agents: peak RSS", cost.peak_rss_mb, "MB", ""),
    ])
}
