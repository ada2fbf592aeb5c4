//! Patterns of names as shells read them.
