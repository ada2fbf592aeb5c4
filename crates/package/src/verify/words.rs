//! What a verdict on a package proves and what it does not, in sentences.

use proofmark_artefact::package::{Stage, Verdict};
use proofmark_artefact::replay::Answer;

fn holds(verdict: &Verdict, name: &str) -> bool {
    verdict.stages.iter().any(|stage: &Stage| stage.name == name && stage.holds())
}

/// What is known now.
pub(super) fn proves(verdict: &Verdict) -> Vec<String> {
    let mut all = Vec::new();
    let is_signed = ["signature", "package", "files"].into_iter().all(|name| holds(verdict, name));
    if !is_signed {
        return vec!["nothing".to_owned()];
    }
    let key = verdict.signer.as_ref().map(|signer| signer.key.as_str()).unwrap_or_default();
    all.push(format!("every file is the one that the holder of {key} signed, and none is missing or added"));
    if verdict.signer.as_ref().is_some_and(|signer| signer.trusted) {
        all.push("the trust file believes that key as a submitter at the time that the signer names".to_owned());
    }
    if let Some(ladder) = verdict.ladder.as_ref().filter(|ladder| ladder.answer == Answer::Holds) {
        all.push(ladder.proves.clone());
    }
    if let Some(audit) = verdict.audit.as_ref().filter(|audit| audit.is_same) {
        let word = if audit.again.clean { "clean" } else { "not clean" };
        all.push(format!("the audit was made again and gives the same report: {word}"));
    }
    all
}

/// What nobody should take it for.
pub(super) fn does_not_prove(verdict: &Verdict) -> Vec<String> {
    let mut all = vec![
        "that a model was called: a signature cannot prove that, nor which model it was".to_owned(),
        "that no other run was thrown away".to_owned(),
        "when it was signed: the time is the signer's own word".to_owned(),
    ];
    if !verdict.signer.as_ref().is_some_and(|signer| signer.trusted) {
        all.push("who signed".to_owned());
    }
    if let Some(ladder) = &verdict.ladder {
        all.push(ladder.does_not_prove.clone());
    }
    all
}
