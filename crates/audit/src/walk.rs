//! A long file of lines, looked at on several threads, in memory that does not grow with it.
//!
//! One thread reads and hashes, several look, the caller's takes what they found, in the order of the lines.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZeroUsize;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use proofmark_artefact::store::{Hashed, LineError, Lines};
use proofmark_canon::Digest;

/// Lines that are looked at together.
#[derive(Debug, Default)]
struct Batch {
    number: u64,
    /// Numbers of the lines, from 1, and where they end in `bytes`.
    lines: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

/// What stopped a walk.
#[derive(Debug)]
pub enum Stopped<E> {
    Line(LineError),
    Io(std::io::Error),
    Look(E),
    Panicked,
}

/// Lines are gathered to about so many bytes.
const BATCH: usize = 512 * 1024;
/// Batches under way; what is found in a later one waits for the earlier ones.
const UNDER_WAY: usize = 16;

/// Calls `look` for every line, in any order, and `take` with what it found, in the order of the lines.
///
/// Empty lines are passed over. Of several failures, the one of the earliest line is returned.
pub fn walk<R, T, E>(
    source: R,
    longest: usize,
    workers: NonZeroUsize,
    look: impl Fn(u64, &[u8]) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(Digest, u64), Stopped<E>>
where
    R: Read + Send,
    T: Send,
    E: Send,
{
    let (permit_in, permits) = mpsc::sync_channel::<()>(UNDER_WAY);
    let (work_in, work) = mpsc::sync_channel::<Batch>(workers.get());
    let (found_in, found) = mpsc::sync_channel::<Batched<T, E>>(UNDER_WAY);
    let (stopped, work) = (AtomicBool::new(false), Mutex::new(work));
    // Buffers that were looked at, to be filled again: the system would have to clear new ones.
    let spare = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let (work, stopped, look, spare) = (&work, &stopped, &look, &spare);
        let reader_found = found_in.clone();
        let reader = scope.spawn(move || read(source, longest, &permit_in, &work_in, &reader_found, spare));
        for _ in 0..workers.get() {
            let found_in = found_in.clone();
            scope.spawn(move || {
                // Once nobody listens the rest is only taken away, so that the reader is not left waiting.
                while let Some(batch) = next(work) {
                    if !stopped.load(Ordering::Relaxed) && found_in.send((batch.number, look_at(&batch, look))).is_err()
                    {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    // One that a very long line made long is let go.
                    if batch.bytes.capacity() <= 4 * BATCH
                        && let Ok(mut spare) = spare.lock()
                    {
                        spare.push(batch.bytes);
                    }
                }
            });
        }
        drop(found_in);
        let outcome = gather(&found, &permits, &mut take);
        // Whoever still reads or looks finds the channels closed.
        drop((found, permits));
        stopped.store(outcome.is_err(), Ordering::Relaxed);
        let finished = reader.join().map_err(|_| Stopped::Panicked)?;
        outcome?;
        finished.ok_or(Stopped::Panicked)?.map_err(Stopped::Io)
    })
}

enum Failed<E> {
    Read(LineError),
    Look(E),
    Panicked,
}

fn next(work: &Mutex<Receiver<Batch>>) -> Option<Batch> {
    work.lock().ok()?.recv().ok()
}

fn look_at<T, E>(batch: &Batch, look: &(impl Fn(u64, &[u8]) -> Result<T, E> + Sync)) -> Result<Vec<T>, Failed<E>> {
    let mut from = 0;
    let mut all = Vec::with_capacity(batch.lines.len());
    for (number, to) in &batch.lines {
        let line = &batch.bytes[from..*to];
        // A thread that is gone would leave the others waiting for it.
        let looked = panic::catch_unwind(AssertUnwindSafe(|| look(*number, line))).map_err(|_| Failed::Panicked)?;
        all.push(looked.map_err(Failed::Look)?);
        from = *to;
    }
    Ok(all)
}

/// Takes what was found in order; `Err` with the first failure.
fn gather<T, E>(
    found: &Receiver<Batched<T, E>>,
    permits: &Receiver<()>,
    take: &mut impl FnMut(T) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let mut waiting = BTreeMap::new();
    let mut expected = 0;
    while let Ok((number, result)) = found.recv() {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&expected) {
            expected += 1;
            let all = result.map_err(|failed| match failed {
                Failed::Read(error) => Stopped::Line(error),
                Failed::Look(error) => Stopped::Look(error),
                Failed::Panicked => Stopped::Panicked,
            })?;
            all.into_iter().try_for_each(&mut *take).map_err(Stopped::Look)?;
            let _ = permits.try_recv();
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(Stopped::Panicked) }
}

/// The number of a batch, and what was found in its lines.
type Batched<T, E> = (u64, Result<Vec<T>, Failed<E>>);

/// Cuts the source to batches. `None` when nobody wants more of them.
fn read<R: Read, T, E>(
    source: R,
    longest: usize,
    permits: &SyncSender<()>,
    work: &SyncSender<Batch>,
    found: &SyncSender<Batched<T, E>>,
    spare: &Mutex<Vec<Vec<u8>>>,
) -> Option<std::io::Result<(Digest, u64)>> {
    let mut lines = Lines::new(Hashed::new(source), longest);
    let mut batch = Batch::default();
    loop {
        let failed = match lines.next_line() {
            Ok(Some(line)) => {
                if !line.bytes.trim_ascii().is_empty() {
                    batch.bytes.extend_from_slice(line.bytes);
                    batch.lines.push((line.number, batch.bytes.len()));
                }
                if batch.bytes.len() < BATCH {
                    continue;
                }
                None
            }
            Ok(None) if batch.lines.is_empty() => return Some(lines.drain().map(Hashed::finish)),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let number = batch.number + 1;
        permits.send(()).ok()?;
        let mut bytes = spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        bytes.clear();
        work.send(std::mem::replace(&mut batch, Batch { number, bytes, ..Batch::default() })).ok()?;
        if let Some(error) = failed {
            found.send((number, Err(Failed::Read(error)))).ok()?;
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers and lengths of the lines, and the digest of all.
    type Walked = (Vec<(u64, usize)>, (Digest, u64));

    fn all(text: &str, longest: usize, workers: usize) -> Result<Walked, String> {
        let mut taken = Vec::new();
        let look = |number: u64, line: &[u8]| if line == b"bad" { Err(number) } else { Ok((number, line.len())) };
        let workers = NonZeroUsize::new(workers).unwrap();
        let digest = walk(text.as_bytes(), longest, workers, look, |found| {
            taken.push(found);
            if found.1 == 77_777 { Err(found.0) } else { Ok(()) }
        });
        match digest {
            Ok(digest) => Ok((taken, digest)),
            Err(Stopped::Look(number)) => Err(format!("look {number}")),
            Err(Stopped::Line(error)) => Err(error.to_string()),
            Err(other) => Err(format!("{other:?}")),
        }
    }

    proptest! {
        #[test]
        fn every_line_is_taken_once_and_in_order(lengths in prop::collection::vec(0usize..2_000, 0..60), workers in 1usize..5) {
            let text: String = lengths.iter().map(|length| format!("{}\n", "x".repeat(*length))).collect();
            let want: Vec<(u64, usize)> = (1..).zip(lengths.iter().copied()).filter(|(_, length)| *length > 0).collect();
            let (taken, digest) = all(&text, 5_000, workers).unwrap();
            prop_assert_eq!(taken, want);
            prop_assert_eq!(digest, (Digest::of(text.as_bytes()), text.len() as u64));
        }
    }

    #[test]
    fn many_batches_come_in_order() {
        let text: String = (0..60_000).map(|n| format!("{n:0>100}\n")).collect();
        let (taken, _) = all(&text, 1_000, 2).unwrap();
        assert_eq!(taken.len(), 60_000);
        assert!(taken.is_sorted());
    }

    #[test]
    fn the_earliest_failure_is_the_one_that_is_told() {
        let filler = "y".repeat(200_000);
        let text = format!("a\n{filler}\n{filler}\n{filler}\nbad\n{filler}\n{filler}\n{filler}\nbad\n");
        for workers in 1..4 {
            assert_eq!(all(&text, 1 << 20, workers), Err("look 5".into()));
            assert_eq!(all(&format!("bad\n{}\n", "z".repeat(4_000)), 3_000, workers), Err("look 1".into()));
            let refused = format!("ok\n{}\n{filler}\n{filler}\n{filler}\n{filler}\n", "z".repeat(77_777));
            assert_eq!(all(&refused, 1 << 20, workers), Err("look 2".into()), "whoever takes may stop the walk");
            let long = format!("ok\n{}\nbad\n", "z".repeat(4_000));
            assert_eq!(all(&long, 3_000, workers), Err("line 2 is longer than 3000 bytes".into()));
        }
    }
}
