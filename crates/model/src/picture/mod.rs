//! Pictures: what a file is and how large it is, and how to look at its pixels.
