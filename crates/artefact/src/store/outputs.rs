//! The pictures of a run: `outputs/<64 hex digits>.<extension>`, named by what they hold.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_canon::Digest;

use super::{OpenError, names, read_bounded};
use crate::picture::{Format, MAX_BYTES};
use crate::record::Image;

/// The name of a stored picture, without its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputName {
    pub digest: Digest,
    pub format: Format,
}

impl OutputName {
    /// The file that a record names; `None` when its media type is not one that is stored.
    pub fn of(image: &Image) -> Option<Self> {
        Some(Self { digest: image.digest, format: Format::of_media_type(&image.media_type)? })
    }

    /// Reads a name of exactly our form.
    pub fn parse(name: &str) -> Option<Self> {
        let (hex, extension) = name.split_once('.')?;
        Some(Self { digest: format!("sha256:{hex}").parse().ok()?, format: Format::of_extension(extension)? })
    }

    /// Where the file is under a run directory.
    pub fn under(&self, run_dir: &Path) -> PathBuf {
        run_dir.join(self.to_string())
    }
}

/// With its folder, as the run directory has it.
impl std::fmt::Display for OutputName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}.{}", names::OUTPUTS, self.digest.hex(), self.format.extension())
    }
}

/// A picture that a record names is not what it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    #[error("there is no name for a picture of type `{media_type}`")]
    Unnamed { media_type: String },
    #[error("`{0}` is not there")]
    Missing(OutputName),
    #[error("`{0}` is not a regular file")]
    NotAFile(OutputName),
    #[error("`{name}` was changed: its bytes have the digest {actual}")]
    Changed { name: OutputName, actual: Digest },
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Reads a picture that a record names and holds its bytes against the digest. Links are not followed.
pub fn load_output(run_dir: &Path, image: &Image) -> Result<Vec<u8>, OutputError> {
    let unnamed = || OutputError::Unnamed { media_type: crate::text::excerpt(&image.media_type, 80) };
    let name = OutputName::of(image).ok_or_else(unnamed)?;
    let path = name.under(run_dir);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(OutputError::NotAFile(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(OutputError::Missing(name)),
        Err(source) => return Err(OpenError::Io { path, source }.into()),
    }
    let bytes = read_bounded(&path, MAX_BYTES)?;
    let actual = Digest::of(&bytes);
    if actual == name.digest { Ok(bytes) } else { Err(OutputError::Changed { name, actual }) }
}

/// Removes the pictures of an earlier run: files with names of our form, and the folder when nothing else is in it.
pub(super) fn clear_outputs(run_dir: &Path) -> io::Result<()> {
    let folder = run_dir.join(names::OUTPUTS);
    match fs::symlink_metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => {}
        // A link may lead to anything; it is not ours.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut is_empty = true;
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| OutputName::parse(name).is_some());
        if ours && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        } else {
            is_empty = false;
        }
    }
    if is_empty { fs::remove_dir(&folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::write_atomic;

    fn image(bytes: &[u8], media_type: &str) -> Image {
        let (bytes, digest) = (bytes.len() as u64, Digest::of(bytes));
        Image { bytes, digest, height: 1, media_type: media_type.to_owned(), width: 1 }
    }

    #[test]
    fn a_name_is_read_only_in_exactly_our_form() {
        let name = OutputName::of(&image(b"x", "image/jpeg")).unwrap();
        let text = name.to_string();
        assert_eq!(text, format!("outputs/{}.jpg", Digest::of(b"x").hex()));
        let file = text.strip_prefix("outputs/").unwrap();
        assert_eq!(OutputName::parse(file), Some(name));
        let hex = Digest::of(b"x").hex();
        for other in [
            format!("{hex}.jpeg"),
            format!("{hex}.JPG"),
            format!("{hex}.png.bak"),
            format!(".{hex}.png"),
            format!("{}.png", hex.to_uppercase()),
            format!("{}.png", &hex[1..]),
            hex,
            "notes.png".to_owned(),
        ] {
            assert_eq!(OutputName::parse(&other), None, "{other}");
        }
        assert_eq!(OutputName::of(&image(b"x", "image/svg+xml")), None);
    }

    #[test]
    fn a_picture_is_read_only_when_it_is_the_one() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = image(b"picture", "image/png");
        let path = OutputName::of(&wanted).unwrap().under(dir.path());
        assert!(matches!(load_output(dir.path(), &wanted), Err(OutputError::Missing(_))));
        fs::create_dir(dir.path().join("outputs")).unwrap();
        write_atomic(&path, b"picture").unwrap();
        assert_eq!(load_output(dir.path(), &wanted).unwrap(), b"picture");
        write_atomic(&path, b"another").unwrap();
        assert!(matches!(load_output(dir.path(), &wanted), Err(OutputError::Changed { .. })));
        fs::remove_file(&path).unwrap();
        let elsewhere = dir.path().join("elsewhere");
        write_atomic(&elsewhere, b"picture").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(load_output(dir.path(), &wanted), Err(OutputError::NotAFile(_))));
        let odd = image(b"x", "text/html\u{1b}");
        assert!(load_output(dir.path(), &odd).unwrap_err().to_string().contains("text/html\\u{1b}"));
    }

    #[test]
    fn only_what_has_our_form_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("outputs");
        clear_outputs(dir.path()).unwrap();
        fs::create_dir(&folder).unwrap();
        let ours = OutputName::of(&image(b"x", "image/png")).unwrap().under(dir.path());
        write_atomic(&ours, b"x").unwrap();
        write_atomic(&folder.join("holiday.png"), b"mine").unwrap();
        clear_outputs(dir.path()).unwrap();
        assert!(!ours.exists() && folder.join("holiday.png").exists());
        fs::remove_file(folder.join("holiday.png")).unwrap();
        clear_outputs(dir.path()).unwrap();
        assert!(!folder.exists());
        // Through a link nothing is removed.
        let other = tempfile::tempdir().unwrap();
        let theirs = other.path().join(ours.file_name().unwrap());
        write_atomic(&theirs, b"x").unwrap();
        std::os::unix::fs::symlink(other.path(), &folder).unwrap();
        clear_outputs(dir.path()).unwrap();
        assert!(theirs.exists());
    }
}
