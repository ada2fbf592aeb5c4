//! How an answer is scored: one file for each scorer, compiled once for a task.
//!
//! - `verdict` what a scorer is given and what it says; `text` targets, folding and excerpts;
//! - `exact`, `includes`, `pattern` (regular expressions), `numeric` over `number`,
//!   `choice` over `statement`, `set`, `schema` (JSON Schema), `gaia` over `python`: pure
//!   functions of answer and target;
//! - `image` and `image_hash` the same for pictures;
//! - `command` any program, over `worker`, one process of a pool.
//!
//! A scorer that cannot judge says so with an error: it never passes and never guesses. A wrong
//! answer gets the value 0, and no scorer passes an empty answer that an empty target did not ask for.

mod build;
mod choice;
mod command;
mod exact;
mod gaia;
mod image;
mod image_hash;
mod includes;
mod number;
mod numeric;
mod pattern;
mod python;
mod schema;
mod set;
mod statement;
mod text;
mod verdict;
mod worker;

pub use build::{Scorer, ScorerBuildError, ScorerEnv};
pub use command::{CommandError, Stderr};
pub(crate) use text::{is_punctuation, lower};
pub use verdict::{Answer, AnswerImage, ScoreError, Verdict};
