//! Everything that a stranger checks of a package, in one order: who signed, what was signed, that it is all there and
//! nothing else, that it follows from itself, and that it was earned.
//!
//! - [`signature`] the envelope and its signer; [`files`] the list and the files; [`derived`] what follows from the run;
//! - [`words`] what all that proves and what it does not.
//!
//! Nothing of a package is parsed further than it takes before its signature was checked; nothing of an archive is unpacked that is
//! not on its list; and the run in it is looked at only when every byte is the one that was signed.

mod derived;
mod files;
mod signature;
mod words;

use std::path::Path;

use proofmark_artefact::package::predicate::Predicate;
use proofmark_artefact::package::verdict::{AuditVerdict, PackageFacts, SignerFacts, VERDICT_VERSION};
use proofmark_artefact::package::{Contents, Inputs, Stage, Verdict, names};
use proofmark_artefact::replay::{Answer, Status};
use proofmark_artefact::verify::{Check, Demand, Rung};
use proofmark_run::ladder::Commands;
use proofmark_trust::policy::Trust;

use crate::again::{self, Load, Look};
use crate::archive::{self, ArchiveError, Limits, Opened, Source};
use crate::papers::Papers;

use files::Present;
use signature::Signed;

/// What to make of a signer whom the trust file does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownSigner {
    Refuse,
    /// The signature must fit the key in the package; whose it is stays open.
    Accept,
}

/// What to make of a package that was sealed although something spoke against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    Refuse,
    Accept,
}

/// What warnings of the audit count for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warnings {
    Accept,
    Refuse,
}

/// How to verify.
pub struct Verification<'a> {
    pub trust: &'a Trust,
    pub unknown_signer: UnknownSigner,
    pub allowed: Allowed,
    pub warnings: Warnings,
    pub demand: Demand,
    pub commands: Commands,
    /// Where the inputs are, whatever the package holds.
    pub root: Option<&'a Path>,
    /// Where files of the hub are, when the package does not count.
    pub cache: Option<&'a Path>,
    /// The dataset's own answers.
    pub gold: Option<&'a Path>,
    pub version: &'a str,
    pub load: &'a Load<'a>,
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// Checks a package. The files of an archive go to `into`, an empty folder. It is an error when it could not be looked at; what
/// is wrong with the package is in the verdict.
pub fn verify(source: &Source, into: &Path, limits: &Limits, how: &Verification<'_>) -> Result<Verdict, ArchiveError> {
    let begun = match source {
        // Nothing is unpacked, and no link is followed: all names are looked at first.
        Source::Folder(_) => archive::open(source, into, limits, |_, _| Ok(()))
            .map(|opened| (Signing::check(&Papers::of_folder(&opened), how), Ok(opened))),
        Source::Archive(path) => Papers::of_archive(path, limits).map(|papers| {
            let signing = Signing::check(&papers, how);
            let opened = signing.unpack(path, into, limits, &papers);
            (signing, opened)
        }),
    };
    match begun {
        Ok((signing, Ok(opened))) => Ok(signing.go_on(&opened, how)),
        Ok((signing, Err(error))) if error.is_refusal() => Ok(refuse(signing.verdict, &error)),
        Err(error) if error.is_refusal() => Ok(refuse(empty(how), &error)),
        Ok((_, Err(error))) | Err(error) => Err(error),
    }
}

const SHAPE: &str = "plain files with plain names, within the limits";

/// A package that is not opened because of what it is.
fn refuse(mut verdict: Verdict, error: &ArchiveError) -> Verdict {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    let mut stage = Stage::new("archive");
    stage.push(Check::new(SHAPE, Status::Fail).note(format!("{error}{hint}")));
    verdict.stages.insert(0, stage);
    finish(verdict)
}

/// What is known of a package from its papers alone.
struct Signing {
    /// With the stages so far.
    verdict: Verdict,
    signed: Option<Signed>,
    /// As far as the list can be read.
    contents: Option<Contents>,
    /// The signature fits, and the list is the one that was signed.
    holds: bool,
}

impl Signing {
    fn check(papers: &Papers, how: &Verification<'_>) -> Self {
        let mut verdict = empty(how);
        let (signature, signed) = signature::check(papers, how.trust);
        let is_signed = signature.holds();
        verdict.stages.push(signature);
        if let Some(signed) = &signed {
            let signer = signature::check_signer(signed, how.trust, how.unknown_signer, &mut verdict.gaps);
            verdict.signer = Some(SignerFacts {
                key: signed.key.fingerprint().to_string(),
                name: how.trust.get(&signed.key.fingerprint()).map(|trusted| trusted.name.to_string()),
                signed_at: signed.predicate.as_ref().map(|predicate| predicate.signed_at.clone()),
                trusted: signature::trusts(signed, how.trust).is_ok(),
            });
            verdict.stages.push(signer);
        }
        // Without a signature that fits, the list is still held against the files: it shows what was changed.
        let listed = files::check_list(papers, signed.as_ref());
        let holds = is_signed && listed.stage.holds();
        verdict.stages.push(listed.stage);
        Self { verdict, signed, contents: listed.contents, holds }
    }

    /// Unpacks what is on the list: all of it when somebody vouches for it who is believed, otherwise a little.
    fn unpack(&self, path: &Path, into: &Path, limits: &Limits, papers: &Papers) -> Result<Opened, ArchiveError> {
        let no_list = || ArchiveError::NoList { why: "it cannot be used".to_owned() };
        let contents = self.contents.as_ref().ok_or_else(no_list)?;
        let bytes = contents.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        let limit = limits.unvouched_bytes;
        if bytes > limit && !self.is_vouched_for() {
            return Err(ArchiveError::Unvouched { bytes, limit });
        }
        papers.unpack(path, into, limits, contents)
    }

    fn is_vouched_for(&self) -> bool {
        let signer = self.verdict.stages.iter().find(|stage| stage.name == "signer");
        self.holds && signer.is_some_and(Stage::holds)
    }

    /// Looks at the files, and at the run in them.
    fn go_on(self, opened: &Opened, how: &Verification<'_>) -> Verdict {
        let Self { mut verdict, signed, contents, holds } = self;
        let present = Present::of(opened);
        let mut shape = Stage::new("archive");
        shape.push(Check::new(SHAPE, Status::Ok).note(present.counted()));
        verdict.stages.insert(0, shape);
        let Some(contents) = contents else { return finish(verdict) };
        let stage = files::check_files(&present, &contents);
        let is_whole = stage.holds();
        verdict.stages.push(stage);
        let predicate = signed.as_ref().and_then(|signed| signed.predicate.as_ref());
        let Some(predicate) = predicate.filter(|_| holds && is_whole) else { return finish(verdict) };
        verdict.package = Some(PackageFacts {
            bytes: present.bytes(),
            digest: predicate.package,
            files: present.len(),
            inputs: predicate.inputs,
            run_id: predicate.run_id,
            suite: predicate.suite.clone(),
        });
        verdict.allowances.clone_from(&predicate.allowances);
        look_at_run(opened.folder.as_path(), predicate, how, &mut verdict);
        finish(verdict)
    }
}

/// The ladder, what follows from the run, and the audit.
fn look_at_run(folder: &Path, predicate: &Predicate, how: &Verification<'_>, verdict: &mut Verdict) {
    let look = Look {
        folder,
        root: how.root,
        cache: how.cache,
        inputs: predicate.inputs,
        load: how.load,
        version: how.version,
        progress: how.progress,
    };
    let outcome = again::climb(&look, how.commands, how.trust, how.demand);
    verdict.reached = outcome.reached;
    verdict.gaps.extend(outcome.gaps.iter().cloned());
    let holds = outcome.answer != Answer::DoesNotHold;
    verdict.ladder = Some(outcome);
    if !holds {
        return;
    }
    verdict.stages.push(derived::check(folder, predicate, how.version));
    let (stage, audit) = audit(&look, predicate, how, verdict.reached);
    verdict.stages.push(stage);
    verdict.audit = audit;
    if predicate.sealed_with.version != how.version {
        let gap = "the README, and the audit report byte for byte: another version of Proofmark sealed the package";
        verdict.gaps.push(gap.to_owned());
    }
    if predicate.inputs == Inputs::LeftOut && how.root.is_none() {
        verdict
            .gaps
            .push("the audit scored again what the records themselves allow, without the suite's inputs".into());
    }
}

/// Audits the run again and holds the sealed report against it.
fn audit(look: &Look<'_>, predicate: &Predicate, how: &Verification<'_>, reached: u8) -> (Stage, Option<AuditVerdict>) {
    let mut stage = Stage::new("audit");
    let report = match again::audit(look) {
        Ok(report) => report,
        Err(error) => {
            let why = again::without_place(&chain(&error), look.folder);
            stage.push(Check::of(names::AUDIT, "can be made again", Status::Fail).note(why));
            return (stage, None);
        }
    };
    let (is_same, sealed) = derived::compare_audit(look.folder, &report, predicate, how.version, &mut stage);
    derived::check_allowances(look.folder, predicate, &report, how.allowed, how.version, &mut stage);
    let attestation = report.attestation;
    // With other inputs, by another version, or when less was asked for, it may well be another one.
    let is_comparable =
        how.root.is_none() && how.demand.rung() >= Rung::Scores && predicate.sealed_with.version == how.version;
    if predicate.reached > Rung::Scores.number() || (is_comparable && reached != predicate.reached) {
        let note = format!("the signer says rung {}, this is rung {reached}", predicate.reached);
        stage.push(Check::of(names::BUNDLE, "rung that the signer reached", Status::Fail).note(note));
    }
    if how.warnings == Warnings::Refuse && attestation.clean && !attestation.strict_clean {
        let ids = [&attestation.warn_failures[..], &attestation.skipped[..]].concat().join(", ");
        stage.push(Check::of(names::AUDIT, "no warnings", Status::Fail).note(ids));
    }
    let mut against_gold = None;
    if let Some(gold) = how.gold {
        match again::audit_with_gold(look, gold) {
            Ok(report) => {
                let found = report.attestation;
                let status = if found.clean || found == attestation { Status::Ok } else { Status::Fail };
                let check = Check::of(names::AUDIT, "clean against the dataset's own answers", status);
                let note = if found.clean { String::new() } else { found.critical_failures.join(", ") };
                stage.push(if note.is_empty() { check } else { check.note(note) });
                against_gold = Some(found);
            }
            Err(error) => {
                let check = Check::of(names::AUDIT, "clean against the dataset's own answers", Status::Unchecked);
                stage.push(check.note(again::without_place(&chain(&error), look.folder)));
            }
        }
    }
    (stage, Some(AuditVerdict { again: attestation, against_gold, is_same, sealed }))
}

fn empty(how: &Verification<'_>) -> Verdict {
    Verdict {
        allowances: Vec::new(),
        answer: Answer::CannotCheck,
        audit: None,
        does_not_prove: Vec::new(),
        format: "proofmark.verify-package",
        gaps: Vec::new(),
        ladder: None,
        package: None,
        proves: Vec::new(),
        reached: 0,
        schema_version: VERDICT_VERSION,
        signer: None,
        stages: Vec::new(),
        trust: how.trust.digest(),
        verified_with: how.version.to_owned(),
    }
}

fn finish(mut verdict: Verdict) -> Verdict {
    let stages = verdict.stages.iter().map(|stage| stage.answer);
    verdict.answer = Answer::all(stages.chain(verdict.ladder.as_ref().map(|outcome| outcome.answer)));
    verdict.proves = words::proves(&verdict);
    verdict.does_not_prove = words::does_not_prove(&verdict);
    verdict
}

/// An error with everything that caused it.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
