//! A sandbox as a suite would ask for it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::suite::solver::{LimitsPlan, SandboxKind};
use proofmark_tool::sandbox::{End, Ran, Sandbox};
use proofmark_tool::{Attached, Surroundings, Workspace};

/// Nothing of the environment is needed, and nothing of it is read.
pub(crate) fn world() -> Surroundings {
    Surroundings {
        variable: Arc::new(|_| None),
        program_path: Some("/usr/local/bin:/usr/bin:/bin".into()),
        suite_root: PathBuf::from("/"),
        allow_unsandboxed: false,
        hidden: Vec::new(),
        scratch: None,
    }
}

pub(crate) fn limits() -> LimitsPlan {
    LimitsPlan { memory_mb: 256, cpu_seconds: 20, pids: 32, disk_mb: 16, network: false, image: None }
}

/// Fails, and does not skip, where programs cannot be confined.
pub(crate) fn sandbox(limits: &LimitsPlan, timeout: f64) -> Sandbox {
    Sandbox::new(SandboxKind::Bubblewrap, limits, timeout, &world())
        .unwrap_or_else(|error| panic!("{error}; {}", error.hint().unwrap_or_default()))
}

pub(crate) fn workspace(files: &[(&str, &[u8])]) -> Workspace {
    let files = files.iter().map(|(name, bytes)| Attached {
        name: (*name).to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: (*bytes).into(),
    });
    Workspace::new(files.collect(), None)
}

pub(crate) fn words(argv: &[&str]) -> Vec<OsString> {
    argv.iter().map(OsString::from).collect()
}

pub(crate) async fn shell_in(sandbox: &Sandbox, workspace: &Workspace, script: &str) -> Ran {
    sandbox.run(&words(&["bash", "-c", script]), b"", workspace, &[], 64 << 10).await.unwrap()
}

pub(crate) async fn shell(script: &str) -> Ran {
    shell_in(&sandbox(&limits(), 20.0), &workspace(&[]), script).await
}

pub(crate) async fn python_in(sandbox: &Sandbox, workspace: &Workspace, code: &str) -> Ran {
    sandbox.run(&words(&["python3", "-"]), code.as_bytes(), workspace, &[], 64 << 10).await.unwrap()
}

/// What a program printed that went well.
pub(crate) fn printed(ran: &Ran) -> String {
    assert_eq!(ran.end, End::Exited(0), "{}", said(ran));
    String::from_utf8(ran.stdout.clone()).unwrap()
}

pub(crate) fn said(ran: &Ran) -> String {
    format!("{:?} {} {}", ran.end, String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}
