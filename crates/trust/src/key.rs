//! Ed25519 keys and what they sign.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use data_encoding::{BASE64, BASE64_NOPAD};
use ed25519_dalek::Signer;
use proofmark_canon::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::multiples::Multiples;

/// A key that signs. Its secret is wiped from memory when it is dropped, and is never shown.
pub struct PrivateKey(ed25519_dalek::SigningKey);

/// A key that checks signatures: never a weak one.
#[derive(Clone)]
pub struct PublicKey {
    key: ed25519_dalek::VerifyingKey,
    usage: Arc<Usage>,
}

/// How often a key was used, and what makes it faster when it is often.
#[derive(Default)]
struct Usage {
    count: AtomicU32,
    multiples: OnceLock<Multiples>,
}

/// A table of multiples costs as much as it saves with so many signatures.
const OFTEN: u32 = 128;

/// `SHA256:` and 43 characters of base64: what `ssh-keygen -l` shows of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// An Ed25519 signature; base64 as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// What a signature is for. A signature for one thing is none for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// One judgment.
    Judgment,
    /// What a shard of the judge cache holds.
    CacheHead,
}

impl Purpose {
    /// Starts every message that is signed for it.
    fn domain(self) -> &'static [u8] {
        match self {
            Self::Judgment => b"proofmark.judgment/1\0",
            Self::CacheHead => b"proofmark.judge-cache-head/1\0",
        }
    }

    /// What is signed: the digest of the purpose and the canonical bytes.
    fn digest(self, canonical: &[u8]) -> Digest {
        let mut message = Vec::with_capacity(self.domain().len() + canonical.len());
        message.extend_from_slice(self.domain());
        message.extend_from_slice(canonical);
        Digest::of(&message)
    }
}

impl PrivateKey {
    /// A key from 32 bytes that nobody else knows or can guess.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(secret))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.0.verifying_key())
    }

    /// The 32 bytes themselves, for key files.
    pub(crate) fn secret(&self) -> zeroize::Zeroizing<[u8; 32]> {
        zeroize::Zeroizing::new(self.0.to_bytes())
    }

    /// Signs canonical bytes for a purpose: the SHA-256 of both.
    pub fn sign(&self, purpose: Purpose, canonical: &[u8]) -> Signature {
        self.sign_raw(purpose.digest(canonical).as_bytes())
    }

    /// Signs bytes as they are: for formats of others, which have a domain of their own.
    pub fn sign_raw(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().fingerprint())
    }
}

/// These bytes are no key that can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    #[error("it is not a point of the curve")]
    NotAPoint,
    #[error("it is a weak key, under which anything can be signed")]
    Weak,
}

/// The signature does not fit the key and the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not fit")]
pub struct BadSignature;

impl PublicKey {
    fn new(key: ed25519_dalek::VerifyingKey) -> Self {
        Self { key, usage: Arc::default() }
    }

    /// Takes the 32 bytes of a key; refuses weak ones.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NotAPoint)?;
        if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self::new(key)) }
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Checks a signature that [`PrivateKey::sign`] made.
    pub fn verify(&self, purpose: Purpose, canonical: &[u8], signature: &Signature) -> Result<(), BadSignature> {
        self.verify_raw(purpose.digest(canonical).as_bytes(), signature)
    }

    /// Checks a signature over bytes as they are; strictly, so that a signature has one form only.
    pub fn verify_raw(&self, message: &[u8], signature: &Signature) -> Result<(), BadSignature> {
        if let Some(multiples) = self.usage.multiples.get() {
            return multiples.verify(&self.key, message, &signature.0);
        }
        if self.usage.count.fetch_add(1, Ordering::Relaxed) >= OFTEN {
            self.usage.multiples.get_or_init(|| Multiples::of(&self.key));
        }
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        self.key.verify_strict(message, &signature).map_err(|_| BadSignature)
    }

    /// The key as OpenSSH sends it: the type's name and the bytes, each with its length.
    pub fn ssh_blob(&self) -> Vec<u8> {
        let mut blob = Vec::with_capacity(51);
        for part in [&b"ssh-ed25519"[..], self.as_bytes()] {
            blob.extend_from_slice(&(part.len() as u32).to_be_bytes());
            blob.extend_from_slice(part);
        }
        blob
    }

    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(*Digest::of(&self.ssh_blob()).as_bytes())
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", BASE64_NOPAD.encode(&self.0))
    }
}

/// The text is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not {expected}")]
pub struct FormError {
    found: String,
    expected: &'static str,
}

impl FormError {
    pub(crate) fn new(found: &str, expected: &'static str) -> Self {
        Self { found: found.chars().take(100).collect(), expected }
    }
}

impl FromStr for Fingerprint {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let wrong = || FormError::new(text, "a fingerprint (`SHA256:` and 43 characters)");
        let bytes = text.strip_prefix("SHA256:").and_then(|rest| BASE64_NOPAD.decode(rest.as_bytes()).ok());
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(wrong)
    }
}

impl Signature {
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(&self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

impl FromStr for Signature {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let bytes = BASE64.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| FormError::new(text, "a signature (64 bytes in base64)"))
    }
}

/// Serialised as its text.
macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text!(Fingerprint Signature);

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from_secret(&[seed; 32])
    }

    #[test]
    fn a_signature_holds_for_one_purpose_one_key_and_one_text() {
        let (mine, other) = (key(1), key(2));
        let signature = mine.sign(Purpose::Judgment, b"{}");
        assert_eq!(mine.public().verify(Purpose::Judgment, b"{}", &signature), Ok(()));
        assert_eq!(mine.public().verify(Purpose::CacheHead, b"{}", &signature), Err(BadSignature));
        assert_eq!(mine.public().verify(Purpose::Judgment, b"{ }", &signature), Err(BadSignature));
        assert_eq!(other.public().verify(Purpose::Judgment, b"{}", &signature), Err(BadSignature));
        for byte in 0..64 {
            let mut changed = *signature.as_bytes();
            changed[byte] ^= 1;
            let changed = Signature::from_bytes(changed);
            assert_eq!(mine.public().verify(Purpose::Judgment, b"{}", &changed), Err(BadSignature), "byte {byte}");
        }
    }

    #[test]
    fn a_key_says_the_same_however_often_it_is_used() {
        let public = key(1).public();
        for number in 0..3 * OFTEN {
            let message = number.to_le_bytes();
            let (mine, other) = (key(1).sign_raw(&message), key(2).sign_raw(&message));
            assert_eq!(public.verify_raw(&message, &mine), Ok(()), "{number}");
            assert_eq!(public.verify_raw(&message, &other), Err(BadSignature), "{number}");
            assert_eq!(public.verify_raw(b"other", &mine), Err(BadSignature), "{number}");
        }
        assert!(public.clone().usage.multiples.get().is_some(), "the table was made");
    }

    #[test]
    fn texts_come_back() {
        let fingerprint = key(1).public().fingerprint();
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!(fingerprint.to_string().len(), "SHA256:".len() + 43);
        let signature = key(1).sign(Purpose::Judgment, b"x");
        assert_eq!(signature.to_string().parse(), Ok(signature));
        for wrong in ["", "SHA256:", "sha256:abc", "SHA256:!!!"] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn weak_keys_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        assert_eq!(PublicKey::from_bytes(&identity), Err(KeyError::Weak));
        assert_eq!(PublicKey::from_bytes(&[0; 32]), Err(KeyError::Weak));
        // A coordinate that no point of the curve has.
        let mut nowhere = [0; 32];
        nowhere[0] = 2;
        assert_eq!(PublicKey::from_bytes(&nowhere), Err(KeyError::NotAPoint));
    }

    #[test]
    fn a_private_key_shows_only_its_fingerprint() {
        let text = format!("{:?}", key(7));
        assert!(text.starts_with("PrivateKey(SHA256:"), "{text}");
        assert!(!text.contains("7, 7"), "{text}");
    }
}
