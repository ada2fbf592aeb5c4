//! One tiny call for each model, through the path that a run takes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proofmark_artefact::answerer::{Answerer, answerer};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::record::{Message, Role, Usage};
use proofmark_artefact::suite::assets::AssetRole;
use proofmark_artefact::suite::config::Limits;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::suite::resolve::{Only, Overrides};
use proofmark_artefact::telemetry::Attempt;
use proofmark_canon::seed::SampleSeed;
use proofmark_canon::{Map, Value};
use proofmark_model::offline::Behaviour;
use proofmark_model::{Ask, AttemptLog, BuildModel, Hint, Model, Reply, Request, Stop, Surroundings, check_params};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::advice::{self, Patient};
use super::{ModelCheck, Verdict};
use crate::args::DoctorArgs;
use crate::commands::models::without_secrets;
use crate::commands::run::load;
use crate::exit::Failure;
use crate::settings::Settings;

/// How many models are asked at once.
const AT_ONCE: usize = 8;
/// Everybody has answered or failed by then.
const DEADLINE: Duration = Duration::from_secs(60);
/// Programs take their time to start.
const PROGRAM_DEADLINE: Duration = Duration::from_secs(120);
/// Seconds until a reply must begin, and end.
const FIRST_BYTE: f64 = 30.0;
const LAST_BYTE: f64 = 45.0;
/// The most tokens of an answer.
const MAX_TOKENS: u32 = 32;
const WORDS: &str = "Reply with the word OK.";
const PICTURE: &str = "A red circle on a white background.";

/// Asks the models of a suite, side by side. The result has the suite's order.
pub(super) fn models(suite: &Path, args: &DoctorArgs, settings: &Settings) -> Result<Vec<ModelCheck>, Failure> {
    let only = args.model.iter().cloned().map(Only::Model).collect();
    let overrides = Overrides { only, ..Overrides::default() };
    let ready = load(suite, args.root.clone(), &overrides, None, settings)?;
    let surroundings = Surroundings {
        concurrency: Some(1),
        first_pause: Duration::from_millis(200),
        patience: Duration::from_secs(1),
        ..settings.surroundings(None)
    };
    let file = |path: &RelPath| {
        let asset = ready.assets.get(AssetRole::Model, path);
        asset.map(|asset| asset.bytes.clone()).ok_or_else(|| format!("`{path}` was not loaded"))
    };
    let mut checks = Vec::new();
    for (plan, params) in ready.plan.models.iter().zip(&ready.params) {
        let mut plan = plan.clone();
        plan.limits = plan.limits.map(hurried);
        if let Some(why) = skipped(&plan, args) {
            checks.push(Ok(Box::new(ModelCheck { message: Some(why), ..nothing(&plan, Verdict::Skipped) })));
            continue;
        }
        // Each has an endpoint of its own: the wrong name of one model says nothing about the next.
        let limits = suite_limits(ready.plan.limits);
        let builder = BuildModel::new(&file, Behaviour::default(), &surroundings, Some(limits), ready.root.clone());
        let model = builder.build(&plan).map_err(|error| Failure::new(error.message).hint(error.hint))?;
        let merged = params.first().map(|params| (*params.merged).clone()).unwrap_or_default();
        let (params, cap) = capped(&plan, merged);
        checks.push(Err(Check { plan, model, params, cap, surroundings: surroundings.clone() }));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start asking: {error}")))?;
    runtime.block_on(async {
        tokio::select! {
            all = ask_all(checks) => all,
            // What is under way is dropped, and programs end with it.
            _ = tokio::signal::ctrl_c() => Err(Failure::new("interrupted")),
        }
    })
}

/// What is known already, or is to be found out.
type Known = Result<Box<ModelCheck>, Check>;

async fn ask_all(checks: Vec<Known>) -> Result<Vec<ModelCheck>, Failure> {
    let gate = Arc::new(Semaphore::new(AT_ONCE));
    let mut asking = JoinSet::new();
    let mut found: Vec<Option<ModelCheck>> = Vec::new();
    for (at, check) in checks.into_iter().enumerate() {
        match check {
            Ok(known) => found.push(Some(*known)),
            Err(check) => {
                found.push(None);
                let gate = Arc::clone(&gate);
                asking.spawn(async move {
                    // The gate is never closed.
                    let _place = gate.acquire().await;
                    (at, check.ask().await)
                });
            }
        }
    }
    while let Some(asked) = asking.join_next().await {
        let (at, check) = asked.map_err(|error| Failure::new(format!("cannot go on asking: {error}")))?;
        found[at] = Some(check);
    }
    Ok(found.into_iter().flatten().collect())
}

/// Why a model is not asked.
fn skipped(plan: &ModelPlan, args: &DoctorArgs) -> Option<String> {
    if plan.provider() == "offline" {
        return Some("offline: it needs no network and no key".to_owned());
    }
    let is_costly = plan.makes_images() && !args.images;
    is_costly.then(|| "it makes pictures, which cost money; `--images` asks for one".to_owned())
}

/// Limits under which nothing takes long. What is not set stays so: a model's come on top of the suite's.
fn hurried(limits: Limits) -> Limits {
    let seconds = |given: Option<f64>, most: f64| given.map(|given| given.min(most));
    Limits {
        max_retries: limits.max_retries.map(|given| given.min(1)),
        first_byte_timeout: seconds(limits.first_byte_timeout, FIRST_BYTE),
        total_timeout: seconds(limits.total_timeout, LAST_BYTE),
        ..limits
    }
}

/// The suite's limits, hurried and whole.
fn suite_limits(limits: Option<Limits>) -> Limits {
    let limits = hurried(limits.unwrap_or_default());
    Limits {
        max_retries: limits.max_retries.or(Some(1)),
        first_byte_timeout: limits.first_byte_timeout.or(Some(FIRST_BYTE)),
        total_timeout: limits.total_timeout.or(Some(LAST_BYTE)),
        ..limits
    }
}

/// Lowers the limit of tokens, where there is such a parameter and nothing needs more room; says what it is then.
fn capped(plan: &ModelPlan, params: Map) -> (Map, Option<u64>) {
    // Thinking needs room of its own, and providers refuse a limit below it.
    let thinks = ["thinking_budget", "reasoning_effort", "think"].iter().any(|name| params.contains(name));
    let is_smaller = params.get("max_tokens").and_then(Value::as_u64).is_some_and(|set| set <= u64::from(MAX_TOKENS));
    let mut lowered = params.clone();
    lowered.insert("max_tokens", MAX_TOKENS);
    if thinks || is_smaller || check_params(plan, &lowered).is_err() {
        return (params, None);
    }
    (lowered, Some(u64::from(MAX_TOKENS)))
}

/// A model that is about to be asked.
struct Check {
    plan: ModelPlan,
    model: Arc<dyn Model>,
    params: Map,
    /// The limit of tokens, when it is ours.
    cap: Option<u64>,
    surroundings: Surroundings,
}

impl Check {
    async fn ask(self) -> ModelCheck {
        if let Err(stop) = self.model.check_ready() {
            let hint = advice::withheld_key(&self.plan, &self.surroundings).or(stop.hint);
            let class = Some("not_ready".to_owned());
            return ModelCheck { class, hint, message: Some(stop.message), ..nothing(&self.plan, Verdict::Failed) };
        }
        let words = if self.plan.makes_images() { PICTURE } else { WORDS };
        let key = "doctor";
        let messages = vec![Message::new(Role::User, words)];
        let request = Request::new(messages, self.params.clone(), SampleSeed::derive(0, key));
        let hint = Hint {
            key,
            ordinal: 0,
            item_id: key,
            item_index: 0,
            sample: 0,
            attempt: 0,
            expected: &Value::Null,
            choices: None,
        };
        let log = Kept::default();
        let deadline = if self.plan.provider() == "command" { PROGRAM_DEADLINE } else { DEADLINE };
        let asked = tokio::time::timeout(deadline, self.model.ask(Ask { request: &request, hint, log: &log })).await;
        let attempts = log.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let outcome = match asked {
            Ok(Ok(asked)) => Ok(asked.reply),
            Ok(Err(stop)) => Err(stop),
            Err(_) => Ok(late(&attempts, deadline)),
        };
        self.judge(outcome, &attempts)
    }

    fn judge(&self, outcome: Result<Reply, Stop>, attempts: &[Attempt]) -> ModelCheck {
        let last = attempts.last();
        let usage = outcome.as_ref().map(Reply::usage).ok().filter(|usage| *usage != Usage::default());
        let mut check = ModelCheck {
            attempts: attempts.len(),
            endpoint: last.map(|last| without_secrets(&last.endpoint)),
            latency_ms: last.map(|last| last.latency_ms),
            request_id: last.and_then(|last| last.request_id.clone()),
            status: last.and_then(|last| last.status),
            answered_by: last.and_then(|last| last.model_returned.clone()),
            usage,
            ..nothing(&self.plan, Verdict::Ok)
        };
        let (class, message, own_hint) = match outcome {
            Ok(Reply::Answered { output, .. }) => {
                check.answered_by = output.answered_by.or(check.answered_by);
                check.warnings.extend(self.stranger(check.answered_by.as_deref()));
                return check;
            }
            // The limit was ours: that it was used up shows that the model works.
            Ok(Reply::Failed { class, usage, .. })
                if class == "empty" && self.cap.is_some_and(|cap| usage.output_tokens >= cap) =>
            {
                check
                    .warnings
                    .push(format!("it used the {MAX_TOKENS} tokens of this check up before it said anything"));
                check.warnings.extend(self.stranger(check.answered_by.as_deref()));
                return check;
            }
            Ok(Reply::Failed { class, message, .. }) => (class, message, None),
            Err(stop) => {
                let class = last.and_then(|last| last.class.clone()).unwrap_or_else(|| "not_ready".to_owned());
                (class, stop.message, stop.hint)
            }
        };
        let facts = self.model.surroundings();
        let fact = |wanted| facts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
        let patient = Patient {
            plan: &self.plan,
            surroundings: &self.surroundings,
            base: fact("base_url").map(without_secrets),
            base_from: fact("base_url_from"),
            status: check.status,
            pause_ms: last.and_then(|last| last.retry_after_ms),
        };
        check.hint = patient.advice(&class).or(own_hint);
        (check.result, check.class, check.message) = (Verdict::Failed, Some(class), Some(message));
        check
    }

    /// What to say when another model answered than the one that was asked for.
    fn stranger(&self, name: Option<&str>) -> Option<String> {
        let name = name?;
        let plan = &self.plan;
        let told = plan.command.as_ref().and_then(|command| command.model.as_deref());
        let asked = told.unwrap_or(plan.model_id());
        let is_other = answerer(&plan.model, told, name) == Answerer::Another;
        is_other.then(|| format!("asked for `{asked}`, but `{name}` answered"))
    }
}

/// Nobody answered in time. What was heard until then says why.
fn late(attempts: &[Attempt], deadline: Duration) -> Reply {
    use proofmark_model::Class;
    let message = format!("there was no answer within {} s", deadline.as_secs());
    let is_limited = attempts.last().is_some_and(|last| last.class.as_deref() == Some(Class::RateLimited.as_str()));
    Reply::failed(if is_limited { Class::RateLimited } else { Class::Timeout }, message)
}

fn nothing(plan: &ModelPlan, result: Verdict) -> ModelCheck {
    ModelCheck {
        answered_by: None,
        attempts: 0,
        class: None,
        endpoint: None,
        hint: None,
        id: plan.id.clone(),
        latency_ms: None,
        message: None,
        model: plan.model.clone(),
        request_id: None,
        result,
        status: None,
        usage: None,
        warnings: Vec::new(),
    }
}

/// Keeps the attempts in memory.
#[derive(Default)]
struct Kept(Mutex<Vec<Attempt>>);

impl AttemptLog for Kept {
    fn attempt(&self, attempt: &Attempt) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(attempt.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(members: &[(&str, u32)]) -> Map {
        let mut map = Map::new();
        for (name, value) in members {
            map.insert(*name, *value);
        }
        map
    }

    #[test]
    fn an_answer_is_kept_short_unless_the_suite_or_the_model_says_otherwise() {
        let cap = |model: &str, given: &[(&str, u32)]| capped(&ModelPlan::named("m", model), params(given));
        let max = |map: &Map| map.get("max_tokens").and_then(Value::as_u64);
        for (model, given, expected) in [
            ("openai:x", &[][..], Some(32)),
            ("openai:x", &[("max_tokens", 4000)], Some(32)),
            ("openai:x", &[("max_tokens", 8)], Some(8)),
            ("anthropic:x", &[("max_tokens", 4000), ("thinking_budget", 2000)], Some(4000)),
            ("command:codex", &[], None),
        ] {
            let (map, ours) = cap(model, given);
            assert_eq!(max(&map), expected, "{model} {given:?}");
            assert_eq!(ours, expected.filter(|tokens| *tokens == 32), "{model} {given:?}");
        }
        let mut painter = ModelPlan::named("m", "openai:gpt-image-1");
        painter.output = Some(proofmark_artefact::suite::config::OutputKind::Image);
        assert_eq!(capped(&painter, Map::new()), (Map::new(), None));
    }

    #[test]
    fn nothing_may_take_long_and_what_is_stricter_stays() {
        let whole = suite_limits(None);
        assert_eq!((whole.max_retries, whole.first_byte_timeout), (Some(1), Some(FIRST_BYTE)));
        let strict = Limits { max_retries: Some(0), total_timeout: Some(2.0), ..Limits::default() };
        let strict = suite_limits(Some(strict));
        assert_eq!((strict.max_retries, strict.total_timeout), (Some(0), Some(2.0)));
        let patient = Limits { max_retries: Some(9), total_timeout: Some(900.0), ..Limits::default() };
        let patient = suite_limits(Some(patient));
        assert_eq!((patient.max_retries, patient.total_timeout), (Some(1), Some(LAST_BYTE)));
        // What a model does not set comes from the suite.
        assert_eq!(hurried(Limits::default()), Limits::default());
    }
}
