//! Private keys in OpenSSH's own form, `openssh-key-v1`, without a passphrase.
//!
//! Such a key can be imported; what we write is PKCS#8.

use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::key::PrivateKey;
use crate::keyfile::KeyFileError;
use crate::public::from_ssh_blob;
use crate::wire::Reader;

const MAGIC: &[u8] = b"openssh-key-v1\0";

/// Reads the PEM text, which is trimmed.
pub(crate) fn parse(text: &str) -> Result<PrivateKey, KeyFileError> {
    let body = text
        .strip_prefix("-----BEGIN OPENSSH PRIVATE KEY-----")
        .and_then(|rest| rest.strip_suffix("-----END OPENSSH PRIVATE KEY-----"))
        .ok_or(KeyFileError::Damaged("the PEM is not"))?;
    let base64: Zeroizing<Vec<u8>> =
        Zeroizing::new(body.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect());
    let bytes = BASE64.decode(&base64).map(Zeroizing::new).map_err(|_| KeyFileError::Damaged("the base64 is not"))?;
    read(&bytes)
}

fn read(bytes: &[u8]) -> Result<PrivateKey, KeyFileError> {
    const CUT: KeyFileError = KeyFileError::Damaged("it is cut off");
    let mut outer = Reader::new(bytes);
    if outer.take(MAGIC.len()) != Some(MAGIC) {
        return Err(KeyFileError::Form("of an unknown version of OpenSSH"));
    }
    let (cipher, derivation, _options) =
        (outer.string().ok_or(CUT)?, outer.string().ok_or(CUT)?, outer.string().ok_or(CUT)?);
    if cipher != b"none" || derivation != b"none" {
        return Err(KeyFileError::Protection("an OpenSSH passphrase"));
    }
    if outer.number().ok_or(CUT)? != 1 {
        return Err(KeyFileError::Form("with several keys"));
    }
    let public = from_ssh_blob(outer.string().ok_or(CUT)?).map_err(|error| match error {
        crate::public::PublicKeyError::Algorithm(name) => KeyFileError::Algorithm(format!("`{name}`")),
        _ => KeyFileError::Damaged("its public half is none"),
    })?;
    let mut inner = Reader::new(outer.string().ok_or(CUT)?);
    if !outer.is_empty() {
        return Err(KeyFileError::Damaged("something follows the key"));
    }
    // Two equal numbers, the type, the public half, both halves, the comment, padding 1, 2, 3…
    if inner.number().ok_or(CUT)? != inner.number().ok_or(CUT)? {
        return Err(KeyFileError::Damaged("its check numbers differ"));
    }
    let kind = inner.string().ok_or(CUT)?;
    let (half, pair) = (inner.string().ok_or(CUT)?, inner.string().ok_or(CUT)?);
    inner.string().ok_or(CUT)?;
    let is_padding = inner.rest().iter().enumerate().all(|(at, byte)| usize::from(*byte) == at + 1);
    if kind != b"ssh-ed25519" || !is_padding || inner.rest().len() >= 8 {
        return Err(KeyFileError::Damaged("its inner part is not"));
    }
    let secret = pair.first_chunk::<32>().filter(|_| pair.len() == 64).ok_or(CUT)?;
    let key = PrivateKey::from_secret(secret);
    let fits = |bytes: &[u8]| bytes == key.public().as_bytes();
    if public == key.public() && fits(half) && fits(&pair[32..]) { Ok(key) } else { Err(KeyFileError::Halves) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::push_string;

    fn file(cipher: &[u8], pair: &[u8], public: &[u8], padding: &[u8]) -> String {
        let mut inner = vec![7, 7, 7, 7, 7, 7, 7, 7];
        for part in [&b"ssh-ed25519"[..], &public[19..], pair, b"me@here"] {
            push_string(part, &mut inner);
        }
        inner.extend_from_slice(padding);
        let mut outer = MAGIC.to_vec();
        for part in [cipher, b"none", b""] {
            push_string(part, &mut outer);
        }
        outer.extend_from_slice(&1u32.to_be_bytes());
        push_string(public, &mut outer);
        push_string(&inner, &mut outer);
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", BASE64.encode(&outer))
    }

    #[test]
    fn a_key_without_a_passphrase_is_read_and_every_departure_refused() {
        let key = PrivateKey::from_secret(&[5; 32]);
        let public = key.public().ssh_blob();
        let pair = [&[5; 32][..], key.public().as_bytes()].concat();
        let good = file(b"none", &pair, &public, &[1, 2, 3]);
        assert_eq!(parse(&good).unwrap().public(), key.public());
        assert_eq!(
            parse(&file(b"aes256-ctr", &pair, &public, &[])).unwrap_err(),
            KeyFileError::Protection("an OpenSSH passphrase")
        );
        let mut other = pair.clone();
        other[0] ^= 1;
        assert_eq!(parse(&file(b"none", &other, &public, &[])).unwrap_err(), KeyFileError::Halves);
        assert!(parse(&file(b"none", &pair[..40], &public, &[])).is_err());
        assert!(parse(&file(b"none", &pair, &public, &[2])).is_err());
        // Cut off anywhere, it is an error and never a panic.
        let body = BASE64.decode(good.lines().nth(1).unwrap().as_bytes()).unwrap();
        for cut in 0..body.len() {
            assert!(read(&body[..cut]).is_err(), "{cut}");
        }
    }
}
