//! As much of ZIP as a spreadsheet needs: files by name, stored or deflated. APPNOTE.TXT §4.3.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// An archive in memory.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    name: &'a [u8],
    method: u16,
    packed: usize,
    /// Where its local header is.
    at: usize,
}

impl<'a> Archive<'a> {
    /// Reads the central directory. `None` for what is no archive, is encrypted or larger than 4 GiB.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        // The last record has a comment of at most 65,535 bytes.
        let from = bytes.len().saturating_sub(END_SIZE + usize::from(u16::MAX));
        let end = bytes.get(from..)?.windows(4).rposition(|four| four == END)?.checked_add(from)?;
        let end = bytes.get(end..)?;
        let count = usize::from(u16_at(end, 10)?);
        let mut at = u32_at(end, 16)?;
        let mut entries = Vec::new();
        for _ in 0..count.min(MOST_ENTRIES) {
            let header = bytes.get(at..)?;
            if !header.starts_with(CENTRAL) {
                return None;
            }
            let is_encrypted = u16_at(header, 8)? & 1 != 0;
            let name_length = usize::from(u16_at(header, 28)?);
            let rest = usize::from(u16_at(header, 30)?) + usize::from(u16_at(header, 32)?);
            let name = header.get(CENTRAL_SIZE..CENTRAL_SIZE + name_length)?;
            let (method, packed, local) = (u16_at(header, 10)?, u32_at(header, 20)?, u32_at(header, 42)?);
            if !is_encrypted {
                entries.push(Entry { name, method, packed, at: local });
            }
            at = at.checked_add(CENTRAL_SIZE + name_length + rest)?;
        }
        Some(Self { bytes, entries })
    }

    /// A file's bytes. `None` when it is not there, damaged, or longer than `most`, which is then taken off.
    pub(super) fn read(&self, name: &str, most: &mut u64) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.name == name.as_bytes())?;
        let header = self.bytes.get(entry.at..)?;
        if !header.starts_with(LOCAL) {
            return None;
        }
        let start = LOCAL_SIZE + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let packed = header.get(start..)?.get(..entry.packed)?;
        let mut content = Vec::new();
        match entry.method {
            0 => packed.take(*most + 1).read_to_end(&mut content).ok()?,
            8 => DeflateDecoder::new(packed).take(*most + 1).read_to_end(&mut content).ok()?,
            _ => return None,
        };
        *most = most.checked_sub(content.len() as u64)?;
        Some(content)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_le_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}

const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END_SIZE: usize = 22;
const CENTRAL_SIZE: usize = 46;
const LOCAL_SIZE: usize = 30;
const MOST_ENTRIES: usize = 10_000;

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// An archive of deflated files, but for names that begin with `stored`.
    pub(in crate::file) fn pack(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, bytes) in files {
            let method: u16 = if name.starts_with("stored") { 0 } else { 8 };
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            let packed = if method == 0 { bytes.to_vec() } else { encoder.finish().unwrap() };
            let at = out.len() as u32;
            let mut shared = Vec::new();
            shared.extend([20, 0, 0, 0]);
            shared.extend(method.to_le_bytes());
            // Time and checksum, which nobody reads.
            shared.extend([0; 8]);
            shared.extend((packed.len() as u32).to_le_bytes());
            shared.extend((bytes.len() as u32).to_le_bytes());
            shared.extend((name.len() as u16).to_le_bytes());
            shared.extend([0, 0]);
            out.extend(LOCAL);
            out.extend(&shared);
            out.extend(name.bytes());
            out.extend(packed);
            directory.extend(CENTRAL);
            directory.extend([20, 0]);
            directory.extend(&shared);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.bytes());
        }
        let at = out.len() as u32;
        out.extend(&directory);
        out.extend(END);
        out.extend([0; 4]);
        out.extend((files.len() as u16).to_le_bytes());
        out.extend((files.len() as u16).to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend([0, 0]);
        out
    }

    #[test]
    fn files_are_read_by_name_up_to_a_size() {
        let bytes = pack(&[("a/b.xml", &[b'x'; 1000]), ("stored", b"text")]);
        let archive = Archive::open(&bytes).unwrap();
        let mut most = 2000;
        assert_eq!(archive.read("a/b.xml", &mut most).unwrap(), [b'x'; 1000]);
        assert_eq!((archive.read("stored", &mut most).unwrap().as_slice(), most), (&b"text"[..], 996));
        assert_eq!(archive.read("a/b.xml", &mut most), None, "a bomb is not unpacked");
        assert_eq!(archive.read("c", &mut most), None);
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let bytes = pack(&[("a", &[b'x'; 100]), ("stored", b"text")]);
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let read = |bytes: &[u8]| {
                    let archive = Archive::open(bytes)?;
                    archive.read("a", &mut 1000).or_else(|| archive.read("stored", &mut 1000))
                };
                read(&damaged);
                read(&bytes[..at]);
            }
        }
    }
}
