//! Ends the sample with an answer. The agent's loop looks for the call; the tool itself does nothing.

use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::Value;

use crate::tool::{Call, Calling, Tool, ToolError, ToolOutput};

/// The `submit` tool.
pub(crate) struct Submit {
    definition: ToolPlan,
}

impl Submit {
    pub(crate) fn new() -> Self {
        let definition = crate::build::definition(
            "submit",
            "Hands in the final answer and ends the task. Call it once, when you are done.",
            &[("answer", "string", "The final answer and nothing else.", true)],
        );
        Self { definition }
    }
}

impl Tool for Submit {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, call: Call<'a>) -> Calling<'a> {
        Box::pin(async move {
            match call.args.get("answer").and_then(Value::as_str) {
                Some(_) => Ok(ToolOutput::of_text("The answer was handed in.")),
                None => Err(ToolError::bad_arguments("`submit` needs the argument `answer`, a string")),
            }
        })
    }
}
