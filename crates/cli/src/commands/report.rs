//! `proofmark report`.

use std::path::Path;

use proofmark_artefact::rebuild::{Rebuilt, rebuild};
use proofmark_artefact::store::{RunDir, names, write_atomic};
use proofmark_artefact::witness::pins;
use proofmark_canon::Digest;

use crate::args::ReportArgs;
use crate::commands::package::place_of;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &ReportArgs, settings: &Settings) -> Result<Exit, Failure> {
    let place = place_of(&args.dir, settings)?;
    if place.is_package() && args.out.is_none() {
        return Err(Failure::new(format!("`{}` is a sealed package, in which nothing is written", args.dir.display()))
            .hint("say where the files go: `--out DIR`".to_owned()));
    }
    let dir = RunDir::open(place.run()).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let hint = format!("`proofmark validate {}` lists everything that is wrong with the run", args.dir.display());
    let rebuilt = rebuild(&dir).map_err(|error| Failure::from_error(&error).hint(hint.clone()))?;
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out)
            .map_err(|error| Failure::new(format!("cannot create `{}`: {error}", out.display())))?;
        return write_both(out, &rebuilt, settings);
    }
    let pinned = |name: &str| dir.manifest().artifacts.get(name);
    let checks = [
        (names::RECORDS, rebuilt.records_digest),
        (names::SUMMARY, Digest::of(&rebuilt.summary)),
        (names::REPORT_HTML, Digest::of(&rebuilt.report)),
    ];
    let mut differs = false;
    for (name, actual) in checks {
        if let Some(expected) = pinned(name).filter(|expected| **expected != actual) {
            differs = true;
            settings.print(&format!("{name}: the manifest pins {expected}, the records give {actual}\n"))?;
        }
    }
    if differs {
        let advice = "nothing was written; `--out DIR` writes the files elsewhere";
        settings.print_err(&format!("{}{advice}\n", settings.style.stderr.hint("hint: ")));
        return Ok(Exit::DoesNotHold);
    }
    if pinned(names::REPORT_HTML).is_none() {
        // The run was made with `--skip-report`; with the page the manifest is that of a whole run.
        let mut manifest = dir.manifest().clone();
        manifest.artifacts.insert(names::REPORT_HTML.to_owned(), Digest::of(&rebuilt.report));
        let mut bytes = proofmark_canon::to_vec(&manifest).map_err(|error| Failure::from_error(&error))?;
        bytes.push(b'\n');
        let exit = write_both(dir.path(), &rebuilt, settings)?;
        write(&dir.file(names::MANIFEST), &bytes)?;
        let changed = [(names::REPORT_HTML, Digest::of(&rebuilt.report)), (names::MANIFEST, Digest::of(&bytes))];
        pins::update(dir.path(), &changed)
            .map_err(|error| Failure::new(format!("cannot update `{}`: {error}", dir.file(names::REPLAY).display())))?;
        return Ok(exit);
    }
    write_both(dir.path(), &rebuilt, settings)
}

fn write_both(out: &Path, rebuilt: &Rebuilt, settings: &Settings) -> Result<Exit, Failure> {
    for (name, bytes) in [(names::SUMMARY, &rebuilt.summary), (names::REPORT_HTML, &rebuilt.report)] {
        let path = out.join(name);
        write(&path, bytes)?;
        settings.print(&format!("wrote {}\n", path.display()))?;
    }
    Ok(Exit::Holds)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomic(path, bytes).map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))?;
    Ok(())
}
