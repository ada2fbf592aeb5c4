//! A verifier's own word on a package: an in-toto Simple Verification Result, v0.2.
//!
//! It lists what holds and has no way to say what does not, so it is made of verdicts that hold alone.

use proofmark_artefact::audit::Attestation;
use proofmark_artefact::package::Verdict;
use proofmark_artefact::package::names::CONTENTS;
use proofmark_artefact::replay::Answer;
use proofmark_canon::json;
use proofmark_canon::to_vec;
use proofmark_trust::bundle::Bundle;
use proofmark_trust::dsse::{Envelope, IN_TOTO};
use proofmark_trust::key::PrivateKey;
use proofmark_trust::statement::Statement;
use serde::Serialize;

/// The type of the statement, as in-toto names it.
pub const SVR: &str = "https://in-toto.io/attestation/svr/v0.2";

/// Why there is nothing to sign.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SvrError {
    #[error("the verdict does not hold, and a verification result can only say what does")]
    DoesNotHold,
    #[error("the verification result cannot be made: {0}")]
    Made(String),
}

#[derive(Serialize)]
struct VerificationResult {
    properties: Vec<String>,
    #[serde(rename = "timeCreated")]
    time_created: String,
    verifier: Verifier,
}

#[derive(Serialize)]
struct Verifier {
    id: String,
    policies: Vec<Policy>,
}

#[derive(Serialize)]
struct Policy {
    digest: PolicyDigest,
    name: String,
}

#[derive(Serialize)]
struct PolicyDigest {
    sha256: String,
}

/// Signs what holds of a package. Returns the bytes of a Sigstore bundle.
pub fn attest(verdict: &Verdict, at: &str, key: &PrivateKey) -> Result<Vec<u8>, SvrError> {
    let made = |error: &dyn std::error::Error| SvrError::Made(error.to_string());
    let package = verdict.package.as_ref().filter(|_| verdict.answer == Answer::Holds).ok_or(SvrError::DoesNotHold)?;
    let result = VerificationResult {
        properties: properties(verdict),
        time_created: at.to_owned(),
        verifier: Verifier {
            id: format!("https://proofmark.dev/verifier/{}", verdict.verified_with),
            // Whom the verifier believes decides the verdict.
            policies: vec![Policy {
                digest: PolicyDigest { sha256: verdict.trust.hex() },
                name: "trust.json".to_owned(),
            }],
        },
    };
    let value = json::parse(&to_vec(&result).map_err(|error| made(&error))?).map_err(|error| made(&error))?;
    let subject = [(CONTENTS.to_owned(), package.digest)];
    let statement = Statement::new(SVR, subject, value).map_err(|error| made(&error))?;
    let bundle = Bundle::new(Envelope::sign(IN_TOTO, statement.to_bytes(), &[key])).map_err(|error| made(&error))?;
    Ok(bundle.to_bytes())
}

/// What holds, a word each.
fn properties(verdict: &Verdict) -> Vec<String> {
    let mut all = vec!["PROOFMARK_SIGNATURE".to_owned(), "PROOFMARK_FILES".to_owned()];
    let mut add = |holds: bool, word: &str| {
        if holds {
            all.push(format!("PROOFMARK_{word}"));
        }
    };
    add(verdict.signer.as_ref().is_some_and(|signer| signer.trusted), "SIGNER_TRUSTED");
    for rung in 1..=verdict.reached {
        add(true, &format!("RUNG_{rung}"));
    }
    add(verdict.allowances.is_empty(), "SUBMITTABLE");
    if let Some(audit) = &verdict.audit {
        add(audit.is_same, "AUDIT_REPRODUCED");
        // A severity that the suite's author turned down is not the verifier's word.
        let own = |attestation: &Attestation| attestation.overridden.is_empty();
        add(audit.again.clean && own(&audit.again), "AUDIT_CLEAN");
        add(audit.again.strict_clean && own(&audit.again), "AUDIT_STRICT_CLEAN");
        let against_gold = audit.against_gold.as_ref().is_some_and(|gold| gold.clean && own(gold));
        add(against_gold, "AUDIT_CLEAN_AGAINST_GOLD");
    }
    all.sort();
    all
}
