//! The upper rungs of verification: those that take a suite, its scorers, or its models.
//!
//! - [`scores`] rung 3, every score made again; [`reexecute`] rung 4, the run made again from a cassette;
//! - [`live`] rung 5, some samples asked again; `same` two files compared byte by byte.
//!
//! What comes from a stranger's suite is never executed unless the caller says so, nothing is ever written into the run
//! directory, and only rung 5 uses the network.

pub mod live;
pub mod reexecute;
mod same;
pub mod scores;

use proofmark_artefact::suite::plan::{Plan, ScorerPlan};
use proofmark_artefact::suite::solver::{AgentToolPlan, SolverPlan};

/// Whether programs that a suite names may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commands {
    Run,
    /// A stranger's programs can do anything that the user can.
    Refuse,
}

/// What to say where a program would have to be started.
const ALLOW: &str = "allow it with `--run-commands`, if you trust the suite";

/// The first scorer that starts a program.
fn command_scorer(plan: &Plan) -> Option<&str> {
    let scorers = plan.tasks.iter().flat_map(|task| &task.scorers);
    scorers.filter(|scorer| matches!(scorer, ScorerPlan::Command { .. })).map(ScorerPlan::name).next()
}

/// The first tool of an agent that starts a program or goes to the network.
fn agent_tool(plan: &Plan) -> Option<&'static str> {
    let tools = plan.tasks.iter().filter_map(|task| task.solver.as_ref()).flat_map(SolverPlan::tools);
    let is_safe = |tool: &&AgentToolPlan| {
        matches!(tool, AgentToolPlan::FileRead { .. } | AgentToolPlan::Calculator {} | AgentToolPlan::Submit {})
    };
    tools.filter(|tool| !is_safe(tool)).map(AgentToolPlan::type_name).next()
}

/// An error with everything that caused it.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
