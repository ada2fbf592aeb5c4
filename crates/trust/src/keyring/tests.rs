use super::*;
use std::os::unix::fs::symlink;

struct Bench {
    _dir: tempfile::TempDir,
    ring: Keyring,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ring = Keyring::at(dir.path().join("some/keys"));
        Self { _dir: dir, ring }
    }

    fn add(&self, name: &str, seed: u8) -> Result<Held, KeyringError> {
        self.ring.add(&name.parse().unwrap(), &PrivateKey::from_secret(&[seed; 32]), None, &[0; 32])
    }

    fn open(&self, what: &str) -> Result<Opened, KeyringError> {
        let held = self.ring.find(what)?;
        let file = self.ring.load(&held)?;
        self.ring.open(&held, &file, None)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.ring.folder().join(name)
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a test's own damage")]
fn damage(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

#[test]
fn a_key_that_was_put_in_is_found_by_name_and_by_fingerprint() {
    let bench = Bench::new();
    assert!(bench.ring.list().unwrap().keys.is_empty());
    let ada = bench.add("ada", 1).unwrap();
    let bob = bench.add("bob", 2).unwrap();
    assert_eq!(bench.ring.list().unwrap().keys, [ada.clone(), bob.clone()]);
    let fingerprint = ada.public.fingerprint().to_string();
    for what in ["ada", &fingerprint, &fingerprint[..12], &fingerprint["SHA256:".len()..], &fingerprint[7..12]] {
        assert_eq!(bench.ring.find(what).unwrap(), ada, "{what}");
    }
    assert_eq!(bench.open("bob").unwrap().key.public(), bob.public);
    for what in ["ad", "SHA256:", "", "SHA256:zzzzzzzz", &fingerprint[7..10]] {
        let error = bench.ring.find(what).unwrap_err();
        assert_eq!(error.hint().unwrap(), "there are ada, bob", "{what}");
    }
}

#[test]
fn files_and_folder_are_for_their_owner() {
    let bench = Bench::new();
    bench.add("ada", 1).unwrap();
    assert_eq!(mode(bench.ring.folder()), 0o700);
    assert_eq!((mode(&bench.file("ada.pem")), mode(&bench.file("ada.pub"))), (0o600, 0o600));
    for open in [0o640, 0o604, 0o660, 0o610] {
        set_mode(&bench.file("ada.pem"), open);
        let error = bench.open("ada").unwrap_err();
        assert!(matches!(error, KeyringError::Open { mode, .. } if mode == open), "{error}");
        assert!(error.hint().unwrap().starts_with("chmod 600 /"), "{error}");
    }
    set_mode(&bench.file("ada.pem"), 0o400);
    assert!(bench.open("ada").is_ok());
    set_mode(bench.ring.folder(), 0o750);
    let error = bench.open("ada").unwrap_err();
    assert!(error.hint().unwrap().starts_with("chmod 700 /"), "{error}");
    assert!(bench.add("bob", 2).is_err());
}

#[test]
fn nothing_is_written_over() {
    let bench = Bench::new();
    bench.add("ada", 1).unwrap();
    let before = fs::read(bench.file("ada.pem")).unwrap();
    assert!(matches!(bench.add("ada", 2), Err(KeyringError::Taken { .. })));
    assert!(matches!(bench.add("bob", 1), Err(KeyringError::Known { .. })));
    assert_eq!(fs::read(bench.file("ada.pem")).unwrap(), before);
    symlink("/nowhere", bench.file("eve.pem")).unwrap();
    assert!(matches!(bench.add("eve", 3), Err(KeyringError::Taken { .. })));
    damage(&bench.file("pia.pub"), "mine");
    assert!(matches!(bench.add("pia", 4), Err(KeyringError::Taken { .. })));
    assert!(!bench.file("pia.pem").exists());
}

#[test]
fn what_is_not_ours_is_seen_and_spoils_nothing() {
    let bench = Bench::new();
    let ada = bench.add("ada", 1).unwrap();
    let bob = bench.add("bob", 2).unwrap();
    fs::rename(bench.file("ada.pem"), bench.file("elsewhere")).unwrap();
    symlink("elsewhere", bench.file("ada.pem")).unwrap();
    assert!(matches!(bench.open("ada"), Err(KeyringError::NotAFile { .. })));
    // A private half under another key's name.
    fs::remove_file(bench.file("ada.pem")).unwrap();
    fs::copy(bench.file("bob.pem"), bench.file("ada.pem")).unwrap();
    assert!(matches!(bench.open("ada"), Err(KeyringError::Halves { .. })));
    damage(&bench.file("ada.pub"), "nonsense");
    damage(&bench.file("notes.txt"), "x");
    damage(&bench.file("a b.pem"), "x");
    let listing = bench.ring.list().unwrap();
    assert_eq!(listing.keys, [bob]);
    assert_eq!(listing.broken.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["ada"]);
    assert!(matches!(bench.ring.find("ada"), Err(KeyringError::Public { .. })));
    assert!(matches!(bench.ring.find(&ada.public.fingerprint().to_string()), Err(KeyringError::Unknown { .. })));
}

#[test]
fn a_named_path_may_be_a_link_and_must_be_private() {
    let bench = Bench::new();
    bench.add("ada", 1).unwrap();
    let link = bench.file("link");
    symlink(bench.file("ada.pem"), &link).unwrap();
    assert!(read_private(&link, Links::Follow).is_ok());
    assert!(matches!(read_private(&link, Links::Refuse), Err(KeyringError::NotAFile { .. })));
    assert!(matches!(read_private(bench.ring.folder(), Links::Follow), Err(KeyringError::NotAFile { .. })));
    set_mode(&bench.file("ada.pem"), 0o644);
    assert!(matches!(read_private(&link, Links::Follow), Err(KeyringError::Open { mode: 0o644, .. })));
}
