//! The list of files, and the files.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_artefact::number::counted;
use proofmark_artefact::package::names::{CONTENTS, SIGNING, SSH_SIGNATURE};
use proofmark_artefact::package::{Contents, Stage};
use proofmark_artefact::replay::Status;
use proofmark_artefact::verify::Check;
use proofmark_canon::Digest;
use proofmark_trust::sshsig::{NAMESPACE, SshSignature};

use super::signature::Signed;
use crate::archive::{Member, Opened};
use crate::papers::{Papers, check_list_form, read_list};
use crate::seal::subjects;

/// Every file of an opened package by its name.
pub(super) struct Present<'a>(BTreeMap<&'a str, Member>);

impl<'a> Present<'a> {
    pub(super) fn of(opened: &'a Opened) -> Self {
        Self(opened.files.iter().map(|(name, member)| (name.as_str(), *member)).collect())
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.values().fold(0, |sum, member| sum.saturating_add(member.size))
    }

    pub(super) fn counted(&self) -> String {
        format!("{}, {}", counted(self.len(), "file", "files"), counted(self.bytes(), "byte", "bytes"))
    }
}

/// What came of looking at the list.
pub(super) struct Listed {
    pub(super) stage: Stage,
    /// As far as it can be read.
    pub(super) contents: Option<Contents>,
}

/// Checks `package.json`: its SSH signature, its form, and that the statement is about the same files.
pub(super) fn check_list(papers: &Papers, signed: Option<&Signed>) -> Listed {
    let mut stage = Stage::new("package");
    let bytes = match papers.bytes(CONTENTS) {
        Ok(bytes) => bytes,
        Err(why) => {
            stage.settle(CONTENTS, "the list of files", Err(why));
            return Listed { stage, contents: None };
        }
    };
    let digest = Digest::of(bytes);
    if let Some(signed) = signed {
        let expected = signed.subjects.get(CONTENTS);
        let check = Check::of(CONTENTS, "digest", Status::Ok);
        stage.push(match expected {
            Some(expected) if *expected == digest => check,
            Some(expected) => Check { status: Status::Fail, ..check }
                .values(expected.to_string(), digest.to_string())
                .note("the statement has the expected value"),
            None => Check { status: Status::Fail, ..check }.note("the statement is not about it"),
        });
        stage.settle(SSH_SIGNATURE, "SSH signature over package.json", ssh_signature(papers, bytes, signed));
    }
    let contents = match read_list(bytes) {
        Ok(contents) => contents,
        Err(why) => {
            stage.settle(CONTENTS, "the list of files", Err(why));
            return Listed { stage, contents: None };
        }
    };
    stage.settle(CONTENTS, "the list of files", check_list_form(&contents));
    if let Some(signed) = signed {
        let same = subjects(&contents, &digest).is_some_and(|all| all == signed.subjects);
        let result = if same { Ok(()) } else { Err("the two name different files or digests".to_owned()) };
        stage.settle(CONTENTS, "lists what the statement is about", result);
        if let Some(predicate) = &signed.predicate {
            let is_same = predicate.package == digest && predicate.run_id == contents.run_id;
            let result = if is_same { Ok(()) } else { Err("the statement names another package or run".to_owned()) };
            stage.settle(CONTENTS, "is the package that the statement names", result);
        }
    }
    Listed { stage, contents: Some(contents) }
}

fn ssh_signature(papers: &Papers, message: &[u8], signed: &Signed) -> Result<(), String> {
    let bytes = papers.bytes(SSH_SIGNATURE)?;
    let signature = SshSignature::parse(bytes).map_err(|error| error.to_string())?;
    if signature.to_armour().as_bytes() != bytes {
        return Err("it has another form than ssh-keygen gives it".to_owned());
    }
    let key = signature.verify(NAMESPACE, message).map_err(|error| error.to_string())?;
    if *key != signed.key {
        return Err(format!("it is by {}, but the statement by {}", key.fingerprint(), signed.key.fingerprint()));
    }
    Ok(())
}

/// Checks that every file on the list is there with its bytes, and that nothing else is.
pub(super) fn check_files(present: &Present<'_>, contents: &Contents) -> Stage {
    let mut stage = Stage::new("files");
    let mut good = 0;
    for file in &contents.files {
        let path = file.path.as_str();
        let failed = |note: String| Check::of(path, "digest", Status::Fail).note(note);
        match present.0.get(path) {
            None => stage.push(failed("the file is not there, but the list has it".to_owned())),
            Some(found) if found.size != file.size => {
                let check = Check::of(path, "size", Status::Fail);
                stage.push(check.values(file.size.to_string(), found.size.to_string()));
            }
            Some(found) if Some(found.digest) != file.digest() => {
                let check = Check::of(path, "digest", Status::Fail);
                stage.push(check.values(format!("sha256:{}", file.sha256), found.digest.to_string()));
            }
            Some(_) => good += 1,
        }
    }
    let listed: BTreeSet<&str> = contents.files.iter().map(|file| file.path.as_str()).collect();
    for name in present.0.keys().copied() {
        if name != CONTENTS && !SIGNING.contains(&name) && !listed.contains(name) {
            stage.push(Check::of(name, "name", Status::Fail).note("the file is there, but nobody signed it"));
        }
    }
    if stage.holds() {
        let note = format!("{}, and no other file", counted(good, "file has its digest", "files have their digests"));
        stage.push(Check::new("all files, unchanged", Status::Ok).note(note));
    }
    stage
}
