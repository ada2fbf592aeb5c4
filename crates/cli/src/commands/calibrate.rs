//! `proofmark calibrate`.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use proofmark_artefact::calibration::{Calibration, LabelRules, Labels, line, render};
use proofmark_artefact::number::{count, counted};
use proofmark_artefact::store::write_atomic;
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::text::visible;
use proofmark_run::calibrate::{
    Bench, CalibrateError, Found, ShelfDesk, Wish, calibrate, find, labelled_cases, subject,
};
use proofmark_run::collect::{Observer as _, Progress};
use proofmark_run::ready::Ready;

use super::run::load_named;
use crate::args::{CalibrateArgs, CalibrateFormat};
use crate::commands::judging;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::progress::Meter;
use crate::ui::wrap::wrap;

/// Questions that are under way when nobody says how many; endpoints hold their own limits.
const AT_ONCE: usize = 16;

pub(crate) fn run(args: &CalibrateArgs, settings: &Settings) -> Result<Exit, Failure> {
    // The suite may name the very file that is to be written.
    let overrides = Overrides { without_calibrations: true, ..Overrides::default() };
    let ready = load_named(&args.suite, args.root.clone(), &overrides, settings)?;
    let found = find(&ready, args.task.as_deref(), args.scorer.as_deref()).map_err(|error| failure(&error))?;
    let labels = read(&args.labels, found)?;
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok());
    let (cases, set) = labelled_cases(&ready, found, &labels, limit).map_err(|error| at(&args.labels, &error))?;
    for judge in &found.scorer.judges {
        let judge = &ready.judges[*judge];
        judge.model.check_ready().map_err(|stop| {
            Failure::new(format!("judge `{}` cannot be asked: {}", judge.plan.id, stop.message)).hint(stop.hint)
        })?;
    }

    let shelf = judging::shelf(&ready, &args.judging, settings)?;
    let judged_at = settings.started_at();
    let desk = ShelfDesk::new(&ready.judges, &*shelf, &judged_at);
    let is_quiet = args.format != CalibrateFormat::Text && !settings.stderr_is_terminal;
    // The labels are one course, the attacks another.
    let meter: RefCell<Option<(u64, Meter)>> = RefCell::new(None);
    let tell = |done: u64, samples: u64| {
        let mut meter = meter.borrow_mut();
        if meter.as_ref().is_none_or(|(of, _)| *of != samples) {
            *meter = Some((samples, Meter::new(settings.stderr_is_terminal, samples, is_quiet)));
        }
        if let Some((_, meter)) = &mut *meter {
            meter.progress(Progress { done, errors: 0, samples, tokens: 0, cost_usd: 0.0 });
        }
    };
    let bench = Bench {
        scorer: found.scorer,
        desk: &desk,
        at_once: args.concurrency.map_or(AT_ONCE, usize::from),
        tell: &tell,
    };
    let wish = Wish { repeats: args.repeat, probe: args.probe_judge.and_then(|most| usize::try_from(most).ok()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start asking: {error}")))?;
    let subject = subject(found.task, found.scorer, &ready.judges);
    let made = runtime.block_on(calibrate(bench, subject, &cases, set, wish));
    let made = made.map_err(|error| failure(&error))?;
    tell_cost(&ready, &desk, settings);
    finish(&made, args, settings)
}

fn read(path: &Path, found: Found<'_>) -> Result<Labels, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::new(format!("cannot open the labels `{}`: {error}", path.display())))?;
    Labels::read(file, &LabelRules::new(&found.scorer.plan)).map_err(|error| at(path, &CalibrateError::Label(error)))
}

/// An error about a line, with the file that it is in.
fn at(path: &Path, error: &CalibrateError) -> Failure {
    let failure = Failure::from_error(error);
    Failure::new(format!("`{}`: {}", path.display(), failure.on_one_line())).hint(error.hint())
}

fn failure(error: &CalibrateError) -> Failure {
    Failure::from_error(error).hint(error.hint())
}

/// What asking took, and what the cache could not vouch for. It differs from time to time, so it is no part of the result.
fn tell_cost(ready: &Ready, desk: &ShelfDesk<'_>, settings: &Settings) {
    let mut text = format!("judges were asked {}", counted(desk.asked(), "time", "times"));
    for (judge, usage) in ready.judges.iter().zip(desk.usage()) {
        if usage.input_tokens + usage.output_tokens > 0 {
            let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
            text.push_str(&format!("; {}: {input} tokens in, {output} out", judge.plan.id));
        }
    }
    settings.print_err(&format!("{}\n", visible(&text)));
    let events = desk.events();
    if let Some(first) = events.first() {
        let entries = counted(events.len() as u64, "entry", "entries");
        let text = format!("{entries} of the judge cache could not be believed; the first: {}", first.detail);
        settings.print_err(&format!("{}{}\n", settings.style.stderr.warn("warning: "), visible(&text)));
    }
}

fn finish(made: &Calibration, args: &CalibrateArgs, settings: &Settings) -> Result<Exit, Failure> {
    let bytes = made.to_bytes().map_err(|error| Failure::from_error(&error))?;
    if let Some(path) = &args.out {
        write_atomic(path, &bytes)
            .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))?;
    }
    settings.print(&match args.format {
        CalibrateFormat::Json => String::from_utf8_lossy(&bytes).into_owned(),
        CalibrateFormat::Markdown => render::markdown(made),
        CalibrateFormat::Text => shown(made, args, settings),
    })?;
    // Without a single verdict nothing was measured.
    let is_measured = made.judges.iter().any(|judge| judge.errors.total() < made.labels.count);
    Ok(if is_measured { Exit::Holds } else { Exit::DoesNotHold })
}

fn shown(made: &Calibration, args: &CalibrateArgs, settings: &Settings) -> String {
    let style = settings.style.stdout;
    let mut out = String::new();
    for line in render::text(made).lines() {
        let painted = match line {
            line if line.starts_with("! ") => style.warn(line),
            line if line.starts_with("Judge ") || line.starts_with("The panel ") => style.bold(line),
            line => line.to_owned(),
        };
        out.push_str(&format!("{painted}\n"));
    }
    out.push('\n');
    for line in wrap(0, &visible(&line(made)), settings.width.min(80)).lines() {
        out.push_str(&format!("{}\n", style.bold(line)));
    }
    out.push_str(&match &args.out {
        Some(path) => format!("written to {}\n", visible(&path.display().to_string())),
        None => "keep it with `-o calibration.json`, and name it in the scorer as `calibration`\n".to_owned(),
    });
    out
}
