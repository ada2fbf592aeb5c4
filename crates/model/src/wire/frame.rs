//! Cuts a streamed body to its parts: server-sent events, or lines of JSON.
//!
//! No I/O: bytes go in as they come, parts come out. The cut between two reads may be anywhere, also
//! inside of a character or between CR and LF.

use super::{Framing, WireError};

/// The longest part of a stream.
const MAX_PART: usize = 32 << 20;

/// One part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The event's name; empty when it has none.
    pub(crate) event: String,
    pub(crate) data: String,
}

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    line: Vec<u8>,
    event: String,
    data: String,
    /// Whether the event has data; an empty `data:` line counts.
    has_data: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line may begin with a byte order mark.
    is_first_line: bool,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            event: String::new(),
            data: String::new(),
            has_data: false,
            after_cr: false,
            is_first_line: true,
        }
    }

    /// Takes what was read and hands on every part that is complete; stops early when `each` returns true.
    ///
    /// Returns whether it did.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&Frame) -> Result<bool, WireError>,
    ) -> Result<bool, WireError> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, end) = (&rest[..at], rest[at]);
            rest = &rest[at + 1..];
            if end == b'\n' && self.after_cr && at == 0 {
                self.after_cr = false;
                continue;
            }
            self.after_cr = end == b'\r';
            self.extend(line)?;
            if self.end_line(each)? {
                return Ok(true);
            }
        }
        if !rest.is_empty() {
            self.after_cr = false;
        }
        self.extend(rest)?;
        Ok(false)
    }

    /// Says that nothing follows. A last line without its end counts for lines of JSON; an event without its empty
    /// line does not, as the standard has it.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(&Frame) -> Result<bool, WireError>) -> Result<bool, WireError> {
        if self.framing == Framing::Lines && !self.line.is_empty() { self.end_line(each) } else { Ok(false) }
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_PART {
            return Err(WireError::malformed(format!("a part of the stream is longer than {MAX_PART} bytes")));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&Frame) -> Result<bool, WireError>) -> Result<bool, WireError> {
        let line = std::mem::take(&mut self.line);
        let mut text = std::str::from_utf8(&line).map_err(|_| WireError::malformed("the stream is not UTF-8 text"))?;
        if std::mem::take(&mut self.is_first_line) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if self.framing == Framing::Lines {
            let data = text.trim();
            return if data.is_empty() {
                Ok(false)
            } else {
                each(&Frame { event: String::new(), data: data.to_owned() })
            };
        }
        if text.is_empty() {
            let frame = Frame { event: std::mem::take(&mut self.event), data: std::mem::take(&mut self.data) };
            return if std::mem::take(&mut self.has_data) { each(&frame) } else { Ok(false) };
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event),
            // Comments, ids and retry times say nothing about an answer.
            _ => {}
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(framing: Framing, chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut each = |frame: &Frame| {
            found.push((frame.event.clone(), frame.data.clone()));
            Ok(false)
        };
        let mut frames = Frames::new(framing);
        for chunk in chunks {
            frames.push(chunk, &mut each).unwrap();
        }
        frames.end(&mut each).unwrap();
        found
    }

    const STREAM: &str = "\u{feff}: hi\r\nevent: a\r\ndata: eins\r\ndata:zwei\r\n\r\nid: 7\ndata: äöü\n\nretry: 3\n\n\
                          event: b\rdata\r\rdata: {\"x\": 1}\n\nevent: lost\ndata: no end";

    #[test]
    fn events_follow_the_standard() {
        let expected = [("a", "eins\nzwei"), ("", "äöü"), ("b", ""), ("", "{\"x\": 1}")];
        let expected: Vec<_> = expected.iter().map(|(e, d)| ((*e).to_owned(), (*d).to_owned())).collect();
        assert_eq!(frames(Framing::Sse, &[STREAM.as_bytes()]), expected);
    }

    #[test]
    fn lines_need_no_last_line_end() {
        let found = frames(Framing::Lines, &[b"{\"a\":1}\r\n\n{\"b\"", b":2}"]);
        let data: Vec<_> = found.iter().map(|(_, data)| data.as_str()).collect();
        assert_eq!(data, ["{\"a\":1}", "{\"b\":2}"]);
    }

    #[test]
    fn nothing_is_handed_on_after_the_last_part() {
        let mut count = 0;
        let mut frames = Frames::new(Framing::Sse);
        let stopped = frames.push(b"data: 1\n\ndata: 2\n\ndata: 3\n\n", &mut |frame| {
            count += 1;
            Ok(frame.data == "2")
        });
        assert_eq!((stopped, count), (Ok(true), 2));
    }

    #[test]
    fn a_part_without_end_is_refused() {
        let mut frames = Frames::new(Framing::Sse);
        let chunk = vec![b'x'; 1 << 20];
        let refused = (0..40).find_map(|_| frames.push(&chunk, &mut |_| Ok(false)).err());
        assert!(refused.is_some_and(|error| error.message.contains("longer than")));
    }

    proptest! {
        #[test]
        fn where_reads_are_cut_does_not_matter(cuts in proptest::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let (bytes, mut at, mut chunks) = (STREAM.as_bytes(), 0, Vec::new());
            for cut in cuts {
                chunks.push(&bytes[at..cut]);
                at = cut;
            }
            chunks.push(&bytes[at..]);
            prop_assert_eq!(frames(Framing::Sse, &chunks), frames(Framing::Sse, &[bytes]));
        }
    }
}
