//! Python and shell commands in a sandbox.

use proofmark_artefact::suite::plan::ToolPlan;

use crate::sandbox::Sandbox;
use crate::tool::{Call, Calling, Tool, ToolError};

/// The `python` and `bash` tools.
pub(crate) struct Code {
    definition: ToolPlan,
    _sandbox: Sandbox,
}

impl Code {
    pub(crate) fn python(sandbox: Sandbox, _max_output: u64) -> Self {
        let definition = crate::build::definition("python", "", &[("code", "string", "", true)]);
        Self { definition, _sandbox: sandbox }
    }

    pub(crate) fn bash(sandbox: Sandbox, _max_output: u64) -> Self {
        let definition = crate::build::definition("bash", "", &[("command", "string", "", true)]);
        Self { definition, _sandbox: sandbox }
    }
}

impl Tool for Code {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, _: Call<'a>) -> Calling<'a> {
        Box::pin(async move { Err(ToolError::bad_arguments("not built yet")) })
    }
}
