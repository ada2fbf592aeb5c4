//! `proofmark doctor`: can the models of a suite be asked, and if not, why?
//!
//! - `check` one tiny call for each model, through the path that a run takes;
//! - `advice` what a failure means and what to do about it;
//! - `look` what the surroundings have, without a suite;
//! - `show` the result for people.

mod advice;
mod check;
mod look;
mod show;

use proofmark_artefact::record::Usage;
use serde::Serialize;

use super::run::to_json;
use crate::args::{DoctorArgs, TextOrJson};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;

pub(crate) fn run(args: &DoctorArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (models, surroundings) = match &args.suite {
        Some(suite) => (check::models(suite, args, settings)?, Vec::new()),
        None => (Vec::new(), look::surroundings(settings)),
    };
    let document = Document::new(models, surroundings);
    let text = match args.format {
        TextOrJson::Json => to_json(&document)?,
        TextOrJson::Text => show::describe(&document, settings.style.stdout, settings.width),
    };
    settings.print(&text)?;
    Ok(if document.counts.failed == 0 { Exit::Holds } else { Exit::DoesNotHold })
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Document {
    counts: Counts,
    format: &'static str,
    /// In the suite's order; empty without a suite.
    models: Vec<ModelCheck>,
    /// Empty with a suite.
    surroundings: Vec<Finding>,
    version: u32,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    failed: usize,
    ok: usize,
    skipped: usize,
    /// Models that answered with something to say about it, and surroundings that lack what few need.
    warnings: usize,
}

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Failed,
    Skipped,
    Warning,
}

/// What one call of a model came to. What does not apply is null.
#[derive(Debug, Serialize)]
struct ModelCheck {
    /// The model that the provider says has answered.
    answered_by: Option<String>,
    attempts: usize,
    /// As in records; `not_ready` when something was missing and nothing was asked.
    class: Option<String>,
    /// Without what must not be seen.
    endpoint: Option<String>,
    hint: Option<String>,
    id: String,
    /// Of the last attempt.
    latency_ms: Option<f64>,
    message: Option<String>,
    model: String,
    request_id: Option<String>,
    result: Verdict,
    /// HTTP status or exit code of the last attempt.
    status: Option<i32>,
    usage: Option<Usage>,
    warnings: Vec<String>,
}

/// Something about the surroundings.
#[derive(Debug, Serialize)]
struct Finding {
    detail: String,
    hint: Option<String>,
    name: &'static str,
    result: Verdict,
}

impl Document {
    fn new(models: Vec<ModelCheck>, surroundings: Vec<Finding>) -> Self {
        let mut counts = Counts::default();
        let verdicts = models.iter().map(|model| model.result).chain(surroundings.iter().map(|found| found.result));
        for verdict in verdicts {
            match verdict {
                Verdict::Ok => counts.ok += 1,
                Verdict::Failed => counts.failed += 1,
                Verdict::Skipped => counts.skipped += 1,
                Verdict::Warning => counts.warnings += 1,
            }
        }
        counts.warnings += models.iter().filter(|model| !model.warnings.is_empty()).count();
        Self { counts, format: "proofmark.doctor", models, surroundings, version: 1 }
    }
}
