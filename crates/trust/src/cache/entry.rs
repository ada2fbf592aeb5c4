//! One line of a shard: whether it can be believed.

use proofmark_artefact::judgment::{Entry, IntegrityEvent, IntegrityReason, JUDGMENT_SCHEMA, Judgment, Signed};
use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, json};

use super::error::CacheError;
use crate::key::{Fingerprint, PrivateKey, Purpose, Signature};
use crate::policy::{Distrust, Role, Trust};

/// The longest line of an entry.
pub(super) const MAX_ENTRY: usize = 1 << 20;

/// What stands before a judgment in its line.
const JUDGMENT: &[u8] = b"{\"judgment\":";
/// What stands between a judgment and its signature.
const SIGNATURE: &[u8] = b",\"signature\":";

/// Why something in a cache is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub reason: IntegrityReason,
    /// What was found, in one line.
    pub detail: String,
    /// The fingerprint that is named, where one is.
    pub signer: Option<String>,
}

impl Flaw {
    pub(super) fn new(reason: IntegrityReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), signer: None }
    }

    #[must_use]
    pub(super) fn by(mut self, signer: &str) -> Self {
        // Whoever wrote it may have written anything.
        self.signer = Some(signer.chars().take(100).collect());
        self
    }

    /// The flaw as a run notes it.
    pub fn event(&self, key: Digest) -> IntegrityEvent {
        IntegrityEvent { detail: self.detail.clone(), key, reason: self.reason, signer: self.signer.clone() }
    }
}

/// An entry that was read, not yet believed.
pub(super) struct Read {
    pub(super) entry: Entry,
    /// The canonical bytes of the judgment.
    pub(super) canonical: Vec<u8>,
}

/// Reads a line and checks that it can be believed: it is what a trusted judge signed. For lines from elsewhere.
pub fn check_line(line: &[u8], trust: &Trust) -> Result<Entry, Flaw> {
    let read = read_line(line)?;
    check_signature(&read, trust)?;
    Ok(read.entry)
}

/// Reads a line that is exactly what we would have written for an entry.
pub(super) fn read_line(line: &[u8]) -> Result<Read, Flaw> {
    let malformed = |detail: String| Flaw::new(IntegrityReason::Malformed, detail);
    if line.len() > MAX_ENTRY {
        return Err(malformed(format!("the line is longer than {MAX_ENTRY} bytes")));
    }
    // The lenient reader is the faster one. What it let pass is found out below: only one text is canonical.
    let entry: Entry = match serde_json::from_slice(line) {
        Ok(entry) => entry,
        Err(_) => {
            let value = json::parse(line).map_err(|error| malformed(format!("the line is not JSON: {error}")))?;
            json::from_value(&value).map_err(|error| malformed(format!("the line is not an entry: {error}")))?
        }
    };
    let canonical = entry.judgment.canonical().map_err(|error| malformed(error.to_string()))?;
    if encode_with(&canonical, entry.signature.as_ref()).ok().as_deref() != Some(line) {
        return Err(malformed("the line is not in canonical form".to_owned()));
    }
    Ok(Read { entry, canonical })
}

/// Reads a line that a signed list names by its digest: it is what we wrote, hence canonical, and need not be encoded again
/// to be compared. The signature is checked over its bytes as they stand.
pub(super) fn read_listed(line: &[u8]) -> Result<Read, Flaw> {
    let bare = || {
        let entry: Entry = serde_json::from_slice(line).ok()?;
        let mut end = SIGNATURE.to_vec();
        json::to_writer(&entry.signature, &mut end).ok()?;
        end.push(b'}');
        let canonical = line.strip_prefix(JUDGMENT)?.strip_suffix(end.as_slice())?.to_vec();
        Some(Read { entry, canonical })
    };
    bare().map_or_else(|| read_line(line), Ok)
}

/// Checks that a trusted judge signed the entry.
pub(super) fn check_signature(read: &Read, trust: &Trust) -> Result<(), Flaw> {
    let Some(signed) = &read.entry.signature else {
        return Err(Flaw::new(IntegrityReason::Unsigned, "the entry has no signature"));
    };
    let at = &read.entry.judgment.judged_at;
    let key = trusted_key(trust, &signed.signer, at).map_err(|flaw| flaw.by(&signed.signer))?;
    let signature: Signature = signed.value.parse().map_err(|error| {
        Flaw::new(IntegrityReason::Malformed, format!("the signature cannot be read: {error}")).by(&signed.signer)
    })?;
    key.verify(Purpose::Judgment, &read.canonical, &signature).map_err(|_| {
        Flaw::new(IntegrityReason::Altered, "the signature does not fit what the entry says").by(&signed.signer)
    })?;
    let version = read.entry.judgment.schema_version;
    if version != JUDGMENT_SCHEMA {
        let detail = format!("the judgment is of version {version}, expected {JUDGMENT_SCHEMA}");
        return Err(Flaw::new(IntegrityReason::Malformed, detail).by(&signed.signer));
    }
    Ok(())
}

/// The key of a signer who was trusted as judge at a moment.
pub(super) fn trusted_key<'a>(trust: &'a Trust, signer: &str, at: &str) -> Result<&'a crate::key::PublicKey, Flaw> {
    let fingerprint: Fingerprint = signer.parse().map_err(|error: crate::key::FormError| {
        Flaw::new(IntegrityReason::Malformed, format!("the signer cannot be read: {error}"))
    })?;
    trust.key(&fingerprint, Role::Judge, at).map_err(|distrust| Flaw::new(reason_of(&distrust), distrust.to_string()))
}

fn reason_of(distrust: &Distrust) -> IntegrityReason {
    match distrust {
        Distrust::Role(..) => IntegrityReason::WrongRole,
        Distrust::TooEarly(..) | Distrust::Expired(..) => IntegrityReason::OutOfValidity,
        Distrust::Revoked(..) => IntegrityReason::Revoked,
        Distrust::Undated(..) => IntegrityReason::Malformed,
        _ => IntegrityReason::UnknownSigner,
    }
}

/// Signs a judgment.
pub(super) fn sign(judgment: Judgment, signer: &PrivateKey) -> Result<Entry, EncodeError> {
    let value = signer.sign(Purpose::Judgment, &judgment.canonical()?).to_string();
    let signer = signer.public().fingerprint().to_string();
    Ok(Entry { judgment, signature: Some(Signed { signer, value }) })
}

/// The line of an entry.
pub(super) fn encode(entry: &Entry) -> Result<Vec<u8>, CacheError> {
    let line = proofmark_canon::to_vec(entry)?;
    if line.len() > MAX_ENTRY {
        return Err(CacheError::EntryTooLarge { length: line.len(), limit: MAX_ENTRY });
    }
    Ok(line)
}

/// The line of an entry whose judgment is encoded already.
fn encode_with(canonical: &[u8], signature: Option<&Signed>) -> Result<Vec<u8>, EncodeError> {
    let mut line = Vec::with_capacity(canonical.len() + 256);
    line.extend_from_slice(JUDGMENT);
    line.extend_from_slice(canonical);
    line.extend_from_slice(SIGNATURE);
    json::to_writer(&signature, &mut line)?;
    line.push(b'}');
    Ok(line)
}
