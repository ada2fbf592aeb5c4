//! Sealed packages, wherever a run directory can be named.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use proofmark_artefact::package::names::{ATTESTATIONS, CONTENTS, INPUTS, RUN};
use proofmark_artefact::store::names;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_model::Surroundings;
use proofmark_package::archive::{ArchiveError, Limits, Opened, Source, begins_as_archive};
use proofmark_package::papers::open_listed;
use proofmark_run::dataset::HubContext;
use proofmark_run::ready::{ModelUse, Ready, World};
use tempfile::TempDir;

use super::run::ready_failure;
use crate::exit::Failure;
use crate::settings::Settings;

/// Whether a path is meant as a package: a folder that has what packages have, or an archive.
pub(crate) fn is_package(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(ATTESTATIONS).is_dir() || (path.join(CONTENTS).is_file() && path.join(RUN).is_dir());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    // Those that are no format of packages too: they are told so.
    const ENDINGS: [&str; 6] = [".tar", ".tar.zst", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"];
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || (path.is_file() && has_magic(path))
}

/// Whether a file begins as archives do.
fn has_magic(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(262).read_to_end(&mut beginning));
    read.is_ok() && begins_as_archive(&beginning)
}

/// A package that was opened; an archive's files go when it is dropped.
pub(crate) struct Package {
    pub(crate) opened: Opened,
    _scratch: TempDir,
}

/// A folder to unpack to, which goes away when it is dropped.
pub(crate) fn scratch() -> Result<TempDir, ArchiveError> {
    TempDir::new()
        .map_err(|source| ArchiveError::Write { path: PathBuf::from("the folder for temporary files"), source })
}

/// Opens a package. Nothing of it is checked but that it holds plain files within the limits, and an archive only those on its
/// list.
pub(crate) fn open_package(path: &Path) -> Result<Package, ArchiveError> {
    let source = Source::at(path)?;
    let scratch = scratch()?;
    let opened = open_listed(&source, scratch.path(), &Limits::default())?;
    Ok(Package { opened, _scratch: scratch })
}

/// Where a run is: in its directory, or in a package.
pub(crate) enum Place {
    Directory(PathBuf),
    Package { package: Package, run: PathBuf },
}

/// Finds the run that a path means. Says that the signature of a package is not checked here.
pub(crate) fn place_of(path: &Path, settings: &Settings) -> Result<Place, Failure> {
    if !is_package(path) {
        return Ok(Place::Directory(path.to_owned()));
    }
    let package = open_package(path).map_err(|error| {
        Failure::from_error(&error).within(&format!("`{}`: ", path.display())).hint(error.hint().map(str::to_owned))
    })?;
    let run = package.opened.folder.join(RUN);
    if !run.join(names::MANIFEST).is_file() {
        return Err(Failure::new(format!("there is no run in the package `{}`", path.display()))
            .hint("`proofmark verify` says what is wrong with it".to_owned()));
    }
    let note = format!("{}: signatures are not checked here; `proofmark verify` does that\n", path.display());
    settings.print_err(&format!("{}{note}", settings.style.stderr.hint("note: ")));
    Ok(Place::Package { package, run })
}

impl Place {
    /// The run directory.
    pub(crate) fn run(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Package { run, .. } => run,
        }
    }

    pub(crate) fn is_package(&self) -> bool {
        matches!(self, Self::Package { .. })
    }

    /// Where the inputs are, when they are in a package.
    pub(crate) fn inputs(&self) -> Option<PathBuf> {
        match self {
            Self::Directory(_) => None,
            Self::Package { package, .. } => Some(package.opened.folder.join(INPUTS)),
        }
    }

    /// Loads the suite of the run again, with no model that could be asked.
    pub(crate) fn load(&self, root: &Path, settings: &Settings) -> Result<Ready, String> {
        match self {
            Self::Directory(run) => load(run, root, None, settings),
            Self::Package { package, run } => load(run, root, Some(&package.opened.folder), settings),
        }
    }
}

/// Where nothing is fetched from: a package is looked at offline.
const NOWHERE: &str = "https://hub.invalid";

/// Loads the suite of a run again. Datasets of the hub come from the package that it is in, else from the cache.
pub(crate) fn load(run: &Path, root: &Path, package: Option<&Path>, settings: &Settings) -> Result<Ready, String> {
    let hub = match package {
        // What it comes to must not depend on what this machine happens to have.
        Some(folder) => Some(HubContext::new(NOWHERE, folder)),
        None => settings.hub(),
    };
    let world = World {
        root: Some(root.to_owned()),
        hub: hub.map(|hub| HubContext { offline: true, ..hub }),
        scratch: None,
        offline: proofmark_model::offline::Behaviour::default(),
        program_path: settings.program_path(),
        surroundings: Surroundings::none(),
        models: ModelUse::Named,
        judges: ModelUse::Named,
        tools: settings.tool_world(),
    };
    let suite = run.join(names::CONFIG);
    Ready::load(&suite, &Overrides::default(), &world)
        .map_err(|error| format!("the suite cannot be loaded again: {}", ready_failure(&error, &suite).on_one_line()))
}
