//! Bytes that mean nothing, and things that are no files.

use std::fs;
use std::sync::{LazyLock, Mutex};

use proptest::prelude::*;

use super::super::index::Contents;
use super::super::testing::{access, cache, file_of, judgment, neighbours, question, tamper, verdict};
use super::super::{Cache, CacheError, Found, Shard};

#[test]
fn a_shard_that_is_a_link_or_a_folder_is_no_answer_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(&dir.path().join("store"));
    cache.insert(judgment(0, "pass")).unwrap();
    let (file, outside) = (file_of(&cache, 0), dir.path().join("outside"));
    fs::rename(&file, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    assert_eq!(verdict(&cache, 0), "List");
    cache.insert(judgment(0, "pass")).unwrap();
    assert_eq!(verdict(&cache, 0), "pass");
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    assert!(outside.is_file(), "what the link led to is left alone");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(verdict(&cache, 0), "List");
}

#[test]
fn a_file_that_is_too_large_or_has_too_many_lines_is_no_answer_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    cache.insert(judgment(0, "pass")).unwrap();
    let file = file_of(&cache, 0);
    // A hole: it takes no room on the disk.
    fs::File::options().write(true).open(&file).unwrap().set_len(65 << 20).unwrap();
    assert_eq!(verdict(&cache, 0), "List");
    cache.insert(judgment(0, "pass")).unwrap();
    assert_eq!(verdict(&cache, 0), "pass");
    tamper(&file, &vec![b'\n'; 1 << 20]);
    assert_eq!(verdict(&cache, 0), "List");
    cache.insert(judgment(0, "pass")).unwrap();
    assert_eq!(verdict(&cache, 0), "pass");
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error_with_a_hint() {
    // Root may read everything; a file where a folder should be is refused to everyone.
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    fs::remove_dir_all(dir.path().join("shards")).unwrap();
    tamper(&dir.path().join("shards"), b"");
    assert!(matches!(cache.lookup(&question(0)), Err(CacheError::Io { .. })));
    assert!(cache.insert(judgment(0, "pass")).is_err());
    let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let error = CacheError::Io { path: dir.path().to_owned(), source: denied };
    assert!(error.hint().unwrap().contains("read"));
}

#[test]
fn every_byte_of_a_shard_changed_gives_nothing_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path());
    let numbers = neighbours(2);
    cache.insert_all(numbers.iter().map(|number| judgment(*number, "pass")).collect()).unwrap();
    let bytes = fs::read(file_of(&cache, 0)).unwrap();
    for at in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        tamper(&file_of(&cache, 0), &changed);
        let found: Vec<Found> = numbers.iter().map(|number| cache.lookup(&question(*number)).unwrap()).collect();
        assert!(found.iter().any(|found| matches!(found, Found::Bad(_))), "byte {at}: {found:?}");
        for (found, number) in found.iter().zip(&numbers) {
            if let Found::Hit(hit) = found {
                assert_eq!(hit.entry.judgment, judgment(*number, "pass"), "byte {at}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic_and_never_vouch(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check(bytes)?;
    }

    #[test]
    fn random_lines_of_json_never_panic_and_never_vouch(
        text in "(\\{\"(entries|judgment|schema|signature)\":(\\[\\{\\}\\]|null|\"x\"|\\{[a-z\":,{}\\[\\]]{0,20}\\}),?\\}?\n?){0,20}"
    ) {
        check(text.into_bytes())?;
    }
}

fn check(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    static STORE: LazyLock<(tempfile::TempDir, Mutex<Cache>)> = LazyLock::new(|| {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        (dir, Mutex::new(cache))
    });
    let cache = STORE.1.lock().unwrap();
    let place = cache.place(Shard::of(&question(0).key().unwrap()));
    let contents = Contents::of(bytes.clone(), place, &access().trust);
    prop_assert!(contents.list.is_some() && contents.named.is_empty());
    tamper(&file_of(&cache, 0), &bytes);
    prop_assert!(matches!(cache.lookup(&question(0)).unwrap(), Found::Bad(_)));
    Ok(())
}
