//! Pictures that models made, on disk before their reply counts.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proofmark_artefact::picture::{Format, MAX_BYTES};
use proofmark_artefact::store::{AtomicFile, OutputError, OutputName, digest_file, load_output, names, sync_dir};
use proofmark_canon::Digest;
use proofmark_model::{Blob, Reply};

/// A picture could not be stored, or one that was stored is no longer there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("`{0}` is not a folder")]
    NotAFolder(PathBuf),
    #[error("a model gave {bytes} bytes of `{media_type}` as a picture, which cannot be stored")]
    Unfit { media_type: String, bytes: usize },
    #[error("a picture has the digest {actual}, but its reply names {named}")]
    OtherDigest { named: Digest, actual: Digest },
    #[error("sample {ordinal} was answered with a picture that cannot be used any more")]
    Gone { ordinal: u64, source: OutputError },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Gone { .. } => Some("put the file back, or start anew with `--overwrite`"),
            _ => None,
        }
    }
}

/// Samples may give the same picture at the same time; only one of them writes it.
static WRITING: Mutex<()> = Mutex::new(());

/// Writes pictures under their digests. When this returns they are there to stay.
pub fn store(run_dir: &Path, blobs: &[Blob]) -> Result<(), StoreError> {
    if blobs.is_empty() {
        return Ok(());
    }
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = run_dir.join(names::OUTPUTS);
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, source }
    };
    match fs::create_dir(&folder) {
        Ok(()) => sync_dir(run_dir).map_err(io_error(run_dir))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(io_error(&folder)(source)),
    }
    // Nothing is ever written through a link.
    if !fs::symlink_metadata(&folder).map_err(io_error(&folder))?.is_dir() {
        return Err(StoreError::NotAFolder(folder));
    }
    for Blob { digest, media_type, bytes } in blobs {
        let unfit = || StoreError::Unfit { media_type: media_type.chars().take(80).collect(), bytes: bytes.len() };
        let format = Format::of_media_type(media_type).filter(|_| bytes.len() as u64 <= MAX_BYTES);
        let name = OutputName { digest: *digest, format: format.ok_or_else(unfit)? };
        let actual = Digest::of(bytes);
        if actual != *digest {
            return Err(StoreError::OtherDigest { named: *digest, actual });
        }
        let path = name.under(run_dir);
        if is_there(&path, digest) {
            continue;
        }
        let write = || {
            let mut file = AtomicFile::create_in(&run_dir.join(names::WORK), &path)?;
            file.write_all(bytes)?;
            file.commit()
        };
        write().map_err(io_error(&path))?;
    }
    Ok(())
}

fn is_there(path: &Path, digest: &Digest) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
        && digest_file(path).is_ok_and(|(found, _)| found == *digest)
}

/// Checks that the pictures of a journalled reply are still what they were.
pub fn check(run_dir: &Path, ordinal: u64, reply: &Reply) -> Result<(), StoreError> {
    if let Reply::Answered { output, .. } = reply {
        for image in &output.images {
            load_output(run_dir, image).map_err(|source| StoreError::Gone { ordinal, source })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::picture::png;
    use proofmark_artefact::record::{Output, Usage};

    fn picture(shade: u8) -> (Reply, Blob) {
        let (image, blob) = Blob::picture(png::encode_rgb(4, 4, &[shade; 48])).unwrap();
        let output = Output { images: vec![image], ..Output::default() };
        (Reply::Answered { finish_reason: "stop".into(), output, usage: Usage::default() }, blob)
    }

    fn run_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(names::WORK)).unwrap();
        dir
    }

    fn files(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir.join(names::OUTPUTS)).unwrap();
        let mut files: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }

    #[test]
    fn pictures_are_stored_once_under_their_digest() {
        let dir = run_dir();
        let ((reply, one), (_, two)) = (picture(1), picture(2));
        store(dir.path(), &[]).unwrap();
        assert!(!dir.path().join(names::OUTPUTS).exists());
        store(dir.path(), &[one.clone(), two.clone(), one.clone()]).unwrap();
        store(dir.path(), std::slice::from_ref(&one)).unwrap();
        let mut want = [&one, &two].map(|blob| format!("{}.png", blob.digest.hex()));
        want.sort();
        assert_eq!(files(dir.path()), want);
        check(dir.path(), 0, &reply).unwrap();
        // A file with the right name and other bytes is written again.
        let path = dir.path().join(names::OUTPUTS).join(format!("{}.png", one.digest.hex()));
        proofmark_artefact::store::write_atomic(&path, b"else").unwrap();
        let error = check(dir.path(), 7, &reply).unwrap_err();
        assert!(matches!(error, StoreError::Gone { ordinal: 7, source: OutputError::Changed { .. } }), "{error}");
        store(dir.path(), std::slice::from_ref(&one)).unwrap();
        check(dir.path(), 7, &reply).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(check(dir.path(), 7, &reply).unwrap_err().hint().is_some());
    }

    #[test]
    fn many_at_once_do_not_get_in_each_others_way() {
        let dir = run_dir();
        let (reply, blob) = picture(3);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| store(dir.path(), std::slice::from_ref(&blob)).unwrap());
            }
        });
        check(dir.path(), 0, &reply).unwrap();
        assert_eq!(files(dir.path()).len(), 1);
        assert_eq!(fs::read_dir(dir.path().join(names::WORK)).unwrap().count(), 0);
    }

    #[test]
    fn what_has_no_name_or_another_digest_is_refused() {
        let dir = run_dir();
        let (_, blob) = picture(4);
        let other = Blob { media_type: "image/tiff".into(), ..blob.clone() };
        assert!(matches!(store(dir.path(), &[other]), Err(StoreError::Unfit { .. })));
        let other = Blob { digest: Digest::of(b"x"), ..blob.clone() };
        assert!(matches!(store(dir.path(), &[other]), Err(StoreError::OtherDigest { .. })));
        let elsewhere = tempfile::tempdir().unwrap();
        fs::remove_dir(dir.path().join(names::OUTPUTS)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join(names::OUTPUTS)).unwrap();
        assert!(matches!(store(dir.path(), &[blob]), Err(StoreError::NotAFolder(_))));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
