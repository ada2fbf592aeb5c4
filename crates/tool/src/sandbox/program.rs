//! Where programs are, and whether they work.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proofmark_artefact::text::visible;

use super::SandboxError;

/// Looks a name up in a PATH. Entries that depend on the working directory are passed over.
pub(super) fn find(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let entries = std::env::split_paths(path?).filter(|entry| entry.is_absolute());
    entries.map(|entry| entry.join(name)).find(|path| {
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Runs something that must succeed, and says what it said when it does not.
pub(super) fn check(program: &'static str, mut command: Command) -> Result<(), SandboxError> {
    let unusable = |said: String| SandboxError::Unusable { program, said };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| unusable(error.to_string()))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(TICK),
            waited => {
                // Already gone when this fails.
                let _ = child.kill();
                let _ = child.wait();
                return Err(unusable(match waited {
                    Err(error) => error.to_string(),
                    Ok(_) => format!("no answer within {} seconds", PATIENCE.as_secs()),
                }));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // The status tells enough when nothing can be read.
        let _ = stderr.take(SAID).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    Err(unusable(match said.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => visible(line.trim()),
        None => status.to_string(),
    }))
}

const PATIENCE: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(2);
const SAID: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_an_executable_file_in_an_absolute_folder() {
        assert_eq!(find("sh", Some("/nowhere:/bin".as_ref())), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("sh", Some("bin:.:".as_ref())), None);
        assert_eq!(find("passwd", Some("/etc".as_ref())), None, "not executable");
        assert_eq!(find("sh", None), None);
    }

    #[test]
    fn a_failed_check_says_the_first_line_of_what_was_said() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "printf '\\nno \\033[31mway\\nmore' >&2; exit 3"]);
        let error = check("bwrap", command).unwrap_err();
        assert!(error.to_string().starts_with("`bwrap` does not work here: no "), "{error}");
        assert!(!error.to_string().contains('\u{1b}') && !error.to_string().contains("more"), "{error}");
        let mut silent = Command::new("/bin/sh");
        silent.args(["-c", "exit 3"]);
        assert_eq!(check("bwrap", silent).unwrap_err().to_string(), "`bwrap` does not work here: exit status: 3");
        assert!(check("bwrap", Command::new("/bin/true")).is_ok());
    }
}
