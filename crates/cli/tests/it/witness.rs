//! What a run says about itself: the sidecar, the report that is derived from it, and what must be in neither.

use std::process::Command;

use proofmark_artefact::witness::{Block, markdown};
use proofmark_canon::{Digest, json};
use proofmark_testkit::command::TestEnv;
use proofmark_testkit::hub::{FakeHub, HubFile, HubRepo};
use proofmark_testkit::tree::copy;
use serde_json::{Value, json};

use crate::support::{SMALL, SMALL_DATA, WITNESS, empty, json_lines, small};

const RUN: [&str; 4] = ["run", "suite.yaml", "--run-dir", "run"];

/// The witness of a run, after everything that must hold for any of them.
#[track_caller]
fn witness(env: &TestEnv, dir: &str) -> Value {
    let bytes = env.bytes(&format!("{dir}/report.replay.json"));
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    let schema = env.run(&["schema", "replay"]).expect(0).json();
    if let Err(error) = jsonschema::draft202012::new(&schema).unwrap().validate(&value) {
        panic!("{error}\n{value:#}");
    }
    let parsed = json::parse(&bytes).unwrap();
    let mut canonical = parsed.to_canonical();
    canonical.push(b'\n');
    assert!(canonical == bytes, "the sidecar is not canonical");
    let block: Block = serde_json::from_value(value.clone()).unwrap();
    // Every other file of the run is pinned, and nothing else.
    let files = env.tree(dir);
    let mut pinned: Vec<&String> = block.artifacts.keys().collect();
    pinned.sort();
    let there: Vec<String> =
        files.files().into_iter().map(|(name, _)| name).filter(|name| name != "report.replay.json").collect();
    assert_eq!(pinned, there.iter().collect::<Vec<_>>());
    for (name, bytes) in files.files() {
        if name != "report.replay.json" {
            assert_eq!(block.artifacts[&name], Digest::of(bytes), "{name}");
        }
    }
    // The report says what the sidecar says.
    let report = env.text(&format!("{dir}/report.md"));
    assert_eq!(markdown_block(&report), markdown::shown(&parsed));
    assert!(report.contains("## Replay this run"));
    value
}

/// The value of the block at the top of a report.
fn markdown_block(report: &str) -> proofmark_canon::Value {
    let (first, rest) = report.split_once('\n').unwrap();
    let (fence, info) = first.split_at(first.len() - first.trim_start_matches('`').len());
    assert_eq!(info, "yaml proofmark-replay");
    let end = rest.find(&format!("\n{fence}\n")).unwrap();
    proofmark_artefact::yaml::load(&rest[..=end]).unwrap().to_value()
}

fn git(env: &TestEnv, arguments: &[&str]) -> String {
    let identity = ["-c", "user.email=a@example.org", "-c", "user.name=a"];
    let ran = Command::new("git").arg("-C").arg(env.root()).args(identity).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_witness_names_every_input_with_its_hash_and_how_to_find_it() {
    let env = empty();
    env.put("evals/suite.yaml", format!("# a comment\n{}", SMALL.replace("\"{{ input }}\"", "{file: p.md}")));
    env.put("evals/data.jsonl", SMALL_DATA);
    env.put("evals/p.md", "{{ input }}");
    git(&env, &["init", "-q"]);
    git(&env, &["add", "-A"]);
    git(&env, &["commit", "-q", "-m", "x"]);
    env.run(&["run", "evals/suite.yaml", "--run-dir", "runs/a"])
        .expect(0)
        .says(&["runs/a/report.md", "runs/a/report.replay.json"]);
    let block = witness(&env, "runs/a");
    assert_eq!(block["kind"], "eval-live");
    assert_eq!((&block["root"], &block["root_in_repo"]), (&json!("../../evals"), &json!("evals")));
    assert_eq!(block["argv"], json!(["proofmark", "run", "suite.yaml", "--run-dir", "../runs/a"]));
    assert_eq!(
        (&block["repo_commit"], &block["git_dirty"]),
        (&json!(git(&env, &["rev-parse", "HEAD"])), &json!(false))
    );
    assert_eq!(block["toolchain"], format!("proofmark {}", env!("CARGO_PKG_VERSION")));
    assert!(block.get("resumed").is_none() && block.get("invocations").is_none() && block.get("backfilled").is_none());
    assert_eq!(block["not_submittable"], json!(["evidence was not recorded: there are no trajectories"]));
    let raw = |name: &str| Digest::of(&env.bytes(&format!("evals/{name}"))).to_string();
    let suite = proofmark_artefact::yaml::load(&env.text("evals/suite.yaml")).unwrap().to_value();
    let suite = Digest::of(&suite.to_canonical()).to_string();
    assert_eq!(
        block["inputs"],
        json!([
            {"role": "suite", "path": "suite.yaml", "hash": suite, "mode": "structured"},
            {"role": "dataset", "path": "data.jsonl", "hash": raw("data.jsonl"), "mode": "raw"},
            {"role": "prompt", "path": "p.md", "hash": raw("p.md"), "mode": "raw"},
        ])
    );
    // From the report's folder, the way to the root and the command are enough.
    let root = env.path("runs/a").join(block["root"].as_str().unwrap());
    let mut argv: Vec<&str> = block["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    argv.push("--overwrite");
    let before = env.bytes("runs/a/records.jsonl");
    env.call(&argv[1..]).within(&root).run().expect(0);
    assert!(env.bytes("runs/a/records.jsonl") == before);
}

#[test]
fn git_is_looked_at_before_the_run_and_only_when_it_is_there() {
    let env = small();
    let state = |arguments: &[&str], path: Option<&str>| {
        let call = env.call(&[&RUN[..], &["--overwrite"], arguments].concat());
        let call = if let Some(path) = path { call.env("PATH", path) } else { call };
        call.run().expect(0);
        let block = witness(&env, "run");
        (block["repo_commit"].clone(), block["git_dirty"].clone())
    };
    let nothing = (Value::Null, Value::Null);
    assert_eq!(state(&[], None), nothing, "no repository");
    std::fs::remove_dir_all(env.path("run")).unwrap();
    git(&env, &["init", "-q"]);
    assert_eq!(state(&[], None), nothing, "no commit yet");
    git(&env, &["add", "suite.yaml", "data.jsonl"]);
    git(&env, &["commit", "-q", "-m", "x"]);
    let head = json!(git(&env, &["rev-parse", "HEAD"]));
    // The run directory is neither tracked nor ignored; it is the run's own.
    assert_eq!(state(&[], None), (head.clone(), json!(false)));
    git(&env, &["checkout", "-q", "--detach"]);
    assert_eq!(state(&[], None), (head.clone(), json!(false)), "detached");
    assert_eq!(state(&[], Some("/nonexistent")), nothing, "no git");
    env.put("data.jsonl", format!("{SMALL_DATA}\n").replace("\n\n", "\n").replace("five", "six"));
    assert_eq!(state(&[], None), (head, json!(true)), "an input was changed");
}

#[test]
fn nothing_of_the_machine_is_in_a_witness() {
    let env = empty();
    copy_small(&env, "home/lovelace/secret plans");
    let home = env.path("home/lovelace");
    let folder = home.join("secret plans");
    let out = tempfile::tempdir().unwrap();
    let run_dir = out.path().join("run");
    env.call(&["run", folder.join("suite.yaml").to_str().unwrap(), "--run-dir", run_dir.to_str().unwrap()])
        .env("HOME", &home)
        .within(out.path())
        .run()
        .expect(0);
    copy(&run_dir, &env.path("copied"));
    let block = witness(&env, "copied");
    assert_eq!(block["argv"], json!(["proofmark", "run", "suite.yaml", "--run-dir", "…/run"]));
    assert_eq!(block["root"], Value::Null);
    assert!(env.text("copied/report.md").contains("# in the folder that holds suite.yaml\nproofmark run suite.yaml"));
    for (name, bytes) in env.tree("copied").files() {
        let text = String::from_utf8_lossy(bytes);
        for part in ["lovelace", "secret plans", out.path().to_str().unwrap(), env.root().to_str().unwrap()] {
            assert!(!text.contains(part), "{name} holds {part}");
        }
    }
}

fn copy_small(env: &TestEnv, folder: &str) {
    env.put(&format!("{folder}/suite.yaml"), SMALL);
    env.put(&format!("{folder}/data.jsonl"), SMALL_DATA);
}

#[test]
fn hostile_names_leave_a_block_that_can_be_read() {
    for name in ["a`````b", "- a: b # c", "\"quoted\" 'twice'", "right to \u{202e}left", "<b>|x|</b>", "yes", "1.0"] {
        let env = empty();
        let quoted = serde_json::to_string(name).unwrap();
        let suite = SMALL.replace("name: small", &format!("name: {quoted}"));
        // Where a name is a path, a `/` would make it two.
        let file = format!("{}.jsonl", name.replace('/', "∕"));
        let path = serde_json::to_string(&file).unwrap();
        env.put("suite.yaml", suite.replace("data.jsonl", &path));
        env.put(&file, SMALL_DATA);
        let ran = env.run(&RUN);
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(witness(&env, "run")["inputs"][1]["path"], file);
        // Inside the fence it is text; outside of it nothing is markup.
        assert!(!env.text("run/report.md").split_once("\n# ").unwrap().1.contains("<b>"));
    }
}

#[test]
fn a_run_that_was_resumed_says_so_and_keeps_its_first_command() {
    let env = small();
    env.run(&[&RUN[..], &["--max-tokens", "3", "--concurrency", "1"]].concat()).expect(2);
    assert!(!env.path("run/report.replay.json").exists());
    env.run(&[&RUN[..], &["--resume"]].concat()).expect(0);
    let block = witness(&env, "run");
    assert_eq!(block["resumed"], true);
    let first =
        json!(["proofmark", "run", "suite.yaml", "--run-dir", "run", "--max-tokens", "3", "--concurrency", "1"]);
    assert_eq!(block["argv"], first);
    let starts = block["invocations"].as_array().unwrap();
    assert_eq!(starts.len(), 2);
    assert_eq!((&starts[0]["argv"], &starts[0]["invoked_at"]), (&first, &block["invoked_at"]));
    assert_eq!(starts[1]["argv"], json!(["proofmark", "run", "suite.yaml", "--run-dir", "run", "--resume"]));
    // Once it is complete, a resume changes nothing.
    let before = env.tree("");
    env.run(&[&RUN[..], &["--resume"]].concat()).expect(0).says(&["already complete"]);
    assert!(before.changes(&env.tree("")).is_empty());
    // A new run has a witness of its own.
    env.run(&[&RUN[..], &["--overwrite"]].concat()).expect(0);
    assert!(witness(&env, "run").get("resumed").is_none());
}

#[test]
fn a_kill_before_the_witness_is_made_up_for() {
    let env = small();
    env.run(&RUN).expect(0);
    // As a kill between the manifest and the witness leaves it.
    env.run(&["run", "suite.yaml", "--run-dir", "other", "--max-tokens", "3", "--concurrency", "1"]).expect(2);
    copy(&env.path("other/.proofmark"), &env.path("run/.proofmark"));
    for name in WITNESS {
        std::fs::remove_file(env.path(&format!("run/{name}"))).unwrap();
    }
    let records = env.bytes("run/records.jsonl");
    env.run(&[&RUN[..], &["--resume"]].concat()).expect(0).says(&["already complete"]);
    let block = witness(&env, "run");
    assert_eq!((&block["resumed"], block["invocations"].as_array().map(Vec::len)), (&json!(true), Some(2)));
    assert!(env.bytes("run/records.jsonl") == records);
    env.run(&["validate", "run"]).expect(0);
}

#[test]
fn validate_and_report_know_the_witness() {
    let env = small();
    env.run(&[&RUN[..], &["--skip-report"]].concat()).expect(0);
    let before = witness(&env, "run");
    assert!(before["artifacts"].get("report.html").is_none());
    let valid = env.run(&["validate", "run"]).expect(0);
    assert!(!valid.stdout.contains("report.md") && !valid.stdout.contains("replay"), "{valid}");
    // The page comes later, and with it another manifest.
    env.run(&["report", "run"]).expect(0);
    let after = witness(&env, "run");
    assert!(after["artifacts"].get("report.html").is_some());
    assert_ne!(before["artifacts"]["manifest.json"], after["artifacts"]["manifest.json"]);
    assert_eq!(before["artifacts"]["report.md"], after["artifacts"]["report.md"]);
    // A run of an earlier version has none, and gets none.
    for name in WITNESS {
        std::fs::remove_file(env.path(&format!("run/{name}"))).unwrap();
    }
    env.run(&["report", "run"]).expect(0);
    env.run(&[&RUN[..], &["--resume"]].concat()).expect(0);
    env.run(&["validate", "run"]).expect(0);
    assert!(!env.path("run/report.replay.json").exists());
}

#[test]
fn a_suite_beside_its_files_is_named_from_where_both_are() {
    let env = empty();
    copy_small(&env, "files");
    std::fs::rename(env.path("files/suite.yaml"), env.path("suite.yaml")).unwrap();
    env.run(&["run", "suite.yaml", "--root", "files", "--run-dir", "runs/a"]).expect(0);
    let block = witness(&env, "runs/a");
    assert_eq!(block["root"], "../..");
    assert_eq!(
        (&block["suite"]["path"], &block["inputs"][1]["path"]),
        (&json!("suite.yaml"), &json!("files/data.jsonl"))
    );
    assert_eq!(block["argv"], json!(["proofmark", "run", "suite.yaml", "--root", "files", "--run-dir", "runs/a"]));
}

#[test]
fn pictures_make_another_kind_and_are_pinned() {
    let env = empty();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/images");
    copy(&folder, env.root());
    env.run(&RUN).expect(0);
    let block = witness(&env, "run");
    assert_eq!(block["kind"], "eval-image");
    let outputs = block["artifacts"].as_object().unwrap().keys().filter(|name| name.starts_with("outputs/"));
    assert_eq!(outputs.count(), 2);
    assert_eq!(json_lines(&env, "run/records.jsonl").len(), 2);
    let roles: Vec<&str> = block["inputs"].as_array().unwrap().iter().map(|i| i["role"].as_str().unwrap()).collect();
    assert!(roles.contains(&"suite"), "{roles:?}");
}

#[test]
fn a_program_has_its_version_and_its_script_in_the_witness_and_no_request_ids() {
    let env = small();
    env.put("answer.sh", "[ \"$1\" = --version ] && { echo 'answer 1.2.3'; exit; }\ncat\n");
    let model =
        "{id: echo, model: \"command:mine\", command: {run: [sh, \"{suite}/answer.sh\"], version: [-c, \"echo 1.2\"]}}";
    env.put("suite.yaml", SMALL.replace("{id: echo, model: \"offline:echo\"}", model));
    let ran = env.run(&[&RUN[..], &["--allow-errors", "100%"]].concat());
    assert_eq!(ran.code, 0, "{ran}");
    let block = witness(&env, "run");
    let entry = &block["models"][0];
    assert_eq!((&entry["program"], &entry["version"]), (&json!("…/sh"), &json!("1.2")));
    assert_eq!(entry["provider_request_ids"], json!([]));
    let script = Digest::of(&env.bytes("answer.sh")).to_string();
    let want = json!({"role": "model", "path": "answer.sh", "hash": script, "mode": "raw"});
    assert!(block["inputs"].as_array().unwrap().contains(&want), "{block:#}");
}

#[test]
fn a_dataset_of_the_hub_is_named_by_its_commit_and_its_hash_can_be_made_again() {
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    const TOKEN: &str = "canary-hub-token-5b2d8046";
    let file = |path: &str, text: &str| HubFile { path: path.into(), bytes: text.into(), lfs_sha256: None };
    let (one, two) = SMALL_DATA.split_at(SMALL_DATA.find("{\"id\":\"c\"").unwrap());
    let hub = FakeHub::start(vec![HubRepo {
        name: "owner/set".into(),
        commit: COMMIT.into(),
        refs: vec!["main".into()],
        files: vec![file("data/test-00000-of-00002.jsonl", one), file("data/test-00001-of-00002.jsonl", two)],
        page: 10,
    }]);
    let env = empty();
    let dataset = format!("{{format: hf, repo: owner/set, revision: '{COMMIT}', split: test, id: id}}");
    env.put("suite.yaml", SMALL.replace("{format: jsonl, path: data.jsonl, id: id}", &dataset));
    let cache = tempfile::tempdir().unwrap();
    env.call(&RUN)
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_TOKEN", TOKEN)
        .env("PROOFMARK_CACHE_DIR", cache.path())
        .run()
        .expect(0);
    let block = witness(&env, "run");
    let input = &block["inputs"][1];
    let files = json!([
        {"path": "data/test-00000-of-00002.jsonl", "sha256": Digest::of(one.as_bytes()).hex()},
        {"path": "data/test-00001-of-00002.jsonl", "sha256": Digest::of(two.as_bytes()).hex()},
    ]);
    assert_eq!(input["files"], files);
    assert_eq!(input["hash"], Digest::of(&proofmark_canon::to_vec(&files).unwrap()).to_string());
    assert_eq!((&input["repo"], &input["revision"]), (&json!("owner/set"), &json!(COMMIT)));
    assert_eq!((&input["path"], &input["mode"]), (&json!(format!("owner/set@{COMMIT}")), &json!("structured")));
    for (name, bytes) in env.tree("run").files() {
        assert!(!String::from_utf8_lossy(bytes).contains(TOKEN), "{name}");
    }
}
