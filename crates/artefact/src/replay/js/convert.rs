//! The tree to JavaScript values: aliases followed and counted, keys made to text, merges done.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::scalar::Scalar;
use super::tree::{Kind, SequenceRole, Tree};
use super::{JsError, Loss};

/// A JavaScript value, as far as its hash can tell. Shared where an alias shares it.
#[derive(Debug, Clone)]
pub(super) enum Js {
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<[u16]>),
    Array(Rc<Vec<Js>>),
    Object(Rc<Object>),
    Bytes(Rc<[u8]>),
    /// An object without keys of its own: a date, a set, an ordered map.
    Opaque,
}

/// Keys in the order of their UTF-16 units, which is how JavaScript sorts them.
pub(super) type Object = BTreeMap<Vec<u16>, Js>;

pub(super) fn convert(tree: &Tree, losses: &mut BTreeSet<Loss>) -> Result<Js, JsError> {
    let Some(root) = tree.root else { return Ok(Js::Null) };
    let merges = tree.nodes.iter().any(|node| matches!(node.kind, Kind::Scalar { value: Scalar::Merge, .. }));
    let mut converter = Converter { tree, losses, known: BTreeMap::new(), merges, depth: 0, spent: 0 };
    converter.value(root)
}

struct Converter<'a> {
    tree: &'a Tree,
    losses: &'a mut BTreeSet<Loss>,
    /// What is known of each node that has an anchor.
    known: BTreeMap<usize, Anchored>,
    /// Whether any key of the document merges, so that a key may stand again.
    merges: bool,
    depth: usize,
    /// How many nodes were looked at, again and again where aliases repeat them.
    spent: usize,
}

struct Anchored {
    value: Option<Js>,
    count: u64,
    alias_count: u64,
}

/// What the reference allows aliases to multiply.
const MAX_ALIAS_COUNT: u64 = 100;
const MAX_DEPTH: usize = 200;
/// More looks than a document can have nodes, aliases followed a few times each.
const MAX_SPENT: usize = 4_000_000;

impl Converter<'_> {
    fn value(&mut self, node: usize) -> Result<Js, JsError> {
        self.spend(1)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(JsError::new("the document is nested too deeply"));
        }
        let has_anchor = self.tree.nodes[node].anchor > 0;
        if has_anchor {
            self.known.insert(node, Anchored { value: None, count: 1, alias_count: 0 });
        }
        let value = self.inner(node)?;
        if let Some(anchored) = self.known.get_mut(&node).filter(|_| has_anchor) {
            anchored.value = Some(value.clone());
        }
        self.depth -= 1;
        Ok(value)
    }

    fn inner(&mut self, node: usize) -> Result<Js, JsError> {
        let tree = self.tree;
        match &tree.nodes[node].kind {
            Kind::Scalar { value, .. } => match value {
                Scalar::Null => Ok(Js::Null),
                Scalar::Bool(bool) => Ok(Js::Bool(*bool)),
                Scalar::Number(number) => Ok(Js::Number(*number)),
                Scalar::Text(text) => Ok(Js::Text(text.as_slice().into())),
                Scalar::Date => {
                    self.losses.insert(Loss::Date);
                    Ok(Js::Opaque)
                }
                Scalar::Bytes(bytes) => {
                    self.losses.insert(Loss::Bytes);
                    Ok(Js::Bytes(bytes.as_slice().into()))
                }
                Scalar::Merge => Err(JsError::new("a merge key stands where no key is")),
            },
            Kind::Alias(anchor) => self.alias(*anchor),
            Kind::Sequence { items, role } => self.sequence(items, *role),
            Kind::Mapping { entries, is_set } => {
                let mut object = Object::new();
                for (key, value) in entries {
                    self.add_pair(&mut object, *key, Some(*value))?;
                }
                if *is_set {
                    self.losses.insert(Loss::Set);
                    return Ok(Js::Opaque);
                }
                Ok(Js::Object(Rc::new(object)))
            }
        }
    }

    fn sequence(&mut self, items: &[usize], role: SequenceRole) -> Result<Js, JsError> {
        let tree = self.tree;
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            if role == SequenceRole::List {
                values.push(self.value(*item)?);
                continue;
            }
            let mut pair = Object::new();
            match &tree.nodes[*item].kind {
                Kind::Mapping { entries, .. } => match entries.first() {
                    Some((key, value)) => self.add_pair(&mut pair, *key, Some(*value))?,
                    None => {
                        pair.insert(Vec::new(), Js::Null);
                    }
                },
                _ => self.add_pair(&mut pair, *item, None)?,
            }
            values.push(Js::Object(Rc::new(pair)));
        }
        if role == SequenceRole::OrderedMap {
            self.losses.insert(Loss::OrderedMap);
            return Ok(Js::Opaque);
        }
        Ok(Js::Array(Rc::new(values)))
    }

    fn add_pair(&mut self, object: &mut Object, key: usize, value: Option<usize>) -> Result<(), JsError> {
        if matches!(self.tree.nodes[key].kind, Kind::Scalar { value: Scalar::Merge, .. }) {
            let value = value.ok_or_else(|| JsError::new("a merge key without a value"))?;
            for source in self.merge_sources(value)? {
                for (key, value) in self.members(source)? {
                    object.entry(key.property()).or_insert(value);
                }
            }
            return Ok(());
        }
        let name = self.key_text(key)?;
        let value = value.map_or(Ok(Js::Null), |value| self.value(value))?;
        if object.insert(name, value).is_some() && !self.merges {
            self.losses.insert(Loss::Key);
        }
        Ok(())
    }

    /// The mappings that a merge key names.
    fn merge_sources(&mut self, value: usize) -> Result<Vec<usize>, JsError> {
        let tree = self.tree;
        let value = self.follow(value)?;
        match &tree.nodes[value].kind {
            Kind::Sequence { items, .. } => items.iter().map(|item| self.follow(*item)).collect(),
            _ => Ok(vec![value]),
        }
    }

    fn follow(&self, node: usize) -> Result<usize, JsError> {
        match self.tree.nodes[node].kind {
            Kind::Alias(anchor) => self.target(anchor),
            _ => Ok(node),
        }
    }

    fn target(&self, anchor: usize) -> Result<usize, JsError> {
        let found = self.tree.anchors.get(anchor).copied().flatten();
        found.ok_or_else(|| JsError::new("an alias without an anchor"))
    }

    /// The members of a merged mapping, by keys that still are what they were.
    fn members(&mut self, node: usize) -> Result<Vec<(MergedKey, Js)>, JsError> {
        let tree = self.tree;
        let Kind::Mapping { entries, is_set: false } = &tree.nodes[node].kind else {
            return Err(JsError::new("what is merged is not a mapping"));
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(JsError::new("the document is nested too deeply"));
        }
        let mut members: Vec<(MergedKey, Js)> = Vec::new();
        let mut places: BTreeMap<MergedKey, usize> = BTreeMap::new();
        for (key, value) in entries {
            self.spend(1)?;
            let is_merge = matches!(tree.nodes[*key].kind, Kind::Scalar { value: Scalar::Merge, .. });
            if is_merge {
                for source in self.merge_sources(*value)? {
                    for (key, value) in self.members(source)? {
                        if let std::collections::btree_map::Entry::Vacant(place) = places.entry(key.clone()) {
                            place.insert(members.len());
                            members.push((key, value));
                        }
                    }
                }
                continue;
            }
            let key = self.merged_key(*key)?;
            let value = self.value(*value)?;
            match places.get(&key) {
                Some(place) => members[*place].1 = value,
                None => {
                    places.insert(key.clone(), members.len());
                    members.push((key, value));
                }
            }
        }
        self.depth -= 1;
        self.spend(members.len())?;
        Ok(members)
    }

    fn merged_key(&mut self, key: usize) -> Result<MergedKey, JsError> {
        Ok(match self.value(key)? {
            Js::Null => MergedKey::Null,
            Js::Bool(bool) => MergedKey::Bool(bool),
            Js::Number(number) => MergedKey::Number(number_units(number)),
            Js::Text(text) => MergedKey::Text(text.to_vec()),
            _ => return Err(JsError::new("a merged mapping has a key that is a list or a mapping")),
        })
    }

    fn alias(&mut self, anchor: usize) -> Result<Js, JsError> {
        let node = self.target(anchor)?;
        if !self.known.contains_key(&node) {
            self.value(node)?;
        }
        let needs_count = self.known.get(&node).is_some_and(|anchored| anchored.alias_count == 0);
        let counted = if needs_count { self.alias_count(node, 0)? } else { 0 };
        let Some(anchored) = self.known.get_mut(&node) else {
            return Err(JsError::new("an alias without an anchor"));
        };
        let Some(value) = anchored.value.clone() else {
            return Err(JsError::new("an alias stands inside the value it names"));
        };
        anchored.count += 1;
        if needs_count {
            anchored.alias_count = counted;
        }
        if anchored.count.saturating_mul(anchored.alias_count) > MAX_ALIAS_COUNT {
            return Err(JsError::new("aliases copy too much"));
        }
        Ok(value)
    }

    /// How often a node repeats what its own aliases repeat.
    fn alias_count(&mut self, node: usize, depth: usize) -> Result<u64, JsError> {
        self.spend(1)?;
        let tree = self.tree;
        match &tree.nodes[node].kind {
            _ if depth > MAX_DEPTH => Err(JsError::new("the document is nested too deeply")),
            Kind::Scalar { .. } => Ok(1),
            Kind::Alias(anchor) => {
                let known = self.known.get(&self.target(*anchor)?);
                Ok(known.map_or(0, |anchored| anchored.count.saturating_mul(anchored.alias_count)))
            }
            Kind::Sequence { items, .. } => {
                items.iter().try_fold(0, |most, item| Ok(self.alias_count(*item, depth + 1)?.max(most)))
            }
            Kind::Mapping { entries, .. } => entries.iter().try_fold(0, |most, (key, value)| {
                let key = self.alias_count(*key, depth + 1)?;
                Ok(self.alias_count(*value, depth + 1)?.max(key).max(most))
            }),
        }
    }

    fn spend(&mut self, looks: usize) -> Result<(), JsError> {
        self.spent += looks;
        if self.spent > MAX_SPENT { Err(JsError::new("aliases and merges copy too much")) } else { Ok(()) }
    }

    /// A key as JavaScript makes it to the name of a property.
    fn key_text(&mut self, key: usize) -> Result<Vec<u16>, JsError> {
        let value = self.value(key)?;
        Ok(match value {
            Js::Null => {
                self.losses.insert(Loss::Key);
                Vec::new()
            }
            Js::Bool(bool) => MergedKey::Bool(bool).property(),
            Js::Number(number) => number_units(number),
            Js::Text(text) => text.to_vec(),
            Js::Array(_) | Js::Object(_) => {
                self.losses.insert(Loss::Key);
                let text = self.flow_text(key);
                let text = text.filter(|text| text.len() <= LONGEST_FLOW_KEY);
                text.ok_or_else(|| JsError::new("a key is a list or a mapping"))?.encode_utf16().collect()
            }
            Js::Bytes(_) | Js::Opaque => return Err(JsError::new("a key is a date, a set or bytes")),
        })
    }

    /// A short list or mapping of plain words as the reference writes it back to YAML.
    fn flow_text(&self, node: usize) -> Option<String> {
        let word = |node: usize| {
            let node = &self.tree.nodes[node];
            if node.anchor > 0 || node.is_tagged {
                return None;
            }
            match &node.kind {
                Kind::Scalar { value: Scalar::Text(text), is_plain: true } => {
                    let text = String::from_utf16(text).ok()?;
                    let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    is_word.then_some(text)
                }
                Kind::Scalar { value: Scalar::Number(number), is_plain: true } => {
                    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
                    is_whole.then(|| String::from_utf16_lossy(&number_units(*number)))
                }
                Kind::Scalar { value: Scalar::Bool(bool), is_plain: true } => Some(bool.to_string()),
                _ => None,
            }
        };
        let owner = &self.tree.nodes[node];
        if owner.anchor > 0 || owner.is_tagged {
            return None;
        }
        match &owner.kind {
            Kind::Sequence { items, .. } if !items.is_empty() => {
                let words: Option<Vec<String>> = items.iter().map(|item| word(*item)).collect();
                Some(format!("[ {} ]", words?.join(", ")))
            }
            Kind::Mapping { entries, .. } if !entries.is_empty() => {
                let pair = |(key, value): &(usize, usize)| Some(format!("{}: {}", word(*key)?, word(*value)?));
                let pairs: Option<Vec<String>> = entries.iter().map(pair).collect();
                Some(format!("{{ {} }}", pairs?.join(", ")))
            }
            _ => None,
        }
    }
}

/// The reference breaks longer ones to lines.
const LONGEST_FLOW_KEY: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MergedKey {
    Null,
    Bool(bool),
    Number(Vec<u16>),
    Text(Vec<u16>),
}

impl MergedKey {
    fn property(&self) -> Vec<u16> {
        match self {
            Self::Null => "null".encode_utf16().collect(),
            Self::Bool(bool) => bool.to_string().encode_utf16().collect(),
            Self::Number(units) | Self::Text(units) => units.clone(),
        }
    }
}

fn number_units(number: f64) -> Vec<u16> {
    let text = if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else {
        let mut bytes = Vec::new();
        proofmark_canon::json::append_number(number + 0.0, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    text.encode_utf16().collect()
}
