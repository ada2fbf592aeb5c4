//! Certificates of an authority that nobody knows, made when a test needs them.
//!
//! X.509 as RFC 5280 has it, in the few forms that a test needs: P-256 keys, one name, no intermediates.

use data_encoding::BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

/// Signs certificates. No system trusts it.
pub struct Authority {
    name: String,
    own: Identity,
}

/// A certificate with its key, in DER.
pub struct Identity {
    pub(crate) certificate: Vec<u8>,
    /// PKCS #8.
    pub(crate) key: Vec<u8>,
}

/// When a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// Until 2049, the last year that two digits can name.
    Now,
    /// It ended in 2001.
    Past,
    /// It begins in 2049.
    Future,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = new_key();
        // Basic constraints (2.5.29.19), critical: an authority.
        let extension = sequence(&[
            &tlv(OID, &[0x55, 0x1d, 19]),
            &tlv(BOOLEAN, &[0xff]),
            &tlv(OCTETS, &sequence(&[&tlv(BOOLEAN, &[0xff])])),
        ]);
        let certificate = sign((name, &key), (name, &key), Validity::Now, &extension);
        Self { name: name.to_owned(), own: Identity { certificate, key } }
    }

    /// The certificate as a file of trusted ones holds it.
    pub fn pem(&self) -> String {
        let text = BASE64.encode(&self.own.certificate);
        let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    /// Its own certificate, which no server should show.
    pub fn own(&self) -> &Identity {
        &self.own
    }

    /// Signs a certificate for a host.
    pub fn issue(&self, host: &str, validity: Validity) -> Identity {
        let key = new_key();
        // Subject alternative name (2.5.29.17): a name of DNS.
        let names = sequence(&[&tlv(DNS_NAME, host.as_bytes())]);
        let extension = sequence(&[&tlv(OID, &[0x55, 0x1d, 17]), &tlv(OCTETS, &names)]);
        Identity { certificate: sign((host, &key), (&self.name, &self.own.key), validity, &extension), key }
    }
}

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const DNS_NAME: u8 = 0x82;

/// A name and a key, of whom it is for and of whom it is by.
type Party<'a> = (&'a str, &'a [u8]);

fn sign(subject: Party<'_>, issuer: Party<'_>, validity: Validity, extension: &[u8]) -> Vec<u8> {
    // ecdsa-with-SHA256, id-ecPublicKey, prime256v1.
    let algorithm = sequence(&[&tlv(OID, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])]);
    let curve = sequence(&[
        &tlv(OID, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]),
        &tlv(OID, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]),
    ]);
    let (from, to) = match validity {
        Validity::Now => ("200101000000Z", "491231235959Z"),
        Validity::Past => ("000101000000Z", "010101000000Z"),
        Validity::Future => ("490101000000Z", "491231235959Z"),
    };
    let tbs = sequence(&[
        // Version 3.
        &tlv(0xa0, &tlv(INTEGER, &[2])),
        &tlv(INTEGER, &[1]),
        &algorithm,
        &name(issuer.0),
        &sequence(&[&tlv(UTC_TIME, from.as_bytes()), &tlv(UTC_TIME, to.as_bytes())]),
        &name(subject.0),
        &sequence(&[&curve, &bits(pair(subject.1).public_key().as_ref())]),
        &tlv(0xa3, &sequence(&[extension])),
    ]);
    let signature = pair(issuer.1).sign(&SystemRandom::new(), &tbs).expect("bytes that can be signed");
    sequence(&[&tbs, &algorithm, &bits(signature.as_ref())])
}

fn new_key() -> Vec<u8> {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
    key.expect("a new key").as_ref().to_vec()
}

fn pair(key: &[u8]) -> EcdsaKeyPair {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key, &SystemRandom::new()).expect("a key of ours")
}

/// A name with nothing but a common name (2.5.4.3).
fn name(common: &str) -> Vec<u8> {
    let pair = sequence(&[&tlv(OID, &[0x55, 4, 3]), &tlv(UTF8, common.as_bytes())]);
    sequence(&[&tlv(SET, &pair)])
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    // No bit of the last byte is unused.
    tlv(BITS, &[&[0], bytes].concat())
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(SEQUENCE, &parts.concat())
}

/// One value of DER: its tag, its length, itself.
fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).expect("certificates are short").to_be_bytes();
    let head = match length {
        [0, short @ ..=127] => vec![tag, short],
        [0, byte] => vec![tag, 0x81, byte],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [&head, value].concat()
}
