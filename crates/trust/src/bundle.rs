//! Sigstore bundles, version 0.3, with a plain key: what `cosign verify-blob-attestation --key` reads.

use proofmark_canon::json;
use serde::{Deserialize, Serialize};

use crate::dsse::{DsseError, Envelope, EnvelopeFile, MAX_ENVELOPE};
use crate::key::Fingerprint;

/// An envelope with one signature, and a hint to the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle(Envelope);

/// It is no bundle of ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    #[error("the bundle is larger than {MAX_ENVELOPE} bytes")]
    TooLarge,
    #[error("the bundle is not JSON")]
    Json(#[source] json::ParseError),
    #[error("the bundle does not have the shape of one with a plain key")]
    Shape(#[source] json::ShapeError),
    #[error("the bundle is `{0}`, expected `{MEDIA_TYPE}`")]
    MediaType(String),
    #[error("the bundle's envelope cannot be used")]
    Envelope(#[from] DsseError),
    #[error("the bundle has {0} signatures, expected one")]
    Signatures(usize),
    #[error("the bundle's hint is `{hint}`, but its signature is by {signer}")]
    Hint { hint: String, signer: Fingerprint },
}

/// More than any bundle with a plain key has, with a few signatures too many: so that it is told what is wrong with it.
const MAX_VALUES: usize = 256;
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BundleFile {
    dsse_envelope: EnvelopeFile,
    media_type: String,
    verification_material: Material,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Material {
    public_key: KeyHint,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyHint {
    hint: String,
}

impl Bundle {
    /// Wraps an envelope with one signature.
    pub fn new(envelope: Envelope) -> Result<Self, BundleError> {
        match envelope.signers().count() {
            1 => Ok(Self(envelope)),
            other => Err(BundleError::Signatures(other)),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        if bytes.len() > MAX_ENVELOPE {
            return Err(BundleError::TooLarge);
        }
        let value = json::parse_bounded(bytes, MAX_VALUES).map_err(BundleError::Json)?;
        let file: BundleFile = json::from_value(&value).map_err(BundleError::Shape)?;
        if file.media_type != MEDIA_TYPE {
            return Err(BundleError::MediaType(file.media_type.chars().take(200).collect()));
        }
        let bundle = Self::new(Envelope::from_file(file.dsse_envelope)?)?;
        let (hint, signer) = (file.verification_material.public_key.hint, bundle.signer());
        if hint != signer.to_string() {
            return Err(BundleError::Hint { hint: hint.chars().take(200).collect(), signer });
        }
        Ok(bundle)
    }

    /// Canonical JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        let file = BundleFile {
            dsse_envelope: self.0.to_file(),
            media_type: MEDIA_TYPE.to_owned(),
            verification_material: Material { public_key: KeyHint { hint: self.signer().to_string() } },
        };
        proofmark_canon::to_vec(&file).expect("texts alone")
    }

    pub fn envelope(&self) -> &Envelope {
        &self.0
    }

    /// Who says to have signed.
    pub fn signer(&self) -> Fingerprint {
        *self.0.signers().next().expect("`new` counted one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::IN_TOTO;
    use crate::key::PrivateKey;
    use crate::policy::Distrust;

    fn key() -> PrivateKey {
        PrivateKey::from_secret(&[1; 32])
    }

    fn bundle() -> Bundle {
        Bundle::new(Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key()])).unwrap()
    }

    fn check(bytes: &[u8]) -> Result<(), String> {
        let public = key().public();
        let bundle = Bundle::parse(bytes).map_err(|error| error.to_string())?;
        let find = |signer: &Fingerprint| {
            if *signer == public.fingerprint() { Ok(&public) } else { Err(Distrust::Unknown(*signer)) }
        };
        bundle.envelope().verify(IN_TOTO, find).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bundle_comes_back_and_every_flipped_bit_is_refused() {
        let bytes = bundle().to_bytes();
        assert_eq!(Bundle::parse(&bytes).unwrap(), bundle());
        assert_eq!(check(&bytes), Ok(()));
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(check(&changed).is_err(), "bit {at}");
        }
    }

    #[test]
    fn it_has_the_names_that_sigstore_gives() {
        let value: serde_json::Value = serde_json::from_slice(&bundle().to_bytes()).unwrap();
        assert_eq!(value["mediaType"], MEDIA_TYPE);
        assert_eq!(value["verificationMaterial"]["publicKey"]["hint"], key().public().fingerprint().to_string());
        assert_eq!(value["dsseEnvelope"]["payloadType"], IN_TOTO);
        assert_eq!(value["dsseEnvelope"]["signatures"][0]["keyid"], key().public().fingerprint().to_string());
    }

    #[test]
    fn two_signatures_or_none_are_refused() {
        let other = PrivateKey::from_secret(&[2; 32]);
        let two = Envelope::sign(IN_TOTO, b"{}".to_vec(), &[&key(), &other]);
        assert!(matches!(Bundle::new(two), Err(BundleError::Signatures(2))));
        assert!(matches!(Bundle::new(Envelope::sign(IN_TOTO, Vec::new(), &[])), Err(BundleError::Signatures(0))));
    }
}
