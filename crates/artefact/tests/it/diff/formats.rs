//! What is found as people and programs read it.

use super::*;

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
        record.input.messages.insert(0, Message::new(Role::System, "Be brief.".to_owned()));
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
         regressions_with_other_input schema_version significance trajectories \
         trajectory_kinds unchanged warnings"
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
const JSON_CHANGE: &str = r##"{"a":{"context":null,"error":null,"expected":{"bytes":6,"text":"Berlin"},"finish_reason":"stop","input_fingerprint":"sha256:73ae85f955f7fc98947a1ccecc319b1be5e9b95752b1d2523ff048e4c2af057f","line":1,"output":{"bytes":6,"text":"Berlin"},"prompt":{"bytes":26,"text":"What is the capital of de?"},"provider":"test","scores":[{"explanation":"equal","passed":true,"scorer":"exact","value":1}],"status":"success","tool_calls":0,"turns":1,"usage":{"input_tokens":8,"output_tokens":1}},"b":{"context":null,"error":null,"expected":{"bytes":6,"text":"Berlin"},"finish_reason":"stop","input_fingerprint":"sha256:73ae85f955f7fc98947a1ccecc319b1be5e9b95752b1d2523ff048e4c2af057f","line":1,"output":{"bytes":19,"text":"It is Bonn, I think"},"prompt":{"bytes":26,"text":"What is the capital of de?"},"provider":"test","scores":[{"explanation":"found `It is Bonn, I think`","passed":false,"scorer":"exact","value":0}],"status":"success","tool_calls":0,"turns":1,"usage":{"input_tokens":8,"output_tokens":1}},"classes":["regression","output_changed"],"condition":"raw","item_id":"de","key":"capitals/de/small/raw/0","model":"small","sample":0,"task":"capitals","trajectory":null}"##;
