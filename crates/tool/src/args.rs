//! Arguments of a call, checked against what the tool said it takes.

use proofmark_canon::{Map, Value};

use crate::tool::ToolError;

/// The arguments of one call. Every name is one that the tool knows.
pub(crate) struct Args<'a> {
    tool: &'static str,
    members: &'a Map,
}

impl<'a> Args<'a> {
    pub(crate) fn of(tool: &'static str, args: &'a Value, known: &[&str]) -> Result<Self, ToolError> {
        let members = args.as_object().ok_or_else(|| {
            ToolError::bad_arguments(format!("`{tool}` takes an object of arguments, not {}", args.kind()))
        })?;
        if let Some((unknown, _)) = members.iter().find(|(name, _)| !known.contains(name)) {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            // A name of any length comes from the model; the message is for it to read.
            let unknown: String = unknown.chars().take(NAME).collect();
            let takes = known.join(", ");
            return Err(ToolError::bad_arguments(format!("`{tool}` has no argument `{unknown}`; it takes {takes}")));
        }
        Ok(Self { tool, members })
    }

    /// A text that must be there.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, ToolError> {
        let missing = || ToolError::bad_arguments(format!("`{}` needs the argument `{name}`, a string", self.tool));
        self.optional_text(name)?.ok_or_else(missing)
    }

    /// A text that may be missing. `null` is as good as missing: some models write every argument.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong(name, "a string", value)),
        }
    }

    /// A whole number from zero that may be missing.
    pub(crate) fn optional_count(&self, name: &str) -> Result<Option<u64>, ToolError> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| self.wrong(name, "a whole number from 0", value)),
        }
    }

    fn wrong(&self, name: &str, expected: &str, value: &Value) -> ToolError {
        let tool = self.tool;
        let given = match value {
            Value::Number(_) => value.to_string(),
            other => other.kind().to_owned(),
        };
        ToolError::bad_arguments(format!("the argument `{name}` of `{tool}` is {expected}, not {given}"))
    }
}

/// Characters of a name that are repeated to the model.
const NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(args: &str) -> String {
        let args = proofmark_canon::json::parse(args.as_bytes()).unwrap();
        let checked = Args::of("file_read", &args, &["path", "offset"]).and_then(|args| {
            let (path, offset) = (args.text("path")?, args.optional_count("offset")?);
            Ok(format!("{path} {offset:?}"))
        });
        checked.unwrap_or_else(|error| error.message)
    }

    #[test]
    fn wrong_arguments_are_answered_with_what_is_expected() {
        for (args, expected) in [
            (r#"{"path":"a","offset":7}"#, "a Some(7)"),
            (r#"{"path":"a","offset":null}"#, "a None"),
            (r#"[]"#, "`file_read` takes an object of arguments, not a list"),
            (r#"{}"#, "`file_read` needs the argument `path`, a string"),
            (r#"{"path":null}"#, "`file_read` needs the argument `path`, a string"),
            (r#"{"path":7}"#, "the argument `path` of `file_read` is a string, not 7"),
            (r#"{"path":"a","offset":-1}"#, "the argument `offset` of `file_read` is a whole number from 0, not -1"),
            (r#"{"path":"a","size":1}"#, "`file_read` has no argument `size`; it takes `path`, `offset`"),
        ] {
            assert_eq!(message(args), expected, "{args}");
        }
        let long = format!(r#"{{"{}":1}}"#, "x".repeat(10_000));
        assert!(message(&long).len() < 200);
    }
}
