//! The strict YAML layer, from outside.

mod conformance;
mod documents;
mod properties;
mod suites;
