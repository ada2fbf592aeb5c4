//! What a program says it is: asked once, before the first question.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::RunnerContext;
use super::folder::Folder;
use super::process::has_ended;
use super::recipe::Recipe;

/// The first line of the program's version, or `unknown`.
pub(super) fn ask(recipe: &Recipe, context: &RunnerContext) -> String {
    let version = Folder::make(&context.scratch).ok().and_then(|folder| {
        let output = run(recipe, &folder)?;
        let text = String::from_utf8_lossy(&output);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(recipe.tidy(line, folder.path(), MAX_LINE))
    });
    version.unwrap_or_else(|| "unknown".to_owned())
}

/// The beginning of its stdout, when it ended well and in time.
fn run(recipe: &Recipe, folder: &Folder) -> Option<Vec<u8>> {
    let mut command = Command::new(&recipe.program);
    command.args(&recipe.version).current_dir(folder.path()).env_clear();
    command.envs(recipe.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take();
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        if let Some(mut stdout) = stdout {
            // What came before an error is all there is.
            let _ = stdout.by_ref().take(MAX_OUTPUT).read_to_end(&mut output);
        }
        output
    });
    let is_in_time = wait(group);
    if let Some(group) = group {
        // Fails only when nothing of the group is left.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let is_good = reap(&mut child) && is_in_time;
    // A process that left the group may hold the pipe for ever; then the reader stays behind.
    let deadline = Instant::now() + DRAIN;
    while !reader.is_finished() && Instant::now() < deadline {
        std::thread::sleep(TICK);
    }
    if is_good && reader.is_finished() { reader.join().ok() } else { None }
}

/// Waits for the leader's end without taking its id away.
fn wait(leader: Option<Pid>) -> bool {
    let deadline = Instant::now() + LIMIT;
    let Some(leader) = leader else { return false };
    while Instant::now() < deadline {
        match has_ended(leader) {
            Ok(true) => return true,
            Ok(false) => std::thread::sleep(TICK),
            Err(_) => return false,
        }
    }
    false
}

fn reap(child: &mut Child) -> bool {
    child.wait().is_ok_and(|status| status.success())
}

const LIMIT: Duration = Duration::from_secs(10);
const DRAIN: Duration = Duration::from_millis(200);
const TICK: Duration = Duration::from_millis(2);
const MAX_OUTPUT: u64 = 64 << 10;
const MAX_LINE: usize = 200;
