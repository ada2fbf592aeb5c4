//! Two files compared byte by byte, in constant memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Where two files part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parting {
    /// From 0.
    pub(super) byte: u64,
    /// From 1.
    pub(super) line: u64,
}

const BUFFER: usize = 256 * 1024;

/// Returns where two files first differ; `None` when they do not.
pub(super) fn first_difference(a: &Path, b: &Path) -> io::Result<Option<Parting>> {
    let open = |path| io::Result::Ok(BufReader::with_capacity(BUFFER, File::open(path)?));
    parting(open(a)?, open(b)?)
}

fn parting(mut a: impl BufRead, mut b: impl BufRead) -> io::Result<Option<Parting>> {
    let mut at = Parting { byte: 0, line: 1 };
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let shared = left.len().min(right.len());
        if shared == 0 {
            return Ok((left.len() != right.len()).then_some(at));
        }
        let (left, right) = (&left[..shared], &right[..shared]);
        // Whole blocks first: almost always they are the same.
        let same = if left == right { shared } else { left.iter().zip(right).take_while(|(l, r)| l == r).count() };
        at.byte += same as u64;
        at.line += left[..same].iter().filter(|byte| **byte == b'\n').count() as u64;
        if same < shared {
            return Ok(Some(at));
        }
        a.consume(shared);
        b.consume(shared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_differs_is_named_with_its_line() {
        let long = "x\n".repeat(200_000);
        let (changed, cut) = (format!("{long}y"), &long[..300_000]);
        for (a, b, want) in [
            ("", "", None),
            ("a\nb", "a\nb", None),
            ("a\nb", "a\nc", Some((2, 2))),
            ("a\nb", "a\n", Some((2, 2))),
            ("", "a", Some((0, 1))),
            (&long, &changed, Some((400_000, 200_001))),
            (&long, cut, Some((300_000, 150_001))),
            (&long, &long, None),
        ] {
            let found = parting(BufReader::with_capacity(7, a.as_bytes()), b.as_bytes()).unwrap();
            assert_eq!(found.map(|found| (found.byte, found.line)), want);
        }
    }
}
