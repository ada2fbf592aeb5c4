//! The witness of a made-up run.

use std::collections::BTreeMap;

use proofmark_canon::Digest;

use super::block::{Block, HubFile, Kind};
use super::build::{Facts, GitState, Invocation, ModelFacts, TypedPath, build, start};
use super::place::{Ground, Surroundings};
use super::redact::Redactor;
use crate::manifest::{AssetEntry, AssetRole, HashMode, Manifest};
use crate::report::fixture;
use crate::summary::{AnsweredBy, Summary};

pub(crate) fn ground() -> Ground {
    Ground::new(Surroundings {
        root: "/r/evals".into(),
        suite: "/r/evals/suite.yaml".into(),
        run_dir: "/r/evals/runs/a".into(),
        cwd: "/r".into(),
        home: Some("/home/ada".into()),
        repository: Some("/r".into()),
        outputs: None,
    })
}

pub(crate) fn invocation(argv: &[&str]) -> Invocation {
    Invocation {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        paths: vec![TypedPath {
            option: None,
            text: "evals/suite.yaml".to_owned(),
            real: "/r/evals/suite.yaml".into(),
        }],
        invoked_at: "2026-11-16T01:02:03.004Z".to_owned(),
        git: GitState { commit: Some("0123456789".repeat(4)), dirty: Some(false), top: Some("/r".into()) },
        version: "0.1.0".to_owned(),
    }
}

/// A manifest and a summary in which two tasks share a file, one has its rows from the hub, and a model answered
/// under another name.
pub(crate) fn run() -> (Manifest, Summary) {
    let (mut manifest, mut summary) = (fixture::manifest(), fixture::summary());
    manifest.datasets[1].path = manifest.datasets[0].path.clone();
    manifest.datasets[1].digest = manifest.datasets[0].digest;
    manifest.datasets[2].path = None;
    manifest.datasets[2].repo = Some("owner/set".to_owned());
    manifest.datasets[2].revision = Some("f".repeat(40));
    for (role, path, mode) in
        [(AssetRole::Brief, "briefs/b.yml", HashMode::Structured), (AssetRole::Prompt, "p.md", HashMode::Raw)]
    {
        manifest.assets.push(AssetEntry { digest: Digest::of(path.as_bytes()), mode, path: path.to_owned(), role });
    }
    let (model, name) = ("large".to_owned(), "tiny-2".to_owned());
    summary.answered_by = vec![AnsweredBy { model, name, samples: 3 }];
    (manifest, summary)
}

pub(crate) fn block_of(manifest: &Manifest, summary: &Summary, argv: &[&str]) -> Block {
    let (ground, redactor) = (ground(), Redactor::default());
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    build(Facts {
        kind: Kind::EvalLive,
        ground: &ground,
        redactor: &redactor,
        starts: &[start(&invocation(argv), &ground, &redactor)],
        was_resumed: false,
        platform: "linux-x86_64".to_owned(),
        toolchain: "proofmark 0.1.0".to_owned(),
        suite: Digest::of(b"suite"),
        manifest,
        summary,
        hub_attachments: Vec::new(),
        hub_files: vec![
            Vec::new(),
            Vec::new(),
            vec![HubFile { path: "data/x.parquet".to_owned(), sha256: Digest::of(b"x").hex() }],
        ],
        programs: Vec::new(),
        models: vec![
            ModelFacts { base_url: Some("https://u:p@h/v1?k=v".to_owned()), ..ModelFacts::default() },
            ModelFacts {
                program: Some("/home/ada/bin/agent".to_owned()),
                version: Some("agent 1.2".to_owned()),
                ..ModelFacts::default()
            },
        ],
        request_ids: BTreeMap::from([(manifest.models[0].id.clone(), ids(&["req_1", "req_2", "req_3"]))]),
        artifacts: BTreeMap::from([("records.jsonl".to_owned(), Digest::of(b"records"))]),
        cache_events: Vec::new(),
        not_submittable: Vec::new(),
    })
}

pub(crate) fn block() -> Block {
    let (manifest, summary) = run();
    block_of(&manifest, &summary, &["/usr/local/bin/proofmark", "run", "evals/suite.yaml"])
}
