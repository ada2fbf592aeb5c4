//! What takes several processes.

mod cache;
