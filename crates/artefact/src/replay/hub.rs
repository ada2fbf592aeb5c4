//! Files of hub datasets in the cache of this machine.
//!
//! They are not under the root and belong to whoever runs the program: of what is there, only whether it is what the
//! block says is told.

use std::path::{Path, PathBuf};

use proofmark_canon::{Digest, Map, Value};

use super::block::{Dialect, OfHub};
use super::confine::{self, Refusal};
use crate::store::digest_reader;
use crate::text::excerpt;

/// Where the files of a dataset of the hub are kept at one of its commits. Owner, name and commit are plain words.
pub fn folder(cache: &Path, owner: &str, name: &str, commit: &str) -> PathBuf {
    cache.join("hub").join("datasets").join(format!("{owner}--{name}")).join(commit)
}

/// What a look at the cache found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// So many files, each as it was read.
    Same(usize),
    /// Nothing can be said, and why.
    Unknown(String),
    Wrong(String),
}

/// Compares a dataset's files with the block's list, and that with its hash.
pub(super) fn check(hub: &OfHub, hash: Digest, cache: Option<&Path>) -> Verdict {
    if hub.files.is_empty() {
        return Verdict::Unknown("a dataset of the hub whose files the block does not list".to_owned());
    }
    let list = hub.files.iter().map(|(path, sha256)| {
        let mut file = Map::new();
        file.insert("path", path.as_str());
        file.insert("sha256", sha256.as_str());
        Value::Object(file)
    });
    if Digest::of(&Value::Array(list.collect()).to_canonical()) != hash {
        return Verdict::Wrong("the list of its files is not what was hashed".to_owned());
    }
    let Some(cache) = cache else {
        return Verdict::Unknown("a dataset of the hub is not a file here".to_owned());
    };
    let is_word = |text: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        !text.is_empty() && text.len() <= 96 && text.bytes().all(is_plain) && !text.starts_with('.')
    };
    let parts =
        hub.repo.split_once('/').filter(|(owner, name)| [*owner, *name, &hub.revision].into_iter().all(is_word));
    let Some((owner, name)) = parts else {
        return Verdict::Unknown("a dataset of the hub that the block does not name in full".to_owned());
    };
    let Ok(folder) = folder(cache, owner, name, &hub.revision).canonicalize() else {
        return Verdict::Unknown("a dataset of the hub that is not in the cache".to_owned());
    };
    for (path, sha256) in &hub.files {
        let shown = excerpt(path, 120);
        let opened = confine::candidates(path, Dialect::Proofmark).and_then(|paths| confine::open(&folder, &paths));
        let file = match opened {
            Ok((file, _)) => file,
            Err(Refusal::Missing) => return Verdict::Unknown(format!("`{shown}` of the dataset is not in the cache")),
            Err(Refusal::Io(_)) => return Verdict::Unknown(format!("`{shown}` in the cache cannot be read")),
            Err(refusal) => return Verdict::Wrong(format!("`{shown}`: {refusal}")),
        };
        match digest_reader(file) {
            Ok((digest, _)) if digest.hex() == *sha256 => {}
            Ok(_) => return Verdict::Wrong(format!("`{shown}` in the cache is not the file that was read")),
            Err(_) => return Verdict::Unknown(format!("`{shown}` in the cache cannot be read")),
        }
    }
    Verdict::Same(hub.files.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::write_atomic;

    fn of(files: &[(&str, &[u8])]) -> (OfHub, Digest) {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, bytes)| ((*path).to_owned(), Digest::of(bytes).hex())).collect();
        let list: Vec<_> =
            files.iter().map(|(path, sha256)| serde_json::json!({"path": path, "sha256": sha256})).collect();
        let hash = Digest::of(&proofmark_canon::to_vec(&list).unwrap());
        (OfHub { repo: "o/n".to_owned(), revision: "c0ffee".to_owned(), files }, hash)
    }

    #[test]
    fn files_in_the_cache_are_compared_and_what_is_not_there_is_left_open() {
        let temporary = tempfile::tempdir().unwrap();
        let cache = temporary.path();
        let folder = folder(cache, "o", "n", "c0ffee");
        std::fs::create_dir_all(folder.join("data")).unwrap();
        write_atomic(&folder.join("data/a.jsonl"), b"a").unwrap();
        write_atomic(&cache.join("hub/secret"), b"s").unwrap();
        std::os::unix::fs::symlink(cache.join("hub/secret"), folder.join("link")).unwrap();
        let (hub, hash) = of(&[("data/a.jsonl", b"a")]);
        assert_eq!(check(&hub, hash, Some(cache)), Verdict::Same(1));
        assert!(matches!(check(&hub, hash, None), Verdict::Unknown(_)));
        assert!(
            matches!(check(&hub, Digest::of(b"x"), None), Verdict::Wrong(_)),
            "the list is checked without a cache"
        );
        for (repo, revision) in
            [("o/m", "c0ffee"), ("o/n", "c0ffef"), ("../n", "c0ffee"), ("o/n", ".."), ("o", ""), ("o/n", "a/b")]
        {
            let other = OfHub { repo: repo.to_owned(), revision: revision.to_owned(), ..hub.clone() };
            assert!(matches!(check(&other, hash, Some(cache)), Verdict::Unknown(_)), "{repo} {revision}");
        }
        for (files, is_wrong) in [
            (&[("data/a.jsonl", &b"b"[..])][..], true),
            (&[("data/a.jsonl", b"a"), ("data/b.jsonl", b"b")], false),
            (&[("../../../secret", b"s")], true),
            (&[("link", b"s")], true),
            (&[("data", b"s")], true),
            (&[], false),
        ] {
            let (hub, hash) = of(files);
            let verdict = check(&hub, hash, Some(cache));
            let as_wanted = matches!((&verdict, is_wrong), (Verdict::Wrong(_), true) | (Verdict::Unknown(_), false));
            assert!(as_wanted, "{files:?}: {verdict:?}");
        }
    }
}
