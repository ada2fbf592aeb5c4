//! A model out of its name and parameters.

use std::sync::Arc;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::plan::ModelPlan;
use proofmark_artefact::yaml::suggest;
use proofmark_canon::Map;

use crate::ask::Model;
use crate::offline;
use crate::params::{self, COMMON};

/// What models are built with besides their plan.
pub struct BuildModel<'a> {
    /// Gives the bytes of a file that the plan names.
    pub load: &'a dyn Fn(&RelPath) -> Result<Vec<u8>, String>,
    /// How offline models behave in time; never part of what they answer.
    pub offline: offline::Behaviour,
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

/// Providers that this build can speak to.
pub const PROVIDERS: [&str; 1] = ["offline"];

impl BuildModel<'_> {
    pub fn build(&self, plan: &ModelPlan) -> Result<Arc<dyn Model>, BuildError> {
        known_params(plan)?;
        offline::build(plan.model_id(), &plan.params, self)
    }
}

/// Checks that a model knows every parameter it will be given. `merged` holds those of the suite, the
/// model and one condition.
pub fn check_params(plan: &ModelPlan, merged: &Map) -> Result<(), BuildError> {
    let known = known_params(plan)?;
    for (name, value) in merged.iter() {
        if !COMMON.contains(&name) && !known.contains(&name) {
            let all: Vec<&str> = known.iter().chain(&COMMON).copied().collect();
            let hint = match suggest(name, all.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it knows {}", all.join(", ")),
            };
            return Err(BuildError::new(format!("`{}` has no parameter `{name}`", plan.model), hint));
        }
        let checked = params::check(name, value).and_then(|()| Ok(offline::check_param(name, value)?));
        checked.map_err(|expected| {
            BuildError::new(format!("parameter `{name}` of `{}` is {value}, expected {expected}", plan.model), None)
        })?;
    }
    Ok(())
}

fn known_params(plan: &ModelPlan) -> Result<&'static [&'static str], BuildError> {
    if plan.provider() != "offline" {
        let hint = match suggest(plan.provider(), PROVIDERS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("this build knows the provider {}", PROVIDERS.join(", ")),
        };
        return Err(BuildError::new(format!("unknown provider `{}` in `{}`", plan.provider(), plan.model), hint));
    }
    offline::known_params(plan.model_id()).ok_or_else(|| {
        let hint = match suggest(plan.model_id(), offline::NAMES) {
            Some(near) => format!("did you mean `offline:{near}`?"),
            None => format!("there are {}", offline::NAMES.map(|name| format!("offline:{name}")).join(", ")),
        };
        BuildError::new(format!("there is no model `{}`", plan.model), hint)
    })
}
