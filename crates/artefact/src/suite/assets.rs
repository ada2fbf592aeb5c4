//! The files a plan names besides its datasets: prompts, briefs, tokens, schemas, scripts.

use std::collections::BTreeMap;
use std::path::Path;

use proofmark_canon::{Digest, Value};

use super::plan::{ConditionPlan, Plan, ScorerPlan, TaskPlan};
use super::solver::{AgentToolPlan, SolverPlan};
use super::text::{PromptSource, TextSource};
use crate::manifest::AssetEntry;
pub use crate::manifest::{AssetRole, HashMode};
use crate::path::RelPath;
use crate::store::{OpenError, read_bounded};
use crate::yaml;

/// The largest asset we read.
const MAX_ASSET: u64 = 16 << 20;

/// One file as it was read.
#[derive(Debug, Clone)]
pub struct Asset {
    pub bytes: Vec<u8>,
    /// The parsed value of a structured file.
    pub value: Option<Value>,
    pub digest: Digest,
    pub mode: HashMode,
}

/// Every file a plan names, read once.
#[derive(Debug, Default)]
pub struct Assets(BTreeMap<(AssetRole, RelPath), Asset>);

/// A file that a plan names cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    #[error("the suite names `{path}`, which cannot be read")]
    Open { path: RelPath, source: OpenError },
    #[error("`{path}` leads out of the suite's folder")]
    Outside { path: RelPath },
    #[error("{rendered}")]
    Malformed { path: RelPath, rendered: String },
    #[error("`{path}` is not UTF-8 text")]
    NotText { path: RelPath },
    #[error("the suite names `{path}`, which is not a regular file")]
    NotAFile { path: RelPath },
}

impl Assets {
    /// Reads every file that the plan names from under the root.
    pub fn load(plan: &Plan, root: &Path) -> Result<Self, AssetError> {
        let mut assets = BTreeMap::new();
        for (role, path) in named(plan) {
            if !assets.contains_key(&(role, path.clone())) {
                let asset = load_one(role, &path, root)?;
                assets.insert((role, path), asset);
            }
        }
        Ok(Self(assets))
    }

    pub fn get(&self, role: AssetRole, path: &RelPath) -> Option<&Asset> {
        // Keys are pairs; a clone of a short path keeps the map simple.
        self.0.get(&(role, path.clone()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (AssetRole, &RelPath, &Asset)> {
        self.0.iter().map(|((role, path), asset)| (*role, path, asset))
    }

    /// What the manifest says of them, in a fixed order.
    pub fn entries(&self) -> Vec<AssetEntry> {
        let entry = |(role, path, asset): (AssetRole, &RelPath, &Asset)| AssetEntry {
            digest: asset.digest,
            mode: asset.mode,
            path: path.to_string(),
            role,
        };
        self.iter().map(entry).collect()
    }

    /// The text of a source that was loaded.
    pub fn text<'a>(&'a self, role: AssetRole, source: &'a TextSource) -> Option<&'a str> {
        match source {
            TextSource::Inline(text) => Some(text),
            TextSource::File(path) => std::str::from_utf8(&self.get(role, path)?.bytes).ok(),
        }
    }
}

/// How a file is hashed: what a template uses by its fields is structured, everything else raw.
pub fn mode_of(role: AssetRole, path: &RelPath) -> HashMode {
    match role {
        AssetRole::Brief | AssetRole::Token if path.is_structured() => HashMode::Structured,
        _ => HashMode::Raw,
    }
}

/// Lists the files that a plan names, with what they are for.
pub fn named(plan: &Plan) -> Vec<(AssetRole, RelPath)> {
    let mut files = Vec::new();
    let mut text = |role, source: &TextSource| files.extend(source.file().map(|path| (role, path.clone())));
    let mut prompt = |source: &PromptSource| match source {
        PromptSource::Text(source) => text(AssetRole::Prompt, source),
        PromptSource::Messages(messages) => messages.iter().for_each(|m| text(AssetRole::Prompt, &m.content)),
    };
    plan.conditions.iter().filter_map(|condition| condition.prompt.as_ref()).for_each(&mut prompt);
    plan.tasks.iter().for_each(|task| prompt(&task.prompt));
    plan.conditions.iter().filter_map(|condition| condition.system.as_ref()).for_each(|s| text(AssetRole::System, s));
    plan.tasks.iter().filter_map(|task| task.system.as_ref()).for_each(|s| text(AssetRole::System, s));
    for ConditionPlan { token, .. } in &plan.conditions {
        files.extend(token.iter().map(|path| (AssetRole::Token, path.clone())));
    }
    for TaskPlan { brief, scorers, .. } in &plan.tasks {
        files.extend(brief.iter().map(|path| (AssetRole::Brief, path.clone())));
        for scorer in scorers {
            match scorer {
                ScorerPlan::JsonSchema { file: Some(path), .. } => files.push((AssetRole::Scorer, path.clone())),
                ScorerPlan::Judge(plan) => {
                    files.extend(plan.rubric.file().map(|path| (AssetRole::Rubric, path.clone())));
                    files.extend(plan.calibration.iter().map(|path| (AssetRole::Calibration, path.clone())));
                }
                ScorerPlan::Command { files: own, .. } => {
                    files.extend(own.iter().map(|path| (AssetRole::Scorer, path.clone())));
                }
                _ => {}
            }
        }
    }
    for tool in plan.tasks.iter().filter_map(|task| task.solver.as_ref()).flat_map(SolverPlan::tools) {
        if let AgentToolPlan::Mcp { files: own, .. } = tool {
            files.extend(own.iter().map(|path| (AssetRole::Tool, path.clone())));
        }
    }
    for model in plan.models.iter().chain(&plan.judges) {
        let file = model.params.get("file").and_then(Value::as_str).and_then(|path| path.parse().ok());
        files.extend(file.map(|path| (AssetRole::Model, path)));
    }
    files
}

fn load_one(role: AssetRole, path: &RelPath, root: &Path) -> Result<Asset, AssetError> {
    let open_error = |source| AssetError::Open { path: path.clone(), source };
    let full = path.under(root);
    let io_error = |source| open_error(OpenError::Io { path: full.clone(), source });
    // A link inside the folder may point anywhere; what is read must really be inside.
    let real = full.canonicalize().map_err(io_error)?;
    if !real.starts_with(root.canonicalize().map_err(io_error)?) {
        return Err(AssetError::Outside { path: path.clone() });
    }
    // Opening a pipe would wait for its writer: look before.
    if !real.is_file() {
        return Err(AssetError::NotAFile { path: path.clone() });
    }
    let bytes = read_bounded(&real, MAX_ASSET).map_err(open_error)?;
    if mode_of(role, path) == HashMode::Structured {
        let node = yaml::load_bytes(&bytes).map_err(|error| AssetError::Malformed {
            path: path.clone(),
            rendered: error.render(path.as_str(), &String::from_utf8_lossy(&bytes)),
        })?;
        let value = node.to_value();
        let digest = Digest::of(&value.to_canonical());
        return Ok(Asset { bytes, value: Some(value), digest, mode: HashMode::Structured });
    }
    // A scorer's program may be anything; what ends up in a prompt must be text.
    if role != AssetRole::Scorer && std::str::from_utf8(&bytes).is_err() {
        return Err(AssetError::NotText { path: path.clone() });
    }
    let digest = Digest::of(&bytes);
    Ok(Asset { bytes, value: None, digest, mode: HashMode::Raw })
}
