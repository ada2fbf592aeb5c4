//! Bad input: never a panic, never a trace on disk, never exit code 0.

mod arguments;
mod data;
mod programs;
mod runs;
mod suites;

use proofmark_testkit::command::{Ran, TestEnv};

/// Runs a suite that cannot run, in every way that reads suites.
///
/// Each must end with the given complaints, leave everything as it was, and keep the terminal safe.
#[track_caller]
fn refuse_suite(env: &TestEnv, what: &str, complaints: &[&str]) {
    let is_file = env.path("suite.yaml").is_file();
    let commands: [(&[&str], i32); 3] = [
        (&["run", "suite.yaml", "--run-dir", "out"], 2),
        (&["run", "suite.yaml", "--dry-run", "--format", "json"], 2),
        // A suite that is there was checked and does not hold.
        (&["validate", "suite.yaml"], if is_file { 1 } else { 2 }),
    ];
    let mut said = None;
    for (arguments, code) in commands {
        let ran = refuse(env, what, arguments, code, complaints);
        let first = said.get_or_insert_with(|| ran.stderr.clone());
        assert_eq!(first, &ran.stderr, "{what}: `run`, `--dry-run` and `validate` say different things");
    }
}

/// Runs something that must fail with the given code and complaints, and change nothing.
#[track_caller]
fn refuse(env: &TestEnv, what: &str, arguments: &[&str], code: i32, complaints: &[&str]) -> Ran {
    assert_ne!(code, 0);
    let before = env.tree("");
    let ran = env.run(arguments);
    assert_eq!(ran.code, code, "{what}: {ran}");
    for complaint in complaints {
        assert!(ran.stderr.contains(complaint), "{what}: stderr lacks `{complaint}`: {ran}");
    }
    let changes = before.changes(&env.tree(""));
    assert!(changes.is_empty(), "{what}: a refusal changed {changes:?}: {ran}");
    assert_safe(what, &ran);
    ran
}

/// Nothing that a file holds may drive the terminal, and everything that is said fits on a screen.
#[track_caller]
fn assert_safe(what: &str, ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        let driving = text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(driving, None, "{what}: {ran:?}");
    }
    assert!(!ran.stderr.is_empty(), "{what}: it failed in silence");
    assert!(ran.stderr.len() < 6000, "{what}: {} bytes on stderr", ran.stderr.len());
}
