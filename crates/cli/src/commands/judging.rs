//! Whom runs believe in matters of judging, and where judgments are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_artefact::calibration::Probe;
use proofmark_artefact::calibration::render::probe_text;
use proofmark_artefact::judgment::{Entry, IntegrityEvent, IntegrityReason, Judgment, Question, Signed};
use proofmark_artefact::number::{count, counted};
use proofmark_artefact::store::{names, write_atomic};
use proofmark_artefact::suite::judge::is_off;
use proofmark_artefact::text::visible;
use proofmark_canon::Digest;
use proofmark_run::calibrate::{self, Bench, FailedAnswer, ShelfDesk, failed_answers};
use proofmark_run::judge::Shelf;
use proofmark_run::ready::Ready;
use proofmark_trust::cache::{Access, Cache, CacheError, Found, Inserted};
use proofmark_trust::key::{PrivateKey, Purpose};
use proofmark_trust::policy::{Distrust, Role, Trust};

use crate::args::JudgeArgs;
use crate::exit::Failure;
use crate::judge_cache;
use crate::settings::Settings;
use crate::signing::{choose_for, load_trust, signer};

/// Says that nothing is signed.
const NONE: &str = "none";

/// Where the judgments of a run are kept: signed with the judge's key, in the judge cache.
pub(crate) struct CacheShelf {
    cache: Option<Cache>,
    signer: Option<Arc<PrivateKey>>,
    /// Ask again what is known.
    rejudge: bool,
    noted: Mutex<Noted>,
}

/// What happened on the way.
#[derive(Default)]
struct Noted {
    found: u64,
    asked: u64,
    bad: BTreeMap<IntegrityReason, u64>,
    conflicts: u64,
    /// The first thing that went wrong with the cache, and how many did.
    trouble: Option<(String, u64)>,
}

/// Opens what the judgments of a run are signed with and kept in. Nothing is opened for a run without judges.
pub(crate) fn shelf(ready: &Ready, args: &JudgeArgs, settings: &Settings) -> Result<Arc<CacheShelf>, Failure> {
    let empty = CacheShelf { cache: None, signer: None, rejudge: args.rejudge, noted: Mutex::default() };
    if !ready.has_judges() {
        return Ok(Arc::new(empty));
    }
    let trust = load_trust(settings, args.trust.as_deref())?;
    let signer = judge_key(&trust, args, settings)?;
    let mut trust = trust;
    if let Some(key) = &signer {
        trust = believe_own(trust, key, settings)?;
    }
    let cache = match place(ready, args, settings) {
        None => None,
        Some(dir) => open(&dir, trust, signer.clone(), settings)?,
    };
    Ok(Arc::new(CacheShelf { cache, signer, ..empty }))
}

/// The key that signs judgments; `None` when there is none, which is said.
fn judge_key(trust: &Trust, args: &JudgeArgs, settings: &Settings) -> Result<Option<Arc<PrivateKey>>, Failure> {
    let chosen = args.judge_key.as_deref();
    if chosen == Some(NONE) {
        return Ok(None);
    }
    if chosen.is_none()
        && let Err(failure) = choose_for(settings, trust, Role::Judge)
    {
        let style = settings.style.stderr;
        let text = format!("judgments are neither signed nor cached: {}", failure.on_one_line());
        let hint = format!(
            "make a key with `proofmark keys new NAME --role judge`, or set {}",
            Settings::key_variable(Role::Judge)
        );
        settings.print_err(&format!("{}{text}\n{}{hint}\n", style.hint("note: "), style.hint("hint: ")));
        return Ok(None);
    }
    let found = signer(settings, trust, Role::Judge, chosen, args.passphrase_file.as_deref())?;
    Ok(Some(Arc::new(found.key)))
}

/// Whoever holds a private key knows what it signed, also where no trust file says so. A key that a trust file withdraws
/// stays withdrawn.
fn believe_own(trust: Trust, key: &PrivateKey, settings: &Settings) -> Result<Trust, Failure> {
    let public = key.public();
    match trust.key(&public.fingerprint(), Role::Judge, &settings.now()) {
        Ok(_) => Ok(trust),
        Err(Distrust::Unknown(_)) => Ok(trust.with(public, Role::Judge)),
        Err(distrust) => Err(Failure::new(format!("the judge's key cannot be used: {distrust}")).hint(
            "make another one with `proofmark keys new NAME --role judge`, or name it with `--judge-key`".to_owned(),
        )),
    }
}

/// The folder of the cache; `None` when it is off.
fn place(ready: &Ready, args: &JudgeArgs, settings: &Settings) -> Option<PathBuf> {
    if let Some(dir) = &args.judge_cache {
        return (!dir.to_str().is_some_and(is_off)).then(|| dir.clone());
    }
    match &ready.plan.judge_cache {
        Some(dir) if is_off(dir) => None,
        // A relative path in a suite is relative to the suite's root.
        Some(dir) => Some(ready.root.join(dir)),
        None => judge_cache::usual(settings),
    }
}

fn open(
    dir: &Path,
    trust: Trust,
    signer: Option<Arc<PrivateKey>>,
    settings: &Settings,
) -> Result<Option<Cache>, Failure> {
    let is_writable = signer.is_some();
    let access = Access { trust: Arc::new(trust), signer, memory: judge_cache::memory(settings), now: settings.now() };
    if is_writable {
        judge_cache::open_or_make(settings, dir, access).map(Some)
    } else if dir.is_dir() {
        judge_cache::open(dir, access).map(Some)
    } else {
        Ok(None)
    }
}

/// Whose signatures are believed.
pub(crate) fn trust(named: Option<&Path>, settings: &Settings) -> Result<Trust, Failure> {
    load_trust(settings, named)
}

impl CacheShelf {
    /// Says what became of the cache, once.
    pub(crate) fn report(&self, settings: &Settings) {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let style = settings.style.stderr;
        let warn = |text: String| settings.print_err(&format!("{}{text}\n", style.warn("warning: ")));
        if noted.asked + noted.found > 0 {
            let text = format!("judgments: {} asked for, {} from the cache", count(noted.asked), count(noted.found));
            settings.print_err(&format!("{}\n", style.dim(&text)));
        }
        let bad: u64 = noted.bad.values().sum();
        if bad > 0 {
            let reasons: Vec<String> =
                noted.bad.iter().map(|(reason, times)| format!("{} {}", count(*times), reason.as_str())).collect();
            warn(format!(
                "{} of the judge cache could not be believed ({}); the judges were asked again, and the witness lists them",
                counted(bad, "entry", "entries"),
                reasons.join(", ")
            ));
        }
        if noted.conflicts > 0 {
            let conflicts = counted(noted.conflicts, "question has", "questions have");
            warn(format!("{conflicts} different verdicts in the judge cache; `proofmark cache ls` shows them"));
        }
        if let Some((trouble, times)) = &noted.trouble {
            let times = if *times > 1 { format!(" ({} times)", count(*times)) } else { String::new() };
            warn(format!("the judge cache failed{times}: {}", visible(trouble)));
        }
    }

    fn note(&self, change: impl FnOnce(&mut Noted)) {
        change(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn trouble(&self, error: &CacheError) {
        let text = Failure::from_error(error).on_one_line();
        self.note(|noted| noted.trouble.get_or_insert((text, 0)).1 += 1);
    }

    fn signed(&self, judgment: Judgment) -> Result<Entry, String> {
        let Some(key) = &self.signer else { return Ok(Entry { judgment, signature: None }) };
        let canonical = judgment.canonical().map_err(|error| error.to_string())?;
        let value = key.sign(Purpose::Judgment, &canonical).to_string();
        let signer = key.public().fingerprint().to_string();
        Ok(Entry { judgment, signature: Some(Signed { signer, value }) })
    }

    /// What the cache believes on a question.
    fn look(&self, question: &Question) -> Option<Found> {
        match self.cache.as_ref()?.lookup(question) {
            Ok(found) => Some(found),
            Err(error) => {
                self.trouble(&error);
                None
            }
        }
    }
}

impl Shelf for CacheShelf {
    fn find(&self, _: &Digest, question: &Question) -> (Option<Entry>, Option<IntegrityEvent>) {
        if self.rejudge {
            return (None, None);
        }
        match self.look(question) {
            None | Some(Found::Miss) => (None, None),
            Some(Found::Hit(hit)) => {
                self.note(|noted| {
                    noted.found += 1;
                    noted.conflicts += u64::from(!hit.others.is_empty());
                });
                (Some(hit.entry), None)
            }
            Some(Found::Bad(event)) => {
                self.note(|noted| *noted.bad.entry(event.reason).or_default() += 1);
                (None, Some(event))
            }
        }
    }

    fn keep(&self, _: &Digest, mut judgment: Judgment) -> Result<Entry, String> {
        self.note(|noted| noted.asked += 1);
        let Some(cache) = self.cache.as_ref().filter(|cache| cache.is_writable()) else { return self.signed(judgment) };
        if self.rejudge
            && let Some(Found::Hit(hit)) = self.look(&judgment.question)
        {
            let earlier = hit.entry.judgment.canonical().map_err(|error| error.to_string())?;
            judgment.supersedes = Some(Digest::of(&earlier));
        }
        match cache.insert(judgment.clone()) {
            Ok(Inserted::New(entry) | Inserted::Same(entry)) => Ok(entry),
            Ok(Inserted::Conflict { entry, against }) => {
                self.note(|noted| noted.conflicts += 1);
                // What counts for everybody else counts here: a run with a warm cache gives the same bytes.
                Ok(if judgment.supersedes.is_some() { entry } else { *against })
            }
            Err(error) => {
                self.trouble(&error);
                self.signed(judgment)
            }
        }
    }
}

/// Attacks the judges of a run with answers that they failed. The report goes into the run directory; returns what is told.
pub(crate) fn probe_run(
    ready: &Ready,
    run_dir: &Path,
    most: u64,
    shelf: &CacheShelf,
    settings: &Settings,
) -> Result<String, Failure> {
    #[derive(serde::Serialize)]
    struct Probed<'a> {
        probe: Probe,
        scorer: &'a str,
        task: &'a str,
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start asking: {error}")))?;
    let judged_at = settings.started_at();
    let desk = ShelfDesk::new(&ready.judges, shelf, &judged_at);
    let (mut text, mut all) = (String::new(), Vec::new());
    for found in calibrate::all(ready) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let answers = failed_answers(run_dir, found, most).map_err(|error| Failure::from_error(&error))?;
        let cases: Vec<_> = answers.iter().map(FailedAnswer::case).collect();
        let bench = Bench { scorer: found.scorer, desk: &desk, at_once: PROBES_AT_ONCE, tell: &|_, _| {} };
        let probe = runtime.block_on(calibrate::probe(bench, &cases)).map_err(|error| Failure::from_error(&error))?;
        let name = visible(&format!("{}/{}", found.task, found.scorer.plan.name));
        text.push_str(&format!("\nattacks on the judges of {name}{}", probe_text(&probe)));
        all.push(Probed { probe, scorer: &found.scorer.plan.name, task: found.task });
    }
    let path = run_dir.join(names::JUDGE_PROBE);
    let mut bytes = proofmark_canon::to_vec(&all).map_err(|error| Failure::from_error(&error))?;
    bytes.push(b'\n');
    write_atomic(&path, &bytes).map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))?;
    text.push_str(&format!("  {}\n", visible(&path.display().to_string())));
    Ok(text)
}

/// Questions under way when a judge is attacked; endpoints hold their own limits.
const PROBES_AT_ONCE: usize = 16;
