//! Programs that want too much.

use std::time::{Duration, Instant};

use proofmark_artefact::suite::solver::LimitsPlan;
use proofmark_tool::sandbox::End;

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
