//! `report.html`: one file that shows a run, makes no request and is the same bytes everywhere.
//!
//! - [`select`] which samples are shown, in memory that does not grow with the run; [`sample`] one of
//!   them, with long texts cut; [`read`] the same choice out of a finished run directory.
//! - [`page`] the frame; [`results`], [`tasks`], [`errors`], [`samples`], [`setup`] its sections.
//! - [`timeline`] the trajectories of shown samples, with [`course`] how they look.
//! - [`images`] the pictures of samples, as small copies.
//! - [`html`] the only way to write markup, which escapes; [`table`] tables; [`chart`] drawings.
//!
//! The page depends on the records, the trajectories of agents and everything in the manifest but `artifacts`, which holds
//! the page's own digest.

mod chart;
mod course;
mod errors;
#[cfg(test)]
pub(crate) mod fixture;
mod html;
mod images;
mod judging;
mod page;
mod read;
mod results;
mod sample;
mod samples;
mod select;
mod setup;
mod table;
mod tasks;
mod timeline;

pub use page::render;
pub use read::{ReadError, select_records};
pub use sample::Outcome;
pub use select::{BadRecord, Facts, Grid, Limits, Selection, Selector};
