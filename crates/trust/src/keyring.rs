//! The folder that keys live in: `NAME.pem` is the private half, `NAME.pub` the public one.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use proofmark_artefact::store::write_private;
use zeroize::Zeroizing;

use crate::key::{Fingerprint, PrivateKey, PublicKey};
use crate::keyfile::{KeyFile, KeyFileError, MAX_KEY_FILE, Opened, seal};
use crate::passphrase::Passphrase;
use crate::policy::KeyName;
use crate::public::{MAX_PUBLIC_KEY, PublicKeyError};

/// A folder of keys that may not be there yet.
#[derive(Debug, Clone)]
pub struct Keyring {
    folder: PathBuf,
}

/// A key of the ring, known by its public half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub name: KeyName,
    pub public: PublicKey,
}

/// Everything in the folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// By name.
    pub keys: Vec<Held>,
    /// What looks like a key and is none, with the reason.
    pub broken: Vec<(String, KeyringError)>,
}

/// A key cannot be had. Nothing of a secret is in here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    #[error("cannot use `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{path}` can be used by others (mode {mode:03o})")]
    Open { path: PathBuf, mode: u32, wanted: u32 },
    #[error("`{path}` is not an ordinary file")]
    NotAFile { path: PathBuf },
    #[error("`{path}` gives no key")]
    File { path: PathBuf, source: KeyFileError },
    #[error("`{path}` gives no public key")]
    Public { path: PathBuf, source: PublicKeyError },
    #[error("`{path}` and its `.pub` file are two different keys")]
    Halves { path: PathBuf },
    #[error("there is a key `{name}` already")]
    Taken { name: KeyName },
    #[error("the key {fingerprint} is there already, as `{name}`")]
    Known { fingerprint: Fingerprint, name: KeyName },
    #[error("there is no key `{what}`")]
    Unknown { what: String, there: Vec<String> },
    #[error("`{what}` is the beginning of {} keys", found.len())]
    Ambiguous { what: String, found: Vec<String> },
}

impl KeyringError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open { path, wanted, .. } => Some(format!("chmod {wanted:o} {}", path.display())),
            Self::NotAFile { .. } => {
                Some("links are not followed here; put the file itself into the folder".to_owned())
            }
            Self::File { source, .. } => source.hint().map(str::to_owned),
            Self::Public { .. } | Self::Halves { .. } => Some(
                "`openssl pkey -in NAME.pem -pubout` shows the public half; import the key anew under another name"
                    .to_owned(),
            ),
            Self::Taken { .. } => {
                Some("keys are never written over; take another name, or `proofmark keys rotate`".to_owned())
            }
            Self::Unknown { there, .. } if there.is_empty() => {
                Some("there is none yet; make one with `proofmark keys new NAME --role ROLE`".to_owned())
            }
            Self::Unknown { there, .. } => Some(format!("there are {}", there.join(", "))),
            Self::Ambiguous { found, .. } => Some(format!("it could be {}", found.join(", "))),
            _ => None,
        }
    }
}

/// The fewest characters of a fingerprint's beginning, after `SHA256:`.
const SHORTEST_PREFIX: usize = 4;

impl Keyring {
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the private half of a key is.
    pub fn path(&self, name: &KeyName) -> PathBuf {
        self.folder.join(format!("{name}.pem"))
    }

    fn public_path(&self, name: &KeyName) -> PathBuf {
        self.folder.join(format!("{name}.pub"))
    }

    /// Every key, by name. No folder is no key.
    pub fn list(&self) -> Result<Listing, KeyringError> {
        let io_error = |source| KeyringError::Io { path: self.folder.clone(), source };
        let mut listing = Listing::default();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
            other => other.map_err(io_error)?,
        };
        self.check_folder()?;
        for entry in entries {
            let file = entry.map_err(io_error)?.file_name();
            let Some(stem) = file.to_str().and_then(|name| name.strip_suffix(".pem")) else { continue };
            let Ok(name) = stem.parse::<KeyName>() else { continue };
            match self.load_public(&name) {
                Ok(public) => listing.keys.push(Held { name, public }),
                Err(error) => listing.broken.push((name.to_string(), error)),
            }
        }
        listing.keys.sort_by(|a, b| a.name.cmp(&b.name));
        listing.broken.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(listing)
    }

    /// A key by its name, its fingerprint, or the beginning of one that no other key has.
    pub fn find(&self, what: &str) -> Result<Held, KeyringError> {
        let Listing { keys, mut broken } = self.list()?;
        if let Some(held) = keys.iter().find(|held| held.name.as_str() == what) {
            return Ok(held.clone());
        }
        if let Some(at) = broken.iter().position(|(name, _)| name == what) {
            return Err(broken.swap_remove(at).1);
        }
        let found: Vec<&Held> = keys.iter().filter(|held| begins(&held.public.fingerprint(), what)).collect();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => {
                let there = keys.iter().map(|held| held.name.to_string()).collect();
                Err(KeyringError::Unknown { what: named(what), there })
            }
            several => {
                let found =
                    several.iter().map(|held| format!("{} ({})", held.name, held.public.fingerprint())).collect();
                Err(KeyringError::Ambiguous { what: named(what), found })
            }
        }
    }

    /// Writes a key and never over another one. `noise` is 32 fresh random bytes.
    pub fn add(
        &self,
        name: &KeyName,
        key: &PrivateKey,
        passphrase: Option<&Passphrase>,
        noise: &[u8; 32],
    ) -> Result<Held, KeyringError> {
        self.check_free(name)?;
        let public = key.public();
        if let Some(same) = self.list()?.keys.into_iter().find(|held| held.public == public) {
            return Err(KeyringError::Known { fingerprint: public.fingerprint(), name: same.name });
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|source| KeyringError::Io { path: self.folder.clone(), source })?;
        self.check_folder()?;
        let write = |path: PathBuf, bytes: &[u8]| {
            write_private(&path, bytes).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => KeyringError::Taken { name: name.clone() },
                _ => KeyringError::Io { path, source },
            })
        };
        // The private half first: a kill in between leaves a key that can still be used.
        write(self.path(name), seal(key, passphrase, noise).as_bytes())?;
        write(self.public_path(name), format!("{}\n", public.to_ssh_line(name.as_str())).as_bytes())?;
        Ok(Held { name: name.clone(), public })
    }

    /// Says whether a name can still be taken.
    pub fn check_free(&self, name: &KeyName) -> Result<(), KeyringError> {
        // `symlink_metadata`: a link that leads nowhere takes a name too.
        let taken = [self.path(name), self.public_path(name)].iter().any(|path| path.symlink_metadata().is_ok());
        if taken { Err(KeyringError::Taken { name: name.clone() }) } else { Ok(()) }
    }

    /// Reads the private half, which others must not be able to.
    pub fn load(&self, held: &Held) -> Result<KeyFile, KeyringError> {
        self.check_folder()?;
        let path = self.path(&held.name);
        let bytes = read_private(&path, Links::Refuse)?;
        KeyFile::parse(&bytes).map_err(|source| KeyringError::File { path, source })
    }

    /// Opens a private half that was read, and holds it against the public one.
    pub fn open(&self, held: &Held, file: &KeyFile, secret: Option<&Passphrase>) -> Result<Opened, KeyringError> {
        let path = self.path(&held.name);
        let opened = file.open(secret).map_err(|source| KeyringError::File { path: path.clone(), source })?;
        if opened.key.public() == held.public { Ok(opened) } else { Err(KeyringError::Halves { path }) }
    }

    fn load_public(&self, name: &KeyName) -> Result<PublicKey, KeyringError> {
        let path = self.public_path(name);
        let io_error = |source| KeyringError::Io { path: path.clone(), source };
        if !path.symlink_metadata().map_err(io_error)?.is_file() {
            return Err(KeyringError::NotAFile { path });
        }
        let mut text = String::new();
        let file = File::open(&path).map_err(io_error)?;
        file.take(MAX_PUBLIC_KEY).read_to_string(&mut text).map_err(io_error)?;
        PublicKey::parse(&text).map(|(key, _)| key).map_err(|source| KeyringError::Public { path, source })
    }

    fn check_folder(&self) -> Result<(), KeyringError> {
        let path = self.folder.clone();
        let metadata = fs::metadata(&path).map_err(|source| KeyringError::Io { path: path.clone(), source })?;
        check_mode(path, metadata.permissions().mode(), 0o700)
    }
}

/// What was asked for, as a message may repeat it: somebody may have pasted the key itself.
pub fn named(what: &str) -> String {
    if what.contains("PRIVATE KEY") { "(a private key)".to_owned() } else { what.chars().take(100).collect() }
}

/// Whether a fingerprint begins with a text that is long enough, with or without `SHA256:`.
pub fn begins(fingerprint: &Fingerprint, text: &str) -> bool {
    let letters = text.strip_prefix("SHA256:").unwrap_or(text);
    letters.len() >= SHORTEST_PREFIX && fingerprint.to_string()["SHA256:".len()..].starts_with(letters)
}

/// Whether a path may lead through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// In the key ring, where every file is ours: a link is not.
    Refuse,
    /// Where the user names the path: mounted secrets are often links.
    Follow,
}

/// Reads a file with a secret, if nobody else can.
pub fn read_private(path: &Path, links: Links) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    let io_error = |source| KeyringError::Io { path: path.to_owned(), source };
    let looked = match links {
        Links::Refuse => path.symlink_metadata(),
        Links::Follow => path.metadata(),
    };
    let looked = looked.map_err(io_error)?;
    // Opening a pipe would wait for its writer: look before.
    if !looked.is_file() {
        return Err(KeyringError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(io_error)?;
    let opened = file.metadata().map_err(io_error)?;
    // Somebody put another file there in between.
    if (opened.dev(), opened.ino()) != (looked.dev(), looked.ino()) {
        return Err(KeyringError::NotAFile { path: path.to_owned() });
    }
    check_mode(path.to_owned(), opened.permissions().mode(), 0o600)?;
    // Never grown while it is read: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_KEY_FILE + 2));
    file.take(MAX_KEY_FILE as u64 + 1).read_to_end(&mut bytes).map_err(io_error)?;
    Ok(bytes)
}

fn check_mode(path: PathBuf, mode: u32, wanted: u32) -> Result<(), KeyringError> {
    let mode = mode & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(KeyringError::Open { path, mode, wanted }) }
}

#[cfg(test)]
mod tests;
