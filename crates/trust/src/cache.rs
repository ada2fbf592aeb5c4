//! The judge cache.
