//! Was the score earned? Reads what a run left and looks for signs that it was not.
//!
//! - `look` pure functions on texts: leaked answers, forbidden places, pleas to the grader.

pub mod look;
