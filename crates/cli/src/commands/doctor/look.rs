//! What the surroundings have.

use std::io;
use std::path::Path;

use proofmark_model::preset::PRESETS;
use proofmark_model::{Surroundings, known_programs};
use rustix::fs::Access;

use super::advice::proxies;
use super::{Finding, Verdict};
use crate::settings::Settings;

/// Looks at everything that a suite may need. Nothing is written and nobody is asked.
pub(super) fn surroundings(settings: &Settings) -> Vec<Finding> {
    let surroundings = settings.surroundings(None);
    let scratch = surroundings.scratch.clone();
    let mut found = vec![
        cache(settings.cache_dir().as_deref()),
        folder("scratch", &scratch, "working directories of programs", "set TMPDIR to a folder that you can write to"),
    ];
    found.push(program("git", "git", &surroundings, "runs work without it"));
    for known in known_programs() {
        found.push(program(known.name, known.program, &surroundings, known.install));
    }
    found.push(keys(&surroundings));
    found.push(match proxies(&surroundings).as_slice() {
        [] => fine("proxies", "none is set".to_owned()),
        set => fine("proxies", format!("{}; this machine itself is never asked through one", set.join(", "))),
    });
    found
}

fn fine(name: &'static str, detail: String) -> Finding {
    Finding { detail, hint: None, name, result: Verdict::Ok }
}

fn cache(dir: Option<&Path>) -> Finding {
    let hint = "set PROOFMARK_CACHE_DIR to a folder that you can write to; only hub datasets need it";
    match dir {
        Some(dir) => folder("cache", dir, "downloads", hint),
        None => Finding {
            detail: "there is no folder for downloads: neither PROOFMARK_CACHE_DIR, XDG_CACHE_HOME nor HOME is set"
                .to_owned(),
            hint: Some(hint.to_owned()),
            name: "cache",
            result: Verdict::Warning,
        },
    }
}

/// A folder that can be written to, or made.
fn folder(name: &'static str, dir: &Path, what: &str, hint: &str) -> Finding {
    match check_writable(dir) {
        Ok(()) => fine(name, format!("`{}`, for {what}", dir.display())),
        Err(error) => Finding {
            detail: format!("`{}`, for {what}, cannot be written to: {error}", dir.display()),
            hint: Some(hint.to_owned()),
            name,
            result: Verdict::Failed,
        },
    }
}

/// Asks the system about the folder, or the nearest one above it that is there.
fn check_writable(dir: &Path) -> io::Result<()> {
    let dir = std::path::absolute(dir)?;
    for folder in dir.ancestors() {
        match folder.metadata() {
            Ok(found) if found.is_dir() => {
                return Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?);
            }
            Ok(_) => return Err(io::Error::from(io::ErrorKind::NotADirectory)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}

fn program(name: &'static str, program: &str, surroundings: &Surroundings, hint: &str) -> Finding {
    match surroundings.find_program(program) {
        Some(path) => fine(name, path.display().to_string()),
        None => Finding {
            detail: format!("`{program}` is not in PATH"),
            hint: Some(hint.to_owned()),
            name,
            result: Verdict::Skipped,
        },
    }
}

fn keys(surroundings: &Surroundings) -> Finding {
    let set: Vec<String> = PRESETS.iter().filter_map(|preset| surroundings.key_is_in(preset)).collect();
    if set.is_empty() {
        let hint = "`proofmark models` lists the variables; offline and local models need none".to_owned();
        let (name, detail, result) = ("keys", "none is set".to_owned(), Verdict::Skipped);
        return Finding { detail, hint: Some(hint), name, result };
    }
    fine("keys", format!("set: {}", set.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_writable_when_it_is_or_can_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new_in(dir.path()).unwrap();
        assert!(check_writable(dir.path()).is_ok());
        assert!(check_writable(&dir.path().join("not/there/yet")).is_ok());
        assert!(check_writable(file.path()).is_err());
        assert!(check_writable(&file.path().join("below")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
