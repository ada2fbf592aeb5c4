//! The signed list of what a shard holds: its first line.

use proofmark_artefact::judgment::IntegrityReason;
use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, json};
use serde::{Deserialize, Serialize};

use super::entry::{Flaw, trusted_key};
use super::folder::Shard;
use crate::key::{PrivateKey, Purpose, Signature};
use crate::policy::Trust;

const SCHEMA: &str = "proofmark.judge-cache-head/1";
/// The longest list.
pub(super) const MAX_HEAD: usize = 16 << 20;

/// One entry that a list names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    /// Of the entry's line, its signature included.
    pub(super) digest: Digest,
    /// Of the question that it answers.
    pub(super) key: Digest,
}

/// The list, without its signature: what is signed.
#[derive(Serialize)]
struct Claims<'a> {
    entries: &'a [Named],
    schema: &'a str,
    shard: &'a str,
    signer: &'a str,
    store: &'a str,
    written_at: &'a str,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    entries: Vec<Named>,
    schema: String,
    shard: String,
    signature: String,
    signer: String,
    store: String,
    written_at: String,
}

/// Which list is expected.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) shard: Shard,
    pub(super) store: &'a str,
}

/// Signs a list and returns its line.
pub(super) fn sign(
    entries: Vec<Named>,
    place: Place<'_>,
    signer: &PrivateKey,
    now: &str,
) -> Result<Vec<u8>, EncodeError> {
    let mut head = Head {
        entries,
        schema: SCHEMA.to_owned(),
        shard: place.shard.to_string(),
        signature: String::new(),
        signer: signer.public().fingerprint().to_string(),
        store: place.store.to_owned(),
        written_at: now.to_owned(),
    };
    head.signature = signer.sign(Purpose::CacheHead, &head.claims()?).to_string();
    proofmark_canon::to_vec(&head)
}

/// Returns what a list names, if a trusted judge signed it for this place.
pub(super) fn check(line: &[u8], place: Place<'_>, trust: &Trust) -> Result<Vec<Named>, Flaw> {
    let flaw =
        |detail: String| Flaw::new(IntegrityReason::List, format!("the list of shard {}: {detail}", place.shard));
    if line.len() > MAX_HEAD {
        return Err(flaw(format!("it is longer than {MAX_HEAD} bytes")));
    }
    // As with entries: the fast reader first, and one text alone is canonical.
    let head: Head = match serde_json::from_slice(line) {
        Ok(head) => head,
        Err(_) => {
            let value = json::parse(line).map_err(|error| flaw(format!("it is not JSON: {error}")))?;
            json::from_value(&value).map_err(|error| flaw(format!("it is none: {error}")))?
        }
    };
    let by = |detail: String| flaw(detail).by(&head.signer);
    if head.schema != SCHEMA {
        return Err(by("it is of another version".to_owned()));
    }
    if proofmark_canon::to_vec(&head).ok().as_deref() != Some(line) {
        return Err(by("it is not in canonical form".to_owned()));
    }
    if head.shard != place.shard.to_string() || head.store != place.store {
        return Err(by("it is of another shard or another store".to_owned()));
    }
    let key = trusted_key(trust, &head.signer, &head.written_at).map_err(|distrust| by(distrust.detail))?;
    let signature: Signature = head.signature.parse().map_err(|_| by("its signature cannot be read".to_owned()))?;
    let claims = head.claims().map_err(|error| by(error.to_string()))?;
    key.verify(Purpose::CacheHead, &claims, &signature).map_err(|_| by("its signature does not fit".to_owned()))?;
    if head.entries.iter().any(|named| Shard::of(&named.key) != place.shard) {
        return Err(by("it names an entry of another shard".to_owned()));
    }
    let mut digests: Vec<&Digest> = head.entries.iter().map(|named| &named.digest).collect();
    digests.sort_unstable();
    if digests.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(by("it names an entry twice".to_owned()));
    }
    Ok(head.entries)
}

impl Head {
    /// What is signed.
    fn claims(&self) -> Result<Vec<u8>, EncodeError> {
        proofmark_canon::to_vec(&Claims {
            entries: &self.entries,
            schema: &self.schema,
            shard: &self.shard,
            signer: &self.signer,
            store: &self.store,
            written_at: &self.written_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Role;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn named(text: &str) -> Named {
        Named { digest: Digest::of(text.as_bytes()), key: Digest::of(b"key") }
    }

    fn place() -> Place<'static> {
        Place { shard: Shard::of(&Digest::of(b"key")), store: "00" }
    }

    #[test]
    fn a_list_holds_in_its_place_for_those_who_trust_its_signer_and_nowhere_else() {
        let signer = PrivateKey::from_secret(&[1; 32]);
        let line = sign(vec![named("a"), named("b")], place(), &signer, NOW).unwrap();
        let judge = Trust::default().with(signer.public(), Role::Judge);
        assert_eq!(check(&line, place(), &judge).unwrap(), [named("a"), named("b")]);
        let elsewhere = Place { shard: Shard::of(&Digest::of(b"other")), ..place() };
        let runner = Trust::default().with(signer.public(), Role::Runner);
        for (place, trust) in [
            (elsewhere, &judge),
            (Place { store: "01", ..place() }, &judge),
            (place(), &runner),
            (place(), &Trust::default()),
        ] {
            assert_eq!(check(&line, place, trust).unwrap_err().reason, IntegrityReason::List);
        }
    }

    #[test]
    fn no_byte_of_a_list_can_be_changed() {
        let signer = PrivateKey::from_secret(&[1; 32]);
        let trust = Trust::default().with(signer.public(), Role::Judge);
        let line = sign(vec![named("a")], place(), &signer, NOW).unwrap();
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(check(&changed, place(), &trust).is_err(), "byte {at}");
            assert!(check(&line[..at], place(), &trust).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_list_that_names_an_entry_twice_or_of_another_shard_is_refused() {
        let signer = PrivateKey::from_secret(&[1; 32]);
        let trust = Trust::default().with(signer.public(), Role::Judge);
        let other = Named { digest: Digest::of(b"a"), key: Digest::of(b"other") };
        for entries in [vec![named("a"), named("a")], vec![other]] {
            let line = sign(entries, place(), &signer, NOW).unwrap();
            assert!(check(&line, place(), &trust).is_err());
        }
    }
}
