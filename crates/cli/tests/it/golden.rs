//! Runs that earlier versions made. Today's program must still read them, and give the same bytes.

use std::path::{Path, PathBuf};

use crate::support::empty;

/// `crates/testkit/golden/<version>`: a suite, its data and the run it gave.
fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/golden");
    let mut versions: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    versions.sort();
    assert!(!versions.is_empty());
    versions
}

#[test]
fn every_golden_run_is_still_valid() {
    for version in golden() {
        empty().run(&["validate", version.join("run").to_str().unwrap()]).expect(0).says(&["valid: "]);
    }
}

#[test]
fn a_golden_suite_still_gives_the_same_bytes() {
    for version in golden() {
        let env = empty();
        let suite = version.join("suite.yaml");
        let arguments =
            ["run", suite.to_str().unwrap(), "--run-dir", "again", "--skip-report", "--allow-errors", "100%"];
        env.run(&arguments).expect(0);
        for name in ["records.jsonl", "trajectories.jsonl", "config.resolved.yaml", "summary.json"] {
            let golden = std::fs::read(version.join("run").join(name)).unwrap();
            assert!(env.bytes(&format!("again/{name}")) == golden, "{name} of {}", version.display());
        }
    }
}
