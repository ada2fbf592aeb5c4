//! Reads the item's attachments, and nothing else.

use proofmark_artefact::suite::plan::ToolPlan;

use crate::tool::{Call, Calling, Tool, ToolError};

/// The `file_read` tool.
pub(crate) struct FileRead {
    definition: ToolPlan,
}

impl FileRead {
    pub(crate) fn new(_max_output: u64, _timeout: f64) -> Self {
        Self { definition: crate::build::definition("file_read", "", &[("path", "string", "", true)]) }
    }
}

impl Tool for FileRead {
    fn definition(&self) -> &ToolPlan {
        &self.definition
    }

    fn call<'a>(&'a self, _: Call<'a>) -> Calling<'a> {
        Box::pin(async move { Err(ToolError::bad_arguments("not built yet")) })
    }
}
