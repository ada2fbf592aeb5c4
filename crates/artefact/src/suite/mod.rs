//! Suites: as written ([`config`]), as resolved ([`plan`]), and how one becomes the other ([`resolve`]).
//!
//! [`load`] reads the file, [`assets`] the files it names, [`identity`] says what makes a run the same run,
//! [`gaia`] what suites need not say about GAIA.

pub mod assets;
pub mod config;
pub mod gaia;
pub mod identity;
pub mod judge;
pub mod load;
pub mod plan;
pub mod problem;
pub mod resolve;
pub mod solver;
pub mod text;
