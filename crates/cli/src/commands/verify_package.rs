//! `proofmark verify PACKAGE`.

use std::path::Path;

use proofmark_artefact::package::format::{self, Palette};
use proofmark_artefact::package::names::HUB;
use proofmark_artefact::replay::Answer;
use proofmark_artefact::store::write_atomic;
use proofmark_artefact::verify::{Demand, Rung};
use proofmark_package::archive::{ArchiveError, Limits, Source};
use proofmark_package::svr;
use proofmark_package::verify::{Allowed, UnknownSigner, Verification, Warnings, verify};
use proofmark_run::ladder::Commands;
use proofmark_trust::moment::Moment;
use proofmark_trust::policy::Role;

use super::package::{load, scratch};
use super::verify_replay;
use crate::args::{ReplayFormat, VerifyArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::signing::{load_trust, signer};
use crate::ui::style::Style;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(args: &VerifyArgs, demand: Demand, settings: &Settings) -> Result<Exit, Failure> {
    let [path] = &args.paths[..] else {
        return Err(Failure::new("one package at a time").hint("call `proofmark verify` once for each".to_owned()));
    };
    if demand.rung() > Rung::Scores || args.cassette.is_some() {
        return Err(Failure::new("a package holds no cassette, and nobody to ask: rung 3 is the highest")
            .hint("rungs 4 and 5 are climbed with the run directory that was sealed".to_owned()));
    }
    let more = &args.package;
    let trust = load_trust(settings, args.trust.as_deref())?;
    // Asked for before it takes long.
    let attester = match &more.attest {
        Some(key) => {
            let signer = signer(settings, &trust, Role::Verifier, Some(key), more.passphrase_file.as_deref())?;
            let at = moment(more.signed_at.as_deref(), settings)?;
            trust.key(&signer.key.public().fingerprint(), Role::Verifier, &at).map_err(|distrust| {
                Failure::from_error(&distrust)
                    .hint("give it the role: `proofmark keys trust KEY --role verifier`".to_owned())
            })?;
            Some((signer, at))
        }
        None => None,
    };
    let cache = args.root.as_ref().and_then(|_| settings.cache_dir());
    let loader = |run: &Path, root: &Path, folder: &Path| {
        // The verdict is to be the same on any machine: its own cache counts only for inputs that are its own.
        let package = (args.root.is_none() || folder.join(HUB).is_dir()).then_some(folder);
        load(run, root, package, settings)
    };
    let how = Verification {
        trust: &trust,
        unknown_signer: if more.any_signer { UnknownSigner::Accept } else { UnknownSigner::Refuse },
        allowed: if more.allow_dirty { Allowed::Accept } else { Allowed::Refuse },
        warnings: if more.strict { Warnings::Refuse } else { Warnings::Accept },
        demand,
        commands: if args.run_commands { Commands::Run } else { Commands::Refuse },
        root: args.root.as_deref(),
        cache: cache.as_deref(),
        gold: more.gold.as_deref(),
        version: VERSION,
        load: &loader,
        progress: &|_, _| {},
    };
    let failed = |error: ArchiveError| {
        Failure::from_error(&error).within(&format!("`{path}`: ")).hint(error.hint().map(str::to_owned))
    };
    let source = Source::at(Path::new(path)).map_err(|error| Failure::from_error(&error))?;
    let scratch = scratch().map_err(failed)?;
    let verdict = verify(&source, scratch.path(), &Limits::default(), &how).map_err(failed)?;
    let palette = if settings.style.stdout == Style::Coloured { Palette::Colour } else { Palette::Plain };
    settings.print(&match args.format {
        ReplayFormat::Text => format::text(&verdict, path, palette),
        ReplayFormat::Json => format::json(&verdict).map_err(|error| Failure::from_error(&error))?,
        ReplayFormat::Github => format::github(&verdict, path),
    })?;
    if let (Some((signer, at)), Some(output)) = (attester, &more.output) {
        if verdict.answer != Answer::Holds {
            settings.print_err("the verdict does not hold, so it was not signed\n");
        } else {
            let bytes = svr::attest(&verdict, &at, &signer.key).map_err(|error| Failure::from_error(&error))?;
            let unwritten = |error| Failure::new(format!("cannot write `{}`: {error}", output.display()));
            write_atomic(output, &bytes).map_err(unwritten)?;
            settings.print_err(&format!("signed the verdict as {}: {}\n", signer.source, output.display()));
        }
    }
    Ok(verify_replay::exit(verdict.answer))
}

/// A moment that was given, or now.
pub(super) fn moment(given: Option<&str>, settings: &Settings) -> Result<String, Failure> {
    match given {
        None => Ok(settings.now()),
        Some(text) => {
            let moment: Moment = text.parse().map_err(|error| Failure::from_error(&error))?;
            Ok(moment.to_string())
        }
    }
}

/// Options that mean nothing for a run directory are not passed over in silence.
pub(super) fn refuse_options(args: &VerifyArgs) -> Result<(), Failure> {
    let more = &args.package;
    let given = [
        (more.gold.is_some(), "--gold", "`proofmark audit RUN --gold DATASET` looks at a run directory"),
        (more.allow_dirty, "--allow-dirty", "it is about packages"),
        (more.strict, "--strict", "it is about packages; `proofmark audit RUN --strict` looks at a run directory"),
        (more.any_signer, "--any-signer", "it is about packages"),
        (more.attest.is_some(), "--attest", "it is about packages; `proofmark seal` makes one of a run directory"),
    ];
    match given.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, hint)) => {
            Err(Failure::new(format!("`{option}` needs a sealed package")).hint(hint.to_owned()))
        }
        None => Ok(()),
    }
}
