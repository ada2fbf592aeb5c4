//! `proofmark hash`.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use proofmark_artefact::manifest::HashMode;
use proofmark_artefact::replay::hash::{MAX_RAW, mode_of, read};
use proofmark_artefact::text::escaped;
use proofmark_canon::Digest;

use crate::args::{HashArgs, ModeArg};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &HashArgs, settings: &Settings) -> Result<Exit, Failure> {
    if args.js_compat && args.mode == Some(ModeArg::Raw) {
        return Err(Failure::new("`--js-compat` is about the structured hash")
            .hint("leave `--mode raw` out: the bytes of a file are the same everywhere".to_owned()));
    }
    for path in &args.files {
        let mode = match args.mode {
            _ if args.js_compat => HashMode::Structured,
            Some(ModeArg::Raw) => HashMode::Raw,
            Some(ModeArg::Structured) => HashMode::Structured,
            None => mode_of(&path.to_string_lossy()),
        };
        hash(path, mode, args, settings)?;
    }
    Ok(Exit::Holds)
}

fn hash(path: &Path, mode: HashMode, args: &HashArgs, settings: &Settings) -> Result<(), Failure> {
    let shown = escaped(&path.display().to_string());
    let cannot = |why: &dyn std::fmt::Display| Failure::new(format!("cannot read `{shown}`: {why}"));
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(|error| cannot(&error))?.is_file() {
        return Err(Failure::new(format!("`{shown}` is not a regular file")));
    }
    let mut file = File::open(path).map_err(|error| cannot(&error))?;
    if mode == HashMode::Raw && args.canonical {
        return copy(&mut file).map_err(|error| cannot(&error));
    }
    let Some(content) = read(file).map_err(|error| cannot(&error))? else {
        return Err(Failure::new(format!("`{shown}` has more than {MAX_RAW} bytes")));
    };
    let (digest, canonical) = match mode {
        HashMode::Raw => (content.raw, Vec::new()),
        HashMode::Structured if args.js_compat => {
            let form = content
                .js()
                .map_err(|error| Failure::new(format!("`{shown}` has no hash in the JavaScript reference: {error}")))?;
            for loss in &form.losses {
                let warning = settings.style.stderr.warn("warning: ");
                settings.print_err(&format!("{warning}`{shown}`: the hash does not pin the content: {loss}\n"));
            }
            (form.digest(), form.canonical)
        }
        HashMode::Structured => {
            let canonical = content.structured().map_err(|error| {
                let source = content.bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
                Failure::new(error.render(&shown, &source))
            })?;
            (Digest::of(&canonical), canonical)
        }
    };
    if args.canonical {
        return write(&canonical);
    }
    settings.print(&format!("{digest}  {shown}\n"))
}

/// The bytes alone, so that another program can hash them.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn copy(file: &mut File) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match io::copy(file, &mut out).and_then(|_| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
