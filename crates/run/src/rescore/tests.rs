use std::path::{Path, PathBuf};

use proofmark_artefact::manifest::Platform;
use proofmark_artefact::store::OnExisting;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_model::Surroundings;
use proofmark_testkit::tree::put;
use tokio::sync::watch;

use super::*;
use crate::budget::Budget;
use crate::collect::{Observer, Progress};
use crate::execute;
use crate::ready::{ModelUse, World};
use crate::witness::Invocation;
use proofmark_trust::policy::Trust;

const SUITE: &str = r#"name: s
sampling: {n: 2}
evidence: {record: true}
models:
  - {id: noisy, model: "offline:noisy", params: {accuracy: 0.5}}
  - {id: faulty, model: "offline:faulty"}
tasks:
  - id: words
    dataset: {format: jsonl, path: data.jsonl, id: id}
    prompt: "{{ input }}"
    scorers: [{type: exact}, {type: includes, ignore_case: true}]
"#;

struct Quiet;

impl Observer for Quiet {
    fn progress(&mut self, _: Progress) {}
}

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(suite: &str, items: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("suite.yaml"), suite);
        let row = |at: usize| format!("{{\"id\":\"i{at}\",\"input\":\"question {at}\",\"target\":\"gold{at}\"}}\n");
        put(&dir.path().join("data.jsonl"), (0..items).map(row).collect::<String>());
        let bench = Self { dir };
        bench.execute();
        bench
    }

    fn ready(&self) -> Ready {
        let world = World {
            tools: Default::default(),
            root: None,
            hub: None,
            scratch: None,
            offline: proofmark_model::offline::Behaviour::default(),
            program_path: Some("/usr/bin:/bin".into()),
            surroundings: Surroundings::none(),
            models: ModelUse::Asked,
            judges: ModelUse::Asked,
        };
        Ready::load(&self.dir.path().join("suite.yaml"), &Overrides::default(), &world).unwrap()
    }

    fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn execute(&self) {
        self.execute_as(self.ready(), self.run_dir());
    }

    fn execute_as(&self, ready: Ready, run_dir: PathBuf) {
        let options = execute::Options {
            shelf: std::sync::Arc::new(crate::judge::NoShelf),
            run_dir,
            on_existing: OnExisting::Refuse,
            concurrency: None,
            budget: Budget::default(),
            skip_report: true,
            version: "0".into(),
            platform: Platform { arch: "a".into(), os: "o".into() },
            invocation: Invocation { cwd: self.dir.path().to_owned(), ..Invocation::default() },
            stop: watch::channel(false).1,
        };
        execute::run(ready, options, Box::new(Quiet)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.run_dir().join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        std::fs::read_to_string(self.path(name)).unwrap().lines().map(ToOwned::to_owned).collect()
    }

    fn check(&self) -> Rescored {
        check(self.ready(), &self.run_dir(), Options::default(), &Trust::default(), &|_, _| {}).unwrap()
    }

    /// What is found when the lines of a file are these, which are then put back.
    fn with_lines(&self, name: &str, lines: &[String]) -> Rescored {
        self.with(name, &lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    }

    fn with(&self, name: &str, text: &str) -> Rescored {
        let before = std::fs::read(self.path(name)).unwrap();
        put(&self.path(name), text);
        let found = self.check();
        put(&self.path(name), before);
        found
    }
}

fn kinds(rescored: &Rescored) -> Vec<FindingKind> {
    let mut kinds: Vec<FindingKind> = rescored.findings.iter().map(|finding| finding.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[track_caller]
fn says(rescored: &Rescored, parts: &[&str]) {
    let all: Vec<String> = rescored.findings.iter().map(ToString::to_string).collect();
    assert!(all.iter().any(|one| parts.iter().all(|part| one.contains(part))), "{parts:?} in {all:#?}");
}

#[test]
fn an_honest_run_comes_out_byte_for_byte_with_its_failures() {
    let bench = Bench::new(SUITE, 9);
    let rescored = bench.check();
    assert_eq!(rescored.findings, []);
    assert_eq!((rescored.records, rescored.found, rescored.not_rerun.as_slice()), (36, 0, [].as_slice()));
    let records = bench.lines("records.jsonl").join("\n");
    assert!(
        ["timeout", "rate_limited", "error"].iter().all(|word| records.contains(&format!("\"status\":\"{word}\"")))
    );
}

#[test]
fn a_changed_member_of_a_record_is_named_with_both_values() {
    let bench = Bench::new(SUITE, 9);
    let lines = bench.lines("records.jsonl");
    let answered = lines.iter().position(|line| line.contains("\"passed\":true")).unwrap();
    let failed = lines.iter().position(|line| line.contains("\"status\":\"timeout\"")).unwrap();
    for (at, from, to, kind, says_too) in [
        (answered, "\"value\":1", "\"value\":0.5", FindingKind::Score, "scores[0].value"),
        (answered, "\"passed\":true", "\"passed\":false", FindingKind::Score, "scores[0].passed"),
        (answered, "\"content\":\"question", "\"content\":\"q", FindingKind::Input, "input.messages[0].content"),
        (answered, "\"expected\":\"gold", "\"expected\":\"silver", FindingKind::Input, "expected"),
        (answered, "\"text\":\"gold", "\"text\":\"x", FindingKind::Record, "output_fingerprint"),
        (answered, "\"started_at\":\"2", "\"started_at\":\"1", FindingKind::Record, "started_at"),
        (answered, "\"finish_reason\":\"stop\"", "\"finish_reason\":null", FindingKind::Record, "finish_reason"),
        (answered, "{\"condition\"", "{ \"condition\"", FindingKind::Malformed, "canonical"),
        (answered, "{\"condition\"", "{\"a\":1,\"condition\"", FindingKind::Malformed, "not a record"),
        (failed, "\"status\":\"timeout\"", "\"status\":\"error\"", FindingKind::Record, "status"),
        (failed, "no answer comes", "an answer comes", FindingKind::Record, "output_fingerprint"),
    ] {
        let mut edited = lines.clone();
        edited[at] = edited[at].replacen(from, to, 1);
        assert_ne!(edited[at], lines[at], "{from}");
        let found = bench.with_lines("records.jsonl", &edited);
        assert!(kinds(&found).contains(&kind), "{from}: {:#?}", found.findings);
        says(&found, &[&format!("records.jsonl line {}", at + 1), says_too]);
    }
}

#[test]
fn records_that_are_dropped_doubled_added_or_moved_are_each_named() {
    let bench = Bench::new(SUITE, 9);
    let lines = bench.lines("records.jsonl");
    let mut edited = lines.clone();
    edited.remove(4);
    let found = bench.with_lines("records.jsonl", &edited);
    says(&found, &["records.jsonl (`words/i1/noisy/default/0`): sample 4 of the suite has no record"]);
    says(&found, &["manifest.json, record_count", "recorded 36, made again 35"]);
    says(&found, &["summary.json, ", "attempted"]);
    assert!(!kinds(&found).contains(&FindingKind::Moved) && !kinds(&found).contains(&FindingKind::Record));

    let mut edited = lines.clone();
    edited.insert(5, lines[4].clone());
    let found = bench.with_lines("records.jsonl", &edited);
    assert_eq!((kinds(&found), found.found), (vec![FindingKind::Doubled], 1));
    says(&found, &["records.jsonl line 6 (`words/i1/noisy/default/0`): the sample has a record already"]);

    let mut edited = lines.clone();
    edited.insert(0, lines[4].replace("words/i1", "words/i77"));
    let found = bench.with_lines("records.jsonl", &edited);
    assert_eq!((kinds(&found), found.found), (vec![FindingKind::Added], 1));
    says(&found, &["records.jsonl line 1", "the suite has no such sample"]);

    for (from, to) in [(3, 4), (0, 35), (35, 0), (7, 20)] {
        let mut edited = lines.clone();
        let line = edited.remove(from);
        edited.insert(to, line);
        let found = bench.with_lines("records.jsonl", &edited);
        let moved = found.findings.iter().filter(|finding| finding.kind == FindingKind::Moved).count();
        assert_eq!(moved, 1, "{from} {to}: {:#?}", found.findings);
    }
    let found = bench.with_lines("records.jsonl", &[]);
    assert_eq!(found.findings.iter().filter(|finding| finding.kind == FindingKind::Dropped).count(), 36);
}

#[test]
fn a_lying_total_is_named_by_its_path() {
    let bench = Bench::new(SUITE, 9);
    let summary = bench.lines("summary.json").remove(0);
    let at = summary.find("\"passed\":").unwrap();
    let found = bench.with("summary.json", &format!("{}\"passed\":7{}\n", &summary[..at], &summary[at + 9..]));
    says(&found, &["summary.json, cells[0].counts.passed: the records give something else: recorded 7"]);
    assert_eq!(kinds(&found), [FindingKind::Summary]);
    for text in ["", "[]", "{", &summary] {
        assert_eq!(kinds(&bench.with("summary.json", text)), [FindingKind::Summary], "{text}");
    }
    let manifest = bench.lines("manifest.json").remove(0);
    let edited = manifest.replacen("\"timeout\":", "\"timeout\":1", 1);
    says(&bench.with("manifest.json", &edited), &["manifest.json, status_counts.timeout"]);
}

#[test]
fn trajectories_are_held_against_the_records() {
    let bench = Bench::new(SUITE, 3);
    let lines = bench.lines("trajectories.jsonl");
    let mut edited = lines.clone();
    edited[2] = edited[2].replacen("\"bytes\":", "\"bytes\":1", 1);
    says(&bench.with_lines("trajectories.jsonl", &edited), &["trajectories.jsonl line 3", "steps[0].bytes"]);
    edited = lines.clone();
    edited.remove(2);
    says(&bench.with_lines("trajectories.jsonl", &edited), &["trajectories.jsonl line 3", "another sample"]);
    edited = lines.clone();
    edited.push(lines[0].clone());
    says(&bench.with_lines("trajectories.jsonl", &edited), &["trajectories.jsonl: the file goes on"]);
    says(&bench.with_lines("trajectories.jsonl", &lines[..5]), &["the file ends before"]);
}

#[test]
fn another_suite_is_said_once_and_the_rest_is_compared_all_the_same() {
    let bench = Bench::new(SUITE, 3);
    put(&bench.dir.path().join("suite.yaml"), SUITE.replace("{type: exact}", "{type: exact, ignore_case: true}"));
    let found = bench.check();
    assert_eq!((kinds(&found), found.found), (vec![FindingKind::OtherSuite], 1), "{:#?}", found.findings);
    // Another prompt is another input.
    put(&bench.dir.path().join("suite.yaml"), SUITE.replace("{{ input }}", "{{ input }}!"));
    let found = bench.check();
    assert!(kinds(&found).starts_with(&[FindingKind::OtherSuite, FindingKind::Input]), "{:#?}", found.findings);
}

#[test]
fn a_file_of_anything_is_findings_and_no_panic() {
    let bench = Bench::new(SUITE, 3);
    let long = format!("{{\"key\":\"{}\"}}\n", "k".repeat(100_000));
    for text in
        ["\n\n\n", "{}\n", "\u{feff}{}\n", "{\"key\":1}\n", "null", "{\"key\":\"words/i0/noisy/default/0\"}\n", &long]
    {
        let found = bench.with("records.jsonl", text);
        assert!(!found.holds(), "{text}");
        assert!(found.findings.iter().all(|finding| finding.to_string().len() < 2000));
    }
    let many: String = (0..10_000).map(|at| format!("{{\"key\":\"{at}\"}}\n")).collect();
    let found = bench.with("records.jsonl", &many);
    says(&found, &["out of place; nothing behind was compared"]);
    assert!(found.found > 0 && found.findings.len() <= MAX_FINDINGS);
}

/// A program that passes what is `gold…`, and notes that it was started.
fn with_program(body: &str) -> Bench {
    let suite = SUITE.replace(
        "[{type: exact}, ",
        &format!("[{{type: exact}}, {{type: command, name: prog, command: [sh, -c, {body:?}], timeout: 2}}, "),
    );
    Bench::new(&suite, 3)
}

#[test]
fn programs_are_started_only_when_that_is_wanted() {
    let bench = with_program("echo x >> started; while read l; do echo '{\"value\":1,\"passed\":true}'; done");
    let started = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().len();
    let note = bench.dir.path().join("started");
    let before = started(&note);
    assert!(before > 0);
    let found = bench.check();
    assert_eq!((found.findings.as_slice(), started(&note)), ([].as_slice(), before));
    assert_eq!(found.not_rerun, ["scorer `prog` of task `words`: it runs a program, which was not started"]);
    // What the program said is not checked then; everything else is.
    let lines = bench.lines("records.jsonl");
    let at = lines.iter().position(|line| line.contains("\"scorer\":\"prog\",\"value\":1")).unwrap();
    let mut edited = lines.clone();
    edited[at] = lines[at].replace("\"scorer\":\"prog\",\"value\":1", "\"scorer\":\"prog\",\"value\":0.25");
    let found = bench.with_lines("records.jsonl", &edited);
    assert!(!kinds(&found).contains(&FindingKind::Score), "{:#?}", found.findings);
    let run = |bench: &Bench| {
        check(bench.ready(), &bench.run_dir(), Options { run_commands: true }, &Trust::default(), &|_, _| {}).unwrap()
    };
    let honest = run(&bench);
    assert_eq!((honest.findings.as_slice(), honest.not_rerun.as_slice()), ([].as_slice(), [].as_slice()));
    assert!(started(&note) > before);
    put(&bench.path("records.jsonl"), edited.join("\n") + "\n");
    says(&run(&bench), &["scores[1].value", "scorer `prog` gives something else: recorded 0.25, made again 1"]);
    // A score that was taken away is missed, program or not.
    let cut = edited[at].find(",{\"explanation\"").unwrap();
    let end = edited[at][cut + 1..].find('}').unwrap() + cut + 2;
    edited[at].replace_range(cut..end, "");
    put(&bench.path("records.jsonl"), edited.join("\n") + "\n");
    assert!(!bench.check().holds());
}

#[test]
fn a_program_that_fails_is_no_tampering() {
    let bench = with_program("test -e broken && exit 1; while read l; do echo '{\"value\":1,\"passed\":true}'; done");
    put(&bench.dir.path().join("broken"), "");
    let now =
        check(bench.ready(), &bench.run_dir(), Options { run_commands: true }, &Trust::default(), &|_, _| {}).unwrap();
    assert_eq!(now.findings, []);
    assert!(now.not_rerun[0].contains("a program failed now"), "{:?}", now.not_rerun);
    // The other way round: it failed in the run.
    std::fs::remove_dir_all(bench.run_dir()).unwrap();
    bench.execute();
    std::fs::remove_file(bench.dir.path().join("broken")).unwrap();
    for run_commands in [false, true] {
        let then =
            check(bench.ready(), &bench.run_dir(), Options { run_commands }, &Trust::default(), &|_, _| {}).unwrap();
        assert_eq!(then.findings, [], "{run_commands}");
        assert_eq!(then.not_rerun.len(), 1);
    }
}

#[test]
fn a_run_of_given_answers_holds_too() {
    let bench = Bench::new(SUITE, 4);
    let (ready, given) =
        crate::given::give(bench.ready(), &bench.run_dir(), &crate::given::Options::default()).unwrap();
    assert_eq!((given.answers, given.used, given.missing), (16, 16, 0));
    let scored = bench.dir.path().join("scored");
    bench.execute_as(ready, scored.clone());
    let found = check(bench.ready(), &scored, Options::default(), &Trust::default(), &|_, _| {}).unwrap();
    assert_eq!(found.findings, []);
    assert_eq!(found.not_rerun.len(), 1, "{:?}", found.not_rerun);
    let records = std::fs::read_to_string(scored.join("records.jsonl")).unwrap();
    put(&scored.join("records.jsonl"), records.replacen("\"passed\":true", "\"passed\":false", 1));
    assert!(!check(bench.ready(), &scored, Options::default(), &Trust::default(), &|_, _| {}).unwrap().holds());
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let bench = Bench::new(SUITE, 3);
    for (name, step) in [("records.jsonl", 211), ("summary.json", 401), ("trajectories.jsonl", 307)] {
        let whole = std::fs::read(bench.path(name)).unwrap();
        for at in (0..whole.len()).step_by(step) {
            let mut edited = whole.clone();
            edited[at] ^= 1;
            put(&bench.path(name), &edited);
            let found = bench.check();
            assert!(!found.holds(), "byte {at} of {name}");
            // What follows from a record is named with it; the file itself always is.
            let is_of_usage = name == "records.jsonl" && found.findings.iter().all(|one| one.file != name);
            assert!(found.findings.iter().any(|one| one.file == name || is_of_usage), "byte {at} of {name}");
        }
        put(&bench.path(name), &whole);
    }
    assert!(bench.check().holds());
}

#[test]
fn a_price_that_is_not_ours_is_a_finding_for_our_own_version() {
    let bench = Bench::new(SUITE, 3);
    let manifest = bench.lines("manifest.json").remove(0);
    let priced = manifest.replacen(
        "\"provider\":\"offline\"",
        "\"price\":{\"as_of\":null,\"input\":1,\"output\":1},\"provider\":\"offline\"",
        1,
    );
    let other = bench.with("manifest.json", &priced);
    assert!(other.not_rerun[0].contains("the price of model `noisy`"), "{:?}", other.not_rerun);
    let ours = priced.replace("\"version\":\"0\"", concat!("\"version\":\"", env!("CARGO_PKG_VERSION"), "\""));
    assert_ne!(ours, priced);
    says(&bench.with("manifest.json", &ours), &["manifest.json, models[0].price"]);
}
