//! `proofmark init`.

use std::path::Path;

use proofmark_artefact::store::write_atomic;

use crate::args::InitArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// A file that is written: its path and its text.
pub(crate) type Template = (&'static str, &'static str);

const FILES: [Template; 2] = [
    ("suite.yaml", include_str!("../../assets/init/suite.yaml")),
    ("data/capitals.jsonl", include_str!("../../assets/init/data/capitals.jsonl")),
];

pub(crate) fn run(args: &InitArgs, settings: &Settings) -> Result<Exit, Failure> {
    for (name, _) in FILES {
        let path = args.dir.join(name);
        if path.exists() {
            return Err(Failure::new(format!("`{}` is there already", path.display()))
                .hint("choose another folder: `proofmark init DIR`".to_owned()));
        }
    }
    write_files(&args.dir, &FILES)?;
    let suite = args.dir.join("suite.yaml");
    let shown = suite.display();
    let mut out = String::new();
    for (name, _) in FILES {
        out.push_str(&format!("wrote {}\n", args.dir.join(name).display()));
    }
    out.push_str(&format!("\nnext:\n  proofmark run {shown} --dry-run\n  proofmark run {shown}\n"));
    settings.print(&out)?;
    Ok(Exit::Holds)
}

/// Writes files under a folder, each whole or not at all.
pub(crate) fn write_files(dir: &Path, files: &[Template]) -> Result<(), Failure> {
    let failure = |path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot write `{}`: {error}", path.display())).hint("choose another folder".to_owned())
    };
    // Folders first: where one cannot be made, nothing is written.
    for (name, _) in files {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| failure(&path, error))?;
        }
    }
    for (name, text) in files {
        let path = dir.join(name);
        write_atomic(&path, text.as_bytes()).map_err(|error| failure(&path, error))?;
    }
    Ok(())
}
