//! Where the paths of a block start.

use std::path::{Component, Path, PathBuf};

use proofmark_canon::json;

use super::block::{Block, Dialect};
use crate::store::read_bounded;

/// A folder, real and without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    /// The top of the git work tree that holds it.
    pub(super) work_tree: Option<PathBuf>,
    /// How it was found, where that is worth a word.
    pub(super) note: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RootError {
    #[error("the block does not say where its paths start")]
    NotSaid,
    #[error("the root that the block names is not a folder")]
    NotAFolder,
    #[error("refused: the root that the block names is outside of what the report may speak about")]
    TooHigh,
    #[error("`{0}` is not a folder")]
    Given(String),
}

/// Finds the root. `folder` holds the sidecar and is real; `given` is what the user said.
pub(super) fn find(block: &Block, folder: &Path, cwd: &Path, given: Option<&Path>) -> Result<Root, RootError> {
    if let Some(given) = given {
        let path = real_folder(given).ok_or_else(|| RootError::Given(given.display().to_string()))?;
        return Ok(Root { work_tree: work_tree(&path), path, note: None });
    }
    match block.dialect {
        Dialect::Ahd => Ok(of_ahd(folder, cwd)),
        Dialect::Proofmark => of_ours(block, folder, cwd),
    }
}

/// The package that AHD is.
const AHD: &str = "@adastracomputing/ahd";

/// The outermost folder with AHD's `package.json`: one that a submission brings along is further inside.
fn of_ahd(folder: &Path, cwd: &Path) -> Root {
    let top = work_tree(folder);
    let inside = |path: &&Path| top.as_ref().is_none_or(|top| path.starts_with(top));
    match folder.ancestors().take_while(inside).filter(|path| is_ahd(path)).last() {
        Some(path) => Root { path: path.to_owned(), work_tree: top, note: None },
        None => {
            let path = real_folder(cwd).unwrap_or_else(|| cwd.to_owned());
            let note = "no package.json of AHD at or above the report: paths start in the working directory";
            Root { work_tree: work_tree(&path), path, note: Some(note) }
        }
    }
}

fn is_ahd(folder: &Path) -> bool {
    let file = folder.join("package.json");
    if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let Ok(bytes) = read_bounded(&file, 1 << 20) else { return false };
    json::parse(&bytes).is_ok_and(|package| package.get("name").and_then(json::Value::as_str) == Some(AHD))
}

fn of_ours(block: &Block, folder: &Path, cwd: &Path) -> Result<Root, RootError> {
    let Some(way) = &block.root else {
        // The run directory was elsewhere: only the repository says where the root is.
        let inside = block.root_in_repo.as_deref().ok_or(RootError::NotSaid)?;
        let top = work_tree(folder).or_else(|| work_tree(&real_folder(cwd)?)).ok_or(RootError::NotSaid)?;
        let is_plain =
            Path::new(inside).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let path = Some(top.join(inside)).filter(|_| is_plain).and_then(|path| real_folder(&path));
        let path = path.ok_or(RootError::NotAFolder)?;
        if !path.starts_with(&top) {
            return Err(RootError::TooHigh);
        }
        return Ok(Root { path, work_tree: Some(top), note: Some("the root is where the repository has it") });
    };
    let top = work_tree(folder);
    let mut path = folder.to_owned();
    let mut down = PathBuf::new();
    let mut up = 0;
    for part in Path::new(way).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if down.as_os_str().is_empty() => {
                up += 1;
                path.pop();
            }
            Component::Normal(part) => down.push(part),
            _ => return Err(RootError::TooHigh),
        }
    }
    // Checked before the disk is looked at: nobody learns what is elsewhere.
    let is_bounded = match &top {
        Some(top) => path.starts_with(top),
        None => up <= MOST_UP && path.parent().is_some(),
    };
    if !is_bounded {
        return Err(RootError::TooHigh);
    }
    let shared = path.clone();
    let path = real_folder(&path.join(down)).ok_or(RootError::NotAFolder)?;
    if !path.starts_with(top.as_ref().unwrap_or(&shared)) {
        return Err(RootError::TooHigh);
    }
    Ok(Root { path, work_tree: top, note: None })
}

/// How far above its report a root may be where no work tree bounds it.
const MOST_UP: usize = 4;

/// The top of the git work tree that holds a folder.
pub fn work_tree(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|path| path.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

fn real_folder(path: &Path) -> Option<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path.canonicalize().ok().filter(|path| path.is_dir())
}
