//! Private keys as files: PKCS#8 in PEM, with a passphrase or without.

use pkcs8::der::asn1::{AnyRef, OctetStringRef};
use pkcs8::der::{Decode as _, Encode as _, SecretDocument};
use pkcs8::pkcs5::pbes2::{self, Kdf, Pbkdf2Prf};
use pkcs8::pkcs5::{self, EncryptionScheme, scrypt};
use pkcs8::spki::AlgorithmIdentifier;
use pkcs8::{EncryptedPrivateKeyInfoRef, LineEnding, ObjectIdentifier, PrivateKeyInfoRef};
use zeroize::Zeroizing;

use crate::key::{PrivateKey, PublicKey};
use crate::openssh;
use crate::passphrase::Passphrase;

/// No more than this is read of a key file.
pub const MAX_KEY_FILE: usize = 64 << 10;

/// A key file that was read and may not have been opened.
pub struct KeyFile(Form);

enum Form {
    /// PKCS#8 as it is.
    Plain(SecretDocument),
    /// PKCS#8 behind a passphrase.
    Encrypted(SecretDocument),
    /// The form of OpenSSH, without a passphrase.
    OpenSsh(PrivateKey),
}

/// A key out of its file.
#[derive(Debug)]
pub struct Opened {
    pub key: PrivateKey,
    /// Why the file protects the key badly.
    pub weakness: Option<Weakness>,
}

/// Passphrases of this file can be tried too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// PBKDF2 with so few iterations.
    Pbkdf2(u32),
    /// scrypt with so little work: N × r × p.
    Scrypt(u64),
}

impl std::fmt::Display for Weakness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pbkdf2(iterations) => write!(f, "PBKDF2 with {iterations} iterations"),
            Self::Scrypt(work) => write!(f, "scrypt with N × r × p = {work}"),
        }
    }
}

/// The file gives no key. Nothing of a key or a passphrase is in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    #[error("it is no private key in PEM: expected `-----BEGIN ENCRYPTED PRIVATE KEY-----`")]
    NotAKey,
    #[error("it is a public key; the private one is needed")]
    Public,
    #[error("it is larger than {MAX_KEY_FILE} bytes")]
    TooLarge,
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error("it holds a key for {0}; only Ed25519 is supported")]
    Algorithm(String),
    #[error("its form `{0}` is not supported")]
    Form(&'static str),
    #[error("its public half does not fit its private half")]
    Halves,
    #[error("it is protected by {0}, which is not supported")]
    Protection(&'static str),
    #[error("opening it would take more memory or time than any honest key file needs")]
    Costly,
    #[error("it needs a passphrase")]
    Locked,
    #[error("the passphrase does not open it")]
    WrongPassphrase,
}

impl KeyFileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotAKey | Self::Form(_) => {
                "PKCS#8 is wanted: `openssl pkcs8 -topk8 -scrypt -in OLD -out NEW` makes it of other PEM files"
            }
            Self::Public => "give the file that the key was made in, not the one that is handed out",
            Self::Algorithm(_) => "make one with `proofmark keys new NAME --role ROLE`",
            Self::Protection("an OpenSSH passphrase") => {
                "take the passphrase off a copy, `ssh-keygen -p -N '' -f COPY`, import that, and delete it"
            }
            Self::Protection(_) | Self::Costly => {
                "protect it anew: `openssl pkcs8 -topk8 -scrypt -in OLD -out NEW`, then import that"
            }
            Self::Locked => "type it at a terminal, or give `--passphrase-file` or PROOFMARK_KEY_PASSPHRASE",
            Self::WrongPassphrase => "try again; nobody can open the key without its passphrase, and no copy is kept",
            _ => return None,
        })
    }
}

const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
/// The identifier of PBES2, 1.2.840.113549.1.5.13, as DER has it.
const PBES2: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 0x0d];
const ENCRYPTED_LABEL: &str = "ENCRYPTED PRIVATE KEY";
const PLAIN_LABEL: &str = "PRIVATE KEY";

/// Writes a key as PKCS#8 v1, which OpenSSL 3.0 reads (it refuses v2). `noise` is 32 fresh random bytes.
///
/// With a passphrase: PBES2 with scrypt, N = 2^14, r = 8, p = 5, and AES-256-CBC. A larger N cannot be opened by OpenSSL.
pub fn seal(key: &PrivateKey, passphrase: Option<&Passphrase>, noise: &[u8; 32]) -> Zeroizing<String> {
    let secret = key.secret();
    // RFC 8410 §7: an octet string within the octet string.
    let mut inner = Zeroizing::new([0; 34]);
    inner[..2].copy_from_slice(&[0x04, 0x20]);
    inner[2..].copy_from_slice(&secret[..]);
    let sealed = || -> pkcs8::Result<Zeroizing<String>> {
        let algorithm = AlgorithmIdentifier { oid: ED25519, parameters: None };
        let info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(&inner[..])?);
        Ok(match passphrase {
            None => {
                let der = Zeroizing::new(info.to_der()?);
                SecretDocument::try_from(&der[..])?.to_pem(PLAIN_LABEL, LineEnding::LF)?
            }
            Some(passphrase) => {
                let (salt, iv) = noise.split_at(16);
                let iv = iv.try_into().expect("16 of 32 bytes");
                let cost = scrypt::Params::new(14, 8, 5).expect("fixed and valid");
                let parameters = pbes2::Parameters::generate_scrypt_aes256cbc(cost, salt, iv)?;
                info.encrypt_with_params(parameters, passphrase.as_bytes())?.to_pem(ENCRYPTED_LABEL, LineEnding::LF)?
            }
        })
    };
    sealed().expect("fixed sizes that all fit")
}

impl KeyFile {
    pub fn parse(text: &[u8]) -> Result<Self, KeyFileError> {
        if text.len() > MAX_KEY_FILE {
            return Err(KeyFileError::TooLarge);
        }
        let text = std::str::from_utf8(text).map_err(|_| KeyFileError::NotAKey)?.trim();
        let label = text.strip_prefix("-----BEGIN ").and_then(|rest| rest.split_once("-----")).map(|(label, _)| label);
        let form: fn(SecretDocument) -> Form = match label {
            Some(ENCRYPTED_LABEL) => Form::Encrypted,
            Some(PLAIN_LABEL) => Form::Plain,
            Some("OPENSSH PRIVATE KEY") => return openssh::parse(text).map(|key| Self(Form::OpenSsh(key))),
            Some("PUBLIC KEY") => return Err(KeyFileError::Public),
            Some("RSA PRIVATE KEY") => return Err(KeyFileError::Algorithm("RSA".to_owned())),
            Some("EC PRIVATE KEY") => return Err(KeyFileError::Algorithm("ECDSA".to_owned())),
            _ if text.starts_with("ssh-ed25519 ") => return Err(KeyFileError::Public),
            _ => return Err(KeyFileError::NotAKey),
        };
        // The decoder wants a line end after the last line.
        let text = Zeroizing::new(format!("{text}\n"));
        let (_, document) = SecretDocument::from_pem(&text).map_err(|_| KeyFileError::Damaged("the PEM is not"))?;
        Ok(Self(form(document)))
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.0, Form::Encrypted(_))
    }

    /// The key. A passphrase for a file without one is of no use and does no harm.
    pub fn open(&self, passphrase: Option<&Passphrase>) -> Result<Opened, KeyFileError> {
        match &self.0 {
            Form::Plain(document) => Ok(Opened { key: read_info(document.as_bytes())?, weakness: None }),
            Form::OpenSsh(key) => Ok(Opened { key: PrivateKey::from_secret(&key.secret()), weakness: None }),
            Form::Encrypted(document) => decrypt(document.as_bytes(), passphrase),
        }
    }
}

impl std::fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyFile").field("is_encrypted", &self.is_encrypted()).finish_non_exhaustive()
    }
}

fn decrypt(der: &[u8], passphrase: Option<&Passphrase>) -> Result<Opened, KeyFileError> {
    const MALFORMED: KeyFileError = KeyFileError::Damaged("the PKCS#8 is not");
    if !der.windows(PBES2.len()).any(|window| window == PBES2) {
        return Err(KeyFileError::Protection("an old or unknown scheme"));
    }
    let info = EncryptedPrivateKeyInfoRef::from_der(der).map_err(|_| MALFORMED)?;
    let EncryptionScheme::Pbes2(parameters) = &info.encryption_algorithm else {
        return Err(KeyFileError::Protection("an old or unknown scheme"));
    };
    let weakness = check_cost(&parameters.kdf)?;
    let passphrase = passphrase.ok_or(KeyFileError::Locked)?;
    let mut buffer = Zeroizing::new(info.encrypted_data.as_bytes().to_vec());
    let plain = parameters.decrypt_in_place(passphrase.as_bytes(), &mut buffer).map_err(|error| match error {
        pkcs5::Error::DecryptFailed => KeyFileError::WrongPassphrase,
        pkcs5::Error::UnsupportedAlgorithm { .. } => KeyFileError::Protection("this cipher"),
        _ => MALFORMED,
    })?;
    // One wrong passphrase in 256 leaves a padding that looks right, and then something that is no key.
    let key = read_info(plain).map_err(|error| match error {
        KeyFileError::Damaged(_) => KeyFileError::WrongPassphrase,
        other => other,
    })?;
    Ok(Opened { key, weakness })
}

/// The most memory that opening a file may take.
const MAX_SCRYPT_BYTES: u64 = 256 << 20;
/// The most work: N × r × p. Ours takes 655,360.
const MAX_SCRYPT_WORK: u64 = 1 << 24;
const LEAST_SCRYPT_WORK: u64 = (1 << 14) * 8;
const MAX_ITERATIONS: u32 = 10_000_000;
const LEAST_ITERATIONS: u32 = 100_000;

/// Refuses what would stall us, before anything is tried.
fn check_cost(kdf: &Kdf) -> Result<Option<Weakness>, KeyFileError> {
    match kdf {
        Kdf::Scrypt(scrypt) => {
            let (n, r, p) = (scrypt.cost_parameter, u64::from(scrypt.block_size), u64::from(scrypt.parallelization));
            if n < 2 || !n.is_power_of_two() || r == 0 || p == 0 {
                return Err(KeyFileError::Damaged("its scrypt parameters are none"));
            }
            let memory = n.checked_mul(r * 128).ok_or(KeyFileError::Costly)?;
            let work = n.checked_mul(r * p).ok_or(KeyFileError::Costly)?;
            if memory > MAX_SCRYPT_BYTES || work > MAX_SCRYPT_WORK {
                return Err(KeyFileError::Costly);
            }
            Ok((work < LEAST_SCRYPT_WORK).then_some(Weakness::Scrypt(work)))
        }
        Kdf::Pbkdf2(pbkdf2) => match pbkdf2.iteration_count {
            _ if pbkdf2.prf == Pbkdf2Prf::HmacWithSha1 => Err(KeyFileError::Protection("PBKDF2 with SHA-1")),
            0 => Err(KeyFileError::Damaged("its PBKDF2 parameters are none")),
            few @ 1..LEAST_ITERATIONS => Ok(Some(Weakness::Pbkdf2(few))),
            LEAST_ITERATIONS..=MAX_ITERATIONS => Ok(None),
            _ => Err(KeyFileError::Costly),
        },
        _ => Err(KeyFileError::Protection("an unknown derivation")),
    }
}

/// The key out of PKCS#8, of version 1 or 2.
fn read_info(der: &[u8]) -> Result<PrivateKey, KeyFileError> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(|_| KeyFileError::Damaged("the PKCS#8 is not"))?;
    if info.algorithm.oid != ED25519 {
        return Err(KeyFileError::Algorithm(algorithm_name(info.algorithm.oid)));
    }
    let parameters: Option<AnyRef<'_>> = info.algorithm.parameters;
    if parameters.is_some() {
        return Err(KeyFileError::Damaged("Ed25519 has no parameters"));
    }
    let secret: &[u8; 32] = match info.private_key.as_bytes() {
        [0x04, 0x20, secret @ ..] => secret.try_into().ok(),
        _ => None,
    }
    .ok_or(KeyFileError::Damaged("the key does not have 32 bytes"))?;
    let key = PrivateKey::from_secret(secret);
    if let Some(public) = info.public_key {
        let public = public.as_bytes().and_then(|bytes| <&[u8; 32]>::try_from(bytes).ok());
        if public.and_then(|bytes| PublicKey::from_bytes(bytes).ok()) != Some(key.public()) {
            return Err(KeyFileError::Halves);
        }
    }
    Ok(key)
}

fn algorithm_name(oid: ObjectIdentifier) -> String {
    match oid.to_string().as_str() {
        "1.2.840.113549.1.1.1" => "RSA",
        "1.2.840.10045.2.1" => "ECDSA",
        "1.2.840.10040.4.1" => "DSA",
        "1.3.101.110" => "X25519",
        "1.3.101.113" => "Ed448",
        other => return format!("`{other}`"),
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
