//! Was the score earned? Reads what a run left and looks for signs that it was not.
//!
//! Offline, without a clock and without chance: the same files give the same report on any machine. What could not be
//! seen is said and never passed.
//!
//! - [`audit`] from files to a report; [`input`] the readers; [`sample`] what they give; [`walk`] long files on several
//!   threads.
//! - [`samples`] all of them, and [`shelf`], where things wait that are too many for memory: an audit takes no more of it for
//!   a million samples than for a thousand.
//! - [`trace`] one trajectory; [`seen`] what is found in it; [`look`] pure functions on texts: leaked answers, forbidden
//!   places, pleas to the grader.
//! - [`rule`] how answers are scored; [`credit`] whether a mark follows from its answer.
//! - [`checks`] the list of checks; [`kept`] their findings; [`policy`] what somebody makes of them. The report's
//!   shape and its formats are `artefact`'s.

pub mod audit;
pub mod checks;
pub mod credit;
pub mod error;
pub mod input;
pub mod kept;
pub mod look;
pub mod policy;
mod report;
pub mod rule;
pub mod sample;
pub mod samples;
pub mod seen;
pub mod shelf;
pub mod trace;
pub mod walk;

pub use audit::{Foreign, Options, audit_results, audit_run};
pub use error::AuditError;
pub use kept::Reveal;
pub use policy::Policy;
