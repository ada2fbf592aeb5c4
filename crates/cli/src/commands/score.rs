//! `proofmark score`.

use std::fmt::Write as _;
use std::path::Path;

use proofmark_artefact::diff::{self, CellSide, Change, Class, Comparison, Sample};
use proofmark_artefact::manifest::Platform;
use proofmark_artefact::number::{count, counted, percent};
use proofmark_artefact::record::Status;
use proofmark_artefact::scored::{Document, Outputs, SCORE_SCHEMA};
use proofmark_artefact::store::{ClaimError, OnExisting, RunDir};
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::text::visible;
use proofmark_run::budget::Budget;
use proofmark_run::execute::{self, Options, Outcome, RunError};
use proofmark_run::given::{self, Given, give};
use proofmark_run::source::SourceError;
use proofmark_run::witness::real_path;

use super::run::{default_run_dir, judge_errors, load_named, stop_on_interrupt, text, to_json};
use crate::args::{ScoreArgs, TextOrJson};
use crate::commands::judging;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::progress::Meter;
use crate::ui::style::Style;
use crate::ui::table::{Align, render};

/// Changed samples that are shown.
const SHOWN: usize = 20;

pub(crate) fn run(args: &ScoreArgs, settings: &Settings) -> Result<Exit, Failure> {
    let overrides = Overrides {
        only: args.only.clone(),
        max_items: args.max_items,
        strict_serialization: args.no_strict_serialization.then_some(false),
        ..Overrides::default()
    };
    let repository = settings.look_at_repository(&args.suite)?;
    let ready = load_named(&args.suite, args.root.clone(), &overrides, settings)?;
    let options = given::Options { output_field: args.output_field.clone(), scratch: None };
    let (ready, given) =
        give(ready, &args.outputs, &options).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let run_dir = args.run_dir.clone().unwrap_or_else(|| default_run_dir(&ready.plan.name, &ready.run_id));
    keep_apart(&given, &run_dir)?;

    let mut paths = vec![(None, args.outputs.clone()), (Some("--suite"), args.suite.clone())];
    paths.extend(args.run_dir.clone().map(|dir| (Some("--run-dir"), dir)));
    paths.extend(args.root.clone().map(|dir| (Some("--root"), dir)));
    let is_quiet = args.format == TextOrJson::Json && !settings.stderr_is_terminal;
    let meter = Meter::new(settings.stderr_is_terminal, ready.samples(), is_quiet);
    let shelf = judging::shelf(&ready, &args.judging, settings)?;
    let options = Options {
        shelf: shelf.clone(),
        run_dir: run_dir.clone(),
        on_existing: if args.overwrite { OnExisting::Overwrite } else { OnExisting::Refuse },
        concurrency: args.concurrency.map(usize::from),
        budget: Budget::default(),
        skip_report: args.skip_report,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: Platform { arch: std::env::consts::ARCH.to_owned(), os: std::env::consts::OS.to_owned() },
        invocation: settings.invocation(&ready, paths, repository)?,
        stop: stop_on_interrupt(),
    };
    let outcome = execute::run(ready, options, Box::new(meter));
    shelf.report(settings);
    let outcome = outcome.map_err(|error| failure(&error))?;
    let against = given.run.as_ref().map(|run| compare(run, &run_dir)).transpose()?;
    let probed = match args.probe.probe_judge {
        Some(most) => {
            let ready = load_named(&args.suite, args.root.clone(), &overrides, settings)?;
            judging::probe_run(&ready, &run_dir, most, &shelf, settings)?
        }
        None => String::new(),
    };
    settings.print(&match args.format {
        TextOrJson::Json => json(&outcome, &given, against.as_ref())?,
        TextOrJson::Text => format!("{}{probed}", shown(&outcome, &given, against.as_ref(), settings)),
    })?;
    Ok(judge_errors(&outcome, args.allow_errors, settings))
}

/// Refuses to write where the answers are: replacing a run would take away what is scored.
fn keep_apart(given: &Given, run_dir: &Path) -> Result<(), Failure> {
    let cwd =
        std::env::current_dir().map_err(|error| Failure::new(format!("cannot tell which folder this is: {error}")))?;
    let (outputs, target) = (real_path(&given.path, &cwd), real_path(run_dir, &cwd));
    if outputs.starts_with(&target) {
        let message = format!("`{}` holds the outputs that are to be scored", run_dir.display());
        return Err(Failure::new(message).hint("choose another `--run-dir`".to_owned()));
    }
    Ok(())
}

fn compare(old: &RunDir, new: &Path) -> Result<Comparison, Failure> {
    let new = RunDir::open(new).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let options = diff::Options { keep: diff::Keep::First(SHOWN), ..diff::Options::default() };
    diff::diff(old, &new, &options).map_err(|error| Failure::from_error(&error).hint(error.hint()))
}

fn json(outcome: &Outcome, given: &Given, against: Option<&Comparison>) -> Result<String, Failure> {
    let path = |path: &Path| path.display().to_string();
    to_json(&Document {
        against: against.map(|comparison| diff::format::Document::new(comparison, &[])),
        outputs: Outputs {
            answers: given.answers,
            digest: given.digest,
            missing: given.missing,
            path: &path(&given.path),
            unused: given.unused(),
            used: given.used,
        },
        run_dir: &path(&outcome.run_dir),
        run_id: outcome.manifest.run_id,
        schema_version: SCORE_SCHEMA,
        summary: &outcome.summary,
    })
}

fn shown(outcome: &Outcome, given: &Given, against: Option<&Comparison>, settings: &Settings) -> String {
    let style = settings.style.stdout;
    let mut out = text(outcome, settings);
    let file = visible(&given.path.display().to_string());
    let answers = counted(given.answers, "answer", "answers");
    let _ = writeln!(out, "\n{} of {answers} in {file} were scored; no model was asked", count(given.used));
    if let Some((line, key)) = &given.first_unused {
        let whose = if given.unused() == 1 { "answer is for a sample" } else { "answers are for samples" };
        let text = format!(
            "{} {whose} that the suite does not have; the first one in line {line}: {key}",
            count(given.unused())
        );
        let _ = writeln!(out, "{}", style.warn(&visible(&text)));
    }
    if given.missing > 0 {
        let text = format!("{} no answer", counted(given.missing, "sample has", "samples have"));
        let _ = writeln!(out, "{}", style.warn(&text));
    }
    if let Some(comparison) = against {
        out.push('\n');
        changes(&mut out, comparison, style, settings.width);
    }
    out
}

/// Before and after, cell by cell, and the first samples that changed.
fn changes(out: &mut String, comparison: &Comparison, style: Style, width: usize) {
    let head = [
        ("task", Align::Left),
        ("model", Align::Left),
        ("condition", Align::Left),
        ("passed before", Align::Right),
        ("after", Align::Right),
        ("mean before", Align::Right),
        ("after", Align::Right),
    ];
    let mean = |side: &CellSide| side.mean.map_or_else(|| "–".to_owned(), percent);
    let rows: Vec<Vec<String>> = comparison
        .cells
        .iter()
        .map(|cell| {
            vec![
                visible(&cell.task),
                visible(&cell.model),
                visible(&cell.condition),
                count(cell.a.passed),
                count(cell.b.passed),
                mean(&cell.a),
                mean(&cell.b),
            ]
        })
        .collect();
    out.push_str(&render(&head, &rows, width));
    let matched = counted(comparison.matched, "sample", "samples");
    if comparison.changed == 0 {
        let _ = writeln!(out, "\n{}", style.good(&format!("nothing changed in {matched}")));
        return;
    }
    let (worse, better) = (comparison.counts.of(Class::Regression), comparison.counts.of(Class::Improvement));
    // Scorers of other names cannot be told better from worse.
    let how = match worse + better {
        0 => String::new(),
        _ => format!(": {} worse, {} better", count(worse), count(better)),
    };
    let _ = writeln!(out, "\n{} of {matched} changed{how}", count(comparison.changed));
    for change in comparison.changes.iter().take(SHOWN) {
        let _ = writeln!(out, "  {}: {}", visible(change.key.as_str()), visible(&describe(change)));
    }
    let rest = comparison.changed.saturating_sub(comparison.changes.len().min(SHOWN) as u64);
    if rest > 0 {
        let _ = writeln!(out, "  … and {} more; `proofmark diff` shows them", count(rest));
    }
}

/// Every scorer's verdict before and after, where it is not the same; else what it is that changed.
fn describe(change: &Change) -> String {
    let (old, new) = match (&change.a, &change.b) {
        (Some(old), Some(new)) => (old, new),
        (Some(_), None) => return "not in the suite".to_owned(),
        _ => return "no answer".to_owned(),
    };
    let verdict = |sample: &Sample, scorer: &str| match sample.scores.iter().find(|score| score.scorer == scorer) {
        Some(score) => format!("{} {}", score.value, if score.passed { "passed" } else { "failed" }),
        None if sample.status == Status::Success => "not scored".to_owned(),
        None => sample.error.as_ref().map_or(sample.status.as_str(), |error| &error.class).to_owned(),
    };
    if let ([first_old, ..], [first_new, ..]) = (old.scores.as_slice(), new.scores.as_slice())
        && old.scores.iter().all(|score| new.scores.iter().all(|other| score.scorer != other.scorer))
    {
        // Other scorers altogether: the headline against the headline.
        let (old_name, new_name) = (&first_old.scorer, &first_new.scorer);
        return format!("{old_name} {} → {new_name} {}", verdict(old, old_name), verdict(new, new_name));
    }
    let mut scorers: Vec<&str> = Vec::new();
    for score in old.scores.iter().chain(&new.scores) {
        if !scorers.contains(&score.scorer.as_str()) {
            scorers.push(&score.scorer);
        }
    }
    let moved: Vec<String> = scorers
        .iter()
        .map(|scorer| (scorer, verdict(old, scorer), verdict(new, scorer)))
        .filter(|(_, old, new)| old != new)
        .map(|(scorer, old, new)| format!("{scorer} {old} → {new}"))
        .collect();
    if !moved.is_empty() {
        return moved.join(", ");
    }
    let classes: Vec<&str> = change.classes.iter().map(|class| class.title()).collect();
    classes.join(", ")
}

fn failure(error: &RunError) -> Failure {
    let hint = match error {
        RunError::Claim(ClaimError::Unfinished(_)) => {
            Some("throw it away with `--overwrite`, or choose another `--run-dir`".to_owned())
        }
        RunError::Claim(error) => error.hint().map(ToOwned::to_owned),
        RunError::Interrupted { .. } => Some("start anew with `--overwrite`; no model is asked".to_owned()),
        RunError::Stopped { stop, .. } => stop.hint.clone(),
        RunError::Source(SourceError::Dataset(error)) => error.hint(),
        RunError::Prompt(error) => error.hint.clone(),
        _ => None,
    };
    Failure::from_error(error).hint(hint)
}
