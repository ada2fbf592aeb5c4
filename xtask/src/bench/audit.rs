//! `audit` of results of another harness: 466 tasks with 46 MB of trajectories, and 5 GB of them.
//!
//! The pages are made-up prose with some markup and numbers; the answer of a task stands on one of its pages, as it does
//! where such tasks are solved. The run is clean: nothing ends the audit early. Many tasks and long trajectories are measured
//! apart: memory must not grow with the one, and what is looked at at once bounds the other.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use proofmark_artefact::store::write_atomic;
use serde_json::json;

use super::{Bench, Cost, Figure, Size, path};

pub(super) fn measure(bench: &Bench, size: Size) -> Result<Vec<Figure>> {
    let times = match size {
        Size::Full => 100,
        Size::Quick => 10,
    };
    let (few, few_bytes) = audit(bench, "few", 466, 46_000_000, 3)?;
    let (many, many_bytes) = audit(bench, "many", 466 * times, 46_000_000 * times, 1)?;
    let (long, long_bytes) = audit(bench, "long", 466, 460_000_000, 1)?;
    let speed = |bytes: u64, cost: Cost| bytes as f64 / 1e6 / cost.wall_s;
    let figure = |name, value, unit, aim| Figure { name, value, unit, aim };
    let growth = (many.peak_rss_mb / few.peak_rss_mb - 1.0) * 100.0;
    Ok(vec![
        figure("audit of 466 tasks, 46 MB of trajectories: time", few.wall_s, "s", "< 3.8"),
        figure("audit of 466 tasks, 46 MB of trajectories: peak RSS", few.peak_rss_mb, "MB", "< 175"),
        figure("audit of 466 tasks, 46 MB of trajectories: speed", speed(few_bytes, few), "MB/s", "≥ 150"),
        figure("audit of many tasks: size of the trajectories", many_bytes as f64 / 1e6, "MB", ""),
        figure("audit of many tasks: speed", speed(many_bytes, many), "MB/s", "≥ 150"),
        figure("audit of many tasks: peak RSS", many.peak_rss_mb, "MB", ""),
        figure("audit of many tasks: growth of peak RSS", growth, "%", "flat"),
        figure("audit of 466 tasks, 460 MB of trajectories: speed", speed(long_bytes, long), "MB/s", "≥ 150"),
        figure("audit of 466 tasks, 460 MB of trajectories: peak RSS", long.peak_rss_mb, "MB", ""),
    ])
}

/// Makes the files, audits them and takes them away.
fn audit(bench: &Bench, name: &str, tasks: u64, bytes: u64, tries: usize) -> Result<(Cost, u64)> {
    let [results, trajectories, metadata] = make(bench, name, tasks, bytes)?;
    let length = std::fs::metadata(&trajectories)?.len();
    let arguments = [
        "audit",
        "--results",
        path(&results),
        "--trajectories",
        path(&trajectories),
        "--metadata",
        path(&metadata),
        "--format",
        "json",
    ];
    let cost = bench.best(tries, &arguments)?;
    std::fs::remove_file(&trajectories)?;
    Ok((cost, length))
}

fn make(bench: &Bench, name: &str, tasks: u64, bytes: u64) -> Result<[PathBuf; 3]> {
    const RESULTS: u64 = 20;
    let names = ["results.json", "trajectories.jsonl", "metadata.json"];
    let [results, trajectories, metadata] = names.map(|file| bench.path(&format!("{name}-{file}")));
    let page_bytes = (bytes / tasks / RESULTS) as usize;
    let mut all = Vec::new();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&trajectories)?);
    let mut words = Words(1);
    for task in 0..tasks {
        let (id, gold) = (format!("task-{task:06}"), format!("Quellmar {task:06}"));
        let question = format!("Which harbour did expedition number {task} of the northern survey reach first?");
        let mut steps = vec![
            json!({"type": "prompt", "content": question}),
            json!({"type": "llm_call", "input": question, "output": words.page(400), "tokens_out": 100}),
        ];
        for result in 0..RESULTS {
            let mut page = words.page(page_bytes);
            if result == 11 {
                let middle = page.floor_char_boundary(page.len() / 2);
                page.insert_str(middle, &format!(" The ship called at {gold} in spring. "));
            }
            let url = format!("https://library.example/{task}/{result}");
            steps.push(json!({"type": "tool_call", "name": "web_fetch", "input": {"url": url}}));
            steps.push(json!({"type": "tool_result", "name": "web_fetch", "output": page, "url": url}));
            steps.push(
                json!({"type": "llm_call", "input": "[results above]", "output": words.page(400), "tokens_out": 100}),
            );
        }
        serde_json::to_writer(&mut out, &json!({"task_id": id, "turns": 21, "steps": steps}))?;
        out.write_all(b"\n")?;
        all.push(json!({"task_id": id, "question": question, "model": "m", "correct": true, "answer": gold,
            "expected_output": gold, "turns": 21, "wallMs": 60_000, "inputTokens": 90_000, "outputTokens": 2_100}));
    }
    out.flush()?;
    write_atomic(&results, json!({"model": "m", "results": all}).to_string().as_bytes())?;
    let facts = json!({"gaia_split": "validation", "voting_attempts": 1, "total_questions": tasks, "pass_rate": 1});
    write_atomic(&metadata, facts.to_string().as_bytes())?;
    Ok([results, trajectories, metadata])
}

/// Prose without end, the same every time.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        // Xorshift: it only has to look different from page to page.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn page(&mut self, bytes: usize) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "re", "ton", "mi", "sal", "ver", "no", "ki", "lan", "du", "pe", "ros", "ti", "gar", "é", "wen"];
        let mut page = String::with_capacity(bytes + 64);
        while page.len() < bytes {
            let draw = self.next();
            for at in 0..=draw % 3 {
                page.push_str(SYLLABLES[(draw >> (8 + 4 * at) & 15) as usize]);
            }
            match draw >> 40 & 63 {
                0 => page.push_str(".\n"),
                1 => page.push_str(", "),
                2 => {
                    let _ = write!(page, " {} ", draw >> 50);
                }
                3 => page.push_str(" <a href=\"/x\">see</a> "),
                4 => page.push_str(" &amp; "),
                _ => page.push(' '),
            }
        }
        page
    }
}
