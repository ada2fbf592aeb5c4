//! Keys and tokens: where they come from, and that they are never shown.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A key file cannot be used. Nothing of its content is in here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    #[error("cannot read the key file `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("the key file `{path}` can be read by others (mode {mode:03o})")]
    Open { path: PathBuf, mode: u32 },
    #[error("the key file `{path}` does not hold one line of text")]
    NotALine { path: PathBuf },
}

/// The longest key.
const MAX_KEY: u64 = 16 << 10;

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Reads a key from a file that nobody else can read.
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        let io_error = |source| KeyFileError::Io { path: path.to_owned(), source };
        // Opening a pipe would wait for its writer: look before.
        if !path.metadata().map_err(io_error)?.is_file() {
            return Err(KeyFileError::NotALine { path: path.to_owned() });
        }
        let file = File::open(path).map_err(io_error)?;
        let mode = file.metadata().map_err(io_error)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyFileError::Open { path: path.to_owned(), mode });
        }
        let mut bytes = Vec::new();
        file.take(MAX_KEY + 1).read_to_end(&mut bytes).map_err(io_error)?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        let key = text.trim();
        let is_line = !key.is_empty() && text.len() as u64 <= MAX_KEY && !key.contains(char::is_control);
        if is_line { Ok(Self::new(key)) } else { Err(KeyFileError::NotALine { path: path.to_owned() }) }
    }

    /// The text itself, for the places that send it or look for it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Takes keys out of texts that come from elsewhere: providers repeat them in messages.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Vec<Secret>);

impl Redactor {
    pub(crate) fn new(secrets: Vec<Secret>) -> Self {
        Self(secrets)
    }

    /// Replaces every known key in bytes of any kind, as it is and as JSON may spell it. Returns whether there was one.
    pub(crate) fn redact_bytes(&self, bytes: &mut Vec<u8>) -> bool {
        let mut found = false;
        for Secret(key) in self.0.iter().filter(|Secret(key)| key.len() >= 6) {
            for spelling in [key.clone(), key.replace('/', "\\/")] {
                found |= replace_bytes(bytes, spelling.as_bytes(), b"***");
            }
        }
        found
    }

    /// Replaces every known key in a text that is otherwise left as it is.
    pub(crate) fn redact_whole(&self, text: &mut String) {
        for Secret(key) in self.0.iter().filter(|Secret(key)| key.len() >= 6) {
            if text.contains(key.as_str()) {
                *text = text.replace(key.as_str(), "***");
            }
        }
    }

    /// Replaces every known key, and every beginning or end of one that is long enough to matter.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for Secret(key) in &self.0 {
            if key.len() < 6 {
                continue;
            }
            text = text.replace(key.as_str(), "***");
            // A provider that masks a key leaves its ends: `sk-abcd****wxyz`.
            let head: String = key.chars().take(8).collect();
            let tail: String = key.chars().skip(key.chars().count().saturating_sub(4)).collect();
            if key.len() >= 16 {
                text = text.replace(&head, "***");
                text = text.replace(&format!("*{tail}"), "***");
            }
        }
        text
    }
}

fn replace_bytes(bytes: &mut Vec<u8>, from: &[u8], to: &[u8]) -> bool {
    let Some(first) = memchr::memmem::find(bytes, from) else { return false };
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut next) = (0, Some(first));
    while let Some(found) = next {
        out.extend_from_slice(&bytes[at..found]);
        out.extend_from_slice(to);
        at = found + from.len();
        next = memchr::memmem::find(&bytes[at..], from).map(|offset| at + offset);
    }
    out.extend_from_slice(&bytes[at..]);
    *bytes = out;
    true
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_key_file_must_be_private_and_hold_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let write = |text: &[u8], mode| {
            File::create(&path).unwrap().write_all(text).unwrap();
            path.metadata().unwrap().permissions().set_mode(mode);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write(b"sk-1\n", 0o600);
        assert_eq!(Secret::from_file(&path).unwrap().reveal(), "sk-1");
        for mode in [0o640, 0o604, 0o666] {
            write(b"sk-1\n", mode);
            assert!(matches!(Secret::from_file(&path), Err(KeyFileError::Open { mode: found, .. }) if found == mode));
        }
        for text in [&b""[..], b"a\nb", b"\xff", &[b'x'; 20_000]] {
            write(text, 0o600);
            assert!(matches!(Secret::from_file(&path), Err(KeyFileError::NotALine { .. })));
        }
        assert!(matches!(Secret::from_file(dir.path()), Err(KeyFileError::NotALine { .. })));
    }

    #[test]
    fn keys_and_what_is_left_of_them_disappear() {
        let redactor = Redactor::new(vec![Secret::new("sk-live-abcdefghijklmnop-wxyz"), Secret::new("short")]);
        for text in [
            "Incorrect API key provided: sk-live-abcdefghijklmnop-wxyz.",
            "Incorrect API key provided: sk-live-********wxyz.",
        ] {
            let redacted = redactor.redact(text);
            assert!(!redacted.contains("sk-live") && !redacted.contains("wxyz"), "{redacted}");
            assert!(redacted.starts_with("Incorrect API key provided: ***"));
        }
        assert_eq!(redactor.redact("a short text"), "a short text");
        let redactor = Redactor::new(vec![Secret::new("sk/live-abcdefghijklmnop")]);
        for (text, expected) in [
            (&b"\xff sk/live-abcdefghijklmnop, sk/live-abcdefghijklmnop"[..], &b"\xff ***, ***"[..]),
            (br#"{"a":"sk\/live-abcdefghijklmnop"}"#, br#"{"a":"***"}"#),
            (b"sk/live-", b"sk/live-"),
        ] {
            let mut bytes = text.to_vec();
            assert_eq!(redactor.redact_bytes(&mut bytes), text != expected);
            assert_eq!(bytes, expected);
        }
        assert_eq!(format!("{:?}", Secret::new("x")), "Secret(***)");
    }
}
