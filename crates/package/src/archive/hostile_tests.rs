//! Archives of enemies: each is refused for what it is, soon, and before anything is written.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::header::{self, BLOCK, KIND};
use super::testing::{archive, entry, sealed, set, tree};
use super::{ArchiveError, LARGEST_FILE, Limits, Opened, Refusal, Source, extract, open};

/// Opens an archive in a folder of its own. What is refused left nothing there, nor beside it.
fn attempt(bytes: &[u8], limits: &Limits) -> Result<Opened, ArchiveError> {
    let base = tempfile::tempdir().unwrap();
    let into = base.path().join("into");
    std::fs::create_dir(&into).unwrap();
    let begun = worked();
    let outcome = extract(&mut Cursor::new(bytes), Path::new("p.tar"), &into, limits, |_, _| Ok(()));
    let took = worked() - begun;
    assert!(took < Duration::from_secs(2), "{outcome:?} took {took:?}");
    let found = tree(base.path());
    match &outcome {
        Err(_) => assert_eq!(found, ["into/"]),
        Ok(opened) => {
            let files: Vec<&str> = found.iter().filter(|name| !name.ends_with('/')).map(String::as_str).collect();
            let mut want: Vec<String> = opened.files.keys().map(|name| format!("into/{name}")).collect();
            want.sort();
            assert_eq!(files, want);
            assert!(found.iter().all(|name| name.starts_with("into/")));
            for (name, member) in &opened.files {
                let there = proofmark_artefact::store::digest_file(&name.under(&into)).unwrap();
                assert_eq!(there, (member.digest, member.size));
            }
        }
    }
    outcome
}

/// How long this thread has been at work. Not the time of day: other tests run beside this one.
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn code(bytes: &[u8]) -> &'static str {
    attempt(bytes, &Limits::default()).err().map_or("opened", |error| error.code())
}

fn file(name: &str) -> Vec<u8> {
    entry(b'0', name.as_bytes(), b"content")
}

/// Two files, one of which fills its blocks, the other not.
fn good() -> Vec<u8> {
    archive(&[entry(b'0', b"top/a", &[b'a'; BLOCK]), entry(b'0', b"top/b/c", b"content")])
}

#[test]
fn every_kind_of_hostile_entry_is_refused_for_what_it_is() {
    let linked = |kind: u8| {
        let block = set(entry(kind, b"top/l", b"")[..].try_into().unwrap(), 157, b"../../../etc/passwd");
        sealed(block).to_vec()
    };
    let split = |prefix: &[u8], name: &[u8]| {
        let block = entry(b'0', name, b"")[..].try_into().unwrap();
        sealed(set(block, 345, prefix)).to_vec()
    };
    let long = "n".repeat(100);
    for (what, entries, want) in [
        ("up", vec![file("../evil")], "traversal"),
        ("up within", vec![file("top/../../evil")], "traversal"),
        ("up by backslash", vec![file("top\\..\\..\\evil")], "traversal"),
        ("up in the prefix", vec![split(b"..", b"evil")], "traversal"),
        ("up behind the prefix", vec![split(b"top", b"../evil")], "traversal"),
        ("up as a folder", vec![entry(b'5', b"../", b"")], "traversal"),
        ("absolute", vec![file("/etc/evil")], "absolute"),
        ("absolute in the prefix", vec![split(b"/etc", b"evil")], "absolute"),
        ("absolute folder", vec![entry(b'5', b"/", b"")], "absolute"),
        ("drive", vec![file("C:\\evil")], "absolute"),
        ("share", vec![file("\\\\host\\evil")], "absolute"),
        ("backslash", vec![file("top\\a")], "name"),
        ("no name", vec![file("")], "name"),
        ("no name behind the prefix", vec![split(b"top", b"")], "name"),
        ("a file like a folder", vec![file("top/a/")], "name"),
        ("empty part", vec![file("top//a")], "name"),
        ("here", vec![file("./top/a")], "name"),
        ("stream", vec![file("top/a:b")], "name"),
        ("device of Windows", vec![file("top/NUL")], "name"),
        ("escape", vec![file("top/\u{1b}]0;a")], "name"),
        ("turned around", vec![file("top/\u{202e}gpj.exe")], "name"),
        ("not text", vec![entry(b'0', b"top/\xff", b"")], "name"),
        ("half a letter in the prefix", vec![split(b"top\xc3", b"\xa9")], "name"),
        ("long", vec![split(long.as_bytes(), format!("{}/x", "m".repeat(90)).as_bytes())], "opened"),
        ("a part too long", vec![split(format!("{long}n").as_bytes(), b"x")], "name_too_long"),
        ("symbolic link", vec![linked(b'2')], "link"),
        ("hard link", vec![linked(b'1')], "link"),
        ("link and a file through it", vec![linked(b'2'), file("top/l/x")], "link"),
        ("character device", vec![entry(b'3', b"top/d", b"")], "device"),
        ("block device", vec![entry(b'4', b"top/d", b"")], "device"),
        ("pipe", vec![entry(b'6', b"top/p", b"")], "device"),
        ("sparse", vec![entry(b'S', b"top/s", b"")], "sparse"),
        ("GNU long name", vec![entry(b'L', b"././@LongLink", b"top/a\0"), file("top/b")], "extension"),
        ("GNU long link", vec![entry(b'K', b"././@LongLink", b"top/a\0"), file("top/b")], "extension"),
        ("pax", vec![entry(b'x', b"PaxHeaders/a", b"14 path=../a\n\n"), file("top/a")], "extension"),
        ("pax for all", vec![entry(b'g', b"PaxHeaders/a", b"11 size=999\n"), file("top/a")], "extension"),
        ("Solaris attributes", vec![entry(b'X', b"top/a", b"")], "extension"),
        ("volume", vec![entry(b'V', b"top", b"")], "extension"),
        ("rest of a volume", vec![entry(b'M', b"top/a", b"")], "extension"),
        ("contiguous", vec![entry(b'7', b"top/a", b"x")], "extension"),
        ("older than ustar", vec![entry(0, b"top/a", b"x")], "extension"),
        ("unknown", vec![entry(0xff, b"top/a", b"x")], "extension"),
        ("twice", vec![file("top/a"), file("top/b"), file("top/a")], "duplicate"),
        ("file and folder", vec![file("top/a"), file("top/a/b")], "duplicate"),
        ("folder twice", vec![entry(b'5', b"top/", b""), entry(b'5', b"top", b""), file("top/a")], "duplicate"),
        ("case", vec![file("top/a"), file("top/A")], "collision"),
        ("accents", vec![file("top/\u{e9}"), file("top/e\u{301}")], "collision"),
        ("case of folders", vec![file("top/A/x"), file("top/a/y")], "collision"),
        ("beside the folder", vec![file("top/a"), file("other/a")], "layout"),
        ("case of the one folder", vec![file("top/a"), file("Top/b")], "layout"),
        ("in no folder", vec![file("a")], "layout"),
        ("file in place of the folder", vec![file("top/a"), file("top")], "layout"),
        ("folder with content", vec![entry(b'5', b"top/", b"x"), file("top/a")], "header"),
        ("empty folder", vec![entry(b'5', b"top/e/", b""), file("top/a")], "empty_folder"),
        ("nothing", vec![], "empty"),
        ("only the folder", vec![entry(b'5', b"top/", b"")], "empty"),
    ] {
        // Alone, and behind a file that is fine.
        assert_eq!(code(&archive(&entries)), want, "{what}");
        let behind = [vec![entry(b'0', b"top/0", b"fine")], entries.clone()].concat();
        let wanted = match want {
            "empty" => "opened",
            "opened" => "layout",
            other => other,
        };
        assert_eq!(code(&archive(&behind)), wanted, "{what}, behind a file");
        // Packed it is no other archive.
        assert_eq!(code(&zstd::encode_all(archive(&entries).as_slice(), 1).unwrap()), want, "{what}, packed");
    }
    assert_eq!(code(&good()), "opened");
}

#[test]
fn a_refusal_shows_the_name_and_no_terminal_obeys_it() {
    let error = attempt(&archive(&[file("top/\u{1b}[2J\u{202e}x")]), &Limits::default()).unwrap_err();
    let want = "`top/\\u{1b}[2J\\u{202e}x` holds a control character or one that cannot be seen";
    assert_eq!(error.to_string(), want);
    let error = attempt(&archive(&[entry(0x1b, b"top/\xff\x07", b"")]), &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "`top/\u{fffd}\\u{7}` is an extension of the format (entry type `\\x1b`)");
    assert!(error.hint().unwrap().contains("--format=ustar") && error.is_refusal());
}

#[test]
fn a_hundred_thousand_entries_are_too_many() {
    let many = |name: &dyn Fn(u32) -> String| {
        let entries: Vec<Vec<u8>> = (0..100_000).map(|n| header::encode(&name(n), 0).unwrap().to_vec()).collect();
        archive(&entries)
    };
    let files = many(&|n| format!("top/{n}"));
    assert_eq!(code(&files), "too_many");
    assert_eq!(code(&zstd::encode_all(files.as_slice(), 1).unwrap()), "too_many");
    // A folder or fifty for each file.
    assert_eq!(code(&many(&|n| format!("top/{n}/x"))), "too_many");
    assert_eq!(code(&many(&|n| format!("top/{n}{}/x", "/d".repeat(50)))), "too_many");
}

#[test]
fn sizes_are_bounded_by_what_is_there_and_by_the_limits() {
    let declared = |size: u64| [&header::encode("top/a", size).unwrap()[..], &[0; 4 * BLOCK]].concat();
    assert_eq!(code(&declared(LARGEST_FILE)), "truncated");
    assert_eq!(code(&zstd::encode_all(declared(LARGEST_FILE).as_slice(), 1).unwrap()), "truncated");
    let strict = Limits { file_bytes: 600, total_bytes: 1000, ..Limits::default() };
    let refused = |bytes: &[u8]| attempt(bytes, &strict).err().map_or("opened", |error| error.code());
    assert_eq!(refused(&declared(601)), "too_large");
    let sized = |name: &[u8], size| entry(b'0', name, &vec![1; size]);
    assert_eq!(refused(&archive(&[sized(b"top/a", 600), sized(b"top/b", 400)])), "opened");
    assert_eq!(refused(&archive(&[sized(b"top/a", 601)])), "too_large");
    assert_eq!(refused(&archive(&[sized(b"top/a", 600), sized(b"top/b", 401)])), "too_large");
}

#[test]
fn an_archive_that_is_cut_anywhere_is_refused() {
    let whole = good();
    let packed = zstd::encode_all(whole.as_slice(), 3).unwrap();
    for end in (0..whole.len()).filter(|end| end % 31 == 0 || (end + 1) % BLOCK < 3) {
        let want = if end < BLOCK { "not_an_archive" } else { "truncated" };
        assert_eq!(code(&whole[..end]), want, "{end}");
    }
    for end in 4..packed.len() {
        assert_eq!(code(&packed[..end]), "truncated", "{end}");
    }
}

#[test]
fn nothing_may_follow_the_end_but_zeros_that_fill_a_record() {
    let whole = good();
    let ends = whole.len();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        code(&bytes)
    };
    assert_eq!(with(&|bytes| bytes.resize(10_240, 0)), "opened");
    assert_eq!(with(&|bytes| bytes.resize(10_241, 0)), "garbage");
    assert_eq!(with(&|bytes| bytes.resize(20_480, 0)), "garbage");
    assert_eq!(with(&|bytes| bytes.push(1)), "garbage");
    assert_eq!(with(&|bytes| bytes.extend(file("top/z"))), "garbage");
    assert_eq!(with(&|bytes| bytes.extend(good())), "garbage");
    assert_eq!(with(&|bytes| bytes[ends - 1] = 1), "garbage");
    assert_eq!(with(&|bytes| bytes[ends - 1000] = 1), "header");
    // Between the end of `content` and the end of its block.
    assert_eq!(with(&|bytes| bytes[ends - 2 * BLOCK - 1] = 1), "garbage");
    assert_eq!(code(b""), "not_an_archive");
    for packing in [&b"PK\x03\x04"[..], b"\x1f\x8b\x08", b"BZh91AY", b"\xfd7zXZ\0"] {
        assert_eq!(code(packing), "other_packing");
    }
    assert_eq!(code(&[b'x'; 4096]), "not_an_archive");
    assert_eq!(code(&[0; 1024]), "empty");
}

#[test]
fn no_flipped_bit_of_a_header_gives_another_package() {
    let whole = good();
    let meant = attempt(&whole, &Limits::default()).unwrap().files;
    for header in [0, 2 * BLOCK] {
        for place in header..header + BLOCK {
            let mut other = whole.clone();
            // Turns `0` to a space, and lower case to other letters.
            other[place] ^= 0x10;
            if let Ok(opened) = attempt(&other, &Limits::default()) {
                assert_eq!(opened.files, meant, "byte {place}");
            }
        }
    }
}

#[test]
fn a_packed_archive_cannot_explode() {
    let bomb = |megabytes: usize| {
        let size = megabytes << 20;
        let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        packer.write_all(&header::encode("top/a", size as u64).unwrap()).unwrap();
        for _ in 0..megabytes {
            packer.write_all(&[0; 1 << 20]).unwrap();
        }
        packer.write_all(&[0; 2 * BLOCK]).unwrap();
        packer.finish().unwrap()
    };
    let packed = bomb(48);
    assert!(packed.len() < 48 << 10);
    assert_eq!(code(&packed), "ratio");
    // A small one is harmless, however well it packs.
    assert_eq!(code(&bomb(2)), "opened");
    let strict = Limits { ratio: 10, ratio_free_bytes: 4096, ..Limits::default() };
    assert_eq!(attempt(&bomb(1), &strict).unwrap_err().code(), "ratio");
}

/// A frame of zstd by hand (RFC 8878): one block as it is.
fn frame(window_log: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3];
    let block = (content.len() as u32) << 3 | 1;
    bytes.extend(&block.to_le_bytes()[..3]);
    bytes.extend(content);
    bytes
}

#[test]
fn a_packed_archive_is_one_frame_of_modest_wants() {
    assert_eq!(code(&frame(20, &good())), "opened");
    assert_eq!(code(&frame(26, &good())), "opened");
    assert_eq!(code(&frame(27, &good())), "packing");
    assert_eq!(code(&frame(41, &good())), "packing");
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, b'e', b'v', b'i', b'l'];
    assert_eq!(code(&[&frame(20, &good())[..], b"x"].concat()), "garbage");
    assert_eq!(code(&[&frame(20, &good())[..], &skippable].concat()), "garbage");
    assert_eq!(code(&[frame(20, &good()), frame(20, &good())].concat()), "garbage");
    let (first, second) = (&good()[..BLOCK], &good()[BLOCK..]);
    assert_eq!(code(&[frame(20, first), frame(20, second)].concat()), "truncated");
    assert_eq!(code(&[&skippable[..], &frame(20, &good())].concat()), "not_an_archive");
    assert_eq!(code(&frame(20, &frame(20, &good()))), "not_an_archive");
    assert_eq!(code(&[0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff]), "truncated");
}

#[test]
fn the_folder_to_write_to_is_empty_and_the_source_a_file() {
    let base = tempfile::tempdir().unwrap();
    let archive = base.path().join("p.tar");
    proofmark_artefact::store::write_atomic(&archive, &good()).unwrap();
    let limits = Limits::default();
    let source = Source::at(&archive).unwrap();
    let error = open(&source, base.path(), &limits, |_, _| Ok(())).unwrap_err();
    assert_eq!((error.code(), error.is_refusal()), ("not_empty", false));
    assert_eq!(tree(base.path()), ["p.tar"]);
    assert_eq!(Source::at(Path::new("/dev/zero")).unwrap_err().code(), "not_a_file");
    assert_eq!(Source::at(&base.path().join("nothing")).unwrap_err().code(), "missing");
    assert_eq!(Source::at(base.path()).unwrap(), Source::Folder(base.path().to_owned()));
}

#[test]
fn nothing_is_written_when_one_file_is_not_admitted() {
    let into = tempfile::tempdir().unwrap();
    let mut asked = Vec::new();
    let error = extract(&mut Cursor::new(good()), Path::new("p.tar"), into.path(), &Limits::default(), |name, size| {
        asked.push((name.to_string(), size));
        let why = "it is not listed".to_owned();
        if name.as_str() == "b/c" { Err(Refusal { code: "unlisted", why }) } else { Ok(()) }
    });
    let error = error.unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("unlisted", "`b/c` is refused: it is not listed"));
    assert_eq!(asked, [("a".to_owned(), 512), ("b/c".to_owned(), 7)]);
    assert_eq!(tree(into.path()).len(), 0);
}

/// An archive that is another one the second time it is read.
struct Fickle {
    now: Cursor<Vec<u8>>,
    then: Option<Vec<u8>>,
    begun: u8,
}

impl Read for Fickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.now.read(buffer)
    }
}

impl Seek for Fickle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.begun += u8::from(to == SeekFrom::End(0));
        if self.begun == 2
            && let Some(then) = self.then.take()
        {
            self.now = Cursor::new(then);
        }
        self.now.seek(to)
    }
}

#[test]
fn what_was_not_checked_is_not_written() {
    for (entries, want) in [
        (vec![entry(b'0', b"top/a", &[b'a'; BLOCK]), file("top/b/c")], "opened"),
        (vec![file("top/../../evil")], "traversal"),
        (vec![file("top/a"), file("top/b/c")], "changed"),
        (vec![file("top/new")], "changed"),
        (vec![entry(b'0', b"top/a", &[b'a'; BLOCK])], "changed"),
        (vec![entry(b'0', b"top/a", &[b'a'; BLOCK]), file("top/b/c"), file("top/d")], "changed"),
        (vec![entry(b'0', b"other/a", &[b'a'; BLOCK]), file("other/b/c")], "changed"),
    ] {
        let base = tempfile::tempdir().unwrap();
        let into = base.path().join("into");
        std::fs::create_dir(&into).unwrap();
        let mut source = Fickle { now: Cursor::new(good()), then: Some(archive(&entries)), begun: 0 };
        let outcome = extract(&mut source, Path::new("p.tar"), &into, &Limits::default(), |_, _| Ok(()));
        assert_eq!(outcome.err().map_or("opened", |error| error.code()), want);
        let allowed = ["into/", "into/a", "into/b/", "into/b/c"];
        assert!(tree(base.path()).iter().all(|name| allowed.contains(&name.as_str())));
    }
}

#[test]
fn a_disk_that_fails_is_no_refusal() {
    struct Failing(Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.position() > 3 { Err(io::Error::other("bad sector")) } else { self.0.read(&mut buffer[..4]) }
        }
    }
    impl Seek for Failing {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }
    for bytes in [good(), frame(20, &good())] {
        let into = tempfile::tempdir().unwrap();
        let mut source = Failing(Cursor::new(bytes));
        let outcome = extract(&mut source, Path::new("p.tar"), into.path(), &Limits::default(), |_, _| Ok(()));
        let error = outcome.unwrap_err();
        assert_eq!((error.code(), error.is_refusal()), ("io", false), "{error}");
        assert_eq!(error.to_string(), "cannot read `p.tar`");
    }
}

/// What an enemy does to an archive.
#[derive(Debug, Clone)]
enum Change {
    Byte(usize, u8),
    /// A byte of a header, and the checksum made right again.
    Header(usize, usize, u8),
    Remove(usize),
    Repeat(usize),
    Swap(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let byte = prop_oneof![any::<u8>(), proptest::sample::select(b"\0/.\\ 01257SLKxg".as_slice())];
    // Mostly where something is: names, sizes, the kind, the prefix.
    let place = prop_oneof![0usize..BLOCK, 0usize..12, 100usize..160, Just(KIND), 340usize..360];
    prop_oneof![
        1 => (any::<usize>(), byte.clone()).prop_map(|(place, byte)| Change::Byte(place, byte)),
        4 => (any::<usize>(), place, byte).prop_map(|(block, place, byte)| Change::Header(block, place, byte)),
        1 => any::<usize>().prop_map(Change::Remove),
        1 => any::<usize>().prop_map(Change::Repeat),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    let blocks = bytes.len() / BLOCK;
    if blocks == 0 {
        return;
    }
    let of = |block: usize| block % blocks * BLOCK..(block % blocks + 1) * BLOCK;
    match *change {
        Change::Byte(place, byte) => {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        Change::Header(block, place, byte) => {
            let changed = set(bytes[of(block)].try_into().unwrap(), place, &[byte]);
            bytes[of(block)].copy_from_slice(&sealed(changed));
        }
        Change::Remove(block) => drop(bytes.drain(of(block))),
        Change::Repeat(block) => {
            let copy = bytes[of(block)].to_vec();
            bytes.splice(of(block).start..of(block).start, copy);
        }
        Change::Swap(a, b) => {
            let (first, second) = (bytes[of(a)].to_vec(), bytes[of(b)].to_vec());
            bytes[of(a)].copy_from_slice(&second);
            bytes[of(b)].copy_from_slice(&first);
        }
    }
}

proptest! {
    #[test]
    fn a_changed_archive_is_refused_or_stays_in_its_folder(changes in proptest::collection::vec(change(), 1..4)) {
        let mut bytes = good();
        changes.iter().for_each(|change| apply(change, &mut bytes));
        // `attempt` looks at what is there afterwards.
        let plain = attempt(&bytes, &Limits::default()).map(|opened| opened.files).map_err(|error| error.code());
        let packed = attempt(&frame(20, &bytes), &Limits::default());
        prop_assert_eq!(plain.is_ok(), packed.is_ok());
        if let (Ok(plain), Ok(packed)) = (plain, packed) {
            prop_assert_eq!(plain, packed.files);
        }
    }

    #[test]
    fn random_bytes_are_no_archive(mut bytes in proptest::collection::vec(any::<u8>(), 0..2048), packed: bool) {
        if packed && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&[0x28, 0xb5, 0x2f, 0xfd]);
        }
        prop_assert!(attempt(&bytes, &Limits::default()).is_err());
    }

    #[test]
    fn a_changed_packed_archive_never_panics(place: usize, byte: u8, level in 1i32..19) {
        let mut bytes = zstd::encode_all(good().as_slice(), level).unwrap();
        let place = place % bytes.len();
        bytes[place] = byte;
        let _ = attempt(&bytes, &Limits::default());
    }
}
