//! Calls written as text, for models without tool calling.
//!
//! A call is a fenced block whose first line is `tool` and whose content is one JSON object:
//!
//! ````text
//! ```tool
//! {"name": "calculator", "args": {"expression": "2+2"}}
//! ```
//! ````

use proofmark_artefact::record::ToolCall;
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_canon::{Map, Value, json};
use proofmark_model::Turn;

/// The name of a call that could not be read. No tool can have it.
pub(super) const MALFORMED: &str = "(unreadable call)";
/// What the model is told about one.
pub(super) const EXPECTED: &str =
    "expected one JSON object in the block: {\"name\": \"tool\", \"args\": {…}}, and nothing else";

/// More blocks than this in one answer are not read.
const MAX_CALLS: usize = 64;

const OPENING: &str = "```tool";
const CLOSING: &str = "```";

/// What a model is told about its tools.
pub(super) fn instructions(tools: &[ToolPlan]) -> String {
    let mut text = String::from(
        "You can use tools. To call one, write a block that begins with a line ```tool and ends with a line ```, \
         with one JSON object in between, and then stop:\n\
         ```tool\n{\"name\": \"NAME\", \"args\": {…}}\n```\n\
         You are given the result in the next message. Several blocks are carried out in their order. \
         An answer without such a block ends the task, unless a tool is there to hand it in.\n\nTools:\n",
    );
    for tool in tools {
        let mut schema = Vec::new();
        tool.parameters.append_canonical(&mut schema);
        let schema = String::from_utf8_lossy(&schema).into_owned();
        text.push_str(&format!("- {}: {}\n  Arguments (JSON Schema): {schema}\n", tool.name, tool.description));
    }
    text
}

/// The calls in an answer, in their order. A block that cannot be read is a call of [`MALFORMED`].
pub(super) fn calls(text: &str) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match &mut block {
            None if line.trim() == OPENING => block = Some(String::new()),
            None => {}
            Some(_) if line.trim() == CLOSING => calls.extend(block.take().map(|block| call(&block))),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
        }
        if calls.len() == MAX_CALLS {
            return calls;
        }
    }
    // The model may have been stopped right behind its JSON.
    calls.extend(block.map(|block| call(&block)));
    calls
}

fn call(block: &str) -> ToolCall {
    let unreadable = || ToolCall { arguments: block.trim().into(), name: MALFORMED.to_owned() };
    let Ok(value) = json::parse(block.trim().as_bytes()) else { return unreadable() };
    let Some(name) = value.get("name").and_then(Value::as_str) else { return unreadable() };
    let arguments = value.get("args").or_else(|| value.get("arguments")).cloned();
    ToolCall { arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())), name: name.to_owned() }
}

/// What the model is shown of results.
pub(super) fn results(turns: &[Turn]) -> String {
    let mut text = String::new();
    for turn in turns {
        let Turn::Tool { name, output, .. } = turn else { continue };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&format!("Result of {name}:\n{output}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        calls(text).into_iter().map(|call| format!("{} {}", call.name, call.arguments.to_plain_text())).collect()
    }

    #[test]
    fn calls_are_read_in_their_order_and_other_text_is_none() {
        let text = "First.\n```tool\n{\"name\": \"a\", \"args\": {\"x\": 1}}\n```\nand ```tool is only a word\n\
                    ```json\n{\"name\": \"no\"}\n```\n  ```tool  \n{\"name\":\"b\"}\n```\n";
        assert_eq!(names(text), ["a {\"x\":1}", "b {}"]);
        assert!(names("42").is_empty());
    }

    #[test]
    fn a_block_that_ends_with_the_answer_is_a_call_and_an_unreadable_one_says_so() {
        assert_eq!(names("```tool\n{\"name\":\"a\"}"), ["a {}"]);
        assert_eq!(names("```tool\nnot json\n```"), [format!("{MALFORMED} not json")]);
        assert_eq!(names("```tool\n[1]\n```"), [format!("{MALFORMED} [1]")]);
        assert_eq!(names("```tool\n{\"args\":{}}\n```"), [format!("{MALFORMED} {{\"args\":{{}}}}")]);
    }

    #[test]
    fn endless_blocks_are_not_all_read() {
        assert_eq!(calls(&"```tool\n{\"name\":\"a\"}\n```\n".repeat(10_000)).len(), MAX_CALLS);
    }
}
