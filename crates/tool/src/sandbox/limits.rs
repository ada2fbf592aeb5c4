//! The kernel's limits of single processes.

use std::ffi::OsString;

use proofmark_artefact::suite::solver::LimitsPlan;

use super::MIB;

/// What the kernel would count when it limits processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processes {
    /// Those of the sandbox, and its first one, which is not the program's.
    OfNamespace,
    /// All of the user's: no sensible limit can be set.
    Unlimited,
}

/// The arguments of `prlimit` that come before the program, its own name first when it runs inside.
pub(super) fn prlimit(limits: &LimitsPlan, used: u64, processes: Processes) -> Vec<OsString> {
    let file = (u64::from(limits.disk_mb) * MIB).saturating_sub(used);
    let mut arguments = vec![
        "--core=0".to_owned(),
        // Not RLIMIT_AS: runtimes reserve addresses by the gigabyte that they never use.
        format!("--data={}", u64::from(limits.memory_mb) * MIB),
        format!("--cpu={}", limits.cpu_seconds),
        format!("--fsize={file}"),
        format!("--nofile={FILES}"),
        "--memlock=0".to_owned(),
    ];
    if processes == Processes::OfNamespace {
        arguments.insert(0, "prlimit".to_owned());
        arguments.push(format!("--nproc={}", limits.pids.saturating_add(1)));
    }
    arguments.into_iter().map(OsString::from).collect()
}

/// Files that a process may hold open.
pub(super) const FILES: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LimitsPlan {
        LimitsPlan { memory_mb: 64, cpu_seconds: 3, pids: 8, disk_mb: 2, network: false, image: None }
    }

    #[test]
    fn a_file_may_be_as_large_as_what_is_left() {
        let shown = |used| prlimit(&limits(), used, Processes::Unlimited).join(" ".as_ref()).into_string().unwrap();
        assert_eq!(shown(0), "--core=0 --data=67108864 --cpu=3 --fsize=2097152 --nofile=1024 --memlock=0");
        assert!(shown(2_000_000).contains("--fsize=97152 "));
        assert!(shown(5_000_000).contains("--fsize=0 "), "nothing more can be written, but files can be removed");
    }

    #[test]
    fn the_first_process_of_a_namespace_is_not_counted() {
        let arguments = prlimit(&limits(), 0, Processes::OfNamespace);
        assert_eq!(arguments.first().unwrap(), "prlimit");
        assert_eq!(arguments.last().unwrap(), "--nproc=9");
    }
}
