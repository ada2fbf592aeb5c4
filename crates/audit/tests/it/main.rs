//! The audit as a whole, over files.

mod cases;
