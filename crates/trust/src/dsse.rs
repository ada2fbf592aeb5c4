//! Envelopes: bytes of a named type, with signatures over both (DSSE v1).

use data_encoding::BASE64;
use proofmark_canon::json;
use serde::{Deserialize, Serialize};

use crate::key::{Fingerprint, PrivateKey, PublicKey, Signature};
use crate::policy::Distrust;

/// Bytes and who signed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    signatures: Vec<(Fingerprint, Signature)>,
}

/// It is no envelope, or its signatures do not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DsseError {
    #[error("the envelope is larger than {MAX_ENVELOPE} bytes")]
    TooLarge,
    #[error("the envelope is not JSON")]
    Json(#[source] json::ParseError),
    #[error("the envelope does not have the shape of one")]
    Shape(#[source] json::ShapeError),
    #[error("the envelope's `{0}` is not base64, or not of its length")]
    Base64(&'static str),
    #[error("the envelope's `keyid` is not a fingerprint")]
    KeyId(#[source] crate::key::FormError),
    #[error("the envelope has no signature")]
    Unsigned,
    #[error("the envelope has more than {MAX_SIGNATURES} signatures")]
    TooMany,
    #[error("the envelope has two signatures of {0}")]
    Twice(Fingerprint),
    #[error("the envelope holds `{found}`, expected `{wanted}`")]
    Type { found: String, wanted: String },
    #[error("the signer is not believed")]
    Distrust(#[source] Distrust),
    #[error("the signature of {0} does not fit what the envelope holds")]
    Mismatch(Fingerprint),
}

/// The type of in-toto statements.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";
/// No more than this is read of an envelope.
pub const MAX_ENVELOPE: usize = 64 << 20;
const MAX_SIGNATURES: usize = 16;

/// The envelope as JSON has it. `keyid` is the OpenSSH fingerprint: cosign takes no other text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvelopeFile {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<SignatureFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureFile {
    keyid: String,
    sig: String,
}

impl Envelope {
    pub fn sign(payload_type: &str, payload: Vec<u8>, keys: &[&PrivateKey]) -> Self {
        let message = pre_authentication(payload_type, &payload);
        let signatures = keys.iter().map(|key| (key.public().fingerprint(), key.sign_raw(&message))).collect();
        Self { payload_type: payload_type.to_owned(), payload, signatures }
    }

    /// Reads an envelope. Nothing is known of its truth then.
    pub fn parse(bytes: &[u8]) -> Result<Self, DsseError> {
        if bytes.len() > MAX_ENVELOPE {
            return Err(DsseError::TooLarge);
        }
        let value = json::parse(bytes).map_err(DsseError::Json)?;
        Self::from_file(json::from_value(&value).map_err(DsseError::Shape)?)
    }

    pub(crate) fn from_file(file: EnvelopeFile) -> Result<Self, DsseError> {
        let payload = BASE64.decode(file.payload.as_bytes()).map_err(|_| DsseError::Base64("payload"))?;
        if file.signatures.len() > MAX_SIGNATURES {
            return Err(DsseError::TooMany);
        }
        let mut signatures: Vec<(Fingerprint, Signature)> = Vec::with_capacity(file.signatures.len());
        for SignatureFile { keyid, sig } in file.signatures {
            let signer: Fingerprint = keyid.parse().map_err(DsseError::KeyId)?;
            if signatures.iter().any(|(other, _)| *other == signer) {
                return Err(DsseError::Twice(signer));
            }
            signatures.push((signer, sig.parse().map_err(|_| DsseError::Base64("sig"))?));
        }
        if signatures.is_empty() {
            return Err(DsseError::Unsigned);
        }
        Ok(Self { payload_type: file.payload_type, payload, signatures })
    }

    pub(crate) fn to_file(&self) -> EnvelopeFile {
        let signature = |(signer, signature): &(Fingerprint, Signature)| SignatureFile {
            keyid: signer.to_string(),
            sig: signature.to_string(),
        };
        EnvelopeFile {
            payload: BASE64.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: self.signatures.iter().map(signature).collect(),
        }
    }

    /// Canonical JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        proofmark_canon::to_vec(&self.to_file()).expect("texts alone")
    }

    /// Who says to have signed.
    pub fn signers(&self) -> impl Iterator<Item = &Fingerprint> {
        self.signatures.iter().map(|(signer, _)| signer)
    }

    /// What the envelope holds before anything is known of its truth: to find out when it says it was signed.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// What the envelope holds, if it has the type and every signature is by a key that is believed and fits.
    pub fn verify<'a, 'k>(
        &'a self,
        payload_type: &str,
        mut key_of: impl FnMut(&Fingerprint) -> Result<&'k PublicKey, Distrust>,
    ) -> Result<&'a [u8], DsseError> {
        if self.payload_type != payload_type {
            let found = self.payload_type.chars().take(200).collect();
            return Err(DsseError::Type { found, wanted: payload_type.to_owned() });
        }
        if self.signatures.is_empty() {
            return Err(DsseError::Unsigned);
        }
        let message = pre_authentication(&self.payload_type, &self.payload);
        for (signer, signature) in &self.signatures {
            let key = key_of(signer).map_err(DsseError::Distrust)?;
            if key.fingerprint() != *signer || key.verify_raw(&message, signature).is_err() {
                return Err(DsseError::Mismatch(*signer));
            }
        }
        Ok(&self.payload)
    }
}

/// What is signed: both texts with their lengths, so that nothing can move from one to the other.
fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from_secret(&[seed; 32])
    }

    fn check(bytes: &[u8], keys: &[PublicKey]) -> Result<Vec<u8>, String> {
        let text = |error: DsseError| error.to_string();
        let envelope = Envelope::parse(bytes).map_err(text)?;
        let find = |signer: &Fingerprint| {
            keys.iter().find(|key| key.fingerprint() == *signer).ok_or(Distrust::Unknown(*signer))
        };
        envelope.verify(IN_TOTO, find).map(<[u8]>::to_vec).map_err(text)
    }

    #[test]
    fn what_is_signed_is_the_example_of_the_specification() {
        assert_eq!(
            pre_authentication("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(pre_authentication("ä", b""), "DSSEv1 2 ä 0 ".as_bytes());
    }

    #[test]
    fn an_envelope_comes_back_and_holds() {
        let envelope = Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key(1), &key(2)]);
        let bytes = envelope.to_bytes();
        assert_eq!(Envelope::parse(&bytes).unwrap(), envelope);
        let [one, two] = [key(1).public(), key(2).public()];
        assert_eq!(check(&bytes, &[one.clone(), two]).unwrap(), b"{}");
        // Every signature counts, not one of them.
        assert_eq!(check(&bytes, &[one]).unwrap_err(), "the signer is not believed");
        let other = Envelope::sign("text/plain", b"{}".to_vec(), &[&key(1)]).to_bytes();
        assert!(check(&other, &[key(1).public()]).unwrap_err().contains("expected `application/vnd.in-toto+json`"));
    }

    #[test]
    fn a_key_under_another_name_is_refused() {
        let bytes = Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key(1)]).to_bytes();
        let envelope = Envelope::parse(&bytes).unwrap();
        let other = key(2).public();
        assert!(matches!(envelope.verify(IN_TOTO, |_| Ok(&other)), Err(DsseError::Mismatch(_))));
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let bytes = Envelope::sign(IN_TOTO, br#"{"a":[1,2,3]}"#.to_vec(), &[&key(1)]).to_bytes();
        let keys = [key(1).public()];
        assert!(check(&bytes, &keys).is_ok());
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(check(&changed, &keys).is_err(), "bit {at}");
        }
        for cut in 0..bytes.len() {
            assert!(check(&bytes[..cut], &keys).is_err(), "{cut}");
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        let good = serde_json::to_value(Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key(1)]).to_file()).unwrap();
        let signature = good["signatures"][0].clone();
        for (member, value) in [
            ("signatures", serde_json::json!([])),
            ("signatures", serde_json::json!([signature, signature])),
            ("signatures", serde_json::json!(vec![signature.clone(); 17])),
            ("signatures", serde_json::json!([{"keyid": "", "sig": signature["sig"]}])),
            ("signatures", serde_json::json!([{"keyid": signature["keyid"], "sig": "AAAA"}])),
            ("payload", serde_json::json!("e30")),
            ("payload", serde_json::json!("_-==")),
            ("extra", serde_json::json!(1)),
        ] {
            let mut changed = good.clone();
            changed[member] = value.clone();
            assert!(Envelope::parse(changed.to_string().as_bytes()).is_err(), "{member} {value}");
        }
    }
}
