//! Prompts: strict templates over an item's fields.
//!
//! Templates are compiled once for each task and condition. An undefined variable is an error,
//! never an empty prompt, and the target is not among the variables.

mod plain;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value as Jinja};
use proofmark_artefact::record::{Message, Role};
use proofmark_artefact::suite::assets::{AssetRole, Assets};
use proofmark_artefact::suite::plan::{ConditionPlan, Plan, TaskPlan};
use proofmark_artefact::suite::problem::{Place, Problem};
use proofmark_artefact::suite::text::{PromptSource, TextSource};
use proofmark_artefact::yaml::suggest;
use proofmark_canon::{Map, Value};

use self::plain::Plain;
use crate::dataset::Item;

/// Instructions that one template may spend: enough for thousands of loop turns, not for a hang.
const FUEL: u64 = 1_000_000;
/// The longest prompt we send.
const MAX_PROMPT: usize = 64 << 20;

/// The compiled prompts of a plan.
pub struct Prompts {
    environment: Environment<'static>,
    /// By task, then by condition.
    arms: Vec<Vec<Arm>>,
    /// The target's field by task, to explain why a template cannot see it.
    targets: Vec<Option<String>>,
}

/// The prompt of one task under one condition.
struct Arm {
    messages: Vec<Template>,
    /// `brief` and `token`, the same for every item.
    shared: Arc<Shared>,
}

/// One message: who speaks, the template's name, and where the suite gives it.
struct Template {
    role: Role,
    name: String,
    place: Place,
    /// The template itself, where it is simple enough.
    plain: Option<Plain>,
}

#[derive(Debug)]
struct Shared {
    brief: Option<Jinja>,
    token: Option<Jinja>,
}

/// A prompt cannot be made for an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PromptError {
    pub message: String,
    pub hint: Option<String>,
    /// Where the suite gives the template.
    pub place: Place,
}

impl Prompts {
    /// Compiles every prompt of the plan. The problems point into the suite.
    pub fn compile(plan: &Plan, assets: &Assets) -> Result<Self, Vec<Problem>> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        environment.set_debug(true);
        let mut compiler = Compiler { environment, assets, problems: Vec::new() };
        let mut arms = Vec::new();
        for (task_at, task) in plan.tasks.iter().enumerate() {
            let brief = task.brief.as_ref().and_then(|path| assets.get(AssetRole::Brief, path)).map(|asset| {
                // Plain markdown is one text; structured YAML has fields.
                asset.value.as_ref().map_or_else(|| Jinja::from(String::from_utf8_lossy(&asset.bytes)), to_jinja)
            });
            let mut conditions = Vec::new();
            for condition in &plan.conditions {
                let token = condition.token.as_ref().and_then(|path| assets.get(AssetRole::Token, path));
                let token = token.map(|asset| {
                    asset.value.as_ref().map_or_else(|| Jinja::from(String::from_utf8_lossy(&asset.bytes)), to_jinja)
                });
                let shared = Arc::new(Shared { brief: brief.clone(), token });
                let messages = compiler.arm((task_at, task), condition);
                conditions.push(Arm { messages, shared });
            }
            arms.push(conditions);
        }
        if !compiler.problems.is_empty() {
            return Err(compiler.problems);
        }
        let targets = plan.tasks.iter().map(|task| task.dataset.target.clone()).collect();
        Ok(Self { environment: compiler.environment, arms, targets })
    }

    /// Renders the messages of an item under a condition.
    pub fn render(&self, task: usize, condition: usize, item: &Arc<Item>) -> Result<Vec<Message>, PromptError> {
        let arm = &self.arms[task][condition];
        let context =
            LazyCell::new(|| Jinja::from_object(Context { item: Arc::clone(item), shared: Arc::clone(&arm.shared) }));
        let mut messages = Vec::with_capacity(arm.messages.len());
        for Template { role, name, place, plain } in &arm.messages {
            let explain = |error| self.explain((task, arm), item, &error, place);
            let content = match plain.as_ref().and_then(|plain| plain.render(|name| item.fields.get(name))) {
                Some(content) => content,
                None => {
                    let template = self.environment.get_template(name).map_err(explain)?;
                    template.render(context.clone()).map_err(explain)?
                }
            };
            if content.len() > MAX_PROMPT {
                let message =
                    format!("the {} prompt of item `{}` is longer than {MAX_PROMPT} bytes", role.as_str(), item.id);
                return Err(PromptError { message, hint: None, place: place.clone() });
            }
            messages.push(Message::new(*role, content));
        }
        Ok(messages)
    }

    /// Says what failed in a template, in terms of the suite.
    fn explain(&self, arm: (usize, &Arm), item: &Item, error: &minijinja::Error, place: &Place) -> PromptError {
        let (task, arm) = arm;
        let shown = match error.line() {
            Some(line) => format!("{}, line {line}", error.name().unwrap_or("prompt")),
            None => error.name().unwrap_or("prompt").to_owned(),
        };
        let given = [("brief", &arm.shared.brief), ("token", &arm.shared.token)];
        let given = given.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name);
        let known: Vec<&str> = item.fields.iter().map(|(name, _)| name).chain(given).collect();
        let missing = undefined_name(error);
        let hint = missing.map(|name| {
            if self.targets[task].as_deref().unwrap_or("target") == name {
                return format!("`{name}` is the target; a template cannot see the answer");
            }
            match suggest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("this item has {}", known.join(", ")),
            }
        });
        let what = match missing {
            Some(name) => format!("`{name}` is undefined"),
            None => error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned),
        };
        let message = format!("cannot make the prompt of item `{}` ({shown}): {what}", item.id);
        PromptError { message, hint, place: place.clone() }
    }
}

/// The expression that was undefined, read off the template by the error's range.
fn undefined_name(error: &minijinja::Error) -> Option<&str> {
    if error.kind() != minijinja::ErrorKind::UndefinedError {
        return None;
    }
    let text = error.template_source()?.get(error.range()?)?.trim();
    let text = text.trim_start_matches("{{").trim_end_matches("}}").trim();
    (!text.is_empty() && text.len() < 80).then_some(text)
}

struct Compiler<'a> {
    environment: Environment<'static>,
    assets: &'a Assets,
    problems: Vec<Problem>,
}

impl Compiler<'_> {
    /// Compiles the messages of one task under one condition; returns their templates.
    fn arm(&mut self, task: (usize, &TaskPlan), condition: &ConditionPlan) -> Vec<Template> {
        let (task_at, task) = task;
        let task_place = Place::top().key("tasks").index(task_at);
        let condition_place = Place::top().key("conditions").key(&condition.id);
        let mut messages = Vec::new();
        let system = match (&condition.system, &task.system) {
            (Some(source), _) => Some((source, &condition_place)),
            (None, Some(source)) => Some((source, &task_place)),
            (None, None) => None,
        };
        let label = |what: &str| format!("{what} of task `{}`, condition `{}`", task.id, condition.id);
        if let Some((source, place)) = system {
            let (name, place) = (label("system prompt"), place.key("system"));
            let plain = self.template(&name, AssetRole::System, source, &place);
            messages.push(Template { role: Role::System, name, place, plain });
        }
        let (source, place) = match &condition.prompt {
            Some(source) => (source, condition_place.key("prompt")),
            None => (&task.prompt, task_place.key("prompt")),
        };
        match source {
            PromptSource::Text(source) => {
                let name = label("prompt");
                let plain = self.template(&name, AssetRole::Prompt, source, &place);
                messages.push(Template { role: Role::User, name, place, plain });
            }
            PromptSource::Messages(list) => {
                for (at, message) in list.iter().enumerate() {
                    let (name, place) = (label(&format!("message {at}")), place.index(at).key("content"));
                    let plain = self.template(&name, AssetRole::Prompt, &message.content, &place);
                    messages.push(Template { role: message.role, name, place, plain });
                }
            }
        }
        messages
    }

    /// Compiles a template; returns it once more if it is a simple one.
    fn template(&mut self, name: &str, role: AssetRole, source: &TextSource, place: &Place) -> Option<Plain> {
        let Some(text) = self.assets.text(role, source) else {
            self.problems.push(Problem::at(place.clone(), "the file of this prompt was not loaded"));
            return None;
        };
        if let Err(error) = self.environment.add_template_owned(name.to_owned(), text.to_owned()) {
            let line = error.line().map_or_else(String::new, |line| format!(" in line {line}"));
            let what = error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
            self.problems.push(
                Problem::at(place.clone(), format!("the template does not parse{line}: {what}"))
                    .hint("templates are Jinja: `{{ field }}`, `{% if … %}`; write `{{ '{{' }}` for two braces"),
            );
        }
        Plain::read(text)
    }
}

/// What a template can see: the item's fields, `item` for all of them, `brief` and `token`.
#[derive(Debug)]
struct Context {
    item: Arc<Item>,
    shared: Arc<Shared>,
}

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        let name = key.as_str()?;
        // The row's own fields win, so that a column named `item` stays reachable.
        if let Some(value) = self.item.fields.get(name) {
            return Some(to_jinja(value));
        }
        match name {
            "brief" => self.shared.brief.clone(),
            "token" => self.shared.token.clone(),
            "item" => Some(map_to_jinja(&self.item.fields)),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

/// Turns a value to what templates work with; whole numbers stay whole (`5`, not `5.0`).
fn to_jinja(value: &Value) -> Jinja {
    match value {
        Value::Null => Jinja::from(()),
        Value::Bool(bool) => Jinja::from(*bool),
        Value::Number(number) => {
            let number = number.get();
            if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
                Jinja::from(number as i64)
            } else {
                Jinja::from(number)
            }
        }
        Value::String(text) => Jinja::from(text.as_str()),
        Value::Array(items) => items.iter().map(to_jinja).collect(),
        Value::Object(map) => map_to_jinja(map),
    }
}

fn map_to_jinja(map: &Map) -> Jinja {
    let members: BTreeMap<String, Jinja> = map.iter().map(|(name, value)| (name.to_owned(), to_jinja(value))).collect();
    Jinja::from(members)
}
