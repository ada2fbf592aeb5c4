//! What a program says it is: asked once, before the first question.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proofmark_process::Group;

use super::RunnerContext;
use super::folder::Folder;
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
    let mut group = Group::of(Some(child.id()));
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        if let Some(mut stdout) = stdout {
            // What came before an error is all there is.
            let _ = stdout.by_ref().take(MAX_OUTPUT).read_to_end(&mut output);
        }
        output
    });
    let is_in_time = wait(&group);
    group.kill();
    let is_good = child.wait().is_ok_and(|status| status.success()) && is_in_time;
    group.forget();
    // A process that left the group may hold the pipe for ever; then the reader stays behind.
    let deadline = Instant::now() + DRAIN;
    while !reader.is_finished() && Instant::now() < deadline {
        std::thread::sleep(TICK);
    }
    if is_good && reader.is_finished() { reader.join().ok() } else { None }
}

/// Waits for the leader's end without taking its id away.
fn wait(group: &Group) -> bool {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        match group.has_ended() {
            Ok(true) => return true,
            Ok(false) => std::thread::sleep(TICK),
            Err(_) => return false,
        }
    }
    false
}

const LIMIT: Duration = Duration::from_secs(10);
const DRAIN: Duration = Duration::from_millis(200);
const TICK: Duration = Duration::from_millis(2);
const MAX_OUTPUT: u64 = 64 << 10;
const MAX_LINE: usize = 200;
