//! `proofmark verify`: every edit of a run is found, on the rung that can find it.

mod forge;
mod ids;
mod live;
mod output;
mod reexecute;
mod strange;
mod tamper;

use std::path::Path;

use proofmark_artefact::replay::{Options, locate};
use proofmark_artefact::verify::artefacts::{Whole, climb_artefacts, run_dir_of};
use proofmark_artefact::verify::format::{Palette, text};
use proofmark_artefact::verify::inputs::climb_inputs;
use proofmark_artefact::verify::{Demand, Outcome, Rung};
use proofmark_serve::mock::{Config, Faults, Times};
use proofmark_testkit::command::TestEnv;

use crate::live::{call_live, env, provider, suite};

/// A run over HTTP with retries, evidence, telemetry and request ids, in `run`.
pub(crate) fn live_run() -> TestEnv {
    let env = env();
    // Every third answer is wrong: a forger needs something to improve.
    let target = |n: usize| if n.is_multiple_of(3) { 0 } else { n };
    let rows =
        (1..=12).map(|n| format!("{{\"id\":\"q{n:02}\",\"input\":\"item {n}\",\"target\":\"item {}\"}}\n", target(n)));
    env.put("data.jsonl", rows.collect::<String>());
    suite(
        &env,
        "  - {id: a, model: \"openai:mock-1\"}\n  - {id: b, model: \"anthropic:mock-1\"}\n",
        "conditions: {raw: {}, kind: {system: \"Be kind.\"}}\nevidence: {record: true}\nlimits: {max_retries: 2}",
    );
    let faults: Faults = "429=10,500=10,refusal=20".parse().unwrap();
    let server = provider(Config { faults, fault_times: Times::AtMost(1), ..Config::default() });
    call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--allow-errors", "100%"]).run().expect(0);
    env
}

/// A run over HTTP whose answers are pictures, in `run`.
pub(crate) fn picture_run() -> TestEnv {
    let env = env();
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"a red house\"}\n{\"id\":\"b\",\"input\":\"a blue house\"}\n");
    env.put(
        "suite.yaml",
        "name: paint\nmodels: [{id: openai, model: \"openai:gpt-image-1\", output: image}]\ntasks:\n  - id: paint\n    \
         dataset: {format: jsonl, path: data.jsonl, id: id}\n    scorers: [{type: image, format: png}]\n",
    );
    let server = provider(Config::default());
    call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run"]).run().expect(0);
    env
}

/// Climbs rungs 1 and 2 in this process, which is faster than a program for each.
pub(crate) fn climb_two(dir: &Path) -> (Outcome, String) {
    let argument = dir.to_str().expect("a path in UTF-8").to_owned();
    let target = locate(&[argument]).expect("a run directory").remove(0);
    let options = Options { at: None, root: None, cwd: dir.to_owned(), cache: None };
    let mut outcome = Outcome::new("run");
    let inputs = climb_inputs(&target, &options);
    if outcome.climb(inputs.climb) {
        let dir = run_dir_of(&target).expect("a run directory");
        let sidecar = inputs.sidecar.expect("a sidecar of which the inputs hold");
        let version = env!("CARGO_PKG_VERSION");
        outcome.climb(climb_artefacts(dir, &sidecar, Whole::Demanded, version, &|_, _| {}));
    }
    let outcome = outcome.finish(Demand::UpTo(Rung::Artefacts));
    let shown = text(std::slice::from_ref(&outcome), Palette::Plain);
    (outcome, shown)
}
