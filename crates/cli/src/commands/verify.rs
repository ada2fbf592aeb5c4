//! `proofmark verify`.

use std::path::{Path, PathBuf};

use proofmark_artefact::replay::{Answer, Options, Target, locate};
use proofmark_artefact::store::{RunDir, names};
use proofmark_artefact::suite::resolve::Overrides;
use proofmark_artefact::verify::artefacts::{Whole, climb_artefacts, run_dir_of, suite_root};
use proofmark_artefact::verify::format::{self, Palette};
use proofmark_artefact::verify::inputs::{Inputs, climb_inputs};
use proofmark_artefact::verify::{Climb, Demand, Outcome, Rung, Summary};
use proofmark_model::Surroundings;
use proofmark_model::cassette::{Cassette, Mode};
use proofmark_run::budget::Budget;
use proofmark_run::ladder::Commands;
use proofmark_run::ladder::live::{Live, climb_live};
use proofmark_run::ladder::reexecute::{Reexecution, climb_reexecution};
use proofmark_run::ladder::scores::climb_scores;
use proofmark_run::ready::{ModelUse, Ready, World};
use tempfile::TempDir;
use tokio::sync::watch;

use super::run::{ready_failure, stop_on_interrupt};
use super::{verify_package, verify_replay};
use crate::args::{ReplayFormat, VerifyArgs};
use crate::commands::judging;
use crate::commands::package::is_package;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::ui::progress::{Bar, Counted};
use crate::ui::style::Style;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn run(args: &VerifyArgs, settings: &Settings) -> Result<Exit, Failure> {
    let demand = demand(args)?;
    if args.paths.iter().any(|path| is_package(Path::new(path))) {
        return verify_package::run(args, demand, settings);
    }
    verify_package::refuse_options(args)?;
    let targets = locate(&args.paths).map_err(|error| {
        Failure::from_error(&error)
            .hint("name a run directory, its report, its sidecar, a pattern or a package".to_owned())
    })?;
    let climber = Climber {
        args,
        settings,
        demand,
        options: verify_replay::options(args.at, args.root.clone(), settings),
        commands: if args.run_commands { Commands::Run } else { Commands::Refuse },
        seed: args.seed.unwrap_or_else(|| settings.chance()),
        stop: stop_on_interrupt(),
    };
    let outcomes: Vec<Outcome> = targets.iter().map(|target| climber.verify(target)).collect::<Result<_, _>>()?;
    let palette = if settings.style.stdout == Style::Coloured { Palette::Colour } else { Palette::Plain };
    let text = match args.format {
        ReplayFormat::Text => format::text(&outcomes, palette),
        ReplayFormat::Json => format::json(&outcomes).map_err(|error| Failure::from_error(&error))?,
        ReplayFormat::Github => format::github(&outcomes),
    };
    settings.print(&text)?;
    Ok(verify_replay::exit(Summary::of(&outcomes).answer()))
}

/// How far to climb: what is asked for is demanded.
fn demand(args: &VerifyArgs) -> Result<Demand, Failure> {
    let by_option = match (args.live, args.reexecute) {
        (Some(_), _) => Some(Rung::Live),
        (None, true) => Some(Rung::Reexecution),
        (None, false) => None,
    };
    let by_number = args.rung.and_then(Rung::of_number);
    match (by_number, by_option) {
        (None, None) => Ok(Demand::UpTo(Rung::Scores)),
        (None, Some(rung)) => Ok(Demand::At(rung)),
        (Some(Rung::Live), _) if args.live.is_none() => Err(Failure::new("rung 5 asks live models again")
            .hint("say how many samples: `--live K`; it needs keys and costs money".to_owned())),
        (Some(number), Some(option)) if number < option => {
            let message = format!("`--rung {}` stops below what the other options ask for", number.number());
            Err(Failure::new(message).hint(format!("rung {} is `{}`", option.number(), option.name())))
        }
        (Some(rung), _) => Ok(Demand::At(rung)),
    }
}

/// Everything that is the same for all paths.
struct Climber<'a> {
    args: &'a VerifyArgs,
    settings: &'a Settings,
    demand: Demand,
    options: Options,
    commands: Commands,
    seed: u64,
    stop: watch::Receiver<bool>,
}

impl Climber<'_> {
    fn verify(&self, target: &Target) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::new(&target.shown);
        self.climb(target, &mut outcome)?;
        Ok(outcome.finish(self.demand))
    }

    fn wants(&self, rung: Rung) -> bool {
        rung <= self.demand.rung()
    }

    /// Climbs until a rung does not hold or there is nothing more to climb.
    fn climb(&self, target: &Target, outcome: &mut Outcome) -> Result<(), Failure> {
        let Inputs { climb, outcome: replayed, sidecar } = climb_inputs(target, &self.options);
        let is_foreign = replayed.head.as_ref().is_some_and(|head| head.program == "ahd");
        if !outcome.climb(climb) || !self.wants(Rung::Artefacts) {
            return Ok(());
        }
        let Some(sidecar) = sidecar else { return Ok(()) };
        let dir = match run_dir_of(target) {
            _ if is_foreign => {
                outcome.climb(open(Rung::Artefacts, "a block of AHD pins nothing but its inputs"));
                return Ok(());
            }
            None => {
                outcome.climb(open(Rung::Artefacts, "the report does not stand in a run directory"));
                return Ok(());
            }
            Some(dir) => dir,
        };
        let whole = if Path::new(&target.shown).is_dir() { Whole::Demanded } else { Whole::NotDemanded };
        let bar = Bar::new(self.settings.stderr_is_terminal, Counted::Bytes);
        let artefacts = climb_artefacts(dir, &sidecar, whole, VERSION, &|done, total| bar.show(done, total));
        bar.clear();
        let holds = outcome.climb(artefacts);
        if holds {
            outcome.run_id = RunDir::open(dir).ok().map(|run| run.manifest().run_id);
        }
        if !holds || !self.wants(Rung::Scores) {
            return Ok(());
        }
        let root = replayed.root_path.as_deref().and_then(|root| suite_root(dir, &sidecar, root));
        let Some(root) = root else {
            outcome.climb(open(Rung::Scores, "it is not known where the suite's files are"));
            return Ok(());
        };
        let scratch = TempDir::new()?;
        let trust = judging::trust(self.args.trust.as_deref(), self.settings)?;
        let ready = match self.load(dir, &root, Surroundings::none(), ModelUse::Named, ModelUse::Named) {
            Ok(ready) => ready,
            Err(why) => {
                outcome.climb(open(Rung::Scores, &why));
                return Ok(());
            }
        };
        let bar = Bar::new(self.settings.stderr_is_terminal, Counted::Samples);
        let scores = climb_scores(ready, dir, self.commands, &trust, VERSION, &|done, total| bar.show(done, total));
        bar.clear();
        if !outcome.climb(scores) || !self.wants(Rung::Reexecution) {
            return Ok(());
        }
        if !self.climb_reexecution(dir, &root, scratch.path(), outcome)? || !self.wants(Rung::Live) {
            return Ok(());
        }
        self.climb_live(dir, &root, scratch.path(), outcome)
    }

    /// Returns whether rung 5 may be tried.
    fn climb_reexecution(
        &self,
        dir: &Path,
        root: &Path,
        scratch: &Path,
        outcome: &mut Outcome,
    ) -> Result<bool, Failure> {
        let own = Some(dir.join("cassette")).filter(|path| path.join("cassette.json").is_file());
        let cassette = self.args.cassette.clone().or(own);
        let (surroundings, models) = match &cassette {
            None => (Surroundings::none(), self.unasked(dir)?),
            Some(path) => match Cassette::open(path, Mode::Replay) {
                Ok(cassette) => (Surroundings { cassette: Some(cassette), ..Surroundings::none() }, ModelUse::Asked),
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    outcome.climb(open(Rung::Reexecution, &format!("{error}{hint}")));
                    return Ok(false);
                }
            },
        };
        let ready = match self.load(dir, root, surroundings, models, ModelUse::Named) {
            Ok(ready) => ready,
            Err(why) => {
                outcome.climb(open(Rung::Reexecution, &why));
                return Ok(false);
            }
        };
        let folder = scratch.join("again");
        std::fs::create_dir(&folder)?;
        let how = Reexecution {
            cassette: cassette.as_deref(),
            commands: self.commands,
            scratch: &folder,
            version: VERSION,
            stop: self.stop.clone(),
        };
        let climb = climb_reexecution(ready, dir, how);
        // Who asks for live samples alone need not have a cassette.
        if climb.answer == Answer::CannotCheck && self.wants(Rung::Live) && !self.args.reexecute {
            let why = climb.checks.iter().find_map(|check| check.note.clone()).unwrap_or_default();
            outcome.gaps.push(format!("rung 4 was left out: {why}"));
            return Ok(true);
        }
        Ok(outcome.climb(climb))
    }

    fn climb_live(&self, dir: &Path, root: &Path, scratch: &Path, outcome: &mut Outcome) -> Result<(), Failure> {
        let run = RunDir::open(dir).map_err(|error| Failure::from_error(&error))?;
        let program = run.manifest().models.iter().find(|model| model.provider == "command");
        // Loading a suite asks its programs for their versions.
        if let Some(model) = program.filter(|_| self.commands == Commands::Refuse) {
            let why =
                format!("model `{}` is a program; allow it with `--run-commands`, if you trust the suite", model.id);
            outcome.climb(open(Rung::Live, &why));
            return Ok(());
        }
        let ready = match self.load(dir, root, self.settings.surroundings(None), ModelUse::Asked, ModelUse::Asked) {
            Ok(ready) => ready,
            Err(why) => {
                outcome.climb(open(Rung::Live, &why));
                return Ok(());
            }
        };
        let folder = scratch.join("live");
        std::fs::create_dir(&folder)?;
        let how = Live {
            samples: self.args.live.unwrap_or_default(),
            seed: self.seed,
            budget: Budget { cost_usd: self.args.max_cost, ..Budget::default() },
            commands: self.commands,
            scratch: &folder,
            stop: self.stop.clone(),
        };
        let (climb, report) = climb_live(ready, dir, how);
        outcome.live = report;
        outcome.climb(climb);
        Ok(())
    }

    /// How models are loaded where there is no cassette: only those that are built in can answer, and a suite that has
    /// others must not have them started or looked up.
    fn unasked(&self, dir: &Path) -> Result<ModelUse, Failure> {
        let run = RunDir::open(dir).map_err(|error| Failure::from_error(&error))?;
        let are_offline = run.manifest().models.iter().all(|model| model.provider == "offline");
        Ok(if are_offline { ModelUse::Asked } else { ModelUse::Named })
    }

    /// Loads the suite of a run again. Datasets of the hub come from the cache alone.
    fn load(
        &self,
        dir: &Path,
        root: &Path,
        surroundings: Surroundings,
        models: ModelUse,
        judges: ModelUse,
    ) -> Result<Ready, String> {
        let hub = self.settings.hub().map(|mut hub| {
            hub.offline = true;
            hub
        });
        let world = World {
            root: Some(root.to_owned()),
            hub,
            scratch: None,
            offline: proofmark_model::offline::Behaviour::default(),
            program_path: self.settings.program_path(),
            surroundings,
            models,
            judges,
            tools: self.settings.tool_world(),
        };
        let suite: PathBuf = dir.join(names::CONFIG);
        Ready::load(&suite, &Overrides::default(), &world).map_err(|error| {
            format!("the suite cannot be loaded again: {}", ready_failure(&error, &suite).on_one_line())
        })
    }
}

fn open(rung: Rung, why: &str) -> Climb {
    Climb::open(rung, "evidence", why)
}
