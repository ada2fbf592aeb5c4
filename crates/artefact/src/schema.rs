//! The JSON Schemas we publish, by name.
//!
//! They are made from the types that read and write the files, so they cannot fall behind. What a
//! type cannot say (the form of a digest, a fixed version) is added from a table here.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// What a schema describes. The name is also the file name of the committed copy.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// What `proofmark schema NAME` takes.
    pub name: &'static str,
    /// The version of the described shape.
    pub version: u32,
    /// What the schema is about, in a few words.
    pub title: &'static str,
    root: fn() -> Schema,
}

/// Returns every schema we publish, in the order in which a person meets the files.
pub fn all() -> &'static [Published] {
    &PUBLISHED
}

/// Returns the names of the schemas, in the order of [`all`].
pub fn names() -> &'static [&'static str] {
    const NAMES: [&str; PUBLISHED.len()] = {
        let mut names = [""; PUBLISHED.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = PUBLISHED[at].name;
            at += 1;
        }
        names
    };
    &NAMES
}

/// Returns the schema with this name as text: sorted names, two spaces, a final line end.
pub fn text(name: &str) -> Option<String> {
    let published = PUBLISHED.iter().find(|published| published.name == name)?;
    let mut text = format!("{:#}", published.value());
    text.push('\n');
    Some(text)
}

impl Published {
    /// Returns the `$id`: a name, not an address anything is fetched from.
    pub fn id(&self) -> String {
        format!("https://proofmark.dev/schema/{}-{}.json", self.name, self.version)
    }

    /// Returns the schema as a value.
    pub fn value(&self) -> Value {
        let mut value = (self.root)().to_value();
        complete(&mut value);
        if let Some(root) = value.as_object_mut() {
            root.insert("$id".to_owned(), json!(self.id()));
            root.insert("title".to_owned(), json!(self.title));
            pin_version(root, self.version);
        }
        value
    }
}

/// One line a schema.
const PUBLISHED: [Published; 18] = [
    Published { name: "suite", version: 1, title: "Proofmark suite", root: of_input::<crate::suite::config::Suite> },
    Published {
        name: "record",
        version: crate::record::RECORD_SCHEMA,
        title: "One line of Proofmark's records.jsonl",
        root: of_output::<crate::record::Record>,
    },
    Published {
        name: "trajectory",
        version: 1,
        title: "One line of Proofmark's trajectories.jsonl",
        root: of_output::<crate::trajectory::Trajectory>,
    },
    Published {
        name: "manifest",
        version: crate::manifest::MANIFEST_SCHEMA,
        title: "Proofmark's manifest.json",
        root: of_output::<crate::manifest::Manifest>,
    },
    Published {
        name: "summary",
        version: crate::summary::SUMMARY_SCHEMA,
        title: "Proofmark's summary.json",
        root: of_output::<crate::summary::Summary>,
    },
    Published {
        name: "telemetry",
        version: 1,
        title: "One line of Proofmark's telemetry.jsonl",
        root: of_output::<crate::telemetry::Attempt>,
    },
    Published {
        name: "replay",
        version: crate::witness::REPLAY_SCHEMA,
        title: "Proofmark's report.replay.json",
        root: of_output::<crate::witness::Block>,
    },
    Published {
        name: "calibration",
        version: crate::calibration::CALIBRATION_SCHEMA,
        title: "Proofmark's calibration.json",
        root: of_output::<crate::calibration::Calibration>,
    },
    Published {
        name: "trust",
        version: crate::trust_file::TRUST_VERSION,
        title: "Proofmark's trust.json",
        root: of_input::<crate::trust_file::TrustFile>,
    },
    Published {
        name: "diff",
        version: crate::diff::format::DIFF_SCHEMA,
        title: "What `proofmark diff --format json` prints",
        root: of_output::<crate::diff::format::Document<'static>>,
    },
    Published {
        name: "score",
        version: crate::scored::SCORE_SCHEMA,
        title: "What `proofmark score --format json` prints",
        root: of_output::<crate::scored::Document<'static>>,
    },
    Published {
        name: "verify-replay",
        version: crate::replay::format::VERSION,
        title: "What `proofmark verify-replay --format json` prints",
        root: of_output::<crate::replay::format::Document<'static>>,
    },
    Published {
        name: "verify",
        version: crate::verify::format::VERIFY_SCHEMA,
        title: "What `proofmark verify --format json` prints",
        root: of_output::<crate::verify::format::Document<'static>>,
    },
    Published {
        name: "audit-report",
        version: crate::audit::AUDIT_VERSION,
        title: "Proofmark's audit-report.json, and what `proofmark audit --format json` prints",
        root: of_output::<crate::audit::Report>,
    },
    Published {
        name: "package",
        version: crate::package::PACKAGE_VERSION,
        title: "package.json of a sealed package",
        root: of_output::<crate::package::Contents>,
    },
    Published {
        name: "package-metadata",
        version: crate::package::METADATA_VERSION,
        title: "metadata.json of a sealed package",
        root: of_output::<crate::package::Metadata>,
    },
    Published {
        name: "eval-run",
        version: crate::package::predicate::PREDICATE_VERSION,
        title: "What the signer of a package says: the predicate of its in-toto statement",
        root: of_output::<crate::package::Predicate>,
    },
    Published {
        name: "verify-package",
        version: crate::package::verdict::VERDICT_VERSION,
        title: "What `proofmark verify PACKAGE --format json` prints",
        root: of_output::<crate::package::Verdict>,
    },
];

/// The schema of what a person writes: what has a default may be left out.
fn of_input<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// The schema of what we write: every field is there, null where there is nothing to say.
fn of_output<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The forms that texts with these field names have everywhere.
const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
const SPINE: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$";
const UTC: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$";
/// 64 digits in repositories that hash with SHA-256.
const COMMIT: &str = "^[0-9a-f]{40}([0-9a-f]{24})?$";
const FORMS: [(&str, &str); 13] = [
    ("content_sha256", DIGEST),
    ("created_at", SPINE),
    ("dataset_hash", DIGEST),
    ("digest", DIGEST),
    ("fingerprint", DIGEST),
    ("hash", DIGEST),
    ("invoked_at", UTC),
    ("output_fingerprint", DIGEST),
    ("output_sha256", DIGEST),
    ("repo_commit", COMMIT),
    ("run_id", "^[0-9a-f]{32}$"),
    ("sha256", "^[0-9a-f]{64}$"),
    ("started_at", SPINE),
];

/// Adds what the types cannot say and removes what says nothing.
fn complete(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(complete),
        Value::Object(members) => {
            // `default: null` only repeats that the field may be left out.
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            if let Some(Value::Object(definitions)) = members.get_mut("$defs") {
                definitions.remove("Never");
            }
            close_never(members);
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                refine(properties);
            }
            members.values_mut().for_each(complete);
        }
        _ => {}
    }
}

/// A field that can only be null says so without the detour over a type without values.
fn close_never(members: &mut Map<String, Value>) {
    let never = json!([{"$ref": "#/$defs/Never"}, {"type": "null"}]);
    if members.get("anyOf") == Some(&never) {
        members.remove("anyOf");
        members.insert("type".to_owned(), json!("null"));
    }
}

fn refine(properties: &mut Map<String, Value>) {
    for (name, pattern) in FORMS {
        if let Some(Value::Object(field)) = properties.get_mut(name) {
            // A type that knows better has said so itself.
            field.entry("pattern").or_insert_with(|| json!(pattern));
        }
    }
    if let Some(Value::Object(artifacts)) = properties.get_mut("artifacts") {
        artifacts.insert("additionalProperties".to_owned(), json!({"type": "string", "pattern": DIGEST}));
    }
    // The verdict of a scorer, recognised by its neighbour.
    if properties.contains_key("explanation")
        && let Some(Value::Object(value)) = properties.get_mut("value")
    {
        value.insert("minimum".to_owned(), json!(0));
        value.insert("maximum".to_owned(), json!(1));
    }
}

/// The file says which shape it has, and this schema describes that one alone.
fn pin_version(root: &mut Map<String, Value>, version: u32) {
    if let Some(Value::Object(field)) = root.get_mut("properties").and_then(|fields| fields.get_mut("schema_version")) {
        field.clear();
        field.insert("const".to_owned(), json!(version));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(name: &str, instance: &Value) -> bool {
        let schema: Value = serde_json::from_str(&text(name).unwrap()).unwrap();
        jsonschema::draft202012::new(&schema).unwrap().is_valid(instance)
    }

    /// Sets the member at a JSON pointer; a null pointer target is created in its parent.
    fn with(instance: &Value, pointer: &str, new: Value) -> Value {
        let mut changed = instance.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match changed.pointer_mut(parent).unwrap() {
            Value::Object(members) => drop(members.insert(name.to_owned(), new)),
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = new,
            _ => panic!("{pointer}"),
        }
        changed
    }

    fn without(instance: &Value, pointer: &str) -> Value {
        let mut changed = instance.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
        changed
    }

    fn digest() -> Value {
        json!(proofmark_canon::Digest::of(b"x").to_string())
    }

    fn record() -> Value {
        json!({
            "condition": "raw", "error": null, "expected": {"any": [1]}, "finish_reason": "stop",
            "input": {"fingerprint": digest(), "messages": [{"content": "hi", "role": "user"}]},
            "item_id": "1", "key": "t/1/m/raw/0", "latency_ms": null, "model": "m", "ordinal": 0,
            "output": {"text": "x"}, "output_fingerprint": digest(), "provider": "offline",
            "run_id": "00112233445566778899aabbccddeeff", "sample": 0, "schema_version": 1,
            "scores": [{"explanation": "", "passed": true, "scorer": "exact", "value": 1}],
            "seed": 7, "started_at": "2001-02-03T04:05:06.007Z", "status": "success", "task": "t",
            "tool_calls": 0, "turns": 1, "usage": {"input_tokens": 1, "output_tokens": 2},
        })
    }

    fn suite() -> Value {
        json!({
            "name": "s",
            "models": [{"id": "m", "model": "offline:echo"}],
            "conditions": {"raw": {}, "none": null},
            "tasks": [{"id": "t", "dataset": {"format": "jsonl", "path": "a.jsonl"},
                "scorers": [{"type": "exact", "ignore_case": true}, {"type": "regex", "pattern": "a", "group": 1}]}],
        })
    }

    #[test]
    fn every_schema_is_valid_and_says_what_it_is() {
        for published in all() {
            let schema = published.value();
            assert!(jsonschema::meta::is_valid(&schema), "{}", published.name);
            assert!(jsonschema::draft202012::meta::is_valid(&schema), "{}", published.name);
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert_eq!(schema["$id"], json!(published.id()));
            for field in ["title", "description"] {
                assert!(schema[field].as_str().is_some_and(|text| !text.is_empty()), "{}: {field}", published.name);
            }
        }
    }

    #[test]
    fn the_text_is_the_same_every_time_and_has_no_loose_ends() {
        let files =
            ["suite", "record", "trajectory", "manifest", "summary", "telemetry", "replay", "calibration", "trust"];
        let printed = ["diff", "score", "verify-replay", "verify", "audit-report"];
        let packages = ["package", "package-metadata", "eval-run", "verify-package"];
        assert_eq!(names(), [&files[..], &printed[..], &packages[..]].concat());
        for name in names() {
            let first = text(name).unwrap();
            assert_eq!(Some(&first), text(name).as_ref());
            assert!(
                first.ends_with("}\n") && !first.contains("/Never\"") && !first.contains("\"default\": null"),
                "{name}"
            );
            for line in first.lines().filter_map(|line| line.split_once("\"$ref\": \"#/$defs/")) {
                let target = format!("\"{}\": {{", line.1.trim_end_matches(['"', ',']));
                assert!(first.contains(&target), "{name}: {target}");
            }
        }
        assert_eq!(text("nonsense"), None);
    }

    #[test]
    fn a_record_is_accepted_and_every_departure_is_refused() {
        let good = record();
        assert!(accepts("record", &good));
        assert!(accepts("record", &with(&good, "/output", Value::Null)));
        assert!(accepts("record", &with(&good, "/error", json!({"class": "server", "message": "x"}))));
        for (pointer, bad) in [
            ("/extra", json!(1)),
            ("/latency_ms", json!(3)),
            ("/status", json!("fine")),
            ("/schema_version", json!(2)),
            ("/run_id", json!("xyz")),
            ("/output_fingerprint", json!("sha256:00")),
            ("/started_at", json!("yesterday")),
            ("/ordinal", json!(-1)),
            ("/input/messages/0", json!({"content": "x", "role": "wizard"})),
            ("/scores/0", json!({"explanation": "", "passed": true, "scorer": "e", "value": 1.5})),
            ("/usage", json!({"input_tokens": 1})),
        ] {
            assert!(!accepts("record", &with(&good, pointer, bad)), "{pointer}");
        }
        for name in good.as_object().unwrap().keys() {
            assert!(!accepts("record", &without(&good, &format!("/{name}"))), "without {name}");
        }
    }

    #[test]
    fn a_scorer_is_told_by_its_type_and_takes_only_its_own_fields() {
        let good = suite();
        assert!(accepts("suite", &good));
        for (scorer, fine) in [
            (json!({"type": "choice"}), true),
            (json!({"type": "json_schema", "schema": {"type": "object"}}), true),
            (json!({"type": "command", "command": ["x"]}), true),
            (json!({"type": "command", "command": []}), false),
            (json!({"type": "regex"}), false),
            (json!({"type": "choice", "pattern": "a"}), false),
            (json!({"type": "sorcery"}), false),
            (json!({"exact": {}}), false),
            (json!({"type": "numeric", "tolerance": "0.1"}), false),
        ] {
            assert_eq!(accepts("suite", &with(&good, "/tasks/0/scorers/0", scorer.clone())), fine, "{scorer}");
        }
    }

    #[test]
    fn a_suite_may_leave_out_what_has_a_default_and_nothing_else() {
        let good = suite();
        assert!(accepts("suite", &without(&good, "/conditions")));
        assert!(accepts("suite", &with(&good, "/conditions", json!([{"id": "raw", "system": {"file": "a.md"}}]))));
        for pointer in ["/name", "/models", "/tasks", "/tasks/0/scorers", "/tasks/0/dataset"] {
            assert!(!accepts("suite", &without(&good, pointer)), "{pointer}");
        }
        for (pointer, bad) in [
            ("/sed", json!(7)),
            ("/models", json!([])),
            ("/tasks", json!([])),
            ("/tasks/0/scorers", json!([])),
            ("/tasks/0/dataset/dataset_hash", json!("md5:00")),
            ("/sampling", json!({"n": 0})),
            ("/determinism", json!({"strict_serialization": "true"})),
        ] {
            assert!(!accepts("suite", &with(&good, pointer, bad)), "{pointer}");
        }
    }

    #[test]
    fn a_trajectory_has_the_steps_of_the_design() {
        let good = json!({
            "final_answer": null, "key": "t/1/m/raw/0", "model": "m", "run_id": "00112233445566778899aabbccddeeff",
            "steps": [
                {"type": "prompt", "bytes": 1, "content_sha256": digest(), "head": "x", "role": "user"},
                {"type": "tool_call", "args": {"q": 1}, "args_truncated": false, "name": "search"},
                {"type": "tool_result", "bytes": 1, "head": "x", "is_error": false, "name": "search",
                    "output_sha256": digest(), "source": null},
                {"type": "model_output", "bytes": 1, "content_sha256": digest(), "head": "x"},
            ],
            "task_id": "t", "turns": 1, "usage": {"input_tokens": 0, "output_tokens": 0},
        });
        assert!(accepts("trajectory", &good));
        for (pointer, bad) in
            [("/steps/0/role", json!(null)), ("/steps/1/extra", json!(1)), ("/steps/3/type", json!("x"))]
        {
            assert!(!accepts("trajectory", &with(&good, pointer, bad)), "{pointer}");
        }
        assert!(!accepts("trajectory", &without(&good, "/final_answer")));
    }

    #[test]
    fn a_replay_block_is_accepted_and_every_departure_is_refused() {
        let block = crate::witness::testing::block();
        let good: Value = serde_json::from_slice(&proofmark_canon::to_vec(&block).unwrap()).unwrap();
        assert!(accepts("replay", &good));
        // A field may be added, and these may be there or not.
        assert!(accepts("replay", &with(&good, "/of_tomorrow", json!(1))));
        assert!(accepts("replay", &with(&good, "/backfilled", json!(true))));
        for optional in ["/run_id", "/not_submittable"] {
            assert!(accepts("replay", &without(&good, optional)), "{optional}");
        }
        for name in ["/repo_commit", "/git_dirty", "/root", "/root_in_repo", "/suite/path", "/sampling/temperature"] {
            assert!(accepts("replay", &with(&good, name, Value::Null)), "{name}");
        }
        for (pointer, bad) in [
            ("/schema_version", json!(2)),
            ("/kind", json!("eval")),
            ("/repo_commit", json!("0123abc")),
            ("/repo_commit", json!("G123456789012345678901234567890123456789")),
            ("/git_dirty", json!("no")),
            ("/invoked_at", json!("2026-11-16T01:02:03+01:00")),
            ("/argv", json!("proofmark run")),
            ("/suite/hash", json!("sha256:00")),
            ("/suite/path", json!("/etc/passwd")),
            ("/suite/path", json!("a/../../b")),
            ("/inputs/0/path", json!("../b")),
            ("/inputs/0/path", json!("..")),
            ("/inputs/0/mode", json!("md5")),
            ("/inputs/0/role", json!("spell")),
            ("/inputs/0/hash", json!(null)),
            ("/models/0/provider_request_ids", json!("3 captured")),
            ("/models/0/id", json!(3)),
            ("/conditions/effective", json!(null)),
            ("/sampling/n", json!(-1)),
            ("/submittable", json!("yes")),
            ("/artifacts/x", json!("sha256:zz")),
            ("/judge_cache_integrity_events", json!(null)),
        ] {
            assert!(!accepts("replay", &with(&good, pointer, bad.clone())), "{pointer} {bad}");
        }
        let optional = ["run_id", "not_submittable"];
        for name in good.as_object().unwrap().keys().filter(|name| !optional.contains(&name.as_str())) {
            assert!(!accepts("replay", &without(&good, &format!("/{name}"))), "without {name}");
        }
    }

    #[test]
    fn what_the_types_write_their_schemas_accept() {
        let summary = json!({
            "cells": [], "comparisons": [], "models": [], "name": "s", "run_id": "00112233445566778899aabbccddeeff",
            "schema_version": 1, "tasks": [],
            "totals": {"cost_usd": null, "counts": {"attempted": 0, "errored": 0, "passed": 0, "scored": 0},
                "items": 0, "usage": {"input_tokens": 0, "output_tokens": 0}},
        });
        let typed: crate::summary::Summary = serde_json::from_value(summary.clone()).unwrap();
        assert!(accepts("summary", &serde_json::to_value(&typed).unwrap()));
        assert!(!accepts("summary", &without(&summary, "/totals/cost_usd")));
        let typed: crate::record::Record = serde_json::from_value(record()).unwrap();
        assert!(accepts("record", &serde_json::to_value(&typed).unwrap()));
    }
}
