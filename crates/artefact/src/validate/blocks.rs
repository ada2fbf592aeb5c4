//! A file of lines cut to blocks at line ends, hashed on the way, checked by several threads.
//!
//! Results come back in the file's order whatever order they were made in. Memory is bounded: a
//! fixed number of buffers goes round, and a line too long for its buffer is held alone.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use memchr::memchr_iter;
use proofmark_canon::Digest;

use crate::store::Hashed;
use crate::store::blocks::{Blocks, Filled};

/// Whole lines of a file, or the mark of one that is too long.
#[derive(Debug, Default)]
pub(super) struct Block {
    sequence: u64,
    /// Number of the first line, from 1.
    pub(super) first_line: u64,
    buffer: Vec<u8>,
    length: usize,
    /// The block stands for one line that was longer than the limit.
    pub(super) too_long: bool,
}

impl Block {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// How large blocks and lines may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) block: usize,
    pub(super) line: usize,
    pub(super) workers: usize,
}

/// What was read in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

/// Reads all lines; `check` runs on several threads, `merge` on this one, block by block in order.
pub(super) fn for_each_block<R: Read + Send, T: Send>(
    source: R,
    limits: Limits,
    check: impl Fn(&Block) -> T + Sync,
    mut merge: impl FnMut(&Block, T) -> io::Result<()>,
) -> io::Result<Total> {
    let buffers = limits.workers * 2 + 2;
    let (to_reader, spare) = mpsc::channel::<Vec<u8>>();
    let (to_workers, work) = mpsc::channel::<Block>();
    let (to_merge, done) = mpsc::channel::<(Block, T)>();
    for _ in 0..buffers {
        // The receiver is still ours, so this cannot fail.
        let _ = to_reader.send(vec![0; limits.block]);
    }
    let work = Mutex::new(work);
    thread::scope(|scope| {
        let reader = scope.spawn(move || Cutter::new(source, limits, spare, buffers).run(&to_workers));
        for _ in 0..limits.workers {
            let to_merge = to_merge.clone();
            let (work, check) = (&work, &check);
            scope.spawn(move || {
                loop {
                    let block = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(block) = block else { return };
                    let result = check(&block);
                    if to_merge.send((block, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(to_merge);
        let merged = merge_in_order(&done, &to_reader, limits.block, &mut merge);
        // Without a way to get buffers back the reader stops, and with it everyone else.
        drop((to_reader, done));
        let total = match reader.join() {
            Ok(total) => total,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        merged.and(total)
    })
}

fn merge_in_order<T>(
    done: &Receiver<(Block, T)>,
    to_reader: &Sender<Vec<u8>>,
    block_size: usize,
    merge: &mut impl FnMut(&Block, T) -> io::Result<()>,
) -> io::Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (block, result) in done {
        waiting.insert(block.sequence, (block, result));
        while let Some((mut block, result)) = waiting.remove(&next) {
            merge(&block, result)?;
            next += 1;
            // The memory of an enormous line is given back at once.
            if block.buffer.len() > block_size {
                block.buffer = Vec::new();
            }
            // A reader that is done needs no buffer.
            let _ = to_reader.send(block.buffer);
        }
    }
    Ok(())
}

/// Cuts a source to blocks.
struct Cutter<R> {
    blocks: Blocks<Hashed<R>>,
    spare: Receiver<Vec<u8>>,
    /// Buffers that were taken from `spare` and not sent on.
    held: Vec<Vec<u8>>,
    /// How many buffers go round in all.
    buffers: usize,
    sequence: u64,
    line: u64,
}

impl<R: Read> Cutter<R> {
    fn new(source: R, limits: Limits, spare: Receiver<Vec<u8>>, buffers: usize) -> Self {
        let blocks = Blocks::new(Hashed::new(source), limits.block, limits.line);
        Self { blocks, spare, held: Vec::new(), buffers, sequence: 0, line: 1 }
    }

    fn run(mut self, to_workers: &Sender<Block>) -> io::Result<Total> {
        while let Some(buffer) = self.take_buffer() {
            let Some(block) = self.cut(buffer)? else { break };
            if to_workers.send(block).is_err() {
                break;
            }
        }
        let (digest, bytes) = self.blocks.into_source().finish();
        Ok(Total { digest, bytes, lines: self.line - 1 })
    }

    /// Returns `None` when nobody is left who would give a buffer back.
    fn take_buffer(&mut self) -> Option<Vec<u8>> {
        self.held.pop().or_else(|| self.spare.recv().ok())
    }

    /// Fills a buffer up to a line end, or returns `None` at the end of the source.
    fn cut(&mut self, mut buffer: Vec<u8>) -> io::Result<Option<Block>> {
        let (spare, held, buffers) = (&self.spare, &mut self.held, self.buffers);
        // Waits until no other block is under way, so that only one buffer ever outgrows its size.
        let wait_for_the_others = || {
            while held.len() + 1 < buffers {
                let Ok(buffer) = spare.recv() else { return };
                held.push(buffer);
            }
        };
        let (length, too_long) = match self.blocks.fill(&mut buffer, wait_for_the_others)? {
            Filled::End => return Ok(None),
            Filled::Lines(length) => (length, false),
            Filled::TooLong => (0, true),
        };
        let (sequence, first_line) = (self.sequence, self.line);
        let unended = u64::from(too_long || buffer[..length].last().is_some_and(|last| *last != b'\n'));
        self.line += memchr_iter(b'\n', &buffer[..length]).count() as u64 + unended;
        self.sequence += 1;
        Ok(Some(Block { sequence, first_line, buffer, length, too_long }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, as a slow disk would.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = into.len().min(3);
            self.0.read(&mut into[..length])
        }
    }

    fn run(text: &str, limits: Limits) -> (Vec<(u64, String, bool)>, Total) {
        let mut lines = Vec::new();
        let check = |block: &Block| String::from_utf8(block.bytes().to_vec()).unwrap();
        let total = for_each_block(Slow(text.as_bytes()), limits, check, |block, text| {
            if block.too_long {
                lines.push((block.first_line, String::new(), true));
            }
            for (at, line) in text.split_inclusive('\n').enumerate() {
                lines.push((block.first_line + at as u64, line.to_owned(), false));
            }
            Ok(())
        });
        (lines, total.unwrap())
    }

    #[test]
    fn lines_come_whole_in_order_and_hashed_for_any_block_size() {
        let mut text: String = (0..200).map(|i| format!("{}\n", "x".repeat(i * 7 % 40))).collect();
        for tail in ["", "cut off"] {
            text.push_str(tail);
            let want: Vec<_> = text
                .split_inclusive('\n')
                .enumerate()
                .map(|(at, line)| (at as u64 + 1, line.to_owned(), false))
                .collect();
            for block in [1, 2, 5, 16, 64, 10_000] {
                let (lines, total) = run(&text, Limits { block, line: 1000, workers: 3 });
                assert_eq!(lines, want, "blocks of {block}");
                assert_eq!(total.digest, Digest::of(text.as_bytes()));
                assert_eq!((total.bytes, total.lines), (text.len() as u64, want.len() as u64));
            }
        }
    }

    #[test]
    fn a_line_over_the_limit_is_marked_and_the_next_ones_are_read() {
        let text = format!("a\n{}\nb\n{}", "x".repeat(500), "y".repeat(500));
        let (lines, total) = run(&text, Limits { block: 8, line: 100, workers: 2 });
        let line = |number, text: &str, too_long| (number, text.to_owned(), too_long);
        assert_eq!(lines, [line(1, "a\n", false), line(2, "", true), line(3, "b\n", false), line(4, "", true)]);
        assert_eq!((total.digest, total.lines), (Digest::of(text.as_bytes()), 4));
    }

    #[test]
    fn nothing_gives_no_block() {
        let (lines, total) = run("", Limits { block: 8, line: 8, workers: 1 });
        assert!(lines.is_empty());
        assert_eq!((total.digest, total.bytes, total.lines), (Digest::of(b""), 0, 0));
    }

    #[test]
    fn a_merge_that_fails_stops_the_rest() {
        let text = "a\n".repeat(10_000);
        let mut seen = 0;
        let outcome = for_each_block(
            text.as_bytes(),
            Limits { block: 16, line: 100, workers: 2 },
            |_| (),
            |_, ()| {
                seen += 1;
                if seen == 5 { Err(io::Error::other("full")) } else { Ok(()) }
            },
        );
        assert_eq!((outcome.unwrap_err().to_string().as_str(), seen), ("full", 5));
    }
}
