//! Inputs that are no ordinary files, and paths that lead elsewhere.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::json;

use super::{DATA, RUN, block, laid_out, put_block};

fn set_path(path: &str) -> serde_json::Value {
    let mut block = block();
    block["inputs"][1]["path"] = json!(path);
    block
}

#[test]
fn paths_that_leave_the_root_are_refused_without_a_look() {
    let env = laid_out(&block());
    env.put("secret.csv", DATA);
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    let absolute = env.path("evals/data.csv").display().to_string();
    for path in ["../secret.csv", "x/../data.csv", &absolute, "/etc/passwd", "C:\\data.csv", "", "a\u{0}b", "a\nb"] {
        put_block(&env, &set_path(path));
        let ran = env.run(&["verify-replay", RUN]).expect(1);
        assert!(ran.stdout.contains(": refused: the path "), "{path:?}\n{ran}");
        let line = ran.stdout.lines().find(|line| line.contains("refused")).unwrap();
        assert!(!line.contains("sha256:"), "{line}");
    }
}

#[test]
fn what_is_no_regular_file_is_never_opened() {
    let env = laid_out(&block());
    let data = env.path("evals/data.csv");
    std::fs::remove_file(&data).unwrap();
    assert!(Command::new("mkfifo").arg(&data).status().unwrap().success());
    assert!(env.run(&["verify-replay", RUN]).expect(1).stdout.contains("it is not a regular file"));
    std::fs::remove_file(&data).unwrap();
    for (target, words) in [
        ("/dev/zero", "a link on the way leaves the root"),
        ("../secret.csv", "a link on the way leaves the root"),
        ("data.csv", "links lead in circles"),
        ("suites", "there is no such file"),
        ("runs", "it is not a regular file"),
    ] {
        symlink(target, &data).unwrap();
        let ran = env.run(&["verify-replay", RUN]).expect(1);
        assert!(ran.stdout.contains(words), "{target}\n{ran}");
        std::fs::remove_file(&data).unwrap();
    }
    env.put("evals/real.csv", DATA);
    symlink("real.csv", &data).unwrap();
    env.run(&["verify-replay", RUN]).expect(0);
}

#[test]
fn a_sidecar_that_is_no_regular_file_is_never_opened() {
    let env = laid_out(&block());
    let sidecar = env.path("evals/runs/a/report.replay.json");
    std::fs::remove_file(&sidecar).unwrap();
    assert!(Command::new("mkfifo").arg(&sidecar).status().unwrap().success());
    assert!(env.run(&["verify-replay", RUN]).expect(2).stdout.contains("is not a regular file"));
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let env = laid_out(&block());
    let file = std::fs::File::options().write(true).open(env.path("evals/data.csv")).unwrap();
    file.set_len((1 << 30) + 1).unwrap();
    let mut other = block();
    other["inputs"][1]["mode"] = json!("structured");
    std::fs::remove_file(env.path("evals/runs/a/report.md")).unwrap();
    put_block(&env, &other);
    assert!(env.run(&["verify-replay", RUN]).expect(1).stdout.contains("it is larger than 1 GiB"));
    file.set_len(9 << 20).unwrap();
    assert!(env.run(&["verify-replay", RUN]).expect(1).stdout.contains("cannot be read as YAML"));
}

#[test]
fn a_file_that_may_not_be_read_could_not_be_checked() {
    let env = laid_out(&block());
    let data = env.path("evals/data.csv");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&data).is_ok() {
        // The superuser may read everything.
        return;
    }
    let ran = env.run(&["verify-replay", RUN]).expect(2);
    assert!(ran.stdout.contains("skip  inputs[1] data.csv: it cannot be read"), "{ran}");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let mut other = block();
    other["inputs"][1]["role"] = json!("\u{1b}[2J");
    other["proofmark_version"] = json!("0\u{1b}[31m\u{202e}");
    other["inputs"][1]["path"] = json!("a\u{1b}]0;x\u{7}\u{202e}b\r\n::error::x");
    let env = laid_out(&other);
    for format in ["text", "github", "json"] {
        let ran = env.run(&["verify-replay", RUN, "--format", format]).expect(1);
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(bad) && !ran.stderr.contains(bad), "{ran}");
        assert!(!ran.stdout.lines().any(|line| line.starts_with("::error::x")), "{ran}");
        if format != "json" {
            assert!(!ran.stdout.contains('\u{202e}'), "{ran}");
        }
    }
}
