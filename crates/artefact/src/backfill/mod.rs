//! A witness for a report that predates the system, out of the history of its repository.
//!
//! Nothing of the inputs is read from the work tree: what counts is what the commit has. Links and submodules are not
//! followed. Which files a suite names, and what is in its datasets, is left to the caller.
//!
//! - [`snapshot`] the files of a commit; [`history`] which commit a report came with;
//! - [`block`] a block out of what is known; [`sidecar`] where it goes, and what it never replaces.

pub mod block;
pub mod history;
pub mod sidecar;
pub mod snapshot;

pub use crate::replay::root::work_tree;
pub use block::{Reconstructed, build};
pub use snapshot::{Commit, Missing, Snapshot};
