//! Signatures that `ssh-keygen -Y verify` checks (OpenSSH's PROTOCOL.sshsig).

use data_encoding::BASE64;
use sha2::{Digest as _, Sha256, Sha512};

use crate::key::{PrivateKey, PublicKey, Signature};
use crate::public::from_ssh_blob;
use crate::wire::{Reader, push_string};

/// What our signatures are for. A signature of the same key for git or for e-mail has another namespace.
pub const NAMESPACE: &str = "proofmark";

/// A signature with the key that it says it is by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature {
    key: PublicKey,
    namespace: String,
    hash: Hash,
    signature: Signature,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha512,
}

/// It is no signature, or not one of this file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshSigError {
    #[error("it is no SSH signature: expected `-----BEGIN SSH SIGNATURE-----`")]
    NotASignature,
    #[error("the SSH signature is damaged: {0}")]
    Damaged(&'static str),
    #[error("the SSH signature is of another kind: {0}")]
    Unsupported(&'static str),
    #[error("the SSH signature is for `{found}`, not for `{wanted}`")]
    Namespace { found: String, wanted: String },
    #[error("the SSH signature does not fit the file")]
    Mismatch,
}

const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const KEY_TYPE: &[u8] = b"ssh-ed25519";
/// No more than this is read of a signature.
pub const MAX_SIGNATURE: usize = 16 << 10;
const MAX_NAMESPACE: usize = 256;

impl SshSignature {
    /// Signs a file's bytes, as `ssh-keygen -Y sign` does.
    pub fn sign(key: &PrivateKey, namespace: &str, message: &[u8]) -> Self {
        let hash = Hash::Sha512;
        let signature = key.sign_raw(&signed_bytes(namespace, hash, message));
        Self { key: key.public(), namespace: namespace.to_owned(), hash, signature }
    }

    /// The text of a `.sig` file.
    pub fn to_armour(&self) -> String {
        let mut blob = MAGIC.to_vec();
        blob.extend_from_slice(&1u32.to_be_bytes());
        let mut signature = Vec::new();
        push_string(KEY_TYPE, &mut signature);
        push_string(self.signature.as_bytes(), &mut signature);
        for part in [&self.key.ssh_blob()[..], self.namespace.as_bytes(), b"", self.hash.name(), &signature] {
            push_string(part, &mut blob);
        }
        let base64 = BASE64.encode(&blob);
        let mut out = format!("{BEGIN}\n");
        for line in base64.as_bytes().chunks(70) {
            out.push_str(&String::from_utf8_lossy(line));
            out.push('\n');
        }
        out.push_str(END);
        out.push('\n');
        out
    }

    /// Reads the text of a `.sig` file. Nothing is known of its truth then.
    pub fn parse(text: &[u8]) -> Result<Self, SshSigError> {
        if text.len() > MAX_SIGNATURE {
            return Err(SshSigError::Damaged("it is too long"));
        }
        let text = std::str::from_utf8(text).map_err(|_| SshSigError::NotASignature)?;
        let body = text.trim_end().strip_prefix(BEGIN).ok_or(SshSigError::NotASignature)?;
        let body = body.strip_suffix(END).ok_or(SshSigError::Damaged("its end is missing"))?;
        let base64: Vec<u8> = body.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
        let blob = BASE64.decode(&base64).map_err(|_| SshSigError::Damaged("the base64 is not"))?;
        read(&blob)
    }

    /// Checks that it is for these bytes and this namespace, and returns the key that made it.
    ///
    /// Whether that key is believed is another question.
    pub fn verify(&self, namespace: &str, message: &[u8]) -> Result<&PublicKey, SshSigError> {
        if self.namespace != namespace {
            return Err(SshSigError::Namespace { found: self.namespace.clone(), wanted: namespace.to_owned() });
        }
        let bytes = signed_bytes(namespace, self.hash, message);
        self.key.verify_raw(&bytes, &self.signature).map_err(|_| SshSigError::Mismatch)?;
        Ok(&self.key)
    }
}

fn read(blob: &[u8]) -> Result<SshSignature, SshSigError> {
    const CUT: SshSigError = SshSigError::Damaged("it is cut off");
    let mut reader = Reader::new(blob);
    if reader.take(MAGIC.len()) != Some(MAGIC) {
        return Err(SshSigError::NotASignature);
    }
    if reader.number().ok_or(CUT)? != 1 {
        return Err(SshSigError::Unsupported("its version"));
    }
    let key = from_ssh_blob(reader.string().ok_or(CUT)?).map_err(|_| SshSigError::Unsupported("its key"))?;
    let namespace = reader.string().ok_or(CUT)?;
    let reserved = reader.string().ok_or(CUT)?;
    let hash = match reader.string().ok_or(CUT)? {
        b"sha256" => Hash::Sha256,
        b"sha512" => Hash::Sha512,
        _ => return Err(SshSigError::Unsupported("its hash")),
    };
    let mut inner = Reader::new(reader.string().ok_or(CUT)?);
    if !reader.is_empty() {
        return Err(SshSigError::Damaged("something follows it"));
    }
    // What stands there is not signed as we sign it; OpenSSH writes nothing.
    if !reserved.is_empty() {
        return Err(SshSigError::Unsupported("a reserved field"));
    }
    let namespace = std::str::from_utf8(namespace).ok().filter(|text| (1..=MAX_NAMESPACE).contains(&text.len()));
    let namespace = namespace.ok_or(SshSigError::Damaged("its namespace is none"))?.to_owned();
    if inner.string().ok_or(CUT)? != KEY_TYPE {
        return Err(SshSigError::Unsupported("its algorithm"));
    }
    let signature = inner.string().and_then(|bytes| bytes.try_into().ok()).ok_or(CUT)?;
    if !inner.is_empty() {
        return Err(SshSigError::Damaged("something follows it"));
    }
    Ok(SshSignature { key, namespace, hash, signature: Signature::from_bytes(signature) })
}

/// What is signed: the hash of the message with everything that says what it is for.
fn signed_bytes(namespace: &str, hash: Hash, message: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for part in [namespace.as_bytes(), b"", hash.name(), &hash.of(message)] {
        push_string(part, &mut out);
    }
    out
}

impl Hash {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Sha256 => b"sha256",
            Self::Sha512 => b"sha512",
        }
    }

    fn of(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(message).to_vec(),
            Self::Sha512 => Sha512::digest(message).to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::from_secret(&[1; 32])
    }

    fn blob(signature: &SshSignature) -> Vec<u8> {
        let base64: String = signature.to_armour().lines().filter(|line| !line.starts_with('-')).collect();
        BASE64.decode(base64.as_bytes()).unwrap()
    }

    #[test]
    fn a_signature_comes_back_and_holds_for_its_file_and_namespace() {
        let signature = SshSignature::sign(&key(), NAMESPACE, b"hello");
        let again = SshSignature::parse(signature.to_armour().as_bytes()).unwrap();
        assert_eq!(again, signature);
        assert_eq!(again.verify(NAMESPACE, b"hello"), Ok(&key().public()));
        assert_eq!(again.verify(NAMESPACE, b"hello\n"), Err(SshSigError::Mismatch));
        assert!(matches!(again.verify("git", b"hello"), Err(SshSigError::Namespace { .. })));
        assert!(signature.to_armour().lines().all(|line| line.len() <= 70));
    }

    #[test]
    fn a_signature_over_sha256_is_read_too() {
        let signature = key().sign_raw(&signed_bytes("file", Hash::Sha256, b"x"));
        let made = SshSignature { key: key().public(), namespace: "file".to_owned(), hash: Hash::Sha256, signature };
        let again = SshSignature::parse(made.to_armour().as_bytes()).unwrap();
        assert!(again.verify("file", b"x").is_ok());
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let whole = blob(&SshSignature::sign(&key(), NAMESPACE, b"hello"));
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let found = read(&bytes).and_then(|signature| signature.verify(NAMESPACE, b"hello").cloned());
            assert!(found.is_err(), "bit {at}");
        }
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(read(&[&whole[..], b"x"].concat()).is_err());
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        for text in ["", "hello", BEGIN, "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"] {
            assert!(SshSignature::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(SshSignature::parse(&[b'A'; MAX_SIGNATURE + 1]).is_err());
        assert!(SshSignature::parse(b"\xff").is_err());
    }
}
