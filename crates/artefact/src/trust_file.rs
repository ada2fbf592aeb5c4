//! The shape of `trust.json`. What it means is the business of the crate `trust`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub const TRUST_FORMAT: &str = "proofmark.trust";
pub const TRUST_VERSION: u32 = 1;

/// Which keys may act as what, from when to when
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustFile {
    /// Always `proofmark.trust`
    #[schemars(regex(pattern = r"^proofmark\.trust$"))]
    pub format: String,
    /// Always 1
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// Each key once
    pub keys: Vec<KeyEntry>,
}

/// One key and what it may do
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// What people call it; no two keys have one name
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$"))]
    pub name: String,
    /// What `ssh-keygen -l` shows of the key; it must fit `public_key`
    #[schemars(regex(pattern = r"^SHA256:[A-Za-z0-9+/]{43}$"))]
    pub fingerprint: String,
    /// The key as OpenSSH writes it; a comment may follow
    #[schemars(regex(pattern = r"^ssh-ed25519 [A-Za-z0-9+/]{68}( .*)?$"))]
    pub public_key: String,
    /// What it may do
    #[schemars(length(min = 1))]
    pub roles: Vec<Role>,
    /// Not believed for anything before this moment
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"))]
    pub not_before: Option<String>,
    /// Not believed for anything after this moment
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"))]
    pub not_after: Option<String>,
    /// Since when it is not used any more, and why
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<RevocationEntry>,
}

/// When a key was given up, and why
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevocationEntry {
    /// Not believed from this moment on
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"))]
    pub at: String,
    /// `compromised`: not believed for what came before either
    pub reason: Reason,
}

/// Gives each variant its word, as files and commands have it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$each:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$each])* $variant,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let words = || Self::ALL.iter().map(|one| one.word()).collect::<Vec<_>>().join(", ");
                let found = Self::ALL.iter().find(|one| one.word() == text);
                found.copied().ok_or_else(|| format!("expected {}: {}", $what, words()))
            }
        }
    };
}

words! {
    /// What a key may do
    Role, "a role" {
        /// Sign judgments
        Judge = "judge",
        /// Sign what a machine that runs evaluations says
        Runner = "runner",
        /// Sign packages
        Submitter = "submitter",
        /// Sign verdicts on packages of others
        Verifier = "verifier",
    }
}

words! {
    /// Why a key was given up
    Reason, "a reason" {
        /// Somebody else may have it: nothing it ever signed is believed
        Compromised = "compromised",
        /// Another key has taken its place: what it signed before is believed
        Superseded = "superseded",
        /// It is not needed any more: what it signed before is believed
        Retired = "retired",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file() {
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).unwrap(), role.word());
            assert_eq!(role.word().parse(), Ok(*role));
        }
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
        assert_eq!("king".parse::<Role>().unwrap_err(), "expected a role: judge, runner, submitter, verifier");
    }
}
