//! Bytes hashed on their way.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use proofmark_canon::{Digest, Hasher};

/// Hashes and counts what is read through it.
pub struct Hashed<R> {
    source: R,
    hasher: Hasher,
    bytes: u64,
}

impl<R> Hashed<R> {
    pub fn new(source: R) -> Self {
        Self { source, hasher: Hasher::new(), bytes: 0 }
    }

    /// Returns the digest and the length of what was read.
    pub fn finish(self) -> (Digest, u64) {
        (self.hasher.finish(), self.bytes)
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Reads to the end and returns the digest and the length of what was read.
pub fn digest_reader(source: impl Read) -> io::Result<(Digest, u64)> {
    let mut source = Hashed::new(source);
    let mut buffer = vec![0; 256 * 1024];
    while read_some(&mut source, &mut buffer)? > 0 {}
    Ok(source.finish())
}

/// Returns the digest and the length of a file's bytes.
pub fn digest_file(path: &Path) -> io::Result<(Digest, u64)> {
    digest_reader(File::open(path)?)
}

/// Reads what there is, however often a signal comes between; 0 at the end.
pub(super) fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_hashed_and_counted() {
        let bytes = vec![7; 600_000];
        assert_eq!(digest_reader(bytes.as_slice()).unwrap(), (Digest::of(&bytes), 600_000));
        let mut source = Hashed::new(&b"abc"[..]);
        source.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(source.finish(), (Digest::of(b"ab"), 2));
    }

    #[test]
    fn a_signal_is_not_an_error() {
        struct Signals(u8);
        impl Read for Signals {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 | 3 => Err(io::ErrorKind::Interrupted.into()),
                    2 => Ok(b"a".as_slice().read(buffer)?),
                    _ => Ok(0),
                }
            }
        }
        assert_eq!(digest_reader(Signals(0)).unwrap(), (Digest::of(b"a"), 1));
    }
}
