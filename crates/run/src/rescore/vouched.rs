//! Who vouches for the judgments that the scores rest on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proofmark_artefact::judgment::Entry;
use proofmark_artefact::number::counted;
use proofmark_artefact::store::{LineError, Lines, RunDir, names};
use proofmark_canon::json;
use proofmark_trust::key::{Fingerprint, Purpose, Signature};
use proofmark_trust::policy::{Role, Trust};

use super::RescoreError;
use super::finding::{Finding, FindingKind, Findings};
use crate::judge::MAX_JUDGMENT;
use crate::ready::Ready;

/// Reads `judgments.jsonl` in step with the records.
pub(super) struct Vouched<'t> {
    trust: &'t Trust,
    /// `None` when there is no file, or it was found not to be in step.
    lines: Option<Lines>,
    path: PathBuf,
    is_wanted: bool,
    signed: BTreeMap<Fingerprint, u64>,
    unsigned: u64,
    /// Why a signer is not believed, and how often.
    distrusted: BTreeMap<String, u64>,
}

impl<'t> Vouched<'t> {
    pub(super) fn open(ready: &Ready, dir: &RunDir, trust: &'t Trust) -> Result<Self, RescoreError> {
        let path = dir.file(names::JUDGMENTS);
        let is_wanted = ready.has_judges();
        let lines = match is_wanted && path.is_file() {
            true => {
                let lines = Lines::open(&path, MAX_JUDGMENT);
                Some(lines.map_err(|source| RescoreError::Io { path: path.clone(), source })?)
            }
            false => None,
        };
        let distrusted = BTreeMap::new();
        Ok(Self { trust, lines, path, is_wanted, signed: BTreeMap::new(), unsigned: 0, distrusted })
    }

    /// Checks the judgments of the next sample: that they are the next ones of the file, and who signed them.
    pub(super) fn next(&mut self, judgments: &[u8], key: &str, findings: &mut Findings) -> Result<(), RescoreError> {
        for expected in judgments.split_inclusive(|byte| *byte == b'\n') {
            let Some(lines) = &mut self.lines else { return Ok(()) };
            let found = match lines.next_line() {
                Ok(Some(line)) => Some((line.number, line.ended && Some(line.bytes) == expected.strip_suffix(b"\n"))),
                Ok(None) => None,
                Err(LineError::TooLong { number, .. }) => Some((number, false)),
                Err(source) => return Err(RescoreError::Line { path: self.path.clone(), source }),
            };
            let Some((number, true)) = found else {
                let message = "the next judgment is not the one that this sample rests on; no later one was compared";
                let number = found.map_or(0, |(number, _)| number);
                findings.push(Finding::new(FindingKind::Judgment, names::JUDGMENTS, message).at(number, Some(key)));
                self.lines = None;
                return Ok(());
            };
            let entry = json::parse(expected).ok().and_then(|value| json::from_value(&value).ok());
            let Some(entry) = entry else { continue };
            if let Err(why) = self.check(&entry) {
                findings.push(Finding::new(FindingKind::Judgment, names::JUDGMENTS, why).at(number, Some(key)));
            }
        }
        Ok(())
    }

    /// Whether the signature holds; an error when it is there and does not.
    fn check(&mut self, entry: &Entry) -> Result<(), String> {
        let Some(signed) = &entry.signature else {
            self.unsigned += 1;
            return Ok(());
        };
        let signer: Fingerprint = signed.signer.parse().map_err(|error| format!("the signer: {error}"))?;
        let signature: Signature = signed.value.parse().map_err(|error| format!("the signature: {error}"))?;
        let canonical = entry.judgment.canonical().map_err(|error| error.to_string())?;
        match self.trust.key(&signer, Role::Judge, &entry.judgment.judged_at) {
            Ok(key) => {
                key.verify(Purpose::Judgment, &canonical, &signature)
                    .map_err(|_| format!("the judgment is not what {signer} signed"))?;
                *self.signed.entry(signer).or_default() += 1;
            }
            Err(distrust) => *self.distrusted.entry(distrust.to_string()).or_default() += 1,
        }
        Ok(())
    }

    /// What is left to say. Returns who signed how many judgments, of those that are believed.
    pub(super) fn finish(
        mut self,
        findings: &mut Findings,
        not_rerun: &mut Vec<String>,
    ) -> Result<Vec<(String, u64)>, RescoreError> {
        if !self.is_wanted {
            return Ok(Vec::new());
        }
        match &mut self.lines {
            None => not_rerun.push(format!(
                "who vouches for the judgments: `{}` is not there, or not in step with the records",
                names::JUDGMENTS
            )),
            Some(lines) => match lines.next_line() {
                Ok(None) => {}
                Ok(Some(_)) | Err(LineError::TooLong { .. }) => {
                    let message = "the file goes on after the last sample's judgments";
                    findings.push(Finding::new(FindingKind::Judgment, names::JUDGMENTS, message));
                }
                Err(source) => return Err(RescoreError::Line { path: self.path.clone(), source }),
            },
        }
        if self.unsigned > 0 {
            let judgments = counted(self.unsigned, "judgment is", "judgments are");
            not_rerun.push(format!("who judged: {judgments} not signed, and could be anybody's"));
        }
        for (why, count) in &self.distrusted {
            let judgments = counted(*count, "judgment was", "judgments were");
            not_rerun.push(format!("who judged: {judgments} signed by a key that is not believed: {why}"));
        }
        Ok(self.signed.into_iter().map(|(signer, count)| (signer.to_string(), count)).collect())
    }
}
