//! `proofmark validate`.

use proofmark_artefact::number::count;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::text::visible;
use proofmark_artefact::validate::{Outcome, Severity, validate_run};

use super::run::{load, to_json};
use crate::args::{TextOrJson, ValidateArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &ValidateArgs, settings: &Settings) -> Result<Exit, Failure> {
    if args.path.is_dir() {
        return validate_directory(args, settings);
    }
    validate_suite(args, settings)
}

fn validate_directory(args: &ValidateArgs, settings: &Settings) -> Result<Exit, Failure> {
    let outcome = validate_run(&args.path).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let exit = if outcome.holds() { Exit::Holds } else { Exit::DoesNotHold };
    match args.format {
        TextOrJson::Json => settings.print(&to_json(&outcome)?)?,
        TextOrJson::Text => settings.print(&text(&outcome, settings))?,
    }
    Ok(exit)
}

fn text(outcome: &Outcome, settings: &Settings) -> String {
    let style = settings.style.stdout;
    let mut out = String::new();
    for finding in &outcome.findings {
        let line = visible(&finding.to_string());
        out.push_str(&match finding.severity {
            Severity::Error => style.bad(&line),
            Severity::Warning => style.warn(&line),
        });
        out.push('\n');
    }
    let hidden = outcome.total - outcome.findings.len() as u64;
    if hidden > 0 {
        out.push_str(&format!("… and {} more findings\n", count(hidden)));
    }
    let records = count(outcome.records);
    out.push_str(&if outcome.holds() {
        style.good(&format!("valid: {records} records and every file they are bound to\n"))
    } else {
        style.bad(&format!("not valid: {} findings in {records} records\n", count(outcome.total)))
    });
    for note in &outcome.not_checked {
        out.push_str(&format!("{} {note}\n", style.dim("not checked:")));
    }
    out
}

/// Everything that a run would check before it asks.
fn validate_suite(args: &ValidateArgs, settings: &Settings) -> Result<Exit, Failure> {
    let ready = match load(&args.path, args.root.clone(), &Overrides::default(), None, settings) {
        Ok(ready) => ready,
        // A suite that is there and wrong was checked; one that is not there, or whose hub does not answer, was not.
        Err(failure) if args.path.is_file() && !failure.is_of_surroundings => {
            failure.print(settings);
            if args.format == TextOrJson::Json {
                let document =
                    serde_json::json!({"format": "proofmark.validate", "valid": false, "error": failure.to_string()});
                settings.print(&format!("{document}\n"))?;
            }
            return Ok(Exit::DoesNotHold);
        }
        Err(failure) => return Err(failure),
    };
    let out = match args.format {
        TextOrJson::Json => {
            let run_id = ready.run_id.to_string();
            let samples = ready.samples();
            format!(
                "{}\n",
                serde_json::json!({"format": "proofmark.validate", "valid": true, "run_id": run_id, "samples": samples})
            )
        }
        TextOrJson::Text => {
            settings.style.stdout.good(&format!("valid: {} samples, run {}\n", count(ready.samples()), ready.run_id))
        }
    };
    settings.print(&out)?;
    Ok(Exit::Holds)
}
