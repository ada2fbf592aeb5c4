//! Why a package is not opened.

use std::io;
use std::path::PathBuf;

use super::name::NameError;

/// What the owner of an allow-list has against a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// Stable, for programs: `unlisted`, `other_size`.
    pub code: &'static str,
    /// For people, without the file's name: "the package's manifest does not list it".
    pub why: String,
}

/// The package is refused, or it could not be read. Names are shown with what a terminal would obey escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    #[error("`{name}` {source}")]
    Name { name: String, source: NameError },
    #[error("`{name}` is not inside the archive's one folder")]
    Layout { name: String },
    #[error("`{name}` is there twice")]
    Duplicate { name: String },
    #[error("`{name}` and `{other}` are one name where case or the spelling of accents does not count")]
    Collision { name: String, other: String },
    #[error("`{name}` is a link")]
    Link { name: String },
    #[error("`{name}` is a device, a pipe or a socket")]
    Device { name: String },
    #[error("`{name}` is a sparse file")]
    Sparse { name: String },
    #[error("`{name}` is an extension of the format (entry type `{kind}`)")]
    Extension { name: String, kind: String },
    #[error("`{name}` is a folder with nothing in it")]
    EmptyFolder { name: String },
    #[error("there are no files in it")]
    Empty,
    #[error("more than {limit} {what}")]
    TooMany { what: &'static str, limit: u64 },
    #[error("`{name}` has {size} bytes, more than {limit}")]
    TooLarge { name: String, size: u64, limit: u64 },
    #[error("its files have more than {limit} bytes together, with `{name}`")]
    TooLargeTogether { name: String, limit: u64 },
    #[error("the archive unpacks to more than {ratio} times its size")]
    Ratio { ratio: u64 },
    #[error("without a list of files nothing is unpacked; `package.json`: {why}")]
    NoList { why: String },
    #[error("the list of files does not come within the first {limit} bytes of what is packed")]
    LateList { limit: u64 },
    #[error(
        "its files have {bytes} bytes together, and nobody whom you believe signed them; {limit} would be unpacked"
    )]
    Unvouched { bytes: u64, limit: u64 },
    #[error("the archive ends {place}")]
    Truncated { place: String },
    #[error("the header at byte {at} has the wrong checksum")]
    Checksum { at: u64 },
    #[error("the header at byte {at} is malformed: {why}")]
    Header { at: u64, why: &'static str },
    #[error("there is data at byte {at}, {place}")]
    Garbage { at: u64, place: &'static str },
    #[error("it is not a ustar archive")]
    NotAnArchive,
    #[error("the archive is packed in a way that cannot be unpacked")]
    Packing { source: io::Error },
    #[error("it is packed with {packing}, which is no format of packages")]
    OtherPacking { packing: &'static str },
    #[error("`{name}` is refused: {source}")]
    NotAdmitted { name: String, source: Refusal },
    #[error("`{name}` changed while it was read")]
    Changed { name: String },
    #[error("the folder `{0}` to write to is not empty")]
    NotEmpty(PathBuf),
    #[error("`{0}` does not exist")]
    Missing(PathBuf),
    #[error("`{0}` is neither a file nor a folder")]
    NotAFile(PathBuf),
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

impl ArchiveError {
    /// The stable name of the kind of refusal, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Name { source, .. } => source.code(),
            Self::Layout { .. } => "layout",
            Self::Duplicate { .. } => "duplicate",
            Self::Collision { .. } => "collision",
            Self::Link { .. } => "link",
            Self::Device { .. } => "device",
            Self::Sparse { .. } => "sparse",
            Self::Extension { .. } => "extension",
            Self::EmptyFolder { .. } => "empty_folder",
            Self::Empty => "empty",
            Self::TooMany { .. } => "too_many",
            Self::TooLarge { .. } | Self::TooLargeTogether { .. } => "too_large",
            Self::Ratio { .. } => "ratio",
            Self::NoList { .. } => "no_list",
            Self::LateList { .. } => "late_list",
            Self::Unvouched { .. } => "unvouched",
            Self::Truncated { .. } => "truncated",
            Self::Checksum { .. } => "checksum",
            Self::Header { .. } => "header",
            Self::Garbage { .. } => "garbage",
            Self::NotAnArchive => "not_an_archive",
            Self::Packing { .. } => "packing",
            Self::OtherPacking { .. } => "other_packing",
            Self::NotAdmitted { source, .. } => source.code,
            Self::Changed { .. } => "changed",
            Self::NotEmpty(_) => "not_empty",
            Self::Missing(_) => "missing",
            Self::NotAFile(_) => "not_a_file",
            Self::Read { .. } | Self::Write { .. } => "io",
        }
    }

    /// Whether the package itself is at fault; otherwise it could not be looked at.
    pub fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::OtherPacking { .. }
                | Self::Changed { .. }
                | Self::NotEmpty(_)
                | Self::Missing(_)
                | Self::NotAFile(_)
                | Self::Read { .. }
                | Self::Write { .. }
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Extension { .. } | Self::Header { .. } | Self::Sparse { .. } => Some(
                "an archive of the package's folder must be plain: \
                 `tar --format=ustar --owner=0 --group=0 --numeric-owner -cf PACKAGE.tar FOLDER`",
            ),
            Self::NotAnArchive => Some("a package is a folder, a `.tar` or a `.tar.zst` that `proofmark seal` made"),
            Self::Packing { .. } | Self::Ratio { .. } => Some("ask for the archive that is not packed"),
            Self::LateList { .. } => {
                Some("unpack it with `zstd -d` and verify the `.tar`: there nothing is unpacked in search of it")
            }
            Self::Unvouched { .. } => Some(
                "when you believe the signer, `proofmark keys trust KEY --role submitter`; \
                 `--any-signer` believes anybody, or unpack it yourself and verify the folder",
            ),
            Self::OtherPacking { .. } => {
                Some("a package is a folder, a `.tar` or a `.tar.zst`: unpack it, and verify what is in it")
            }
            Self::Truncated { .. } => Some("fetch the archive again; it is not whole"),
            _ => None,
        }
    }
}
