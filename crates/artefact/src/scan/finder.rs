//! Automata that find all patterns at once.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, Match, MatchKind};

/// Beyond so many bytes of needles the automaton that is larger and faster is too large.
const MAX_DFA: usize = 16 * 1024;
/// It takes longer to make than to look through so many bytes with the other one.
const MIN_CONTENT: usize = 32 * 1024;

/// The automata of some patterns, each made when it is needed.
#[derive(Debug, Clone, Default)]
pub(super) struct Finders {
    fast: OnceLock<Option<Finder>>,
    small: OnceLock<Option<Finder>>,
}

impl Finders {
    /// The one for a content of some length; `None` without patterns.
    pub(super) fn of(&self, folded: &[Vec<u8>], length: usize) -> Option<&Finder> {
        let bytes: usize = folded.iter().map(Vec::len).sum();
        match (1..=MAX_DFA).contains(&bytes) && length >= MIN_CONTENT {
            true => self.fast.get_or_init(|| Finder::fast(folded)).as_ref(),
            false => self.small.get_or_init(|| Finder::small(folded)).as_ref(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Finder {
    Fast(Arc<DFA>),
    Small(AhoCorasick),
}

impl Finder {
    // They fail for automata of billions of states alone; the sizes above keep far from that.
    fn fast(folded: &[Vec<u8>]) -> Option<Self> {
        let dfa = DFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(folded);
        dfa.ok().map(|dfa| Self::Fast(Arc::new(dfa)))
    }

    fn small(folded: &[Vec<u8>]) -> Option<Self> {
        let kind = Some(AhoCorasickKind::NoncontiguousNFA);
        let small = AhoCorasick::builder().match_kind(MatchKind::Standard).kind(kind).build(folded);
        small.ok().filter(|_| !folded.is_empty()).map(Self::Small)
    }

    /// Gives all finds in a folded text, overlapping ones too, until told to stop.
    pub(super) fn find(&self, text: &[u8], mut give: impl FnMut(Match) -> ControlFlow<()>) {
        match self {
            Self::Fast(dfa) => {
                let Ok(mut found) = dfa.try_find_overlapping_iter(Input::new(text)) else { return };
                let _ = found.try_for_each(&mut give);
            }
            Self::Small(small) => {
                let _ = small.find_overlapping_iter(text).try_for_each(&mut give);
            }
        }
    }
}
