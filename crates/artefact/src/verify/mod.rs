//! The ladder of verification: how far a stranger can trust a run, one rung after the other.
//!
//! | rung | claim |
//! |---|---|
//! | 1 inputs | the inputs that are here are the ones the run ate |
//! | 2 artefacts | no byte of planes 1 and 2 changed since the run |
//! | 3 scores | the scores follow from the recorded outputs |
//! | 4 re-execution | the harness gives the same bytes from the recorded responses |
//! | 5 live | a live re-run of some samples agrees |
//!
//! This module owns the shape of what comes out, rungs 1 and 2, and the part of rung 3 that takes no scorer; those who
//! can score and ask do the rest. Run directories of strangers are hostile: only names of a run are opened, links and
//! pipes never, and sizes are bounded.
//!
//! - [`ladder`] checks, rungs and what came of one path; `words` what a rung proves and what it does not;
//! - [`inputs`] rung 1; [`artefacts`] rung 2, with `inventory` what is in the directory, `hashing` all digests on all
//!   processors, `witness` the sidecar against the files it speaks of;
//! - [`records`] what of rung 3 follows from the records alone; [`format`] text, JSON and annotations.

pub mod artefacts;
pub mod format;
mod hashing;
pub mod inputs;
mod inventory;
pub mod ladder;
pub mod records;
mod witness;
mod words;

pub use ladder::{Agreement, Check, Climb, Demand, InputsSeen, LiveReport, Outcome, Rung, Summary};
