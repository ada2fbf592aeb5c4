//! Flat memory for what grows with the data: what does not fit goes to unlinked scratch files.
//!
//! - [`Sorter`] sorts any number of fixed-size entries.
//! - [`Index`] finds one of them.
//! - [`Duplicates`] finds what stands twice, with both places.
//! - [`Log`] holds entries of any length, in the order in which they came.

mod duplicates;
mod index;
mod log;
mod sort;

pub use duplicates::{Duplicate, Duplicates, Found, MARK, Place, mark};
pub use index::Index;
pub use log::{Entries, Log, Spot};
pub use sort::{Sorted, Sorter, Walk, scratch_file};
