//! Run directories of strangers: links, pipes, names and sizes that nobody expects.

use std::os::unix::fs::symlink;

use super::live_run;
use crate::support::small;

#[test]
fn links_and_pipes_are_refused_by_name_and_never_read() {
    let env = live_run();
    env.put("secret.txt", "the private words\n");
    for name in
        ["records.jsonl", "report.md", "report.replay.json", "telemetry.jsonl", "manifest.json", "config.resolved.yaml"]
    {
        let path = env.path(&format!("run/{name}"));
        let whole = std::fs::read(&path).unwrap();
        // The same bytes behind a link are still a link.
        env.put("elsewhere", &whole);
        for target in ["../elsewhere", "../secret.txt"] {
            std::fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            let ran = env.run(&["verify", "run"]).expect(1);
            let found =
                |line: &str| line.starts_with("  FAIL  ") && line.contains(name) && line.contains("a symbolic link");
            assert!(ran.stdout.lines().any(found), "{ran}");
            assert!(!ran.stdout.contains("private") && !ran.stderr.contains("private"), "{ran}");
        }
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        // It ends: nobody writes into the pipe.
        let ran = env.run(&["verify", "run"]);
        assert_ne!(ran.code, 0, "{ran}");
        assert!(ran.stdout.contains(name), "{ran}");
        std::fs::remove_file(&path).unwrap();
        env.put(&format!("run/{name}"), whole);
    }
    env.run(&["verify", "run"]).expect(0);
}

#[test]
fn what_no_run_leaves_is_named_and_what_the_harness_leaves_is_known() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    env.put("run/.proofmark/lock", "");
    env.put("run/bodies/x", "");
    env.run(&["verify", "run"]).expect(0).says(&["skip  .proofmark: beside the run: work and lock", "skip  bodies"]);
    env.put("run/notes\u{1b}[2J.txt", "");
    let ran = env.run(&["verify", "run"]).expect(1);
    assert!(ran.stdout.contains("FAIL  notes\\u{1b}[2J.txt: name: no part of a run wrote this"), "{ran}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran}");
    env.run(&["verify", "run", "--format", "github"]).expect(1);
}

#[test]
fn a_sidecar_that_names_files_elsewhere_opens_none_of_them() {
    let env = small();
    env.run(&["run", "suite.yaml", "--run-dir", "run"]).expect(0);
    let sidecar = env.text("run/report.replay.json");
    let digest = proofmark_canon::Digest::of(b"");
    for name in ["../suite.yaml", "/etc/passwd", "outputs/../../suite.yaml"] {
        let edited = sidecar.replacen("\"artifacts\":{", &format!("\"artifacts\":{{\"{name}\":\"{digest}\","), 1);
        env.put("run/report.replay.json", edited);
        let ran = env.run(&["verify", "run"]).expect(1);
        assert!(ran.stdout.contains("FAIL  report.replay.json: "), "{ran}");
        assert!(!ran.stdout.contains("root:x"), "{ran}");
    }
}

#[test]
fn a_directory_that_is_no_run_says_so() {
    let env = small();
    env.put("empty/x", "");
    for path in ["empty", "suite.yaml", "nothing"] {
        let ran = env.run(&["verify", path]).expect(2);
        assert!(ran.stdout.contains("reached: no rung"), "{ran}");
    }
    env.run(&["verify", "*.nothing"]).expect(2).complains(&["matches no report"]);
}
