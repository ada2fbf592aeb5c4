//! Scorers.
