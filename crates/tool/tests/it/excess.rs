//! Programs that want too much.

use std::path::Path;
use std::time::{Duration, Instant};

use proofmark_artefact::suite::solver::{LimitsPlan, SandboxKind};
use proofmark_tool::sandbox::{End, Sandbox};

use crate::support::*;

#[tokio::test]
async fn a_fork_bomb_runs_into_its_limit() {
    let limits = LimitsPlan { pids: 12, ..limits() };
    let sandbox = sandbox(&limits, 2.0);
    let code = "
import os, time
n = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        n += 1
except OSError:
    print(n, flush=True)
os._exit(0)
";
    // The program itself is one of the twelve.
    assert_eq!(printed(&python_in(&sandbox, &workspace(&[]), code).await), "11\n");
    let bomb = "f() { f | f & f | f; }; f; while true; do :; done";
    let started = Instant::now();
    let ran = shell_in(&sandbox, &workspace(&[]), bomb).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(ran.end != End::Exited(0), "{}", said(&ran));
}

#[tokio::test]
async fn two_sandboxes_do_not_count_each_others_processes() {
    let limits = LimitsPlan { pids: 8, ..limits() };
    let (sandbox, one, two) = (sandbox(&limits, 20.0), workspace(&[]), workspace(&[]));
    let script = "for i in 1 2 3 4 5 6; do sleep 0.5 & done; wait; echo done";
    let (first, second) = tokio::join!(shell_in(&sandbox, &one, script), shell_in(&sandbox, &two, script));
    assert_eq!((printed(&first), printed(&second)), ("done\n".to_owned(), "done\n".to_owned()));
}

#[tokio::test]
async fn a_memory_hog_runs_into_its_limit() {
    let limits = LimitsPlan { memory_mb: 128, ..limits() };
    let sandbox = sandbox(&limits, 20.0);
    let ran =
        python_in(&sandbox, &workspace(&[]), "x = bytearray(100 << 20)\nprint('100')\nx = bytearray(1 << 30)").await;
    assert_eq!((ran.end, ran.stdout.as_slice()), (End::Exited(1), &b"100\n"[..]), "{}", said(&ran));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("MemoryError"), "{}", said(&ran));
}

#[tokio::test]
async fn many_processes_together_have_no_more_memory_than_one() {
    let limits = LimitsPlan { memory_mb: 128, pids: 32, ..limits() };
    let hogs = [
        // Each has less than it may.
        "import os, time\nfor i in range(16):\n  if os.fork() == 0:\n    x = b'x' * (60 << 20); time.sleep(60)\ntime.sleep(60)",
        // Memory that is nobody's own.
        "import mmap, time\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1\ntime.sleep(60)",
    ];
    for hog in hogs {
        let started = Instant::now();
        let ran = python_in(&sandbox(&limits, 30.0), &workspace(&[]), hog).await;
        assert_eq!(ran.end, End::OverMemory, "{}", said(&ran));
        assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_cpu_hog_is_killed_by_the_kernel() {
    let limits = LimitsPlan { cpu_seconds: 1, ..limits() };
    let ran = shell_in(&sandbox(&limits, 60.0), &workspace(&[]), "while :; do :; done").await;
    assert_eq!(ran.end, End::Exited(137), "{}", said(&ran));
}

#[tokio::test]
async fn a_program_that_sleeps_for_ever_is_killed_in_time() {
    let started = Instant::now();
    let ran =
        shell_in(&sandbox(&limits(), 0.5), &workspace(&[]), "trap '' TERM INT HUP; echo on; sleep infinity").await;
    assert_eq!((ran.end, ran.stdout.as_slice()), (End::TimedOut, &b"on\n"[..]));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_gigabyte_of_output_is_not_read() {
    for script in [
        "head -c 1G /dev/zero",
        "head -c 1G /dev/zero >&2",
        "yes",
        "x=$(printf %8000s); while :; do echo \"$x\"; echo \"$x\" >&2; done",
    ] {
        let started = Instant::now();
        let ran = shell_in(&sandbox(&limits(), 60.0), &workspace(&[]), script).await;
        assert_eq!(ran.end, End::Flooded, "{script}");
        // 64 KiB were asked for, and a megabyte more is read.
        let most = (64 << 10) + (1 << 20);
        assert!(ran.stdout.len().max(ran.stderr.len()) == most, "{} {}", ran.stdout.len(), ran.stderr.len());
        assert!(started.elapsed() < Duration::from_secs(5), "{script} {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn files_cannot_grow_beyond_what_is_left() {
    let (sandbox, workspace) = (sandbox(&limits(), 20.0), workspace(&[]));
    let big = "head -c 32M /dev/zero > big; echo $?; stat -c %s big";
    let ran = shell_in(&sandbox, &workspace, big).await;
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.ends_with("\n16777216\n"), "{}", said(&ran));
    // Nothing is left to write, but files can be removed, and then there is room again.
    let full = shell_in(&sandbox, &workspace, "(echo x > more) 2>/dev/null || echo full; rm big more").await;
    assert_eq!(printed(&full), "full\n");
    assert_eq!(printed(&shell_in(&sandbox, &workspace, "echo x > more; cat more").await), "x\n");
}

#[tokio::test]
async fn many_files_together_are_found_while_the_program_runs() {
    let (sandbox, workspace) = (sandbox(&limits(), 30.0), workspace(&[]));
    let many = "for i in $(seq 1000); do head -c 8M /dev/zero > $i; sleep 0.1; done";
    let started = Instant::now();
    assert_eq!(shell_in(&sandbox, &workspace, many).await.end, End::OverDisk);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    shell_in(&sandbox, &workspace, "rm -f *").await;
    let quick = "for i in 1 2 3; do head -c 8M /dev/zero > $i; done";
    let ran = shell_in(&sandbox, &workspace, quick).await;
    assert_eq!(ran.end, End::OverDisk, "{}", said(&ran));
}

#[tokio::test]
async fn closed_folders_are_measured_and_removed_with_the_sample() {
    let (sandbox, workspace) = (sandbox(&limits(), 20.0), workspace(&[]));
    let script =
        "mkdir -p a/b; for i in 1 2 3; do head -c 8M /dev/zero > a/b/$i; done; ln -s /usr a/link; chmod 0 a/b a";
    let ran = shell_in(&sandbox, &workspace, script).await;
    assert_eq!(ran.end, End::OverDisk, "{}", said(&ran));
    let folder = workspace.dir().unwrap().to_owned();
    drop(workspace);
    assert!(!folder.exists());
}

#[tokio::test]
async fn tmp_has_a_size_of_its_own() {
    let ran =
        shell("for i in 1 2 3 4 5; do head -c 8M /dev/zero > /tmp/$i || echo full; done 2>/dev/null; ls /tmp | wc -l")
            .await;
    assert!(printed(&ran).starts_with("full\n"), "{}", said(&ran));
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_gone_with_it() {
    let (sandbox, workspace) = (sandbox(&limits(), 20.0), workspace(&[]));
    let daemon = "(setsid nohup bash -c 'while :; do date +%N > /work/beat; sleep 0.01; done' \
                  >/dev/null 2>&1 </dev/null &) ; until [ -s beat ]; do sleep 0.01; done; echo started";
    assert_eq!(printed(&shell_in(&sandbox, &workspace, daemon).await), "started\n");
    assert_still(&workspace.dir().unwrap().join("beat")).await;
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_running() {
    let (sandbox, workspace) = (sandbox(&limits(), 60.0), workspace(&[]));
    let beat = workspace.dir().unwrap().join("beat");
    let daemon = "setsid bash -c 'while :; do date +%N > beat; sleep 0.01; done' & wait";
    let argv = words(&["bash", "-c", daemon]);
    let call = sandbox.run(&argv, b"", &workspace, &[], 1024);
    let started = async {
        while !std::fs::metadata(&beat).is_ok_and(|found| found.len() > 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ran = call => panic!("ended by itself: {ran:?}"),
        () = started => {}
    }
    assert_still(&beat).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_at_once_get_each_their_own() {
    let sandbox = std::sync::Arc::new(sandbox(&limits(), 60.0));
    let mut calls = tokio::task::JoinSet::new();
    for at in 0..16 {
        let sandbox = sandbox.clone();
        calls.spawn(async move {
            let workspace = workspace(&[("a", format!("sample {at}").as_bytes())]);
            let ran = shell_in(&sandbox, &workspace, "cat a; ls; sleep 0.2; cat a").await;
            assert_eq!(printed(&ran), format!("sample {at}a\nsample {at}"));
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_failure() {
    let input = vec![b'x'; 4 << 20];
    let sandbox = sandbox(&limits(), 20.0);
    let ran = sandbox.run(&words(&["echo", "done"]), &input, &workspace(&[]), &[], 1024).await.unwrap();
    assert_eq!(printed(&ran), "done\n");
    let ran = sandbox.run(&words(&["wc", "-c"]), &input, &workspace(&[]), &[], 1024).await.unwrap();
    assert_eq!(printed(&ran), "4194304\n");
}

#[tokio::test]
async fn an_unconfined_program_has_its_limits_and_no_environment() {
    let mut world = world();
    world.allow_unsandboxed = true;
    let limits = LimitsPlan { pids: 12, memory_mb: 128, ..limits() };
    let sandbox = Sandbox::new(SandboxKind::None, &limits, 10.0, &world).unwrap();
    let workspace = workspace(&[("a", b"text")]);
    let ran = shell_in(&sandbox, &workspace, "cat a; env | grep -c CARGO; ulimit -c; ulimit -d").await;
    assert_eq!(printed(&ran), "text0\n0\n131072\n");
    let many = shell_in(&sandbox, &workspace, "for i in $(seq 20); do sleep 60 & done; wait").await;
    assert_eq!(many.end, End::OverProcesses);
    let slow = Sandbox::new(SandboxKind::None, &limits, 0.3, &world).unwrap();
    assert_eq!(shell_in(&slow, &workspace, "sleep 60 & sleep 60").await.end, End::TimedOut);
}

/// Whether nobody writes a file any more.
async fn assert_still(path: &Path) {
    // The kernel ends the namespace a moment after its first process.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = std::fs::metadata(path).unwrap().modified().unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(std::fs::metadata(path).unwrap().modified().unwrap(), before, "somebody still writes");
}
