//! Everything that is in a folder, to see whether something changed it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a folder holds, by path relative to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(BTreeMap<PathBuf, Node>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Folder,
    Link(PathBuf),
    /// A pipe, a socket, a device.
    Other,
}

impl Tree {
    /// Reads a folder with all its bytes. A folder that is not there is an empty tree.
    pub fn read(folder: &Path) -> Self {
        let mut tree = Self::default();
        if folder.exists() {
            tree.add(folder, Path::new(""));
        }
        tree
    }

    fn add(&mut self, folder: &Path, name: &Path) {
        let entries = fs::read_dir(folder.join(name)).expect("a folder that can be listed");
        for entry in entries {
            let entry = entry.expect("an entry that can be read");
            let name = name.join(entry.file_name());
            let path = folder.join(&name);
            let kind = entry.file_type().expect("a kind of file");
            let node = if kind.is_symlink() {
                Node::Link(fs::read_link(&path).expect("a link that can be read"))
            } else if kind.is_dir() {
                self.add(folder, &name);
                Node::Folder
            } else if kind.is_file() {
                Node::File(fs::read(&path).expect("a file that can be read"))
            } else {
                Node::Other
            };
            self.0.insert(name, node);
        }
    }

    /// Lists what another tree has more, less or otherwise: `+ new`, `- gone`, `~ changed`.
    pub fn changes(&self, later: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (name, node) in &self.0 {
            match later.0.get(name) {
                None => changes.push(format!("- {}", name.display())),
                Some(now) if now != node => changes.push(format!("~ {}", name.display())),
                Some(_) => {}
            }
        }
        let new = later.0.keys().filter(|name| !self.0.contains_key(*name));
        changes.extend(new.map(|name| format!("+ {}", name.display())));
        changes
    }

    /// Every file with its bytes, by relative path.
    pub fn files(&self) -> Vec<(String, &[u8])> {
        self.0
            .iter()
            .filter_map(|(name, node)| match node {
                Node::File(bytes) => Some((name.display().to_string(), bytes.as_slice())),
                _ => None,
            })
            .collect()
    }

    /// The relative paths of everything in the folder.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| name.display().to_string()).collect()
    }
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    for (name, node) in Tree::read(from).0 {
        let path = to.join(name);
        fs::create_dir_all(path.parent().expect("a path inside the folder")).expect("a folder");
        match node {
            Node::Folder => fs::create_dir_all(&path).expect("a folder"),
            Node::File(bytes) => put(&path, &bytes),
            Node::Link(target) => std::os::unix::fs::symlink(target, &path).expect("a link"),
            Node::Other => {}
        }
    }
}

/// Writes a file and the folders above it.
pub fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    use std::io::Write as _;
    fs::create_dir_all(path.parent().expect("a path inside a folder")).expect("a folder");
    let mut file = fs::File::create(path).expect("a file that can be created");
    file.write_all(bytes.as_ref()).expect("a file that can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("a/x"), "1");
        put(&dir.path().join("y"), "2");
        let before = Tree::read(dir.path());
        assert!(before.changes(&Tree::read(dir.path())).is_empty());
        put(&dir.path().join("a/x"), "3");
        fs::remove_file(dir.path().join("y")).unwrap();
        fs::create_dir(dir.path().join("b")).unwrap();
        assert_eq!(before.changes(&Tree::read(dir.path())), ["~ a/x", "- y", "+ b"]);
    }
}
