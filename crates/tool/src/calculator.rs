//! Evaluates an arithmetic expression.

use proofmark_artefact::suite::plan::ToolPlan;

use crate::tool::{Call, Calling, Tool, ToolError};

/// The `calculator` tool.
pub(crate) struct Calculator {
    definition: ToolPlan,
}

impl Calculator {
    pub(crate) fn new() -> Self {
        Self { definition: crate::build::definition("calculator", "", &[("expression", "string", "", true)]) }
    }
}

impl Tool for Calculator {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, _: Call<'a>) -> Calling<'a> {
        Box::pin(async move { Err(ToolError::bad_arguments("not built yet")) })
    }
}
