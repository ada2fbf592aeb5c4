//! Archives of enemies, given to the program itself: each is refused for what it is, in 2 s of CPU and 200 MB of memory, and
//! nothing of it is left anywhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::process::Command;

use proofmark_canon::{Digest, json as canon_json, to_vec};
use proofmark_testkit::command::{Ran, TestEnv};
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::{Envelope, IN_TOTO};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::statement::Statement;
use serde_json::{Value, json};

use super::forge::{KIND, sign_list};
use super::{HOME, private, sealed, verify};

/// What the program may have: KiB to write to in memory, with 40 MB of the 200 left for its own code; seconds of CPU, user
/// and system; and KiB of any one file that it writes,
/// which a paper may have.
const MEMORY: u64 = 160_000;
const SECONDS: u64 = 2;
const FILE: u64 = 16_384;

const BLOCK: usize = 512;

/// `proofmark verify` under these limits. It dies of a signal when it wants more, which `run` does not forgive.
fn bounded(env: &TestEnv, archive: &str, more: &[&str]) -> Ran {
    let limits = [("-d", MEMORY), ("-t", SECONDS), ("-f", FILE * 1024 / 512)];
    std::fs::create_dir_all(env.path("tmp")).unwrap();
    let ran = env
        .call_with_limits(&limits, &[&["verify", archive], more].concat())
        .env("PROOFMARK_HOME", env.path("home"))
        .env("HOME", HOME)
        .env("TMPDIR", env.path("tmp"))
        .run();
    assert!(env.tree("tmp").names().is_empty(), "{archive} left {:?}", env.tree("tmp").names());
    ran
}

#[track_caller]
fn refused(env: &TestEnv, archive: &str, reason: &str) {
    let ran = bounded(env, archive, &[]);
    assert_eq!(ran.code, 1, "{archive}: {ran}");
    for part in ["FAIL", reason, "proves: nothing", "verdict: does not hold"] {
        assert!(ran.stdout.contains(part), "{archive} lacks `{part}`: {ran}");
    }
}

/// A header of ustar.
fn header(kind: u8, name: &str, size: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    for at in [100, 108, 116] {
        put(at, b"0000644\0");
    }
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0        ");
    put(156, &[kind]);
    if kind == b'1' || kind == b'2' {
        put(157, b"../../../etc/passwd");
    }
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn entry(kind: u8, name: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(kind, name, content.len() as u64);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn file(name: &str) -> Vec<u8> {
    entry(b'0', name, b"content")
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    [&entries.concat()[..], &[0; 2 * BLOCK]].concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A frame of zstd by hand (RFC 8878), so that a bomb is made as fast as it is written.
struct Frame(Vec<u8>);

impl Frame {
    const RAW: u32 = 0;
    const REPEAT: u32 = 1;
    const LARGEST: usize = 128 << 10;

    fn new() -> Self {
        Self(vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3])
    }

    fn block(&mut self, kind: u32, size: usize, content: &[u8], last: u32) {
        self.0.extend(&((size as u32) << 3 | kind << 1 | last).to_le_bytes()[..3]);
        self.0.extend(content);
    }

    /// Bytes as they are.
    fn raw(mut self, bytes: &[u8]) -> Self {
        bytes.chunks(Self::LARGEST).for_each(|chunk| self.block(Self::RAW, chunk.len(), chunk, 0));
        self
    }

    /// So many bytes of zeros and junk, which unpack to 200 times of what they take.
    fn content(mut self, size: u64) -> Self {
        let junk = [b'j'; 650];
        let mut left = size as usize;
        while left > Self::LARGEST + junk.len() {
            self.block(Self::REPEAT, Self::LARGEST, &[0], 0);
            self.block(Self::RAW, junk.len(), &junk, 0);
            left -= Self::LARGEST + junk.len();
        }
        for size in [left.min(Self::LARGEST), left.saturating_sub(Self::LARGEST)] {
            self.block(Self::REPEAT, size, &[0], 0);
        }
        self
    }

    /// The end of the archive and of the frame.
    fn end(mut self) -> Vec<u8> {
        self.block(Self::RAW, 2 * BLOCK, &[0; 2 * BLOCK], 1);
        self.0
    }
}

/// An archive that goes on with a large file, packed.
fn bomb(bytes: &[u8], size: u64) -> Vec<u8> {
    Frame::new().raw(bytes).content(size).end()
}

/// A plain archive that goes on with a hole, as large as a file says to be.
fn with_hole(env: &TestEnv, name: &str, bytes: &[u8], size: u64) {
    let mut file = File::create(env.path(name)).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64 + size.next_multiple_of(BLOCK as u64) + 2 * BLOCK as u64).unwrap();
}

/// The entries of a sealed archive without their end, and the name of its folder.
fn entries_of(env: &TestEnv, package: &str) -> (Vec<u8>, String) {
    let mut bytes = env.bytes(&format!("{package}.tar"));
    bytes.truncate(bytes.len() - 2 * BLOCK);
    (bytes, package.rsplit('/').next().unwrap().to_owned())
}

/// The papers of a package alone.
fn papers(env: &TestEnv, package: &str) -> Vec<u8> {
    ["package.json", "attestations/run.sigstore.json", "attestations/package.json.sig", "attestations/signer.pub"]
        .map(|name| entry(b'0', &format!("p/{name}"), &env.bytes(&format!("{package}/{name}"))))
        .concat()
}

#[test]
fn every_kind_of_hostile_archive_is_refused_in_time_and_memory() {
    let env = crate::support::empty();
    let many =
        |name: &dyn Fn(u32) -> String| -> Vec<Vec<u8>> { (0..100_000).map(|n| header(b'0', &name(n), 0)).collect() };
    let whole = archive(&[file("p/a"), entry(b'0', "p/b", &[7; 100_000])]);
    for (what, bytes, reason) in [
        ("traversal", archive(&[file("p/../../evil")]), "`p/../../evil`"),
        ("absolute", archive(&[file("/etc/evil")]), "`/etc/evil`"),
        ("symbolic link", archive(&[entry(b'2', "p/l", b""), file("p/l/x")]), "`p/l` is a link"),
        ("hard link", archive(&[entry(b'1', "p/l", b"")]), "`p/l` is a link"),
        ("device", archive(&[entry(b'3', "p/d", b"")]), "`p/d` is a device"),
        ("pipe", archive(&[entry(b'6', "p/d", b"")]), "`p/d` is a device"),
        ("sparse", archive(&[entry(b'S', "p/s", b"")]), "`p/s` is a sparse file"),
        ("pax", archive(&[entry(b'x', "p/x", b"14 path=../a\n\n"), file("p/a")]), "an extension of the format"),
        ("duplicate", archive(&[file("p/a"), file("p/a")]), "`p/a`"),
        ("collision", archive(&[file("p/a"), file("p/A")]), "are one name"),
        ("100,000 files", archive(&many(&|n| format!("p/{n}"))), "more than 65536 entries"),
        ("100,000 folders", archive(&many(&|n| format!("p/{n}/x"))), "more than 4096 folders"),
        ("cut", whole[..50_000].to_vec(), "the archive ends within `b`"),
        ("behind the end", [&whole[..], b"more"].concat(), "behind the archive's end"),
        ("no list", whole.clone(), "without a list of files nothing is unpacked"),
    ] {
        let reason = if what == "duplicate" { "`a` is there twice" } else { reason };
        env.put("x.tar", &bytes);
        refused(&env, "x.tar", reason);
        env.put("x.tar.zst", packed(&bytes));
        refused(&env, "x.tar.zst", reason);
    }
    env.put("x.tar.zst", &packed(&whole)[..60]);
    refused(&env, "x.tar.zst", "the archive ends within what is packed");
    // A window of 2 GiB, which unpacking would have to hold.
    let frame =
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3][..], &((BLOCK as u32) << 3 | 1).to_le_bytes()[..3], &whole[..BLOCK]];
    env.put("x.tar.zst", frame.concat());
    refused(&env, "x.tar.zst", "packed in a way that cannot be unpacked");
    // Zeros alone: far beyond the ratio.
    let zeros = entry(b'0', "p/a", &vec![0; 64 << 20]);
    env.put("x.tar.zst", packed(&archive(&[zeros])));
    refused(&env, "x.tar.zst", "the archive unpacks to more than 250 times its size");
}

#[test]
fn a_bomb_below_the_ratio_is_not_unpacked() {
    const LARGE: u64 = 2 << 30;
    let (env, package) = sealed();
    let (good, top) = entries_of(&env, &package);
    // Nothing but one file.
    let alone = header(b'0', "p/x", LARGE);
    env.put("x.tar.zst", bomb(&alone, LARGE));
    assert!(env.bytes("x.tar.zst").len() as u64 > LARGE / 250);
    refused(&env, "x.tar.zst", "the list of files does not come within the first 268435456 bytes");
    with_hole(&env, "x.tar", &header(b'0', "p/x", (8 << 30) - 1), (8 << 30) - 1);
    refused(&env, "x.tar", "without a list of files nothing is unpacked");
    // Many files of which none is large: they are unpacked in search of the list, up to the limit.
    let many =
        (0..300).fold(Frame::new(), |frame, n| frame.raw(&header(b'0', &format!("p/{n}"), 1 << 20)).content(1 << 20));
    env.put("x.tar.zst", many.end());
    refused(&env, "x.tar.zst", "the list of files does not come within the first 268435456 bytes");
    // Behind everything that was signed.
    let more = [&good[..], &header(b'0', &format!("{top}/inputs/x"), LARGE)].concat();
    let reason = "`inputs/x` is refused: nobody signed it: it is not on the list of files in `package.json`";
    env.put("x.tar.zst", bomb(&more, LARGE));
    refused(&env, "x.tar.zst", reason);
    with_hole(&env, "x.tar", &more, LARGE);
    refused(&env, "x.tar", reason);
    // In the place of a file that was signed.
    let other = [&papers(&env, &package)[..], &header(b'0', "p/run/records.jsonl", LARGE)].concat();
    env.put("x.tar.zst", bomb(&other, LARGE));
    refused(&env, "x.tar.zst", "`run/records.jsonl` is refused: it has 2147483648 bytes, but ");
    // As it was, everything is well.
    env.put("x.tar.zst", packed(&[&good[..], &[0; 2 * BLOCK]].concat()));
    bounded(&env, "x.tar.zst", &[]).expect(0).says(&["verdict: holds", "reached: rung 3 of 5"]);
}

#[test]
fn what_a_stranger_signed_is_unpacked_only_when_it_is_small() {
    const LARGE: u64 = 2 << 30;
    let (env, package) = sealed();
    let name = format!("{package}/package.json");
    let good = env.bytes(&name);
    let mut list: Value = serde_json::from_slice(&good).unwrap();
    let files = list["files"].as_array_mut().unwrap();
    let large = json!({"path": "inputs/zeros", "role": "input", "sha256": "0".repeat(64), "size": LARGE});
    files.push(large);
    files.sort_by_key(|file| file["path"].as_str().unwrap().to_owned());
    let digest = |file: &Value| format!("sha256:{}", file["sha256"].as_str().unwrap()).parse::<Digest>().unwrap();
    let mut subjects: BTreeMap<String, Digest> =
        files.iter().map(|file| (file["path"].as_str().unwrap().to_owned(), digest(file))).collect();
    let text = [to_vec(&list).unwrap(), b"\n".to_vec()].concat();
    env.put(&name, &text);
    let attack = || [&papers(&env, &package)[..], &header(b'0', "p/inputs/zeros", LARGE)].concat();
    // Nobody signed the list.
    env.put("x.tar.zst", bomb(&attack(), LARGE));
    refused(&env, "x.tar.zst", "nobody whom you believe signed them");
    // Somebody did whom nobody knows.
    subjects.insert("package.json".to_owned(), Digest::of(&text));
    sign_list(&env, &package, &PrivateKey::from_secret(&[7; 32]), &text, subjects.clone(), |_| {});
    env.put("x.tar.zst", bomb(&attack(), LARGE));
    refused(&env, "x.tar.zst", "nobody whom you believe signed them");
    let ran = bounded(&env, "x.tar.zst", &[]);
    assert!(ran.stdout.contains("FAIL  believed as submitter when it was signed: SHA256:"), "{ran}");
    with_hole(&env, "x.tar", &attack(), LARGE);
    refused(&env, "x.tar", "nobody whom you believe signed them");
    // Somebody who is believed may seal much; here the archive does not even hold what its list has.
    sign_list(&env, &package, &private(&env, "ada"), &text, subjects, |_| {});
    env.put("x.tar", archive(&[papers(&env, &package)]));
    verify(&env, "x.tar", &[]).expect(1).says(&["FAIL  inputs/zeros: digest: the file is not there"]);
}

#[test]
fn papers_that_are_bombs_themselves_are_refused() {
    let (env, package) = sealed();
    let many = format!("[{}0]", "0,".repeat(8_000_000 - 1));
    let paper = |name: &str, bytes: &[u8]| {
        let before = env.bytes(&format!("{package}/{name}"));
        env.put(&format!("{package}/{name}"), bytes);
        env.put("x.tar", archive(&[papers(&env, &package)]));
        env.put(&format!("{package}/{name}"), before);
    };
    paper("package.json", many.as_bytes());
    refused(&env, "x.tar", "FAIL  package.json: the list of files: it is not JSON");
    paper("attestations/run.sigstore.json", many.as_bytes());
    refused(&env, "x.tar", "FAIL  attestations/run.sigstore.json: ");
    // Signed by a stranger, with a signature that fits; not larger, because unoptimised programs are slow.
    let key = PrivateKey::from_secret(&[7; 32]);
    let signer = format!("{package}/attestations/signer.pub");
    env.put(&signer, format!("{}\n", key.public().to_ssh_line("")));
    let said = canon_json::parse(format!(r#"{{"a":[{}0]}}"#, "0,".repeat(4_300_000)).as_bytes()).unwrap();
    let statement = Statement::new(KIND, [("a".to_owned(), Digest::of(b"a"))], said).unwrap();
    let bundle = Bundle::new(Envelope::sign(IN_TOTO, statement.to_bytes(), &[&key])).unwrap().to_bytes();
    paper("attestations/run.sigstore.json", &bundle);
    refused(&env, "x.tar", "FAIL  attestations/run.sigstore.json: a statement about a run: the statement is not JSON");
    env.put("x.tar", archive(&[header(b'0', "p/package.json", 1 << 30)]));
    refused(&env, "x.tar", "`package.json` has 1073741824 bytes, more than 16777216");
}

#[test]
fn an_archive_in_another_order_or_of_before_is_as_good() {
    let (env, package) = sealed();
    let (_, top) = entries_of(&env, &package);
    let tree = env.tree(&package);
    let mut entries: Vec<Vec<u8>> =
        tree.files().iter().map(|(name, bytes)| entry(b'0', &format!("{top}/{name}"), bytes)).collect();
    // By name, as packages were sealed before; and backwards.
    for name in ["sorted", "backwards"] {
        env.put(&format!("{name}.tar"), archive(&entries));
        env.put(&format!("{name}.tar.zst"), packed(&archive(&entries)));
        entries.reverse();
    }
    let as_sealed = verify(&env, &format!("{package}.tar"), &["--format", "json"]).expect(0).stdout;
    for name in ["sorted.tar", "sorted.tar.zst", "backwards.tar", "backwards.tar.zst"] {
        assert_eq!(verify(&env, name, &["--format", "json"]).expect(0).stdout, as_sealed, "{name}");
    }
    // What is sealed now has its papers first.
    let listed = Command::new("tar").arg("-tf").arg(env.path(&format!("{package}.tar"))).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let first: Vec<&str> = listed.lines().take(4).map(|line| line.split_once('/').unwrap().1).collect();
    let papers =
        ["package.json", "attestations/run.sigstore.json", "attestations/package.json.sig", "attestations/signer.pub"];
    assert_eq!(first, papers);
}

#[test]
fn what_others_pack_is_no_package_and_it_is_said_what_to_do() {
    let (env, package) = sealed();
    let tar = env.path(&format!("{package}.tar"));
    let packed = Command::new("gzip").arg("-c").arg(tar).output().unwrap();
    assert!(packed.status.success());
    for name in ["x.tar.gz", "x.tgz", "x"] {
        env.put(name, &packed.stdout);
        bounded(&env, name, &[]).expect(2).complains(&[
            &format!("`{name}`: it is packed with gzip, which is no format of packages"),
            "hint: a package is a folder, a `.tar` or a `.tar.zst`: unpack it, and verify what is in it",
        ]);
        verify(&env, name, &["--any-signer"]).expect(2).complains(&["gzip"]);
    }
    verify(&env, "missing.tar.gz", &[]).expect(2).complains(&["`missing.tar.gz` does not exist"]);
    super::run(&env, &["audit", "x.tgz"]).expect(2).complains(&["gzip", ".tar.zst"]);
}
