//! A run sealed for strangers: one folder or one archive with everything that is needed to check it, signed.
//!
//! - [`archive`] the archive: written the same every time, read as if an enemy had made it.
//! - [`collect`] what goes into a package; [`allowances`] what would speak against sealing; [`metadata`], [`readme`] what is
//!   said of it; [`seal`] the list of files and the signatures over it.
//! - [`papers`] what of a package is read first, and what it lets in; [`again`] the run in a package: its rungs and its audit; [`verify`] all that a stranger checks; [`svr`] his own word.
//!
//! Nothing here reads the environment or a clock, and nothing asks a model or the network.

pub mod again;
pub mod allowances;
pub mod archive;
pub mod collect;
pub mod metadata;
pub mod papers;
pub mod readme;
pub mod results;
pub mod seal;
pub mod svr;
pub mod verify;
