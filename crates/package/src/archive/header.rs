//! One header block of a ustar archive (POSIX.1-2001, "ustar Interchange Format").
//!
//! What is written is one form only. What is read may come from other programs too, as long as they all understand the
//! same by it: numbers in octal, texts that end where they end, and no extension.

/// What an archive is made of.
pub(super) const BLOCK: usize = 512;

pub(super) type Block = [u8; BLOCK];

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Device,
    Sparse,
    /// The rest: long names, attributes, volumes, and what nobody knows.
    Extension(u8),
}

/// What a header says, apart from owners, rights and times: those mean nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// The whole name as it is written there; not checked.
    pub(super) name: Vec<u8>,
    pub(super) size: u64,
}

/// Why a block is not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Checksum,
    /// Not of this format at all.
    Magic,
    Malformed(&'static str),
}

/// Returns the one header of a regular file; `None` when the name or the size does not fit.
pub(super) fn encode(name: &str, size: u64) -> Option<Block> {
    let (prefix, last) = split(name)?;
    if size > super::LARGEST_FILE {
        return None;
    }
    let mut block = [0; BLOCK];
    put(&mut block, NAME.0, last.as_bytes());
    put(&mut block, MODE.0, b"0000644\0");
    put(&mut block, USER.0, b"0000000\0");
    put(&mut block, GROUP.0, b"0000000\0");
    put(&mut block, SIZE.0, format!("{size:011o}\0").as_bytes());
    put(&mut block, TIME.0, b"00000000000\0");
    block[KIND] = b'0';
    put(&mut block, MAGIC.0, POSIX);
    put(&mut block, MAJOR.0, b"0000000\0");
    put(&mut block, MINOR.0, b"0000000\0");
    put(&mut block, PREFIX.0, prefix.as_bytes());
    let checksum = format!("{:06o}\0 ", checksum(&block));
    put(&mut block, CHECKSUM.0, checksum.as_bytes());
    Some(block)
}

/// Reads a block that is not all zero.
pub(super) fn parse(block: &Block) -> Result<Header, Fault> {
    let is_posix = field(block, MAGIC) == POSIX;
    if !is_posix && field(block, MAGIC) != GNU {
        return Err(Fault::Magic);
    }
    let malformed = |why| move || Fault::Malformed(why);
    let sum = number(field(block, CHECKSUM)).ok_or(Fault::Checksum)?;
    if sum != u64::from(checksum(block)) {
        return Err(Fault::Checksum);
    }
    let kind = match block[KIND] {
        b'0' => Kind::File,
        b'5' => Kind::Folder,
        b'1' | b'2' => Kind::Link,
        b'3' | b'4' | b'6' => Kind::Device,
        b'S' => Kind::Sparse,
        other => Kind::Extension(other),
    };
    let name = text(field(block, NAME)).ok_or_else(malformed("there is something behind the name"))?;
    let header = |name: &[u8], size| Header { kind, name: name.to_vec(), size };
    if !matches!(kind, Kind::File | Kind::Folder) {
        // Refused for what it is. Its other fields have meanings of their own.
        return Ok(header(name, 0));
    }
    let size = number(field(block, SIZE)).ok_or_else(malformed("the size is not an octal number"))?;
    if kind == Kind::Folder && size != 0 {
        return Err(Fault::Malformed("a folder has a size"));
    }
    for (place, why) in [
        (MODE, "the mode is not an octal number"),
        (USER, "the user is not an octal number"),
        (GROUP, "the group is not an octal number"),
        (TIME, "the time is not an octal number"),
    ] {
        number(field(block, place)).ok_or(Fault::Malformed(why))?;
    }
    for place in [MAJOR, MINOR] {
        let device = field(block, place);
        if !is_zero(device) && number(device) != Some(0) {
            return Err(Fault::Malformed("a file has a device number"));
        }
    }
    if !is_zero(field(block, LINK)) {
        return Err(Fault::Malformed("a file names another as a link does"));
    }
    for place in [USER_NAME, GROUP_NAME] {
        text(field(block, place)).ok_or_else(malformed("there is something behind the owner's name"))?;
    }
    if !is_posix {
        // In GNU's own format times and maps of holes stand where ustar has the beginning of the name.
        return match is_zero(&block[PREFIX.0..]) {
            true => Ok(header(name, size)),
            false => Err(Fault::Malformed("it uses an extension of GNU's format")),
        };
    }
    if !is_zero(&block[PREFIX.0 + PREFIX.1..]) {
        return Err(Fault::Malformed("there is something behind the last field"));
    }
    let prefix = text(field(block, PREFIX)).ok_or_else(malformed("there is something behind the name"))?;
    if prefix.is_empty() {
        return Ok(header(name, size));
    }
    Ok(header(&[prefix, b"/", name].concat(), size))
}

/// Whether bytes begin with a header, whatever it says.
pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.get(MAGIC.0..).is_some_and(|magic| magic.starts_with(&POSIX[..5]))
}

/// Whether there are only zeros. Compared in one go: every block is looked at, and an enemy may send very many.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(BLOCK).all(|chunk| *chunk == [0; BLOCK][..chunk.len()])
}

/// How many zeros fill the last block of a file.
pub(super) fn padding(size: u64) -> usize {
    let over = (size % BLOCK as u64) as usize;
    if over == 0 { 0 } else { BLOCK - over }
}

/// Splits a name at a `/` to fit the two fields; in one piece when that is possible.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME.1 {
        return Some(("", name));
    }
    // The longest beginning that fits, as other programs do it.
    let mut places = name.match_indices('/').map(|(place, _)| place).rev();
    let place = places.find(|place| *place <= PREFIX.1)?;
    let last = &name[place + 1..];
    (place > 0 && !last.is_empty() && last.len() <= NAME.1).then(|| (&name[..place], last))
}

/// Adds up the block's bytes with spaces in place of the checksum.
pub(super) fn checksum(block: &Block) -> u32 {
    let mut counted = *block;
    put(&mut counted, CHECKSUM.0, &[b' '; CHECKSUM.1]);
    let mut sum = 0;
    for byte in &counted {
        sum += u32::from(*byte);
    }
    sum
}

/// Reads octal digits with an end: no sign, no space before, nothing else behind.
fn number(field: &[u8]) -> Option<u64> {
    let digits = field.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (digits, rest) = field.split_at(digits);
    if digits.is_empty() || rest.is_empty() || !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return None;
    }
    // Eleven digits at most: 33 bits.
    Some(digits.iter().fold(0, |number, digit| number << 3 | u64::from(digit - b'0')))
}

/// Reads a text up to its first zero, after which there are only zeros.
fn text(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    is_zero(rest).then_some(text)
}

type Place = (usize, usize);

fn field(block: &Block, (from, length): Place) -> &[u8] {
    &block[from..from + length]
}

fn put(block: &mut Block, from: usize, bytes: &[u8]) {
    block[from..from + bytes.len()].copy_from_slice(bytes);
}

// Where the fields begin and how long they are.
const NAME: Place = (0, 100);
const MODE: Place = (100, 8);
const USER: Place = (108, 8);
const GROUP: Place = (116, 8);
const SIZE: Place = (124, 12);
const TIME: Place = (136, 12);
pub(super) const CHECKSUM: Place = (148, 8);
pub(super) const KIND: usize = 156;
const LINK: Place = (157, 100);
const MAGIC: Place = (257, 8);
const USER_NAME: Place = (265, 32);
const GROUP_NAME: Place = (297, 32);
const MAJOR: Place = (329, 8);
const MINOR: Place = (337, 8);
const PREFIX: Place = (345, 155);

/// The format's name and version.
const POSIX: &[u8] = b"ustar\x0000";
/// The same from GNU tar when it is not asked for POSIX.
const GNU: &[u8] = b"ustar  \0";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::testing::{sealed, set};
    use proptest::prelude::*;

    #[test]
    fn a_header_is_these_bytes_and_no_others() {
        let block = encode("submission-x/records.jsonl", 0o1234).unwrap();
        let text = String::from_utf8(block.to_vec()).unwrap().replace('\0', "~");
        let squeezed = text.split("~~").filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ");
        assert_eq!(
            squeezed,
            "submission-x/records.jsonl | 0000644~0000000~0000000~00000001234~00000000000~014355~ 0 | ustar~00 | \
             0000000~0000000"
        );
        let header = parse(&block).unwrap();
        assert_eq!((header.kind, header.size), (Kind::File, 0o1234));
        assert_eq!(header.name, b"submission-x/records.jsonl");
    }

    #[test]
    fn a_long_name_is_split_or_refused() {
        let part = |length: usize| "p".repeat(length);
        for (name, fits) in [
            (part(100), true),
            (part(101), false),
            (format!("{}/{}", part(155), part(100)), true),
            (format!("{}/{}", part(156), part(99)), false),
            (format!("{}/{}", part(20), part(101)), false),
            (format!("{}/{}/{}", part(100), part(54), part(100)), true),
            (format!("{}/{}/{}", part(100), part(55), part(100)), false),
            (format!("/{}", part(100)), false),
            (format!("{}/", part(100)), false),
        ] {
            let block = encode(&name, 1);
            assert_eq!(block.is_some(), fits, "{name}");
            if let Some(block) = block {
                assert_eq!(parse(&block).unwrap().name, name.as_bytes());
            }
        }
        assert!(encode("a", super::super::LARGEST_FILE).is_some());
        assert!(encode("a", super::super::LARGEST_FILE + 1).is_none());
    }

    #[test]
    fn a_field_is_read_strictly() {
        let with = |place: usize, bytes: &[u8]| parse(&sealed(set(encode("top/a", 5).unwrap(), place, bytes)));
        for (place, bytes, ok) in [
            (SIZE.0, &b"00000000005 "[..], true),
            (SIZE.0, b"5\0\0\0\0\0\0\0\0\0\0\0", true),
            (SIZE.0, b"000000000005", false),
            (SIZE.0, b"         5\0\0", false),
            (SIZE.0, b"-0000000005\0", false),
            (SIZE.0, b"00000000008\0", false),
            (SIZE.0, b"5\0\0\0\0\0\0\0\0\0\x007", false),
            (SIZE.0, b"\x80\0\0\0\0\0\0\0\0\0\0\x05", false),
            (SIZE.0, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", false),
            (SIZE.0, b"\0\0\0\0\0\0\0\0\0\0\0\0", false),
            (MODE.0, b"000755 \0", true),
            (MODE.0, b"\x80\0\0\0\0\0\x01\xff", false),
            (TIME.0, b"14767645132\0", true),
            (TIME.0, b"+1767645132\0", false),
            (USER.0, b"1x00000\0", false),
            (MAJOR.0, b"\0\0\0\0\0\0\0\0", true),
            (MAJOR.0, b"0000001\0", false),
            (LINK.0, b"x", false),
            (NAME.0 + 50, b"x", false),
            (USER_NAME.0, b"root", true),
            (USER_NAME.0 + 5, b"x", false),
            (PREFIX.0, b"top", true),
            (PREFIX.0 + 3, b"x", false),
            (PREFIX.0 + PREFIX.1, b"x", false),
            (MAGIC.0, GNU, true),
            (MAGIC.0, b"ustar\x0001", false),
            (MAGIC.0, b"\0\0\0\0\0\0\0\0", false),
        ] {
            let header = with(place, bytes);
            assert_eq!(header.is_ok(), ok, "{place} {bytes:?}: {header:?}");
            if let Ok(header) = header {
                assert_eq!(header.size, 5, "{place} {bytes:?}");
            }
        }
        let gnu = set(encode("top/a", 5).unwrap(), MAGIC.0, GNU);
        assert!(parse(&sealed(gnu)).is_ok());
        for place in [PREFIX.0, PREFIX.0 + 41, 482, 483, 511] {
            assert!(parse(&sealed(set(gnu, place, b"1"))).is_err(), "{place}");
        }
    }

    #[test]
    fn no_flipped_bit_gives_a_header_of_another_meaning() {
        let name = format!("{}/{}", "p".repeat(120), "n".repeat(60));
        let block = encode(&name, 0o7654321).unwrap();
        let meant = parse(&block).unwrap();
        for place in 0..BLOCK {
            for bit in 0..8 {
                let mut other = block;
                other[place] ^= 1 << bit;
                if let Ok(header) = parse(&other) {
                    assert_eq!(header, meant, "byte {place} bit {bit}");
                    assert!((CHECKSUM.0..CHECKSUM.0 + CHECKSUM.1).contains(&place), "byte {place} bit {bit}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(name in "[a-z/é]{1,300}", size in 0..=crate::archive::LARGEST_FILE) {
            if let Some(block) = encode(&name, size) {
                let header = parse(&block).unwrap();
                prop_assert_eq!(header, Header { kind: Kind::File, name: name.into_bytes(), size });
            } else {
                prop_assert!(name.len() > 100);
            }
        }

        #[test]
        fn any_block_is_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), BLOCK), posix: bool) {
            let mut block: Block = bytes.try_into().unwrap();
            let _ = parse(&block);
            put(&mut block, MAGIC.0, if posix { POSIX } else { GNU });
            let _ = parse(&sealed(block));
        }
    }
}
