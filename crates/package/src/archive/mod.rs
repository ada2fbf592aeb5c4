//! The archive of a package: an uncompressed ustar, written deterministically and read with bounds.
//!
//! Whoever made a package may be an enemy of whoever opens it. So nothing unpacks an archive: its entries are walked by
//! hand, all of them are checked before one byte is written, and what is not a plain file with a plain name is refused.
//!
//! - [`name`] which names a file may have; [`contents`] each once, and not too many; [`limits`] how many that is;
//! - [`header`] one block of ustar; [`write`] a package's files to an archive;
//! - [`input`] an archive's bytes, plain or packed; [`read`] an archive to a folder; [`folder`] a folder as it is;
//! - [`open`] either of them; [`error`] why not.

mod contents;
mod error;
mod folder;
mod header;
mod input;
mod limits;
mod name;
mod open;
mod read;
mod write;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod testing;

pub use error::{ArchiveError, Refusal};
pub use input::begins_as_archive;
pub use limits::{LARGEST_FILE, Limits};
pub use name::{Name, NameError};
pub use open::{Member, Opened, Source, open, peek};
pub use read::extract;
pub use write::{WriteError, Written, write};
