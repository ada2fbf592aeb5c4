//! The bytes of an archive, as they are or packed with zstd.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use zstd::stream::read::Decoder;

use super::error::ArchiveError;
use super::header::{self, BLOCK, is_zero};
use super::limits::Limits;

/// An archive from its first byte on, read forward.
pub(super) struct Input<'a, R> {
    bytes: Bytes<'a, R>,
    /// How many bytes of the archive were read; of the unpacked one.
    at: u64,
    /// For messages.
    path: &'a Path,
}

enum Bytes<'a, R> {
    Plain { source: BufReader<&'a mut R>, length: u64 },
    Packed { decoder: Box<Unpacker<'a, R>>, limits: &'a Limits },
}

type Unpacker<'a, R> = Decoder<'static, BufReader<Counted<&'a mut R>>>;

impl<'a, R: Read + Seek> Input<'a, R> {
    /// Goes to the beginning and looks how the archive is packed. Its name says nothing about it.
    pub(super) fn begin(source: &'a mut R, path: &'a Path, limits: &'a Limits) -> Result<Self, ArchiveError> {
        let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
        let length = source.seek(SeekFrom::End(0)).map_err(failed)?;
        source.rewind().map_err(failed)?;
        let mut magic = [0; 4];
        let read = fill(source, &mut magic).map_err(failed)?;
        source.rewind().map_err(failed)?;
        let bytes = if magic[..read] == ZSTD {
            let source = BufReader::with_capacity(BUFFER, Counted { source, bytes: 0, has_failed: false });
            let mut decoder = Decoder::with_buffer(source).map_err(failed)?.single_frame();
            decoder.window_log_max(MAX_WINDOW_LOG).map_err(failed)?;
            Bytes::Packed { decoder: Box::new(decoder), limits }
        } else {
            if let Some((_, packing)) = OTHERS.iter().find(|(beginning, _)| magic[..read].starts_with(beginning)) {
                return Err(ArchiveError::OtherPacking { packing });
            }
            // Little: the bytes behind a header are mostly passed over, and those of a file are read past it.
            Bytes::Plain { source: BufReader::with_capacity(8 * BLOCK, source), length }
        };
        Ok(Self { bytes, at: 0, path })
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Whether bytes can only be passed over by unpacking them.
    pub(super) fn is_packed(&self) -> bool {
        matches!(self.bytes, Bytes::Packed { .. })
    }

    /// Whether so many bytes may still come. Of a packed archive nobody knows before.
    pub(super) fn may_hold(&self, bytes: u64) -> bool {
        match &self.bytes {
            Bytes::Plain { length, .. } => self.at.checked_add(bytes).is_some_and(|end| end <= *length),
            Bytes::Packed { .. } => true,
        }
    }

    /// Fills the buffer as far as there are bytes and returns how far that is.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        let failed = |source| ArchiveError::Read { path: self.path.to_owned(), source };
        let read = match &mut self.bytes {
            Bytes::Plain { source, .. } => fill(source, buffer).map_err(failed)?,
            Bytes::Packed { decoder, limits } => {
                let read = fill(decoder, buffer).map_err(|source| match source.kind() {
                    _ if decoder.get_ref().get_ref().has_failed => failed(source),
                    io::ErrorKind::UnexpectedEof => ArchiveError::Truncated { place: "within what is packed".into() },
                    _ => ArchiveError::Packing { source },
                })?;
                let (packed, unpacked) = (decoder.get_ref().get_ref().bytes, self.at + read as u64);
                if unpacked > limits.ratio_free_bytes && unpacked > packed.saturating_mul(limits.ratio) {
                    return Err(ArchiveError::Ratio { ratio: limits.ratio });
                }
                read
            }
        };
        self.at += read as u64;
        Ok(read)
    }

    /// Passes over so many bytes and returns whether they were there.
    pub(super) fn skip(&mut self, bytes: u64) -> Result<bool, ArchiveError> {
        if !self.may_hold(bytes) {
            return Ok(false);
        }
        if let Bytes::Plain { source, .. } = &mut self.bytes {
            let step = i64::try_from(bytes).unwrap_or(i64::MAX);
            source.seek_relative(step).map_err(|source| ArchiveError::Read { path: self.path.to_owned(), source })?;
            self.at += bytes;
            return Ok(true);
        }
        // No larger than needed: there may be very many small files.
        let mut buffer = vec![0; bytes.min(BUFFER as u64) as usize];
        let mut left = bytes;
        while left > 0 {
            let step = left.min(buffer.len() as u64) as usize;
            if self.read(&mut buffer[..step])? < step {
                return Ok(false);
            }
            left -= step as u64;
        }
        Ok(true)
    }

    /// Makes sure that nothing but the zeros that fill a record follows the end of the archive.
    pub(super) fn finish(mut self) -> Result<(), ArchiveError> {
        const PLACE: &str = "behind the archive's end";
        let from = self.at;
        let room = (from.next_multiple_of(RECORD) - from) as usize;
        // One byte more, to see that there is none.
        let mut rest = vec![0; room + 1];
        let read = self.read(&mut rest)?;
        if read > room || !is_zero(&rest[..read]) {
            return Err(ArchiveError::Garbage { at: from, place: PLACE });
        }
        if let Bytes::Packed { decoder, .. } = &mut self.bytes {
            let failed = |source| ArchiveError::Read { path: self.path.to_owned(), source };
            if !decoder.get_mut().fill_buf().map_err(failed)?.is_empty() {
                return Err(ArchiveError::Garbage { at: self.at, place: "behind the end of what is packed" });
            }
        }
        Ok(())
    }
}

/// Whether a file begins as archives do, ours and those of others.
pub fn begins_as_archive(beginning: &[u8]) -> bool {
    let others = OTHERS.iter().any(|(magic, _)| beginning.starts_with(magic));
    others || beginning.starts_with(&ZSTD) || header::has_magic(beginning)
}

/// Counts what is read through it, and remembers whether the reading itself failed.
struct Counted<R> {
    source: R,
    bytes: u64,
    has_failed: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.source.read(buffer) {
            Ok(read) => {
                self.bytes += read as u64;
                Ok(read)
            }
            Err(error) => {
                self.has_failed |= error.kind() != io::ErrorKind::Interrupted;
                Err(error)
            }
        }
    }
}

/// Reads until the buffer is full or there is no more.
pub(super) fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

pub(super) const BUFFER: usize = 128 << 10;
/// How the first bytes of zstd's frames look.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How the first bytes of what others pack look.
const OTHERS: [(&[u8], &str); 4] =
    [(&[0x1f, 0x8b], "gzip"), (b"BZh", "bzip2"), (&[0xfd, b'7', b'z', b'X'], "xz"), (b"PK\x03\x04", "zip")];
/// 64 MiB: what unpacking may hold in memory. Packing with `zstd -19` wants 8.
const MAX_WINDOW_LOG: u32 = 26;
/// Most programs fill archives with zeros up to a multiple of this.
const RECORD: u64 = 20 * 512;
