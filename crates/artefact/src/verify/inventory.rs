//! What is in a run directory, and what it has to do with the run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use super::ladder::{Check, Climb};
use crate::replay::Status;
use crate::store::{OutputName, names};
use crate::text::excerpt;

/// What a run leaves or is given beside planes 1 and 2, and what to say of it.
const KNOWN: [(&str, &str); 6] = [
    (names::WORK, "work and lock of a run that was interrupted while it ended; it is no part of the run"),
    ("attestation.json", "a signature; it is checked with a key, not here"),
    ("audit-report.json", "an audit; it is no part of planes 1 and 2"),
    (names::BODIES, "whole bodies; trajectories name them by their digests, and the witness does not pin them"),
    (names::JUDGE_PROBE, "what attacks on the judges did; it is no part of planes 1 and 2"),
    ("cassette", "recorded calls; `--reexecute` replays them"),
];

/// How many names are kept that nobody expected; all are counted.
const MOST_STRANGE: usize = 100;

/// What is behind the names of a run.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// Every entry with a name of planes 1 or 2, and every picture as `outputs/<name>`.
    pub(super) entries: BTreeMap<String, Metadata>,
    /// Names in the directory that are known and not of planes 1 and 2.
    beside: BTreeSet<&'static str>,
    /// Names that no part of a run wrote.
    strange: BTreeSet<String>,
    strange_total: u64,
}

impl Inventory {
    /// Lists a run directory. Nothing is opened and no link is followed.
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let mut inventory = Self::default();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // The entry's own metadata is that of a link, not of what it leads to.
            let metadata = entry.metadata()?;
            let is_of_run = names::PLANE_1.contains(&name.as_str()) || names::PLANE_2.contains(&name.as_str());
            if is_of_run {
                inventory.entries.insert(name, metadata);
            } else if name == names::OUTPUTS && metadata.is_dir() {
                inventory.read_outputs(&entry.path())?;
            } else if let Some((known, _)) = KNOWN.iter().find(|(known, _)| *known == name)
                && !metadata.is_symlink()
            {
                inventory.beside.insert(known);
            } else {
                inventory.add_strange(name);
            }
        }
        Ok(inventory)
    }

    fn read_outputs(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match OutputName::parse(&name) {
                Some(output) => drop(self.entries.insert(output.to_string(), entry.metadata()?)),
                None => self.add_strange(format!("{}/{name}", names::OUTPUTS)),
            }
        }
        Ok(())
    }

    fn add_strange(&mut self, name: String) {
        self.strange_total += 1;
        self.strange.insert(name);
        // The first ones by name, so that the order of the directory does not matter.
        if self.strange.len() > MOST_STRANGE {
            self.strange.pop_last();
        }
    }

    /// Whether there is more of a run than its report.
    pub(super) fn has_run(&self) -> bool {
        self.entries.keys().any(|name| name != names::REPORT_MD && name != names::REPLAY)
    }

    /// Says what is there besides planes 1 and 2.
    pub(super) fn report(&self, climb: &mut Climb) {
        for (name, what) in KNOWN {
            if self.beside.contains(name) {
                climb.push(Check::of(name, "beside the run", Status::Skip).note(what));
            }
        }
        for name in &self.strange {
            let check = Check::of(excerpt(name, 200), "name", Status::Fail);
            climb.push(check.note("no part of a run wrote this; it was not read"));
        }
        climb.add_failed(self.strange_total - self.strange.len() as u64);
    }
}

/// What something is that is no regular file.
pub(super) fn what_is(metadata: &Metadata) -> &'static str {
    if metadata.is_symlink() {
        "a symbolic link"
    } else if metadata.is_dir() {
        "a folder"
    } else {
        "a device or a pipe"
    }
}

#[cfg(test)]
mod tests {
    use super::super::ladder::Rung;
    use super::*;
    use crate::store::write_atomic;
    use proofmark_canon::Digest;

    #[test]
    fn every_name_is_of_the_run_or_known_or_strange() {
        let dir = tempfile::tempdir().unwrap();
        let picture = format!("outputs/{}.png", Digest::of(b"x").hex());
        fs::create_dir(dir.path().join("outputs")).unwrap();
        fs::create_dir(dir.path().join("bodies")).unwrap();
        for name in ["records.jsonl", "report.md", "notes\u{1b}.txt", "outputs/holiday.png", &picture] {
            write_atomic(&dir.path().join(name), b"x").unwrap();
        }
        std::os::unix::fs::symlink("/etc", dir.path().join("cassette")).unwrap();
        let inventory = Inventory::read(dir.path()).unwrap();
        let names: Vec<&str> = inventory.entries.keys().map(String::as_str).collect();
        assert_eq!(names, [picture.as_str(), "records.jsonl", "report.md"]);
        assert!(inventory.has_run());
        let mut climb = Climb::new(Rung::Artefacts);
        inventory.report(&mut climb);
        let found: Vec<(&str, Status)> =
            climb.checks.iter().map(|check| (check.file.as_deref().unwrap(), check.status)).collect();
        let want = [
            ("bodies", Status::Skip),
            ("cassette", Status::Fail),
            ("notes\\u{1b}.txt", Status::Fail),
            ("outputs/holiday.png", Status::Fail),
        ];
        assert_eq!(found, want);
    }

    #[test]
    fn names_beyond_number_are_counted_and_the_first_ones_kept() {
        let mut inventory = Inventory::default();
        (0..1000).rev().for_each(|n| inventory.add_strange(format!("{n:04}")));
        let mut climb = Climb::new(Rung::Artefacts);
        inventory.report(&mut climb);
        assert_eq!((climb.failed, climb.checks.len()), (1000, 100));
        assert_eq!(climb.checks[0].file.as_deref(), Some("0000"));
    }
}
