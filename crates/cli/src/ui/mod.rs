//! Terminal text: styles, tables, progress.

pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod sample;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod wrap;
