//! A block out of the facts of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proofmark_canon::{Digest, Value};

use super::block::{
    Block, Conditions, HubFile, Input, Kind, ModelEntry, REPLAY_SCHEMA, Role, Sampling, Start, SuiteEntry,
};
use super::place::Ground;
use super::redact::Redactor;
use crate::manifest::{AssetEntry, AssetRole, DatasetEntry, HashMode, Manifest};
use crate::suite::solver::SandboxKind;
use crate::summary::Summary;

/// Everything that a block says, from those who know it.
#[derive(Debug)]
pub struct Facts<'a> {
    pub kind: Kind,
    pub ground: &'a Ground,
    pub redactor: &'a Redactor,
    /// Every start of the run, the first one first.
    pub starts: &'a [Start],
    /// Whether answers of an earlier start were used, also when nothing is known of that start.
    pub was_resumed: bool,
    pub platform: String,
    pub toolchain: String,
    /// The structured digest of the suite.
    pub suite: Digest,
    pub manifest: &'a Manifest,
    pub summary: &'a Summary,
    /// By dataset of the manifest: the files of a hub dataset, empty for any other.
    pub hub_files: Vec<Vec<HubFile>>,
    /// Attachments that came from the hub.
    pub hub_attachments: Vec<HubAttachments>,
    /// Programs and scripts that the suite starts and the manifest does not list: what they are for, their path from
    /// the suite's root, and the digest of their bytes.
    pub programs: Vec<(Role, String, Digest)>,
    /// By model of the manifest.
    pub models: Vec<ModelFacts>,
    /// By model; empty when they are put in while the block is written.
    pub request_ids: BTreeMap<String, Vec<String>>,
    pub artifacts: BTreeMap<String, Digest>,
    /// What a judge cache could not vouch for.
    pub cache_events: Vec<Value>,
    /// Why the run cannot be submitted, besides what the manifest says.
    pub not_submittable: Vec<String>,
}

/// Attachments of one dataset of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubAttachments {
    pub repo: String,
    /// The commit.
    pub revision: Option<String>,
    pub files: Vec<HubFile>,
}

/// What only this machine knows of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelFacts {
    pub base_url: Option<String>,
    pub program: Option<String>,
    pub version: Option<String>,
}

/// A command that was given, as the operating system has it.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    pub argv: Vec<String>,
    /// The arguments that are paths.
    pub paths: Vec<TypedPath>,
    /// RFC 3339, UTC.
    pub invoked_at: String,
    pub git: GitState,
    pub version: String,
}

/// A path that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedPath {
    /// The option it belongs to, such as `--run-dir`; `None` for one that stands alone.
    pub option: Option<&'static str>,
    pub text: String,
    /// Where it really leads: absolute, without links.
    pub real: PathBuf,
}

/// A repository as it was before the run started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitState {
    pub commit: Option<String>,
    /// `None` when there is no commit, or git could not say.
    pub dirty: Option<bool>,
    /// The top of the work tree.
    pub top: Option<PathBuf>,
}

/// What is kept of a start: no secrets, no paths outside the root.
pub fn start(invocation: &Invocation, ground: &Ground, redactor: &Redactor) -> Start {
    let redacted = redactor.argv(&invocation.argv);
    let real = real_paths(invocation);
    let mut argv = Vec::with_capacity(redacted.len());
    for (at, word) in redacted.into_iter().enumerate() {
        // Where a word was redacted, what was typed must not come back by its path.
        let real = real[at].filter(|_| word == invocation.argv[at]);
        argv.push(match (at, real, word.split_once('=')) {
            // Where the program is installed is nobody's business; its version is known.
            (0, ..) => Path::new(&word).file_name().map_or_else(|| word.clone(), |n| n.to_string_lossy().into_owned()),
            (_, Some(path), Some((option, _))) if path.option == Some(option) => {
                format!("{option}={}", ground.argument(&path.text, Some(&path.real)))
            }
            (_, Some(path), _) => ground.argument(&path.text, Some(&path.real)),
            (_, None, _) => ground.argument(&word, None),
        });
    }
    Start {
        argv,
        git_dirty: invocation.git.commit.as_ref().and(invocation.git.dirty),
        invoked_at: invocation.invoked_at.clone(),
        proofmark_version: invocation.version.clone(),
        repo_commit: invocation.git.commit.clone(),
    }
}

/// By word of the command line: the path that it is, where it is known to be one.
fn real_paths(invocation: &Invocation) -> Vec<Option<&TypedPath>> {
    let argv = &invocation.argv;
    let mut real: Vec<Option<&TypedPath>> = vec![None; argv.len()];
    for path in &invocation.paths {
        let found = match path.option {
            Some(option) => (1..argv.len()).find(|at| {
                let (before, word) = (&argv[at - 1], &argv[*at]);
                (before == option && *word == path.text) || *word == format!("{option}={}", path.text)
            }),
            // Behind the program and the command.
            None => (2..argv.len()).find(|at| argv[*at] == path.text && !is_value_of_option(argv, *at)),
        };
        if let Some(at) = found {
            real[at] = Some(path);
        }
    }
    real
}

/// Whether a word belongs to an option that names a path.
fn is_value_of_option(argv: &[String], at: usize) -> bool {
    matches!(argv[at - 1].as_str(), "--run-dir" | "--root" | "--suite")
}

/// Builds the witness of a run. The same facts give the same block.
pub fn build(facts: Facts<'_>) -> Block {
    let Facts { ground, manifest, .. } = facts;
    let suite = SuiteEntry { hash: facts.suite, mode: HashMode::Structured, path: ground.suite_path() };
    let unknown = Start {
        argv: Vec::new(),
        git_dirty: None,
        invoked_at: String::new(),
        proofmark_version: manifest.harness.version.clone(),
        repo_commit: None,
    };
    let first = facts.starts.first().unwrap_or(&unknown).clone();
    let mut not_submittable = facts.not_submittable;
    if facts.kind == Kind::Critique {
        not_submittable.push("no model was asked: answers that were there already were scored".to_owned());
    }
    if !manifest.evidence.recorded {
        not_submittable.push("evidence was not recorded: there are no trajectories".to_owned());
    }
    for task in &manifest.tasks {
        let tools = task.agent.iter().flat_map(|agent| &agent.tools);
        if tools.into_iter().any(|tool| tool.sandbox == Some(SandboxKind::None)) {
            // Nothing kept them from the gold answers.
            not_submittable.push(format!("programs of agents ran without a sandbox at task `{}`", task.id));
        }
    }
    Block {
        argv: first.argv,
        artifacts: facts.artifacts,
        backfilled: false,
        conditions: Conditions {
            effective: manifest.conditions.effective.clone(),
            requested: manifest.conditions.requested.clone(),
        },
        git_dirty: first.git_dirty,
        inputs: inputs(
            facts.kind,
            &suite,
            &|path| ground.path_of(path),
            ground.outputs_path(),
            (&manifest.datasets, &manifest.assets),
            (&facts.hub_files, &facts.hub_attachments),
            &facts.programs,
        ),
        invocations: if facts.starts.len() > 1 { facts.starts.to_vec() } else { Vec::new() },
        invoked_at: first.invoked_at,
        judge_cache_integrity_events: facts.cache_events,
        kind: facts.kind,
        models: models(manifest, facts.summary, &facts.models, facts.request_ids, ground, facts.redactor),
        submittable: not_submittable.is_empty(),
        not_submittable,
        platform: facts.platform,
        proofmark_version: first.proofmark_version,
        repo_commit: first.repo_commit,
        resumed: facts.was_resumed || facts.starts.len() > 1,
        root: ground.root_from_run_dir(),
        root_in_repo: ground.root_in_repo(),
        run_id: Some(manifest.run_id),
        sampling: Sampling {
            n: manifest.sampling.n,
            seed: Some(manifest.sampling.seed),
            temperature: manifest.sampling.temperature,
        },
        schema_version: REPLAY_SCHEMA,
        suite,
        toolchain: facts.toolchain,
    }
}

/// Every input once: the suite, the datasets in the suite's order, what the manifest lists, then programs. `path_of` turns
/// a path of the suite to one from the root, `outputs` is where the scored answers are.
pub(crate) fn inputs(
    kind: Kind,
    suite: &SuiteEntry,
    path_of: &dyn Fn(&str) -> String,
    outputs: Option<String>,
    (datasets, assets): (&[DatasetEntry], &[AssetEntry]),
    (hub_files, hub_attachments): (&[Vec<HubFile>], &[HubAttachments]),
    programs: &[(Role, String, Digest)],
) -> Vec<Input> {
    let file = |role, path: Option<String>, hash, mode| Input {
        files: Vec::new(),
        hash,
        mode,
        path,
        repo: None,
        revision: None,
        role,
    };
    let mut all = vec![file(Role::Suite, suite.path.clone(), suite.hash, suite.mode)];
    let mut add = |input: Input| {
        if !all.contains(&input) {
            all.push(input);
        }
    };
    for (at, dataset) in datasets.iter().enumerate() {
        match (&dataset.path, &dataset.repo) {
            (Some(path), _) => add(file(Role::Dataset, Some(path_of(path)), dataset.digest, HashMode::Raw)),
            (None, Some(repo)) => add(Input {
                files: hub_files.get(at).cloned().unwrap_or_default(),
                hash: dataset.digest,
                mode: HashMode::Structured,
                path: Some(format!("{repo}@{}", dataset.revision.as_deref().unwrap_or("main"))),
                repo: Some(repo.clone()),
                revision: dataset.revision.clone(),
                role: Role::Dataset,
            }),
            // Rows inside the suite are pinned with it.
            (None, None) => {}
        }
    }
    // The manifest's list has each of them once; it can be long. What answers were asked for with is not what a critique
    // is about: its block has no brief. What came from the hub is not under the root and comes after this.
    let of_hub = attached_from_hub(hub_attachments);
    let is_of_hub = |asset: &AssetEntry| {
        asset.role == AssetRole::Attachment && of_hub.contains(&(asset.path.as_str(), asset.digest.hex()))
    };
    let assets = assets.iter().filter(|asset| kind != Kind::Critique || asset.role != AssetRole::Brief);
    all.extend(assets.filter(|asset| !is_of_hub(asset)).map(|asset: &AssetEntry| {
        let path = match asset.role {
            AssetRole::Outputs => outputs.clone(),
            _ => Some(path_of(&asset.path)),
        };
        file(role_of(asset.role), path, asset.digest, asset.mode)
    }));
    for HubAttachments { repo, revision, files } in hub_attachments {
        // A list of names and digests always has a canonical form.
        let hash = Digest::of(&proofmark_canon::to_vec(files).unwrap_or_default());
        let path = format!("{repo}@{}", revision.as_deref().unwrap_or("main"));
        let (repo, revision, files) = (Some(repo.clone()), revision.clone(), files.clone());
        all.push(Input { repo, revision, files, ..file(Role::Attachment, Some(path), hash, HashMode::Structured) });
    }
    for (role, path, digest) in programs {
        let input = file(*role, Some(path_of(path)), *digest, HashMode::Raw);
        if !all.contains(&input) {
            all.push(input);
        }
    }
    all
}

/// Names and digests of all attachments that came from the hub.
pub(crate) fn attached_from_hub(all: &[HubAttachments]) -> BTreeSet<(&str, String)> {
    all.iter().flat_map(|hub| &hub.files).map(|file| (file.path.as_str(), file.sha256.clone())).collect()
}

fn role_of(role: AssetRole) -> Role {
    match role {
        AssetRole::Attachment => Role::Attachment,
        AssetRole::Brief => Role::Brief,
        AssetRole::Calibration => Role::Calibration,
        AssetRole::Model => Role::Model,
        AssetRole::Outputs => Role::Outputs,
        AssetRole::Prompt => Role::Prompt,
        AssetRole::Rubric => Role::Rubric,
        AssetRole::Scorer => Role::Scorer,
        AssetRole::System => Role::System,
        AssetRole::Token => Role::Token,
        AssetRole::Tool => Role::Tool,
    }
}

fn models(
    manifest: &Manifest,
    summary: &Summary,
    facts: &[ModelFacts],
    mut ids: BTreeMap<String, Vec<String>>,
    ground: &Ground,
    redactor: &Redactor,
) -> Vec<ModelEntry> {
    let none = ModelFacts::default();
    let entry = |(at, model): (usize, &crate::manifest::ModelEntry)| {
        let facts = facts.get(at).unwrap_or(&none);
        let names = summary.answered_by.iter().filter(|row| row.model == model.id);
        ModelEntry {
            answered_by: names.map(|row| row.name.clone()).collect(),
            asked: model.asked.clone(),
            base_url: facts.base_url.as_deref().map(|url| redactor.text(url)),
            id: model.id.clone(),
            model: model.model.clone(),
            program: facts.program.as_deref().map(|program| ground.from_root(Path::new(program))),
            provider: model.provider.clone(),
            provider_request_ids: ids.remove(&model.id).unwrap_or_default(),
            version: facts.version.as_deref().map(|version| redactor.text(version)),
        }
    };
    manifest.models.iter().chain(&manifest.judges).enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proofmark_canon::Map;

    use super::super::testing::{block, block_of, ground, invocation, run};
    use super::*;
    use crate::manifest::{AgentEntry, ToolEntry};
    use crate::suite::solver::Protocol;

    #[test]
    fn a_command_line_is_kept_without_secrets_and_without_other_peoples_folders() {
        let mut given = invocation(&[
            "/home/ada/.cargo/bin/proofmark",
            "run",
            "evals/suite.yaml",
            "--run-dir=runs/a",
            "--root",
            "/home/ada/elsewhere",
            "--api-key",
            "abc",
            "--x=canary-1",
            "https://me:pw@host/?q=1",
        ]);
        let (option, text) = (Some("--run-dir"), "runs/a".to_owned());
        given.paths.push(TypedPath { option, text, real: "/r/runs/a".into() });
        let redactor = Redactor::new(["canary-1".to_owned()]);
        let start = start(&given, &ground(), &redactor);
        let want = [
            "proofmark",
            "run",
            "suite.yaml",
            "--run-dir=../runs/a",
            "--root",
            "…/elsewhere",
            "--api-key",
            "***",
            "--x=***",
            "https://***@host/?q=***",
        ];
        assert_eq!(start.argv, want);
        given.git.commit = None;
        assert_eq!(super::start(&given, &ground(), &redactor).git_dirty, None, "dirty says nothing without a commit");
    }

    #[test]
    fn a_path_is_told_from_a_word_that_is_spelt_the_same() {
        let mut given = invocation(&["proofmark", "run", "run", "--run-dir", "run", "--only", "task=run"]);
        let path = |option, real: &str| TypedPath { option, text: "run".to_owned(), real: real.into() };
        given.paths = vec![path(None, "/r/evals/s/run"), path(Some("--run-dir"), "/r/run")];
        let start = start(&given, &ground(), &Redactor::default());
        assert_eq!(start.argv, ["proofmark", "run", "s/run", "--run-dir", "../run", "--only", "task=run"]);
    }

    #[test]
    fn reasons_against_submission_are_said() {
        let without = block();
        assert!(!without.submittable);
        assert_eq!(without.not_submittable, ["evidence was not recorded: there are no trajectories"]);
        let (mut manifest, summary) = run();
        manifest.evidence.recorded = true;
        let with = block_of(&manifest, &summary, &["proofmark"]);
        assert!(with.submittable && with.not_submittable.is_empty());
        let tool = ToolEntry {
            description: String::new(),
            name: "bash".to_owned(),
            parameters: Map::new(),
            sandbox: Some(SandboxKind::None),
            server: None,
        };
        manifest.tasks[0].agent = Some(AgentEntry { protocol: Protocol::Native, tools: vec![tool] });
        let unconfined = block_of(&manifest, &summary, &["proofmark"]);
        assert!(!unconfined.submittable && unconfined.not_submittable[0].contains("without a sandbox"));
    }

    #[test]
    fn unknown_fields_are_ignored_on_reading_at_every_level() {
        let block = block();
        let mut value = serde_json::to_value(&block).unwrap();
        fn add(value: &mut serde_json::Value) {
            match value {
                serde_json::Value::Array(items) => items.iter_mut().for_each(add),
                serde_json::Value::Object(members) => {
                    members.values_mut().for_each(add);
                    // Every value of this map is a digest.
                    if !members.contains_key("records.jsonl") {
                        members.insert("of tomorrow".to_owned(), serde_json::json!([1]));
                    }
                }
                _ => {}
            }
        }
        add(&mut value);
        assert_eq!(serde_json::from_value::<Block>(value).unwrap(), block);
    }
}
