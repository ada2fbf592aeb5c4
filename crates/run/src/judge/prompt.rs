//! What a judge is sent.

use proofmark_artefact::record::{Message, Order, Role};
use proofmark_model::File;

use super::{Case, JudgeScorer};

/// Everything that is sent to a judge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) messages: Vec<Message>,
    pub(crate) files: Vec<File>,
}

/// The prompt for one vote.
pub(crate) fn prompt(scorer: &JudgeScorer, case: &Case<'_>, vote: u32, order: Option<Order>) -> Prompt {
    let _ = (vote, order);
    let text = format!("{}\n{}", scorer.rubric, case.answer);
    Prompt { messages: vec![Message::new(Role::User, text)], files: Vec::new() }
}

/// What a judge is told when its first reply does not have the declared form.
pub(crate) fn reminder(scorer: &JudgeScorer, why: &str) -> String {
    let _ = scorer;
    format!("Your reply does not have the declared form: {why}.")
}
