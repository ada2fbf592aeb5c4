//! What a run left behind, and what can be said about it without a model or a network.
//!
//! - [`suite`] what a person writes and what a run is planned from; [`yaml`] the strict reader under it.
//! - [`record`], [`trajectory`], [`manifest`], [`summary`] the shapes of the plane-1 files.
//! - [`judgment`] what judges were asked and what they said; [`calibration`] how far they agree with people.
//! - [`scan`] what a body holds of an answer and a question; [`chunks`] parts of it that can be demanded.
//! - [`telemetry`] every attempt to get an answer, which is plane 2.
//! - [`store`] the run directory: names, atomic writes, the lock.
//! - [`stats`] intervals and tests, and the aggregation of records to a summary.
//! - [`rebuild`] summary and report out of the records; [`report`] `report.html`.
//! - [`diff`] two runs compared; [`validate`] one run checked.
//! - [`export`] runs in the forms that others take.
//! - [`replay`] whether the inputs that a witness names are the ones that are there.
//! - [`scored`] what scoring given outputs came to.
//! - [`answerer`] whether who answered is who was asked for.
//! - [`audit`] what an audit reports; [`package`] what a sealed package holds and what is said about one.
//! - [`verify`] the ladder: how far a stranger can trust a run.
//! - [`schema`] the JSON Schemas of all of these.
//! - [`spill`] sorting and duplicates in flat memory.
//! - [`picture`] what a picture is, without and with a look at its pixels.
//! - [`backfill`] a witness for a report that has none, out of git's history.
//! - [`witness`] `report.replay.json` and `report.md`: what happened this time.
//! - [`trust_file`] the shape of `trust.json`.
//! - [`lookup`] one sample, found by a part of its key.
//! - [`words`] trajectories as people read them.
//! - [`path`] paths that cannot leave their root; `axes` where names stand; [`text`] and [`number`] what people read.

pub mod answerer;
pub mod audit;
mod axes;
pub mod backfill;
pub mod calibration;
pub mod chunks;
pub mod diff;
pub mod export;
pub mod judgment;
pub mod lookup;
pub mod manifest;
pub mod number;
pub mod package;
pub mod path;
pub mod picture;
pub mod rebuild;
pub mod record;
pub mod replay;
pub mod report;
pub mod scan;
pub mod schema;
pub mod scored;
pub mod spill;
pub mod stats;
pub mod store;
pub mod suite;
pub mod summary;
pub mod telemetry;
pub mod text;
pub mod trajectory;
pub mod trust_file;
pub mod validate;
pub mod verify;
pub mod witness;
pub mod words;
pub mod yaml;
