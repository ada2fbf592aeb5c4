//! Suites: whole ones that are read, broken ones with the whole error a person sees.

use proofmark_artefact::picture;
use proofmark_artefact::suite::config::{Conditions, Format, Scorer, Shuffle, Suite};
use proofmark_artefact::suite::text::{PromptSource, TextSource};
use proofmark_artefact::yaml::{PathStep, Span, from_node, load};
use proofmark_canon::Value;

const SUITE: &str = r#"name: capitals
seed: 7
sampling: {n: 3, temperature: 0.7}
models:
  - {id: small, model: "openai:gpt-4.1-mini"}
  - {id: local, model: "ollama:qwen3:8b", params: {num_ctx: 8192}}
conditions:
  raw: {}
  compiled: {token: tokens/plain-style.yml, system: {file: prompts/compiled.md}}
tasks:
  - id: capitals
    dataset: {format: jsonl, path: data/capitals.jsonl, id: id, target: answer}
    brief: briefs/geography.yml
    prompt: "{{ brief.tone }} What is the capital of {{ country }}? Answer with the name only."
    scorers: [{type: exact, ignore_case: true}]
determinism: {strict_serialization: true, deterministic_artifacts: null}
"#;

fn read(text: &str) -> Suite {
    let node = load(text).unwrap_or_else(|error| panic!("{}", error.render("suite.yaml", text)));
    from_node(&node).unwrap_or_else(|error| panic!("{}", error.render("suite.yaml", text)))
}

fn broken(text: &str) -> String {
    let error = load(text).and_then(|node| from_node::<Suite>(&node)).expect_err(text);
    error.render("suite.yaml", text)
}

/// The suite above with one text replaced by another.
fn edited(from: &str, to: &str) -> String {
    assert_eq!(SUITE.matches(from).count(), 1, "`{from}` is in the suite once");
    SUITE.replace(from, to)
}

fn condition_names(conditions: Option<Conditions>) -> Vec<String> {
    conditions.expect("there are some").0.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn the_suite_of_the_design_is_read() {
    let suite = read(SUITE);
    assert_eq!((suite.name.as_str(), suite.seed), ("capitals", Some(7)));
    let sampling = suite.sampling.unwrap();
    assert_eq!((sampling.n, sampling.temperature), (Some(3), Some(0.7)));
    assert_eq!(suite.models[1].params.as_ref().unwrap().get("num_ctx"), Some(&Value::from(8192)));
    assert_eq!(condition_names(suite.conditions.clone()), ["raw", "compiled"]);
    let compiled = &suite.conditions.unwrap().0[1].1;
    assert_eq!(compiled.system, Some(TextSource::File("prompts/compiled.md".parse().unwrap())));
    let task = &suite.tasks[0];
    assert_eq!((task.dataset.format, task.dataset.id.as_deref()), (Format::Jsonl, Some("id")));
    let exact = Scorer::Exact { name: None, ignore_case: Some(true), trim: None, ignore_punctuation: None };
    assert_eq!(task.scorers, [exact]);
    let determinism = suite.determinism.unwrap();
    assert_eq!((determinism.strict_serialization, determinism.deterministic_artifacts), (Some(true), None));
}

#[test]
fn conditions_are_a_mapping_or_a_list_in_written_order() {
    let list = edited(
        "  raw: {}\n  compiled: {token",
        "  - {id: zeta}\n  - {id: alpha, prompt: hi}\n  - {id: compiled, token",
    );
    assert_eq!(condition_names(read(&list).conditions), ["zeta", "alpha", "compiled"]);
    let map = edited("  raw: {}\n", "  zeta:\n  alpha: {}\n");
    assert_eq!(condition_names(read(&map).conditions), ["zeta", "alpha", "compiled"]);
}

#[test]
fn a_prompt_has_three_shapes() {
    let prompt = |text: &str| {
        let written =
            "    prompt: \"{{ brief.tone }} What is the capital of {{ country }}? Answer with the name only.\"\n";
        read(&edited(written, text)).tasks.remove(0).prompt.unwrap()
    };
    let inline = |text: &str| TextSource::Inline(text.to_owned());
    assert_eq!(prompt("    prompt: |\n      Hi {{ x }}\n"), PromptSource::Text(inline("Hi {{ x }}\n")));
    let file = TextSource::File("p.md".parse().unwrap());
    assert_eq!(prompt("    prompt: {file: p.md}\n"), PromptSource::Text(file.clone()));
    let PromptSource::Messages(messages) =
        prompt("    prompt:\n      - {role: system, content: S}\n      - role: user\n        content: {file: p.md}\n")
    else {
        panic!("a list is messages")
    };
    assert_eq!(messages.iter().map(|m| m.content.clone()).collect::<Vec<_>>(), [inline("S"), file]);
}

#[test]
fn every_scorer_is_read_by_its_type() {
    let scorers = edited(
        "    scorers: [{type: exact, ignore_case: true}]\n",
        r#"    scorers:
      - {type: exact}
      - {ignore_case: true, type: includes}
      - {type: regex, pattern: '(\d+)', group: 1, take: first}
      - {type: regex, pattern: '(?<x>a)', group: x}
      - {type: numeric, tolerance: 1}
      - {type: choice}
      - {type: set, threshold: 0.5}
      - {type: json_schema, schema: {type: object, required: [a]}}
      - {type: gaia}
      - {type: image, format: webp, min_width: 64, aspect_ratio: 16:9}
      - {type: image_hash, max_distance: 3}
      - {type: command, command: [python3, s.py], timeout: 2.5}
"#,
    );
    let scorers = read(&scorers).tasks.remove(0).scorers;
    assert_eq!(scorers.len(), 12);
    assert!(matches!(&scorers[1], Scorer::Includes { ignore_case: Some(true), .. }), "{:?}", scorers[1]);
    let Scorer::JsonSchema { schema: Some(schema), .. } = &scorers[7] else { panic!("{:?}", scorers[7]) };
    assert_eq!(schema.to_string(), r#"{"required":["a"],"type":"object"}"#);
    let Scorer::Image { format, aspect_ratio, .. } = &scorers[9] else { panic!("{:?}", scorers[9]) };
    assert_eq!((*format, aspect_ratio.as_deref()), (Some(picture::Format::Webp), Some("16:9")));
}

#[test]
fn a_shuffle_is_a_boolean_or_a_seed() {
    for (text, shuffle) in [("true", Shuffle::SuiteSeed), ("false", Shuffle::Off), ("42", Shuffle::Seed(42))] {
        let suite = read(&edited("format: jsonl,", &format!("format: jsonl, shuffle: {text},")));
        assert_eq!(suite.tasks[0].dataset.shuffle, Some(shuffle));
    }
}

#[test]
fn a_place_is_found_by_its_path() {
    let node = load(SUITE).unwrap();
    let at = |line, column| Span { line, column };
    let (tasks, scorers) = (PathStep::Key("tasks"), PathStep::Key("scorers"));
    let (first, ignore_case) = (PathStep::Index(0), PathStep::Key("ignore_case"));
    assert_eq!(node.lookup(&[tasks, first, scorers, first, ignore_case]), at(15, 42));
    assert_eq!(node.lookup(&[tasks, first, scorers, first, PathStep::Key("pattern")]), at(15, 15));
    assert_eq!(node.lookup(&[tasks, PathStep::Index(9), scorers]), at(11, 3));
    assert_eq!(node.lookup(&[tasks, PathStep::Key("x")]), at(11, 3));
    assert_eq!(node.lookup(&[PathStep::Index(0)]), at(1, 1));
}

/// Each edit of the suite and the error it gives, whole.
#[test]
fn a_broken_suite_says_where_and_what_to_do() {
    let mut wrong = Vec::new();
    for (from, to, expected) in BROKEN {
        let found = broken(&edited(from, to));
        if found != expected.trim_matches('\n') {
            wrong.push(format!("{from} -> {to}\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

const SCORER: &str = "{type: exact, ignore_case: true}";
const PROMPT: &str =
    "    prompt: \"{{ brief.tone }} What is the capital of {{ country }}? Answer with the name only.\"";
const CONDITIONS: &str =
    "  raw: {}\n  compiled: {token: tokens/plain-style.yml, system: {file: prompts/compiled.md}}\n";
const MODELS: &str = "\n  - {id: small, model: \"openai:gpt-4.1-mini\"}\n  - {id: local, model: \"ollama:qwen3:8b\", params: {num_ctx: 8192}}";

/// What is replaced, by what, and the error.
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "seed: 7",
        "sede: 7",
        r##"
suite.yaml:2:1: unknown key `sede`
  |
2 | sede: 7
  | ^^^^
hint: did you mean `seed`?
"##,
    ),
    (
        "name: capitals\n",
        "",
        r##"
suite.yaml:1:1: missing key `name`
  |
1 | seed: 7
  | ^^^^
hint: add `name:` to this mapping
"##,
    ),
    (
        "n: 3, temp",
        "n: 3, top-p: 1, temp",
        r##"
suite.yaml:3:18: unknown key `top-p`
  |
3 | sampling: {n: 3, top-p: 1, temperature: 0.7}
  |                  ^^^^^
hint: did you mean `top_p`?
"##,
    ),
    (
        "n: 3",
        "n: 3.5",
        r##"
suite.yaml:3:15: expected a whole number, found the number 3.5
  |
3 | sampling: {n: 3.5, temperature: 0.7}
  |               ^^^
"##,
    ),
    (
        "n: 3",
        "n: -1",
        r##"
suite.yaml:3:15: expected a whole number from 0 to 4294967295, found the number -1
  |
3 | sampling: {n: -1, temperature: 0.7}
  |               ^^
"##,
    ),
    (
        "n: 3",
        "n: \"3\"",
        r##"
suite.yaml:3:15: expected a whole number, found the string "3"
  |
3 | sampling: {n: "3", temperature: 0.7}
  |               ^^^
hint: write it without quotes
"##,
    ),
    (
        "temperature: 0.7",
        "temperature: \"0.7\"",
        r##"
suite.yaml:3:31: expected a number, found the string "0.7"
  |
3 | sampling: {n: 3, temperature: "0.7"}
  |                               ^^^^^
hint: write it without quotes
"##,
    ),
    (
        "seed: 7",
        "seed: 1_000",
        r##"
suite.yaml:2:7: expected a whole number, found the string "1_000"
  |
2 | seed: 1_000
  |       ^^^^^
hint: write `1000`
"##,
    ),
    (
        "seed: 7",
        "seed: 9007199254740993",
        r##"
suite.yaml:2:7: the integer 9007199254740993 is beyond 2^53 and would lose digits
  |
2 | seed: 9007199254740993
  |       ^^^^^^^^^^^^^^^^
hint: write a smaller number, or put it in quotes if it is text
"##,
    ),
    (
        "name: capitals\n",
        "name: 2024\n",
        r##"
suite.yaml:1:7: expected a string, found the number 2024
  |
1 | name: 2024
  |       ^^^^
hint: put it in quotes
"##,
    ),
    (
        "name: capitals\n",
        "name:\n",
        r##"
suite.yaml:1:1: expected a string, found null
  |
1 | name:
  | ^^^^
hint: write a value, or remove the key
"##,
    ),
    (
        "{id: small,",
        "{name: small,",
        r##"
suite.yaml:5:6: unknown key `name`
  |
5 |   - {name: small, model: "openai:gpt-4.1-mini"}
  |      ^^^^
hint: expected one of `id`, `model`, `params`, `base_url`, `api`, `api_key_env`, `headers`, `output`, `command`, `price`, `limits`
"##,
    ),
    (
        "model: \"openai:gpt-4.1-mini\"",
        "modle: \"openai:gpt-4.1-mini\"",
        r##"
suite.yaml:5:17: unknown key `modle`
  |
5 |   - {id: small, modle: "openai:gpt-4.1-mini"}
  |                 ^^^^^
hint: did you mean `model`?
"##,
    ),
    (
        MODELS,
        " offline:echo",
        r##"
suite.yaml:4:9: expected a list, found the string "offline:echo"
  |
4 | models: offline:echo
  |         ^^^^^^^^^^^^
hint: write `[…]`, or items on lines that start with `- `
"##,
    ),
    (
        "params: {num_ctx: 8192}",
        "params: [8192]",
        r##"
suite.yaml:6:51: expected a mapping, found a list
  |
6 |   - {id: local, model: "ollama:qwen3:8b", params: [8192]}
  |                                                   ^
"##,
    ),
    (
        "  raw: {}",
        "  raw: {sytem: hi}",
        r##"
suite.yaml:8:9: unknown key `sytem`
  |
8 |   raw: {sytem: hi}
  |         ^^^^^
hint: did you mean `system`?
"##,
    ),
    (
        "  raw: {}",
        "  raw: plain",
        r##"
suite.yaml:8:8: expected a mapping, found the string "plain"
  |
8 |   raw: plain
  |        ^^^^^
hint: write `key: value` lines; the keys are `system`, `prompt`, `params`, `token`
"##,
    ),
    (
        CONDITIONS,
        "  - {system: hi}\n",
        r##"
suite.yaml:8:5: missing key `id`
  |
8 |   - {system: hi}
  |     ^
hint: add `id:` to this mapping
"##,
    ),
    (
        CONDITIONS,
        "  some text\n",
        r##"
suite.yaml:8:3: expected conditions by name, or a list of conditions with `id`s, found the string "some text"
  |
8 |   some text
  |   ^^^^
"##,
    ),
    (
        "system: {file: prompts/compiled.md}",
        "system: {flie: prompts/compiled.md}",
        r##"
suite.yaml:9:54: unknown key `flie`
  |
9 |   compiled: {token: tokens/plain-style.yml, system: {flie: prompts/compiled.md}}
  |                                                      ^^^^
hint: did you mean `file`?
"##,
    ),
    (
        "tokens/plain-style.yml",
        "../plain-style.yml",
        r##"
suite.yaml:9:21: `../plain-style.yml` leaves the folder; expected a path inside the suite's folder
  |
9 |   compiled: {token: ../plain-style.yml, system: {file: prompts/compiled.md}}
  |                     ^^^^^^^^^^^^^^^^^^
"##,
    ),
    (
        "    dataset: {",
        "    datasett: {",
        r##"
suite.yaml:12:5: unknown key `datasett`
   |
12 |     datasett: {format: jsonl, path: data/capitals.jsonl, id: id, target: answer}
   |     ^^^^^^^^
hint: did you mean `dataset`?
"##,
    ),
    (
        "format: jsonl",
        "format: josnl",
        r##"
suite.yaml:12:23: unknown value `josnl`
   |
12 |     dataset: {format: josnl, path: data/capitals.jsonl, id: id, target: answer}
   |                       ^^^^^
hint: did you mean `jsonl`?
"##,
    ),
    (
        "format: jsonl",
        "format: xml",
        r##"
suite.yaml:12:23: unknown value `xml`
   |
12 |     dataset: {format: xml, path: data/capitals.jsonl, id: id, target: answer}
   |                       ^^^
hint: expected one of `jsonl`, `csv`, `parquet`, `inline`, `hf`, `gaia`
"##,
    ),
    (
        "format: jsonl",
        "format: jsonl, dataset_hash: sha256:abc",
        r##"
suite.yaml:12:44: `sha256:abc` is not a digest; expected `sha256:` and 64 lower-case hex digits
   |
12 | …ataset: {format: jsonl, dataset_hash: sha256:abc, path: data/capitals.jsonl, id: id, target: answer}
   |                                        ^^^^^^^^^^
"##,
    ),
    (
        "format: jsonl",
        "format: jsonl, shuffle: -1",
        r##"
suite.yaml:12:39: expected true, false, or a seed, found the number -1
   |
12 |     dataset: {format: jsonl, shuffle: -1, path: data/capitals.jsonl, id: id, target: answer}
   |                                       ^^
"##,
    ),
    (
        PROMPT,
        "    prompt: {{ country }}",
        r##"
suite.yaml:14:13: a key cannot be a list or a mapping
   |
14 |     prompt: {{ country }}
   |             ^
hint: put a template in quotes: `"{{ … }}"`
"##,
    ),
    (
        PROMPT,
        "    prompt: [{role: usr, content: hi}]",
        r##"
suite.yaml:14:21: unknown value `usr`
   |
14 |     prompt: [{role: usr, content: hi}]
   |                     ^^^
hint: did you mean `user`?
"##,
    ),
    (
        PROMPT,
        "    prompt: 5",
        r##"
suite.yaml:14:13: expected a text, `{file: PATH}`, or a list of `{role: …, content: …}` messages, found the number 5
   |
14 |     prompt: 5
   |             ^
"##,
    ),
    (
        SCORER,
        "{type: exakt}",
        r##"
suite.yaml:15:22: unknown type `exakt`
   |
15 |     scorers: [{type: exakt}]
   |                      ^^^^^
hint: did you mean `exact`?
"##,
    ),
    (
        SCORER,
        "{type: bleu}",
        r##"
suite.yaml:15:22: unknown type `bleu`
   |
15 |     scorers: [{type: bleu}]
   |                      ^^^^
hint: expected one of `exact`, `includes`, `regex`, `numeric`, `choice`, `set`, `json_schema`, `gaia`, `image`, `image_hash`, `judge`, `command`
"##,
    ),
    (
        SCORER,
        "{ignore_case: true}",
        r##"
suite.yaml:15:15: missing key `type`
   |
15 |     scorers: [{ignore_case: true}]
   |               ^
hint: expected one of `exact`, `includes`, `regex`, `numeric`, `choice`, `set`, `json_schema`, `gaia`, `image`, `image_hash`, `judge`, `command`
"##,
    ),
    (
        SCORER,
        "exact",
        r##"
suite.yaml:15:15: expected a mapping, found the string "exact"
   |
15 |     scorers: [exact]
   |               ^^^^^
hint: write `{type: exact}`
"##,
    ),
    (
        SCORER,
        "{type: exact, ignore-case: true}",
        r##"
suite.yaml:15:29: unknown key `ignore-case`
   |
15 |     scorers: [{type: exact, ignore-case: true}]
   |                             ^^^^^^^^^^^
hint: did you mean `ignore_case`?
"##,
    ),
    (
        SCORER,
        "{type: exact, ignore_case: yes}",
        r##"
suite.yaml:15:42: expected a boolean, found the string "yes"
   |
15 |     scorers: [{type: exact, ignore_case: yes}]
   |                                          ^^^
hint: write `true` or `false`, without quotes
"##,
    ),
    (
        SCORER,
        "{type: regex}",
        r##"
suite.yaml:15:15: missing key `pattern`
   |
15 |     scorers: [{type: regex}]
   |               ^
hint: add `pattern:` to this mapping
"##,
    ),
    (
        SCORER,
        "{type: regex, pattern: x, group: 4294967296}",
        r##"
suite.yaml:15:48: there is no such group
   |
15 |     scorers: [{type: regex, pattern: x, group: 4294967296}]
   |                                                ^^^^^^^^^^
"##,
    ),
    (
        "[{type: exact, ignore_case: true}]",
        "{type: exact}",
        r##"
suite.yaml:15:14: expected a list, found a mapping
   |
15 |     scorers: {type: exact}
   |              ^
hint: write `[…]`, or items on lines that start with `- `
"##,
    ),
    (
        "strict_serialization: true",
        "strict_serialization: \"true\"",
        r##"
suite.yaml:16:37: expected a boolean, found the string "true"
   |
16 | determinism: {strict_serialization: "true", deterministic_artifacts: null}
   |                                     ^^^^^^
hint: write it without quotes
"##,
    ),
    (
        "determinism: {",
        "tasks: {",
        r##"
suite.yaml:16:1: the key `tasks` stands twice in one mapping
   |
16 | tasks: {strict_serialization: true, deterministic_artifacts: null}
   | ^^^^^
hint: it stands first in line 10; remove one of them
"##,
    ),
    (
        "determinism: {strict_serialization: true, deterministic_artifacts: null}",
        "evidence: on",
        r##"
suite.yaml:16:11: expected a mapping, found the string "on"
   |
16 | evidence: on
   |           ^^
hint: write `key: value` lines; the keys are `record`, `full_bodies`
"##,
    ),
];
