//! Archives made by hand, for tests.

use std::path::Path;

use super::header::{self, BLOCK, Block, CHECKSUM};

/// Puts bytes into a block.
pub(super) fn set(mut block: Block, place: usize, bytes: &[u8]) -> Block {
    block[place..place + bytes.len()].copy_from_slice(bytes);
    block
}

/// Makes the checksum right again.
pub(super) fn sealed(block: Block) -> Block {
    let checksum = format!("{:06o}\0 ", header::checksum(&block));
    set(block, CHECKSUM.0, checksum.as_bytes())
}

/// An entry of any kind with a name as it is.
pub(super) fn entry(kind: u8, name: &[u8], content: &[u8]) -> Vec<u8> {
    let block = header::encode("x", content.len() as u64).unwrap();
    let mut block = set(set(block, 0, &[0]), 0, name);
    block[header::KIND] = kind;
    let mut bytes = sealed(block).to_vec();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// Entries and the end of the archive.
pub(super) fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

/// Everything under a folder, relative to it and sorted; folders end with `/`.
pub(super) fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(next) = ahead.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let mut name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if entry.file_type().unwrap().is_dir() {
                name.push('/');
                ahead.push(entry.path());
            }
            found.push(name);
        }
    }
    found.sort();
    found
}
