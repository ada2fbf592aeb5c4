//! Command lines that cannot be followed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::refuse;
use crate::support::small;

#[test]
fn every_wrong_argument_is_refused_and_says_what_was_expected() {
    let env = small();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["Usage: proofmark"]),
        (&["frobnicate"], &["unrecognized subcommand 'frobnicate'"]),
        (&["rum", "suite.yaml"], &["a similar subcommand exists: 'run'"]),
        (&["run"], &["<SUITE>"]),
        (&["run", "suite.yaml", "--frob"], &["unexpected argument '--frob'"]),
        (&["run", "suite.yaml", "--overwrit"], &["a similar argument exists: '--overwrite'"]),
        (&["run", "suite.yaml", "other.yaml"], &["unexpected argument 'other.yaml'"]),
        (&["run", "suite.yaml", "--max-items", "0"], &["'--max-items <N>'"]),
        (&["run", "suite.yaml", "--max-items", "-1"], &["error: "]),
        (&["run", "suite.yaml", "--max-items", "18446744073709551615"], &["error: "]),
        (&["run", "suite.yaml", "--concurrency", "0"], &["0 is not in 1..=4096"]),
        (&["run", "suite.yaml", "--concurrency", "5000"], &["5000 is not in 1..=4096"]),
        (&["run", "suite.yaml", "--allow-errors", "x"], &["expected for example 3 or 2%"]),
        (&["run", "suite.yaml", "--allow-errors", "101%"], &["expected for example 3 or 2%"]),
        (&["run", "suite.yaml", "--allow-errors", "nan%"], &["expected for example 3 or 2%"]),
        (&["run", "suite.yaml", "--allow-errors", "-1"], &["error: "]),
        (&["run", "suite.yaml", "--only", "words"], &["expected task=ID, model=ID or condition=ID"]),
        (&["run", "suite.yaml", "--only", "tasks=words"], &["expected task=ID, model=ID or condition=ID"]),
        (
            &["run", "suite.yaml", "--only", "task=word"],
            &["names the task `word`, which the suite does not have", "did you mean `words`?"],
        ),
        (&["run", "suite.yaml", "--only", "model=gpt"], &["names the model `gpt`", "hint: the suite has echo"]),
        (&["run", "suite.yaml", "--only", "condition="], &["names the condition ``"]),
        (&["run", "suite.yaml", "--only", "task=\u{1b}[31m"], &["which the suite does not have"]),
        (&["run", "suite.yaml", "--record-evidence=maybe"], &["[possible values: true, false]"]),
        (&["run", "suite.yaml", "--format", "xml"], &["[possible values: text, json]"]),
        (&["run", "suite.yaml", "--root", "nowhere"], &["cannot open the file"]),
        (&["run", "suite.yaml", "--color", "sometimes"], &["[possible values: auto, always, never]"]),
        (&["diff", "a"], &["<B>"]),
        (
            &["diff", "a", "b", "--fail-on", "regresions"],
            &["`regresions` is not something a diff can fail on", "hint: did you mean `regressions`?"],
        ),
        (&["diff", "a", "b", "--fail-on", "changes,"], &["is not something a diff can fail on"]),
        (&["diff", "a", "b", "--fail-on-significant", "2"], &["2 is not between 0 and 1"]),
        (&["diff", "a", "b", "--fail-on-significant", "nan"], &["is not between 0 and 1"]),
        (&["diff", "a", "b", "--tolerance", "-1"], &["error: "]),
        (&["diff", "a", "b", "--tolerance", "2"], &["2 is not from 0 to 1"]),
        (&["diff", "a", "b", "--all", "--limit", "3"], &["cannot be used with"]),
        (&["report"], &["<DIR>"]),
        (&["validate"], &["<PATH>"]),
        (&["validate", "nowhere"], &["`nowhere`"]),
        (&["schema", "suit"], &["there is no schema `suit`", "hint: did you mean `suite`?"]),
        (&["schema", "xyzzy"], &["hint: there are suite, record"]),
        (&["completions", "tcsh"], &["[possible values: bash"]),
        (&["man", "--out", "suite.yaml"], &["suite.yaml"]),
        (&["init", "suite.yaml"], &["suite.yaml"]),
        (&["demo", "suite.yaml"], &["suite.yaml"]),
    ];
    for (arguments, complaints) in cases {
        let ran = refuse(&env, &arguments.join(" "), arguments, 2, complaints);
        assert!(ran.stdout.is_empty(), "{ran}");
    }
}

#[test]
fn names_that_are_no_text_are_names_all_the_same() {
    let env = small();
    let strange = || OsString::from_vec(b"st\xffrange\x1b[31m.yaml".to_vec());
    std::fs::rename(env.path("suite.yaml"), env.root().join(strange())).unwrap();
    let run_dir = OsString::from_vec(b"r\xffn\x07".to_vec());
    let ran = env.run(&["run".into(), strange(), "--run-dir".into(), run_dir.clone()]).expect(0);
    assert!(!ran.stdout.contains('\u{7}'), "{ran:?}");
    let ran = env.run(&["run".into(), strange(), "--run-dir".into(), run_dir.clone()]).expect(2);
    assert!(!ran.stderr.contains('\u{7}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    let ran = env.run(&["validate".into(), run_dir]).expect(0);
    assert!(!ran.stdout.contains('\u{7}'), "{ran:?}");
}

#[test]
fn a_variable_that_makes_no_sense_is_refused() {
    let env = small();
    let run = || env.call(&["run", "suite.yaml", "--run-dir", "out"]);
    run().env("PROOFMARK_OFFLINE_JITTER_MS", "soon").run().expect(2).complains(&["is `soon`, expected milliseconds"]);
    run().env("PROOFMARK_OFFLINE_ASK_LOG", "/nowhere/log").run().expect(2).complains(&["PROOFMARK_OFFLINE_ASK_LOG"]);
    assert!(!env.path("out").exists());
    // A width that is none does not matter.
    run().env("COLUMNS", "-3").env("NO_COLOR", "").run().expect(0);
}
