//! Text to a tree: composes the parser's events and enforces every bound.

use granit_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::error::{YamlError, excerpt};
use super::node::{Key, Node, NodeKind, Span};
use super::problem::{from_scan_error, too_deep};
use super::render::lines_of;
use super::scalar::{number_text, resolve_plain, resolve_tagged};

/// The largest document that is read.
pub const MAX_BYTES: usize = 8 << 20;
/// How deep lists and mappings may nest, aliases followed.
pub const MAX_DEPTH: usize = 64;
/// The most values and keys a document may have, aliases followed.
pub const MAX_NODES: usize = 1_000_000;
/// The most aliases a document may have.
pub const MAX_ALIASES: usize = 1000;
/// The most values that anchors and aliases may copy.
pub const MAX_COPIED_NODES: usize = 200_000;
/// The most text that anchors and aliases may copy.
pub const MAX_COPIED_BYTES: usize = MAX_BYTES;

/// Reads one document. An empty one is null.
pub fn load(text: &str) -> Result<Node, YamlError> {
    check_size(text.len())?;
    // Columns are those of the text without its mark, which is what an editor shows.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_characters(text)?;
    let mut composer = Composer { source: text, ..Composer::default() };
    for event in Parser::new_from_str(text) {
        let (event, place) = event.map_err(|error| from_scan_error(&error, text))?;
        composer.take(event, &place)?;
    }
    Ok(composer.root.unwrap_or(Node { kind: NodeKind::Null, span: FIRST }))
}

/// Reads one document, which must be UTF-8.
pub fn load_bytes(bytes: &[u8]) -> Result<Node, YamlError> {
    check_size(bytes.len())?;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let bad = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let hint = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file looks like UTF-16; save it as UTF-8",
            _ => "save the file as UTF-8",
        };
        YamlError::new(format!("the byte 0x{bad:02x} is not valid UTF-8")).with_hint(hint).at(end_of(&good))
    })?;
    load(text)
}

/// The place of a marker of the parser.
pub(super) fn span_of(marker: &Marker) -> Span {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Span { line: narrow(marker.line()).max(1), column: narrow(marker.col()).saturating_add(1) }
}

const FIRST: Span = Span { line: 1, column: 1 };

fn check_size(bytes: usize) -> Result<(), YamlError> {
    if bytes > MAX_BYTES {
        let message = format!("the document has {bytes} bytes, more than {MAX_BYTES}");
        return Err(YamlError::new(message).with_hint("move rows to a dataset file"));
    }
    Ok(())
}

/// Refuses control characters anywhere, also where the parser would take one for the end of the text.
fn check_characters(text: &str) -> Result<(), YamlError> {
    let bad = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
    match text.bytes().position(bad) {
        None => Ok(()),
        Some(at) => {
            let message = format!("the control character U+{:04X} cannot be written here", text.as_bytes()[at]);
            let hint = "write it as an escape in double quotes, or remove it";
            Err(YamlError::new(message).with_hint(hint).at(end_of(&text[..at])))
        }
    }
}

/// The place right after a text; the ends of its lines are `\n`, `\r\n` and `\r`.
fn end_of(text: &str) -> Span {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut span = FIRST;
    let mut last = ' ';
    for character in text.chars() {
        match character {
            '\n' if last == '\r' => {}
            '\n' | '\r' => span = Span { line: span.line + 1, column: 1 },
            _ => span.column += 1,
        }
        last = character;
    }
    span
}

/// Builds the tree without recursion: a frame for each collection that is open.
#[derive(Default)]
struct Composer<'a> {
    source: &'a str,
    documents: usize,
    frames: Vec<Frame>,
    anchors: Vec<Option<Anchor>>,
    root: Option<Node>,
    nodes: usize,
    aliases: usize,
    copied: Size,
}

struct Frame {
    span: Span,
    anchor: usize,
    content: Content,
}

enum Content {
    Items(Vec<Node>),
    Entries(Vec<(Key, Node)>, Option<Key>),
}

struct Anchor {
    node: Node,
    size: Size,
}

/// What copying a tree costs.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Composer<'_> {
    fn take(&mut self, event: Event<'_>, place: &granit_parser::Span) -> Result<(), YamlError> {
        let span = span_of(&place.start);
        match event {
            Event::DocumentStart(_, version) => self.start_document(span, version),
            Event::Scalar(text, style, anchor, tag) => {
                let is_empty = place.start.index() == place.end.index();
                let (kind, span) = self.scalar(&text, style, tag.as_deref(), is_empty, place)?;
                self.add(Node { kind, span }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_collection_tag(tag.as_deref(), "seq", place)?;
                self.open(Frame { span, anchor, content: Content::Items(Vec::new()) })
            }
            Event::MappingStart(_, anchor, tag) => {
                check_collection_tag(tag.as_deref(), "map", place)?;
                self.open(Frame { span, anchor, content: Content::Entries(Vec::new(), None) })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    fn start_document(&mut self, span: Span, version: Option<granit_parser::YamlVersion>) -> Result<(), YamlError> {
        self.documents += 1;
        if self.documents > 1 {
            let error = YamlError::new("a second document starts here");
            return Err(error.with_hint("a file holds one document; remove this `---`").at(span));
        }
        match version {
            Some(version) if (version.major, version.minor) != (1, 2) => {
                let line = lines_of(self.source).position(|line| line.starts_with("%YAML")).unwrap_or_default();
                let message = format!("YAML {}.{} is not read, only YAML 1.2", version.major, version.minor);
                let hint = "remove the `%YAML` line, and write `true` and `false` for booleans";
                let line = u32::try_from(line + 1).unwrap_or(u32::MAX);
                Err(YamlError::new(message).with_hint(hint).at(Span { line, column: 1 }))
            }
            _ => Ok(()),
        }
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        is_empty: bool,
        place: &granit_parser::Span,
    ) -> Result<(NodeKind, Span), YamlError> {
        let mut span = span_of(&place.start);
        if let Some(tag) = tag {
            let tag_span = place.tag_start().map_or(span, |marker| span_of(&marker));
            let suffix = tag.core_suffix().ok_or_else(|| unknown_tag(tag).at(tag_span))?;
            return Ok((resolve_tagged(suffix, text).map_err(|error| error.at(tag_span))?, span));
        }
        if style != ScalarStyle::Plain {
            return Ok((NodeKind::String(text.to_owned()), span));
        }
        let is_key = matches!(self.frames.last(), Some(Frame { content: Content::Entries(_, None), .. }));
        if is_key && text == "<<" {
            let error = YamlError::new("merge keys are not part of YAML 1.2");
            return Err(error.with_hint("write the keys out, or quote `\"<<\"` to mean the text").at(span));
        }
        // A value that is not there is seen at its key; the parser's place may be a line further.
        if is_empty && let Some(Frame { content: Content::Entries(_, Some(key)), .. }) = self.frames.last() {
            span = key.span;
        }
        Ok((resolve_plain(text).map_err(|error| error.at(span))?, span))
    }

    fn open(&mut self, frame: Frame) -> Result<(), YamlError> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep().at(frame.span));
        }
        if let Some(Frame { content: Content::Entries(_, None), span, .. }) = self.frames.last() {
            return Err(collection_as_key(self.source, *span, frame.span));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn close(&mut self) -> Result<(), YamlError> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let kind = match frame.content {
            Content::Items(items) => NodeKind::Sequence(items),
            Content::Entries(entries, _) => {
                check_keys_are_unique(&entries)?;
                NodeKind::Mapping(entries)
            }
        };
        self.add(Node { kind, span: frame.span }, frame.anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), YamlError> {
        self.aliases += 1;
        if self.aliases > MAX_ALIASES {
            let error = YamlError::new(format!("more than {MAX_ALIASES} aliases"));
            return Err(error.with_hint("write the values out").at(span));
        }
        let Some(Some(Anchor { node, size })) = self.anchors.get(anchor) else {
            let error = YamlError::new("an alias stands inside the value it names");
            return Err(error.with_hint("a value cannot contain itself").at(span));
        };
        let size = *size;
        if self.frames.len() + size.depth > MAX_DEPTH {
            return Err(too_deep().at(span));
        }
        // Charged before it is copied: the bomb is in the copy.
        charge(&mut self.copied, size).map_err(|error| error.at(span))?;
        self.nodes += size.nodes;
        let node = Node { kind: node.kind.clone(), span };
        self.place(node)
    }

    /// Adds a value that was written here, and keeps a copy when it has an anchor.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.nodes += 1;
        if anchor > 0 {
            let size = measure(&node);
            charge(&mut self.copied, size).map_err(|error| error.at(node.span))?;
            if self.anchors.len() <= anchor {
                self.anchors.resize_with(anchor + 1, || None);
            }
            self.anchors[anchor] = Some(Anchor { node: node.clone(), size });
        }
        self.place(node)
    }

    fn place(&mut self, node: Node) -> Result<(), YamlError> {
        if self.nodes > MAX_NODES {
            let error = YamlError::new(format!("the document has more than {MAX_NODES} keys and values"));
            return Err(error.with_hint("move rows to a dataset file").at(node.span));
        }
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame { content: Content::Items(items), .. }) => items.push(node),
            Some(Frame { content: Content::Entries(entries, pending), span, .. }) => match pending.take() {
                Some(key) => entries.push((key, node)),
                None => *pending = Some(key_of(node, self.source, *span)?),
            },
        }
        Ok(())
    }
}

fn key_of(node: Node, source: &str, mapping: Span) -> Result<Key, YamlError> {
    let text = match node.kind {
        NodeKind::String(text) => text,
        NodeKind::Number(number) => number_text(number),
        NodeKind::Bool(bool) => bool.to_string(),
        NodeKind::Null => {
            let error = YamlError::new("a key cannot be null");
            return Err(error.with_hint("put it in quotes, or write the missing key").at(node.span));
        }
        NodeKind::Sequence(_) | NodeKind::Mapping(_) => return Err(collection_as_key(source, mapping, node.span)),
    };
    Ok(Key { text, span: node.span })
}

fn collection_as_key(source: &str, mapping: Span, key: Span) -> YamlError {
    let error = YamlError::new("a key cannot be a list or a mapping");
    let line = lines_of(source).nth(key.line as usize - 1).unwrap_or_default();
    let is_template = line.chars().skip(mapping.column as usize - 1).take(2).eq("{{".chars());
    if is_template && mapping.line == key.line {
        return error.with_hint("put a template in quotes: `\"{{ … }}\"`").at(mapping);
    }
    error.with_hint("put the key in quotes if it is text").at(key)
}

fn check_keys_are_unique(entries: &[(Key, Node)]) -> Result<(), YamlError> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    // A stable sort keeps equal keys in written order, so the second of a pair is the later one.
    order.sort_by(|a, b| entries[*a].0.text.cmp(&entries[*b].0.text));
    let twice = order.windows(2).filter(|pair| entries[pair[0]].0.text == entries[pair[1]].0.text);
    let Some(pair) = twice.min_by_key(|pair| pair[1]) else { return Ok(()) };
    let (first, second) = (&entries[pair[0]].0, &entries[pair[1]].0);
    Err(YamlError::new(format!("the key `{}` stands twice in one mapping", excerpt(&second.text)))
        .with_hint(format!("it stands first in line {}; remove one of them", first.span.line))
        .at(second.span))
}

fn check_collection_tag(tag: Option<&Tag>, fits: &str, place: &granit_parser::Span) -> Result<(), YamlError> {
    let Some(tag) = tag else { return Ok(()) };
    let span = place.tag_start().map_or(span_of(&place.start), |marker| span_of(&marker));
    match tag.core_suffix() {
        Some(suffix) if suffix == fits => Ok(()),
        Some(suffix) => {
            let what = if fits == "seq" { "a list" } else { "a mapping" };
            let error = YamlError::new(format!("{what} is not a value of the tag `!!{suffix}`"));
            Err(error.with_hint("remove the tag").at(span))
        }
        None => Err(unknown_tag(tag).at(span)),
    }
}

fn unknown_tag(tag: &Tag) -> YamlError {
    YamlError::new(format!("unknown tag `{}`", excerpt(&tag.original())))
        .with_hint("remove it, or put the value in quotes if it starts with `!`")
}

fn charge(copied: &mut Size, size: Size) -> Result<(), YamlError> {
    copied.nodes += size.nodes;
    copied.bytes += size.bytes;
    if copied.nodes > MAX_COPIED_NODES || copied.bytes > MAX_COPIED_BYTES {
        let message =
            format!("anchors and aliases copy more than {MAX_COPIED_NODES} values or {MAX_COPIED_BYTES} bytes of text");
        return Err(YamlError::new(message).with_hint("write the values out"));
    }
    Ok(())
}

fn measure(node: &Node) -> Size {
    let leaf = |bytes| Size { nodes: 1, bytes, depth: 0 };
    let inside = |sizes: &mut dyn Iterator<Item = Size>| {
        sizes.fold(Size { nodes: 1, bytes: 0, depth: 1 }, |sum, size| Size {
            nodes: sum.nodes + size.nodes,
            bytes: sum.bytes + size.bytes,
            depth: sum.depth.max(size.depth + 1),
        })
    };
    match &node.kind {
        NodeKind::String(text) => leaf(text.len()),
        NodeKind::Sequence(items) => inside(&mut items.iter().map(measure)),
        NodeKind::Mapping(entries) => inside(&mut entries.iter().map(|(key, value)| {
            let size = measure(value);
            Size { bytes: size.bytes + key.text.len(), ..size }
        })),
        _ => leaf(0),
    }
}
