//! Finished runs in the forms that others take.
//!
//! [`gaia`] is what GAIA's leaderboard takes; [`trace`] a trajectory as plain text.

pub mod gaia;
mod trace;
