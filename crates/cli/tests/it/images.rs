//! A run whose answers are pictures: the example, from the first run to what is found when a picture is changed.

use std::path::Path;

use proofmark_testkit::command::TestEnv;
use serde_json::Value;

use crate::support::{empty, json_lines};

const RUN: [&str; 4] = ["run", "suite.yaml", "--run-dir", "run"];

/// A folder with the example in it.
fn example() -> TestEnv {
    let env = empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/images");
    for name in ["suite.yaml", "references/harbour.png", "references/desert.png"] {
        env.put(name, std::fs::read(folder.join(name)).unwrap());
    }
    env
}

/// The names of the pictures that the records of a run name, in order.
fn pictures(env: &TestEnv, dir: &str) -> Vec<String> {
    let records = json_lines(env, &format!("{dir}/records.jsonl"));
    let images = records.iter().flat_map(|record| record["output"]["images"].as_array().unwrap().clone());
    let name = |image: Value| {
        assert_eq!(
            (&image["media_type"], &image["width"], &image["height"]),
            (&"image/png".into(), &96.into(), &54.into())
        );
        format!("{dir}/outputs/{}.png", image["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap())
    };
    images.map(name).collect()
}

#[test]
fn the_example_gives_the_same_bytes_twice_and_holds() {
    let env = example();
    env.run(&RUN).expect(0);
    env.run(&["run", "suite.yaml", "--run-dir", "again", "--concurrency", "1"]).expect(0);
    // Whatever happened, only the witness differs.
    let differ = ["~ report.md", "~ report.replay.json"];
    assert_eq!(env.tree("run").changes(&env.tree("again")), differ);
    assert_eq!(pictures(&env, "run").len(), 2);
    for name in pictures(&env, "run") {
        assert!(env.bytes(&name).starts_with(b"\x89PNG"), "{name}");
    }
    for record in json_lines(&env, "run/records.jsonl") {
        let scores = record["scores"].as_array().unwrap();
        assert!(scores.iter().all(|score| score["passed"] == true), "{scores:?}");
        assert_eq!(scores.len(), 2);
    }
    let valid = env.run(&["validate", "run"]).expect(0).says(&["valid: 2 records"]);
    assert!(!valid.stdout.contains("V0"), "{valid}");
    // The page is made again out of the records and the pictures.
    let page = env.bytes("run/report.html");
    assert_eq!(String::from_utf8_lossy(&page).matches("<img src=\"data:image/png;base64,").count(), 2);
    env.run(&["report", "run"]).expect(0);
    assert!(env.bytes("run/report.html") == page);
    // What was written as resolved gives the same run.
    env.run(&["run", "run/config.resolved.yaml", "--root", ".", "--run-dir", "resolved"]).expect(0);
    assert_eq!(env.tree("run").changes(&env.tree("resolved")), differ);
}

#[test]
fn a_changed_missing_or_added_picture_is_found() {
    let env = example();
    env.run(&RUN).expect(0);
    let names = pictures(&env, "run");
    let short = |name: &str| name.strip_prefix("run/").unwrap().to_owned();
    let whole = env.bytes(&names[0]);
    for at in [0, 20, whole.len() / 2, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        env.put(&names[0], flipped);
        env.run(&["validate", "run"]).expect(1).says(&[&format!("{}: V081 error: ", short(&names[0]))]);
    }
    env.run(&["report", "run"]).expect(1).says(&["report.html: the manifest pins"]);
    env.put(&names[0], &whole);
    env.run(&["validate", "run"]).expect(0);
    std::fs::remove_file(env.path(&names[1])).unwrap();
    let missing = format!("records.jsonl:2: V080 error: the record names `{}`, which is not there", short(&names[1]));
    env.run(&["validate", "run"]).expect(1).says(&[&missing]);
    env.put(&names[1].replace(".png", ".gif"), "GIF89a");
    env.put("run/outputs/notes.txt", "mine");
    let found = env.run(&["validate", "run"]).expect(1);
    found.says(&[
        "V080",
        &format!("{}: V083 warning: ", short(&names[1]).replace(".png", ".gif")),
        "outputs/notes.txt: V083",
    ]);
}

#[test]
fn a_run_is_not_resumed_without_its_pictures_and_overwriting_removes_them() {
    let env = example();
    let suite = env.text("suite.yaml");
    env.put("slow.yaml", suite.replace("height: 54}", "height: 54, latency_ms: 150}"));
    let journal = env.path("cut/.proofmark/journal.jsonl");
    let one = || std::fs::read(&journal).is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() == 1);
    // A busy machine can miss the moment; then the run is made again.
    let run = ["run", "slow.yaml", "--run-dir", "cut", "--concurrency", "1", "--overwrite"];
    assert!((0..5).any(|_| env.call(&run).start().kill_when(one)), "five runs ended before they could be killed");
    let mut names = std::fs::read_dir(env.path("cut/outputs")).unwrap();
    let name = names.next().unwrap().unwrap().file_name().into_string().unwrap();
    assert!(names.next().is_none(), "one answer, one picture");
    let first = format!("cut/outputs/{name}");
    let whole = env.bytes(&first);
    let resume = ["run", "slow.yaml", "--run-dir", "cut", "--resume"];
    std::fs::remove_file(env.path(&first)).unwrap();
    let before = env.tree("cut");
    let said = env.run(&resume).expect(2);
    said.complains(&[
        "error: sample 0 was answered with a picture that cannot be used any more",
        &format!("`{}` is not there", first.strip_prefix("cut/").unwrap()),
        "hint: put the file back, or start anew with `--overwrite`",
    ]);
    env.put(&first, "something else");
    env.run(&resume).expect(2).complains(&["was changed"]);
    std::fs::remove_file(env.path(&first)).unwrap();
    assert!(before.changes(&env.tree("cut")).is_empty());
    env.put(&first, whole);
    env.run(&resume).expect(0).says(&["1 of them resumed"]);
    env.run(&["validate", "cut"]).expect(0);
    assert_eq!(pictures(&env, "cut").len(), 2);

    // Another size gives other pictures; those of before go, what is not ours stays.
    env.put("cut/outputs/notes.txt", "mine");
    env.put("slow.yaml", suite.replace("height: 54}", "height: 55}"));
    env.run(&["run", "slow.yaml", "--run-dir", "cut", "--overwrite"]).expect(0);
    let mut left: Vec<String> = std::fs::read_dir(env.path("cut/outputs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.contains(&"notes.txt".to_owned()) && !left.iter().any(|name| first.ends_with(name)), "{left:?}");
}

#[test]
fn a_missing_reference_is_found_before_anything_is_asked() {
    let env = example();
    std::fs::remove_file(env.path("references/desert.png")).unwrap();
    let why = "the reference picture `references/desert.png` of item `desert` is not there";
    env.run(&RUN).expect(2).complains(&["suite.yaml:", why, "hint: give the path of a PNG"]);
    assert!(!env.path("run").exists());
}
