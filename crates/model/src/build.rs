//! A model out of its name and parameters.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::config::{Api, Limits};
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::yaml::suggest;
use proofmark_canon::{Map, Value};

use crate::ask::{Model, Stop};
use crate::cassette::Cassette;
use crate::cassette::program::TapedProgram;
use crate::cassette::tape::{ENDPOINT, Tape};
use crate::params::{self, COMMON, FIXED_MEMBERS, LIVE};
use crate::preset::{Language, PRESETS, Preset};
use crate::recorded::{self, Recorded};
use crate::secret::{Redactor, Secret};
use crate::transport::endpoint::{Address, Endpoint, Manners, is_loopback, merge, parse_base};
use crate::transport::judge::Judge;
use crate::transport::live::Live;
use crate::transport::replay::Replay;
use crate::transport::voice::Voice;
use crate::wire::{self, Wire};
use crate::{offline, runner};

/// What models are built with besides their plan.
pub struct BuildModel<'a> {
    /// Gives the bytes of a file that the plan names.
    pub load: &'a dyn Fn(&RelPath) -> Result<Vec<u8>, String>,
    /// How offline models behave in time; never part of what they answer.
    pub offline: offline::Behaviour,
    pub surroundings: &'a Surroundings,
    /// The suite's manners towards every endpoint.
    pub limits: Option<Limits>,
    /// Where programs get their working directories, and where the suite is.
    pub root: PathBuf,
    endpoints: RefCell<BTreeMap<String, Arc<Endpoint>>>,
}

/// Looks up variables of the environment.
pub type Variables = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// What the outside world gives a model. `cli` alone looks at the environment and the clock.
#[derive(Clone)]
pub struct Surroundings {
    /// A variable of the environment.
    pub variable: Variables,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// How many questions at once; `None` to find out.
    pub concurrency: Option<usize>,
    /// Where programs put their working directories.
    pub scratch: PathBuf,
    /// The longest first pause before a retry.
    pub first_pause: Duration,
    /// How long a dead endpoint is waited for.
    pub patience: Duration,
    /// Where calls are kept, and answered from.
    pub cassette: Option<Arc<Cassette>>,
}

impl Surroundings {
    /// Nothing is set, and it is 1970.
    pub fn none() -> Self {
        Self {
            variable: Arc::new(|_| None),
            clock: Arc::new(|| 0),
            concurrency: None,
            scratch: std::env::temp_dir(),
            first_pause: Duration::from_millis(500),
            patience: Duration::from_secs(60),
            cassette: None,
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name).and_then(|value| value.into_string().ok()).filter(|value| !value.trim().is_empty())
    }

    /// A key from a variable, or from the file that the variable with `_FILE` at its end names.
    fn key(&self, name: &str) -> Result<Option<Secret>, BuildError> {
        if let Some(text) = self.text(name) {
            return Ok(Some(Secret::new(text.trim())));
        }
        let Some(path) = (self.variable)(&format!("{name}_FILE")).filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        Secret::from_file(&PathBuf::from(path)).map(Some).map_err(|error| {
            let mut message = error.to_string();
            if let Some(source) = std::error::Error::source(&error) {
                message.push_str(&format!(": {source}"));
            }
            BuildError::new(
                message,
                "it must be a file of one line that only you can read: `chmod 600 FILE`".to_owned(),
            )
        })
    }

    /// The values of all variables that may hold a key: of every provider we know, and those that models name.
    /// Whoever writes something down looks for them in it.
    pub fn secrets(&self, models: &[ModelPlan]) -> Vec<Secret> {
        let of_presets = PRESETS.iter().flat_map(|preset| preset.keys.iter().map(|name| (*name).to_owned()));
        let of_models = models.iter().filter_map(|model| model.api_key_env.clone());
        // A key file that cannot be used was refused before, or is not used.
        let keys = of_presets.chain(of_models).filter_map(|name| self.key(&name).ok().flatten());
        let passed_on = models.iter().filter_map(|model| model.command.as_ref()?.env.as_ref()).flatten();
        let is_secret = |name: &&String| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"].iter().any(|word| name.contains(word))
        };
        let passed_on = passed_on.filter(is_secret).filter_map(|name| self.text(name)).map(Secret::new);
        keys.chain(passed_on).collect()
    }

    /// Where the key of a preset is set, without its value: the variable's name.
    pub fn key_is_in(&self, preset: &Preset) -> Option<String> {
        preset.keys.iter().find_map(|name| {
            let file = format!("{name}_FILE");
            self.text(name).map(|_| (*name).to_owned()).or_else(|| self.text(&file).map(|_| file.clone()))
        })
    }

    /// Where a program is, as the environment's PATH has it.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        runner::find_in_path(name, (self.variable)("PATH").as_deref())
    }

    /// The address of a preset as the environment has it: another one, or the preset's own with its variables filled in.
    pub fn base_of(&self, preset: &Preset) -> Result<(String, Option<&'static str>), BuildError> {
        if let Some(base) = self.text(preset.base_env) {
            return Ok((base.trim().trim_end_matches('/').to_owned(), Some(preset.base_env)));
        }
        if preset.language == Language::Ollama
            && let Some(host) = self.text("OLLAMA_HOST")
        {
            let host = host.trim().trim_end_matches('/').replace("0.0.0.0", "127.0.0.1");
            let host = if host.contains("://") { host } else { format!("http://{host}") };
            return Ok((host, Some("OLLAMA_HOST")));
        }
        let Some((before, rest)) = preset.base.split_once('{') else {
            if preset.base.is_empty() {
                return Err(BuildError::new(
                    format!("`{}` needs an address", preset.name),
                    "say where it is: `base_url: http://localhost:8000/v1`".to_owned(),
                ));
            }
            return Ok((preset.base.to_owned(), None));
        };
        let (variable, after) = rest.split_once('}').unwrap_or((rest, ""));
        match self.text(variable) {
            Some(value) => Ok((format!("{before}{}{after}", value.trim().trim_end_matches('/')), None)),
            None => Err(BuildError::new(
                format!("`{}` needs the variable {variable}", preset.name),
                format!("export {variable}=…, or say where it is with `base_url`"),
            )),
        }
    }
}

/// A model cannot be built from its plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    pub message: String,
    pub hint: Option<String>,
}

impl BuildError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<Option<String>>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl<'a> BuildModel<'a> {
    pub fn new(
        load: &'a dyn Fn(&RelPath) -> Result<Vec<u8>, String>,
        offline: offline::Behaviour,
        surroundings: &'a Surroundings,
        limits: Option<Limits>,
        root: PathBuf,
    ) -> Self {
        Self { load, offline, surroundings, limits, root, endpoints: RefCell::default() }
    }

    pub fn build(&self, plan: &ModelPlan) -> Result<Arc<dyn Model>, BuildError> {
        match Speaker::of(plan)? {
            Speaker::Offline(_) => offline::build(plan.model_id(), &plan.params, self),
            Speaker::Program => self.program(plan),
            Speaker::Nobody => Ok(Recorded::model(plan)),
            Speaker::Live(preset, wire) => self.live(plan, preset, wire),
        }
    }

    fn program(&self, plan: &ModelPlan) -> Result<Arc<dyn Model>, BuildError> {
        let Some(cassette) = &self.surroundings.cassette else { return self.bare_program(plan) };
        let inner = match cassette.is_replay() {
            true => runner::check_params(plan, &plan.params).map(|()| None)?,
            false => Some(self.bare_program(plan)?),
        };
        let clock = Arc::clone(&self.surroundings.clock);
        Ok(Arc::new(TapedProgram::new(plan, cassette, inner, clock)))
    }

    fn bare_program(&self, plan: &ModelPlan) -> Result<Arc<dyn Model>, BuildError> {
        let variable = Arc::clone(&self.surroundings.variable);
        runner::build(
            plan,
            &runner::RunnerContext {
                path: variable("PATH"),
                environment: variable,
                root: self.root.clone(),
                scratch: self.surroundings.scratch.clone(),
                clock: Arc::clone(&self.surroundings.clock),
                max_output: 32 << 20,
            },
        )
    }

    fn live(
        &self,
        plan: &ModelPlan,
        preset: &'static Preset,
        wire: Box<dyn Wire>,
    ) -> Result<Arc<dyn Model>, BuildError> {
        let tape = self.surroundings.cassette.as_ref().map(|cassette| Tape::new(cassette, plan));
        let clock = Arc::clone(&self.surroundings.clock);
        let voice = |wire, base: &str, redactor| {
            let judge = Judge { model: plan.model_id().to_owned(), base: base.to_owned(), redactor };
            Voice { id: plan.id.clone(), wire, judge, clock }
        };
        let tape = match tape {
            // No address, no key, no certificates: nothing is needed of what this machine may not have.
            Some(tape) if tape.cassette.is_replay() => {
                return Ok(Arc::new(Replay::new(voice(wire, ENDPOINT, Redactor::default()), tape)));
            }
            other => other,
        };
        // What only the surroundings can give may be missing while a suite is looked at; it is needed to ask.
        let (base, from, mut missing) = match (&plan.base_url, self.surroundings.base_of(preset)) {
            // The one who runs it has the last word about where it goes.
            (_, Ok((base, Some(variable)))) => (base, Some(variable), None),
            (Some(base), _) => (base.clone(), None, None),
            (None, Ok((base, None))) => (base, None, None),
            (None, Err(error)) if preset.base.is_empty() => return Err(error),
            (None, Err(error)) => ("http://localhost".to_owned(), None, Some(stop_of(error))),
        };
        let (variable, key) = self.key(plan, preset, &base, from.is_some())?;
        if key.is_none() && missing.is_none() && !(preset.is_keyless && plan.api_key_env.is_none()) {
            missing = Some(Stop {
                message: format!("there is no key for `{}`: the variable {variable} is not set", plan.model),
                hint: Some(format!("export {variable}=…, or {variable}_FILE=PATH of a file that only you can read")),
            });
        }
        let mut lane = format!("{base} {variable}");
        if plan.limits.is_some() || !plan.headers.is_empty() {
            // It has manners or headers of its own.
            lane = format!("{lane} {}", plan.id);
        }
        let known = self.endpoints.borrow().get(&lane).cloned();
        let endpoint = match known {
            Some(endpoint) => endpoint,
            None => {
                let mut headers: Vec<(&str, &str)> = wire.headers().to_vec();
                headers.extend(plan.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                let key = key.as_ref().map(|key| (preset.key_in, key));
                let variable = &*self.surroundings.variable;
                let manners = Manners {
                    limits: merge(self.limits, plan.limits),
                    concurrency: self.surroundings.concurrency,
                    first_pause: self.surroundings.first_pause,
                    patience: self.surroundings.patience,
                };
                let endpoint = Arc::new(Endpoint::new(&Address { base: &base, variable, key, headers }, &manners)?);
                self.endpoints.borrow_mut().insert(lane.clone(), Arc::clone(&endpoint));
                endpoint
            }
        };
        let missing = missing.or_else(|| endpoint.missing.clone());
        let mut surroundings = vec![("base_url", base)];
        surroundings.extend(from.map(|variable| ("base_url_from", variable.to_owned())));
        let voice = voice(wire, &endpoint.base, endpoint.redactor.clone());
        Ok(Arc::new(Live {
            voice,
            tape,
            endpoint,
            lane,
            last_address: std::sync::Mutex::default(),
            missing,
            surroundings,
        }))
    }

    /// Finds the key, and refuses to send it where it does not belong.
    ///
    /// A suite is somebody else's text. It may name an address or a variable, but it may not pair the key of one
    /// provider with the address of another.
    fn key(
        &self,
        plan: &ModelPlan,
        preset: &Preset,
        base: &str,
        is_users_choice: bool,
    ) -> Result<(String, Option<Secret>), BuildError> {
        // The client's own reading of the address: two readings of one text are how a key gets lost.
        let url = parse_base(base)?;
        let host = url.host_str().unwrap_or_default();
        let may_go = |owner: &Preset| {
            // Without a word of the suite's, the address is the provider's own or the user's.
            let is_at_home = owner.name == preset.name && plan.base_url.is_none();
            let is_azure = owner.name == "azure" && AZURE.iter().any(|domain| host.ends_with(domain));
            is_users_choice
                || is_at_home
                || is_loopback(host)
                || owner.host() == Some(host)
                || is_azure
                || owner.base.is_empty()
        };
        let names: Vec<&str> = match &plan.api_key_env {
            Some(name) => vec![name],
            None => preset.keys.to_vec(),
        };
        for name in &names {
            let Some(key) = self.surroundings.key(name)? else { continue };
            if let Some(owner) = Preset::of_key(name).filter(|owner| !may_go(owner)) {
                if plan.api_key_env.is_none() {
                    // The usual key stays at home; a server of one's own may need none.
                    return Ok(((*name).to_owned(), None));
                }
                return Err(BuildError::new(
                    format!("`{}` would send the key of {} to `{host}`", plan.id, owner.name),
                    format!(
                        "give that server a variable of its own, or set {} yourself if you trust it",
                        preset.base_env
                    ),
                ));
            }
            return Ok(((*name).to_owned(), Some(key)));
        }
        Ok((names.first().map_or_else(String::new, |name| (*name).to_owned()), None))
    }
}

/// Where Azure itself answers. Below other names of `azure.com` anybody's machine may answer.
const AZURE: [&str; 3] = [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];

fn stop_of(error: BuildError) -> Stop {
    Stop { message: error.message, hint: error.hint }
}

/// Who speaks for a model.
pub(crate) enum Speaker {
    /// With its parameters.
    Offline(&'static [&'static str]),
    Program,
    /// Its answers are given.
    Nobody,
    Live(&'static Preset, Box<dyn Wire>),
}

impl Speaker {
    pub(crate) fn of(plan: &ModelPlan) -> Result<Self, BuildError> {
        match plan.provider() {
            "offline" => Self::of_offline(plan),
            "command" => Ok(Self::Program),
            recorded::PROVIDER => Ok(Self::Nobody),
            name => {
                let preset = Preset::find(name).ok_or_else(|| unknown_provider(plan))?;
                Ok(Self::Live(preset, speak(plan, preset)?))
            }
        }
    }

    fn of_offline(plan: &ModelPlan) -> Result<Self, BuildError> {
        offline::known_params(plan.model_id()).map(Self::Offline).ok_or_else(|| {
            let hint = match suggest(plan.model_id(), offline::NAMES) {
                Some(near) => format!("did you mean `offline:{near}`?"),
                None => format!("there are {}", offline::NAMES.map(|name| format!("offline:{name}")).join(", ")),
            };
            BuildError::new(format!("there is no model `{}`", plan.model), hint)
        })
    }
}

fn unknown_provider(plan: &ModelPlan) -> BuildError {
    let names: Vec<&str> =
        PRESETS.iter().map(|preset| preset.name).chain(["offline", "command", recorded::PROVIDER]).collect();
    let hint = match suggest(plan.provider(), names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}; for any other server use `compatible` with `base_url`", names.join(", ")),
    };
    BuildError::new(format!("unknown provider `{}` in `{}`", plan.provider(), plan.model), hint)
}

/// The wire of a model.
fn speak(plan: &ModelPlan, preset: &Preset) -> Result<Box<dyn Wire>, BuildError> {
    if plan.api == Some(Api::Responses) && preset.language != Language::OpenAi {
        return Err(BuildError::new(format!("`{}` has no Responses API", preset.name), "leave `api` out".to_owned()));
    }
    if plan.command.is_some() {
        return Err(BuildError::new("`command` belongs to models of the provider `command`", None));
    }
    if plan.makes_images() && !preset.makes_images {
        let able: Vec<&str> = PRESETS.iter().filter(|preset| preset.makes_images).map(|preset| preset.name).collect();
        return Err(BuildError::new(
            format!("we know no way to make pictures with `{}`", preset.name),
            format!("{} can, and offline:painter", able.join(", ")),
        ));
    }
    let images = plan.makes_images();
    Ok(match preset.language {
        Language::OpenAi if images => Box::new(wire::openai::Images),
        Language::OpenAi if plan.api == Some(Api::Responses) => Box::new(wire::openai::Responses),
        Language::OpenAi => Box::new(wire::openai::Chat { dialect: wire::openai::Dialect::OpenAi }),
        Language::Compatible => Box::new(wire::openai::Chat { dialect: wire::openai::Dialect::Compatible }),
        Language::Anthropic => Box::new(wire::anthropic::Messages),
        Language::Gemini => Box::new(wire::gemini::Generate { images }),
        Language::Cloudflare if images => Box::new(wire::cloudflare::Paint),
        Language::Cloudflare => Box::new(wire::cloudflare::Run),
        Language::Ollama => Box::new(wire::ollama::Chat),
        Language::Mistral => Box::new(wire::mistral::Chat),
        Language::Cohere => Box::new(wire::cohere::Chat),
    })
}

/// What becomes of a sample's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedUse {
    /// It goes out with the request.
    Sent,
    /// The provider has no place for one.
    Ignored,
    /// The suite says not to send it.
    Withheld,
}

/// Says what becomes of the seed; `None` for models that are not asked over a network.
pub fn seed_use(plan: &ModelPlan, merged: &Map) -> Option<SeedUse> {
    match Speaker::of(plan) {
        Ok(Speaker::Live(_, wire)) => Some(match merged.get("seed").and_then(Value::as_bool) {
            _ if !wire.takes_seed() => SeedUse::Ignored,
            Some(false) => SeedUse::Withheld,
            _ => SeedUse::Sent,
        }),
        Ok(Speaker::Program) => Some(SeedUse::Ignored),
        _ => None,
    }
}

/// Checks that a model knows every parameter it will be given. `merged` holds those of the suite, the
/// model and one condition.
pub fn check_params(plan: &ModelPlan, merged: &Map) -> Result<(), BuildError> {
    let speaker = Speaker::of(plan)?;
    let known = known_params(plan, &speaker);
    for (name, value) in merged.iter() {
        if !known.contains(&name) {
            let hint = match suggest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "it takes none; say what it needs with `command`".to_owned(),
                None => format!("it knows {}", shown_params(&known, &speaker).join(", ")),
            };
            return Err(BuildError::new(format!("`{}` has no parameter `{name}`", plan.model), hint));
        }
        let checked = params::check(name, value).and_then(|()| Ok(offline::check_param(name, value)?));
        let checked = checked.and_then(|()| match &speaker {
            Speaker::Live(_, wire) => wire.check_value(name, value),
            _ => Ok(()),
        });
        checked.map_err(|expected| {
            BuildError::new(format!("parameter `{name}` of `{}` is {value}, expected {expected}", plan.model), None)
        })?;
    }
    if let Speaker::Live(_, wire) = &speaker {
        if !wire.takes_seed() && merged.get("seed").is_some_and(|seed| seed.as_bool() != Some(false)) {
            let hint = "leave `seed` out; the manifest then says that it is ignored".to_owned();
            return Err(BuildError::new(format!("`{}` takes no seed", plan.model), hint));
        }
        if let Some(Value::Object(extra)) = merged.get("extra_body")
            && let Some(name) = FIXED_MEMBERS.iter().find(|name| extra.contains(name))
        {
            return Err(BuildError::new(
                format!("`extra_body` cannot set `{name}`"),
                "the suite says that elsewhere".to_owned(),
            ));
        }
    }
    Ok(())
}

/// The parameters that a hint offers: `seed` is known where it may only be turned off.
fn shown_params(known: &[&'static str], speaker: &Speaker) -> Vec<&'static str> {
    let takes_seed = !matches!(speaker, Speaker::Live(_, wire) if !wire.takes_seed());
    known.iter().copied().filter(|name| takes_seed || *name != "seed").collect()
}

pub(crate) fn known_params(plan: &ModelPlan, speaker: &Speaker) -> Vec<&'static str> {
    match speaker {
        Speaker::Offline(own) => own.iter().chain(&COMMON).copied().collect(),
        Speaker::Program => runner::known_params(plan.model_id()).to_vec(),
        Speaker::Nobody => COMMON.to_vec(),
        Speaker::Live(_, wire) => {
            let lacks = wire.lacks();
            let all = wire.params().iter().chain(&COMMON).chain(&LIVE).copied();
            all.filter(|name| !lacks.contains(name)).collect()
        }
    }
}
