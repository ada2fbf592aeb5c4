//! Long files cut to blocks of whole lines, for those who read on several threads.

use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::hashed::read_some;

/// Fills buffers with whole lines. What is in a buffer depends on the source and the sizes alone.
pub(crate) struct Blocks<R> {
    source: R,
    /// The size of a buffer, unless a line is longer.
    block: usize,
    limit: usize,
    /// What was read after the last line end.
    carry: Vec<u8>,
    /// Whether the source stands inside a line that was too long.
    is_inside: bool,
}

/// What a buffer was filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// So many bytes of whole lines. Only the last line of the source may lack its end.
    Lines(usize),
    /// A line that is longer than the limit. Nothing of it is kept; the next buffer goes on behind it.
    TooLong,
    End,
}

impl<R: Read> Blocks<R> {
    /// Lines that are longer than `limit` by less than a block may still come through.
    pub(crate) fn new(source: R, block: usize, limit: usize) -> Self {
        Self { source, block, limit, carry: Vec::new(), is_inside: false }
    }

    /// Fills a buffer of any size. `before_growth` is called before it outgrows a block.
    pub(crate) fn fill(&mut self, buffer: &mut Vec<u8>, mut before_growth: impl FnMut()) -> io::Result<Filled> {
        // A buffer that held an enormous line gives its memory back.
        if buffer.len() != self.block {
            *buffer = vec![0; self.block];
        }
        if std::mem::take(&mut self.is_inside) {
            self.skip_line(buffer)?;
        }
        let mut filled = self.carry.len();
        if buffer.len() <= filled {
            before_growth();
            buffer.resize(filled + self.block, 0);
        }
        buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        self.carry.shrink_to(self.block);
        // What was carried over is the start of a line, or whole lines behind one that was too long.
        let mut searched = 0;
        loop {
            while filled < buffer.len() {
                let read = read_some(&mut self.source, &mut buffer[filled..])?;
                if read == 0 {
                    return Ok(if filled == 0 { Filled::End } else { Filled::Lines(filled) });
                }
                filled += read;
            }
            if let Some(at) = memrchr(b'\n', &buffer[searched..]) {
                let end = searched + at + 1;
                self.carry.extend_from_slice(&buffer[end..]);
                return Ok(Filled::Lines(end));
            }
            if filled > self.limit {
                *buffer = Vec::new();
                self.is_inside = true;
                return Ok(Filled::TooLong);
            }
            searched = filled;
            before_growth();
            buffer.resize((filled * 2).min(self.limit + self.block), 0);
        }
    }

    pub(crate) fn into_source(self) -> R {
        self.source
    }

    /// Reads on to the end of a line, keeping none of it.
    fn skip_line(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            let read = read_some(&mut self.source, buffer)?;
            if let Some(end) = memchr(b'\n', &buffer[..read]) {
                self.carry.extend_from_slice(&buffer[end + 1..read]);
                return Ok(());
            }
            if read == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time, as a slow disk would.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = into.len().min(3);
            self.0.read(&mut into[..length])
        }
    }

    /// All lines, `None` for one that was too long.
    fn all(text: &[u8], block: usize, limit: usize) -> Vec<Option<Vec<u8>>> {
        let mut blocks = Blocks::new(Slow(text), block, limit);
        let (mut buffer, mut lines) = (Vec::new(), Vec::new());
        loop {
            match blocks.fill(&mut buffer, || ()).unwrap() {
                Filled::End => return lines,
                Filled::TooLong => lines.push(None),
                Filled::Lines(length) => {
                    lines.extend(
                        buffer[..length].split_inclusive(|byte| *byte == b'\n').map(|line| Some(line.to_vec())),
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn lines_come_whole_and_in_order(lengths in prop::collection::vec(0usize..40, 0..30), block in 1usize..50, tail in 0usize..5) {
            let mut text: Vec<u8> = lengths.iter().flat_map(|length| [vec![b'x'; *length], vec![b'\n']].concat()).collect();
            text.extend(vec![b'y'; tail]);
            let want: Vec<Option<Vec<u8>>> = text.split_inclusive(|byte| *byte == b'\n').map(|line| Some(line.to_vec())).collect();
            prop_assert_eq!(all(&text, block, 100), want);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over_and_the_next_ones_are_read() {
        let text = format!("a\n{}\nb\n{}", "x".repeat(500), "y".repeat(500));
        let line = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(all(text.as_bytes(), 8, 100), [line("a\n"), None, line("b\n"), None]);
    }

    #[test]
    fn a_buffer_grows_for_a_long_line_and_says_so_before() {
        let text = format!("{}\nb\n", "x".repeat(70));
        let mut blocks = Blocks::new(text.as_bytes(), 16, 100);
        let (mut buffer, mut grown) = (Vec::new(), 0);
        assert_eq!(blocks.fill(&mut buffer, || grown += 1).unwrap(), Filled::Lines(73));
        assert_eq!((grown, buffer.len()), (3, 116));
        assert_eq!(blocks.fill(&mut buffer, || grown += 1).unwrap(), Filled::End);
        assert_eq!((grown, buffer.len()), (3, 16));
    }
}
