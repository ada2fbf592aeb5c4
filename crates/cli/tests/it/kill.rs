//! Kill -9 anywhere, resume, and nothing shows.
//!
//! Kills are placed by counting what the process has written, not by the clock, so that they are spread over the run
//! on any machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use proofmark_testkit::command::{Ran, Running, TestEnv};
use proofmark_testkit::tree::copy;

use crate::support::{PLANE_1, WITNESS, assert_same_run, empty, json, json_lines};

/// (150 + 100 items) × 2 models × 2 conditions × n = 2.
const SAMPLES: usize = 2000;
const CONCURRENCY: usize = 16;

const SUITE: &str = r#"name: killed
seed: 3
sampling: {n: 2}
models:
  - {id: echo, model: "offline:echo"}
  - {id: noisy, model: "offline:noisy", params: {accuracy: 0.7}}
conditions:
  raw: {}
  careful: {system: "Think first.", params: {temperature: 0.1}}
tasks:
  - id: words
    dataset: {format: jsonl, path: words.jsonl, id: id}
    prompt: "Say {{ input }}"
    scorers: [{type: includes}, {type: exact}]
  - id: numbers
    dataset: {format: csv, path: numbers.csv, id: id, target: value, shuffle: true}
    prompt: "{{ text }}"
    scorers: [{type: numeric}]
evidence: {record: true}
"#;

/// A suite of 2,000 samples and what an uninterrupted run of it gives.
struct Whole {
    env: TestEnv,
    /// By ordinal.
    keys: Vec<String>,
}

impl Whole {
    fn new() -> Self {
        let env = empty();
        env.put("suite.yaml", SUITE);
        let words =
            (0..150).map(|at| format!("{{\"id\":\"w{at}\",\"input\":\"word {at}\",\"target\":\"word {at}\"}}\n"));
        env.put("words.jsonl", words.collect::<String>());
        let numbers = (0..100).map(|at| format!("n{at},the number {at},{at}\n"));
        env.put("numbers.csv", format!("id,text,value\n{}", numbers.collect::<String>()));
        env.run(&["run", "suite.yaml", "--run-dir", "whole", "--concurrency", "16"]).expect(0);
        let records = json_lines(&env, "whole/records.jsonl");
        let keys: Vec<String> = records.iter().map(|record| record["key"].as_str().unwrap().to_owned()).collect();
        assert_eq!(keys.len(), SAMPLES);
        Self { env, keys }
    }

    /// Starts a run or goes on with it; every question goes to the log.
    fn start(&self, dir: &str, log: &str, mode: Option<&str>) -> Running {
        let mut arguments = vec!["run", "suite.yaml", "--run-dir", dir, "--concurrency", "16"];
        arguments.extend(mode);
        let call = self.env.call(&arguments).env("PROOFMARK_OFFLINE_JITTER_MS", "3");
        call.env("PROOFMARK_OFFLINE_ASK_LOG", self.env.path(log)).start()
    }

    /// Kills a new run once so many questions or answers are there; returns its directory and its log.
    ///
    /// A busy machine can miss the moment; then another run is tried.
    fn kill_at(&self, name: &str, count: Count, lines: usize) -> (String, String) {
        for attempt in 0..5 {
            let (dir, log) = (format!("{name}-{attempt}"), format!("asked-{name}-{attempt}"));
            let mut tail = match count {
                Count::Questions => Tail::new(self.env.path(&log)),
                Count::Answers => self.journal(&dir),
            };
            let header = self.env.path(&format!("{dir}/.proofmark/run.json"));
            if self.start(&dir, &log, None).kill_when(|| header.exists() && tail.lines() >= lines) {
                return (dir, log);
            }
        }
        panic!("{name}: five runs ended before they could be killed");
    }

    /// How often each sample was asked, by a log.
    fn asked(&self, log: &str) -> BTreeMap<String, usize> {
        let mut asked = BTreeMap::new();
        if self.env.path(log).exists() {
            for key in self.env.text(log).lines() {
                *asked.entry(key.to_owned()).or_default() += 1;
            }
        }
        asked
    }

    /// The samples whose answers are in the journal.
    fn journalled(&self, dir: &str) -> BTreeSet<String> {
        let path = self.env.path(&format!("{dir}/.proofmark/journal.jsonl"));
        let Ok(text) = std::fs::read_to_string(path) else { return BTreeSet::new() };
        // A kill can leave a last line without its end; it does not count.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut keys = BTreeSet::new();
        for line in whole.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            let ordinal = entry["entry"]["ordinal"].as_u64().unwrap() as usize;
            assert!(keys.insert(self.keys[ordinal].clone()), "sample {ordinal} stands twice in the journal");
        }
        keys
    }

    fn journal(&self, dir: &str) -> Tail {
        Tail::new(self.env.path(&format!("{dir}/.proofmark/journal.jsonl")))
    }

    /// Checks one process that was killed: what it asked and what of that is journalled.
    fn check_killed(&self, dir: &str, log: &str, before: &BTreeSet<String>) -> BTreeSet<String> {
        let (asked, journalled) = (self.asked(log), self.journalled(dir));
        assert!(asked.values().all(|times| *times == 1), "{dir}: one process asked a sample twice");
        assert!(journalled.is_superset(before), "{dir}: the journal lost entries");
        let again: Vec<&String> = asked.keys().filter(|key| before.contains(*key)).collect();
        assert!(again.is_empty(), "{dir}: journalled samples were asked again: {again:?}");
        let fresh: BTreeSet<&String> = journalled.difference(before).collect();
        assert!(fresh.iter().all(|key| asked.contains_key(*key)), "{dir}: an answer came to a question nobody asked");
        let lost = asked.len() - fresh.len();
        assert!(lost <= CONCURRENCY, "{dir}: {lost} questions were under way");
        journalled
    }

    /// Checks that a run left its files and nothing else, and that its witness pins them.
    fn check_left(&self, dir: &str) {
        let mut names = [&PLANE_1[..], &WITNESS].concat();
        names.sort_unstable();
        assert_eq!(self.env.tree(dir).names(), names, "{dir}: something was left behind");
        let witness = json(&self.env, &format!("{dir}/report.replay.json"));
        for name in names.iter().filter(|name| **name != "report.replay.json") {
            let digest = proofmark_canon::Digest::of(&self.env.bytes(&format!("{dir}/{name}")));
            assert_eq!(witness["artifacts"][name], digest.to_string(), "{dir}: {name}");
        }
    }

    /// Resumes to the end and checks that exactly the rest was asked and that nothing shows.
    fn finish(&self, dir: &str, log: &str, journalled: &BTreeSet<String>) -> Ran {
        let ran = self.start(dir, log, Some("--resume")).wait().expect(0);
        let asked = self.asked(log);
        assert!(asked.values().all(|times| *times == 1), "{dir}: the resumed run asked a sample twice");
        let rest: BTreeSet<String> = self.keys.iter().filter(|key| !journalled.contains(*key)).cloned().collect();
        let asked: BTreeSet<String> = asked.into_keys().collect();
        assert_eq!(asked, rest, "{dir}: the resumed run did not ask exactly what had no answer");
        assert_same_run(&self.env.path("whole"), &self.env.path(dir), dir);
        self.check_left(dir);
        ran
    }
}

/// What a kill waits for.
#[derive(Clone, Copy)]
enum Count {
    Questions,
    Answers,
}

/// Counts the lines of a file that grows.
struct Tail {
    path: PathBuf,
    file: Option<File>,
    lines: usize,
}

impl Tail {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, lines: 0 }
    }

    fn lines(&mut self) -> usize {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            let mut new = Vec::new();
            file.read_to_end(&mut new).unwrap();
            self.lines += new.iter().filter(|byte| **byte == b'\n').count();
        }
        self.lines
    }
}

#[test]
fn a_run_killed_at_any_of_28_points_resumes_to_the_same_bytes() {
    let whole = Whole::new();
    // Before the first answer, then evenly, then among the last ones.
    let mut points = vec![0, 1, 16];
    points.extend((1..=23).map(|at| at * SAMPLES / 24));
    points.extend([SAMPLES - 17, SAMPLES - 1]);
    assert_eq!(points.len(), 28);
    let (next, kills, seen) = (AtomicUsize::new(0), AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::SeqCst)) {
                    // Half of the kills count questions, half of them answers.
                    let count = if point % 2 == 0 { Count::Questions } else { Count::Answers };
                    let (dir, log) = whole.kill_at(&format!("killed-{point}"), count, *point);
                    kills.fetch_add(1, Ordering::SeqCst);
                    let journalled = whole.check_killed(&dir, &log, &BTreeSet::new());
                    seen.lock().unwrap().push(journalled.len());
                    let ran = whole.finish(&dir, &format!("{log}-rest"), &journalled);
                    match journalled.len() {
                        0 => assert!(!ran.stdout.contains("resumed"), "{ran}"),
                        count => drop(ran.says(&[&format!("{} of them resumed", grouped(count))])),
                    }
                }
            });
        }
    });
    assert_eq!(kills.into_inner(), 28);
    // The points are worth their name only when they really are spread over the run.
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    for fifth in 0..5 {
        let range = fifth * SAMPLES / 5..=(fifth + 1) * SAMPLES / 5;
        assert!(seen.iter().any(|count| range.contains(count)), "no kill with {range:?} answers: {seen:?}");
    }
}

#[test]
fn a_run_killed_five_times_in_a_row_resumes_to_the_same_bytes() {
    let whole = Whole::new();
    let mut journalled = BTreeSet::new();
    let mut questions = 0;
    for kill in 0..5 {
        let log = format!("asked-{kill}");
        let mode = (kill > 0).then_some("--resume");
        let mut tail = whole.journal("often");
        let enough = (kill + 1) * 330;
        assert!(whole.start("often", &log, mode).kill_when(|| tail.lines() >= enough), "kill {kill} came too late");
        let now = whole.check_killed("often", &log, &journalled);
        assert!(now.len() > journalled.len(), "kill {kill}: no progress");
        questions += whole.asked(&log).len();
        journalled = now;
    }
    whole.finish("often", "asked-last", &journalled);
    questions += whole.asked("asked-last").len();
    assert!((SAMPLES..=SAMPLES + 5 * CONCURRENCY).contains(&questions), "{questions} questions");
}

#[test]
fn a_run_killed_while_it_publishes_resumes_without_a_question() {
    let whole = Whole::new();
    let everything: BTreeSet<String> = whole.keys.iter().cloned().collect();
    // Where the kill lands is up to the machine; whatever it leaves must do.
    for (at, file) in ["records.jsonl", "config.resolved.yaml", "summary.json", "manifest.json"].iter().enumerate() {
        let (dir, log) = (format!("late-{at}"), format!("asked-{at}"));
        let path = whole.env.path(&format!("{dir}/{file}"));
        whole.start(&dir, &log, None).kill_when(|| path.exists());
        assert_eq!(whole.asked(&log).len(), SAMPLES);
        let ran = whole.start(&dir, &format!("{log}-rest"), Some("--resume")).wait().expect(0);
        assert!(whole.asked(&format!("{log}-rest")).is_empty(), "{ran}");
        assert_same_run(&whole.env.path("whole"), &whole.env.path(&dir), file);
        whole.check_left(&dir);
    }

    // Every state that publishing goes through, made by hand: the first files have their names, the rest does not.
    let (last, _) = whole.kill_at("last", Count::Answers, SAMPLES);
    let order = ["records.jsonl", "trajectories.jsonl", "config.resolved.yaml", "summary.json", "report.html"];
    for name in order.iter().chain(&["manifest.json"]) {
        let _ = std::fs::remove_file(whole.env.path(&format!("{last}/{name}")));
    }
    assert_eq!(whole.journalled(&last), everything);
    for published in 0..=order.len() + 1 {
        let dir = format!("published-{published}");
        copy(&whole.env.path(&last), &whole.env.path(&dir));
        for name in order.iter().chain(&["manifest.json"]).take(published) {
            whole.env.put(&format!("{dir}/{name}"), whole.env.bytes(&format!("whole/{name}")));
        }
        whole.finish(&dir, &format!("asked-{dir}"), &everything);
    }
}

#[test]
fn a_torn_or_missing_end_of_the_journal_is_asked_again() {
    let whole = Whole::new();
    let (torn, _) = whole.kill_at("torn", Count::Answers, 1000);
    let journal = whole.env.bytes(&format!("{torn}/.proofmark/journal.jsonl"));
    let whole_lines = whole.journalled(&torn).len();
    let end = journal.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    // As after a power cut: less of the file is there than was written.
    for (at, cut) in [1, 40, 150, 1000, 30_000].into_iter().enumerate() {
        let dir = format!("cut-{at}");
        copy(&whole.env.path(&torn), &whole.env.path(&dir));
        whole.env.put(&format!("{dir}/.proofmark/journal.jsonl"), &journal[..end - cut]);
        let left = whole.journalled(&dir);
        assert!(
            (whole_lines - 200..whole_lines).contains(&left.len()),
            "{} of {whole_lines} entries are left",
            left.len()
        );
        whole.finish(&dir, &format!("asked-{dir}"), &left);
    }
}

fn grouped(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}
