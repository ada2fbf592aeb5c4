//! The cache as a whole.
//!
//! - [`use_`] what everyday use gives; [`tamper`] everything that can be done to a file, each a miss with its reason;
//! - [`rollback`] a store put back to an older state; [`hostile`] bytes that mean nothing.

mod hostile;
mod rollback;
mod tamper;
mod use_;
