//! Folders that stay out of sight, whatever is shown.

use std::path::{Path, PathBuf};

use super::SandboxError;

/// Something of this machine that a program may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    /// Where it is, without links.
    pub(super) source: PathBuf,
    /// Where the program finds it.
    pub(super) target: PathBuf,
}

impl Bind {
    /// Shows a path under its own name. What is in a hidden folder is refused, and so is the whole machine.
    pub(super) fn of(path: &Path, hidden: &[PathBuf]) -> Result<Self, SandboxError> {
        let unreadable = |source| SandboxError::Unreadable { path: path.to_owned(), source };
        let source = std::fs::canonicalize(path).map_err(unreadable)?;
        let target = std::path::absolute(path).map_err(unreadable)?;
        if source.parent().is_none() {
            return Err(SandboxError::Hidden { shown: target, hidden: source });
        }
        let bind = Self { source, target };
        bind.check(hidden)?;
        Ok(bind)
    }

    fn check(&self, hidden: &[PathBuf]) -> Result<(), SandboxError> {
        match hidden.iter().find(|folder| self.source.starts_with(folder)) {
            Some(folder) => Err(SandboxError::Hidden { shown: self.target.clone(), hidden: folder.clone() }),
            None => Ok(()),
        }
    }

    /// Hidden folders below it, as the program would find them. What does not exist cannot be found.
    pub(super) fn masks(&self, hidden: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
        self.check(hidden)?;
        let below = hidden.iter().filter_map(|folder| Some((folder, folder.strip_prefix(&self.source).ok()?)));
        Ok(below.filter(|(folder, _)| folder.exists()).map(|(_, rest)| self.target.join(rest)).collect())
    }
}

/// A path without links as far as it exists: a run directory may be made later.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for known in whole.ancestors() {
        if let Ok(found) = std::fs::canonicalize(known) {
            let rest = whole.strip_prefix(known).unwrap_or(Path::new(""));
            // Joining nothing would add a separator.
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_refused_or_masked_also_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("suite/runs/7f3a")).unwrap();
        std::os::unix::fs::symlink(root.join("suite"), root.join("link")).unwrap();
        let hidden = [resolve(&root.join("link/runs"))];
        assert_eq!(hidden[0], root.join("suite/runs"));

        let shown = Bind::of(&root.join("link"), &hidden).unwrap();
        assert_eq!(shown.source, root.join("suite"));
        assert_eq!(shown.masks(&hidden).unwrap(), [root.join("link/runs")]);
        for path in ["suite/runs", "suite/runs/7f3a", "link/runs/7f3a"] {
            assert!(matches!(Bind::of(&root.join(path), &hidden), Err(SandboxError::Hidden { .. })), "{path}");
        }
        assert!(matches!(Bind::of(Path::new("/usr/.."), &[]), Err(SandboxError::Hidden { .. })));
        assert!(matches!(Bind::of(&root.join("none"), &hidden), Err(SandboxError::Unreadable { .. })));
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_known_by_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        assert_eq!(resolve(&root.join("link/a/b")), root.join("a/b"));
        let bind = Bind { source: root.clone(), target: root.clone() };
        assert_eq!(bind.masks(&[root.join("a/b")]).unwrap(), Vec::<PathBuf>::new());
    }
}
