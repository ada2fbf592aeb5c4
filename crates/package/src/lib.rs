//! A run sealed for strangers: one folder or one archive with everything that is needed to check it, signed.
//!
//! - [`archive`] the archive: written the same every time, read as if an enemy had made it.

pub mod archive;
