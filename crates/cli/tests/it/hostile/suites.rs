//! Suites that cannot run.

use super::refuse_suite;
use crate::support::{SMALL, empty, small};

/// An edit of the small suite, and what must be said of it.
type Edit = (&'static str, &'static str, &'static [&'static str]);

#[test]
fn every_wrong_word_in_a_suite_is_pointed_at() {
    let env = small();
    env.put("folder/file", "");
    env.put("answers.yaml", "answers: {a: b}\ndefalt: x\n");
    env.put("patterns.yaml", "patterns: [{match: '(', answer: x}]\n");
    env.put("broken.yml", "a: [\n");
    env.put("binary.md", b"\xff\xfe\x00");
    let edits: &[Edit] = &[
        // Keys, with a guess at what was meant.
        ("models:", "modles:", &["error: suite.yaml:2:1: unknown key `modles`", "hint: did you mean `models`?"]),
        ("prompt:", "promt:", &["suite.yaml:7:5: unknown key `promt`", "hint: did you mean `prompt`?"]),
        ("scorers:", "scorer:", &["suite.yaml:8:5: unknown key `scorer`", "hint: did you mean `scorers`?"]),
        ("path:", "pth:", &["suite.yaml:6:30: unknown key `pth`", "hint: did you mean `path`?"]),
        (
            "{type: exact}",
            "{type: exact, ignore_cse: true}",
            &["suite.yaml:8:29: unknown key `ignore_cse`", "did you mean `ignore_case`?"],
        ),
        (
            "tasks:",
            "conditions: {raw: {sytem: x}}\ntasks:",
            &["suite.yaml:4:20: unknown key `sytem`", "did you mean `system`?"],
        ),
        (
            "name: small",
            "name: small\nxyzzy: 1",
            &["suite.yaml:2:1: unknown key `xyzzy`", "hint: expected one of `resolved`, `name`"],
        ),
        (
            "name: small",
            "name: small\nname: again",
            &["suite.yaml:2:1: the key `name` stands twice", "first in line 1"],
        ),
        ("name: small\n", "", &["suite.yaml:1:1: missing key `name`", "hint: add `name:` to this mapping"]),
        // Words that must be one of a few.
        ("type: exact", "type: exat", &["suite.yaml:8:22: unknown type `exat`", "hint: did you mean `exact`?"]),
        ("format: jsonl", "format: jsnl", &["suite.yaml:6:23: unknown value `jsnl`", "hint: did you mean `jsonl`?"]),
        (
            "offline:echo",
            "offline:ecko",
            &["suite.yaml:3:23: there is no model `offline:ecko`", "did you mean `offline:echo`?"],
        ),
        ("offline:echo", "ofline:echo", &["suite.yaml:3:23: unknown provider `ofline`", "did you mean `offline`?"]),
        ("offline:echo", "echo", &["suite.yaml:3:23: `echo` names no provider", "hint: write `provider:model-id`"]),
        (
            "\"{{ input }}\"",
            "[{role: robot, content: x}]",
            &["suite.yaml:7:21: unknown value `robot`", "`system`, `user`, `assistant`"],
        ),
        // Booleans are booleans.
        (
            "name: small",
            "name: small\ndeterminism: {strict_serialization: \"true\"}",
            &["suite.yaml:2:37: expected a boolean, found the string \"true\"", "hint: write it without quotes"],
        ),
        (
            "name: small",
            "name: small\ndeterminism: {deterministic_artifacts: 'false'}",
            &["suite.yaml:2:40: expected a boolean, found the string \"false\"", "hint: write it without quotes"],
        ),
        (
            "name: small",
            "name: small\nevidence: {record: yes}",
            &["suite.yaml:2:20: expected a boolean, found the string \"yes\"", "hint: write `true` or `false`"],
        ),
        ("{type: exact}", "{type: exact, trim: 1}", &["suite.yaml:8:35: expected a boolean, found the number 1"]),
        (
            "id: id}",
            "id: id, shuffle: \"true\"}",
            &["suite.yaml:6:65: expected true, false, or a seed, found the string \"true\""],
        ),
        // Numbers and their ranges.
        (
            "name: small",
            "name: 7",
            &["suite.yaml:1:7: expected a string, found the number 7", "hint: put it in quotes"],
        ),
        ("name: small", "name: \"\"", &["suite.yaml:1:7: the name must have 1 to 200 printable characters"]),
        ("name: small", "name: small\nsampling: {n: 0}", &["suite.yaml:2:15: n is 0, expected 1 to 10000"]),
        ("name: small", "name: small\nsampling: {n: 99999}", &["suite.yaml:2:15: n is 99999, expected 1 to 10000"]),
        ("name: small", "name: small\nsampling: {n: 99999999999999999999}", &["suite.yaml:2:15: "]),
        (
            "name: small",
            "name: small\nsampling: {temperature: -1}",
            &["suite.yaml:2:25: expected a temperature from 0 to 10"],
        ),
        (
            "name: small",
            "name: small\nseed: -1",
            &["suite.yaml:2:7: expected a whole number from 0", "found the number -1"],
        ),
        ("name: small", "name: small\nseed: 1.5", &["suite.yaml:2:7: expected a whole number, found the number 1.5"]),
        (
            "name: small",
            "name: small\nseed: 9007199254740993",
            &["suite.yaml:2:7: the integer 9007199254740993 is beyond 2^53"],
        ),
        ("{type: exact}", "{type: numeric, tolerance: .nan}", &["suite.yaml:8:42: `.nan` has no canonical form"]),
        ("{type: exact}", "{type: numeric, tolerance: -1}", &["suite.yaml:8:42: expected `tolerance` to be 0 or more"]),
        ("id: id}", "id: id, limit: 0}", &["suite.yaml:6:63: a limit of 0 leaves no item"]),
        // Things that stand twice, or not at all.
        (
            "  - id: words",
            "  - {id: words, dataset: {format: inline, rows: [{input: x}]}, scorers: [{type: exact}]}\n  - id: words",
            &["suite.yaml:6:9: two tasks are named `words`"],
        ),
        ("tasks:", "conditions: [{id: a}, {id: a}]\ntasks:", &["suite.yaml:4:28: two conditions are named `a`"]),
        (
            "tasks:",
            "conditions: {}\ntasks:",
            &["suite.yaml:4:13: there is no condition", "hint: leave `conditions` out"],
        ),
        ("{type: exact}", "", &["suite.yaml:8:14: task `words` has no scorer", "hint: try `scorers: [{type: exact}]`"]),
        ("{type: exact}", "{type: exact, name: a}, {type: gaia, name: a}", &["two scorers are named `a`"]),
        ("  - {id: echo, model: \"offline:echo\"}", "  []", &["suite.yaml:3:3: a suite needs at least one model"]),
        ("id: words", "id: \"a\\tb\"", &["suite.yaml:5:9: `a\\tb` cannot name a task"]),
        ("\"{{ input }}\"", "[]", &["suite.yaml:7:13: a chat prompt needs at least one message"]),
        // Parameters.
        (
            "offline:echo\"",
            "offline:echo\", params: {latencyms: 5}",
            &["suite.yaml:3:47: `offline:echo` has no parameter `latencyms`", "did you mean `latency_ms`?"],
        ),
        (
            "offline:echo\"",
            "offline:noisy\", params: {accuracy: 1.5}",
            &["suite.yaml:3:48: parameter `accuracy` of `offline:noisy` is 1.5, expected a number from 0 to 1"],
        ),
        (
            "offline:echo\"",
            "offline:faulty\", params: {schedule: [okay]}",
            &["expected a list of ok, error, timeout, rate_limited"],
        ),
        (
            "tasks:",
            "conditions: {raw: {params: {temprature: 1}}}\ntasks:",
            &["has no parameter `temprature` (under condition `raw`)", "did you mean `temperature`?"],
        ),
        ("offline:echo\"", "offline:scripted\"", &["suite.yaml:3:23: `offline:scripted` needs a file of answers"]),
        (
            "offline:echo\"",
            "offline:scripted\", params: {file: answers.yaml}",
            &["suite.yaml:3:23: `answers.yaml` line 2: unknown key `defalt`", "hint: did you mean `default`?"],
        ),
        (
            "offline:echo\"",
            "offline:scripted\", params: {file: patterns.yaml}",
            &["`patterns.yaml`: the pattern `(` is not a regular expression: unclosed group"],
        ),
        (
            "offline:echo\"",
            "offline:scripted\", params: {file: ../answers.yaml}",
            &["`../answers.yaml` leaves the folder"],
        ),
        // Templates.
        (
            "{{ input }}",
            "{{ inptu }}",
            &[
                "error: suite.yaml:7:13: cannot make the prompt of item `a` (prompt of task `words`, condition `default`, line 1): `inptu` is undefined\n",
                "7 |     prompt: \"{{ inptu }}\"\n",
                "\nhint: did you mean `input`?\n",
            ],
        ),
        ("{{ input }}", "{{ xyzzy.y }}", &["`xyzzy.y` is undefined", "hint: this item has id, input\n"]),
        ("{{ input }}", "{{ brief }}", &["`brief` is undefined"]),
        (
            "{{ input }}",
            "{{ target }}",
            &["`target` is undefined", "hint: `target` is the target; a template cannot see the answer\n"],
        ),
        ("{{ input }}", "{{ item.target }}", &["`item.target` is undefined"]),
        ("{{ input }}", "{{ input", &["suite.yaml:7:13: the template does not parse in line 1"]),
        (
            "{{ input }}",
            "{% include 'x' %}",
            &["suite.yaml:7:13: the template does not parse in line 1: unknown statement include"],
        ),
        ("{{ input }}", "{{ 'x' * 100000000000 }}", &["suite.yaml:7:13: cannot make the prompt of item `a`"]),
        (
            "{{ input }}",
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
            &["suite.yaml:7:13: cannot make the prompt of item `a`"],
        ),
        ("{{ input }}", "{{ input | nofilter }}", &["suite.yaml:7:13: "]),
        (
            "tasks:",
            "conditions: {raw: {system: \"{{ who }}\"}}\ntasks:",
            &[
                "suite.yaml:4:28: cannot make the prompt of item `a` (system prompt of task `words`, condition `raw`, line 1): `who` is undefined",
            ],
        ),
        // Scorers.
        (
            "{type: exact}",
            "{type: regex, pattern: '('}",
            &["suite.yaml:8:15: the pattern of scorer `regex` is not a regular expression: unclosed group"],
        ),
        ("{type: exact}", "{type: regex, pattern: '(?=x)'}", &["suite.yaml:8:15: the pattern of scorer `regex`"]),
        ("{type: exact}", "{type: regex, pattern: '(a{1000}){1000}'}", &["compiles to more than"]),
        ("{type: exact}", "{type: regex}", &["suite.yaml:8:15: missing key `pattern`"]),
        ("{type: exact}", "{pattern: x}", &["suite.yaml:8:15: "]),
        ("{type: exact}", "exact", &["suite.yaml:8:15: "]),
        (
            "{type: exact}",
            "{type: json_schema}",
            &["suite.yaml:8:15: a json_schema scorer needs either `schema` or `file`"],
        ),
        (
            "{type: exact}",
            "{type: json_schema, schema: {type: 5}}",
            &["suite.yaml:8:15: the schema of scorer `json_schema` cannot be used"],
        ),
        ("{type: exact}", "{type: json_schema, schema: {$ref: 'http://localhost/x'}}", &["nothing is fetched"]),
        ("{type: exact}", "{type: json_schema, schema: {$ref: 'file:///etc/passwd'}}", &["nothing is fetched"]),
        ("{type: exact}", "{type: json_schema, file: suite.yaml}", &["is not JSON"]),
        ("{type: exact}", "{type: set, threshold: 2}", &["suite.yaml:8:38: expected a threshold above 0 and up to 1"]),
        ("{type: exact}", "{type: image, width: 0}", &["suite.yaml:8:36: expected `width` to be at least 1"]),
        (
            "{type: exact}",
            "{type: image, aspect_ratio: wide}",
            &["suite.yaml:8:43: expected two numbers from 1 to 10000"],
        ),
        ("{type: exact}", "{type: image, format: bmp}", &["suite.yaml:8:37: ", "`png`"]),
        ("{type: exact}", "{type: image_hash, max_distance: 64}", &["suite.yaml:8:48: expected a distance below 64"]),
        ("offline:echo\"", "offline:painter\", params: {width: 2000}", &["expected a whole number from 1 to 1024"]),
        ("{type: exact}", "{type: command, command: []}", &["suite.yaml:8:40: expected a program and its arguments"]),
        (
            "{type: exact}",
            "{type: command, command: [x], timeout: 0}",
            &["suite.yaml:8:54: expected more than 0 and at most 3600 seconds"],
        ),
        (
            "{type: exact}",
            "{type: command, command: [sh, x.sh], files: [x.sh]}",
            &["the suite names `x.sh`, which cannot be read"],
        ),
        // Paths.
        (
            "data.jsonl",
            "../data.jsonl",
            &["suite.yaml:6:36: `../data.jsonl` leaves the folder; expected a path inside the suite's folder"],
        ),
        ("data.jsonl", "/etc/passwd", &["suite.yaml:6:36: `/etc/passwd` is not relative"]),
        ("data.jsonl", "folder/../../x", &["suite.yaml:6:36: `folder/../../x` leaves the folder"]),
        ("data.jsonl", "'C:\\data.jsonl'", &["suite.yaml:6:36: "]),
        ("data.jsonl", "\"a\\0b\"", &["holds a control character"]),
        (
            "data.jsonl",
            "nowhere.jsonl",
            &["error: `nowhere.jsonl`: cannot open the file", "hint: paths are relative to the suite's folder"],
        ),
        ("data.jsonl", "folder", &["error: `folder`: not a regular file"]),
        (
            "\"{{ input }}\"",
            "{file: nowhere.md}",
            &["the suite names `nowhere.md`, which cannot be read", "hint: paths are relative"],
        ),
        ("\"{{ input }}\"", "{file: folder}", &["the suite names `folder`, which is not a regular file"]),
        ("\"{{ input }}\"", "{file: binary.md}", &["`binary.md` is not UTF-8 text"]),
        ("\"{{ input }}\"", "{fiel: x}", &["suite.yaml:7:14: unknown key `fiel`", "hint: did you mean `file`?"]),
        ("tasks:", "conditions: {raw: {token: broken.yml}}\ntasks:", &["error: broken.yml:1:4: `[` is never closed"]),
        (
            "tasks:",
            "conditions: {raw: {token: nowhere.yml}}\ntasks:",
            &["the suite names `nowhere.yml`, which cannot be read"],
        ),
        // Data that does not fit its format.
        ("jsonl, path: data.jsonl, id: id", "inline", &["suite.yaml:6:14: a dataset of format `inline` needs `rows`"]),
        ("jsonl, path: data.jsonl, id: id", "inline, rows: []", &["`inline rows`: no rows"]),
        (
            "jsonl, path: data.jsonl, id: id",
            "inline, rows: [1]",
            &["`inline rows` row 1: expected a JSON object, found a number"],
        ),
        ("jsonl, path", "csv, delimiter: ',,', path", &["suite.yaml:6:39: `,,` is not one ASCII character"]),
        ("jsonl, path", "jsonl, delimiter: ',', path", &["`delimiter` does not belong to a dataset of format `jsonl`"]),
        ("jsonl, path", "parquet, path", &["`data.jsonl`: not a readable Parquet file"]),
        (
            "jsonl, path: data.jsonl, id: id",
            "hf, repo: a/b",
            &["suite.yaml:6:14: a hub dataset needs `revision` or `dataset_hash`"],
        ),
        (
            "id: id}",
            "id: id, dataset_hash: abc}",
            &["suite.yaml:6:70: `abc` is not a digest; expected `sha256:` and 64 lower-case hex digits"],
        ),
        (
            "id: id}",
            "id: id, target: targt}",
            &["`data.jsonl` line 1: the row has no field `targt`, which `target` names", "did you mean `target`?"],
        ),
        ("id: id}", "id: id, input: target, target: target}", &["`input` and `target` both name the field `target`"]),
    ];
    for (from, to, complaints) in edits {
        assert!(SMALL.contains(from), "the small suite lacks `{from}`");
        env.put("suite.yaml", SMALL.replacen(from, to, 1));
        refuse_suite(&env, to, complaints);
    }
    assert!(edits.len() >= 60, "{}", edits.len());
}

#[test]
fn a_link_cannot_lead_out_of_the_suites_folder() {
    let env = small();
    let outside = tempfile::tempdir().unwrap();
    proofmark_testkit::tree::put(&outside.path().join("secret.jsonl"), "{\"id\":\"a\",\"input\":\"secret\"}\n");
    std::os::unix::fs::symlink(outside.path().join("secret.jsonl"), env.path("secret.jsonl")).unwrap();
    std::os::unix::fs::symlink(outside.path(), env.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", env.path("dangling")).unwrap();
    std::os::unix::fs::symlink("data.jsonl", env.path("inside.jsonl")).unwrap();
    for name in ["secret.jsonl", "folder/secret.jsonl"] {
        env.put("suite.yaml", SMALL.replace("data.jsonl", name));
        refuse_suite(&env, name, &[&format!("error: `{name}`: the path leads out of the suite's folder"), "`--root`"]);
        env.put("suite.yaml", SMALL.replace("\"{{ input }}\"", &format!("{{file: {name}}}")));
        refuse_suite(&env, name, &[&format!("error: `{name}` leads out of the suite's folder")]);
    }
    env.put("suite.yaml", SMALL.replace("data.jsonl", "dangling"));
    refuse_suite(&env, "a dangling link", &["error: `dangling`: cannot open the file"]);
    // A link that stays inside is an ordinary file.
    env.put("suite.yaml", SMALL.replace("data.jsonl", "inside.jsonl"));
    env.run(&["run", "suite.yaml", "--run-dir", "out"]).expect(0);
}

#[test]
fn a_pipe_is_refused_instead_of_waited_for() {
    let env = small();
    let made = std::process::Command::new("mkfifo").arg(env.path("pipe")).status().unwrap();
    assert!(made.success());
    env.put("suite.yaml", SMALL.replace("data.jsonl", "pipe"));
    refuse_suite(&env, "a pipe as dataset", &["`pipe`: not a regular file"]);
    env.put("suite.yaml", SMALL.replace("\"{{ input }}\"", "{file: pipe}"));
    refuse_suite(&env, "a pipe as prompt", &["the suite names `pipe`, which is not a regular file"]);
}

#[test]
fn a_file_that_is_no_suite_is_refused() {
    let env = empty();
    let anchors = std::iter::once("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned())
        .chain((1..20).map(|at| format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 9].join(","))))
        .collect::<String>();
    // Any bytes will do as long as they are always the same.
    let noise: Vec<u8> = (0u32..5000).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let files: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("nothing", b"".to_vec(), &["suite.yaml:1:1: expected a mapping, found null"]),
        ("a comment", b"# soon\n".to_vec(), &["suite.yaml:1:1: expected a mapping"]),
        ("a list", b"[1, 2]\n".to_vec(), &["suite.yaml:1:1: expected a mapping, found a list"]),
        ("a text", b"hello\n".to_vec(), &["suite.yaml:1:1: expected a mapping"]),
        ("two documents", b"name: x\n---\nname: y\n".to_vec(), &["suite.yaml:2:1: a second document starts here"]),
        ("noise", noise, &["error: suite.yaml:1:"]),
        ("a program", b"\x7fELF\x02\x01\x01\0\0\0\xd0".to_vec(), &["error: suite.yaml:1:"]),
        ("control characters", b"name: \"\x1b[31m\x07\"\n".to_vec(), &["suite.yaml:1:8: the control character U+001B"]),
        ("a bidirectional trick", "na\u{202e}me: x\n".as_bytes().to_vec(), &["suite.yaml:1:1: unknown key"]),
        ("UTF-16", b"\xff\xfen\0a\0m\0e\0".to_vec(), &["hint: the file looks like UTF-16; save it as UTF-8"]),
        ("Latin-1", b"name: caf\xe9\n".to_vec(), &["suite.yaml:1:10: the byte 0xe9 is not valid UTF-8"]),
        ("a tab", b"name: x\n\tmodels: 1\n".to_vec(), &["suite.yaml:2:1: a tab is used as indentation"]),
        ("deep lists", vec![b'['; 100_000], &["lists and mappings are nested deeper than"]),
        ("deep mappings", "{a: ".repeat(50_000).into_bytes(), &["lists and mappings are nested deeper than"]),
        (
            "deep blocks",
            (0..3000).map(|at| format!("{}a:\n", " ".repeat(at))).collect::<String>().into_bytes(),
            &["nested deeper than"],
        ),
        ("anchors that explode", anchors.into_bytes(), &["anchors and aliases copy more than"]),
        ("an anchor of itself", b"a: &a [*a]\n".to_vec(), &["error: suite.yaml:1:"]),
        ("a foreign tag", b"name: !!python/object:os.system x\n".to_vec(), &["suite.yaml:1:7: unknown tag"]),
        ("a merge key", b"<<: {name: x}\n".to_vec(), &["suite.yaml:1:1: "]),
        ("nine megabytes", vec![b'#'; 9 << 20], &["`suite.yaml` is larger than 8388608 bytes"]),
        (
            "a long line",
            format!("name: {}\n", "x".repeat(1 << 20)).into_bytes(),
            &["error: suite.yaml:1:1: missing key"],
        ),
        ("an unclosed quote", b"name: \"x\nmodels: []\n".to_vec(), &["error: suite.yaml:"]),
        (
            "a resolved suite of the future",
            SMALL.replace("name:", "resolved: proofmark.suite/2\nname:").into_bytes(),
            &["suite.yaml:1:11: `proofmark.suite/2` is not a version of resolved suites that we know"],
        ),
    ];
    for (what, bytes, complaints) in files {
        env.put("suite.yaml", bytes);
        refuse_suite(&env, what, complaints);
    }
    std::fs::remove_file(env.path("suite.yaml")).unwrap();
    refuse_suite(
        &env,
        "no file",
        &["error: cannot read the suite", "`suite.yaml`", "hint: write one with `proofmark init`"],
    );
    std::fs::create_dir(env.path("suite.yaml")).unwrap();
    super::refuse(&env, "a folder", &["run", "suite.yaml"], 2, &["error: cannot read the suite", "Is a directory"]);
}
