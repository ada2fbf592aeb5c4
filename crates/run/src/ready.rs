//! A run that is ready to start: everything read, checked and hashed, nothing asked and nothing written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proofmark_artefact::calibration;
use proofmark_artefact::manifest::{
    AgentEntry, AssetEntry, CalibrationNote, JudgedScorer, Manifest, PriceEntry, ToolEntry,
};
use proofmark_artefact::path::RelPath;
use proofmark_artefact::store::names;
use proofmark_artefact::suite::assets::{AssetError, AssetRole, Assets};
use proofmark_artefact::suite::config::{Api, OutputKind, Runner};
use proofmark_artefact::suite::identity::run_id;
use proofmark_artefact::suite::load::{SuiteError, SuiteFile};
use proofmark_artefact::suite::plan::{ModelPlan, Plan, TaskPlan, ToolPlan};
use proofmark_artefact::suite::problem::{Place, Problem};
use proofmark_artefact::suite::resolve::{Overrides, merge_params};
use proofmark_artefact::suite::solver::{AgentToolPlan, Protocol, SolverPlan};
use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, Map, RunId};
use proofmark_model::{BuildModel, Model, Recorded, Surroundings, check_params, price};
use proofmark_tool::Toolbox;

use crate::agent::{Agent, RecordedTools};
use crate::attach::{self, AttachError, Attachments, CollectAttachmentsError};
use crate::dataset::{DataContext, DatasetError, HubContext, Item, Prepared, prepare};
use crate::judge::{Form, Judge, JudgeScorer, Judgments, JudgmentsError};
use crate::prompt::Prompts;
use crate::reach::{self, GoldInReach};
use crate::scorer::{Scorer, ScorerEnv};

/// What the outside world gives a run. `cli` alone looks at the environment.
pub struct World {
    /// Where the suite's paths start; the suite's own folder when `None`.
    pub root: Option<PathBuf>,
    pub hub: Option<HubContext>,
    /// For large sorts; the system's folder when `None`.
    pub scratch: Option<PathBuf>,
    /// How offline models behave in time.
    pub offline: proofmark_model::offline::Behaviour,
    /// Where `command` scorers find programs.
    pub program_path: Option<std::ffi::OsString>,
    /// What live models need: keys, addresses, the clock.
    pub surroundings: Surroundings,
    pub models: ModelUse,
    /// What its judges are for.
    pub judges: ModelUse,
    pub tools: ToolWorld,
}

/// What tools of agents may do, beyond what the suite says.
#[derive(Debug, Clone, Default)]
pub struct ToolWorld {
    /// Obey `sandbox: none`.
    pub allow_unsandboxed: bool,
    /// Folders that no tool may see: caches of datasets and judgments, keys.
    pub hidden: Vec<PathBuf>,
}

/// What the models of a suite are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelUse {
    #[default]
    Asked,
    /// They only say whose answers are given. Nothing is looked up or started for them, and asking one is refused.
    Named,
}

/// A run that can start.
pub struct Ready {
    pub plan: Plan,
    pub run_id: RunId,
    pub root: PathBuf,
    /// The file it was read from, and its structured digest.
    pub suite: (PathBuf, Digest),
    pub assets: Assets,
    pub attachments: Attachments,
    /// In the suite's order of tasks.
    pub datasets: Vec<Prepared>,
    pub prompts: Prompts,
    pub models: Vec<Arc<dyn Model>>,
    /// By model, then by condition.
    pub params: Vec<Vec<Params>>,
    /// By model: what decides how it is asked besides its name and parameters; empty when nothing does.
    pub serving: Vec<Vec<u8>>,
    /// By model.
    pub prices: Vec<Option<PriceEntry>>,
    /// In the suite's order.
    pub judges: Vec<Judge>,
    /// By judge.
    pub judge_prices: Vec<Option<PriceEntry>>,
    /// The judgments of the run that is made again; then no judge is asked.
    pub(crate) recorded_judgments: Option<Option<Arc<Judgments>>>,
    /// By task. Those of agents are there once [`Ready::start_agents`] was called.
    pub tools: Vec<Tools>,
    /// By task; `None` for a single question, and until [`Ready::start_agents`] was called.
    pub(crate) agents: Vec<Option<Agent>>,
    /// By task: what an agent was told that it could do.
    catalogues: Vec<Vec<ToolEntry>>,
    tool_world: proofmark_tool::Surroundings,
    /// What tools returned in the run that is made again.
    pub(crate) recorded_tools: Option<RecordedTools>,
    /// What the models are for; agents work only where they are asked.
    model_use: ModelUse,
    /// By task.
    pub scorers: Vec<Vec<Scorer>>,
    /// The answers that are scored when no model is asked; empty for a run that asks.
    pub outputs: Vec<AssetEntry>,
    /// Where they are.
    pub outputs_path: Option<PathBuf>,
}

/// The tools of a task, and their canonical text.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    pub list: Arc<[ToolPlan]>,
    /// Empty when there are none.
    pub canonical: Vec<u8>,
}

/// The parameters a model is sent under a condition, and their canonical text.
pub struct Params {
    pub merged: Arc<Map>,
    pub canonical: Vec<u8>,
}

impl From<Map> for Params {
    fn from(merged: Map) -> Self {
        let mut canonical = Vec::new();
        merged.append_canonical(&mut canonical);
        Self { merged: Arc::new(merged), canonical }
    }
}

/// A run cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadyError {
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error(transparent)]
    Asset(#[from] AssetError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    GoldInReach(#[from] GoldInReach),
    #[error("the suite has no canonical form")]
    Encode(#[from] EncodeError),
    #[error("no folder above `{0}` holds the files that it names")]
    NoRoot(PathBuf),
    #[error("the run has more than 2^53 samples")]
    TooLarge,
}

/// An agent's tools cannot be had. Nothing was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    #[error("task `{task}`: {source}")]
    Tool { task: String, source: proofmark_tool::BuildError },
    #[error("task `{task}`: {message}")]
    Answer { task: String, message: String },
    #[error("the tools have no canonical form")]
    Encode(#[from] EncodeError),
}

impl AgentError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Tool { source, .. } => source.hint(),
            _ => None,
        }
    }
}

/// How many items of each task have their prompts made before anything is asked, to find a broken
/// template before it costs money: all of an ordinary dataset, a few milliseconds' worth of a huge one.
const TRIED_ITEMS: usize = 10_000;

impl Ready {
    /// Reads a suite and everything it names.
    pub fn load(suite_path: &Path, overrides: &Overrides, world: &World) -> Result<Self, ReadyError> {
        let file = SuiteFile::read(suite_path)?;
        let mut plan = file.resolve(overrides)?;
        let root = find_root(suite_path, &file, &plan, world)?;
        let assets = Assets::load(&plan, &root)?;
        let prompts = Prompts::compile(&plan, &assets).map_err(|problems| file.wrong(&problems))?;
        let (models, params) = build_models(&plan, &assets, &root, world).map_err(|problems| file.wrong(&problems))?;
        let judges = build_judges(&plan, &assets, &root, world).map_err(|problems| file.wrong(&problems))?;
        let scorers = build_scorers(&plan, &assets, &root, world).map_err(|problems| file.wrong(&problems))?;
        let context = DataContext {
            root: root.clone(),
            strict: plan.determinism.strict_serialization,
            scratch: world.scratch.clone(),
            hub: world.hub.clone(),
            ..DataContext::new(&root)
        };
        let mut datasets = Vec::new();
        for task in &mut plan.tasks {
            let prepared = prepare(&task.dataset, &context)?;
            task.dataset.dataset_hash = Some(prepared.digest);
            if let Some(revision) = &prepared.revision {
                task.dataset.revision = Some(revision.clone());
            }
            datasets.push(prepared);
        }
        let with_files = plan.tasks.iter().zip(&datasets).filter(|(task, _)| attach::names_files(task));
        let with_files = with_files.map(|(task, prepared)| (prepared, attach::has_references(task)));
        let attachments = Attachments::load(with_files, &root)?;
        reach::check(&plan, suite_path, &root, &datasets, &attachments)?;
        let serving = plan.models.iter().map(serving).collect::<Result<_, _>>()?;
        let tools = plan.tasks.iter().map(|task| tools(&task.tools)).collect::<Result<_, _>>()?;
        let prices = plan.models.iter().map(price::of).collect();
        let judge_prices = plan.judges.iter().map(price::of).collect();
        let catalogues = vec![Vec::new(); plan.tasks.len()];
        let agents = plan.tasks.iter().map(|_| None).collect();
        let variable = Arc::clone(&world.surroundings.variable);
        let tool_world = proofmark_tool::Surroundings {
            variable: Arc::new(move |name| variable(name).and_then(|value| value.into_string().ok())),
            program_path: world.program_path.clone(),
            // Programs of tools start in a folder of their own, where a relative path leads elsewhere.
            suite_root: root.canonicalize().unwrap_or_else(|_| root.clone()),
            allow_unsandboxed: world.tools.allow_unsandboxed,
            hidden: world.tools.hidden.clone(),
            scratch: Some(world.surroundings.scratch.clone()),
        };
        let mut ready = Self {
            plan,
            // Made below, from everything else that is here.
            run_id: RunId::from_digest(&file.digest()),
            root,
            suite: (suite_path.to_owned(), file.digest()),
            assets,
            attachments,
            datasets,
            prompts,
            models,
            params,
            serving,
            prices,
            judges,
            judge_prices,
            recorded_judgments: None,
            tools,
            agents,
            catalogues,
            tool_world,
            recorded_tools: None,
            model_use: world.models,
            scorers,
            outputs: Vec::new(),
            outputs_path: None,
        };
        ready.run_id = ready.identity()?;
        ready.sample_count().ok_or(ReadyError::TooLarge)?;
        ready.try_prompts(&file)?;
        Ok(ready)
    }

    /// Everything besides the suite and its datasets that the run is made from, as the manifest lists it.
    pub fn asset_entries(&self) -> Vec<AssetEntry> {
        let mut entries: Vec<AssetEntry> = self.attachments.entries().collect();
        entries.extend(self.assets.entries());
        entries.extend(self.outputs.iter().cloned());
        entries
    }

    /// Makes the run one that scores these answers: another run than the one that would ask.
    pub(crate) fn add_outputs(&mut self, outputs: Vec<AssetEntry>) -> Result<(), EncodeError> {
        self.outputs = outputs;
        self.run_id = self.identity()?;
        Ok(())
    }

    /// Whether answers are given and no model is asked.
    pub fn is_given(&self) -> bool {
        !self.outputs.is_empty()
    }

    fn identity(&self) -> Result<RunId, EncodeError> {
        let digests: Vec<Digest> = self.datasets.iter().map(|prepared| prepared.digest).collect();
        run_id(&proofmark_canon::to_value(&self.plan)?, &digests, &self.asset_entries())
    }

    /// Builds the tools of agents, which may start programs: not for those who only look at a suite.
    pub async fn start_agents(&mut self, run_dir: &Path) -> Result<(), AgentError> {
        if self.model_use == ModelUse::Named {
            return Ok(());
        }
        let mut world = self.tool_world.clone();
        world.hidden.push(run_dir.to_owned());
        let votes = self.plan.sampling.voting_attempts > 1;
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let agent = match &task.solver {
                Some(solver) => {
                    let failed = |source| AgentError::Tool { task: task.id.clone(), source };
                    let wrong = |message| AgentError::Answer { task: task.id.clone(), message };
                    if self.recorded_tools.is_some() {
                        // The catalogue is the manifest's; nothing is started.
                        let known = self.catalogues[at].iter().map(plan_of).collect();
                        self.agents[at] = Some(Agent::recorded(solver, known).map_err(wrong)?);
                        continue;
                    }
                    let toolbox = Toolbox::build(solver.tools(), &world).await.map_err(failed)?;
                    let definitions = toolbox.definitions().into();
                    Agent::new(solver, toolbox, definitions).map_err(wrong)?
                }
                None if votes => Agent::single(),
                None => continue,
            };
            if task.solver.is_some() {
                let mut known = tools(agent.definitions())?;
                known.list = agent.native_tools();
                self.tools[at] = known;
                self.catalogues[at] = agent.catalogue();
            }
            self.agents[at] = Some(agent);
        }
        Ok(())
    }

    /// What the manifest says of a task's agent.
    pub(crate) fn agent_entry(&self, task: &str) -> Option<AgentEntry> {
        let at = self.plan.tasks.iter().position(|known| known.id == task)?;
        let solver = self.plan.tasks[at].solver.as_ref()?;
        let SolverPlan::Agent { protocol, .. } = solver;
        Some(AgentEntry { protocol: *protocol, tools: self.catalogues[at].clone() })
    }

    /// Lets agents take the results of their tools from a finished run: nothing is started and nothing is fetched.
    pub fn use_recorded_tools(&mut self, manifest: &Manifest, run_dir: &Path) -> Result<(), String> {
        if self.plan.tasks.iter().any(|task| task.solver.is_some()) {
            self.use_catalogues(manifest).map_err(|error| error.to_string())?;
            self.recorded_tools = Some(RecordedTools::open(run_dir)?);
        }
        Ok(())
    }

    /// Lets judges say what they said in a finished run: none is asked.
    pub fn use_recorded_judgments(&mut self, run_dir: &Path) -> Result<(), JudgmentsError> {
        if self.has_judges() {
            let judgments = Judgments::open(&run_dir.join(names::JUDGMENTS), Form::Published)?;
            self.recorded_judgments = Some(judgments.map(Arc::new));
        }
        Ok(())
    }

    /// Whether a scorer asks judges.
    pub fn has_judges(&self) -> bool {
        (0..self.scorers.len()).any(|task| self.is_judged(task))
    }

    /// What the manifest says of a task's judge scorers.
    pub(crate) fn judged_entries(&self, task: &TaskPlan) -> Vec<JudgedScorer> {
        let at = self.plan.tasks.iter().position(|known| known.id == task.id).unwrap_or_default();
        let judges = self.scorers[at].iter().filter_map(Scorer::judge);
        let entry = |scorer: &JudgeScorer| JudgedScorer {
            calibration: scorer.plan.calibration.as_ref().map(|path| self.calibration_note(task, scorer, path)),
            judges: scorer.plan.judges.clone(),
            mode: scorer.plan.mode,
            rubric: scorer.rubric_digest,
            scorer: scorer.plan.name.clone(),
            votes: scorer.plan.votes,
        };
        judges.map(entry).collect()
    }

    /// What a calibration says of a scorer, or why it says nothing.
    fn calibration_note(&self, task: &TaskPlan, scorer: &JudgeScorer, path: &RelPath) -> CalibrationNote {
        let bytes = self.assets.get(AssetRole::Calibration, path).map_or(&[][..], |asset| &asset.bytes);
        calibration::note(bytes, &crate::calibrate::subject(&task.id, scorer, &self.judges))
    }

    /// Whether a scorer of a task asks judges.
    pub(crate) fn is_judged(&self, task: usize) -> bool {
        self.scorers[task].iter().any(|scorer| scorer.judge().is_some())
    }

    /// Takes the tools from what a finished run says of them: nothing is started, and nothing can be asked.
    pub fn use_catalogues(&mut self, manifest: &Manifest) -> Result<(), EncodeError> {
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let Some(SolverPlan::Agent { protocol, .. }) = &task.solver else { continue };
            let entry = manifest.tasks.iter().find(|entry| entry.id == task.id);
            let Some(entry) = entry.and_then(|entry| entry.agent.as_ref()) else { continue };
            let list: Vec<ToolPlan> = entry.tools.iter().map(plan_of).collect();
            self.tools[at] = tools(&list)?;
            if *protocol == Protocol::Text {
                self.tools[at].list = Arc::default();
            }
            self.catalogues[at].clone_from(&entry.tools);
        }
        Ok(())
    }

    /// The variables that hold keys of agents' tools.
    pub fn tool_keys(&self) -> impl Iterator<Item = &str> {
        let tools = self.plan.tasks.iter().filter_map(|task| task.solver.as_ref()).flat_map(SolverPlan::tools);
        tools.filter_map(|tool| match tool {
            AgentToolPlan::Mcp { api_key_env, .. } => api_key_env.as_deref(),
            other => proofmark_tool::web::key_variable(other),
        })
    }

    /// Whether an agent works at a task, or answers are voted on.
    pub(crate) fn is_of_agent(&self, task: usize) -> bool {
        self.plan.sampling.voting_attempts > 1 || self.plan.tasks[task].solver.is_some()
    }

    pub(crate) fn has_agents(&self) -> bool {
        (0..self.plan.tasks.len()).any(|task| self.is_of_agent(task))
    }

    /// Whether a question leaves nothing on this machine but in the run directory.
    pub(crate) fn asks_elsewhere(&self) -> bool {
        !self.has_agents() && self.models.iter().all(|model| !model.leaves_traces())
    }

    /// Where tools are told that they may write.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.tool_world.scratch.as_deref()
    }

    /// How many samples the run has.
    pub fn samples(&self) -> u64 {
        self.sample_count().unwrap_or(u64::MAX)
    }

    /// How many samples one item of a task has.
    pub fn samples_per_item(&self) -> u64 {
        self.plan.models.len() as u64 * self.plan.conditions.len() as u64 * u64::from(self.plan.sampling.n)
    }

    fn sample_count(&self) -> Option<u64> {
        let items = self.datasets.iter().try_fold(0u64, |sum, prepared| sum.checked_add(prepared.rows))?;
        items.checked_mul(self.samples_per_item()).filter(|samples| *samples < 1 << 53)
    }

    fn try_prompts(&self, file: &SuiteFile) -> Result<(), ReadyError> {
        for (task, prepared) in self.datasets.iter().enumerate() {
            for item in prepared.items()?.take(TRIED_ITEMS) {
                let item: Arc<Item> = Arc::new(item?);
                for (at, scorer) in self.scorers[task].iter().enumerate() {
                    scorer.try_item(&item.id, &item.expected).map_err(|error| {
                        let place = Place::top().key("tasks").index(task).key("scorers").index(at);
                        let hint = error.hint().map(ToOwned::to_owned);
                        file.wrong(&[Problem::at(place, error.to_string()).hint_of(hint)])
                    })?;
                }
                for condition in 0..self.plan.conditions.len() {
                    self.prompts
                        .render(task, condition, &item)
                        .map_err(|error| file.wrong(&[Problem::at(error.place, error.message).hint_of(error.hint)]))?;
                }
            }
        }
        Ok(())
    }
}

/// What decides how a model is asked besides its name and parameters.
fn serving(model: &ModelPlan) -> Result<Vec<u8>, EncodeError> {
    #[derive(serde::Serialize)]
    struct Serving<'a> {
        api: Option<Api>,
        base_url: Option<&'a str>,
        command: Option<&'a Runner>,
        headers: &'a std::collections::BTreeMap<String, String>,
        output: Option<OutputKind>,
    }
    let ModelPlan { api, base_url, command, headers, output, .. } = model;
    if api.is_none() && base_url.is_none() && command.is_none() && headers.is_empty() && output.is_none() {
        return Ok(Vec::new());
    }
    let (base_url, command) = (base_url.as_deref(), command.as_ref());
    proofmark_canon::to_vec(&Serving { api: *api, base_url, command, headers, output: *output })
}

fn plan_of(entry: &ToolEntry) -> ToolPlan {
    ToolPlan { name: entry.name.clone(), description: entry.description.clone(), parameters: entry.parameters.clone() }
}

fn tools(list: &[ToolPlan]) -> Result<Tools, EncodeError> {
    let canonical = if list.is_empty() { Vec::new() } else { proofmark_canon::to_vec(list)? };
    Ok(Tools { list: list.into(), canonical })
}

impl From<CollectAttachmentsError> for ReadyError {
    fn from(error: CollectAttachmentsError) -> Self {
        match error {
            CollectAttachmentsError::Attach(error) => Self::Attach(error),
            CollectAttachmentsError::Dataset(error) => Self::Dataset(error),
        }
    }
}

/// The suite's folder; for a file that a run wrote, the nearest folder above it that has its files.
fn find_root(suite_path: &Path, file: &SuiteFile, plan: &Plan, world: &World) -> Result<PathBuf, ReadyError> {
    let named = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    if let Some(root) = &world.root {
        return Ok(root.clone());
    }
    let own = named(suite_path.parent().unwrap_or(Path::new(".")));
    if !file.is_resolved() {
        return Ok(own);
    }
    let data: Vec<&RelPath> = plan.tasks.iter().filter_map(|task| task.dataset.path.as_ref()).collect();
    let has_all = |root: &Path| data.iter().all(|path| path.under(root).exists()) && Assets::load(plan, root).is_ok();
    let absolute = own.canonicalize().unwrap_or(own);
    let found = absolute.ancestors().find(|root| has_all(root));
    found.map(Path::to_owned).ok_or_else(|| ReadyError::NoRoot(suite_path.to_owned()))
}

type Models = (Vec<Arc<dyn Model>>, Vec<Vec<Params>>);

fn build_models(plan: &Plan, assets: &Assets, root: &Path, world: &World) -> Result<Models, Vec<Problem>> {
    let load = |path: &RelPath| {
        let asset = assets.get(AssetRole::Model, path);
        asset.map(|asset| asset.bytes.clone()).ok_or_else(|| format!("`{path}` was not loaded"))
    };
    let builder = BuildModel::new(&load, world.offline.clone(), &world.surroundings, plan.limits, root.to_owned());
    let (mut models, mut params, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for (at, model) in plan.models.iter().enumerate() {
        let place = Place::top().key("models").index(at);
        let built = match world.models {
            ModelUse::Asked => builder.build(model),
            ModelUse::Named => Ok(Recorded::model(model)),
        };
        match built {
            Ok(built) => models.push(built),
            Err(error) => {
                problems.push(Problem::at(place.key("model"), error.message).hint_of(error.hint));
                continue;
            }
        }
        let mut merged = Vec::new();
        for condition in &plan.conditions {
            if at == 0 && condition.params.contains("file") {
                let place = Place::top().key("conditions").key(&condition.id).key("params").key("file");
                let message = "a condition cannot change which file a model reads; `file` belongs to the model";
                problems.push(Problem::at(place, message).hint("name a second model with the other file"));
            }
            let all = merge_params(plan, model, condition);
            if let Err(error) = check_params(model, &all) {
                problems.push(
                    Problem::at(place.key("params"), format!("{} (under condition `{}`)", error.message, condition.id))
                        .hint_of(error.hint),
                );
            }
            merged.push(Params::from(all));
        }
        params.push(merged);
    }
    if problems.is_empty() { Ok((models, params)) } else { Err(problems) }
}

fn build_judges(plan: &Plan, assets: &Assets, root: &Path, world: &World) -> Result<Vec<Judge>, Vec<Problem>> {
    let load = |path: &RelPath| {
        let asset = assets.get(AssetRole::Model, path);
        asset.map(|asset| asset.bytes.clone()).ok_or_else(|| format!("`{path}` was not loaded"))
    };
    let builder = BuildModel::new(&load, world.offline.clone(), &world.surroundings, plan.limits, root.to_owned());
    let (mut judges, mut problems) = (Vec::new(), Vec::new());
    for (at, plan) in plan.judges.iter().enumerate() {
        let place = Place::top().key("judges").index(at);
        let built = match world.judges {
            ModelUse::Asked => builder.build(plan),
            ModelUse::Named => Ok(Recorded::model(plan)),
        };
        if let Err(error) = check_params(plan, &plan.params) {
            problems.push(Problem::at(place.key("params"), error.message).hint_of(error.hint));
        }
        match (built, serving(plan)) {
            (Ok(model), Ok(serving)) => judges.push(Judge {
                model,
                params: Arc::new(plan.params.clone()),
                serving: String::from_utf8(serving).unwrap_or_default(),
                plan: plan.clone(),
            }),
            (Err(error), _) => problems.push(Problem::at(place.key("model"), error.message).hint_of(error.hint)),
            (_, Err(error)) => problems.push(Problem::at(place, error.to_string())),
        }
    }
    if problems.is_empty() { Ok(judges) } else { Err(problems) }
}

fn build_scorers(plan: &Plan, assets: &Assets, root: &Path, world: &World) -> Result<Vec<Vec<Scorer>>, Vec<Problem>> {
    let load = |path: &RelPath| {
        let asset = assets.get(AssetRole::Scorer, path).or_else(|| assets.get(AssetRole::Rubric, path));
        asset.map(|asset| asset.bytes.clone()).ok_or_else(|| format!("`{path}` was not loaded"))
    };
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let judges = plan.judges.iter().map(|judge| judge.id.clone()).collect();
    let env = ScorerEnv { root: root.to_owned(), path: world.program_path.clone(), workers, judges };
    let (mut tasks, mut problems) = (Vec::new(), Vec::new());
    for (task_at, task) in plan.tasks.iter().enumerate() {
        let mut scorers = Vec::new();
        for (at, scorer) in task.scorers.iter().enumerate() {
            match Scorer::compile(scorer, &load, &env) {
                Ok(scorer) => scorers.push(scorer),
                Err(error) => {
                    let place = Place::top().key("tasks").index(task_at).key("scorers").index(at);
                    problems.push(Problem::at(place, error.to_string()).hint(error.hint()));
                }
            }
        }
        tasks.push(scorers);
    }
    if problems.is_empty() { Ok(tasks) } else { Err(problems) }
}
