//! Request ids: any number of them, in constant memory, and every one is held against the telemetry.

use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use proofmark_artefact::store::{digest_file, names, write_atomic};
use proofmark_artefact::summary::Summary;
use proofmark_artefact::witness::{Block, markdown};
use proofmark_canon::json;
use proofmark_testkit::command::TestEnv;

use super::climb_two;
use crate::support::small;

/// A run of a model that is built in, given the telemetry and the ids of as many calls as there are ordinals.
fn run_with_calls(calls: u64, id: &dyn Fn(u64) -> String) -> TestEnv {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let dir = env.path("run");
    let mut telemetry = BufWriter::new(File::create(dir.join(names::TELEMETRY)).unwrap());
    // Neighbours change places: calls end in another order than they began.
    for ordinal in (0..calls).map(|at| if (at ^ 1) < calls { at ^ 1 } else { at }) {
        let id = id(ordinal);
        writeln!(
            telemetry,
            r#"{{"attempt":1,"call":0,"model":"echo","ordinal":{ordinal},"outcome":"answered","request_id":"{id}"}}"#
        )
        .unwrap();
    }
    telemetry.into_inner().unwrap();
    let mut block: Block = serde_json::from_slice(&env.bytes("run/report.replay.json")).unwrap();
    let summary: Summary = serde_json::from_slice(&env.bytes("run/summary.json")).unwrap();
    let report = markdown::render_counted(&block, &[calls], &summary).unwrap();
    write_atomic(&dir.join(names::REPORT_MD), report.as_bytes()).unwrap();
    for name in [names::TELEMETRY, names::REPORT_MD] {
        block.artifacts.insert(name.to_owned(), digest_file(&dir.join(name)).unwrap().0);
    }
    write_sidecar(&dir, &block, (0..calls).map(id));
    env
}

fn write_sidecar(dir: &Path, block: &Block, ids: impl Iterator<Item = String>) {
    let text = String::from_utf8(json::to_vec(block).unwrap()).unwrap();
    let place = "\"provider_request_ids\":[";
    let (before, after) = text.split_once(place).unwrap();
    let mut out = BufWriter::new(File::create(dir.join(names::REPLAY)).unwrap());
    write!(out, "{before}{place}").unwrap();
    for (at, id) in ids.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}\"{id}\"").unwrap();
    }
    writeln!(out, "{after}").unwrap();
    out.into_inner().unwrap();
}

#[test]
fn an_id_that_is_not_the_telemetrys_is_found_wherever_it_is() {
    let calls = 5_000u64;
    let env = run_with_calls(calls, &|at| format!("req_{at:05}"));
    let dir = env.path("run");
    let (_, shown) = climb_two(&dir);
    assert!(shown.contains("ok    report.replay.json: request ids of telemetry.jsonl: 5000 in the order"), "{shown}");
    let whole: Vec<String> = (0..calls).map(|at| format!("req_{at:05}")).collect();
    let mut block: Block = serde_json::from_slice(&env.bytes("run/report.replay.json")).unwrap();
    block.models[0].provider_request_ids.clear();
    let found = |ids: Vec<String>, want: &str| {
        write_sidecar(&dir, &block, ids.into_iter());
        let (_, shown) = climb_two(&dir);
        let line = format!("FAIL  report.replay.json: request ids of telemetry.jsonl: {want}");
        assert!(shown.contains(&line), "{want}: {shown}");
    };
    for at in [0, 1, 2_499, 4_998, 4_999] {
        let mut ids = whole.clone();
        ids[at] = "other".to_owned();
        found(
            ids,
            &format!("request id {} of model `echo` is `other`, but telemetry.jsonl has `req_{at:05}` there", at + 1),
        );
    }
    for (a, b) in [(0, 1), (10, 4_000), (4_998, 4_999)] {
        let mut ids = whole.clone();
        ids.swap(a, b);
        found(
            ids,
            &format!(
                "request id {} of model `echo` is `req_{b:05}`, but telemetry.jsonl has `req_{a:05}` there",
                a + 1
            ),
        );
    }
    // With one more or one less the number in report.md is another one too, which rung 1 finds; so it is made right here.
    let summary: Summary = serde_json::from_slice(&env.bytes("run/summary.json")).unwrap();
    for (drop, add) in [(Some(0), 0), (Some(2_500), 0), (Some(4_999), 0), (None, 1), (Some(7), 2)] {
        let mut ids = whole.clone();
        if let Some(at) = drop {
            ids.remove(at);
        }
        ids.extend((0..add).map(|_| whole[4_999].clone()));
        let mut block = block.clone();
        let report = markdown::render_counted(&block, &[ids.len() as u64], &summary).unwrap();
        let digest = write_atomic(&dir.join(names::REPORT_MD), report.as_bytes()).unwrap();
        block.artifacts.insert(names::REPORT_MD.to_owned(), digest);
        let listed = ids.len();
        write_sidecar(&dir, &block, ids.into_iter());
        let (_, shown) = climb_two(&dir);
        let want =
            format!("model `echo` has {listed} request ids, but telemetry.jsonl has 5000 answered calls with one");
        assert!(shown.contains(&want), "{shown}");
        assert_eq!(shown.matches("FAIL  ").count(), 1, "{shown}");
    }
}

#[test]
fn ids_that_are_written_otherwise_are_found() {
    let env = run_with_calls(3, &|at| format!("req_{at}"));
    let sidecar = env.text("run/report.replay.json");
    for (from, to, want) in [
        ("\"req_1\"", " \"req_1\"", "the file is not canonical JSON at byte"),
        ("\"req_1\"", "\"req\\u005f1\"", "the file is not canonical JSON at byte"),
        ("\"req_1\"", "1", "`models[0].provider_request_ids[1]` is `1`, expected a text"),
        ("\"req_1\"", "\"req_1", "is not a replay block: not valid JSON: column"),
        ("\"req_2\"]", "\"req_2\",]", "is not a replay block: not valid JSON: column"),
    ] {
        assert!(sidecar.contains(from), "{from}");
        env.put("run/report.replay.json", sidecar.replacen(from, to, 1));
        let (_, shown) = climb_two(&env.path("run"));
        assert!(shown.contains(want), "{to}: {shown}");
    }
}

/// Memory that a program may write to, in KiB. What it needs for a run of one sample is a fourth of that.
const MEMORY: u64 = 32 << 10;

#[test]
fn a_sidecar_larger_than_memory_is_verified() {
    let calls = 100_000;
    let id = |at: u64| format!("req_{at:0700}");
    let env = run_with_calls(calls, &id);
    // Twice what may be held, and more than was ever read whole.
    assert!(std::fs::metadata(env.path("run/report.replay.json")).unwrap().len() > 64 << 20);
    let ran = env.call_with_memory(MEMORY, &["verify", "run", "--rung", "2"]).run().expect(0);
    let ran = ran.says(&["request ids of telemetry.jsonl: 100000 in the order of the records", "verdict: holds"]);
    // It takes long enough for a bar, but nobody looks at a terminal.
    assert_eq!(ran.stderr, "", "{ran}");
    let mut sidecar = File::options().read(true).write(true).open(env.path("run/report.replay.json")).unwrap();
    let last = find_last(&mut sidecar, "99999\"]");
    sidecar.seek(SeekFrom::Start(last)).unwrap();
    sidecar.write_all(b"99998").unwrap();
    let ran = env.call_with_memory(MEMORY, &["verify", "run", "--rung", "2"]).run().expect(1);
    ran.says(&["request id 100000 of model `echo` is `req_0"]);
}

/// Where a text stands near the end of a file.
fn find_last(file: &mut File, text: &str) -> u64 {
    let start = file.seek(SeekFrom::End(-8192)).unwrap();
    let mut tail = String::new();
    file.read_to_string(&mut tail).unwrap();
    start + tail.rfind(text).unwrap() as u64
}

#[test]
fn three_million_ids_are_read_in_constant_memory() {
    let env = run_with_calls(1, &|_| "req".to_owned());
    let mut block: Block = serde_json::from_slice(&env.bytes("run/report.replay.json")).unwrap();
    block.models[0].provider_request_ids.clear();
    write_sidecar(&env.path("run"), &block, (0..3_000_000).map(|at| format!("req_{at:032x}")));
    // The number in report.md is another one.
    let ran = env.call_with_memory(MEMORY, &["verify-replay", "run"]).run().expect(1);
    ran.says(&["FAIL", "models[0].provider_request_ids", "3000000 captured"]);
}
