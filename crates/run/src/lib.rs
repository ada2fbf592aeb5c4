//! How a run is made: data, prompt, ask, score, record.
//!
//! - [`dataset`] rows of any format to items, streamed; [`prompt`] strict templates over them;
//! - [`ready`] a run that is ready to start; [`source`] its samples in the suite's order;
//! - [`execute`] asks and records them; [`sample`] from an answer to a record; [`scorer`] one file for each scorer;
//! - `lanes` one queue for each endpoint; [`budget`] what may be spent; `telemetry` every attempt; [`attach`] files of rows;
//! - [`journal`] what came back, before it counts; [`outputs`] the pictures in it; [`resume`] going on after a kill;
//! - [`collect`] records put back in order; [`publish`] the final files;
//! - [`given`] answers that are not asked for but there already;
//! - [`rescore`] a finished run scored once more, to see whether its numbers follow; `recorded` replies out of records;
//! - [`calibrate`] judges held against people, and attacked;
//! - [`ladder`] the upper rungs of verification;
//! - [`reach`] what must not be handed to those who are asked: the gold;
//! - [`witness`] what happened this time; `begin` noting the start of it; [`git`] the repository that holds the suite;
//! - [`backfill`] the witness of a report that predates it.

mod agent;
mod appender;
pub mod attach;
pub mod backfill;
mod begin;
pub mod budget;
pub mod calibrate;
pub mod collect;
pub mod dataset;
mod evidence;
pub mod execute;
pub mod git;
pub mod given;
pub mod journal;
pub mod judge;
pub mod ladder;
mod lanes;
pub mod outputs;
pub mod prompt;
pub mod publish;
pub mod reach;
pub mod ready;
mod recorded;
pub mod rescore;
pub mod resume;
mod sample;
pub mod scorer;
pub mod source;
mod telemetry;
pub mod witness;
