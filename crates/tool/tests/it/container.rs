//! Containers, with a program in the place of the engine: what it is told, and when.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use proofmark_artefact::store::write_atomic;
use proofmark_artefact::suite::solver::{LimitsPlan, SandboxKind};
use proofmark_tool::sandbox::{End, Sandbox, SandboxError};
use tempfile::TempDir;

use crate::support::*;

/// A `docker` that writes down what it is told and runs programs as they are.
struct Engine {
    folder: TempDir,
}

impl Engine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{}'\ncase $1 in\n  version) exit 0;;\n  image) test \"$3\" = known;;\n  run) while \
             [ \"$1\" != known ]; do shift; done; shift; exec \"$@\";;\nesac\n",
            folder.path().join("told").display()
        );
        let path = folder.path().join("docker");
        write_atomic(&path, script.as_bytes()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn sandbox(&self, image: &str, timeout: f64) -> Result<Sandbox, SandboxError> {
        let mut world = world();
        world.program_path = Some(self.folder.path().as_os_str().to_owned());
        let limits = LimitsPlan { image: Some(image.to_owned()), ..limits() };
        Sandbox::new(SandboxKind::Container, &limits, timeout, &world)
    }

    /// What it was told after it was looked at.
    fn told(&self) -> Vec<String> {
        let told = std::fs::read_to_string(self.folder.path().join("told")).unwrap();
        let lines = told.lines().filter(|line| line.starts_with("run ") || line.starts_with("rm "));
        lines.map(str::to_owned).collect()
    }

    /// The name that a container was given.
    fn name(line: &str) -> String {
        line.split_once("--name ").unwrap().1.split(' ').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_program_that_ends_is_left_alone() {
    let engine = Engine::new();
    let sandbox = engine.sandbox("known", 20.0).unwrap();
    let ran = shell_in(&sandbox, &workspace(&[]), "echo out; exit 3").await;
    assert_eq!((ran.end, ran.stdout.as_slice()), (End::Exited(3), &b"out\n"[..]));
    let told = engine.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(" --network none ") && told[0].ends_with(" known bash -c echo out; exit 3"), "{told:?}");
}

#[tokio::test]
async fn a_container_that_takes_too_long_is_removed_by_name() {
    let engine = Engine::new();
    let sandbox = engine.sandbox("known", 0.3).unwrap();
    let ran = shell_in(&sandbox, &workspace(&[]), "sleep 60").await;
    assert_eq!(ran.end, End::TimedOut);
    let told = engine.told();
    assert_eq!(told[1..], [format!("rm --force {}", Engine::name(&told[0]))]);
}

#[tokio::test]
async fn a_dropped_call_removes_the_container_too() {
    let engine = Engine::new();
    let sandbox = engine.sandbox("known", 60.0).unwrap();
    let (argv, workspace) = (words(&["sleep", "60"]), workspace(&[]));
    let call = sandbox.run(&argv, b"", &workspace, &[], 1024);
    let started = async {
        while engine.told().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ran = call => panic!("ended by itself: {ran:?}"),
        () = started => {}
    }
    for _ in 0..1000 {
        if engine.told().len() > 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let told = engine.told();
    assert_eq!(told[1..], [format!("rm --force {}", Engine::name(&told[0]))]);
}

#[test]
fn a_command_that_is_not_started_tells_the_engine_nothing() {
    let engine = Engine::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let sandbox = engine.sandbox("known", 1.0).unwrap();
        let command = sandbox.command(&words(&["server"]), &workspace(&[]), &[], &[PathBuf::from("/usr")]).unwrap();
        drop(command);
        tokio::time::sleep(Duration::from_millis(50)).await;
    });
    assert_eq!(engine.told(), Vec::<String>::new());
}

#[test]
fn an_image_that_is_not_here_is_not_downloaded() {
    let error = Engine::new().sandbox("other", 1.0).err().unwrap();
    assert_eq!(error.to_string(), "the image `other` is not on this machine");
    assert_eq!(error.hint().unwrap(), "run `docker pull other`; a run downloads no images");
}
