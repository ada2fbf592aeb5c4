//! `trust.json`: which keys may act as what, from when to when.

use std::collections::BTreeMap;

use proofmark_canon::Digest;
use serde::{Deserialize, Serialize};

use crate::key::{Fingerprint, PublicKey};

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sign judgments.
    Judge,
    /// Sign what a machine that runs evaluations says.
    Runner,
    /// Sign packages.
    Submitter,
    /// Sign verdicts on packages of others.
    Verifier,
}

/// Why a key is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Distrust {
    #[error("{0} is not in the trust file")]
    Unknown(Fingerprint),
    #[error("{0} may not act as {1:?}")]
    Role(Fingerprint, Role),
    #[error("{0} was not valid yet at {1}")]
    TooEarly(Fingerprint, String),
    #[error("{0} was not valid any more at {1}")]
    Expired(Fingerprint, String),
    #[error("{0} was revoked")]
    Revoked(Fingerprint),
}

/// Whom one believes.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    keys: BTreeMap<Fingerprint, (PublicKey, Vec<Role>)>,
}

impl Trust {
    /// Believes one key in one role, always.
    #[must_use]
    pub fn with(mut self, key: PublicKey, role: Role) -> Self {
        self.keys.entry(key.fingerprint()).or_insert_with(|| (key, Vec::new())).1.push(role);
        self
    }

    /// The key, if it may act in a role at a moment (RFC 3339, in UTC).
    pub fn key(&self, signer: &Fingerprint, role: Role, _at: &str) -> Result<&PublicKey, Distrust> {
        let (key, roles) = self.keys.get(signer).ok_or(Distrust::Unknown(*signer))?;
        if roles.contains(&role) { Ok(key) } else { Err(Distrust::Role(*signer, role)) }
    }

    /// Names the trust that a verdict rests on.
    pub fn digest(&self) -> Digest {
        Digest::of(self.keys.keys().map(ToString::to_string).collect::<String>().as_bytes())
    }
}
