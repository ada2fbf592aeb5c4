//! What limits of single processes do not bound: the memory and the files of all of them together.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proofmark_artefact::suite::solver::LimitsPlan;
use rustix::process::Pid;

use super::MIB;

/// What a folder holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Disk {
    /// Bytes that its files occupy.
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// Folders that could not be looked into.
    pub(super) closed: u64,
}

/// Measures a folder. Stops at [`MOST_FILES`]; links are not followed. A program that swaps folders for links at the
/// same time can make it measure others, but not change them.
pub(super) fn disk(folder: &Path) -> Disk {
    let mut disk = Disk::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        disk.closed += u64::from(entries.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied));
        for entry in entries.into_iter().flatten().flatten() {
            disk.files += 1;
            if disk.files > MOST_FILES {
                return disk;
            }
            let Ok(found) = entry.metadata() else { continue };
            // The kernel counts blocks of 512 bytes, whatever the file system's are.
            disk.bytes = disk.bytes.saturating_add(found.blocks().saturating_mul(512));
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    disk
}

/// Whether a sample's files are more than it may have.
pub(super) fn is_over(disk: &Disk, limits: &LimitsPlan) -> bool {
    disk.files > MOST_FILES || disk.bytes > u64::from(limits.disk_mb) * MIB
}

/// What a process and everything below it hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Processes {
    /// Bytes of memory that are no file's. What several share is counted for each.
    pub(super) memory: u64,
    pub(super) count: u64,
}

/// Looks at a process and its descendants. What ends meanwhile is passed over.
pub(super) fn processes(first: Pid) -> Processes {
    let mut all = Processes::default();
    let mut waiting = vec![first.as_raw_nonzero().get().to_string()];
    while let Some(id) = waiting.pop() {
        if all.count > MOST_PROCESSES {
            break;
        }
        let folder = Path::new("/proc").join(&id);
        let Ok(status) = fs::read_to_string(folder.join("status")) else { continue };
        all.count += 1;
        all.memory = all.memory.saturating_add(memory_of(&status));
        // Each thread has children of its own.
        for thread in fs::read_dir(folder.join("task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            waiting.extend(children.split_ascii_whitespace().map(str::to_owned));
        }
    }
    all
}

/// `RssAnon` and `RssShmem` of `/proc/PID/status`, in bytes.
fn memory_of(status: &str) -> u64 {
    let kib = status.lines().filter_map(|line| {
        let rest = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
        rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    kib.fold(0u64, |sum, kib| sum.saturating_add(kib.saturating_mul(1024)))
}

/// Files that a sample may have.
const MOST_FILES: u64 = 20_000;
const MOST_PROCESSES: u64 = 40_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_belongs_to_no_file() {
        let status = "Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t     100 kB\nRssFile:\t 700 kB\nRssShmem:\t      28 kB\n";
        assert_eq!(memory_of(status), 128 * 1024);
        assert_eq!(memory_of("RssAnon: much\nRssShmem:\t18446744073709551615 kB"), u64::MAX);
        assert_eq!(memory_of(""), 0);
    }

    #[test]
    fn a_process_is_seen_with_its_children() {
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", "sleep 60 & sleep 60 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let id = Pid::from_raw(child.id() as i32).unwrap();
        let mut line = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let seen = processes(id);
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        for id in children.split_whitespace() {
            let id = Pid::from_raw(id.parse().unwrap()).unwrap();
            rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
        assert_eq!(seen.count, 3);
        assert!(seen.memory > 0);
        assert_eq!(processes(id), Processes::default());
    }

    #[test]
    fn a_folder_is_measured_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        proofmark_artefact::store::write_atomic(&inner.join("file"), &[7; 100_000]).unwrap();
        std::os::unix::fs::symlink("/usr", inner.join("usr")).unwrap();
        let found = disk(folder.path());
        assert_eq!(found.files, 4);
        assert!((100_000..200_000).contains(&found.bytes), "{found:?}");
    }
}
