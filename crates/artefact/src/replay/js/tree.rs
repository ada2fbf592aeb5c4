//! Events of the parser to a tree in which aliases are still aliases.

use std::collections::BTreeSet;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::scalar::{self, Scalar, Version};
use super::{JsError, Loss, surrogate};

/// A document: nodes by number, and which is the root.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Option<usize>,
    /// The node of each anchor, by the parser's number.
    pub(super) anchors: Vec<Option<usize>>,
}

pub(super) struct Node {
    pub(super) kind: Kind,
    /// The parser's number of its anchor, or 0.
    pub(super) anchor: usize,
    pub(super) is_tagged: bool,
}

pub(super) enum Kind {
    Scalar { value: Scalar, is_plain: bool },
    Sequence { items: Vec<usize>, role: SequenceRole },
    Mapping { entries: Vec<(usize, usize)>, is_set: bool },
    Alias(usize),
}

/// What a tag makes of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequenceRole {
    List,
    OrderedMap,
    Pairs,
}

const NAMESPACE: &str = "tag:yaml.org,2002:";

/// Parses one document.
pub(super) fn parse(text: &str, losses: &mut BTreeSet<Loss>) -> Result<Tree, JsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.bytes().any(|byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) {
        return Err(JsError::new("a control character stands in the document"));
    }
    let (source, hidden) = surrogate::hide(text)?;
    let tree = Tree { nodes: Vec::new(), root: None, anchors: Vec::new() };
    let mut composer = Composer { tree, frames: Vec::new(), version: Version::V1_2, documents: 0, hidden, losses };
    for event in Parser::new_from_str(&source) {
        // The parser's text may quote the document; where it is wrong is enough.
        let (event, _) = event.map_err(|error| {
            let line = error.marker().line();
            JsError::new(format!("line {line}: not valid YAML"))
        })?;
        composer.take(event)?;
    }
    Ok(composer.tree)
}

struct Composer<'a> {
    tree: Tree,
    frames: Vec<Frame>,
    version: Version,
    documents: usize,
    hidden: bool,
    losses: &'a mut BTreeSet<Loss>,
}

struct Frame {
    node: usize,
    /// The key that waits for its value.
    key: Option<usize>,
}

impl Composer<'_> {
    fn take(&mut self, event: Event<'_>) -> Result<(), JsError> {
        match event {
            Event::DocumentStart(_, version) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(JsError::new("a second document starts"));
                }
                if version.is_some_and(|version| (version.major, version.minor) == (1, 1)) {
                    self.version = Version::V1_1;
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                let value = self.scalar(&text, style, tag.as_deref())?;
                self.add(Kind::Scalar { value, is_plain }, anchor, tag.is_some()).map(|_| ())
            }
            Event::SequenceStart(_, anchor, tag) => {
                let role = match self.collection_tag(tag.as_deref(), "seq", &["omap", "pairs"]) {
                    Some("omap") => SequenceRole::OrderedMap,
                    Some(_) => SequenceRole::Pairs,
                    None => SequenceRole::List,
                };
                let node = self.add(Kind::Sequence { items: Vec::new(), role }, anchor, tag.is_some())?;
                self.open(node)
            }
            Event::MappingStart(_, anchor, tag) => {
                let is_set = self.collection_tag(tag.as_deref(), "map", &["set"]).is_some();
                let node = self.add(Kind::Mapping { entries: Vec::new(), is_set }, anchor, tag.is_some())?;
                self.open(node)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.frames.pop() {
                Some(frame) => self.check(frame.node),
                None => Ok(()),
            },
            Event::Alias(anchor) => self.add(Kind::Alias(anchor), 0, false).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar, JsError> {
        let quoted = style == ScalarStyle::DoubleQuoted;
        let as_text = || Scalar::Text(surrogate::units(text, quoted, self.hidden));
        let Some(tag) = tag else {
            if style != ScalarStyle::Plain {
                return Ok(as_text());
            }
            let is_key = self.is_at_key();
            return Ok(scalar::plain(text, self.version, is_key, self.losses).unwrap_or_else(as_text));
        };
        let name = tag.suffix_in_namespace(NAMESPACE);
        if name.as_deref() == Some("str") || is_non_specific(tag) {
            return Ok(as_text());
        }
        let read = match name.as_deref() {
            Some(name) => scalar::tagged(name, text, self.version, self.losses).map_err(JsError::new)?,
            None => None,
        };
        if read.is_none() {
            self.losses.insert(Loss::Tag);
        }
        Ok(read.unwrap_or_else(as_text))
    }

    /// Which of the known tags a collection has. A tag that does not fit is dropped.
    fn collection_tag(&mut self, tag: Option<&Tag>, plain: &str, known: &[&'static str]) -> Option<&'static str> {
        let tag = tag?;
        let name = tag.suffix_in_namespace(NAMESPACE);
        if name.as_deref() == Some(plain) || is_non_specific(tag) {
            return None;
        }
        let found = known.iter().find(|known| name.as_deref() == Some(**known)).copied();
        if found.is_none() {
            self.losses.insert(Loss::Tag);
        }
        found
    }

    fn is_at_key(&self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        frame.key.is_none() && matches!(self.tree.nodes[frame.node].kind, Kind::Mapping { .. })
    }

    fn open(&mut self, node: usize) -> Result<(), JsError> {
        if self.frames.len() >= crate::yaml::MAX_DEPTH {
            return Err(JsError::new("lists and mappings are nested too deeply"));
        }
        self.frames.push(Frame { node, key: None });
        Ok(())
    }

    fn add(&mut self, kind: Kind, anchor: usize, is_tagged: bool) -> Result<usize, JsError> {
        let node = self.tree.nodes.len();
        if node >= crate::yaml::MAX_NODES {
            return Err(JsError::new("the document has too many keys and values"));
        }
        self.tree.nodes.push(Node { kind, anchor, is_tagged });
        if anchor > 0 {
            if self.tree.anchors.len() <= anchor {
                self.tree.anchors.resize(anchor + 1, None);
            }
            self.tree.anchors[anchor] = Some(node);
        }
        match self.frames.last_mut() {
            None => self.tree.root = Some(node),
            Some(frame) => match &mut self.tree.nodes[frame.node].kind {
                Kind::Sequence { items, .. } => items.push(node),
                Kind::Mapping { entries, .. } => match frame.key.take() {
                    Some(key) => entries.push((key, node)),
                    None => frame.key = Some(node),
                },
                Kind::Scalar { .. } | Kind::Alias(_) => {}
            },
        }
        Ok(node)
    }

    /// Refuses what the reference refuses once a collection is whole.
    fn check(&self, node: usize) -> Result<(), JsError> {
        match &self.tree.nodes[node].kind {
            Kind::Mapping { entries, is_set } => {
                self.check_keys(entries.iter().map(|(key, _)| *key), "a key stands twice in one mapping")?;
                let is_null = |node: usize| {
                    matches!(self.tree.nodes[node].kind, Kind::Scalar { value: Scalar::Null, .. })
                        && self.tree.nodes[node].anchor == 0
                };
                if *is_set && !entries.iter().all(|(_, value)| is_null(*value)) {
                    return Err(JsError::new("the items of a set have values"));
                }
                Ok(())
            }
            Kind::Sequence { items, role } if *role != SequenceRole::List => {
                let mut keys = Vec::new();
                for item in items {
                    match &self.tree.nodes[*item].kind {
                        Kind::Mapping { entries, .. } if entries.len() > 1 => {
                            return Err(JsError::new("a pair of an ordered map has more than one key"));
                        }
                        Kind::Mapping { entries, .. } => keys.extend(entries.first().map(|(key, _)| *key)),
                        _ => keys.push(*item),
                    }
                }
                match role {
                    SequenceRole::OrderedMap => {
                        self.check_keys(keys.into_iter(), "a key of an ordered map stands twice")
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Two scalars are one key when JavaScript's `===` says so: `1` and `1.0`, but not `1` and `"1"`.
    fn check_keys(&self, keys: impl Iterator<Item = usize>, message: &str) -> Result<(), JsError> {
        let mut seen = BTreeSet::new();
        for key in keys {
            let Kind::Scalar { value, .. } = &self.tree.nodes[key].kind else { continue };
            let identity = match value {
                Scalar::Null => (0, Vec::new()),
                Scalar::Bool(bool) => (1, vec![u16::from(*bool)]),
                Scalar::Number(number) if number.is_nan() => continue,
                Scalar::Number(number) => (2, units_of(*number)),
                Scalar::Text(text) => (3, text.clone()),
                Scalar::Date | Scalar::Bytes(_) | Scalar::Merge => continue,
            };
            if !seen.insert(identity) {
                return Err(JsError::new(message));
            }
        }
        Ok(())
    }
}

fn units_of(number: f64) -> Vec<u16> {
    // Adding zero makes -0 and 0 one.
    let bits = (number + 0.0).to_bits();
    (0..4).map(|part| (bits >> (16 * part)) as u16).collect()
}

/// The tag `!`, which only says that the text is text.
fn is_non_specific(tag: &Tag) -> bool {
    tag.handle().is_empty() && tag.suffix() == "!" || tag.handle() == "!" && tag.suffix().is_empty()
}
