//! `proofmark audit`.

use proofmark_artefact::audit::format::{self, Palette};
use proofmark_artefact::audit::{Attestation, Report};
use proofmark_artefact::store::{RunDir, names, write_atomic};
use proofmark_artefact::verify::artefacts::suite_root;
use proofmark_artefact::witness::Sidecar;
use proofmark_audit::{AuditError, Foreign, Options, Policy, Reveal, audit_results, audit_run};
use proofmark_canon::Value;
use proofmark_run::rescore::{self, FindingKind, Rescored};

use crate::args::{AuditArgs, AuditFormat};
use crate::commands::package::{Place, place_of};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::signing::load_trust;
use crate::ui::style::Style;

pub(crate) fn run(args: &AuditArgs, settings: &Settings) -> Result<Exit, Failure> {
    let failed = |error: AuditError| Failure::from_error(&error).hint(error.hint());
    let options = Options {
        gold: args.gold.clone(),
        reveal: if args.reveal_gold { Reveal::Gold } else { Reveal::Digests },
        audited_at: args.audited_at.clone(),
        policy: args.policy.as_deref().map(Policy::load).transpose().map_err(failed)?.unwrap_or_default(),
        ..Options::default()
    };
    let report = match (&args.run, &args.results) {
        (Some(run), _) => {
            let place = place_of(run, settings)?;
            let rescored = score_again(&place, args, settings)?;
            audit_run(place.run(), &options, rescored.as_ref()).map_err(failed)?
        }
        (None, Some(results)) => {
            let files = Foreign {
                results: results.clone(),
                trajectories: args.trajectories.clone(),
                metadata: args.metadata.clone(),
            };
            audit_results(&files, &options).map_err(failed)?
        }
        (None, None) => return Err(Failure::new("there is nothing to audit").hint(HINT.to_owned())),
    };
    let text = render(args, settings, &report)?;
    match &args.output {
        None => settings.print(&text)?,
        Some(path) => {
            let unwritten = |error| Failure::new(format!("cannot write `{}`: {error}", path.display()));
            write_atomic(path, text.as_bytes()).map_err(unwritten)?;
            let word = if report.attestation.clean { "clean" } else { "not clean" };
            settings.print_err(&format!("{word}; wrote {}\n", path.display()));
        }
    }
    Ok(exit(&report.attestation, args.strict))
}

const HINT: &str = "name a run directory or a package, or results of another harness with `--results FILE`";

fn exit(attestation: &Attestation, strict: bool) -> Exit {
    let holds = if strict { attestation.strict_clean } else { attestation.clean };
    if holds { Exit::Holds } else { Exit::DoesNotHold }
}

fn render(args: &AuditArgs, settings: &Settings, report: &Report) -> Result<String, Failure> {
    let is_coloured = settings.style.stdout == Style::Coloured && args.output.is_none();
    Ok(match args.format {
        AuditFormat::Text => format::text(report, if is_coloured { Palette::Colour } else { Palette::Plain }),
        AuditFormat::Json => {
            let bytes = format::json(report).map_err(|error| Failure::from_error(&error))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        AuditFormat::Markdown => format::markdown(report),
        AuditFormat::Sarif => format::sarif(report).map_err(|error| Failure::from_error(&error))?,
        AuditFormat::Junit => format::junit(report, args.strict),
    })
}

/// Makes every record of a run again, where its suite can be loaded. Without one, or with another one, the audit scores
/// again what the records themselves allow.
fn score_again(place: &Place, args: &AuditArgs, settings: &Settings) -> Result<Option<Rescored>, Failure> {
    let run = place.run();
    let dir = RunDir::open(run).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let recorded = || {
        let sidecar = Sidecar::read(&dir.file(names::REPLAY)).ok()?;
        if let Some(inputs) = place.inputs() {
            return suite_root(run, &sidecar, &inputs);
        }
        let root = sidecar.parse().ok()?.get("root").and_then(Value::as_str).map(ToOwned::to_owned)?;
        suite_root(run, &sidecar, &run.join(root))
    };
    let Some(root) = args.root.clone().or_else(recorded) else { return Ok(None) };
    let Ok(ready) = place.load(&root, settings) else { return Ok(None) };
    let options = rescore::Options { run_commands: args.run_commands };
    let trust = load_trust(settings, None)?;
    let Ok(rescored) = rescore::check(ready, run, options, &trust, &|_, _| {}) else { return Ok(None) };
    let is_other = rescored.findings.iter().any(|finding| finding.kind == FindingKind::OtherSuite);
    Ok((!is_other).then_some(rescored))
}
