//! Public keys as others write them: a line of OpenSSH, or PEM.

use data_encoding::{BASE64, BASE64_NOPAD};
use pkcs8::der::Document;

use crate::key::{KeyError, PublicKey};
use crate::wire::Reader;

/// No more than this is read of a file with one public key.
pub const MAX_PUBLIC_KEY: u64 = 16 << 10;

/// The text does not hold one Ed25519 key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicKeyError {
    #[error("it is no public key: expected a line `ssh-ed25519 …` or `-----BEGIN PUBLIC KEY-----`")]
    NotAKey,
    #[error("it is a private key; nobody else should ever see it")]
    Private,
    #[error("it is a key for `{0}`; only Ed25519 is supported")]
    Algorithm(String),
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error(transparent)]
    Key(#[from] KeyError),
}

const SSH_TYPE: &str = "ssh-ed25519";
const PEM_LABEL: &str = "PUBLIC KEY";
/// RFC 8410: what comes before the 32 bytes of an Ed25519 key. DER has no second way to say it.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl PublicKey {
    /// The line of an OpenSSH `.pub` file, without a line end. Without a comment there is none.
    pub fn to_ssh_line(&self, comment: &str) -> String {
        let line = format!("{SSH_TYPE} {}", BASE64.encode(&self.ssh_blob()));
        if comment.is_empty() { line } else { format!("{line} {comment}") }
    }

    /// PEM as OpenSSL and everybody else reads it.
    pub fn to_pem(&self) -> String {
        let der = [&SPKI_PREFIX[..], self.as_bytes()].concat();
        format!("-----BEGIN {PEM_LABEL}-----\n{}\n-----END {PEM_LABEL}-----\n", BASE64.encode(&der))
    }

    /// Reads either, and the comment of a line.
    pub fn parse(text: &str) -> Result<(Self, Option<String>), PublicKeyError> {
        let text = text.trim();
        if text.contains("PRIVATE KEY-----") {
            Err(PublicKeyError::Private)
        } else if text.starts_with("-----BEGIN ") {
            Ok((from_pem(text)?, None))
        } else {
            from_ssh_line(text)
        }
    }
}

fn from_ssh_line(line: &str) -> Result<(PublicKey, Option<String>), PublicKeyError> {
    if line.contains(['\n', '\r']) {
        return Err(PublicKeyError::Damaged("expected one line"));
    }
    let mut words = line.splitn(3, [' ', '\t']);
    let (Some(kind), Some(blob)) = (words.next(), words.next()) else { return Err(PublicKeyError::NotAKey) };
    if kind != SSH_TYPE {
        let is_other = ["ssh-", "ecdsa-", "sk-"].iter().any(|start| kind.starts_with(start));
        return Err(if is_other { PublicKeyError::Algorithm(shown(kind)) } else { PublicKeyError::NotAKey });
    }
    // OpenSSH writes whole groups; a blob of 51 bytes needs no padding.
    let blob = BASE64_NOPAD.decode(blob.as_bytes()).map_err(|_| PublicKeyError::Damaged("the base64 is not"))?;
    let comment = words.next().map(str::trim).filter(|comment| !comment.is_empty());
    Ok((from_ssh_blob(&blob)?, comment.map(shown)))
}

/// The key out of what OpenSSH sends.
pub(crate) fn from_ssh_blob(blob: &[u8]) -> Result<PublicKey, PublicKeyError> {
    const CUT: PublicKeyError = PublicKeyError::Damaged("it is cut off");
    let mut reader = Reader::new(blob);
    let kind = reader.string().ok_or(CUT)?;
    if kind != SSH_TYPE.as_bytes() {
        return Err(PublicKeyError::Algorithm(shown(&String::from_utf8_lossy(kind))));
    }
    let key = reader.string().ok_or(CUT)?;
    if !reader.is_empty() {
        return Err(PublicKeyError::Damaged("something follows the key"));
    }
    let key = key.try_into().map_err(|_| PublicKeyError::Damaged("the key does not have 32 bytes"))?;
    Ok(PublicKey::from_bytes(key)?)
}

fn from_pem(text: &str) -> Result<PublicKey, PublicKeyError> {
    if text.len() as u64 > MAX_PUBLIC_KEY {
        return Err(PublicKeyError::Damaged("it is too long"));
    }
    let text = format!("{text}\n");
    let (label, document) = Document::from_pem(&text).map_err(|_| PublicKeyError::Damaged("the PEM is not"))?;
    if label != PEM_LABEL {
        return Err(PublicKeyError::NotAKey);
    }
    let Some(key) = document.as_bytes().strip_prefix(&SPKI_PREFIX) else {
        return Err(PublicKeyError::Algorithm("something else".to_owned()));
    };
    let key = key.try_into().map_err(|_| PublicKeyError::Damaged("the key does not have 32 bytes"))?;
    Ok(PublicKey::from_bytes(key)?)
}

/// A little of what somebody else wrote.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PrivateKey;

    fn key() -> PublicKey {
        PrivateKey::from_secret(&[3; 32]).public()
    }

    #[test]
    fn both_forms_come_back() {
        assert_eq!(PublicKey::parse(&key().to_ssh_line("me@here now")), Ok((key(), Some("me@here now".to_owned()))));
        assert_eq!(PublicKey::parse(&key().to_ssh_line("")), Ok((key(), None)));
        assert_eq!(PublicKey::parse(&format!("\n{}\r\n", key().to_ssh_line(""))), Ok((key(), None)));
        assert_eq!(PublicKey::parse(&key().to_pem()), Ok((key(), None)));
    }

    #[test]
    fn a_changed_character_is_never_the_same_key() {
        for text in [key().to_ssh_line(""), key().to_pem()] {
            for at in 0..text.trim_end().len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(bytes).unwrap();
                if let Ok((found, _)) = PublicKey::parse(&changed) {
                    assert_ne!(found, key(), "{changed}");
                }
            }
        }
    }

    #[test]
    fn other_things_are_told_apart() {
        let weak = {
            let mut blob = key().ssh_blob();
            blob[19..].fill(0);
            format!("ssh-ed25519 {}", BASE64.encode(&blob))
        };
        let longer = format!("ssh-ed25519 {}", BASE64_NOPAD.encode(&[&key().ssh_blob()[..], b"xyz"].concat()));
        for (text, expected) in [
            ("", "it is no public key"),
            ("hello", "it is no public key"),
            ("ssh-rsa AAAAB3NzaC1yc2E= x", "it is a key for `ssh-rsa`"),
            ("ssh-ed25519 AAAA!", "it is damaged: the base64 is not"),
            ("ssh-ed25519 AAAA", "it is damaged: it is cut off"),
            (&weak, "it is a weak key"),
            (&longer, "it is damaged: something follows the key"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "it is a private key"),
            ("-----BEGIN PUBLIC KEY-----\nAAAA\n", "it is damaged: the PEM is not"),
            ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "it is no public key"),
            ("-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n", "it is a key for `something else`"),
        ] {
            let found = PublicKey::parse(text).unwrap_err().to_string();
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }
}
