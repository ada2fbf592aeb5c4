//! The same suite gives the same bytes, whatever is around it.

use std::path::Path;

use proofmark_testkit::command::{Call, TestEnv};
use proofmark_testkit::tree::copy;

use crate::support::{PLANE_1, assert_same_run, empty, json, json_lines, run_id};

const SUITE: &str = r#"# Every data format, scripted answers, failures on a schedule, and most scorers.
name: "matrix ÄÖ"
description: the suite behind the determinism matrix
seed: 11
sampling: {n: 2, temperature: 0.5}
models:
  - {id: script, model: "offline:scripted", params: {file: models/answers.yaml, latency_ms: [0, 2]}}
  - {id: shaky, model: "offline:faulty", params: {schedule: [ok, ok, error, ok, timeout, rate_limited]}}
conditions:
  raw: {}
  styled: {token: tokens/style.yml, system: {file: prompts/styled.md}}
tasks:
  - id: capitals
    dataset: {format: csv, path: data/capitals.csv, id: id, target: capital, metadata: [continent]}
    brief: briefs/geography.yml
    prompt: {file: prompts/capital.md}
    scorers:
      - {type: exact, ignore_case: true}
      - {type: includes}
      - {type: gaia}
      - {type: command, name: judge, command: [sh, scorers/judge.sh], files: [scorers/judge.sh]}
  - id: sums
    dataset: {format: jsonl, path: data/sums.jsonl, target: result, shuffle: true, limit: 7}
    prompt: [{role: user, content: "What is {{ a }} + {{ b }}?"}]
    scorers:
      - {type: numeric, tolerance: 0.001}
      - {type: regex, pattern: '(-?\d+)\s*$', group: 1}
      - {type: json_schema, schema: {type: integer}}
  - id: options
    dataset:
      format: inline
      target: right
      rows:
        - {input: "Which is a fruit?", choices: [stone, apple, door], right: apple}
        - {input: "Which is a city?", choices: [Zürich, tree, cloud], right: Zürich}
    scorers: [{type: choice}, {type: set, ignore_case: true}]
evidence: {record: true}
"#;

/// Answers with what it can see of its surroundings, which must be nothing of ours.
const JUDGE: &str = r#"while IFS= read -r line; do
  passed=false
  case $line in *'"answer":"Paris"'*) passed=true ;; esac
  printf '{"passed":%s,"explanation":"%s %s %s %s"}\n' "$passed" "${HOME-no home}" "${TZ-no zone}" "$LANG" "${LC_ALL-no locale}"
done
"#;

fn write_suite(env: &TestEnv, folder: &str) {
    let put = |name: &str, text: &str| env.put(&format!("{folder}/{name}"), text);
    put("suite.yaml", SUITE);
    put(
        "models/answers.yaml",
        "answers: {fr: Paris, np: [Kathmandu, Pokhara], ch: \"Bern\\u0065\"}\npatterns:\n  \
         - {match: 'What is (\\d+) \\+ 0\\?', answer: \"$1\"}\n  - {match: fruit, answer: apple}\ndefault: I do not know\n",
    );
    put("tokens/style.yml", "name: plain\nrules: [short, true]\n");
    put("prompts/styled.md", "Answer in {{ token.name }} style: {{ token.rules | join(', ') }}.\n");
    put("prompts/capital.md", "{{ brief.tone }}: the capital of {{ country }}?");
    put("briefs/geography.yml", "tone: Briefly\n");
    put("scorers/judge.sh", JUDGE);
    put(
        "data/capitals.csv",
        "id,country,capital,continent\nfr,France,Paris,Europe\nnp,Nepal,Kathmandu,Asia\nch,Switzerland,Bern,Europe\n\
         td,\"Chad, \"\"Tchad\"\"\",N'Djamena,Africa\n",
    );
    let sums: String =
        (0..12).map(|at| format!("{{\"a\":{at},\"b\":{},\"result\":{}}}\n", at % 3, at + at % 3)).collect();
    put("data/sums.jsonl", &sums);
}

/// One row of the matrix: what is different, and the call with that difference.
type Row<'a> = (&'a str, &'a dyn Fn(&TestEnv, &[&str]) -> Call);

/// This test is never skipped: it is the promise the rest stands on.
#[test]
fn the_same_suite_gives_the_same_bytes_whatever_is_around_it() {
    let env = empty();
    write_suite(&env, "here");
    run(&env, "here/suite.yaml", "reference", |env, arguments| env.call(arguments));
    assert_covers_the_suite(&env);

    let matrix: [Row<'_>; 10] = [
        ("a second time", &|env, arguments| env.call(arguments)),
        ("one at a time", &|env, arguments| env.call(&[arguments, &["--concurrency", "1"]].concat())),
        ("64 at once", &|env, arguments| env.call(&[arguments, &["--concurrency", "64"]].concat())),
        ("with jitter", &|env, arguments| env.call(arguments).env("PROOFMARK_OFFLINE_JITTER_MS", "5")),
        ("with jitter, 64 at once", &|env, arguments| {
            let call = env.call(&[arguments, &["--concurrency", "64"]].concat());
            call.env("PROOFMARK_OFFLINE_JITTER_MS", "5")
        }),
        ("in another time zone", &|env, arguments| env.call(arguments).env("TZ", "Asia/Kathmandu")),
        ("in another language", &|env, arguments| {
            env.call(arguments).env("LANG", "tr_TR.UTF-8").env("LC_ALL", "tr_TR.UTF-8").env("LC_NUMERIC", "de_DE.UTF-8")
        }),
        ("with another home", &|env, arguments| env.call(arguments).env("HOME", "/nonexistent/someone")),
        ("with another file mode mask", &|env, arguments| env.call_with_umask("077", arguments)),
        ("with everything else different", &|env, arguments| {
            let call = env.call_with_umask("000", &[arguments, &["--concurrency", "3", "--color", "always"]].concat());
            let call = call.env("TZ", "Pacific/Apia").env("LANG", "C").env("LC_ALL", "POSIX").env("HOME", "/");
            call.env("COLUMNS", "47")
                .env("NO_COLOR", "1")
                .env("USER", "someone")
                .env("PROOFMARK_OFFLINE_JITTER_MS", "3")
        }),
    ];
    for (at, (what, call)) in matrix.iter().enumerate() {
        let dir = format!("runs/{at}");
        run(&env, "here/suite.yaml", &dir, call);
        assert_same_run(&env.path("reference"), &env.path(&dir), what);
    }
}

#[test]
fn the_folder_a_suite_is_in_does_not_matter() {
    let env = empty();
    write_suite(&env, "here");
    run(&env, "here/suite.yaml", "reference", |env, arguments| env.call(arguments));
    copy(&env.path("here"), &env.path("some where/else entirely"));
    run(&env, "some where/else entirely/suite.yaml", "elsewhere", |env, arguments| env.call(arguments));
    assert_same_run(&env.path("reference"), &env.path("elsewhere"), "another folder");
    // An absolute path to the suite, from a folder that has nothing to do with it.
    let suite = env.path("here/suite.yaml");
    let other = tempfile::tempdir().unwrap();
    run(&env, suite.to_str().unwrap(), env.path("absolute").to_str().unwrap(), |env, arguments| {
        env.call(arguments).within(other.path())
    });
    assert_same_run(&env.path("reference"), &env.path("absolute"), "an absolute path");
    // A path through a link.
    std::os::unix::fs::symlink(env.path("here"), env.path("link")).unwrap();
    run(&env, "link/suite.yaml", "linked", |env, arguments| env.call(arguments));
    assert_same_run(&env.path("reference"), &env.path("linked"), "a path through a link");
}

#[test]
fn comments_key_order_and_written_defaults_of_a_suite_do_not_matter() {
    let env = empty();
    write_suite(&env, "here");
    run(&env, "here/suite.yaml", "reference", |env, arguments| env.call(arguments));
    let (head, tail) = SUITE.split_once("tasks:\n").unwrap();
    let shuffled = format!("tasks:\n{tail}# the rest\n{head}determinism: {{strict_serialization: true}}\n");
    env.put("here/suite.yaml", shuffled.replace("{type: includes}", "{ignore_case: false, type: includes}"));
    run(&env, "here/suite.yaml", "again", |env, arguments| env.call(arguments));
    assert_same_run(&env.path("reference"), &env.path("again"), "another way to write the suite");
}

#[test]
fn the_resolved_suite_gives_the_run_it_came_from() {
    let env = empty();
    write_suite(&env, "here");
    // Under the suite's folder the files are found by looking upwards.
    run(&env, "here/suite.yaml", "here/runs/first", |env, arguments| env.call(arguments));
    run(&env, "here/runs/first/config.resolved.yaml", "second", |env, arguments| env.call(arguments));
    assert_same_run(&env.path("here/runs/first"), &env.path("second"), "a resolved suite in place");
    // Elsewhere it has to be said where they are.
    env.put("far/away/config.resolved.yaml", env.bytes("second/config.resolved.yaml"));
    run(&env, "far/away/config.resolved.yaml", "third", |env, arguments| {
        env.call(&[arguments, &["--root", "here"]].concat())
    });
    assert_same_run(&env.path("here/runs/first"), &env.path("third"), "a resolved suite elsewhere");
    env.run(&["run", "far/away/config.resolved.yaml", "--run-dir", "fourth"])
        .expect(2)
        .complains(&["no folder above `far/away/config.resolved.yaml` holds the files that it names", "--root DIR"]);
    assert!(!env.path("fourth").exists());
}

#[test]
fn every_input_is_part_of_the_identity() {
    let env = empty();
    write_suite(&env, "here");
    run(&env, "here/suite.yaml", "reference", |env, arguments| env.call(arguments));
    let reference = run_id(&env, "reference");
    let edits = [
        ("suite.yaml", "seed: 11", "seed: 12"),
        ("suite.yaml", "tolerance: 0.001", "tolerance: 0.002"),
        ("suite.yaml", "right: apple", "right: stone"),
        ("models/answers.yaml", "Paris", "Lyon"),
        ("tokens/style.yml", "plain", "ornate"),
        ("prompts/styled.md", "Answer", "Reply"),
        ("prompts/capital.md", "capital", "main city"),
        ("briefs/geography.yml", "Briefly", "Slowly"),
        ("scorers/judge.sh", "Paris", "Lyon"),
        ("data/capitals.csv", "Asia", "asia"),
        ("data/sums.jsonl", "{\"a\":0", "{ \"a\":0"),
    ];
    let mut seen = vec![reference.clone()];
    for (name, from, to) in edits {
        let path = format!("here/{name}");
        let before = env.text(&path);
        assert!(before.contains(from), "{name} lacks {from}");
        env.put(&path, before.replacen(from, to, 1));
        let plan = env.run(&["run", "here/suite.yaml", "--dry-run", "--format", "json"]).expect(0).json();
        let id = plan["run_id"].as_str().unwrap().to_owned();
        assert!(!seen.contains(&id), "`{from}` to `{to}` in {name} does not change the run id");
        seen.push(id);
        env.put(&path, before);
    }
    // A comment in a structured input is not part of it.
    env.put("here/tokens/style.yml", "# plain style\nrules: [short, true]\nname: 'plain'\n");
    let plan = env.run(&["run", "here/suite.yaml", "--dry-run", "--format", "json"]).expect(0).json();
    assert_eq!(plan["run_id"], reference.as_str());
}

fn run(env: &TestEnv, suite: &str, dir: &str, call: impl Fn(&TestEnv, &[&str]) -> Call) {
    call(env, &["run", suite, "--run-dir", dir, "--allow-errors", "60%"]).run().expect(0);
}

/// The matrix proves nothing about what the suite does not do.
fn assert_covers_the_suite(env: &TestEnv) {
    let dir = env.path("reference");
    let files: Vec<String> =
        PLANE_1.iter().filter(|name| !dir.join(Path::new(name)).is_file()).map(|s| (*s).to_owned()).collect();
    assert!(files.is_empty(), "{files:?}");
    let manifest = json(env, "reference/manifest.json");
    // (4 + 7 + 2 items) × 2 models × 2 conditions × n = 2
    assert_eq!(manifest["record_count"], 104);
    for status in ["success", "error", "timeout", "rate_limited"] {
        assert!(manifest["status_counts"][status].as_u64().unwrap() > 0, "{status}");
    }
    let records = json_lines(env, "reference/records.jsonl");
    let judged = |passed: bool| {
        records.iter().flat_map(|record| record["scores"].as_array().unwrap()).any(|score| {
            let text = "no home no zone C.UTF-8 no locale";
            score["scorer"] == "judge" && score["passed"] == passed && score["explanation"] == text
        })
    };
    assert!(judged(true) && judged(false));
}
