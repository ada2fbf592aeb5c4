//! Looks for gold and question in what tools return.

use proofmark_canon::Value;

use crate::trajectory::Scan;

/// What to look for.
pub struct Needles {}

impl Needles {
    pub fn new(_: &Value, _: &str) -> Self {
        Self {}
    }

    pub fn scan(&self, _: &[u8]) -> Scan {
        Scan::default()
    }
}
