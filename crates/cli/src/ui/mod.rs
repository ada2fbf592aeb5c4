//! Terminal text: styles, tables, progress, questions.

pub(crate) mod ask;
pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod sample;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod wrap;
