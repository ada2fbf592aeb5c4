//! Rung 5: some samples asked again, by chance, and what agrees.
//!
//! The rule: of the samples that can be compared, some passed then and fail now, and some the other way round. When
//! nothing but chance is at work, the two ways are equally likely. McNemar's exact test says how likely so uneven a
//! division is; below 1 % the rung does not hold. Fewer than 8 samples that changed can never be that uneven.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::record::{Record, Status as RecordStatus};
use proofmark_artefact::replay::Status;
use proofmark_artefact::stats::significance::mcnemar;
use proofmark_artefact::store::{RunDir, names};
use proofmark_artefact::suite::plan::{Plan, ScorerPlan};
use proofmark_artefact::text::excerpt;
use proofmark_artefact::verify::{Agreement, Check, Climb, LiveReport, Rung};
use proofmark_canon::seed::Stream;
use proofmark_model::{Ask, AttemptLog, Stop, price};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::{ALLOW, Commands, agent_tool, chain};
use crate::agent::Sample;
use crate::budget::{Budget, Purse, Spent};
use crate::judge::FreshDesk;
use crate::outputs;
use crate::ready::Ready;
use crate::sample::{Came, Programs, Scoring, finish_sample};
use crate::source::{Source, Unit};

/// How to ask again.
pub struct Live<'a> {
    /// How many samples; all when there are fewer.
    pub samples: u64,
    /// The same seed chooses the same samples.
    pub seed: u64,
    pub budget: Budget,
    pub commands: Commands,
    /// An empty folder, for pictures.
    pub scratch: &'a Path,
    /// Turns true when nothing more should be asked.
    pub stop: watch::Receiver<bool>,
}

/// Below this p-value the rung does not hold.
pub const LEVEL: f64 = 0.01;
/// Questions at once, at most; models have limits of their own.
const AT_ONCE: usize = 16;
/// Samples that changed and are shown.
const MOST_SHOWN: usize = 20;
const CHECK: &str = "samples asked again";

/// Asks samples of the live models again. Nothing of it goes into the run directory.
pub fn climb_live(ready: Ready, dir: &Path, how: Live<'_>) -> (Climb, Option<LiveReport>) {
    let open = |why: String| (Climb::open(Rung::Live, CHECK, why), None);
    let models = live_models(&ready.plan);
    if models.is_empty() {
        return open("no model of the run is live".to_owned());
    }
    let program = ready.plan.models.iter().find(|model| model.provider() == "command");
    if let Some(model) = program.filter(|_| how.commands == Commands::Refuse) {
        return open(format!("model `{}` is a program; {ALLOW}", model.id));
    }
    if let Some(tool) = agent_tool(&ready.plan).filter(|_| how.commands == Commands::Refuse) {
        return open(format!("the agents of the suite use `{tool}`; {ALLOW}"));
    }
    for at in &models {
        if let Err(stop) = ready.models[*at].check_ready() {
            return open(told(&stop));
        }
    }
    let priceless = |at: &&usize| ready.prices[**at].is_none() && !price::is_free(&ready.plan.models[**at]);
    if let Some(at) = models.iter().find(priceless).filter(|_| how.budget.cost_usd.is_some()) {
        return open(format!(
            "the price of `{}` is not known, so what it costs cannot be limited",
            ready.plan.models[*at].id
        ));
    }
    let chosen = choose(&Grid::of(&ready, models), how.samples, how.seed);
    match ask_all(ready, dir, &chosen, &how) {
        Ok(compared) => judge(&compared, &how),
        Err(why) => open(why),
    }
}

fn told(stop: &Stop) -> String {
    let hint = stop.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}{hint}", stop.message)
}

/// Models that somebody answers for: not those that are built in, nor those whose answers were given.
fn live_models(plan: &Plan) -> Vec<usize> {
    let is_live = |at: &usize| !matches!(plan.models[*at].provider(), "offline" | "recorded");
    (0..plan.models.len()).filter(is_live).collect()
}

/// How samples are counted: item, model, condition, index.
struct Grid {
    items: u64,
    models: u64,
    /// Samples of an item and model.
    each: u64,
    live: Vec<usize>,
}

impl Grid {
    fn of(ready: &Ready, live: Vec<usize>) -> Self {
        let models = ready.plan.models.len() as u64;
        let each = ready.plan.conditions.len() as u64 * u64::from(ready.plan.sampling.n);
        Self { items: ready.samples() / (models * each).max(1), models, each, live }
    }

    fn candidates(&self) -> u64 {
        self.items * self.live.len() as u64 * self.each
    }

    /// The ordinal of the n-th sample of a live model.
    fn ordinal(&self, n: u64) -> u64 {
        let of_item = self.live.len() as u64 * self.each;
        let (item, rest) = (n / of_item, n % of_item);
        let model = self.live[(rest / self.each) as usize] as u64;
        (item * self.models + model) * self.each + rest % self.each
    }
}

/// Chooses samples, each with the same chance (Floyd's way to draw without putting back).
fn choose(grid: &Grid, samples: u64, seed: u64) -> BTreeSet<u64> {
    let all = grid.candidates();
    let wanted = samples.min(all);
    let mut stream = Stream::new("proofmark.verify-live/1", &[&seed.to_be_bytes()]);
    let mut chosen = BTreeSet::new();
    for last in all - wanted..all {
        let drawn = stream.next_below(last + 1);
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().map(|n| grid.ordinal(n)).collect()
}

/// What came of all that was asked.
#[derive(Default)]
struct Compared {
    asked: u64,
    agree: u64,
    same_text: u64,
    comparable: u64,
    /// Keys that passed then and fail now.
    now_fail: Vec<String>,
    now_pass: Vec<String>,
    spent: Option<Spent>,
}

fn ask_all(ready: Ready, dir: &Path, chosen: &BTreeSet<u64>, how: &Live<'_>) -> Result<Compared, String> {
    let recorded = read_records(dir, chosen)?;
    // Where pictures are written before they get their names.
    std::fs::create_dir_all(how.scratch.join(names::WORK)).map_err(|error| error.to_string())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())?;
    let mut ready = ready;
    runtime.block_on(ready.start_agents(dir)).map_err(|error| chain(&error))?;
    let ready = Arc::new(ready);
    let units = units(&ready, chosen)?;
    let compared = runtime.block_on(ask_units(&ready, units, recorded, how));
    runtime.block_on(async {
        for scorer in ready.scorers.iter().flatten() {
            scorer.close().await;
        }
    });
    compared
}

/// The chosen records as they are recorded.
fn read_records(dir: &Path, chosen: &BTreeSet<u64>) -> Result<BTreeMap<u64, Record>, String> {
    let run = RunDir::open(dir).map_err(|error| chain(&error))?;
    let mut lines = run.lines(names::RECORDS).map_err(|error| chain(&error))?;
    let mut records = BTreeMap::new();
    let last = chosen.last().copied().unwrap_or_default();
    while let Some(line) = lines.next_line().map_err(|error| chain(&error))? {
        let ordinal = line.number - 1;
        if ordinal > last {
            break;
        }
        if chosen.contains(&ordinal) {
            let record = serde_json::from_slice(line.bytes)
                .map_err(|_| format!("line {} of `{}` is not a record", line.number, names::RECORDS))?;
            records.insert(ordinal, record);
        }
    }
    Ok(records)
}

fn units(ready: &Arc<Ready>, chosen: &BTreeSet<u64>) -> Result<Vec<Unit>, String> {
    let mut source = Source::new(Arc::clone(ready), Arc::default(), None);
    let mut units = Vec::new();
    while units.len() < chosen.len() {
        let Some(unit) = source.next_unit().map_err(|error| chain(&error))? else { break };
        if chosen.contains(&unit.ordinal) {
            units.push(unit);
        }
    }
    Ok(units)
}

async fn ask_units(
    ready: &Arc<Ready>,
    units: Vec<Unit>,
    mut recorded: BTreeMap<u64, Record>,
    how: &Live<'_>,
) -> Result<Compared, String> {
    let purse = Arc::new(Purse::new(how.budget, ready.prices.iter().chain(&ready.judge_prices).cloned().collect()));
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let scratch: Arc<Path> = how.scratch.into();
    let commands = how.commands;
    let mut tasks = JoinSet::new();
    for unit in units {
        let Some(record) = recorded.remove(&unit.ordinal) else { continue };
        let (ready, purse, places) = (Arc::clone(ready), Arc::clone(&purse), Arc::clone(&places));
        let (scratch, mut stop) = (Arc::clone(&scratch), how.stop.clone());
        tasks.spawn(async move {
            // Nobody closes it.
            let _place = places.acquire_owned().await.ok();
            if *stop.borrow() {
                return Err("it was interrupted".to_owned());
            }
            tokio::select! {
                asked = ask_one(&ready, &unit, record, &purse, &scratch, commands) => asked,
                _ = stop.wait_for(|stop| *stop) => Err("it was interrupted".to_owned()),
            }
        });
    }
    let mut compared = Compared::default();
    while let Some(done) = tasks.join_next().await {
        match done.map_err(|_| "a part of the check panicked; this is a bug in Proofmark".to_owned())?? {
            Asked::Spent(spent) => compared.spent = Some(spent),
            Asked::Pair(pair) => compared.count(*pair),
        }
    }
    compared.now_fail.sort_unstable();
    compared.now_pass.sort_unstable();
    Ok(compared)
}

enum Asked {
    Spent(Spent),
    Pair(Box<Pair>),
}

/// A sample then and now.
struct Pair {
    key: String,
    then: Side,
    now: Side,
}

struct Side {
    /// `None` without an answer or without a score.
    passed: Option<bool>,
    text: Option<String>,
}

async fn ask_one(
    ready: &Ready,
    unit: &Unit,
    record: Record,
    purse: &Purse,
    scratch: &Path,
    commands: Commands,
) -> Result<Asked, String> {
    // It stays open until the answer is judged, too.
    let _open = match purse.open(unit.model).await {
        Ok(open) => open,
        Err(spent) => return Ok(Asked::Spent(spent)),
    };
    let key = unit.key(&ready.plan);
    let (mut request, fingerprint) = unit.request(ready, &key).map_err(|error| chain(&error))?;
    let files = unit.work.files(ready).map_err(|error| chain(&error))?;
    let hint = unit.hint(&key);
    let came = match &ready.agents[unit.work.task] {
        Some(agent) => {
            let sample = Sample { ready, agent, unit, request: &request, files, hint, log: &Unheard };
            let earned = sample.earn(None).await.map_err(|stop| told(&stop))?;
            Came { reply: earned.reply(), earned: Some(earned) }
        }
        None => {
            request.files = files;
            let ask = Ask { request: &request, hint, log: &Unheard };
            let asked = ready.models[unit.model].ask(ask).await.map_err(|stop| told(&stop))?;
            outputs::store(scratch, &asked.blobs).map_err(|error| chain(&error))?;
            asked.reply.into()
        }
    };
    purse.note(unit.model, came.reply.usage(), came.reply.is_answer());
    let programs = match commands {
        Commands::Run => Programs::Run,
        Commands::Refuse => Programs::Recorded(&record),
    };
    let desk = FreshDesk { judges: &ready.judges, models: ready.models.len(), purse, log: &Unheard };
    let scoring = Scoring { run_dir: scratch, programs, desk: &desk };
    let name = key.to_string();
    let finished = finish_sample(ready, scoring, unit, key, &request, fingerprint, came);
    let finished = finished.await.map_err(|error| chain(&error))?;
    let line = finished.lines.record();
    let now: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    // The verdict of a program that was not started is the recorded one, which agrees with itself.
    let scorer = ready.plan.tasks[unit.work.task].scorers.first();
    let is_judged = commands == Commands::Run || !matches!(scorer, Some(ScorerPlan::Command { .. }));
    let side = |record: Record| Side {
        passed: (is_judged && record.status == RecordStatus::Success)
            .then(|| record.scores.first().map(|score| score.passed))
            .flatten(),
        text: record.output.map(|output| output.answer().into_owned()),
    };
    Ok(Asked::Pair(Box::new(Pair { key: name, then: side(record), now: side(now) })))
}

impl Compared {
    fn count(&mut self, pair: Pair) {
        self.asked += 1;
        let (Some(then), Some(now)) = (pair.then.passed, pair.now.passed) else { return };
        self.comparable += 1;
        self.same_text += u64::from(pair.then.text == pair.now.text);
        match (then, now) {
            (true, false) => self.now_fail.push(pair.key),
            (false, true) => self.now_pass.push(pair.key),
            _ => self.agree += 1,
        }
    }
}

fn judge(compared: &Compared, how: &Live<'_>) -> (Climb, Option<LiveReport>) {
    let mut climb = Climb::new(Rung::Live);
    let [now_fail, now_pass] = [&compared.now_fail, &compared.now_pass].map(|keys| keys.len() as u64);
    let p_value = mcnemar(now_pass, now_fail);
    let report = LiveReport {
        asked: compared.asked,
        not_comparable: compared.asked - compared.comparable,
        now_fail,
        now_pass,
        outcome: Agreement::new(compared.agree, compared.comparable),
        p_value: proofmark_artefact::stats::estimate::rounded(p_value),
        seed: how.seed,
        text: Agreement::new(compared.same_text, compared.comparable),
    };
    for (keys, what) in
        [(&compared.now_fail, "passed then, fails now"), (&compared.now_pass, "failed then, passes now")]
    {
        for key in keys.iter().take(MOST_SHOWN) {
            climb.push(Check::new(format!("sample `{}`", excerpt(key, 200)), Status::Skip).note(what));
        }
    }
    if let Some(spent) = &compared.spent {
        climb.add_gap(format!("only {} samples were asked again: {spent}", compared.asked));
    }
    if report.not_comparable > 0 {
        let (open, asked) = (report.not_comparable, report.asked);
        climb.add_gap(format!("{open} of {asked} samples gave no answer or no score, then or now"));
    }
    let check = |status| Check::new(CHECK, status);
    climb.push(if compared.comparable == 0 {
        check(Status::Unchecked).note("no sample that was asked again can be compared")
    } else if p_value < LEVEL {
        check(Status::Fail).note(format!(
            "{now_fail} passed then and fail now, {now_pass} the other way round: by chance alone the odds of that are \
             {p_value:.2e}, below {LEVEL}"
        ))
    } else {
        check(Status::Ok).note(format!("{} of {} pass or fail as recorded", compared.agree, compared.comparable))
    });
    (climb, Some(report))
}

/// What these calls took is nobody's telemetry.
struct Unheard;

impl AttemptLog for Unheard {
    fn attempt(&self, _: &proofmark_artefact::telemetry::Attempt) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_chosen_by_the_seed_among_those_of_live_models() {
        let grid = Grid { items: 10, models: 3, each: 4, live: vec![0, 2] };
        let all: BTreeSet<u64> = (0..grid.candidates()).map(|n| grid.ordinal(n)).collect();
        assert_eq!(all.len(), 80);
        assert!(all.iter().all(|ordinal| *ordinal < 120 && ordinal / 4 % 3 != 1));
        assert_eq!(choose(&grid, 1000, 1), all);
        let some = choose(&grid, 20, 1);
        assert!(some.len() == 20 && some.is_subset(&all));
        assert_eq!(some, choose(&grid, 20, 1));
        assert_ne!(some, choose(&grid, 20, 2));
        // Every one of them has its chance.
        let met: BTreeSet<u64> = (0..200).flat_map(|seed| choose(&grid, 5, seed)).collect();
        assert_eq!(met, all);
    }

    fn compared(agree: u64, now_fail: usize, now_pass: usize) -> Compared {
        let keys = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let comparable = agree + (now_fail + now_pass) as u64;
        let (asked, same_text) = (comparable + 1, agree);
        let (now_fail, now_pass, spent) = (keys(now_fail), keys(now_pass), None);
        Compared { asked, agree, same_text, comparable, now_fail, now_pass, spent }
    }

    #[test]
    fn only_what_chance_does_not_explain_is_a_failure() {
        use proofmark_artefact::replay::Answer::{CannotCheck, DoesNotHold, Holds};
        let scratch = Path::new("");
        for (agree, now_fail, now_pass, want) in [
            (20, 0, 0, Holds),
            (0, 7, 0, Holds),
            (0, 8, 0, DoesNotHold),
            (100, 8, 0, DoesNotHold),
            (0, 0, 8, DoesNotHold),
            (0, 30, 30, Holds),
            (0, 0, 0, CannotCheck),
        ] {
            let (budget, commands, stop) = (Budget::default(), Commands::Refuse, watch::channel(false).1);
            let how = Live { samples: 1, seed: 3, budget, commands, scratch, stop };
            let (climb, report) = judge(&compared(agree, now_fail, now_pass), &how);
            assert_eq!(climb.answer, want, "{agree} {now_fail} {now_pass}");
            let report = report.unwrap();
            assert_eq!((report.seed, report.not_comparable, report.outcome.agree), (3, 1, agree));
        }
    }
}
