//! The tamper matrix: whatever is done to a file is a miss with the right reason, and heals.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::judgment::Entry;
use proofmark_canon::Digest;
use serde_json::Value;

use super::super::entry::sign;
use super::super::head::{self, Named, Place};
use super::super::testing::{NOW, access, cache, file_of, judgment, key, neighbours, question, tamper, verdict};
use super::super::{Access, Cache, Shard};
use crate::policy::{Reason, Revocation, Role, Trust, Trusted};

/// A warm store with five entries in one shard.
struct Warm {
    dir: tempfile::TempDir,
    numbers: Vec<u32>,
    /// The lines of the shard, the list first.
    lines: Vec<String>,
}

impl Warm {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        let numbers = neighbours(5);
        cache.insert_all(numbers.iter().map(|number| judgment(*number, "pass")).collect()).unwrap();
        let text = fs::read_to_string(file_of(&cache, 0)).unwrap();
        Self { numbers, lines: text.lines().map(str::to_owned).collect(), dir }
    }

    /// Writes other lines, and says what is found of each question by a process that knew the file before and by a new
    /// one; both must agree.
    fn with_lines(&self, lines: &[String]) -> Vec<String> {
        self.with_bytes(lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect::<Vec<u8>>().as_slice())
    }

    fn with_bytes(&self, bytes: &[u8]) -> Vec<String> {
        let before = self.open(&access());
        assert_eq!(verdict(&before, 0), "pass");
        tamper(&file_of(&before, 0), bytes);
        let found = self.all(&before);
        assert_eq!(self.all(&self.open(&access())), found);
        found
    }

    fn open(&self, access: &Access) -> Cache {
        Cache::open(self.dir.path(), access.clone()).unwrap()
    }

    fn all(&self, cache: &Cache) -> Vec<String> {
        self.numbers.iter().map(|number| verdict(cache, *number)).collect()
    }

    /// Asks again whatever is not found; then everything must be found, and the file must be sound.
    fn heal(&self) {
        self.heal_as(&access());
    }

    fn heal_as(&self, access: &Access) {
        let cache = self.open(access);
        for number in &self.numbers {
            if verdict(&cache, *number) != "pass" {
                cache.insert(judgment(*number, "pass")).unwrap();
                assert_eq!(verdict(&cache, *number), "pass", "right after it was added");
            }
        }
        assert!(self.all(&cache).iter().all(|verdict| verdict == "pass"));
        let view = cache.view(Shard::of(&question(0).key().unwrap())).unwrap();
        assert!(view.list.is_none() && view.strays.is_empty());
        assert!(view.held.len() == self.numbers.len() && view.held.iter().all(|held| held.entry.is_ok()));
    }
}

/// Every leaf of a value, as a path.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| leaves(value, &format!("{path}/{name}"), found)),
        _ => found.push(path.to_owned()),
    }
}

/// The value with other contents of the same kind.
fn altered(path: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("sha256:") => Digest::of(text.as_bytes()).to_string().into(),
        Value::String(_) if path == "/judgment/judged_at" => "2026-03-01T12:00:01Z".into(),
        Value::String(_) if path == "/signature/signer" => key(9).public().fingerprint().to_string().into(),
        Value::String(text) if path == "/signature/value" => {
            let first = if text.starts_with('A') { "B" } else { "A" };
            format!("{first}{}", &text[1..]).into()
        }
        Value::String(text) => format!("{text}x").into(),
        Value::Number(number) => (number.as_f64().unwrap() + 1.0).into(),
        other => panic!("no other content for {other} at {path}"),
    }
}

fn canonical(value: &Value) -> String {
    let value = proofmark_canon::json::parse(value.to_string().as_bytes()).unwrap();
    String::from_utf8(proofmark_canon::to_vec(&value).unwrap()).unwrap()
}

#[test]
fn each_field_of_an_entry_edited_by_hand() {
    let warm = Warm::new();
    let entry: Value = serde_json::from_str(&warm.lines[3]).unwrap();
    let mut paths = Vec::new();
    leaves(&entry, "", &mut paths);
    assert!(paths.len() >= 20, "{paths:?}");
    for path in &paths {
        let mut edited = entry.clone();
        let leaf = edited.pointer_mut(path).unwrap();
        *leaf = altered(path, leaf);
        let mut lines = warm.lines.clone();
        lines[3] = canonical(&edited);
        let want = if path == "/signature/signer" { "UnknownSigner" } else { "Altered" };
        assert_eq!(warm.with_lines(&lines), ["pass", "pass", want, "pass", "pass"], "{path}");
        warm.heal();
    }
}

#[test]
fn each_field_of_an_entry_removed_or_of_another_kind() {
    let warm = Warm::new();
    let entry: Value = serde_json::from_str(&warm.lines[3]).unwrap();
    let mut paths = Vec::new();
    leaves(&entry, "", &mut paths);
    for path in &paths {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let mut removed = entry.clone();
        removed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
        let mut other = entry.clone();
        *other.pointer_mut(path).unwrap() = serde_json::json!([1]);
        let mut added = entry.clone();
        added.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert("more".into(), 1.into());
        for edited in [removed, other, added] {
            let mut lines = warm.lines.clone();
            lines[3] = canonical(&edited);
            let found = warm.with_lines(&lines);
            // Parameters may be anything, and some fields may be null: what is left has a shape, and does not fit.
            assert!(["Malformed", "Altered"].contains(&found[2].as_str()), "{path}: {found:?}");
            assert_eq!([&found[0], &found[1], &found[3], &found[4]], ["pass"; 4], "{path}");
        }
    }
    warm.heal();
}

#[test]
fn an_entry_written_another_way_is_malformed() {
    let warm = Warm::new();
    let edits = [
        warm.lines[3].replacen(':', ": ", 1),
        warm.lines[3].replacen("512", "512.0", 1),
        warm.lines[3].replacen("pass", "p\\u0061ss", 1),
        warm.lines[3].replacen("{\"judgment\":{", "{\"judgment\":{\"judged_at\":\"x\",", 1),
        format!("{}\r", warm.lines[3]),
        String::new(),
        "null".into(),
        "[".repeat(100_000),
        "\0".into(),
    ];
    for edited in edits {
        let mut lines = warm.lines.clone();
        lines[3] = edited;
        let head: String = lines[3].chars().take(60).collect();
        assert_eq!(warm.with_lines(&lines), ["pass", "pass", "Malformed", "pass", "pass"], "{head}");
        warm.heal();
    }
}

#[test]
fn two_entries_swapped_within_a_shard() {
    let warm = Warm::new();
    let mut lines = warm.lines.clone();
    lines.swap(2, 4);
    assert_eq!(warm.with_lines(&lines), ["pass", "Misplaced", "pass", "Misplaced", "pass"]);
    warm.heal();
}

#[test]
fn two_entries_swapped_between_shards() {
    let warm = Warm::new();
    let cache = warm.open(&access());
    let stranger = (0..).find(|number| !warm.numbers.contains(number)).unwrap();
    cache.insert(judgment(stranger, "pass")).unwrap();
    let there = file_of(&cache, stranger);
    let text = fs::read_to_string(&there).unwrap();
    let (list, other) = text.trim_end().split_once('\n').unwrap();
    let mut lines = warm.lines.clone();
    let ours = std::mem::replace(&mut lines[1], other.to_owned());
    assert_eq!(warm.with_lines(&lines), ["Misplaced", "pass", "pass", "pass", "pass"]);
    tamper(&there, format!("{list}\n{ours}\n").as_bytes());
    assert_eq!(verdict(&cache, stranger), "Misplaced");
    warm.heal();
    cache.insert(judgment(stranger, "pass")).unwrap();
    assert_eq!(verdict(&cache, stranger), "pass");
}

#[test]
fn an_entry_replayed_under_another_task() {
    let warm = Warm::new();
    let (from, to) = (format!("task/{}", warm.numbers[1]), format!("task/{}", warm.numbers[2]));
    // The line of one task in the place of another's, as it is and with the task's name put right.
    let mut lines = warm.lines.clone();
    lines[3] = lines[2].clone();
    assert_eq!(warm.with_lines(&lines), ["pass", "pass", "Misplaced", "pass", "pass"]);
    lines[3] = lines[2].replace(&from, &to);
    assert_eq!(warm.with_lines(&lines), ["pass", "pass", "Altered", "pass", "pass"]);
    warm.heal();
}

#[test]
fn a_file_cut_off_anywhere() {
    let warm = Warm::new();
    let whole: Vec<u8> = warm.lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    let ends: Vec<usize> = warm
        .lines
        .iter()
        .scan(0, |at, line| {
            *at += line.len() + 1;
            Some(*at)
        })
        .collect();
    // Every end of a line and what is around it, and places in between.
    let around = ends.iter().flat_map(|end| end.saturating_sub(2)..=end + 1);
    let cuts = around.chain((0..whole.len()).step_by(97)).filter(|at| *at < whole.len());
    for cut in cuts {
        let found = warm.with_bytes(&whole[..cut]);
        for (at, found) in found.iter().enumerate() {
            let want = if cut < ends[0] {
                "List"
            } else if cut >= ends[at + 1] {
                "pass"
            } else if cut <= ends[at] {
                "Missing"
            } else {
                "Malformed"
            };
            assert_eq!(found, want, "cut at {cut}, entry {at}, {ends:?}");
        }
        tamper(&file_of(&warm.open(&access()), 0), &whole);
    }
    warm.with_bytes(&whole[..whole.len() / 2]);
    warm.heal();
}

#[test]
fn lines_deleted() {
    let warm = Warm::new();
    for at in 1..=5 {
        let mut lines = warm.lines.clone();
        lines.remove(at);
        let mut want = ["pass"; 5];
        want[at - 1] = "Missing";
        assert_eq!(warm.with_lines(&lines), want);
        warm.heal();
        let text: Vec<u8> = warm.lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
        tamper(&file_of(&warm.open(&access()), 0), &text);
    }
    // The tail, and everything.
    assert_eq!(warm.with_lines(&warm.lines[..3]), ["pass", "pass", "Missing", "Missing", "Missing"]);
    warm.heal();
}

#[test]
fn a_whole_file_deleted() {
    let warm = Warm::new();
    let cache = warm.open(&access());
    fs::remove_file(file_of(&cache, 0)).unwrap();
    assert_eq!(warm.all(&cache), ["Missing"; 5]);
    assert_eq!(cache.gone().unwrap(), [Shard::of(&question(0).key().unwrap())]);
    warm.heal();
    assert!(cache.gone().unwrap().is_empty());
}

#[test]
fn the_list_deleted_emptied_or_edited() {
    let warm = Warm::new();
    assert_eq!(warm.with_lines(&warm.lines[1..]), ["List"; 5]);
    warm.heal();
    let warm = Warm::new();
    assert_eq!(warm.with_bytes(b""), ["List"; 5]);
    warm.heal();
    let warm = Warm::new();
    let mut lines = warm.lines.clone();
    lines[0] = lines[0].replacen("2026", "2025", 1);
    assert_eq!(warm.with_lines(&lines), ["List"; 5]);
    warm.heal();
}

#[test]
fn a_list_without_one_entry_cannot_be_made_by_a_stranger() {
    let warm = Warm::new();
    let named: Vec<Named> = warm
        .lines
        .iter()
        .skip(1)
        .zip(&warm.numbers)
        .map(|(line, number)| Named { digest: Digest::of(line.as_bytes()), key: question(*number).key().unwrap() })
        .collect();
    let store = warm.open(&access());
    let place = Place { shard: Shard::of(&named[0].key), store: store.id() };
    let list = |named: &[Named], seed: u8| {
        String::from_utf8(head::sign(named.to_vec(), place, &key(seed), NOW).unwrap()).unwrap()
    };
    let mut lines = warm.lines.clone();
    lines.pop();
    lines[0] = list(&named[..4], 9);
    assert_eq!(warm.with_lines(&lines), ["List"; 5]);
    // Only a trusted judge can.
    lines[0] = list(&named[..4], 1);
    tamper(&file_of(&store, 0), (lines.join("\n") + "\n").as_bytes());
    assert_eq!(warm.all(&store), ["pass", "pass", "pass", "pass", "-"]);
    warm.heal();
}

#[test]
fn lines_added_by_hand() {
    let warm = Warm::new();
    let more = neighbours(7);
    let line = |number: u32, seed: u8| {
        String::from_utf8(proofmark_canon::to_vec(&sign(judgment(number, "fail"), &key(seed)).unwrap()).unwrap())
            .unwrap()
    };
    // Signed by a trusted judge, and yet no list names it; signed by a stranger; not signed.
    let unsigned = Entry { judgment: judgment(more[6], "pass"), signature: None };
    let unsigned = String::from_utf8(proofmark_canon::to_vec(&unsigned).unwrap()).unwrap();
    for (added, number, want) in [
        (line(more[5], 1), more[5], "List"),
        (line(more[5], 9), more[5], "UnknownSigner"),
        (unsigned, more[6], "Unsigned"),
    ] {
        for at in [1, 3, 6] {
            let mut lines = warm.lines.clone();
            lines.insert(at, added.clone());
            assert_eq!(warm.with_lines(&lines), ["pass"; 5], "{want} at {at}");
            let cache = warm.open(&access());
            assert_eq!(verdict(&cache, number), want);
            cache.insert(judgment(more[5], "pass")).unwrap();
            assert_eq!(verdict(&cache, more[5]), "pass");
            assert_eq!(verdict(&cache, more[6]), "-", "what was not vouched for is out of the file");
            let text: Vec<u8> = warm.lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
            tamper(&file_of(&cache, 0), &text);
        }
    }
    // A second verdict on a question that is there.
    let mut lines = warm.lines.clone();
    lines.push(line(warm.numbers[1], 1));
    assert_eq!(warm.with_lines(&lines), ["pass", "List", "pass", "pass", "pass"]);
    // And the same line twice.
    let mut lines = warm.lines.clone();
    lines.push(lines[2].clone());
    assert_eq!(warm.with_lines(&lines), ["pass", "List", "pass", "pass", "pass"]);
    warm.heal();
}

#[test]
fn an_older_verdict_in_the_place_of_a_newer_one() {
    let warm = Warm::new();
    let mut earlier = judgment(warm.numbers[2], "fail");
    earlier.judged_at = "2026-01-01T00:00:00Z".into();
    let older = proofmark_canon::to_vec(&sign(earlier, &key(1)).unwrap()).unwrap();
    let mut lines = warm.lines.clone();
    lines[3] = String::from_utf8(older).unwrap();
    assert_eq!(warm.with_lines(&lines), ["pass", "pass", "RolledBack", "pass", "pass"]);
    warm.heal();
}

#[test]
fn signatures_replaced_and_taken_away() {
    let warm = Warm::new();
    let entry: Entry = serde_json::from_str(&warm.lines[3]).unwrap();
    let value = |signature: &str| {
        let mut edited = entry.clone();
        edited.signature.as_mut().unwrap().value = signature.to_owned();
        edited
    };
    let other: Entry = serde_json::from_str(&warm.lines[2]).unwrap();
    let of_other = value(&other.signature.unwrap().value);
    let zero = value(&crate::key::Signature::from_bytes([0; 64]).to_string());
    let none = Entry { signature: None, ..entry.clone() };
    for (edited, want) in [
        (of_other, "Altered"),
        (zero, "Altered"),
        (value(""), "Malformed"),
        (value("AAAA"), "Malformed"),
        (none, "Unsigned"),
    ] {
        let mut lines = warm.lines.clone();
        lines[3] = String::from_utf8(proofmark_canon::to_vec(&edited).unwrap()).unwrap();
        assert_eq!(warm.with_lines(&lines), ["pass", "pass", want, "pass", "pass"]);
        warm.heal();
    }
}

/// Signs one entry of a warm store, and the list, with key 2, and says what is found by those who trust key 2 like this.
fn signed_by_another(make_trust: impl Fn(Trust) -> Trust, want: &str) {
    let warm = Warm::new();
    let trust = make_trust(Trust::default().with(key(1).public(), Role::Judge));
    let access = Access { trust: Arc::new(trust), ..access() };
    let mut lines = warm.lines.clone();
    lines[3] = resigned(&lines[3], 2);
    let file = file_of(&warm.open(&access), 0);
    write(&file, &lines);
    assert_eq!(warm.all(&warm.open(&access)), ["pass", "pass", want, "pass", "pass"], "the entry");
    // The list as well: then nothing of the shard is believed, and the entry's own flaw is still the one that is named.
    let named: Vec<Named> = lines
        .iter()
        .skip(1)
        .zip(&warm.numbers)
        .map(|(line, number)| Named { digest: Digest::of(line.as_bytes()), key: question(*number).key().unwrap() })
        .collect();
    let store = warm.open(&access);
    let place = Place { shard: Shard::of(&named[0].key), store: store.id() };
    lines[0] = String::from_utf8(head::sign(named, place, &key(2), NOW).unwrap()).unwrap();
    write(&file, &lines);
    assert_eq!(warm.all(&store), ["List", "List", want, "List", "List"], "the list");
    warm.heal_as(&access);
}

fn resigned(line: &str, seed: u8) -> String {
    let entry: Entry = serde_json::from_str(line).unwrap();
    let entry = sign(entry.judgment, &key(seed)).unwrap();
    String::from_utf8(proofmark_canon::to_vec(&entry).unwrap()).unwrap()
}

fn write(file: &Path, lines: &[String]) {
    tamper(file, (lines.join("\n") + "\n").as_bytes());
}

#[test]
fn signed_by_a_stranger() {
    signed_by_another(|trust| trust, "UnknownSigner");
}

#[test]
fn signed_by_someone_who_is_no_judge() {
    signed_by_another(|trust| trust.with(key(2).public(), Role::Submitter), "WrongRole");
}

/// Key 2 as judge, with dates.
fn judge_with(change: impl Fn(&mut Trusted)) -> impl Fn(Trust) -> Trust {
    move |mut trust| {
        let mut trusted = Trusted::always("other".parse().unwrap(), key(2).public());
        trusted.roles.insert(Role::Judge);
        change(&mut trusted);
        trust.put(trusted).unwrap();
        trust
    }
}

fn moment(text: &str) -> Option<crate::moment::Moment> {
    Some(text.parse().unwrap())
}

#[test]
fn signed_by_a_judge_before_or_after_its_time() {
    signed_by_another(judge_with(|key| key.not_before = moment("2026-03-02T00:00:00Z")), "OutOfValidity");
    signed_by_another(judge_with(|key| key.not_after = moment("2026-02-28T00:00:00Z")), "OutOfValidity");
}

#[test]
fn signed_by_a_judge_who_was_revoked() {
    let revoked = |at: &str, reason| {
        let at = moment(at).unwrap();
        judge_with(move |key| key.revoked = Some(Revocation { at: at.clone(), reason }))
    };
    signed_by_another(revoked("2026-02-01T00:00:00Z", Reason::Retired), "Revoked");
    signed_by_another(revoked("2026-12-01T00:00:00Z", Reason::Compromised), "Revoked");
}

#[test]
fn a_cache_outlives_the_key_that_filled_it() {
    let warm = Warm::new();
    let mut trust = judge_with(|key| key.not_before = moment("2026-06-01T00:00:00Z"))(
        Trust::default().with(key(1).public(), Role::Judge),
    );
    let superseded = Revocation { at: moment("2026-06-01T00:00:00Z").unwrap(), reason: Reason::Superseded };
    trust.revoke(&key(1).public().fingerprint(), superseded).unwrap();
    let access =
        Access { trust: Arc::new(trust), signer: Some(key(2)), now: "2026-07-01T00:00:00Z".into(), memory: None };
    let cache = warm.open(&access);
    assert_eq!(warm.all(&cache), ["pass"; 5]);
    let next = neighbours(6)[5];
    let mut later = judgment(next, "pass");
    later.judged_at = "2026-07-01T00:00:00Z".into();
    cache.insert(later).unwrap();
    assert_eq!(warm.all(&cache), ["pass"; 5]);
    assert_eq!(verdict(&cache, next), "pass");
}

#[test]
fn a_shard_of_another_store_in_the_place_of_ours() {
    let warm = Warm::new();
    let dir = tempfile::tempdir().unwrap();
    let other = Cache::open_or_make(dir.path(), [8; 16], access()).unwrap();
    other.insert_all(warm.numbers.iter().map(|number| judgment(*number, "fail")).collect()).unwrap();
    let bytes = fs::read(file_of(&other, 0)).unwrap();
    assert_eq!(warm.with_bytes(&bytes), ["List"; 5]);
    warm.heal();
}

#[test]
fn what_was_damaged_is_kept_aside_once_and_can_be_taken_in_again() {
    let warm = Warm::new();
    let lines: Vec<String> = warm.lines[1..].to_vec();
    for _ in 0..2 {
        warm.with_lines(&lines);
        let cache = warm.open(&access());
        cache.insert(judgment(warm.numbers[0], "pass")).unwrap();
        assert_eq!(warm.all(&cache), ["pass", "-", "-", "-", "-"]);
        assert_eq!(cache.set_aside().unwrap().0, 1);
    }
    let cache = warm.open(&access());
    let aside = fs::read_dir(warm.dir.path().join("set-aside")).unwrap().next().unwrap().unwrap();
    let text = fs::read_to_string(aside.path()).unwrap();
    let entries: Vec<Entry> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cache.insert_signed(&entries).unwrap().iter().all(Result::is_ok));
    assert_eq!(warm.all(&cache), ["pass"; 5]);
    cache.clear_set_aside().unwrap();
    assert_eq!(cache.set_aside().unwrap(), (0, 0));
}

#[test]
fn a_judge_cannot_put_a_verdict_under_the_name_of_another() {
    let both = Arc::new(Trust::default().with(key(1).public(), Role::Judge).with(key(2).public(), Role::Judge));
    let access = Access { trust: both, ..access() };
    let warm = Warm::new();
    let store = warm.open(&access);
    let place = Place { shard: Shard::of(&question(0).key().unwrap()), store: store.id() };
    let mut forged = sign(judgment(warm.numbers[1], "forged"), &key(2)).unwrap();
    forged.signature.as_mut().unwrap().signer = key(1).public().fingerprint().to_string();
    let mut lines = warm.lines.clone();
    lines[2] = String::from_utf8(proofmark_canon::to_vec(&forged).unwrap()).unwrap();
    let named = |line: &String| {
        let entry: Entry = serde_json::from_str(line).unwrap();
        Named { digest: Digest::of(line.as_bytes()), key: entry.judgment.question.key().unwrap() }
    };
    let list = head::sign(lines[1..].iter().map(named).collect(), place, &key(2), NOW).unwrap();
    lines[0] = String::from_utf8(list).unwrap();
    write(&file_of(&store, 0), &lines);
    let want = ["pass", "Altered", "pass", "pass", "pass"];
    assert_eq!(warm.all(&store), want);
    // Nor does it become one when that judge writes the next list.
    store.insert(judgment(neighbours(6)[5], "pass")).unwrap();
    let list = fs::read_to_string(file_of(&store, 0)).unwrap().lines().next().unwrap().to_owned();
    assert!(list.contains(&key(1).public().fingerprint().to_string()), "the list is of key 1 now");
    assert_eq!(warm.all(&store), want);
    assert_eq!(warm.all(&warm.open(&access)), want);
}
