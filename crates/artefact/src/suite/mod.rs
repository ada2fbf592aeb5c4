//! Suites: as written ([`config`]), as resolved ([`plan`]), and how one becomes the other ([`resolve`]).

pub mod config;
pub mod plan;
pub mod resolve;
pub mod text;
