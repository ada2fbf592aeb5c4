//! `proofmark seal`.

use std::fs;
use std::path::{Path, PathBuf};

use proofmark_artefact::audit::Attestation;
use proofmark_artefact::number::counted;
use proofmark_artefact::package::{Allowance, Inputs, names as package_names};
use proofmark_artefact::replay::{Answer, locate};
use proofmark_artefact::store::{RunDir, names, sync_dir};
use proofmark_artefact::text::visible;
use proofmark_artefact::verify::format::{self as verify_format, Palette};
use proofmark_artefact::verify::inputs::climb_inputs;
use proofmark_artefact::verify::{Demand, Outcome, Rung};
use proofmark_artefact::witness::Block;
use proofmark_package::again::{self, Look};
use proofmark_package::allowances::needed;
use proofmark_package::archive;
use proofmark_package::collect::{CollectError, collect_inputs, collect_run};
use proofmark_package::metadata::Said;
use proofmark_package::papers::PAPERS;
use proofmark_package::seal::{Order, Sealed, package_name, seal, sealer};
use proofmark_run::ladder::Commands;
use proofmark_trust::policy::{Distrust, Role, Trust};

use super::package::load;
use super::verify_package::moment;
use super::verify_replay;
use crate::args::SealArgs;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::signing::{Signer, load_trust, signer};
use crate::ui::progress::{Bar, Counted};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(args: &SealArgs, settings: &Settings) -> Result<Exit, Failure> {
    let signed_at = moment(args.signed_at.as_deref(), settings)?;
    let run = RunDir::open(&args.run).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let block: Block = run
        .read_json(names::REPLAY)
        .map_err(|error| Failure::from_error(&error).hint("a run without a witness cannot be sealed".to_owned()))?;
    let target = Target::new(args, package_name(&signed_at, run.manifest().run_id))?;
    let trust = load_trust(settings, args.trust.as_deref())?;
    let signer = signer(settings, &trust, Role::Submitter, args.key.as_deref(), args.passphrase_file.as_deref())?;
    check_signer(&trust, &signer, &signed_at, settings)?;

    let scratch = target.scratch()?;
    let folder = scratch.path().join(&target.name);
    let inputs = if args.without_inputs { Inputs::LeftOut } else { Inputs::Included };
    collect(args, &block, inputs, &folder, settings)?;
    let loader = |run: &Path, root: &Path, folder: &Path| load(run, root, Some(folder), settings);
    let bar = Bar::new(settings.stderr_is_terminal, Counted::Bytes);
    let look = Look {
        folder: &folder,
        root: None,
        cache: None,
        inputs,
        load: &loader,
        version: VERSION,
        progress: &|done, total| bar.show(done, total),
    };
    let outcome = again::climb(&look, Commands::Refuse, &trust, Demand::UpTo(Rung::Scores));
    let report = again::audit(&look).map_err(|error| Failure::from_error(&error).hint(error.hint()));
    bar.clear();
    if outcome.answer != Answer::Holds || outcome.reached < Rung::Artefacts.number() {
        return refuse_unverified(&outcome, settings);
    }
    let report = report?;
    let allowances = needed(&block, &report);
    if !allowances.is_empty() && !args.allow_dirty {
        return refuse(&allowances, settings);
    }
    if args.strict && !report.attestation.strict_clean {
        return refuse_warnings(&report.attestation, settings);
    }
    let name = args.name.as_ref().map(|name| visible(name));
    let said = Said { allowances, inputs, name, sealed_with: sealer(VERSION) };
    let allowances = said.allowances.clone();
    let order = Order { said, report: &report, reached: outcome.reached, signed_at: signed_at.clone() };
    let sealed = seal(&folder, order, &signer.key).map_err(|error| Failure::from_error(&error))?;
    let written = target.publish(&folder)?;
    let told = Told { sealed: &sealed, signer: &signer, signed_at: &signed_at, outcome: &outcome, inputs };
    settings.print(&told.text(&target, &written, &report.attestation))?;
    warn(&allowances, &sealed, &outcome, settings);
    Ok(Exit::Holds)
}

/// Where the package goes.
struct Target {
    output: PathBuf,
    name: String,
}

impl Target {
    /// Refuses what is there already, before anything is done.
    fn new(args: &SealArgs, name: String) -> Result<Self, Failure> {
        let output = args.output.clone().unwrap_or_else(|| PathBuf::from("."));
        let target = Self { output, name };
        for path in [target.folder(), target.archive()] {
            if path.symlink_metadata().is_ok() {
                return Err(Failure::new(format!("`{}` is there already", path.display()))
                    .hint("a package is never written over; move it, or give another `--output DIR`".to_owned()));
            }
        }
        Ok(target)
    }

    fn folder(&self) -> PathBuf {
        self.output.join(&self.name)
    }

    fn archive(&self) -> PathBuf {
        self.output.join(format!("{}.tar", self.name))
    }

    /// A hidden folder beside it, which goes away unless it is given its name.
    fn scratch(&self) -> Result<tempfile::TempDir, Failure> {
        let failed = |error| Failure::new(format!("cannot write to `{}`: {error}", self.output.display()));
        fs::create_dir_all(&self.output).map_err(failed)?;
        tempfile::Builder::new().prefix(".proofmark-seal-").tempdir_in(&self.output).map_err(failed)
    }

    /// Writes the archive, then gives the folder its name: whoever sees the folder has the archive too.
    fn publish(&self, folder: &Path) -> Result<archive::Written, Failure> {
        let failed = |error: &(dyn std::error::Error + 'static)| Failure::from_error(error);
        let opened = archive::open(
            &archive::Source::Folder(folder.to_owned()),
            Path::new(""),
            &archive::Limits::default(),
            |_, _| Ok(()),
        )
        .map_err(|error| Failure::from_error(&error).hint(error.hint().map(str::to_owned)))?;
        let files = opened.files.keys().map(|name| (name.clone(), name.under(folder)));
        let first = PAPERS.map(|(name, _)| name);
        let written = archive::write(&self.archive(), &self.name, &first, files).map_err(|error| failed(&error))?;
        let renamed = fs::rename(folder, self.folder()).and_then(|()| sync_dir(&self.output));
        if let Err(error) = renamed {
            // One without the other is half a package.
            let _ = fs::remove_file(self.archive());
            return Err(Failure::new(format!("cannot write `{}`: {error}", self.folder().display())));
        }
        Ok(written)
    }
}

/// A package that its own maker would not believe is not made. A key that the trust file does not know is a warning.
fn check_signer(trust: &Trust, signer: &Signer, at: &str, settings: &Settings) -> Result<(), Failure> {
    match trust.key(&signer.key.public().fingerprint(), Role::Submitter, at) {
        Ok(_) => Ok(()),
        Err(distrust @ Distrust::Unknown(_)) => {
            let mark = settings.style.stderr.warn("warning: ");
            settings.print_err(&format!("{mark}{distrust}, so that your own `proofmark verify` will not believe it\n"));
            Ok(())
        }
        Err(distrust) => Err(Failure::from_error(&distrust)
            .hint("sign with another key, or `proofmark keys trust KEY --role submitter`".to_owned())),
    }
}

/// Copies the run, and what it was fed.
fn collect(args: &SealArgs, block: &Block, inputs: Inputs, folder: &Path, settings: &Settings) -> Result<(), Failure> {
    let failed = |error: CollectError| Failure::from_error(&error).hint(error.hint());
    collect_run(&args.run, folder).map_err(failed)?;
    if inputs == Inputs::LeftOut {
        return Ok(());
    }
    let path = args.run.to_string_lossy().into_owned();
    let targets = locate(&[path]).map_err(|error| Failure::from_error(&error))?;
    let options = verify_replay::options(None, args.root.clone(), settings);
    let root = targets.first().and_then(|target| climb_inputs(target, &options).outcome.root_path);
    let root = root.ok_or_else(|| {
        Failure::new("it is not known where the run's inputs are")
            .hint("say where their paths start with `--root DIR`, or leave them out with `--without-inputs`".to_owned())
    })?;
    collect_inputs(block, &root, settings.cache_dir().as_deref(), folder).map_err(failed)
}

fn refuse_unverified(outcome: &Outcome, settings: &Settings) -> Result<Exit, Failure> {
    settings.print(&verify_format::text(std::slice::from_ref(outcome), Palette::Plain))?;
    settings.print_err("refused: a run that does not verify is not sealed\n");
    Ok(Exit::DoesNotHold)
}

fn refuse(allowances: &[Allowance], settings: &Settings) -> Result<Exit, Failure> {
    let mut text = String::from("refused:\n");
    for allowance in allowances {
        text.push_str(&format!("  {}: {}\n", allowance.kind.as_str(), visible(&allowance.reason)));
    }
    settings.print(&text)?;
    let hint = "`proofmark audit RUN` shows the audit's evidence; `--allow-dirty` seals nevertheless, and says so in the package\n";
    settings.print_err(&format!("{}{hint}", settings.style.stderr.hint("hint: ")));
    Ok(Exit::DoesNotHold)
}

fn refuse_warnings(attestation: &Attestation, settings: &Settings) -> Result<Exit, Failure> {
    let ids = [&attestation.warn_failures[..], &attestation.skipped[..]].concat().join(", ");
    settings.print(&format!("refused:\n  audit: with `--strict`, {ids} must pass too\n"))?;
    Ok(Exit::DoesNotHold)
}

/// What is said of a package that was made.
struct Told<'a> {
    sealed: &'a Sealed,
    signer: &'a Signer,
    signed_at: &'a str,
    outcome: &'a Outcome,
    inputs: Inputs,
}

impl Told<'_> {
    fn text(&self, target: &Target, written: &archive::Written, audit: &Attestation) -> String {
        let Self { sealed, signer, signed_at, outcome, inputs } = self;
        let rung = Rung::of_number(outcome.reached).map_or("none", Rung::name);
        let audit = match (audit.clean, audit.strict_clean) {
            (true, true) => "clean",
            (true, false) => "clean, with warnings",
            (false, _) => "not clean",
        };
        let inputs = match inputs {
            Inputs::Included => "with its inputs",
            Inputs::LeftOut => "without its inputs: a stranger reaches rung 2",
        };
        format!(
            "sealed run {} {inputs}\n  signed by: {} {} at {signed_at}\n  reached: rung {} of 5 ({rung})\n  audit: {audit}\n  \
             {}: {}, {}\n  {}: {}\n",
            sealed.run_id,
            signer.source,
            signer.key.public().fingerprint(),
            outcome.reached,
            target.folder().display(),
            counted(sealed.files, "file", "files"),
            counted(sealed.bytes, "byte", "bytes"),
            target.archive().display(),
            written.digest,
        )
    }
}

fn warn(allowances: &[Allowance], sealed: &Sealed, outcome: &Outcome, settings: &Settings) {
    let mark = settings.style.stderr.warn("warning: ");
    for allowance in allowances {
        let (kind, reason) = (allowance.kind.as_str(), visible(&allowance.reason));
        settings.print_err(&format!("{mark}sealed although: {kind}: {reason}\n"));
    }
    let last = outcome.rungs.last().filter(|climb| climb.answer != Answer::Holds);
    if let Some(why) = last.and_then(|climb| climb.checks.iter().find_map(|check| check.note.as_ref())) {
        let stopped = outcome.stopped.as_deref().unwrap_or_default();
        settings.print_err(&format!("{mark}{stopped}: {}\n", visible(why)));
    }
    if let Some(why) = &sealed.no_results {
        let name = package_names::RESULTS;
        settings.print_err(&format!("{mark}there is no {name}: {}; `proofmark export gaia` makes one\n", visible(why)));
    }
}
