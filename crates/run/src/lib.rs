//! How a run is made: data, prompt, ask, score, record.
//!
//! - [`dataset`] rows of any format to items, streamed; [`scorer`] one file for each scorer.

pub mod dataset;
pub mod scorer;
