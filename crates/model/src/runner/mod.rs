//! Programs that answer: started, given the prompt, read, and killed as a whole when they take too long.
//!
//! - [`preset`] the programs that are known by name, as a table;
//! - [`recipe`] what is started for a model of the suite, with everything checked before the first start;
//! - [`version`] what the program says it is, asked once;
//! - [`folder`] the fresh working directory of each start; [`process`] the start itself;
//! - [`output`] what the program wrote, in our words; [`claude`], [`codex`] and [`gemini`] have formats of their own,
//!   [`pointer`] finds the place in anybody's;
//! - [`model`] one question from end to end.

mod claude;
mod codex;
mod folder;
mod gemini;
mod model;
mod output;
mod pointer;
mod preset;
mod process;
mod recipe;
#[cfg(test)]
mod tests;
mod version;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_canon::Map;

use crate::ask::Model;
use crate::build::BuildError;

/// What programs are started with besides their plan.
#[derive(Clone)]
pub(crate) struct RunnerContext {
    /// Where programs are found.
    pub path: Option<OsString>,
    /// The caller's environment; nothing of it reaches a program unless its preset or the suite names it.
    pub environment: Environment,
    /// The suite's folder.
    pub root: PathBuf,
    /// Where a fresh working directory is made for each sample.
    pub scratch: PathBuf,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Bytes that a program may write to its stdout, and as many to its stderr.
    pub max_output: usize,
}

/// Looks a variable up.
pub(crate) type Environment = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// Builds the model behind `command:NAME`: finds the program and asks for its version.
pub(crate) fn build(plan: &ModelPlan, context: &RunnerContext) -> Result<Arc<dyn Model>, BuildError> {
    check_params(plan, &plan.params)?;
    let recipe = recipe::Recipe::of(plan, context)?;
    std::fs::create_dir_all(&context.scratch).map_err(|error| {
        BuildError::new(format!("cannot make the folder `{}`: {error}", context.scratch.display()), None)
    })?;
    let version = version::ask(&recipe, context);
    Ok(Arc::new(model::Program::new(recipe, version, context)))
}

/// A program that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProgram {
    /// After `command:`.
    pub name: &'static str,
    /// What is started.
    pub program: &'static str,
    /// What to do when it is not there.
    pub install: &'static str,
}

/// Every program that is known by name.
pub fn known_programs() -> impl Iterator<Item = KnownProgram> {
    let known =
        |preset: &preset::Preset| KnownProgram { name: preset.name, program: preset.program, install: preset.install };
    preset::ALL.iter().map(known)
}

pub(crate) use recipe::find_in_path;

/// The programs that are known by name.
pub(crate) fn preset_names() -> impl Iterator<Item = &'static str> {
    preset::ALL.iter().map(|preset| preset.name)
}

/// The parameters of a program: none. How it samples is its own affair.
pub(crate) fn known_params(_name: &str) -> &'static [&'static str] {
    &[]
}

/// Refuses every parameter: nothing could be done with it, and leaving it out in silence would be a lie in the record.
pub(crate) fn check_params(plan: &ModelPlan, merged: &Map) -> Result<(), BuildError> {
    let Some((name, _)) = merged.iter().find(|(name, _)| !known_params(plan.model_id()).contains(name)) else {
        return Ok(());
    };
    let hint = "a program decides for itself how it samples; remove the parameter from the suite's `sampling`, the \
                model's `params` or the condition's `params`, or give it as an argument in `command.run`";
    Err(BuildError::new(format!("`{}` is a program and has no parameter `{name}`", plan.model), Some(hint.to_owned())))
}
