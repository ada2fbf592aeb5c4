//! Turns a suite as written to a plan, or says everything that is wrong with it.

use std::collections::BTreeSet;
use std::fmt;

use proofmark_canon::Map;

use super::config::{self, Api, Conditions, Format, Limits, OutputKind, Price, Scorer, Shuffle, Suite};
use super::gaia;
use super::judge::{forget_calibrations, resolve_judge, tie_judges};
use super::plan::{
    ConditionPlan, DatasetPlan, DeterminismPlan, EvidencePlan, ModelPlan, Plan, RESOLVED_MARK, SamplingPlan,
    ScorerPlan, TaskPlan, ToolPlan,
};
use super::problem::{Place, Problem};
use super::solver::resolve_solver;
use super::text::{PromptSource, TextSource};
use crate::picture::{AspectRatio, HASH_BITS};
use crate::witness::redact::Redactor;
use crate::yaml::suggest;

/// What the command line changes. It becomes part of the plan, and so of the run's identity.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Keep only these tasks, models or conditions.
    pub only: Vec<Only>,
    /// At most this many items a task.
    pub max_items: Option<u64>,
    pub strict_serialization: Option<bool>,
    pub deterministic_artifacts: Option<bool>,
    pub record_evidence: Option<bool>,
    pub full_bodies: Option<bool>,
    /// Leave out what is known of judges: for those who are about to find out.
    pub without_calibrations: bool,
}

/// One `--only KIND=ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Only {
    Task(String),
    Model(String),
    Condition(String),
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => write!(f, "task={id}"),
            Self::Model(id) => write!(f, "model={id}"),
            Self::Condition(id) => write!(f, "condition={id}"),
        }
    }
}

/// The most samples an item may have.
const MAX_N: u32 = 10_000;
/// The most attempts a sample may have.
const MAX_VOTES: u32 = 100;

/// Fills in every default and checks what the types cannot.
pub fn resolve(suite: Suite, overrides: &Overrides) -> Result<Plan, Vec<Problem>> {
    let mut problems = Vec::new();
    let top = Place::top();
    if let Some(mark) = suite.resolved.as_deref().filter(|mark| *mark != RESOLVED_MARK) {
        problems.push(
            Problem::at(top.key("resolved"), format!("`{mark}` is not a version of resolved suites that we know"))
                .hint(format!("expected `{RESOLVED_MARK}`")),
        );
    }
    if suite.name.trim().is_empty() || suite.name.len() > 200 || suite.name.chars().any(char::is_control) {
        problems.push(Problem::at(top.key("name"), "the name must have 1 to 200 printable characters"));
    }
    if suite.seed.is_some_and(|seed| seed > proofmark_canon::Number::MAX_SAFE) {
        problems.push(Problem::at(top.key("seed"), "a seed must be below 2^53"));
    }
    let seed = suite.seed.unwrap_or(0);
    let sampling = resolve_sampling(suite.sampling.unwrap_or_default(), &mut problems);
    let models = resolve_models(suite.models, "models", &mut problems);
    let judges = suite.judges.map(|judges| resolve_models(judges, "judges", &mut problems)).unwrap_or_default();
    let conditions = resolve_conditions(suite.conditions, &mut problems);
    let strict = overrides.strict_serialization.or(suite.determinism.and_then(|d| d.strict_serialization));
    let strict = strict.unwrap_or(true);
    let artifacts = overrides.deterministic_artifacts.or(suite.determinism.and_then(|d| d.deterministic_artifacts));
    let determinism =
        DeterminismPlan { strict_serialization: strict, deterministic_artifacts: artifacts.unwrap_or(strict) };
    let record = overrides.record_evidence.or(suite.evidence.and_then(|e| e.record)).unwrap_or(false);
    let full_bodies = overrides.full_bodies.or(suite.evidence.and_then(|e| e.full_bodies)).unwrap_or(false);
    if full_bodies && !record {
        problems.push(
            Problem::at(top.key("evidence"), "whole bodies are part of the evidence, which is not recorded")
                .hint("turn it on too: `evidence: {record: true}` or `--record-evidence`"),
        );
    }
    if let Some(limits) = &suite.limits {
        check_limits(limits, &top.key("limits"), &mut problems);
    }
    let mut tasks = resolve_tasks(suite.tasks, seed, strict, overrides.max_items, &mut problems);
    tie_judges(&mut tasks, &judges, &mut problems);
    if overrides.without_calibrations {
        forget_calibrations(&mut tasks);
    }
    for (at, judge) in judges.iter().enumerate().filter(|(_, judge)| models.iter().any(|model| model.id == judge.id)) {
        // Telemetry and reports name both by their ids.
        let place = top.key("judges").index(at).key("id");
        problems.push(Problem::at(place, format!("`{}` is the id of a model already", judge.id)));
    }
    let mut plan = Plan {
        resolved: RESOLVED_MARK,
        name: suite.name,
        description: suite.description,
        seed,
        sampling,
        models,
        judges,
        judge_cache: suite.judge_cache,
        conditions,
        tasks,
        determinism,
        evidence: EvidencePlan { record, full_bodies },
        limits: suite.limits,
        audit: suite.audit,
    };
    if problems.is_empty() {
        keep_only(&mut plan, &overrides.only, &mut problems);
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

fn resolve_sampling(sampling: config::Sampling, problems: &mut Vec<Problem>) -> SamplingPlan {
    let place = Place::top().key("sampling");
    let n = sampling.n.unwrap_or(1);
    if n == 0 || n > MAX_N {
        problems.push(Problem::at(place.key("n"), format!("n is {n}, expected 1 to {MAX_N}")));
    }
    if sampling.temperature.is_some_and(|t| !(0.0..=10.0).contains(&t)) {
        problems.push(Problem::at(place.key("temperature"), "expected a temperature from 0 to 10"));
    }
    if sampling.top_p.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
        problems.push(Problem::at(place.key("top_p"), "expected a probability from 0 to 1"));
    }
    if sampling.max_tokens == Some(0) {
        problems.push(Problem::at(place.key("max_tokens"), "expected at least 1"));
    }
    let voting_attempts = sampling.voting_attempts.unwrap_or(1);
    if !(1..=MAX_VOTES).contains(&voting_attempts) {
        problems.push(Problem::at(place.key("voting_attempts"), format!("expected 1 to {MAX_VOTES}")));
    }
    let config::Sampling { temperature, top_p, max_tokens, stop, voting_tie, .. } = sampling;
    SamplingPlan {
        n,
        temperature,
        top_p,
        max_tokens,
        stop,
        voting_attempts,
        voting_tie: voting_tie.unwrap_or_default(),
    }
}

fn resolve_models(models: Vec<config::Model>, key: &str, problems: &mut Vec<Problem>) -> Vec<ModelPlan> {
    let place = Place::top().key(key);
    if models.is_empty() {
        problems.push(
            Problem::at(place.clone(), format!("a suite needs at least one {}", key.trim_end_matches('s')))
                .hint("try `{id: noisy, model: \"offline:noisy\"}`"),
        );
    }
    check_ids(&place, models.iter().map(|model| model.id.as_str()), "model", problems);
    let mut plans = Vec::new();
    for (at, model) in models.into_iter().enumerate() {
        let named = model.model.split_once(':').is_some_and(|(provider, id)| !provider.is_empty() && !id.is_empty());
        if !named {
            problems.push(
                Problem::at(place.index(at).key("model"), format!("`{}` names no provider", model.model))
                    .hint("write `provider:model-id`, for example `offline:noisy`"),
            );
        }
        check_model(&model, &place.index(at), problems);
        plans.push(ModelPlan {
            params: model.params.unwrap_or_default(),
            base_url: model.base_url.map(|url| url.trim_end_matches('/').to_owned()),
            // The defaults are left out, so that saying them changes nothing.
            api: model.api.filter(|api| *api != Api::Chat),
            api_key_env: model.api_key_env,
            headers: model.headers.unwrap_or_default(),
            output: model.output.filter(|output| *output != OutputKind::Text),
            command: model.command,
            price: model.price,
            limits: model.limits,
            ..ModelPlan::named(model.id, model.model)
        });
    }
    plans
}

/// Whether a header's name says that its value is a key.
fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    ["token", "secret", "auth", "passw", "cookie", "apikey", "api-key", "access-key", "subscription-key"]
        .iter()
        .any(|word| name.contains(word))
}

fn check_model(model: &config::Model, place: &Place, problems: &mut Vec<Problem>) {
    if let Some(url) = &model.base_url {
        let has_credentials = url
            .split_once("://")
            .is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('@')));
        if !(url.starts_with("https://") || url.starts_with("http://")) || has_credentials || url.contains(['?', '#']) {
            problems.push(
                Problem::at(
                    place.key("base_url"),
                    "expected `http://` or `https://`, a host and a path, and nothing else",
                )
                .hint("for example `http://localhost:8000/v1`; a key belongs into the environment"),
            );
        }
    }
    if let Some(name) = &model.api_key_env {
        let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_name || !(name.ends_with("_API_KEY") || name.ends_with("_API_TOKEN") || name == "HF_TOKEN") {
            // A suite is somebody else's text: it must not be able to send any variable to any host.
            problems.push(
                Problem::at(place.key("api_key_env"), format!("`{name}` is not the name of a variable for keys"))
                    .hint("its name must end in `_API_KEY` or `_API_TOKEN`"),
            );
        }
    }
    for (name, value) in model.headers.iter().flatten() {
        let is_token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        let is_ours = [
            "authorization",
            "x-api-key",
            "api-key",
            "x-goog-api-key",
            "cookie",
            "host",
            "content-length",
            "content-type",
            "transfer-encoding",
            "connection",
        ]
        .contains(&name.to_ascii_lowercase().as_str());
        // The suite is written to the run directory: nothing in it may be secret.
        let is_secret = is_secret_header(name) || Redactor::default().text(value) != *value;
        if !is_token || is_ours || is_secret || value.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            problems.push(
                Problem::at(place.key("headers").key(name), format!("`{name}` cannot be set here"))
                    .hint("keys come from the environment: `api_key_env`"),
            );
        }
    }
    if let Some(Price { input, output }) = model.price
        && !(input.is_finite() && output.is_finite() && input >= 0.0 && output >= 0.0)
    {
        problems.push(Problem::at(place.key("price"), "expected prices of 0 or more"));
    }
    if let Some(limits) = &model.limits {
        check_limits(limits, &place.key("limits"), problems);
    }
}

fn check_limits(limits: &Limits, place: &Place, problems: &mut Vec<Problem>) {
    let mut refuse = |key: &str, what: &str| problems.push(Problem::at(place.key(key), format!("expected {what}")));
    if limits.max_connections.is_some_and(|n| !(1..=4096).contains(&n)) {
        refuse("max_connections", "1 to 4096");
    }
    if limits.requests_per_minute == Some(0) {
        refuse("requests_per_minute", "at least 1");
    }
    if limits.tokens_per_minute == Some(0) {
        refuse("tokens_per_minute", "at least 1");
    }
    if limits.max_retries.is_some_and(|n| n > 20) {
        refuse("max_retries", "at most 20");
    }
    for (key, seconds) in [
        ("connect_timeout", limits.connect_timeout),
        ("first_byte_timeout", limits.first_byte_timeout),
        ("total_timeout", limits.total_timeout),
    ] {
        if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 86_400.0)) {
            refuse(key, "more than 0 and at most 86400 seconds");
        }
    }
}

fn resolve_tools(tools: Vec<config::Tool>, place: &Place, problems: &mut Vec<Problem>) -> Vec<ToolPlan> {
    let mut seen = BTreeSet::new();
    let mut plans = Vec::new();
    for (at, tool) in tools.into_iter().enumerate() {
        let place = place.index(at).key("name");
        let fits = (1..=64).contains(&tool.name.len())
            && tool.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !fits {
            let message = format!("`{}` cannot name a tool", tool.name);
            problems.push(Problem::at(place, message).hint("use 1 to 64 letters, digits, `_` and `-`"));
        } else if !seen.insert(tool.name.clone()) {
            problems.push(Problem::at(place, format!("two tools are named `{}`", tool.name)));
        }
        let parameters = tool.parameters.unwrap_or_else(|| {
            let mut none = Map::new();
            none.insert("type", "object");
            none.insert("properties", proofmark_canon::Value::Object(Map::new()));
            none
        });
        plans.push(ToolPlan { name: tool.name, description: tool.description.unwrap_or_default(), parameters });
    }
    plans
}

fn resolve_conditions(conditions: Option<Conditions>, problems: &mut Vec<Problem>) -> Vec<ConditionPlan> {
    let place = Place::top().key("conditions");
    let conditions = match conditions {
        None => vec![("default".to_owned(), config::Condition::default())],
        Some(Conditions(conditions)) => {
            if conditions.is_empty() {
                problems.push(
                    Problem::at(place.clone(), "there is no condition")
                        .hint("leave `conditions` out, or name one: `raw: {}`"),
                );
            }
            conditions
        }
    };
    check_ids(&place, conditions.iter().map(|(id, _)| id.as_str()), "condition", problems);
    conditions
        .into_iter()
        .map(|(id, condition)| ConditionPlan {
            id,
            system: condition.system,
            prompt: condition.prompt,
            params: condition.params.unwrap_or_default(),
            token: condition.token,
        })
        .collect()
}

fn resolve_tasks(
    tasks: Vec<config::Task>,
    seed: u64,
    strict: bool,
    max_items: Option<u64>,
    problems: &mut Vec<Problem>,
) -> Vec<TaskPlan> {
    let place = Place::top().key("tasks");
    if tasks.is_empty() {
        problems.push(Problem::at(place.clone(), "a suite needs at least one task"));
    }
    check_ids(&place, tasks.iter().map(|task| task.id.as_str()), "task", problems);
    let mut plans = Vec::new();
    for (at, task) in tasks.into_iter().enumerate() {
        let place = place.index(at);
        if task.scorers.is_empty() {
            problems.push(
                Problem::at(place.key("scorers"), format!("task `{}` has no scorer", task.id))
                    .hint("try `scorers: [{type: exact}]`"),
            );
        }
        let mut dataset = resolve_dataset(task.dataset, &place.key("dataset"), seed, strict, problems);
        if let Some(most) = max_items {
            dataset.limit = Some(dataset.limit.map_or(most, |limit| limit.min(most)));
        }
        let scorers = resolve_scorers(task.scorers, &place.key("scorers"), problems);
        if let Some(PromptSource::Messages(messages)) = &task.prompt
            && messages.is_empty()
        {
            problems.push(Problem::at(place.key("prompt"), "a chat prompt needs at least one message"));
        }
        let format = dataset.format;
        let mut plan = TaskPlan {
            id: task.id,
            dataset,
            brief: task.brief,
            prompt: task.prompt.unwrap_or_else(|| PromptSource::Text(TextSource::Inline("{{ input }}".to_owned()))),
            system: task.system,
            solver: task.solver.map(|solver| resolve_solver(solver, format, &place.key("solver"), problems)),
            tools: resolve_tools(task.tools.unwrap_or_default(), &place.key("tools"), problems),
            scorers,
        };
        if format == Format::Gaia {
            gaia::fill_system(&mut plan);
        }
        plans.push(plan);
    }
    plans
}

fn resolve_dataset(
    mut dataset: config::Dataset,
    place: &Place,
    seed: u64,
    strict: bool,
    problems: &mut Vec<Problem>,
) -> DatasetPlan {
    let name = dataset.format.as_str();
    let is_file = matches!(dataset.format, Format::Jsonl | Format::Csv | Format::Parquet);
    let is_gaia = dataset.format == Format::Gaia;
    let is_hub = dataset.format == Format::Hf || (is_gaia && dataset.repo.is_some());
    if is_gaia {
        gaia::fill_dataset(&mut dataset, place, problems);
    }
    // Which keys a format has, and whether it cannot do without.
    let keys = [
        ("path", dataset.path.is_some(), is_file || is_gaia, is_file),
        ("rows", dataset.rows.is_some(), dataset.format == Format::Inline, dataset.format == Format::Inline),
        ("repo", dataset.repo.is_some(), is_hub, is_hub),
        ("revision", dataset.revision.is_some(), is_hub, false),
        ("config", dataset.config.is_some(), is_hub || is_gaia, false),
        ("level", dataset.level.is_some(), is_gaia, false),
        // A local file may say which split it is; only the hub needs it to find files.
        ("split", dataset.split.is_some(), true, false),
        ("data_files", dataset.data_files.is_some(), dataset.format == Format::Hf, false),
        ("delimiter", dataset.delimiter.is_some(), dataset.format == Format::Csv, false),
    ];
    for (key, given, belongs, needed) in keys {
        if given && !belongs {
            problems
                .push(Problem::at(place.key(key), format!("`{key}` does not belong to a dataset of format `{name}`")));
        } else if needed && !given {
            problems.push(Problem::at(place.clone(), format!("a dataset of format `{name}` needs `{key}`")));
        }
    }
    if is_hub && strict && dataset.revision.is_none() && dataset.dataset_hash.is_none() {
        problems.push(
            Problem::at(
                place.clone(),
                "a hub dataset needs `revision` or `dataset_hash`, so that it cannot change silently",
            )
            .hint("pin it: `revision: <commit>`; or turn strictness off: `determinism: {strict_serialization: false}`"),
        );
    }
    if let Some(delimiter) = dataset.delimiter.as_deref().filter(|text| text.len() != 1 || !text.is_ascii()) {
        problems.push(Problem::at(place.key("delimiter"), format!("`{delimiter}` is not one ASCII character")));
    }
    if dataset.limit == Some(0) {
        problems.push(Problem::at(place.key("limit"), "a limit of 0 leaves no item"));
    }
    DatasetPlan {
        format: dataset.format,
        path: dataset.path,
        rows: dataset.rows,
        repo: dataset.repo,
        revision: dataset.revision,
        config: dataset.config,
        split: dataset.split.or_else(|| is_hub.then(|| "test".to_owned())),
        level: dataset.level.unwrap_or_default(),
        data_files: dataset.data_files,
        dataset_hash: dataset.dataset_hash,
        id: dataset.id,
        input: dataset.input,
        target: dataset.target,
        choices: dataset.choices,
        files: dataset.files.unwrap_or_default(),
        metadata: dataset.metadata.unwrap_or_default(),
        limit: dataset.limit,
        shuffle: match dataset.shuffle {
            None | Some(Shuffle::Off) => None,
            Some(Shuffle::SuiteSeed) => Some(seed),
            Some(Shuffle::Seed(own)) => Some(own),
        },
        on_bad_row: dataset.on_bad_row.unwrap_or_default(),
        delimiter: dataset.delimiter.or_else(|| (dataset.format == Format::Csv).then(|| ",".to_owned())),
    }
}

fn resolve_scorers(scorers: Vec<Scorer>, place: &Place, problems: &mut Vec<Problem>) -> Vec<ScorerPlan> {
    let mut taken = BTreeSet::new();
    // Given names first, so that a generated one never takes a name that stands further down.
    for (at, scorer) in scorers.iter().enumerate() {
        if let Some(name) = given_name(scorer)
            && !taken.insert(name.clone())
        {
            problems.push(Problem::at(place.index(at).key("name"), format!("two scorers are named `{name}`")));
        }
    }
    let mut plans = Vec::new();
    for (at, scorer) in scorers.into_iter().enumerate() {
        let name = given_name(&scorer).cloned().unwrap_or_else(|| free_name(type_name(&scorer), &mut taken));
        check_scorer(&scorer, &place.index(at), problems);
        let judge = resolve_judge(&scorer, name.clone(), &place.index(at), problems);
        plans.push(judge.unwrap_or_else(|| fill_scorer(scorer, name)));
    }
    plans
}

fn given_name(scorer: &Scorer) -> Option<&String> {
    match scorer {
        Scorer::Exact { name, .. }
        | Scorer::Includes { name, .. }
        | Scorer::Regex { name, .. }
        | Scorer::Numeric { name, .. }
        | Scorer::Choice { name }
        | Scorer::Set { name, .. }
        | Scorer::JsonSchema { name, .. }
        | Scorer::Gaia { name }
        | Scorer::Image { name, .. }
        | Scorer::ImageHash { name, .. }
        | Scorer::Command { name, .. }
        | Scorer::Judge { name, .. } => name.as_ref(),
    }
}

fn type_name(scorer: &Scorer) -> &'static str {
    match scorer {
        Scorer::Exact { .. } => "exact",
        Scorer::Includes { .. } => "includes",
        Scorer::Regex { .. } => "regex",
        Scorer::Numeric { .. } => "numeric",
        Scorer::Choice { .. } => "choice",
        Scorer::Set { .. } => "set",
        Scorer::JsonSchema { .. } => "json_schema",
        Scorer::Gaia { .. } => "gaia",
        Scorer::Image { .. } => "image",
        Scorer::ImageHash { .. } => "image_hash",
        Scorer::Command { .. } => "command",
        Scorer::Judge { .. } => "judge",
    }
}

fn free_name(kind: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = kind.to_owned();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{kind}-{number}");
    }
    name
}

fn check_scorer(scorer: &Scorer, place: &Place, problems: &mut Vec<Problem>) {
    let mut non_negative = |key: &str, value: Option<f64>| {
        if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
            problems.push(Problem::at(place.key(key), format!("expected `{key}` to be 0 or more")));
        }
    };
    match scorer {
        Scorer::Numeric { tolerance, relative_tolerance, .. } => {
            non_negative("tolerance", *tolerance);
            non_negative("relative_tolerance", *relative_tolerance);
        }
        Scorer::Set { threshold: Some(threshold), .. } if !(*threshold > 0.0 && *threshold <= 1.0) => {
            problems.push(Problem::at(place.key("threshold"), "expected a threshold above 0 and up to 1"));
        }
        Scorer::Set { separator: Some(separator), .. } if separator.is_empty() => {
            problems.push(Problem::at(place.key("separator"), "an empty separator separates nothing"));
        }
        Scorer::JsonSchema { schema, file, .. } if schema.is_some() == file.is_some() => {
            problems.push(Problem::at(place.clone(), "a json_schema scorer needs either `schema` or `file`"));
        }
        Scorer::Image { width, height, min_width, min_height, max_bytes, aspect_ratio, .. } => {
            let [width, height, min_width, min_height] =
                [width, height, min_width, min_height].map(|n| n.map(u64::from));
            for (key, number) in [
                ("width", width),
                ("height", height),
                ("min_width", min_width),
                ("min_height", min_height),
                ("max_bytes", *max_bytes),
            ] {
                if number == Some(0) {
                    problems.push(Problem::at(place.key(key), format!("expected `{key}` to be at least 1")));
                }
            }
            if let Some(Err(expected)) = aspect_ratio.as_ref().map(|ratio| ratio.parse::<AspectRatio>()) {
                problems.push(Problem::at(place.key("aspect_ratio"), format!("expected {expected}")));
            }
        }
        Scorer::ImageHash { max_distance: Some(most), .. } if *most >= HASH_BITS => {
            problems.push(Problem::at(place.key("max_distance"), format!("expected a distance below {HASH_BITS}")));
        }
        Scorer::Command { command, timeout, .. } => {
            if command.first().is_none_or(String::is_empty) {
                problems.push(Problem::at(place.key("command"), "expected a program and its arguments"));
            }
            if timeout.is_some_and(|timeout| !(timeout > 0.0 && timeout <= 3600.0)) {
                problems.push(Problem::at(place.key("timeout"), "expected more than 0 and at most 3600 seconds"));
            }
        }
        _ => {}
    }
}

fn fill_scorer(scorer: Scorer, name: String) -> ScorerPlan {
    match scorer {
        Scorer::Exact { ignore_case, trim, ignore_punctuation, .. } => ScorerPlan::Exact {
            name,
            ignore_case: ignore_case.unwrap_or(false),
            trim: trim.unwrap_or(true),
            ignore_punctuation: ignore_punctuation.unwrap_or(false),
        },
        Scorer::Includes { ignore_case, .. } => {
            ScorerPlan::Includes { name, ignore_case: ignore_case.unwrap_or(false) }
        }
        Scorer::Regex { pattern, group, take, ignore_case, .. } => ScorerPlan::Regex {
            name,
            pattern,
            group,
            take: take.unwrap_or_default(),
            ignore_case: ignore_case.unwrap_or(false),
        },
        Scorer::Numeric { tolerance, relative_tolerance, take, .. } => ScorerPlan::Numeric {
            name,
            tolerance: tolerance.unwrap_or(0.0),
            relative_tolerance: relative_tolerance.unwrap_or(0.0),
            take: take.unwrap_or_default(),
        },
        Scorer::Choice { .. } => ScorerPlan::Choice { name },
        Scorer::Set { separator, ignore_case, threshold, .. } => ScorerPlan::Set {
            name,
            separator,
            ignore_case: ignore_case.unwrap_or(false),
            threshold: threshold.unwrap_or(1.0),
        },
        Scorer::JsonSchema { schema, file, match_target, .. } => {
            ScorerPlan::JsonSchema { name, schema, file, match_target: match_target.unwrap_or(false) }
        }
        Scorer::Gaia { .. } => ScorerPlan::Gaia { name },
        Scorer::Image { format, width, height, min_width, min_height, max_bytes, aspect_ratio, .. } => {
            ScorerPlan::Image { name, format, width, height, min_width, min_height, max_bytes, aspect_ratio }
        }
        Scorer::ImageHash { max_distance, .. } => {
            ScorerPlan::ImageHash { name, max_distance: max_distance.unwrap_or(10) }
        }
        Scorer::Command { command, timeout, files, .. } => {
            ScorerPlan::Command { name, command, timeout: timeout.unwrap_or(30.0), files: files.unwrap_or_default() }
        }
        Scorer::Judge { .. } => unreachable!("judges are resolved on their own"),
    }
}

/// Checks that ids are usable in keys and stand once.
fn check_ids<'a>(place: &Place, ids: impl Iterator<Item = &'a str>, what: &str, problems: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (at, id) in ids.enumerate() {
        let fits = !id.is_empty()
            && id.len() <= 128
            && id.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@' | '+' | ' '));
        if !fits || id.trim() != id {
            problems.push(
                Problem::at(place.index(at).key("id"), format!("`{id}` cannot name a {what}"))
                    .hint("use 1 to 128 letters, digits and `-_.:/@+`"),
            );
        } else if !seen.insert(id) {
            problems.push(Problem::at(place.index(at).key("id"), format!("two {what}s are named `{id}`")));
        }
    }
}

fn keep_only(plan: &mut Plan, only: &[Only], problems: &mut Vec<Problem>) {
    let wanted = |pick: fn(&Only) -> Option<&String>| only.iter().filter_map(pick).cloned().collect::<Vec<_>>();
    let tasks = wanted(|only| if let Only::Task(id) = only { Some(id) } else { None });
    let models = wanted(|only| if let Only::Model(id) = only { Some(id) } else { None });
    let conditions = wanted(|only| if let Only::Condition(id) = only { Some(id) } else { None });
    retain(&mut plan.tasks, &tasks, |task| &task.id, "task", problems);
    retain(&mut plan.models, &models, |model| &model.id, "model", problems);
    retain(&mut plan.conditions, &conditions, |condition| &condition.id, "condition", problems);
}

fn retain<T>(all: &mut Vec<T>, wanted: &[String], id: fn(&T) -> &String, what: &str, problems: &mut Vec<Problem>) {
    if wanted.is_empty() {
        return;
    }
    let known: Vec<&str> = all.iter().map(|one| id(one).as_str()).collect();
    for name in wanted {
        if !known.contains(&name.as_str()) {
            let hint = match suggest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the suite has {}", known.join(", ")),
            };
            problems.push(
                Problem::at(Place::top(), format!("`--only` names the {what} `{name}`, which the suite does not have"))
                    .hint(hint),
            );
        }
    }
    all.retain(|one| wanted.contains(id(one)));
}

/// Returns the parameters that a model is sent under a condition: the condition's win over the
/// model's, which win over the suite's.
pub fn merge_params(plan: &Plan, model: &ModelPlan, condition: &ConditionPlan) -> Map {
    let SamplingPlan { temperature, top_p, max_tokens, stop, .. } = &plan.sampling;
    let mut merged = Map::new();
    for (name, number) in [("temperature", *temperature), ("top_p", *top_p), ("max_tokens", max_tokens.map(f64::from))]
    {
        if let Some(number) = number.and_then(proofmark_canon::Number::new) {
            merged.insert(name, proofmark_canon::Value::Number(number));
        }
    }
    if let Some(stop) = stop {
        merged.insert("stop", stop.iter().map(|text| text.as_str().into()).collect::<Vec<proofmark_canon::Value>>());
    }
    for params in [&model.params, &condition.params] {
        for (name, value) in params.iter() {
            merged.insert(name, value.clone());
        }
    }
    merged
}
