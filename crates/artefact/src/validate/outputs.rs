//! Whether the pictures in `outputs/` are those that the records name.
//!
//! Memory stays flat: what records name and what the folder holds are both sorted by digest, on disk when they are
//! many, and walked side by side.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use proofmark_canon::Digest;

use super::finding::{Findings, MAX_FINDINGS, Place};
use super::{ValidateError, codes, files, io_error};
use crate::picture::{Format, MAX_BYTES, sniff};
use crate::record::Image;
use crate::spill::{Sorter, Walk};
use crate::store::names::{OUTPUTS, RECORDS};
use crate::store::{OpenError, OutputName, read_bounded};
use crate::text::excerpt;

/// Digest, format, size, width, height and the record's line: sorted by file, then by what is said of it.
const NAMED: usize = 32 + 1 + 8 + 4 + 4 + 8;
/// Digest and format.
const FOUND: usize = 32 + 1;
/// How many entries are held in memory: 4 MB.
const ROOM: usize = 64 * 1024;

/// Collects what records name.
pub(super) struct Outputs {
    named: Sorter<NAMED>,
}

impl Outputs {
    pub(super) fn new() -> Self {
        Self { named: Sorter::new(ROOM, None) }
    }

    /// Takes a picture of a record whose media type is one that is stored.
    pub(super) fn push(&mut self, line: u64, image: &Named) -> io::Result<()> {
        self.named.push(image.entry(line))
    }

    /// Holds what was named against what is there.
    pub(super) fn finish(self, dir: &Path, findings: &mut Findings) -> Result<(), ValidateError> {
        let folder = dir.join(OUTPUTS);
        let io_failed = |source| io_error(&folder)(source);
        let mut found = list(&folder, findings)?;
        let mut named = self.named.finish().and_then(crate::spill::Sorted::into_walk).map_err(io_failed)?;
        let next = |walk: &mut Walk<FOUND>| walk.next().transpose().map_err(io_failed);
        let mut there = next(&mut found)?;
        let mut last: Option<Looked> = None;
        while let Some(entry) = named.next().transpose().map_err(io_failed)? {
            let file = &entry[..FOUND];
            while there.as_ref().is_some_and(|there| there[..] < *file) {
                report_unnamed(there.as_ref(), findings);
                there = next(&mut found)?;
            }
            // Several records may name one file; it is read once.
            let looked = match last.take() {
                Some(looked) if looked.file == *file => looked,
                _ => Looked::at(dir, file, findings)?,
            };
            looked.check(&entry, findings);
            if there.as_ref().is_some_and(|there| there[..] == *file) {
                there = next(&mut found)?;
            }
            last = Some(looked);
        }
        while there.is_some() {
            report_unnamed(there.as_ref(), findings);
            there = next(&mut found)?;
        }
        Ok(())
    }
}

/// A picture as a record names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    name: OutputName,
    bytes: u64,
    width: u32,
    height: u32,
}

impl Named {
    pub(super) fn of(image: &Image) -> Option<Self> {
        let Image { bytes, width, height, .. } = *image;
        OutputName::of(image).map(|name| Self { name, bytes, width, height })
    }

    fn entry(&self, line: u64) -> [u8; NAMED] {
        let mut entry = [0; NAMED];
        entry[..32].copy_from_slice(self.name.digest.as_bytes());
        entry[32] = self.name.format as u8;
        entry[33..41].copy_from_slice(&self.bytes.to_be_bytes());
        entry[41..45].copy_from_slice(&self.width.to_be_bytes());
        entry[45..49].copy_from_slice(&self.height.to_be_bytes());
        entry[49..].copy_from_slice(&line.to_be_bytes());
        entry
    }
}

/// A file that was looked at.
struct Looked {
    file: Vec<u8>,
    name: String,
    state: State,
}

enum State {
    Missing,
    /// It is there and was not read, or is not what its name says; that was reported.
    Reported,
    /// Its digest is right: size, and format and dimensions or why it has none.
    Whole(u64, Result<(Format, u32, u32), String>),
}

impl Looked {
    fn at(dir: &Path, file: &[u8], findings: &mut Findings) -> Result<Self, ValidateError> {
        let name = name_of(file);
        let path = dir.join(&name);
        let state = match files::kind_of(&path)? {
            files::Kind::Absent => State::Missing,
            files::Kind::File => Self::read(&path, &name, file, findings)?,
            files::Kind::Folder => {
                files::report_not_a_file(&name, "a folder", findings);
                State::Reported
            }
            files::Kind::Other(what) => {
                files::report_not_a_file(&name, what, findings);
                State::Reported
            }
        };
        Ok(Self { file: file.to_vec(), name, state })
    }

    fn read(path: &Path, name: &str, file: &[u8], findings: &mut Findings) -> Result<State, ValidateError> {
        let bytes = match read_bounded(path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(OpenError::TooLarge { limit, .. }) => {
                findings.push(codes::IMAGE_DIGEST, Place::file(name), || {
                    format!("the file is larger than {limit} bytes, the most that is stored; it was not read")
                });
                return Ok(State::Reported);
            }
            Err(error) => return Err(error.into()),
        };
        let actual = Digest::of(&bytes);
        if actual.as_bytes()[..] != file[..32] {
            findings.push(codes::IMAGE_DIGEST, Place::file(name), || {
                format!("the bytes have the digest {actual}, expected the one that names the file")
            });
            return Ok(State::Reported);
        }
        let facts = sniff(&bytes).map(|facts| (facts.format, facts.width, facts.height));
        Ok(State::Whole(bytes.len() as u64, facts.map_err(|error| error.to_string())))
    }

    /// Holds the file against what one record says of it.
    fn check(&self, entry: &[u8; NAMED], findings: &mut Findings) {
        let number =
            |range: std::ops::Range<usize>| entry[range].iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let (bytes, width, height, line) = (number(33..41), number(41..45), number(45..49), number(49..57));
        let place = Place::line(RECORDS, line);
        let name = &self.name;
        let (size, facts) = match &self.state {
            State::Reported => return,
            State::Missing => {
                findings.push(codes::IMAGE_MISSING, place, || format!("the record names `{name}`, which is not there"));
                return;
            }
            State::Whole(size, facts) => (*size, facts),
        };
        let mut differs = |what: &str, found: String, said: String| {
            if found != said {
                findings.push(codes::IMAGE_FACTS, place, || {
                    format!("the record has {said} as the {what} of `{name}`, found {found}")
                });
            }
        };
        differs("size", format!("{size} bytes"), format!("{bytes} bytes"));
        match facts {
            Ok((format, found_width, found_height)) => {
                differs("media type", format.media_type().to_owned(), format_of(entry[32]).media_type().to_owned());
                differs("dimensions", format!("{found_width}x{found_height}"), format!("{width}x{height}"));
            }
            Err(why) => findings.push(codes::IMAGE_FACTS, place, || format!("the record names `{name}`: {why}")),
        }
    }
}

/// Lists the folder. What has no name of our form is reported at once.
fn list(folder: &Path, findings: &mut Findings) -> Result<Walk<FOUND>, ValidateError> {
    let io_failed = |source| io_error(folder)(source);
    let mut found = Sorter::<FOUND>::new(ROOM, None);
    let mut odd = BTreeSet::new();
    let mut odd_total = 0u64;
    if files::kind_of(folder)? == files::Kind::Folder {
        for entry in fs::read_dir(folder).map_err(io_failed)? {
            let name = entry.map_err(io_failed)?.file_name();
            match name.to_str().and_then(OutputName::parse) {
                Some(name) => {
                    let mut entry = [0; FOUND];
                    entry[..32].copy_from_slice(name.digest.as_bytes());
                    entry[32] = name.format as u8;
                    found.push(entry).map_err(io_failed)?;
                }
                None => {
                    odd_total += 1;
                    odd.insert(name.to_string_lossy().into_owned());
                    if odd.len() > MAX_FINDINGS {
                        odd.pop_last();
                    }
                }
            }
        }
    }
    for name in &odd {
        let shown = format!("{OUTPUTS}/{}", excerpt(name, 200));
        findings.push(codes::IMAGE_UNNAMED, Place::file(&shown), || "no part of a run writes this".to_owned());
    }
    findings.warnings += odd_total.saturating_sub(odd.len() as u64);
    found.finish().and_then(crate::spill::Sorted::into_walk).map_err(io_failed)
}

fn report_unnamed(file: Option<&[u8; FOUND]>, findings: &mut Findings) {
    let Some(file) = file else { return };
    let name = name_of(file);
    findings.push(codes::IMAGE_UNNAMED, Place::file(&name), || "no record names this picture".to_owned());
}

/// The name of a file out of its digest and format.
fn name_of(file: &[u8]) -> String {
    let hex: String = file[..32].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{OUTPUTS}/{hex}.{}", format_of(file[32]).extension())
}

/// The format of an entry that was made here.
fn format_of(byte: u8) -> Format {
    Format::ALL[usize::from(byte) % Format::ALL.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::png;
    use crate::store::write_atomic;

    struct Bench {
        dir: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join(OUTPUTS)).unwrap();
            Self { dir }
        }

        /// Stores a picture and returns how a record names it.
        fn store(&self, shade: u8) -> Image {
            let bytes = png::encode_rgb(4, 2, &[shade; 24]);
            let image = Image {
                bytes: bytes.len() as u64,
                digest: Digest::of(&bytes),
                height: 2,
                media_type: "image/png".to_owned(),
                width: 4,
            };
            write_atomic(&OutputName::of(&image).unwrap().under(self.dir.path()), &bytes).unwrap();
            image
        }

        fn codes(&self, images: &[Image]) -> Vec<(&'static str, Option<u64>)> {
            let mut outputs = Outputs::new();
            for (line, image) in (1..).zip(images) {
                outputs.push(line, &Named::of(image).unwrap()).unwrap();
            }
            let mut findings = Findings::default();
            outputs.finish(self.dir.path(), &mut findings).unwrap();
            let mut codes: Vec<_> = findings.kept.iter().map(|finding| (finding.code, finding.line)).collect();
            codes.sort();
            codes
        }
    }

    #[test]
    fn pictures_that_are_as_named_give_no_finding() {
        let bench = Bench::new();
        let images: Vec<Image> = [1, 2, 3, 2, 1].map(|shade| bench.store(shade)).into();
        assert_eq!(bench.codes(&images), []);
        fs::remove_dir_all(bench.dir.path().join(OUTPUTS)).unwrap();
        assert_eq!(bench.codes(&[]), []);
        assert_eq!(bench.codes(&images[..1]), [("V080", Some(1))]);
    }

    #[test]
    fn what_a_record_says_wrong_is_found_in_its_line() {
        let bench = Bench::new();
        let image = bench.store(1);
        let wrong = [
            image.clone(),
            Image { bytes: 3, ..image.clone() },
            Image { width: 5, ..image.clone() },
            Image { height: 5, bytes: 3, ..image.clone() },
        ];
        assert_eq!(bench.codes(&wrong), [("V082", Some(2)), ("V082", Some(3)), ("V082", Some(4)), ("V082", Some(4))]);
        // Under another media type it is another file.
        let other = Image { media_type: "image/webp".to_owned(), ..image };
        assert_eq!(bench.codes(&[other]), [("V080", Some(1)), ("V083", None)]);
    }

    #[test]
    fn what_is_in_the_folder_and_should_not_be_is_found() {
        let bench = Bench::new();
        let (image, _extra) = (bench.store(1), bench.store(2));
        write_atomic(&bench.dir.path().join("outputs/notes.txt"), b"x").unwrap();
        assert_eq!(bench.codes(std::slice::from_ref(&image)), [("V083", None), ("V083", None)]);
        let path = OutputName::of(&image).unwrap().under(bench.dir.path());
        write_atomic(&path, b"other").unwrap();
        assert_eq!(bench.codes(&[image.clone(), image.clone()])[0], ("V081", None));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert_eq!(bench.codes(&[image])[0], ("V006", None));
    }

    #[test]
    fn bytes_that_are_no_picture_are_found() {
        let bench = Bench::new();
        let (bytes, digest) = (5, Digest::of(b"hello"));
        let image = Image { bytes, digest, height: 1, media_type: "image/gif".to_owned(), width: 1 };
        write_atomic(&OutputName::of(&image).unwrap().under(bench.dir.path()), b"hello").unwrap();
        assert_eq!(bench.codes(&[image]), [("V082", Some(1))]);
    }
}
