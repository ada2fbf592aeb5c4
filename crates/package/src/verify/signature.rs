//! The envelope and its signer.

use std::collections::BTreeMap;

use proofmark_artefact::package::Stage;
use proofmark_artefact::package::names::{BUNDLE, SIGNER};
use proofmark_artefact::package::predicate::{EVAL_RUN, Predicate};
use proofmark_artefact::replay::Status;
use proofmark_artefact::verify::Check;
use proofmark_canon::{Digest, json};
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::IN_TOTO;
use proofmark_trust::key::PublicKey;
use proofmark_trust::policy::{Distrust, Role, Trust};
use proofmark_trust::statement::Statement;

use super::{UnknownSigner, chain};
use crate::papers::Papers;
use crate::seal::signer_line;

/// Whose signature fits, and what was signed.
pub(super) struct Signed {
    pub(super) key: PublicKey,
    /// Every file that the statement is about; empty when it says nothing that can be used.
    pub(super) subjects: BTreeMap<String, Digest>,
    pub(super) predicate: Option<Predicate>,
}

/// Checks the envelope's signature over its bytes, then what these bytes say.
pub(super) fn check(papers: &Papers, trust: &Trust) -> (Stage, Option<Signed>) {
    let mut stage = Stage::new("signature");
    let beside = key_beside(papers, &mut stage);
    let bundle = match read_bundle(papers) {
        Ok(bundle) => bundle,
        Err(why) => {
            stage.settle(BUNDLE, "a Sigstore bundle with one signature", Err(why));
            return (stage, None);
        }
    };
    stage.settle(BUNDLE, "a Sigstore bundle with one signature", Ok(()));
    let signer = bundle.signer();
    // A key that is known is the one that is known; only a stranger's comes out of the package.
    let known = trust.get(&signer).map(|trusted| trusted.key.clone());
    let Some(key) = known.or_else(|| beside.clone().filter(|key| key.fingerprint() == signer)) else {
        let why = format!("it says to be by {signer}, which is neither in the trust file nor in {SIGNER}");
        stage.settle(BUNDLE, "signature", Err(why));
        return (stage, None);
    };
    let payload = match bundle.envelope().verify(IN_TOTO, |_| Ok(&key)) {
        Ok(payload) => payload,
        Err(error) => {
            stage.settle(BUNDLE, "signature", Err(chain(&error)));
            return (stage, None);
        }
    };
    stage.push(Check::of(BUNDLE, "signature", Status::Ok).note(format!("by {signer}")));
    if beside.is_some_and(|beside| beside != key) {
        let why = "it is another key than the one that signed".to_owned();
        stage.settle(SIGNER, "the key that signed", Err(why));
    }
    let mut signed = Signed { key, subjects: BTreeMap::new(), predicate: None };
    let statement = match Statement::parse(payload, EVAL_RUN) {
        Ok(statement) => statement,
        Err(error) => {
            stage.settle(BUNDLE, "a statement about a run", Err(chain(&error)));
            return (stage, Some(signed));
        }
    };
    signed.subjects.clone_from(statement.subjects());
    match json::from_value::<Predicate>(statement.predicate()) {
        Ok(predicate) => {
            stage.settle(BUNDLE, "a statement about a run", Ok(()));
            signed.predicate = Some(predicate);
        }
        Err(error) => drop(stage.settle(BUNDLE, "a statement about a run", Err(error.to_string()))),
    }
    (stage, Some(signed))
}

/// Reads a bundle, which must be written as we write it: so that there is one way to say a thing.
fn read_bundle(papers: &Papers) -> Result<Bundle, String> {
    let bytes = papers.bytes(BUNDLE)?;
    let bundle = Bundle::parse(bytes).map_err(|error| chain(&error))?;
    if bundle.to_bytes() != bytes {
        return Err("it is not in canonical form".to_owned());
    }
    Ok(bundle)
}

/// The key that lies beside the signatures.
fn key_beside(papers: &Papers, stage: &mut Stage) -> Option<PublicKey> {
    let read = || -> Result<PublicKey, String> {
        let text = str::from_utf8(papers.bytes(SIGNER)?).map_err(|_| "it is not text".to_owned())?;
        let (key, _) = PublicKey::parse(text).map_err(|error| chain(&error))?;
        if signer_line(&key) == text { Ok(key) } else { Err("it has another form than a key alone".to_owned()) }
    };
    match read() {
        Ok(key) => Some(key),
        Err(why) => {
            stage.settle(SIGNER, "an Ed25519 key", Err(why));
            None
        }
    }
}

/// Whether the trust file believes the signer as a submitter, at the time that the signer names.
pub(super) fn trusts(signed: &Signed, trust: &Trust) -> Result<(), Distrust> {
    let at = signed.predicate.as_ref().map(|predicate| predicate.signed_at.as_str()).unwrap_or_default();
    trust.key(&signed.key.fingerprint(), Role::Submitter, at).map(drop)
}

/// Says whether the signer is believed, and what to do about one who is not known.
pub(super) fn check_signer(signed: &Signed, trust: &Trust, unknown: UnknownSigner, gaps: &mut Vec<String>) -> Stage {
    let mut stage = Stage::new("signer");
    let what = "believed as submitter when it was signed";
    match (trusts(signed, trust), unknown) {
        (Ok(()), _) => stage.push(Check::new(what, Status::Ok)),
        (Err(distrust @ Distrust::Unknown(_)), UnknownSigner::Accept) => {
            stage.push(Check::new(what, Status::Skip).note(distrust.to_string()));
            gaps.push("who signed: the signer's key is in no trust file".to_owned());
        }
        (Err(distrust @ Distrust::Unknown(_)), UnknownSigner::Refuse) => {
            let note = format!(
                "{distrust}; compare it with what the signer tells you elsewhere, then `proofmark keys trust \
                 {SIGNER} --name NAME --role submitter`"
            );
            stage.push(Check::new(what, Status::Fail).note(note));
        }
        (Err(distrust), _) => stage.push(Check::new(what, Status::Fail).note(distrust.to_string())),
    }
    stage
}
