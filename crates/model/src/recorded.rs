//! Models that cannot be asked: a suite names them because their answers are given.

use std::sync::Arc;

use proofmark_artefact::suite::plan::ModelPlan;

use crate::ask::{Ask, Asking, Model, Stop};

/// What stands before the colon.
pub(crate) const PROVIDER: &str = "recorded";

/// A model that has answered already.
#[derive(Debug)]
pub struct Recorded {
    name: String,
}

impl Recorded {
    pub fn model(plan: &ModelPlan) -> Arc<dyn Model> {
        Arc::new(Self { name: plan.model.clone() })
    }

    fn stop(&self) -> Stop {
        Stop {
            message: format!("`{}` cannot be asked: its answers are given", self.name),
            hint: Some("score them with `proofmark score OUTPUTS --suite SUITE`".to_owned()),
        }
    }
}

impl Model for Recorded {
    fn ask<'a>(&'a self, _: Ask<'a>) -> Asking<'a> {
        Box::pin(async move { Err(self.stop()) })
    }

    fn check_ready(&self) -> Result<(), Stop> {
        Err(self.stop())
    }
}
