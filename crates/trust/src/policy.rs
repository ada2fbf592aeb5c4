//! `trust.json`: which keys may act as what, from when to when.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use proofmark_artefact::trust_file::{KeyEntry, RevocationEntry, TRUST_FORMAT, TRUST_VERSION, TrustFile};
use proofmark_canon::json::{self, ParseError, ShapeError};
use proofmark_canon::{Digest, to_vec};

use crate::key::{Fingerprint, FormError, PublicKey};
use crate::moment::{Moment, MomentError};
use crate::public::PublicKeyError;

pub use proofmark_artefact::trust_file::{Reason, Role};

/// Why a key is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    #[error("{0} is not in the trust file")]
    Unknown(Fingerprint),
    #[error("{0} may not act as {1}")]
    Role(Fingerprint, Role),
    #[error("{0} was not valid yet at {1}")]
    TooEarly(Fingerprint, String),
    #[error("{0} was not valid any more at {1}")]
    Expired(Fingerprint, String),
    #[error("{0} was revoked")]
    Revoked(Fingerprint),
    #[error("{0} says it signed at `{1}`, which is no moment")]
    Undated(Fingerprint, String),
}

/// Whom one believes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    keys: BTreeMap<Fingerprint, Trusted>,
}

/// A key that is believed in some roles, for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    pub name: KeyName,
    pub key: PublicKey,
    pub roles: BTreeSet<Role>,
    pub not_before: Option<Moment>,
    pub not_after: Option<Moment>,
    pub revoked: Option<Revocation>,
}

/// When a key was given up, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    pub at: Moment,
    pub reason: Reason,
}

/// What people call a key: at most 64 letters, digits and `._@+-`. It can be a file's name and an OpenSSH principal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(String);

impl KeyName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyName {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let fits = |(at, byte): (usize, u8)| byte.is_ascii_alphanumeric() || (at > 0 && b"._@+-".contains(&byte));
        if (1..=64).contains(&text.len()) && text.bytes().enumerate().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(FormError::new(text, "a name (up to 64 letters, digits and `._@+-`, a letter or digit first)"))
        }
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The trust file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    #[error("the trust file is larger than {MAX_TRUST_FILE} bytes")]
    TooLarge,
    #[error("the trust file is not JSON")]
    Json(#[source] ParseError),
    #[error("the trust file does not have the shape of one")]
    Shape(#[source] ShapeError),
    #[error("the trust file is `{0}`, expected `{TRUST_FORMAT}`")]
    Format(String),
    #[error("the trust file has version {0}; this program knows version {TRUST_VERSION}")]
    Version(u32),
    #[error("the trust file names more than {MAX_KEYS} keys")]
    TooMany,
    #[error("key {place}: the name is none")]
    Name { place: usize, source: FormError },
    #[error("key `{name}`: the public key cannot be used")]
    Key { name: KeyName, source: PublicKeyError },
    #[error("key `{name}`: the fingerprint is none")]
    Fingerprint { name: KeyName, source: FormError },
    #[error("key `{name}`: the fingerprint is {said}, but the public key has {found}")]
    OtherFingerprint { name: KeyName, said: Fingerprint, found: Fingerprint },
    #[error("key `{name}`: `{field}` is wrong")]
    Moment { name: KeyName, field: &'static str, source: MomentError },
    #[error("key `{0}` has no role")]
    NoRole(KeyName),
    #[error("key `{0}` ends before it begins")]
    Backwards(KeyName),
    #[error("two keys have the name `{0}`")]
    SameName(KeyName),
    #[error("`{0}` and `{1}` are one key")]
    SameKey(KeyName, KeyName),
    #[error("key `{name}` was revoked as {reason} at {at} already")]
    Revoked { name: KeyName, at: Moment, reason: Reason },
    #[error("{0} is not in the trust file")]
    Unknown(Fingerprint),
}

/// No more than this is read of a trust file.
pub const MAX_TRUST_FILE: u64 = 4 << 20;
const MAX_KEYS: usize = 10_000;

impl Trust {
    /// Reads `trust.json`. What it does not know it refuses: a rule that is not understood cannot be kept.
    pub fn load(bytes: &[u8]) -> Result<Self, TrustError> {
        if bytes.len() as u64 > MAX_TRUST_FILE {
            return Err(TrustError::TooLarge);
        }
        let value = json::parse(bytes).map_err(TrustError::Json)?;
        // A newer file may have another shape: say that first.
        if let Some(format) = value.get("format").and_then(json::Value::as_str).filter(|name| *name != TRUST_FORMAT) {
            return Err(TrustError::Format(format.chars().take(100).collect()));
        }
        if let Some(version) = value.get("version").and_then(json::Value::as_u64).filter(|v| *v != 1) {
            return Err(TrustError::Version(u32::try_from(version).unwrap_or(u32::MAX)));
        }
        let file: TrustFile = json::from_value(&value).map_err(TrustError::Shape)?;
        if file.keys.len() > MAX_KEYS {
            return Err(TrustError::TooMany);
        }
        let mut trust = Self::default();
        let mut names = BTreeSet::new();
        for (place, entry) in file.keys.into_iter().enumerate() {
            let trusted = read_entry(entry, place + 1)?;
            if !names.insert(trusted.name.clone()) {
                return Err(TrustError::SameName(trusted.name));
            }
            if let Some(other) = trust.keys.get(&trusted.key.fingerprint()) {
                return Err(TrustError::SameKey(other.name.clone(), trusted.name));
            }
            trust.keys.insert(trusted.key.fingerprint(), trusted);
        }
        Ok(trust)
    }

    /// The file's bytes: indented, keys by name, a final line end. The same trust has the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(&self.to_file()).expect("texts and numbers, no maps");
        bytes.push(b'\n');
        bytes
    }

    fn to_file(&self) -> TrustFile {
        let mut keys: Vec<KeyEntry> = self.keys.values().map(write_entry).collect();
        keys.sort_by(|a, b| a.name.cmp(&b.name));
        TrustFile { format: TRUST_FORMAT.to_owned(), version: TRUST_VERSION, keys }
    }

    /// Believes one key in one role, always.
    #[must_use]
    pub fn with(mut self, key: PublicKey, role: Role) -> Self {
        let fingerprint = key.fingerprint();
        let trusted = self.keys.entry(fingerprint).or_insert_with(|| Trusted::always(fingerprint.short_name(), key));
        trusted.roles.insert(role);
        self
    }

    /// The key, if it may act in a role at a moment (RFC 3339, in UTC).
    ///
    /// The moment is what the signer says. Whoever stole a key can say anything, so a compromised key is not believed at any.
    pub fn key(&self, signer: &Fingerprint, role: Role, at: &str) -> Result<&PublicKey, Distrust> {
        let trusted = self.keys.get(signer).ok_or(Distrust::Unknown(*signer))?;
        if !trusted.roles.contains(&role) {
            return Err(Distrust::Role(*signer, role));
        }
        let moment: Moment = at.parse().map_err(|_| Distrust::Undated(*signer, at.chars().take(40).collect()))?;
        match &trusted.revoked {
            Some(revoked) if revoked.reason == Reason::Compromised || moment >= revoked.at => {
                return Err(Distrust::Revoked(*signer));
            }
            _ => {}
        }
        if trusted.not_before.as_ref().is_some_and(|start| moment < *start) {
            return Err(Distrust::TooEarly(*signer, moment.to_string()));
        }
        if trusted.not_after.as_ref().is_some_and(|end| moment > *end) {
            return Err(Distrust::Expired(*signer, moment.to_string()));
        }
        Ok(&trusted.key)
    }

    /// Names the trust that a verdict rests on: every key with its roles and dates, whatever the file looks like.
    pub fn digest(&self) -> Digest {
        Digest::of(&to_vec(&self.to_file()).expect("texts and small numbers"))
    }

    /// Every key, by name.
    pub fn keys(&self) -> Vec<&Trusted> {
        let mut keys: Vec<&Trusted> = self.keys.values().collect();
        keys.sort_by(|a, b| a.name.cmp(&b.name));
        keys
    }

    pub fn get(&self, fingerprint: &Fingerprint) -> Option<&Trusted> {
        self.keys.get(fingerprint)
    }

    /// Puts a key in, or says something else of one that is there.
    pub fn put(&mut self, trusted: Trusted) -> Result<(), TrustError> {
        check_entry(&trusted)?;
        let fingerprint = trusted.key.fingerprint();
        if self.keys.iter().any(|(other, key)| *other != fingerprint && key.name == trusted.name) {
            return Err(TrustError::SameName(trusted.name));
        }
        self.keys.insert(fingerprint, trusted);
        Ok(())
    }

    /// Gives a key up. What was said of it before can be made worse, never better.
    pub fn revoke(&mut self, fingerprint: &Fingerprint, revocation: Revocation) -> Result<(), TrustError> {
        let trusted = self.keys.get_mut(fingerprint).ok_or(TrustError::Unknown(*fingerprint))?;
        if let Some(before) = &trusted.revoked {
            let is_worse = match (before.reason, revocation.reason) {
                (Reason::Compromised, _) => false,
                (_, Reason::Compromised) => true,
                _ => revocation.at < before.at,
            };
            if !is_worse {
                let (name, before) = (trusted.name.clone(), before.clone());
                return Err(TrustError::Revoked { name, at: before.at, reason: before.reason });
            }
        }
        trusted.revoked = Some(revocation);
        Ok(())
    }

    /// Takes a key out: it is as if it had never been there.
    pub fn remove(&mut self, fingerprint: &Fingerprint) -> Option<Trusted> {
        self.keys.remove(fingerprint)
    }

    /// Lines for `ssh-keygen -Y verify -f`: the keys that may act in a role. That file knows no roles, hence one alone.
    pub fn allowed_signers(&self, role: Role, namespace: &str) -> String {
        let mut out = String::new();
        for trusted in self.keys() {
            let until = match &trusted.revoked {
                Some(revoked) if revoked.reason == Reason::Compromised => continue,
                Some(revoked) => {
                    Some(trusted.not_after.clone().map_or(revoked.at.clone(), |end| end.min(revoked.at.clone())))
                }
                None => trusted.not_after.clone(),
            };
            if !trusted.roles.contains(&role) {
                continue;
            }
            let mut options = vec![format!("namespaces=\"{namespace}\"")];
            options.extend(trusted.not_before.as_ref().map(|start| format!("valid-after=\"{}\"", start.to_ssh())));
            options.extend(until.map(|end| format!("valid-before=\"{}\"", end.to_ssh())));
            out.push_str(&format!("{} {} {}\n", trusted.name, options.join(","), trusted.key.to_ssh_line("")));
        }
        out
    }
}

impl Trusted {
    /// A key without a role, and without dates.
    pub fn always(name: KeyName, key: PublicKey) -> Self {
        Self { name, key, roles: BTreeSet::new(), not_before: None, not_after: None, revoked: None }
    }

    /// Whether who hands in answers may also judge them.
    pub fn is_self_judging(&self) -> bool {
        self.roles.contains(&Role::Judge) && self.roles.contains(&Role::Submitter)
    }
}

impl Fingerprint {
    /// A name for a key that nobody named.
    fn short_name(&self) -> KeyName {
        let letters: String = self.to_string()["SHA256:".len()..].chars().filter(char::is_ascii_alphanumeric).collect();
        KeyName(format!("key-{letters}").chars().take(16).collect())
    }
}

fn read_entry(entry: KeyEntry, place: usize) -> Result<Trusted, TrustError> {
    let name: KeyName = entry.name.parse().map_err(|source| TrustError::Name { place, source })?;
    // One form only, so that whoever compares two files sees the same key.
    let line = if entry.public_key.starts_with("ssh-") { entry.public_key.as_str() } else { "" };
    let (key, _) = PublicKey::parse(line).map_err(|source| TrustError::Key { name: name.clone(), source })?;
    let said: Fingerprint =
        entry.fingerprint.parse().map_err(|source| TrustError::Fingerprint { name: name.clone(), source })?;
    let found = key.fingerprint();
    if said != found {
        return Err(TrustError::OtherFingerprint { name, said, found });
    }
    let moment = |field, text: &str| {
        text.parse::<Moment>().map_err(|source| TrustError::Moment { name: name.clone(), field, source })
    };
    let trusted = Trusted {
        key,
        roles: entry.roles.into_iter().collect(),
        not_before: entry.not_before.as_deref().map(|text| moment("not_before", text)).transpose()?,
        not_after: entry.not_after.as_deref().map(|text| moment("not_after", text)).transpose()?,
        revoked: match entry.revoked {
            None => None,
            Some(RevocationEntry { at, reason }) => Some(Revocation { at: moment("revoked.at", &at)?, reason }),
        },
        name,
    };
    check_entry(&trusted)?;
    Ok(trusted)
}

fn check_entry(trusted: &Trusted) -> Result<(), TrustError> {
    if trusted.roles.is_empty() {
        return Err(TrustError::NoRole(trusted.name.clone()));
    }
    match (&trusted.not_before, &trusted.not_after) {
        (Some(start), Some(end)) if end < start => Err(TrustError::Backwards(trusted.name.clone())),
        _ => Ok(()),
    }
}

fn write_entry(trusted: &Trusted) -> KeyEntry {
    let text = |moment: &Option<Moment>| moment.as_ref().map(Moment::to_string);
    KeyEntry {
        name: trusted.name.to_string(),
        fingerprint: trusted.key.fingerprint().to_string(),
        public_key: trusted.key.to_ssh_line(""),
        roles: trusted.roles.iter().copied().collect(),
        not_before: text(&trusted.not_before),
        not_after: text(&trusted.not_after),
        revoked: trusted
            .revoked
            .as_ref()
            .map(|revoked| RevocationEntry { at: revoked.at.to_string(), reason: revoked.reason }),
    }
}

#[cfg(test)]
mod tests;
