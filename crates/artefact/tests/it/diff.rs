//! Runs on disk compared, gated and shown.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use proofmark_artefact::diff::{self, Class, Comparison, DiffError, Gate, Gates, Keep, Options, Trajectories, format};
use proofmark_artefact::manifest::{
    Conditions, Determinism, Evidence, Harness, MANIFEST_SCHEMA, Manifest, ModelEntry, Sampling, TaskEntry,
};
use proofmark_artefact::record::{
    Input, Message, Output, RECORD_SCHEMA, Record, Role, SampleError, Score, Status, Usage, output_fingerprint,
};
use proofmark_artefact::store::{RunDir, names};
use proofmark_artefact::trajectory::{Step, Trajectory};
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Digest, Map, RunId, SampleKey, Value};
use proptest::prelude::*;
use tempfile::TempDir;

/// A run under construction.
#[derive(Clone)]
struct Run {
    suite: &'static str,
    records: Vec<Record>,
    trajectories: Option<Vec<Trajectory>>,
}

impl Run {
    /// Three items, asked of two models, all answered rightly.
    fn new() -> Self {
        let mut records = Vec::new();
        for (item, answer) in [("de", "Berlin"), ("fr", "Paris"), ("it", "Rome")] {
            for model in ["small", "large"] {
                records.push(record(item, model, answer));
            }
        }
        Self { suite: "one", records, trajectories: None }
    }

    fn with_trajectories(mut self) -> Self {
        self.trajectories = Some(self.records.iter().map(trajectory).collect());
        self
    }

    fn record(&mut self, key: &str) -> &mut Record {
        self.records.iter_mut().find(|record| record.key.as_str() == key).expect("the run has the key")
    }

    fn change(mut self, key: &str, change: impl FnOnce(&mut Record)) -> Self {
        change(self.record(key));
        self
    }

    fn write(&self, dir: &Path) -> RunDir {
        std::fs::create_dir_all(dir).unwrap();
        let run_id = RunId::from_digest(&Digest::of(self.suite.as_bytes()));
        let mut records = self.records.clone();
        for (ordinal, record) in records.iter_mut().enumerate() {
            record.run_id = run_id;
            record.ordinal = ordinal as u64;
            record.started_at = run_id.spine(ordinal as u64);
            let (output, error) = (record.output.as_ref(), record.error.as_ref());
            record.output_fingerprint = output_fingerprint(output, record.finish_reason.as_deref(), error).unwrap();
        }
        let mut trajectories = self.trajectories.clone().unwrap_or_default();
        trajectories.iter_mut().for_each(|trajectory| trajectory.run_id = run_id);
        let mut artifacts = BTreeMap::new();
        for (name, bytes) in [
            (names::RECORDS, lines(&records)),
            (names::TRAJECTORIES, lines(&trajectories)),
            (names::CONFIG, format!("name: {}\n", self.suite).into_bytes()),
        ] {
            artifacts.insert(name.to_owned(), put(&dir.join(name), &bytes));
        }
        let manifest = manifest(run_id, records.len() as u64, self.trajectories.is_some(), artifacts);
        put(&dir.join(names::MANIFEST), &proofmark_canon::to_vec(&manifest).unwrap());
        RunDir::open(dir).unwrap()
    }
}

/// Writes a file without syncing it: there are hundreds of them.
fn put(path: &Path, bytes: &[u8]) -> Digest {
    std::fs::File::create(path).unwrap().write_all(bytes).unwrap();
    Digest::of(bytes)
}

fn lines<T: serde::Serialize>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| [proofmark_canon::to_vec(value).unwrap(), b"\n".to_vec()].concat()).collect()
}

fn manifest(run_id: RunId, record_count: u64, recorded: bool, artifacts: BTreeMap<String, Digest>) -> Manifest {
    let model = |id: &str| ModelEntry {
        id: id.to_owned(),
        model: format!("test:{id}"),
        params: Map::new(),
        provider: "test".to_owned(),
    };
    let raw = vec!["raw".to_owned()];
    Manifest {
        assets: Vec::new(),
        artifacts,
        command: None,
        conditions: Conditions { effective: raw.clone(), requested: raw },
        created_at: run_id.spine(0),
        datasets: Vec::new(),
        determinism: Determinism { deterministic_artifacts: true, strict_serialization: true },
        evidence: Evidence { full_bodies: false, recorded },
        harness: Harness { name: "proofmark".to_owned(), version: "0.1.0".to_owned() },
        models: vec![model("small"), model("large")],
        name: "capitals".to_owned(),
        platform: None,
        record_count,
        records_file: names::RECORDS.to_owned(),
        run_id,
        sampling: Sampling { n: 1, seed: 7, temperature: None, voting_attempts: None },
        schema_version: MANIFEST_SCHEMA,
        status_counts: BTreeMap::new(),
        tasks: vec![TaskEntry { id: "capitals".to_owned(), items: 3, scorers: vec!["exact".to_owned()] }],
        unicode_version: "17.0.0".to_owned(),
    }
}

fn record(item: &str, model: &str, answer: &str) -> Record {
    let key = SampleKey::new("capitals", item, model, "raw", 0);
    let mut record = Record {
        condition: "raw".to_owned(),
        error: None,
        expected: Value::String(answer.to_owned()),
        finish_reason: Some("stop".to_owned()),
        input: Input {
            fingerprint: Digest::of(key.as_str().as_bytes()),
            messages: vec![Message { content: format!("What is the capital of {item}?"), role: Role::User }],
        },
        item_id: item.to_owned(),
        latency_ms: None,
        model: model.to_owned(),
        ordinal: 0,
        output: None,
        output_fingerprint: Digest::of(b""),
        provider: "test".to_owned(),
        run_id: RunId::from_digest(&Digest::of(b"")),
        sample: 0,
        schema_version: RECORD_SCHEMA,
        scores: Vec::new(),
        seed: SampleSeed::derive(7, key.as_str()),
        started_at: String::new(),
        status: Status::Success,
        task: "capitals".to_owned(),
        tool_calls: 0,
        turns: 1,
        usage: Usage { input_tokens: 8, output_tokens: 1 },
        key,
    };
    answered(&mut record, answer);
    record
}

/// Gives a record an answer and judges it.
fn answered(record: &mut Record, text: &str) {
    let passed = record.expected.as_str() == Some(text);
    let explanation = if passed { "equal".to_owned() } else { format!("found `{text}`") };
    record.output = Some(Output { text: text.to_owned() });
    record.scores =
        vec![Score { explanation, passed, scorer: "exact".to_owned(), value: if passed { 1.0 } else { 0.0 } }];
}

fn failed(record: &mut Record) {
    record.status = Status::Timeout;
    record.error = Some(SampleError { class: "timeout".to_owned(), message: "no answer in 30 s".to_owned() });
    record.output = None;
    record.finish_reason = None;
    record.scores.clear();
}

fn trajectory(record: &Record) -> Trajectory {
    let answer = record.output.as_ref().map(|output| output.text.clone());
    Trajectory {
        steps: vec![Step::prompt(Role::User, "?"), Step::model_output(answer.as_deref().unwrap_or_default())],
        final_answer: answer,
        key: record.key.clone(),
        model: record.model.clone(),
        run_id: record.run_id,
        task_id: record.task.clone(),
        turns: record.turns,
        usage: record.usage,
    }
}

fn compare_with(a: &Run, b: &Run, options: &Options) -> Result<Comparison, DiffError> {
    let dir = TempDir::new().unwrap();
    let (a, b) = (a.write(&dir.path().join("a")), b.write(&dir.path().join("b")));
    let mut comparison = diff::diff(&a, &b, options)?;
    // The only thing that the temporary directory leaves its name in.
    comparison.a.path = "runs/a".to_owned();
    comparison.b.path = "runs/b".to_owned();
    Ok(comparison)
}

fn compare(a: &Run, b: &Run) -> Comparison {
    compare_with(a, b, &Options::default()).unwrap()
}

/// The classes that have samples, with how many.
fn found(comparison: &Comparison) -> String {
    let count = |class: Class| Some((class, comparison.counts.of(class))).filter(|(_, count)| *count > 0);
    let found: Vec<String> =
        Class::ALL.into_iter().filter_map(count).map(|(class, count)| format!("{class} {count}")).collect();
    found.join(", ")
}

fn gates(names: &[&str]) -> Gates {
    Gates { fail_on: names.iter().map(|name| name.parse().unwrap()).collect(), fail_on_significant: None }
}

#[test]
fn a_run_is_identical_to_its_copy() {
    let comparison = compare(&Run::new().with_trajectories(), &Run::new().with_trajectories());
    assert!(comparison.identical && comparison.files.is_empty() && comparison.warnings.is_empty());
    assert_eq!((comparison.matched, comparison.unchanged, comparison.changed), (6, 6, 0));
    assert_eq!(comparison.trajectories, Trajectories::Compared);
    assert_eq!((comparison.a.passed, comparison.b.scored), (6, 6));
    assert_eq!(comparison.significance.mcnemar_p, Some(1.0));
}

#[test]
fn a_changed_suite_alone_changes_bytes_and_no_sample() {
    let mut b = Run::new();
    b.suite = "two";
    let comparison = compare(&Run::new(), &b);
    assert_eq!((comparison.matched, comparison.unchanged), (6, 6));
    assert!(!comparison.identical);
    let names: Vec<&str> = comparison.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, [names::RECORDS, names::CONFIG, names::MANIFEST]);
    assert_eq!(comparison.files[0].a.as_ref().unwrap().bytes, comparison.files[0].b.as_ref().unwrap().bytes);
}

#[test]
fn every_class_is_found_in_either_kind_of_run() {
    type Edit = fn(&mut Record);
    let edits: [(Edit, &str); 8] = [
        (|record| answered(record, "Lyon"), "regression 1, output_changed 1"),
        (|record| record.output = Some(Output { text: "Paris ".to_owned() }), "output_changed 1"),
        (failed, "regression 1, output_changed 1, status_changed 1"),
        (|record| record.scores[0].value = 0.9, "score_changed 1"),
        (|record| record.input.messages[0].content.push('?'), "input_changed 1"),
        (|record| record.turns = 3, "trajectory_changed 1"),
        (|record| record.usage.output_tokens = 3, "usage_changed 1"),
        (|record| record.seed = SampleSeed::derive(8, "x"), ""),
    ];
    for (edit, want) in edits {
        for suite in ["one", "two"] {
            let mut b = Run::new().change("capitals/fr/small/raw/0", edit);
            b.suite = suite;
            let comparison = compare(&Run::new(), &b);
            assert_eq!(found(&comparison), want);
            assert_eq!(comparison.changes.len(), usize::from(!want.is_empty()));
            // The other way round, what was lost is gained.
            assert_eq!(found(&compare(&b, &Run::new())), want.replace("regression", "improvement"));
        }
    }
}

#[test]
fn an_edited_item_that_turned_is_both_and_says_so() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| {
        record.expected = Value::String("Lyon".to_owned());
        answered(record, "Paris");
    });
    let comparison = compare(&Run::new(), &b);
    assert_eq!(found(&comparison), "regression 1, input_changed 1");
    assert_eq!((comparison.regressions_with_other_input, comparison.significance.edited), (1, 1));
    let failures = diff::gate(&comparison, &gates(&["regressions"]));
    assert_eq!(failures[0].message, "1 sample (1 of them asked something else)");
    let text = format::text(&comparison, &failures, &Default::default());
    assert!(text.contains("note: 1 regression was not asked the same in both runs"), "{text}");
}

#[test]
fn items_that_came_and_went_are_classes_of_their_own() {
    let mut b = Run::new();
    b.suite = "two";
    b.records.retain(|record| record.item_id != "fr");
    b.records.insert(0, record("at", "small", "Vienna"));
    let comparison = compare(&Run::new(), &b);
    assert_eq!(found(&comparison), "only_in_a 2, only_in_b 1");
    assert_eq!((comparison.matched, comparison.unchanged, comparison.significance.items), (4, 4, 2));
    let sides: Vec<(&str, bool)> =
        comparison.changes.iter().map(|change| (change.key.as_str(), change.a.is_some())).collect();
    assert_eq!(
        sides,
        [("capitals/fr/small/raw/0", true), ("capitals/fr/large/raw/0", true), ("capitals/at/small/raw/0", false)]
    );
}

#[test]
fn a_tolerance_forgives_small_moves() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| record.scores[0].value = 0.9);
    let options = Options { tolerance: 0.1, ..Options::default() };
    let comparison = compare_with(&Run::new(), &b, &options).unwrap();
    assert_eq!((comparison.changed, comparison.unchanged, comparison.identical), (0, 6, false));
}

#[test]
fn trajectories_are_compared_by_key_whatever_their_run_and_order() {
    let a = Run::new().with_trajectories();
    let mut b = a.clone();
    b.suite = "two";
    let steps = b.trajectories.as_mut().unwrap();
    steps.reverse();
    steps[0].steps.push(Step::model_output("and on"));
    assert_eq!(found(&compare(&a, &b)), "trajectory_changed 1");
    assert_eq!(compare(&a, &b).changes[0].key.as_str(), "capitals/it/large/raw/0");
    steps_of(&mut b).pop();
    assert_eq!(found(&compare(&a, &b)), "trajectory_changed 2");
    b.trajectories = None;
    let comparison = compare(&a, &b);
    assert_eq!((found(&comparison).as_str(), comparison.trajectories), ("", Trajectories::OnlyInA));
}

fn steps_of(run: &mut Run) -> &mut Vec<Trajectory> {
    run.trajectories.as_mut().unwrap()
}

#[test]
fn only_the_first_examples_of_a_class_are_kept() {
    let mut b = Run::new();
    b.records.iter_mut().for_each(|record| answered(record, "?"));
    let kept = |keep| {
        let options = Options { keep, ..Options::default() };
        compare_with(&Run::new(), &b, &options).unwrap().changes.len()
    };
    assert_eq!((kept(Keep::First(0)), kept(Keep::First(4)), kept(Keep::All)), (0, 4, 6));
    let options = Options { excerpt_bytes: 3, ..Options::default() };
    let comparison = compare_with(&Run::new(), &b, &options).unwrap();
    let output = comparison.changes[0].a.as_ref().unwrap().output.as_ref().unwrap();
    assert_eq!((output.text.as_str(), output.bytes), ("Ber", 6));
}

#[test]
fn cells_come_in_the_order_of_the_suite() {
    let mut b = Run::new().change("capitals/fr/large/raw/0", |record| answered(record, "Lyon"));
    b.records.reverse();
    let comparison = compare(&Run::new(), &b);
    let cells: Vec<String> = comparison
        .cells
        .iter()
        .map(|cell| format!("{} {}/{} {}/{}", cell.title(), cell.a.passed, cell.a.scored, cell.b.passed, cell.b.scored))
        .collect();
    assert_eq!(cells, ["capitals / small / raw 3/3 3/3", "capitals / large / raw 3/3 2/3"]);
}

#[test]
fn gates_fail_on_what_they_name() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| answered(record, "Lyon"));
    let comparison = compare(&Run::new(), &b);
    let failing = |names: &[&str]| {
        let failures = diff::gate(&comparison, &gates(names));
        failures.iter().map(|failure| failure.gate.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(failing(&[]), "");
    assert_eq!(failing(&["improvements", "trajectory", "usage_changed", "only_in_a"]), "");
    assert_eq!(failing(&["regressions"]), "regressions");
    assert_eq!(
        failing(&["output_changed", "regression", "changes", "bytes"]),
        "changes bytes regressions output_changed"
    );
    let back = compare(&b, &Run::new());
    assert_eq!(diff::gate(&back, &gates(&["regressions"])), []);
    assert_eq!(diff::gate(&back, &gates(&["improvements"])).len(), 1);
}

#[test]
fn only_a_significant_loss_fails() {
    let many = |wrong: usize| {
        let records = (0..40).map(|i| record(&format!("i{i}"), "small", "yes"));
        let mut run = Run { suite: "one", records: records.collect(), trajectories: None };
        run.records.iter_mut().take(wrong).for_each(|record| answered(record, "no"));
        run
    };
    let (good, bad) = (many(0), many(12));
    let significant = Gates { fail_on: Default::default(), fail_on_significant: Some(0.05) };
    let failures = diff::gate(&compare(&good, &bad), &significant);
    assert_eq!(failures.len(), 1);
    assert!(failures[0].message.contains("p = 4.9e-4 (McNemar)"), "{}", failures[0].message);
    assert_eq!(diff::gate(&compare(&bad, &good), &significant), []);
    assert_eq!(diff::gate(&compare(&good, &many(2)), &significant), []);
}

#[test]
fn a_broken_run_is_an_error_with_its_line() {
    let dir = TempDir::new().unwrap();
    let good = Run::new().write(&dir.path().join("good"));
    let whole = std::fs::read(good.file(names::RECORDS)).unwrap();
    let first_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let first = &whole[..first_end];
    let text = String::from_utf8(whole.clone()).unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("cut", whole[..whole.len() - 9].to_vec(), "line 6 is cut off"),
        ("empty line", [b"\n", whole.as_slice()].concat(), "line 1 is not JSON"),
        ("not JSON", [first, b"{]\n"].concat(), "line 2 is not JSON"),
        ("binary", [first, b"\xff\xfe\0\n"].concat(), "line 2 is not JSON"),
        ("other shape", [first, b"{\"a\":1}\n"].concat(), "line 2 is not a record"),
        (
            "spaces",
            text.replacen("{\"condition\"", "{ \"condition\"", 1).into_bytes(),
            "line 1 is a record, but not in canonical form",
        ),
        ("twice", [whole.as_slice(), first].concat(), "line 7 has the key `capitals/de/small/raw/0` of line 1 again"),
        ("too few", first.to_vec(), "holds 1 records, but the manifest says 6"),
        ("score", text.replacen("\"passed\":true", "\"passed\":1", 1).into_bytes(), "line 1 is not a list of scores"),
        ("deep", [first, "[".repeat(1 << 20).as_bytes(), b"\n"].concat(), "line 2 is not JSON"),
    ];
    for (name, bytes, want) in cases {
        let bad = Run::new().write(&dir.path().join("bad"));
        put(&bad.file(names::RECORDS), &bytes);
        for (a, b) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
            let error = diff::diff(a, b, &Options::default()).unwrap_err();
            assert!(error.to_string().ends_with(want) || error.to_string().contains(want), "{name}: {error}");
            assert!(error.to_string().contains("bad/records.jsonl") && error.hint().is_some(), "{name}: {error}");
        }
    }
    let bad = Run::new().write(&dir.path().join("bad"));
    std::fs::remove_file(bad.file(names::RECORDS)).unwrap();
    assert!(matches!(diff::diff(&good, &bad, &Options::default()), Err(DiffError::Io { .. })));
}

#[test]
fn a_file_changed_after_its_run_is_called_so() {
    let dir = TempDir::new().unwrap();
    let (a, b) = (Run::new().write(&dir.path().join("a")), Run::new().write(&dir.path().join("b")));
    put(&b.file(names::CONFIG), b"name: other\n");
    let comparison = diff::diff(&a, &b, &Options::default()).unwrap();
    assert_eq!(comparison.files.len(), 1);
    assert!(comparison.warnings[0].contains("one was changed after its run"), "{:?}", comparison.warnings);
}

/// Two runs with one sample of most kinds.
fn example() -> Comparison {
    let mut b = Run::new()
        .change("capitals/de/small/raw/0", |record| answered(record, "It is Bonn, I think"))
        .change("capitals/fr/large/raw/0", failed)
        .change("capitals/it/large/raw/0", |record| record.usage.output_tokens = 2);
    b.suite = "two";
    b.records.push(record("at", "small", "Vienna"));
    let a = Run::new().change("capitals/it/small/raw/0", |record| answered(record, "Milan"));
    compare(&a, &b)
}

const HOSTILE: &str =
    "\u{1b}[2Jboo\n```\n````\n</details>]]><script>\n::error::x\r##[error]|`a`|\u{202e}\u{0}\u{ffff} 👩\u{200d}🚀";

fn hostile() -> Comparison {
    let mut b = Run::new();
    for record in &mut b.records {
        answered(record, HOSTILE);
        record.scores[0].explanation = HOSTILE.to_owned();
        record.scores[0].scorer = HOSTILE.to_owned();
        record.input.messages[0].content = HOSTILE.repeat(300);
        record.finish_reason = Some(HOSTILE.to_owned());
    }
    let mut odd = record("x", "small", "x");
    odd.task = HOSTILE.to_owned();
    odd.model = HOSTILE.to_owned();
    odd.key = SampleKey::new(HOSTILE, "x", HOSTILE, "raw", 0);
    b.records.push(odd);
    let mut long = record("y", "small", "y");
    answered(&mut long, &"word ".repeat(200_000));
    b.records.push(long);
    compare(&Run::new(), &b)
}

#[test]
fn no_format_passes_a_control_character() {
    let comparison = hostile();
    let all = gates(&["changes", "bytes"]);
    let failures = diff::gate(&comparison, &all);
    let outputs = [
        format::text(&comparison, &failures, &Default::default()),
        format::json(&comparison, &failures).unwrap(),
        format::markdown(&comparison, &failures, 10),
        format::junit(&comparison, &all, &failures),
        format::github(&comparison, &all, &failures),
    ];
    for output in outputs {
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!output.contains(bad), "{:?}", output.split(bad).next());
    }
    let colour = format::TextStyle { palette: format::Palette::Colour, ..Default::default() };
    let text = format::text(&comparison, &failures, &colour);
    assert!(!text.contains("\u{1b}[2J") && text.contains("\u{1b}[32m"));
}

#[test]
fn a_terminal_line_keeps_to_its_width() {
    for width in [40, 80, 200] {
        let style = format::TextStyle { width, ..Default::default() };
        let text = format::text(&hostile(), &[], &style);
        for line in text.lines().filter(|line| line.starts_with("      ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn markdown_keeps_its_fences_and_its_bound() {
    let mut b = Run::new();
    b.suite = "two";
    b.records = (0..300).map(|i| record(&format!("i{i}"), "small", &format!("{i} {}", "line\n".repeat(60)))).collect();
    let mut a = b.clone();
    a.records.iter_mut().for_each(|record| answered(record, &"other\n".repeat(60)));
    let options = Options { keep: Keep::All, ..Options::default() };
    let comparison = compare_with(&a, &b, &options).unwrap();
    let text = format::markdown(&comparison, &[], usize::MAX);
    assert!(text.len() <= 60_000 && text.len() > 30_000, "{}", text.len());
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    assert!(text.contains(" more\n"));

    let text = format::markdown(&hostile(), &[], 10);
    // Outside of fences no line has markup of the model's.
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => assert!(!line.contains("<script>") && !line.contains("boo\n") && !line.starts_with("::"), "{line}"),
        }
    }
    assert_eq!(fence, None);
}

#[test]
fn markdown_shows_what_was_asked_on_both_sides_when_it_differs() {
    let b = Run::new().change("capitals/fr/small/raw/0", |record| {
        record.input.messages.insert(0, Message { content: "Be brief.".to_owned(), role: Role::System });
        record.input.messages[1].content.push_str(" Name it.");
        record.expected = Value::Null;
    });
    let text = format::markdown(&compare(&Run::new(), &b), &[], 10);
    let want = "Before in B: system: Be brief.\n\nPrompt in A: What is the capital of fr?\n\n\
                Prompt in B: What is the capital of fr? Name it.\n\nExpected in A: Paris\n\n```diff\n  Paris\n```\n";
    assert!(text.contains(want), "{text}");
}

#[test]
fn annotations_are_bounded_and_on_one_line_each() {
    let mut b = Run::new();
    b.records = (0..50).map(|i| record(&format!("i{i}"), "small", "yes")).collect();
    let a = b.clone();
    b.records.iter_mut().for_each(|record| answered(record, HOSTILE));
    let comparison = compare(&a, &b);
    let text = format::github(&comparison, &Gates::default(), &[]);
    assert_eq!(text.matches("::warning title=").count(), 10);
    assert_eq!(text.lines().count(), 11);
    let regressions = gates(&["regressions"]);
    let text = format::github(&comparison, &regressions, &diff::gate(&comparison, &regressions));
    assert_eq!(text.lines().filter(|line| line.starts_with("::error title=")).count(), 10);
    assert!(!text.contains("##["));
}

#[test]
fn text_is_as_it_should_be() {
    let comparison = example();
    let failures = diff::gate(&comparison, &gates(&["regressions"]));
    let found = format::text(&comparison, &failures, &Default::default());
    assert_eq!(found, TEXT, "{found}");
    let style = format::TextStyle { palette: format::Palette::Colour, width: 60, limit: 1 };
    let coloured = format::text(&comparison, &[], &style);
    assert!(coloured.contains("\u{1b}[31mBerlin\u{1b}[0m\u{1b}[32mIt \u{1b}[0m"), "{coloured}");
    assert!(coloured.contains("… and 1 more (use --all)"));
}

#[test]
fn markdown_is_as_it_should_be() {
    let comparison = example();
    let failures = diff::gate(&comparison, &gates(&["regressions"]));
    let found = format::markdown(&comparison, &failures, 1);
    assert_eq!(found, MARKDOWN, "{found}");
}

#[test]
fn junit_is_as_it_should_be() {
    let comparison = example();
    let gates = Gates { fail_on: [Gate::Bytes, Gate::Class(Class::Regression)].into(), fail_on_significant: None };
    let found = format::junit(&comparison, &gates, &diff::gate(&comparison, &gates));
    assert_eq!(found, JUNIT, "{found}");
}

#[test]
fn annotations_are_as_they_should_be() {
    let comparison = example();
    let gates = gates(&["only_in_b"]);
    let found = format::github(&comparison, &gates, &diff::gate(&comparison, &gates));
    assert_eq!(found, GITHUB, "{found}");
}

#[test]
fn json_is_canonical_and_complete() {
    let comparison = example();
    let failures = diff::gate(&comparison, &gates(&["regressions"]));
    let found = format::json(&comparison, &failures).unwrap();
    let bytes = found.strip_suffix('\n').unwrap().as_bytes();
    proofmark_canon::json::check_canonical(bytes).unwrap();
    let value = proofmark_canon::json::parse(bytes).unwrap();
    let names: Vec<&str> = value.as_object().unwrap().iter().map(|(name, _)| name).collect();
    assert_eq!(
        names.join(" "),
        "a b cells changed changes counts files gates identical improvements_with_other_input matched \
         regressions_with_other_input schema_version significance trajectories unchanged warnings"
    );
    let published = serde_json::from_str(&proofmark_artefact::schema::text("diff").unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&published).unwrap();
    assert!(validator.is_valid(&serde_json::from_slice(bytes).unwrap()));
    let unknown = found.replacen("{\"a\":", "{\"Z\":0,\"a\":", 1);
    assert!(!validator.is_valid(&serde_json::from_str(&unknown).unwrap()));
    let change = &value.get("changes").unwrap().as_array().unwrap()[0];
    assert_eq!(String::from_utf8(change.to_canonical()).unwrap(), JSON_CHANGE);
    let counts = value.get("counts").unwrap().to_canonical();
    assert_eq!(
        String::from_utf8(counts).unwrap(),
        r#"{"improvement":1,"input_changed":0,"only_in_a":0,"only_in_b":1,"output_changed":3,"regression":2,"score_changed":0,"status_changed":1,"trajectory_changed":0,"usage_changed":1}"#
    );
    let schema = serde_json::to_value(schemars::schema_for!(format::Document<'_>)).unwrap();
    let mut described: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    described.sort();
    assert_eq!(described, names);
}

const TEXT: &str = r##"A runs/a  capitals  7692c3ad3540bb803c020b3aee66cd88  6 records
B runs/b  capitals  3fc4ccfe745870e2c0d99f71f30ff065  7 records

files that differ
  records.jsonl         4737 → 5519 bytes
  config.resolved.yaml  10 bytes on both sides
  manifest.json         1069 bytes on both sides

samples
  matched               6
  unchanged             2
  regression            2
  improvement           1
  output changed        3
  status changed        1
  only in B             1
  usage changed         1

cell                                                       A passed           B passed   worse better
capitals / small / raw                                  66.7 % of 3        75.0 % of 4       1      1
capitals / large / raw                                 100.0 % of 3       100.0 % of 2       1      0

regression (2)
  capitals
    capitals/de/small/raw/0  (also output changed)
      prompt    What is the capital of de?
      expected  Berlin
      answer    [-Berlin-]{+It is Bonn, I think+}
      exact     A pass 1: equal
                B fail 0: found `It is Bonn, I think`
    capitals/fr/large/raw/0  (also output changed, status changed)
      prompt    What is the capital of fr?
      expected  Paris
      answer    [-Paris-]
      status    success → timeout (timeout: no answer in 30 s)
      stopped   stop → nothing
      exact     A pass 1: equal
                B no verdict

improvement (1)
  capitals
    capitals/it/small/raw/0  (also output changed)
      prompt    What is the capital of it?
      expected  Rome
      answer    [-Milan-]{+Rome+}
      exact     A fail 0: found `Milan`
                B pass 1: equal

output changed (3)
  3 shown above

status changed (1)
  1 shown above

only in B (1)
  capitals
    capitals/at/small/raw/0
      prompt    What is the capital of at?
      expected  Vienna
      answer    Vienna
      status    success
      exact     pass 1: equal

usage changed (1)
  capitals
    capitals/it/large/raw/0
      prompt    What is the capital of it?
      expected  Rome
      answer    Rome
      tokens    8 in, 1 out → 8 in, 2 out
      exact     pass 1: equal

summary
  pass rate  80.0 % → 80.0 % of 5 pairs
  McNemar    1 lost, 1 gained, p = 1.000
  mean       0.8333 → 0.8333, difference +0.0000 (95 % -0.7493 to +0.7493), p = 1.000, 3 items
  left out   1 sample without a verdict on both sides
  FAIL regressions: 2 samples
  verdict    2 regressions, 1 improvement in 5 changed samples (6 matched, 0 only in A, 1 only in B)
"##;
const MARKDOWN: &str = r##"### ❌ Proofmark diff

**2 regressions, 1 improvement in 5 changed samples (6 matched, 0 only in A, 1 only in B)**

- ❌ **regressions**: 2 samples

| | run | suite | run id | records | passed |
|---|---|---|---|--:|--:|
| A | runs/a | capitals | `7692c3ad3540bb803c020b3aee66cd88` | 6 | 83.3 % |
| B | runs/b | capitals | `3fc4ccfe745870e2c0d99f71f30ff065` | 7 | 83.3 % |

| samples | |
|---|--:|
| matched | 6 |
| unchanged | 2 |
| regression | 2 |
| improvement | 1 |
| output changed | 3 |
| status changed | 1 |
| only in B | 1 |
| usage changed | 1 |

| cell | A passed | B passed | worse | better |
|---|--:|--:|--:|--:|
| capitals / small / raw | 66.7 % of 3 | 75.0 % of 4 | 1 | 1 |
| capitals / large / raw | 100.0 % of 3 | 100.0 % of 2 | 1 | 0 |

Files that differ: `records.jsonl`, `config.resolved.yaml`, `manifest.json`

- pass rate: 80.0 % → 80.0 % of 5 pairs
- McNemar: 1 lost, 1 gained, p = 1.000
- mean: 0.8333 → 0.8333, difference +0.0000 (95 % -0.7493 to +0.7493), p = 1.000, 3 items
- left out: 1 sample without a verdict on both sides

<details><summary>regression (2)</summary>

**capitals/de/small/raw/0** (also output changed)

Prompt: What is the capital of de?

Expected: Berlin

```diff
- Berlin
+ It is Bonn, I think
- exact: pass 1: equal
+ exact: fail 0: found `It is Bonn, I think`
```

… 1 more

</details>

<details><summary>improvement (1)</summary>

**capitals/it/small/raw/0** (also output changed)

Prompt: What is the capital of it?

Expected: Rome

```diff
- Milan
+ Rome
- exact: fail 0: found `Milan`
+ exact: pass 1: equal
```

</details>

<details><summary>output changed (3)</summary>

**capitals/fr/large/raw/0** (also regression, status changed)

Prompt: What is the capital of fr?

Expected: Paris

```diff
- Paris
- status: success
- stopped: stop
- exact: pass 1: equal
+ status: timeout
+ error: timeout: no answer in 30 s
```

… 2 shown above

</details>

<details><summary>status changed (1)</summary>

… 1 shown above

</details>

<details><summary>only in B (1)</summary>

**capitals/at/small/raw/0**

Prompt: What is the capital of at?

Expected: Vienna

```diff
+ Vienna
+ status: success
+ stopped: stop
+ exact: pass 1: equal
+ tokens: 8 in, 1 out
+ turns: 1, tool calls: 0
```

</details>

<details><summary>usage changed (1)</summary>

**capitals/it/large/raw/0**

Prompt: What is the capital of it?

Expected: Rome

```diff
  Rome
- tokens: 8 in, 1 out
+ tokens: 8 in, 2 out
```

</details>
"##;
const JUNIT: &str = r##"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="proofmark diff" tests="3" failures="3">
  <testsuite name="cells" tests="2" failures="2">
    <testcase classname="capitals" name="small / raw">
      <failure type="regression" message="regression: 1 sample">
capitals/de/small/raw/0
  A (pass 1): Berlin
  B (fail 0): It is Bonn, I think</failure>
    </testcase>
    <testcase classname="capitals" name="large / raw">
      <failure type="regression" message="regression: 1 sample">
capitals/fr/large/raw/0
  A (pass 1): Paris
  B (timeout): timeout: no answer in 30 s</failure>
    </testcase>
  </testsuite>
  <testsuite name="gates" tests="1" failures="1">
    <testcase classname="gates" name="bytes">
      <failure type="bytes" message="files differ: records.jsonl, config.resolved.yaml, manifest.json"/>
    </testcase>
  </testsuite>
  <system-out>2 regressions, 1 improvement in 5 changed samples (6 matched, 0 only in A, 1 only in B)</system-out>
</testsuites>
"##;
const GITHUB: &str = r##"::error title=Proofmark gate only_in_b::1 sample
::error title=only in B%3A capitals/at/small/raw/0::B (pass 1): Vienna
::warning title=regression%3A capitals/de/small/raw/0::A (pass 1): Berlin%0AB (fail 0): It is Bonn, I think
::warning title=regression%3A capitals/fr/large/raw/0::A (pass 1): Paris%0AB (timeout): timeout: no answer in 30 s
::notice title=improvement%3A capitals/it/small/raw/0::A (fail 0): Milan%0AB (pass 1): Rome
proofmark diff: 2 regressions, 1 improvement in 5 changed samples (6 matched, 0 only in A, 1 only in B)
"##;
const JSON_CHANGE: &str = r##"{"a":{"context":null,"error":null,"expected":{"bytes":6,"text":"Berlin"},"finish_reason":"stop","input_fingerprint":"sha256:73ae85f955f7fc98947a1ccecc319b1be5e9b95752b1d2523ff048e4c2af057f","line":1,"output":{"bytes":6,"text":"Berlin"},"prompt":{"bytes":26,"text":"What is the capital of de?"},"provider":"test","scores":[{"explanation":"equal","passed":true,"scorer":"exact","value":1}],"status":"success","tool_calls":0,"turns":1,"usage":{"input_tokens":8,"output_tokens":1}},"b":{"context":null,"error":null,"expected":{"bytes":6,"text":"Berlin"},"finish_reason":"stop","input_fingerprint":"sha256:73ae85f955f7fc98947a1ccecc319b1be5e9b95752b1d2523ff048e4c2af057f","line":1,"output":{"bytes":19,"text":"It is Bonn, I think"},"prompt":{"bytes":26,"text":"What is the capital of de?"},"provider":"test","scores":[{"explanation":"found `It is Bonn, I think`","passed":false,"scorer":"exact","value":0}],"status":"success","tool_calls":0,"turns":1,"usage":{"input_tokens":8,"output_tokens":1}},"classes":["regression","output_changed"],"condition":"raw","item_id":"de","key":"capitals/de/small/raw/0","model":"small","sample":0,"task":"capitals"}"##;

/// Up to twelve samples, each with one of a few answers.
fn answers() -> impl Strategy<Value = Vec<(bool, u8)>> {
    proptest::collection::vec((any::<bool>(), 0..5u8), 12)
}

fn run_of(answers: &[(bool, u8)], suite: &'static str) -> Run {
    let mut records = Vec::new();
    for (at, (_, answer)) in answers.iter().enumerate().filter(|(_, (there, _))| *there) {
        let mut record = record(&format!("i{}", at / 2), ["small", "large"][at % 2], "0");
        match answer {
            4 => failed(&mut record),
            answer => answered(&mut record, &answer.to_string()),
        }
        records.push(record);
    }
    Run { suite, records, trajectories: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_against_itself_has_no_changes(answers in answers()) {
        let run = run_of(&answers, "one").with_trajectories();
        let comparison = compare(&run, &run);
        prop_assert!(comparison.identical && comparison.changes.is_empty());
        prop_assert_eq!(comparison.unchanged, run.records.len() as u64);
    }

    #[test]
    fn the_mirror_image_swaps_the_classes(one in answers(), two in answers()) {
        let (a, b) = (run_of(&one, "one"), run_of(&two, "two"));
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        prop_assert_eq!((there.matched, there.unchanged, there.changed), (back.matched, back.unchanged, back.changed));
        for class in Class::ALL {
            let mirrored = match class {
                Class::Regression => Class::Improvement,
                Class::Improvement => Class::Regression,
                Class::OnlyInA => Class::OnlyInB,
                Class::OnlyInB => Class::OnlyInA,
                other => other,
            };
            prop_assert_eq!(there.counts.of(class), back.counts.of(mirrored), "{}", class);
        }
        prop_assert_eq!(there.significance.mcnemar_p, back.significance.mcnemar_p);
        prop_assert_eq!(there.significance.mean_a, back.significance.mean_b);
        prop_assert_eq!(there.significance.difference, back.significance.difference.map(|d| 0.0 - d));
    }

    #[test]
    fn the_order_of_records_does_not_matter(
        one in answers(),
        two in answers(),
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let (a, b) = (run_of(&one, "one"), run_of(&two, "two"));
        let mut shuffled = b.clone();
        shuffled.records.sort_by_key(|record| order[record.item_id[1..].parse::<usize>().unwrap() * 2 + usize::from(record.model == "large")]);
        let (straight, crooked) = (compare(&a, &b), compare(&a, &shuffled));
        prop_assert_eq!(&straight.counts, &crooked.counts);
        prop_assert_eq!(&straight.cells, &crooked.cells);
        prop_assert_eq!(&straight.significance, &crooked.significance);
        let keys = |comparison: &Comparison| {
            comparison.changes.iter().filter(|change| change.a.is_some()).map(|change| change.key.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(keys(&straight), keys(&crooked));
    }
}
