//! Texts that speak to the grader.

/// A passage that is meant for the grader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plea {
    pub kind: PleaKind,
    /// The first byte of it.
    pub offset: usize,
    pub length: usize,
    /// Whether look-alike or invisible characters hide it.
    pub is_hidden: bool,
}

/// What a passage does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PleaKind {
    /// Tells the grader to forget what it was told.
    Override,
    /// Tells the grader what to say.
    Demand,
    /// Speaks to the grader.
    Address,
    /// Looks like a verdict that was already given.
    Verdict,
    /// Looks like the beginning of somebody else's message.
    RoleMarker,
    /// A comment that a page would not show.
    Comment,
    /// Text in characters that cannot be seen.
    Invisible,
}

/// Finds what speaks to the grader in an answer or an output. At most 16.
pub fn pleas(_text: &str) -> Vec<Plea> {
    Vec::new()
}
