//! Calls that were kept answer a run again, without a network and to the byte.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proofmark_artefact::store::names;
use proofmark_serve::mock::{Config, Faults, Latency, Times};
use proofmark_testkit::command::{Ran, TestEnv};
use serde_json::Value;

use crate::live::{call_live, env, lines, outcomes, provider, questions, suite};

/// Panics when two runs differ in plane 1 or in the pictures they hold.
#[track_caller]
fn assert_same(env: &TestEnv, a: &str, b: &str) {
    let read = |dir: &str, name: &str| std::fs::read(env.path(dir).join(name)).ok();
    for name in names::PLANE_1 {
        assert!(read(a, name) == read(b, name), "{a}, {b}: {name} differs");
        // Trajectories are there where they were wanted.
        assert!(read(a, name).is_some() || name == names::TRAJECTORIES, "{a} has no {name}");
    }
    let changes = env.tree(&format!("{a}/outputs")).changes(&env.tree(&format!("{b}/outputs")));
    assert!(changes.is_empty(), "{changes:?}");
}

/// Replays without an address, a key, or anybody who listens.
fn replay(env: &TestEnv, dir: &str) -> Ran {
    env.run(&["run", "suite.yaml", "--run-dir", dir, "--replay", "tape"])
}

/// The files of entries, inside of the cassette.
fn entries(env: &TestEnv) -> Vec<String> {
    let tree = env.tree("tape");
    tree.names().into_iter().filter(|name| name.ends_with(".zst")).collect()
}

const WIRES: &str = "  - {id: openai, model: \"openai:mock-1\"}\n  \
                     - {id: responses, model: \"openai:mock-1\", api: responses}\n  \
                     - {id: anthropic, model: \"anthropic:mock-1\"}\n  - {id: gemini, model: \"gemini:mock-1\"}\n  \
                     - {id: mistral, model: \"mistral:mock-1\"}\n  - {id: cohere, model: \"cohere:mock-1\"}\n  \
                     - {id: ollama, model: \"ollama:mock-1\"}\n";

#[test]
fn a_rough_run_is_replayed_offline_to_the_same_bytes() {
    let env = env();
    questions(&env, 60);
    suite(
        &env,
        WIRES,
        "conditions: {whole: {params: {stream: false}}, streamed: {params: {stream: true}}}\n\
         limits: {max_retries: 1, total_timeout: 2}\nevidence: {record: true}",
    );
    let faults: Faults =
        "429=6,500=5,truncated=5,reset=2,malformed=3,empty=3,filter=3,refusal=3,stream-cut=3".parse().unwrap();
    // Twice: half of what may be tried again fails for good.
    let (fault_times, latency) =
        (Times::AtMost(2), Latency::Lognormal { median: Duration::from_millis(3), sigma: 0.8 });
    let server = provider(Config { faults, fault_times, latency, ..Config::default() });
    let record = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    let ran = call_live(&env, &server, &record).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let found = outcomes(&lines(&env, "run/records.jsonl"));
    for kind in ["success", "rate_limited/rate_limited", "error/server", "error/truncated", "error/malformed"] {
        assert!(found.contains_key(kind), "{kind}: {found:?}");
    }
    drop(server.stop());

    let again = replay(&env, "again");
    assert_eq!(again.code, 1, "{}", again.stderr);
    assert_same(&env, "run", "again");
    let telemetry = lines(&env, "again/telemetry.jsonl");
    assert_eq!(telemetry.len(), 60 * 7 * 2);
    for attempt in &telemetry {
        assert_eq!((&attempt["endpoint"], &attempt["latency_ms"]), (&"cassette".into(), &0.into()), "{attempt}");
    }
    // The provider's names of requests are still known.
    let ids = |name: &str| -> BTreeSet<String> {
        let answered = lines(&env, name).into_iter().filter(|attempt| attempt["outcome"] == "answered");
        answered.filter_map(|attempt| Some(attempt["request_id"].as_str()?.to_owned())).collect()
    };
    assert_eq!(ids("run/telemetry.jsonl"), ids("again/telemetry.jsonl"));
    assert!(!ids("run/telemetry.jsonl").is_empty());
    assert_eq!(entries(&env).len(), telemetry.len());
    let verified = env.run(&["cassette", "verify", "tape"]);
    assert_eq!((verified.code, verified.stdout.as_str()), (0, "valid: 840 entries\n"));
}

#[test]
fn tools_files_and_pictures_are_replayed() {
    let env = env();
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"a red house\"}\n{\"id\":\"b\",\"input\":\"a blue house\"}\n");
    env.put(
        "suite.yaml",
        r#"name: mixed
models:
  - {id: openai, model: "openai:gpt-image-1", output: image}
  - {id: gemini, model: "gemini:image-1", output: image}
  - {id: cloudflare, model: "cloudflare:@cf/black-forest-labs/flux-1-schnell", output: image}
evidence: {record: true}
tasks:
  - id: paint
    dataset: {format: jsonl, path: data.jsonl, id: id}
    scorers: [{type: image, format: png}]
"#,
    );
    let server = provider(Config::default());
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"]).run();
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let again = replay(&env, "again");
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_same(&env, "run", "again");
    assert!(env.path("again/outputs").is_dir());
    assert_eq!(env.run(&["validate", "again"]).code, 0);

    let picture = env.tree("run/outputs").files()[0].1.to_vec();
    env.put("a.png", picture);
    env.put("data.jsonl", "{\"id\":\"a\",\"input\":\"what is it?\",\"picture\":\"a.png\"}\n");
    env.put(
        "suite.yaml",
        "name: files\nmodels:\n  - {id: openai, model: \"openai:mock-1\"}\n  - {id: anthropic, model: \"anthropic:mock-1\"}\n  \
         - {id: cohere, model: \"cohere:mock-1\"}\ntasks:\n  - id: look\n    \
         dataset: {format: jsonl, path: data.jsonl, id: id, files: [picture]}\n    scorers: [{type: regex, pattern: what}]\n",
    );
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "files", "--cassette", "tape"]).run();
    assert!(ran.code < 2, "{}", ran.stderr);
    let again = replay(&env, "files-again");
    assert_eq!(again.code, ran.code, "{}", again.stderr);
    assert_same(&env, "files", "files-again");
    // Other pixels are another question.
    env.put("a.png", env.tree("run/outputs").files()[1].1);
    assert_eq!(replay(&env, "files-changed").code, 2);

    for streamed in [false, true] {
        env.put(
            "suite.yaml",
            format!(
                r#"name: tools
models:
{WIRES}
conditions: {{c: {{params: {{stream: {streamed}}}}}}}
evidence: {{record: true}}
tasks:
  - id: weather
    dataset: {{format: inline, rows: [{{id: a, input: 'call:get_weather {{"city":"Paris"}}', target: x}}], id: id}}
    tools: [{{name: get_weather, description: Looks it up, parameters: {{type: object}}}}]
    scorers: [{{type: json_schema, schema: {{type: array}}}}]
"#
            ),
        );
        let [run, again] = ["run", "again"].map(|name| format!("{name}-{streamed}"));
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", &run, "--cassette", "tape"]).run();
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(lines(&env, &format!("{run}/records.jsonl"))[0]["tool_calls"], 1);
        assert_eq!(replay(&env, &again).code, 0);
        assert_same(&env, &run, &again);
    }
}

#[test]
fn a_changed_prompt_or_parameter_is_a_miss_and_not_a_wrong_answer() {
    let env = env();
    questions(&env, 3);
    let model = "  - {id: m, model: \"anthropic:mock-1\"}";
    suite(&env, model, "");
    let server = provider(Config::default());
    let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"]).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let original = env.text("suite.yaml");
    for (at, changed) in [
        original.replace("scorers:", "prompt: \"Say {{ input }}\"\n    scorers:"),
        original.replace("mock-1", "mock-2"),
        original.replace("mock-1\"", "mock-1\", params: {max_tokens: 99}"),
        original.replace("mock-1\"", "mock-1\", headers: {anthropic-beta: new}"),
        original.replace("id: m,", "id: other,"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_ne!(changed, original);
        env.put("suite.yaml", changed);
        let ran = replay(&env, &format!("changed-{at}"));
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains("is not on the cassette `tape`: it has no sha256:"), "{}", ran.stderr);
        assert!(ran.stderr.contains("echo/q0000"), "{}", ran.stderr);
        assert!(ran.stderr.contains("a prompt or a parameter is not what was recorded"), "{}", ran.stderr);
        // With everybody to ask, the rest of it is recorded.
        let auto = ["--cassette", "tape", "--cassette-mode", "auto", "--resume"];
        let run = ["run", "suite.yaml", "--run-dir", &format!("changed-{at}")];
        let ran = call_live(&env, &server, &[&run[..], &auto].concat()).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(replay(&env, &format!("again-{at}")).code, 0);
        assert_same(&env, &format!("changed-{at}"), &format!("again-{at}"));
    }
    // What was recorded before is still there.
    env.put("suite.yaml", original);
    assert_eq!(replay(&env, "first-again").code, 0);
    assert_same(&env, "run", "first-again");
}

#[test]
fn an_altered_entry_is_refused_by_name() {
    let env = env();
    questions(&env, 4);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let server = provider(Config::default());
    let record = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    assert_eq!(call_live(&env, &server, &record).run().code, 0);
    let files = entries(&env);
    let name = |at: usize| format!("tape/{}", files[at]);
    let whole = env.bytes(&name(0));
    let text = zstd::decode_all(&whole[..]).unwrap();
    let lie = String::from_utf8(text.clone()).unwrap().replace("item", "lie!").into_bytes();
    let pack = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    for (at, altered) in
        [pack(&lie), whole[..whole.len() / 2].to_vec(), Vec::new(), env.bytes(&name(1)), pack(&vec![b' '; 1 << 20])]
            .into_iter()
            .enumerate()
    {
        assert_ne!(altered, whole);
        env.put(&name(0), altered);
        let ran = replay(&env, &format!("altered-{at}"));
        assert_eq!(ran.code, 2, "{at}: {}", ran.stdout);
        assert!(ran.stderr.contains(&name(0)), "{at}: {}", ran.stderr);
        let verified = env.run(&["cassette", "verify", "tape"]);
        assert_eq!(verified.code, 1, "{at}");
        assert!(
            verified.stdout.contains(&name(0)) && verified.stdout.contains("1 of 4 entries"),
            "{}",
            verified.stdout
        );
        // Also whoever could ask does not take it for an answer, or put another in its place.
        let auto = ["run", "suite.yaml", "--run-dir", "auto", "--cassette", "tape", "--cassette-mode", "auto"];
        let ran = call_live(&env, &server, &[&auto[..], &["--overwrite"]].concat()).run();
        assert_eq!(ran.code, 2, "{at}: {}", ran.stderr);
    }
    // The same content in another packing is the same entry.
    env.put(&name(0), pack(&text));
    assert_eq!(replay(&env, "same").code, 0);
    assert_same(&env, "run", "same");
}

#[test]
fn two_processes_record_into_one_cassette_at_once() {
    let env = env();
    questions(&env, 300);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}\n  - {id: n, model: \"gemini:mock-1\"}", "");
    let latency = Latency::Uniform { low: Duration::ZERO, high: Duration::from_millis(4) };
    let server = provider(Config { latency, ..Config::default() });
    for (mode, tape) in [("record", "tape"), ("auto", "auto")] {
        let start = |dir: &str| {
            let run = ["run", "suite.yaml", "--run-dir", dir, "--cassette", tape, "--cassette-mode", mode];
            call_live(&env, &server, &run).start()
        };
        let dirs = ["a", "b", "c"].map(|name| format!("{mode}-{name}"));
        let running: Vec<_> = dirs.iter().map(|dir| start(dir)).collect();
        for one in running {
            let ran = one.wait();
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        }
        let again = env.run(&["run", "suite.yaml", "--run-dir", &format!("{mode}-again"), "--replay", tape]);
        assert_eq!(again.code, 0, "{}", again.stderr);
        for dir in &dirs {
            assert_same(&env, dir, &format!("{mode}-again"));
        }
        let verified = env.run(&["cassette", "verify", tape]);
        assert_eq!(verified.stdout, "valid: 600 entries\n");
    }
}

#[test]
fn a_run_that_is_killed_while_it_records_goes_on() {
    let env = env();
    questions(&env, 600);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let latency = Latency::Uniform { low: Duration::ZERO, high: Duration::from_millis(5) };
    let server = provider(Config { latency, ..Config::default() });
    let run = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    let count = || std::fs::read_dir(env.path("tape")).map_or(0, |folder| folder.count());
    for (at, folders) in [20, 120, 200].into_iter().enumerate() {
        let more: &[&str] = if at == 0 { &[] } else { &["--resume"] };
        let killed = call_live(&env, &server, &[&run[..], more].concat()).start().kill_when(|| count() >= folders);
        assert!(killed, "it was over before {folders}");
        assert_eq!(env.run(&["cassette", "verify", "tape"]).code, 0);
    }
    // Another run takes what is there and asks for the rest.
    let before = entries(&env).len() as u64;
    assert!((100..600).contains(&before), "{before}");
    let asked = server.stats().requests;
    let auto = ["run", "suite.yaml", "--run-dir", "auto", "--cassette", "tape", "--cassette-mode", "auto"];
    let ran = call_live(&env, &server, &auto).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(server.stats().requests - asked, 600 - before);
    // And the killed one has everything that it needs.
    let ran = call_live(&env, &server, &[&run[..], &["--resume"]].concat()).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(replay(&env, "again").code, 0);
    for dir in ["auto", "again"] {
        assert_same(&env, "run", dir);
    }
    // A replay that is interrupted ends in the same bytes, too.
    let slow = env.call(&["run", "suite.yaml", "--run-dir", "half", "--replay", "tape", "--concurrency", "1"]).start();
    let journal = env.path("half/.proofmark/journal.jsonl");
    if slow.kill_when(|| journal.metadata().is_ok_and(|file| file.len() > 20_000)) {
        let resumed = env.run(&["run", "suite.yaml", "--run-dir", "half", "--replay", "tape", "--resume"]);
        assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    }
    assert_same(&env, "run", "half");
}

/// A server that numbers its answers, or says what `answer` makes of the number and the head of the request.
fn numbering_server(answer: impl Fn(usize, &str) -> (u16, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (number, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (number, answer) = (Arc::clone(&number), Arc::clone(&answer));
            std::thread::spawn(move || {
                let Ok(mut stream) = stream else { return };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0);
                while reader.read_line(&mut head).is_ok_and(|read| read > 2) {
                    let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                if reader.read_exact(&mut body).is_err() {
                    return;
                }
                let (status, text) = answer(number.fetch_add(1, Ordering::SeqCst), &head);
                let reply = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nset-cookie: session=private\r\n\
                     x-request-id: r1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                    text.len()
                );
                let _ = stream.write_all(reply.as_bytes());
            });
        }
    });
    format!("http://{address}")
}

fn anthropic_text(text: &str) -> String {
    serde_json::json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1}
    })
    .to_string()
}

#[test]
fn samples_of_one_item_keep_their_own_answers_where_no_seed_is_sent() {
    let base = numbering_server(|number, _| (200, anthropic_text(&format!("answer {number}"))));
    let env = env();
    questions(&env, 3);
    suite(&env, "  - {id: m, model: \"anthropic:mock-1\"}", "sampling: {n: 5}");
    let run = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    let ran = env.call(&run).env("ANTHROPIC_BASE_URL", base).env("ANTHROPIC_API_KEY", "sk-ant-0123").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let texts: BTreeSet<String> =
        lines(&env, "run/records.jsonl").iter().map(|record| record["output"]["text"].to_string()).collect();
    assert_eq!(texts.len(), 15);
    assert_eq!(replay(&env, "again").code, 0);
    assert_same(&env, "run", "again");
    // What is recorded once more is put in place of it.
    assert_eq!(entries(&env).len(), 15);
}

const CANARY: &str = "canary-7f3c9a1e/5b2d8046";

#[test]
fn a_key_is_on_no_cassette_even_when_the_provider_repeats_it() {
    // An answer, a refusal, and a refusal that masks the middle, each with the key in it.
    let base = numbering_server(|number, head| {
        assert!(head.contains(CANARY));
        let escaped = CANARY.replace('/', "\\/");
        match number % 4 {
            0 => (200, anthropic_text(&format!("your key is {CANARY}"))),
            1 => (200, anthropic_text("x").replace("\"x\"", &format!("\"your key is {escaped}\""))),
            2 => (
                400,
                format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"bad {CANARY}"}}}}"#),
            ),
            _ => {
                let masked = format!("{}****{}", &CANARY[..8], &CANARY[20..]);
                (
                    400,
                    format!(
                        r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"bad {masked}"}}}}"#
                    ),
                )
            }
        }
    });
    let env = env();
    questions(&env, 8);
    suite(&env, "  - {id: m, model: \"anthropic:mock-1\"}", "evidence: {record: true}");
    let run = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape", "--concurrency", "1"];
    let ran = env.call(&run).env("ANTHROPIC_BASE_URL", base).env("ANTHROPIC_API_KEY", CANARY).run();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(replay(&env, "again").code, 1);
    assert_same(&env, "run", "again");
    let shown: String = entries(&env)
        .iter()
        .map(|name| {
            let hex = name.replace('/', "").replace(".json.zst", "");
            env.run(&["cassette", "show", "tape", &hex]).stdout
        })
        .collect();
    assert!(shown.contains("your key is ***") && shown.contains("bad ***"), "{shown}");
    let parts = ["canary-7", "7f3c9a1e", "5b2d8046"];
    for (name, bytes) in env.tree("").files() {
        let bytes = if name.ends_with(".zst") { zstd::decode_all(bytes).unwrap() } else { bytes.to_vec() };
        let text = String::from_utf8_lossy(&bytes);
        assert!(parts.iter().all(|part| !text.contains(part)), "{name} holds the key");
        assert!(!text.contains("session=private"), "{name} holds a cookie");
    }
    assert!(parts.iter().all(|part| !shown.contains(part)));
}

#[test]
fn failures_that_pass_are_replayed_but_asked_again_in_auto() {
    let env = env();
    questions(&env, 20);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "limits: {max_retries: 0}");
    let faults: Faults = "500=40".parse().unwrap();
    let server = provider(Config { faults, ..Config::default() });
    let record = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    assert_eq!(call_live(&env, &server, &record).run().code, 1);
    assert_eq!(replay(&env, "again").code, 1);
    assert_same(&env, "run", "again");
    let failed = outcomes(&lines(&env, "run/records.jsonl"))["error/server"] as u64;
    let asked = server.stats().requests;
    let auto = ["run", "suite.yaml", "--run-dir", "auto", "--cassette", "tape", "--cassette-mode", "auto"];
    assert_eq!(call_live(&env, &server, &auto).run().code, 0);
    assert_eq!(server.stats().requests - asked, failed);
    // Now everything is there, and nobody is needed: not even a key.
    let ran =
        env.run(&["run", "suite.yaml", "--run-dir", "auto-again", "--cassette", "tape", "--cassette-mode", "auto"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_same(&env, "auto", "auto-again");
    // Without a key a miss says what is missing.
    env.put("data.jsonl", "{\"id\":\"new\",\"input\":\"new\",\"target\":\"new\"}\n");
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "new", "--cassette", "tape", "--cassette-mode", "auto"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("OPENAI_API_KEY is not set"), "{}", ran.stderr);
}

#[test]
fn a_program_is_replayed_where_it_is_not_installed() {
    let env = env();
    questions(&env, 4);
    env.put(
        "bin/sayer",
        "#!/bin/sh\nprompt=$(cat)\n[ \"$prompt\" = \"item 2\" ] && { echo sorry >&2; exit 3; }\nprintf '%s from %s' \"$prompt\" \"$$\"\n",
    );
    std::fs::set_permissions(env.path("bin/sayer"), std::fs::Permissions::from_mode(0o755)).unwrap();
    suite(&env, "  - {id: p, model: \"command:sayer\", command: {run: [sayer]}}", "sampling: {n: 2}");
    let path = format!("{}:/usr/bin:/bin", env.path("bin").display());
    let run = ["run", "suite.yaml", "--run-dir", "run", "--cassette", "tape"];
    let ran = env.call(&run).env("PATH", path).run();
    assert_eq!(ran.code, 1, "{}\n{}", ran.stdout, ran.stderr);
    std::fs::remove_file(env.path("bin/sayer")).unwrap();
    let again = replay(&env, "again");
    assert_eq!(again.code, 1, "{}", again.stderr);
    assert_same(&env, "run", "again");
    assert_eq!(outcomes(&lines(&env, "again/records.jsonl"))["error/runner"], 2);
    assert!(lines(&env, "again/telemetry.jsonl").iter().all(|attempt| attempt["endpoint"] == "cassette"));
    let suite_text = env.text("suite.yaml").replace("run: [sayer]", "run: [sayer, --loud]");
    env.put("suite.yaml", suite_text);
    assert_eq!(replay(&env, "changed").code, 2);
}

#[test]
fn gc_removes_what_no_run_used_and_ls_counts_what_is_there() {
    let env = env();
    questions(&env, 10);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let server = provider(Config::default());
    let record = |dir: &str| {
        let ran = call_live(&env, &server, &["run", "suite.yaml", "--run-dir", dir, "--cassette", "tape"]).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    };
    record("first");
    suite(&env, "  - {id: m, model: \"openai:mock-2\"}\n  - {id: g, model: \"gemini:mock-1\"}", "");
    record("second");
    let ls: Value = serde_json::from_str(&env.run(&["cassette", "ls", "tape", "--format", "json"]).stdout).unwrap();
    let models: Vec<(&str, u64)> = ls["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["model"].as_str().unwrap(), model["entries"].as_u64().unwrap()))
        .collect();
    assert_eq!(models, [("gemini:mock-1", 10), ("openai:mock-1", 10), ("openai:mock-2", 10)]);
    assert!(env.run(&["cassette", "ls", "tape"]).stdout.contains("30 entries"));
    // What a kill leaves.
    env.put(&format!("tape/{}/.partial-x", &entries(&env)[0][..2]), "half");

    let before = env.tree("tape");
    let dry = env.run(&["cassette", "gc", "tape", "--keep-run", "second", "--dry-run"]);
    assert!(dry.stdout.starts_with("would remove 10 entries"), "{}", dry.stdout);
    assert_eq!(before.changes(&env.tree("tape")), Vec::<String>::new());
    for wrong in ["none", "tape"] {
        let ran = env.run(&["cassette", "gc", "tape", "--keep-run", "second", "--keep-run", wrong]);
        assert_eq!(ran.code, 2, "{wrong}: {}", ran.stdout);
    }
    assert_eq!(before.changes(&env.tree("tape")), Vec::<String>::new());
    let ran = env.run(&["cassette", "gc", "tape", "--keep-run", "second"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("removed 10 entries") && ran.stdout.contains("removed 1 unfinished"), "{}", ran.stdout);
    assert_eq!(replay(&env, "second-again").code, 0);
    assert_same(&env, "second", "second-again");
    // A replay names what it used as well.
    let ran = env.run(&["cassette", "gc", "tape", "--keep-run", "second-again"]);
    assert!(ran.stdout.starts_with("removed 0 entries"), "{}", ran.stdout);
}

#[test]
fn what_is_not_a_cassette_is_said_and_left_alone() {
    let env = env();
    questions(&env, 1);
    suite(&env, "  - {id: m, model: \"openai:mock-1\"}", "");
    let ran = replay(&env, "run");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no cassette at `tape`"), "{}", ran.stderr);
    env.put("notes/mine.txt", "x");
    let ran = env.run(&["run", "suite.yaml", "--run-dir", "run", "--cassette", "notes"]);
    assert!(ran.code == 2 && ran.stderr.contains("not a cassette"), "{}", ran.stderr);
    assert_eq!(env.tree("notes").files().len(), 1);
    for flags in [&["--cassette-mode", "auto"][..], &["--cassette", "a", "--replay", "b"]] {
        assert_eq!(env.run(&[&["run", "suite.yaml"][..], flags].concat()).code, 2);
    }
    let dry = env.run(&["run", "suite.yaml", "--dry-run", "--cassette", "tape"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(!env.path("tape").exists());
}
