//! Flat memory for what grows with the data: what does not fit goes to unlinked scratch files.
//!
//! - [`Sorter`] sorts any number of fixed-size entries.
//! - [`Duplicates`] finds what stands twice, with both places.

mod duplicates;
mod sort;

pub use duplicates::{Duplicate, Duplicates, Found, Place, mark};
pub use sort::{Sorted, Sorter, Walk, scratch_file};
