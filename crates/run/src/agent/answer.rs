//! Where an agent's final answer is.

use proofmark_artefact::record::ToolCall;
use proofmark_artefact::suite::plan::ToolPlan;
use proofmark_artefact::suite::solver::FinalAnswer;
use proofmark_canon::Value;
use regex::{Regex, RegexBuilder};

/// How an answer is told from other words.
#[derive(Debug)]
pub(crate) enum AnswerRule {
    /// The text that comes without a call.
    LastText,
    /// The first group, or all, of the last match in that text.
    Pattern(Regex),
    /// The `answer` argument of a tool.
    Tool(String),
}

/// Why a text is no final answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotThere {
    #[error("its last text does not match `{0}`")]
    NoMatch(String),
    #[error("it never called `{0}`")]
    Wanted(String),
}

impl AnswerRule {
    pub(crate) fn new(plan: &FinalAnswer, tools: &[ToolPlan]) -> Result<Self, String> {
        if let Some(pattern) = &plan.pattern {
            let regex = RegexBuilder::new(pattern).size_limit(1 << 20).build();
            return regex.map(Self::Pattern).map_err(|error| {
                let text = error.to_string();
                format!("`{pattern}` is not a regular expression: {}", text.lines().last().unwrap_or_default())
            });
        }
        match &plan.tool {
            None => Ok(Self::LastText),
            Some(tool) if tools.iter().any(|known| known.name == *tool) => Ok(Self::Tool(tool.clone())),
            Some(tool) => Err(format!("the final answer comes by the tool `{tool}`, which the agent does not have")),
        }
    }

    /// The answer in a text that came without a call.
    pub(super) fn in_text(&self, text: &str) -> Result<String, NotThere> {
        match self {
            Self::LastText => Ok(text.trim().to_owned()),
            Self::Tool(tool) => Err(NotThere::Wanted(tool.clone())),
            Self::Pattern(regex) => {
                let last = regex.captures_iter(text).last();
                let found = last.as_ref().and_then(|groups| groups.get(1).or_else(|| groups.get(0)));
                found
                    .map(|found| found.as_str().trim().to_owned())
                    .ok_or_else(|| NotThere::NoMatch(regex.as_str().to_owned()))
            }
        }
    }

    /// The answer in a call that was carried out.
    pub(super) fn in_call(&self, call: &ToolCall) -> Option<String> {
        let Self::Tool(tool) = self else { return None };
        if call.name != *tool {
            return None;
        }
        match call.arguments.get("answer") {
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(other) => Some(other.to_plain_text()),
            None => Some(call.arguments.to_plain_text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::Map;

    use super::*;

    fn rule(pattern: Option<&str>, tool: Option<&str>) -> Result<AnswerRule, String> {
        let plan = FinalAnswer { pattern: pattern.map(str::to_owned), tool: tool.map(str::to_owned) };
        let submit = ToolPlan { name: "submit".to_owned(), description: String::new(), parameters: Map::new() };
        AnswerRule::new(&plan, &[submit])
    }

    #[test]
    fn the_last_match_of_the_last_text_counts_and_its_first_group_is_the_answer() {
        let rule = rule(Some("(?m)^FINAL ANSWER: (.*)$"), None).unwrap();
        let text = "FINAL ANSWER: 3\nno, wait\nFINAL ANSWER:  four \n";
        assert_eq!(rule.in_text(text).unwrap(), "four");
        assert!(matches!(rule.in_text("four"), Err(NotThere::NoMatch(_))));
        let whole = self::rule(Some("[0-9]+"), None).unwrap();
        assert_eq!(whole.in_text("1 or 22").unwrap(), "22");
    }

    #[test]
    fn an_answer_that_comes_by_a_tool_is_no_text() {
        let rule = rule(None, Some("submit")).unwrap();
        assert_eq!(rule.in_text("42"), Err(NotThere::Wanted("submit".to_owned())));
        let call = |name: &str, json: &[u8]| ToolCall {
            arguments: proofmark_canon::json::parse(json).unwrap(),
            name: name.to_owned(),
        };
        assert_eq!(rule.in_call(&call("submit", br#"{"answer":" 42 "}"#)).as_deref(), Some("42"));
        assert_eq!(rule.in_call(&call("submit", br#"{"answer":42}"#)).as_deref(), Some("42"));
        assert_eq!(rule.in_call(&call("python", br#"{"answer":"42"}"#)), None);
    }

    #[test]
    fn a_rule_that_cannot_work_is_refused() {
        assert!(rule(Some("("), None).unwrap_err().contains("not a regular expression"));
        assert!(rule(None, Some("hand_in")).unwrap_err().contains("`hand_in`"));
    }
}
