//! Intervals and tests, and the aggregation of records to a summary.
//!
//! Everything here reaches plane 1, so it is the same to the bit on any platform: IEEE 754's exact
//! operations, `canon::math` for the rest, sums that do not depend on order, resampling from named
//! seeds. Memory does not grow with the number of records.
//!
//! - [`histogram`] a multiset of values in flat memory; [`interval`] closed-form intervals.
//! - [`bootstrap`] resampling; [`significance`] the tests behind `diff`.
//! - [`estimate`] which interval a mean is given, and how written numbers are rounded.
//! - `judging` what judges did;
//! - [`facts`] what the statistics know of a record; [`aggregate`] facts to a [`Summary`](crate::summary::Summary).

pub mod aggregate;
pub mod bootstrap;
pub mod estimate;
pub mod facts;
pub mod histogram;
pub mod interval;
mod judging;
pub mod significance;
mod tally;

pub use aggregate::{AggregateError, Aggregator};
pub use facts::{Facts, FactsError, FactsReader, Shape, TaskShape, Verdict};
pub use histogram::Histogram;
