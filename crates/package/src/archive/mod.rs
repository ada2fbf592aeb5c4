//! The archive of a package: an uncompressed ustar, written deterministically and read with bounds.
