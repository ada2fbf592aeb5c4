//! `proofmark run`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::manifest::{Platform, PriceEntry};
use proofmark_artefact::number::count;
use proofmark_artefact::store::OnExisting;
use proofmark_artefact::store::names;
use proofmark_artefact::suite::assets::AssetError;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::summary::Summary;
use proofmark_artefact::text::visible;
use proofmark_canon::RunId;
use proofmark_model::cassette::{Cassette, Mode};
use proofmark_model::{Surroundings, price};
use proofmark_run::budget::Budget;
use proofmark_run::execute::{self, Options, Outcome, RunError};
use proofmark_run::git::Looking;
use proofmark_run::ready::{ModelUse, Ready, ReadyError, ToolWorld, World};
use proofmark_run::resume::ResumeError;
use proofmark_run::source::SourceError;
use serde::Serialize;
use tokio::sync::watch;

use super::estimate::{self, Estimate};
use crate::args::{Allowance, CassetteMode, RunArgs, TextOrJson};
use crate::commands::judging::{self, CacheShelf};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::progress::Meter;
use crate::ui::results::results;
use crate::ui::table::{Align, render};

pub(crate) fn run(args: &RunArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut paths = vec![(None, args.suite.clone())];
    paths.extend(args.run_dir.clone().map(|dir| (Some("--run-dir"), dir)));
    paths.extend(args.root.clone().map(|dir| (Some("--root"), dir)));
    paths.extend(args.cassette.clone().map(|dir| (Some("--cassette"), dir)));
    paths.extend(args.replay.clone().map(|dir| (Some("--replay"), dir)));
    run_typed(args, paths, settings)
}

/// Runs a suite whose command line held these paths: with the option they belong to, or alone.
pub(crate) fn run_typed(
    args: &RunArgs,
    paths: Vec<(Option<&'static str>, PathBuf)>,
    settings: &Settings,
) -> Result<Exit, Failure> {
    // It answers while the suite is read.
    let repository = settings.look_at_repository(&args.suite)?;
    let surroundings = Surroundings { cassette: cassette(args)?, ..settings.surroundings(concurrency(args)) };
    let tools = ToolWorld { allow_unsandboxed: args.allow_unsandboxed, ..settings.tool_world() };
    let models = ModelUse::Asked;
    let ready = load_with(&args.suite, args.root.clone(), &overrides(args), surroundings, models, tools, settings)?;
    check_prices(&ready, args)?;
    if args.dry_run {
        return dry_run(&ready, args, settings);
    }
    let (outcome, shelf) = execute(ready, args, paths, repository, settings)?;
    let probed = match args.probe.probe_judge {
        Some(most) => {
            // The run took the suite with it; its judges are asked once more.
            let ready = load_named(&args.suite, args.root.clone(), &overrides(args), settings)?;
            judging::probe_run(&ready, &outcome.run_dir, most, &shelf, settings)?
        }
        None => String::new(),
    };
    match args.format {
        TextOrJson::Json => settings.print(&json(&outcome)?)?,
        TextOrJson::Text => settings.print(&format!("{}{probed}", text(&outcome, settings)))?,
    }
    let mut exit = judge_errors(&outcome, args.allow_errors, settings);
    let is_short_of_evidence = outcome.wants_evidence && !outcome.manifest.evidence.recorded;
    if (args.submit_intent || is_short_of_evidence) && !outcome.not_submittable.is_empty() {
        let style = settings.style.stderr;
        let mark = if args.submit_intent { style.error("error: ") } else { style.warn("warning: ") };
        for reason in &outcome.not_submittable {
            settings.print_err(&format!("{mark}the run is not submittable: {}\n", visible(reason)));
        }
        if args.submit_intent {
            exit = Exit::DoesNotHold;
        }
    }
    Ok(exit)
}

/// Whether the samples that errored are permitted, and says so when there are any.
pub(crate) fn judge_errors(outcome: &Outcome, allowed: Option<Allowance>, settings: &Settings) -> Exit {
    let counts = outcome.summary.totals.counts;
    let permitted = allowed.is_some_and(|allowed| allowed.permits(counts.errored, counts.attempted));
    let exit = if counts.errored == 0 || permitted { Exit::Holds } else { Exit::DoesNotHold };
    if counts.errored > 0 {
        let style = settings.style.stderr;
        let errored = format!("{} of {} samples errored", count(counts.errored), count(counts.attempted));
        let (mark, rest) = match exit {
            Exit::Holds => (style.warn("warning: "), " (allowed by --allow-errors)"),
            _ => (style.error("error: "), ""),
        };
        settings.print_err(&format!("{mark}{errored}{rest}\n"));
        if exit == Exit::DoesNotHold {
            let hint = "the report lists them; permit some with `--allow-errors N|N%`";
            settings.print_err(&format!("{}{hint}\n", style.hint("hint: ")));
        }
    }
    exit
}

/// Reads a suite and everything it names.
pub(crate) fn load(
    suite: &Path,
    root: Option<PathBuf>,
    overrides: &Overrides,
    concurrency: Option<usize>,
    settings: &Settings,
) -> Result<Ready, Failure> {
    let (surroundings, tools) = (settings.surroundings(concurrency), settings.tool_world());
    load_with(suite, root, overrides, surroundings, ModelUse::Asked, tools, settings)
}

/// Reads a suite and everything it names for answers that are there already: nothing is looked up or started for its
/// models.
pub(crate) fn load_named(
    suite: &Path,
    root: Option<PathBuf>,
    overrides: &Overrides,
    settings: &Settings,
) -> Result<Ready, Failure> {
    let (surroundings, tools) = (settings.surroundings(None), settings.tool_world());
    load_with(suite, root, overrides, surroundings, ModelUse::Named, tools, settings)
}

fn load_with(
    suite: &Path,
    root: Option<PathBuf>,
    overrides: &Overrides,
    surroundings: Surroundings,
    models: ModelUse,
    tools: ToolWorld,
    settings: &Settings,
) -> Result<Ready, Failure> {
    let world = World {
        root,
        hub: settings.hub(),
        scratch: None,
        offline: settings.offline()?,
        program_path: settings.program_path(),
        surroundings,
        models,
        // Given answers are still judged.
        judges: ModelUse::Asked,
        tools,
    };
    Ready::load(suite, overrides, &world).map_err(|error| ready_failure(&error, suite))
}

/// The cassette that calls are kept on or answered from.
fn cassette(args: &RunArgs) -> Result<Option<Arc<Cassette>>, Failure> {
    let (dir, mode) = match (&args.cassette, &args.replay) {
        (Some(dir), _) => (dir, args.cassette_mode),
        (None, Some(dir)) => (dir, CassetteMode::Replay),
        (None, None) => return Ok(None),
    };
    if args.dry_run {
        // Nothing is asked and nothing is written.
        return Ok(None);
    }
    let mode = match mode {
        CassetteMode::Record => Mode::Record,
        CassetteMode::Replay => Mode::Replay,
        CassetteMode::Auto => Mode::Auto,
    };
    Cassette::open(dir, mode).map(Some).map_err(|error| Failure::from_error(&error).hint(error.hint()))
}

fn concurrency(args: &RunArgs) -> Option<usize> {
    args.concurrency.map(usize::from)
}

/// A limit on cost needs to know what everything costs.
fn check_prices(ready: &Ready, args: &RunArgs) -> Result<(), Failure> {
    let unknown = |(model, price): &(&ModelPlan, &Option<PriceEntry>)| price.is_none() && !price::is_free(model);
    let judges = ready.plan.judges.iter().zip(&ready.judge_prices);
    let found = ready.plan.models.iter().zip(&ready.prices).chain(judges).find(unknown);
    match found.filter(|_| args.max_cost.is_some()) {
        None => Ok(()),
        Some((model, _)) => {
            Err(Failure::new(format!("the price of `{}` is not known, so `--max-cost` cannot hold", model.id)).hint(
                "give it in the suite, in US dollars a million tokens: `price: {input: 0.4, output: 1.6}`".to_owned(),
            ))
        }
    }
}

fn overrides(args: &RunArgs) -> Overrides {
    Overrides {
        only: args.only.clone(),
        max_items: args.max_items,
        strict_serialization: args.no_strict_serialization.then_some(false),
        deterministic_artifacts: args.no_deterministic_artifacts.then_some(false),
        record_evidence: args.record_evidence.or(args.submit_intent.then_some(true)),
        full_bodies: args.evidence_full_bodies.then_some(true),
        ..Overrides::default()
    }
}

fn execute(
    ready: Ready,
    args: &RunArgs,
    paths: Vec<(Option<&'static str>, PathBuf)>,
    repository: Looking,
    settings: &Settings,
) -> Result<(Outcome, Arc<CacheShelf>), Failure> {
    let run_dir = args.run_dir.clone().unwrap_or_else(|| default_run_dir(&ready.plan.name, &ready.run_id));
    let on_existing = match (args.overwrite, args.resume) {
        (true, _) => OnExisting::Overwrite,
        (_, true) => OnExisting::Resume,
        _ => OnExisting::Refuse,
    };
    let is_quiet = args.format == TextOrJson::Json && !settings.stderr_is_terminal;
    let meter = Meter::new(settings.stderr_is_terminal, ready.samples(), is_quiet);
    let shelf = judging::shelf(&ready, &args.judging, settings)?;
    let options = Options {
        shelf: shelf.clone(),
        run_dir: run_dir.clone(),
        on_existing,
        concurrency: concurrency(args),
        budget: Budget { cost_usd: args.max_cost, tokens: args.max_tokens, time: args.max_time },
        skip_report: args.skip_report,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: Platform { arch: std::env::consts::ARCH.to_owned(), os: std::env::consts::OS.to_owned() },
        invocation: settings.invocation(&ready, paths, repository)?,
        stop: stop_on_interrupt(),
    };
    let outcome = execute::run(ready, options, Box::new(meter));
    shelf.report(settings);
    let outcome = outcome.map_err(|error| run_failure(&error, args, &run_dir))?;
    Ok((outcome, shelf))
}

/// Turns true at the first Ctrl-C; a second one ends the process at once.
pub(crate) fn stop_on_interrupt() -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    let listen = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                let _ = sender.send(true);
                // A process that ignores Ctrl-C while it tidies up cannot be stopped.
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::abort();
                }
            }
            // Keeps the channel open, so that a closed one never looks like an interrupt.
            std::future::pending::<()>().await;
        });
    };
    let _ = std::thread::Builder::new().name("interrupt".to_owned()).spawn(listen);
    receiver
}

/// `runs/<name>-<first 12 digits of the run id>`.
pub(crate) fn default_run_dir(name: &str, run_id: &RunId) -> PathBuf {
    let safe: String = name
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
        .collect();
    let id = run_id.to_string();
    Path::new("runs").join(format!("{safe}-{}", &id[..12]))
}

pub(crate) fn text(outcome: &Outcome, settings: &Settings) -> String {
    let style = settings.style.stdout;
    let mut out = results(&outcome.summary, &outcome.manifest, style, settings.width);
    out.push('\n');
    let manifest = &outcome.manifest;
    let samples = format!("{} samples, run {}", count(manifest.record_count), manifest.run_id);
    let how = match (outcome.was_complete, outcome.resumed) {
        (true, _) => ", already complete".to_owned(),
        (_, 0) => String::new(),
        (_, resumed) => format!(", {} of them resumed", count(resumed)),
    };
    out.push_str(&format!("{}{how}\n", style.bold(&samples)));
    for name in names::PLANE_1 {
        let path = outcome.run_dir.join(name);
        if name == names::MANIFEST || manifest.artifacts.contains_key(name) {
            out.push_str(&format!("  {}\n", visible(&path.display().to_string())));
        }
    }
    for name in [names::JUDGMENTS, names::REPORT_MD, names::REPLAY] {
        let path = outcome.run_dir.join(name);
        if path.exists() {
            out.push_str(&format!("  {}\n", visible(&path.display().to_string())));
        }
    }
    out
}

#[derive(Serialize)]
struct RunDocument<'a> {
    format: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_submittable: &'a [String],
    resumed: u64,
    run_dir: String,
    run_id: RunId,
    summary: &'a Summary,
    version: u32,
    was_complete: bool,
}

fn json(outcome: &Outcome) -> Result<String, Failure> {
    to_json(&RunDocument {
        format: "proofmark.run",
        not_submittable: &outcome.not_submittable,
        resumed: outcome.resumed,
        run_dir: outcome.run_dir.display().to_string(),
        run_id: outcome.manifest.run_id,
        summary: &outcome.summary,
        version: 1,
        was_complete: outcome.was_complete,
    })
}

/// One stable JSON document with a line end.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String, Failure> {
    let bytes = proofmark_canon::to_vec(value).map_err(|error| Failure::from_error(&error))?;
    Ok(format!("{}\n", String::from_utf8_lossy(&bytes)))
}

#[derive(Serialize)]
struct PlanDocument {
    estimates: Vec<Estimate>,
    format: &'static str,
    run_id: RunId,
    run_dir: String,
    samples: u64,
    tasks: Vec<TaskCount>,
    version: u32,
}

#[derive(Serialize)]
struct TaskCount {
    calls: u64,
    items: u64,
    rows_skipped: u64,
    scorers: Vec<String>,
    task: String,
}

fn dry_run(ready: &Ready, args: &RunArgs, settings: &Settings) -> Result<Exit, Failure> {
    let plan = &ready.plan;
    let per_item = ready.samples_per_item();
    let run_dir = args.run_dir.clone().unwrap_or_else(|| default_run_dir(&plan.name, &ready.run_id));
    let tasks: Vec<TaskCount> = plan
        .tasks
        .iter()
        .zip(&ready.datasets)
        .map(|(task, prepared)| TaskCount {
            calls: prepared.rows * per_item,
            items: prepared.rows,
            rows_skipped: prepared.rows_skipped,
            scorers: task.scorers.iter().map(|scorer| scorer.name().to_owned()).collect(),
            task: task.id.clone(),
        })
        .collect();
    let samples = ready.samples();
    let estimates = estimate::estimates(ready)?;
    if args.format == TextOrJson::Json {
        let run_dir = run_dir.display().to_string();
        let format = "proofmark.plan";
        let document = PlanDocument { estimates, format, run_id: ready.run_id, run_dir, samples, tasks, version: 1 };
        settings.print(&to_json(&document)?)?;
        return Ok(Exit::Holds);
    }
    let head = [
        ("task", Align::Left),
        ("scorers", Align::Left),
        ("items", Align::Right),
        ("skipped rows", Align::Right),
        ("calls", Align::Right),
    ];
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            vec![
                visible(&task.task),
                visible(&task.scorers.join(", ")),
                count(task.items),
                count(task.rows_skipped),
                count(task.calls),
            ]
        })
        .collect();
    let mut out = render(&head, &rows, settings.width);
    let names = |list: Vec<&str>| visible(&list.join(", "));
    out.push_str(&format!(
        "\nmodels: {}\nconditions: {}\nsamples an item: {} models × {} conditions × n = {} gives {per_item}\n",
        names(plan.models.iter().map(|model| model.id.as_str()).collect()),
        names(plan.conditions.iter().map(|condition| condition.id.as_str()).collect()),
        plan.models.len(),
        plan.conditions.len(),
        plan.sampling.n,
    ));
    if ready.plan.models.iter().any(|model| !price::is_free(model)) || ready.prices.iter().any(Option::is_some) {
        out.push_str(&format!("\n{}\n", estimate::describe(&estimates, settings.width)));
    }
    out.push_str(&format!(
        "estimated calls: {}, {}\nrun {} would go to {}\nnothing was asked and nothing was written\n",
        count(samples),
        args.concurrency.map_or_else(|| "as many at once as the endpoints bear".to_owned(), |n| format!("{n} at once")),
        ready.run_id,
        visible(&run_dir.display().to_string()),
    ));
    settings.print(&out)?;
    Ok(Exit::Holds)
}

pub(super) fn ready_failure(error: &ReadyError, suite: &Path) -> Failure {
    let hint = match error {
        ReadyError::Dataset(error) => error.hint(),
        ReadyError::Attach(_) => Some("rows name files relative to the suite's root (`--root`)".to_owned()),
        ReadyError::GoldInReach(error) => Some(error.hint().to_owned()),
        ReadyError::NoRoot(_) => Some("say where the suite's files are: `--root DIR`".to_owned()),
        // What is wrong inside a file has its own hint.
        ReadyError::Asset(AssetError::Malformed { .. } | AssetError::NotText { .. }) => None,
        ReadyError::Asset(_) => {
            Some(format!("paths are relative to the folder of `{}`, or to `--root`", suite.display()))
        }
        ReadyError::Suite(proofmark_artefact::suite::load::SuiteError::Open(_)) => {
            Some("write one with `proofmark init`".to_owned())
        }
        _ => None,
    };
    let mut failure = Failure::from_error(error).hint(hint);
    failure.is_of_surroundings = matches!(error, ReadyError::Dataset(error) if error.is_of_surroundings());
    failure
}

/// The options without which the suite would give another run.
fn that_make_the_run(args: &RunArgs) -> String {
    let mut words = String::new();
    let mut add = |word: &str| words.extend([" ", word]);
    for only in &args.only {
        add(&format!("--only {only}"));
    }
    if let Some(items) = args.max_items {
        add(&format!("--max-items {items}"));
    }
    if let Some(root) = &args.root {
        add(&format!("--root {}", root.display()));
    }
    if let Some(evidence) = args.record_evidence {
        add(&format!("--record-evidence={evidence}"));
    }
    let flags = [
        (args.no_strict_serialization, "--no-strict-serialization"),
        (args.no_deterministic_artifacts, "--no-deterministic-artifacts"),
        (args.submit_intent, "--submit-intent"),
        (args.evidence_full_bodies, "--evidence-full-bodies"),
        (args.allow_unsandboxed, "--allow-unsandboxed"),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| add(flag));
    words
}

fn run_failure(error: &RunError, args: &RunArgs, run_dir: &Path) -> Failure {
    let cassette = match &args.cassette {
        // Half a run on a cassette cannot be replayed.
        Some(dir) => format!(" --cassette {}", dir.display()),
        None => String::new(),
    };
    let suite = args.suite.display();
    let same = that_make_the_run(args);
    let resume =
        || format!("go on with `proofmark run {suite} --run-dir {} --resume{same}{cassette}`", run_dir.display());
    let moved = "the suite, a dataset or an asset changed since; put it back, or start anew with `--overwrite`";
    let edited = "the run directory was changed by something else; start anew with `--overwrite`";
    let hint = match error {
        RunError::Claim(error) => error.hint().map(ToOwned::to_owned),
        RunError::Interrupted { .. } | RunError::Telemetry(_) | RunError::Witness(_) => Some(resume()),
        RunError::Budget { .. } => Some(format!("{} and a larger limit", resume())),
        RunError::Stopped { stop, .. } if !run_dir.join(names::WORK).is_dir() => stop.hint.clone(),
        RunError::Stopped { stop, .. } => {
            Some(format!("{}; then {}", stop.hint.as_deref().unwrap_or("put it right"), resume()))
        }
        RunError::Resume(ResumeError::OtherRun { .. }) | RunError::OtherFinished { .. } => Some(moved.to_owned()),
        RunError::Resume(ResumeError::Journal(_)) | RunError::Journal(_) => Some(edited.to_owned()),
        RunError::Source(SourceError::Dataset(error)) => error.hint(),
        RunError::Prompt(error) => error.hint.clone(),
        RunError::Agent(error) => error.hint(),
        RunError::Resume(ResumeError::Output(error)) => error.hint().map(ToOwned::to_owned),
        RunError::Output(_) | RunError::Append(_) | RunError::Collect(_) | RunError::Publish(_) => Some(resume()),
        _ => None,
    };
    Failure::from_error(error).hint(hint)
}
