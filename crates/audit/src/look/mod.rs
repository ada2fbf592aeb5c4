//! Looks at texts: does the answer stand where it must not, does a call reach where it must not, does a text speak to
//! the grader?
//!
//! Functions of texts and values only: no files, no clock, and the same findings on any machine. Time grows with the
//! length of the text, whatever is in it.
//!
//! - `marks` the names of a benchmark: where its answers can be had.
//! - `watch` leaked answers in what came from outside (AUD-1) and in what the agent was given (AUD-3); with `context`
//!   (what stands around an answer), `question` (whether a text asks what the task asks), `echo`
//!   (tools that repeat their query), `label` (what calls itself an answer), `common` (answers that are everywhere),
//!   `rows` (documents of ids and answers), `numeral` and `formula` (numbers in words and formulas), `turned` (answers
//!   backwards) and `layers` (encodings within encodings; `decode`, `codes` and `wrapping` undo them).
//! - `forbidden` and `touch` calls that reach grader, gold, run directory or keys (AUD-4); with `unravel` and `compute`,
//!   which write a command out as its author hid it, and `glob`.
//! - `plea` texts that speak to the grader (AUD-9).

mod codes;
mod common;
mod compute;
mod context;
mod decode;
mod echo;
mod forbidden;
mod formula;
mod glob;
#[cfg(test)]
mod hunt;
mod label;
mod layers;
mod marks;
mod numeral;
#[cfg(test)]
mod pages;
mod plea;
mod question;
mod rows;
#[cfg(test)]
mod tests;
mod touch;
mod turned;
mod unravel;
mod watch;
mod wrapping;

pub use self::forbidden::{Forbidden, Place};
pub use self::marks::Marks;
pub use self::plea::{Plea, PleaKind, pleas};
pub use self::touch::{Touch, touches, touches_of};
pub use self::watch::{Grade, Sighting, Subject, Watch, Why};
