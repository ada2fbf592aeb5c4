//! Whether the inputs that a replay block names are the ones that are there: rung 1 of verification.
//!
//! Blocks of strangers are hostile. What they name is looked at only under a root, links included; sizes are bounded;
//! what is not under the root is never opened, and neither its content nor its hash nor whether it exists is told.
//!
//! - [`block`] the fields of a sidecar, ours and AHD's; [`markdown`] the derived view compared with it;
//! - [`locate`] which sidecars an argument means; [`glob`] patterns that no shell expanded;
//! - [`root`] where paths start; [`confine`] files under a root and nothing else; [`git`] files at a commit;
//! - [`hub`] files of hub datasets in the cache;
//! - [`hash`] the digest that the contract gives a file; [`js`] the one that the JavaScript reference gives it;
//! - [`check`] one report to an [`Outcome`]; [`outcome`] its shape; [`format`] that as text, JSON or annotations.

pub mod block;
mod check;
mod confine;
pub mod format;
pub(crate) mod git;
pub mod glob;
pub mod hash;
pub mod hub;
pub mod js;
pub mod locate;
pub mod markdown;
pub mod outcome;
pub(crate) mod root;

pub use check::{At, Options, verify, verify_and_keep};
pub use git::GitError;
pub use locate::{Target, locate};
pub use outcome::{Answer, Line, Outcome, Status, Summary, Where};
