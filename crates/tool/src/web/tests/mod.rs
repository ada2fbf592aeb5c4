//! The tools against real sockets on this machine.
//!
//! In most of these tests 127.0.0.2 counts as public and nothing else does, so that both sides of every rule can be
//! reached without a network.

mod fetch;
mod refused;
mod search;
mod server;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use proofmark_artefact::suite::solver::AgentToolPlan;
use proofmark_canon::{Map, Value};

use super::resolve::{LookingUp, Lookup};
use super::{Fetch, Network, Roots};
use crate::tool::{Call, Failure, Tool, ToolError, ToolOutput};
use crate::workspace::Workspace;

const PRIVATE: &str = "127.0.0.1";
const PUBLIC: &str = "127.0.0.2";

/// Names and what they stand for: the first answer to the first question, and so on; the last one stays.
#[derive(Default)]
struct Names {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(parse).collect()));
        Arc::new(Self { answers: Mutex::new(answers.collect()), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lookup for Names {
    fn lookup(&self, name: &str) -> LookingUp {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(name).map(|left| match left.len() {
            0 | 1 => left.front().cloned().unwrap_or_default(),
            _ => left.pop_front().unwrap(),
        });
        Box::pin(async move { answer.ok_or_else(|| std::io::Error::other("unknown")) })
    }
}

/// A network in which only [`PUBLIC`] is public.
fn network(names: &Arc<Names>) -> Network {
    let lookup: Arc<dyn Lookup> = names.clone();
    Network { lookup, judge: |address| address == PUBLIC.parse::<IpAddr>().unwrap(), roots: Roots::Nobody }
}

fn plan(allow_private: &[&str], block_domains: &[&str]) -> AgentToolPlan {
    let own = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    AgentToolPlan::WebFetch {
        max_bytes: 100_000,
        allow_private: own(allow_private),
        block_domains: own(block_domains),
        max_output: 5_000,
        timeout: 20.0,
    }
}

/// A tool in the network of [`network`].
fn fetcher(names: &Arc<Names>, allow_private: &[&str], block_domains: &[&str]) -> Fetch {
    Fetch::on(&plan(allow_private, block_domains), &network(names)).unwrap()
}

async fn call(tool: &dyn Tool, argument: &str, value: &str) -> Result<ToolOutput, ToolError> {
    let mut args = Map::new();
    args.insert(argument, value);
    tool.call(Call { args: &Value::Object(args), workspace: &Workspace::empty() }).await
}

async fn get(tool: &Fetch, url: &str) -> Result<ToolOutput, ToolError> {
    call(tool, "url", url).await
}

fn text(output: &ToolOutput) -> &str {
    std::str::from_utf8(&output.content).unwrap()
}

fn failure(result: Result<ToolOutput, ToolError>) -> Option<Failure> {
    result.err().map(|error| error.failure)
}
