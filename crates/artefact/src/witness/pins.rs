//! The digests of a run's files, as its witness pins them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use proofmark_canon::{Digest, Value};

use super::Sidecar;
use crate::manifest::Manifest;
use crate::store::{AtomicFile, OutputName, digest_file, names};

/// Every file of a published run but `report.md` and the witness itself.
///
/// Files that the manifest pins were hashed as they were written, and a picture is named by its digest; they are not
/// read again. Nor is the telemetry, where there is one: its digest is given.
pub fn of_run(dir: &Path, manifest: &Manifest, telemetry: Option<Digest>) -> io::Result<BTreeMap<String, Digest>> {
    let mut pins = manifest.artifacts.clone();
    pins.insert(names::MANIFEST.to_owned(), digest_file(&dir.join(names::MANIFEST))?.0);
    pins.extend(telemetry.map(|digest| (names::TELEMETRY.to_owned(), digest)));
    match digest_file(&dir.join(names::JUDGMENTS)) {
        Ok((digest, _)) => drop(pins.insert(names::JUDGMENTS.to_owned(), digest)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let entries = match fs::read_dir(dir.join(names::OUTPUTS)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pins),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name();
        if let Some(output) = name.to_str().and_then(OutputName::parse) {
            pins.insert(output.to_string(), output.digest);
        }
    }
    Ok(pins)
}

/// Writes new digests of some files into the witness of a run. A run without a witness stays without one.
///
/// Fields that this version does not know stay as they are.
pub fn update(dir: &Path, changed: &[(&str, Digest)]) -> io::Result<()> {
    let path = dir.join(names::REPLAY);
    if !path.exists() {
        return Ok(());
    }
    let sidecar = Sidecar::read(&path).map_err(io::Error::other)?;
    let mut block = sidecar.parse().map_err(io::Error::other)?;
    let mut pins = match block.get("artifacts") {
        Some(Value::Object(pins)) => pins.clone(),
        _ => return Err(io::Error::other("the witness has no `artifacts`")),
    };
    for (name, digest) in changed {
        pins.insert(*name, digest.to_string());
    }
    if let Value::Object(members) = &mut block {
        members.insert("artifacts", pins);
    }
    let mut bytes = block.to_canonical();
    bytes.push(b'\n');
    let mut file = AtomicFile::create(&path)?;
    sidecar.put_ids_into(&bytes, &path, &mut file)?;
    file.commit().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::write_atomic;

    #[test]
    fn a_new_pin_changes_nothing_else_of_a_witness() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(names::REPLAY);
        let digest = Digest::of(b"x");
        update(dir.path(), &[("a", digest)]).unwrap();
        assert!(!path.exists());
        let ids = r#""provider_request_ids""#;
        let rest = format!(
            r#""kept":{{{ids}:[]}},"models":[{{{ids}:[]}},{{{ids}:["a","b"]}},{{}},{{{ids}:["é\n"]}}],"new":{{{ids}:["c"]}}}}"#
        );
        write_atomic(&path, format!("{{\"artifacts\":{{\"b\":\"x\"}},{rest}\n").as_bytes()).unwrap();
        update(dir.path(), &[("a", digest), ("b", digest)]).unwrap();
        let pins = format!(r#""artifacts":{{"a":"{digest}","b":"{digest}"}}"#);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{{{pins},{rest}\n"));
        for text in ["{}", "{\"artifacts\":{},\"models\":[{\"provider_request_ids\":[\"a\",1]}]}", "{"] {
            write_atomic(&path, text.as_bytes()).unwrap();
            update(dir.path(), &[("a", digest)]).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
