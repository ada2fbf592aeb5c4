//! How a run is made: data, prompt, ask, score, record.
//!
//! - [`dataset`] rows of any format to items, streamed; [`prompt`] strict templates over them;
//! - [`ready`] a run that is ready to start; [`source`] its samples in the suite's order;
//! - [`execute`] asks and records them; [`sample`] from an answer to a record; [`scorer`] one file for each scorer;
//! - [`journal`] what came back, before it counts; [`outputs`] the pictures in it; [`resume`] going on after a kill;
//! - [`collect`] records put back in order; [`publish`] the final files.

pub mod collect;
pub mod dataset;
pub mod execute;
pub mod journal;
pub mod outputs;
pub mod prompt;
pub mod publish;
pub mod ready;
pub mod resume;
mod sample;
pub mod scorer;
pub mod source;
