//! A provider for tests and for trying a pipeline: a real HTTP server with no model behind it.
//!
//! What it answers is a function of the request alone, the same on every wire; what it breaks is a function of the
//! request and of how often it came. So a run against it can be repeated, and a failing one explained.
//!
//! - [`Config`] what can be set; [`Faults`] and [`Latency`] how badly it behaves;
//! - [`serve`] starts it on a thread of its own and returns a [`Server`];
//! - `handle` takes one request from its head to its reply; `wire` has the providers' languages, `ask` and `answer`
//!   what they have in common; `route` knows the paths;
//! - `body` sends a reply, or half of one; `limit`, `log`, `stats` keep count; `png` draws.

mod alarm;
mod answer;
mod ask;
mod body;
mod config;
mod fault;
mod handle;
mod latency;
mod limit;
mod log;
mod png;
mod route;
mod server;
mod stats;
mod wire;

pub use config::{Answers, Config, Times};
pub use fault::{Fault, Faults};
pub use latency::Latency;
pub use server::{ServeError, Server, serve};
pub use stats::Stats;
