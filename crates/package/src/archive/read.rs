//! An archive that anybody may have made, to files of ours.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, Write as _};
use std::path::Path;

use proofmark_artefact::text::excerpt;
use proofmark_canon::{Digest, Hasher};

use super::contents::{Contents, SHOWN};
use super::error::{ArchiveError, Refusal};
use super::header::{self, BLOCK, Block, Fault, Header, Kind, is_zero, padding};
use super::input::{BUFFER, Input};
use super::limits::Limits;
use super::name::{Name, NameError};
use super::open::{Member, Opened};

/// Reads an archive and writes its files to an empty folder, without the one folder that all of them are in.
///
/// The archive is walked twice. The first time everything is checked and `admit` is asked about every file; nothing is
/// written unless all is well. The second time the files are written and hashed, and must be the same ones. The folder
/// must be one that nobody else writes to; when the disk fails, what was written stays there.
///
/// `path` is where the archive comes from, for messages.
pub fn extract<R: Read + Seek>(
    archive: &mut R,
    path: &Path,
    into: &Path,
    limits: &Limits,
    mut admit: impl FnMut(&Name, u64) -> Result<(), Refusal>,
) -> Result<Opened, ArchiveError> {
    check_empty(into)?;
    let mut contents = Contents::new(limits);
    let mut walk = Walk::begin(archive, path, limits)?;
    while let Some(entry) = walk.next()? {
        contents.count()?;
        match entry {
            Entry::Folder(name) => contents.add_folder(&name)?,
            Entry::Top => {}
            Entry::File(name, size) => {
                contents.add_file(&name, size, &mut admit)?;
                walk.pass_over(&name, size)?;
            }
        }
    }
    let top = walk.finish()?;
    let listed = contents.finish()?;

    let mut files = BTreeMap::new();
    let mut expected = listed.iter();
    let mut walk = Walk::begin(archive, path, limits)?;
    let changed = || ArchiveError::Changed { name: path.display().to_string() };
    while let Some(entry) = walk.next()? {
        let Entry::File(name, size) = entry else { continue };
        if expected.next() != Some(&(name.clone(), size)) {
            return Err(changed());
        }
        let digest = write_file(&mut walk, &name, size, into)?;
        files.insert(name, Member { size, digest });
    }
    if expected.next().is_some() || walk.finish()? != top {
        return Err(changed());
    }
    Ok(Opened { folder: into.to_owned(), top, files })
}

/// Reads some small files of an archive to memory, each with its largest size, and writes nothing. The walk ends when all of
/// them are found; the rest of the archive is not looked at then.
///
/// A plain archive is passed over without being read. Of a packed one no more is unpacked than may be in vain.
pub(super) fn peek<R: Read + Seek>(
    archive: &mut R,
    path: &Path,
    wanted: &[(&str, u64)],
    limits: &Limits,
) -> Result<BTreeMap<Name, Vec<u8>>, ArchiveError> {
    let mut contents = Contents::new(limits);
    let mut found = BTreeMap::new();
    let mut walk = Walk::begin(archive, path, limits)?;
    while let Some(entry) = walk.next()? {
        contents.count()?;
        let (name, size) = match entry {
            Entry::Top => continue,
            Entry::Folder(name) => {
                contents.add_folder(&name)?;
                continue;
            }
            Entry::File(name, size) => (name, size),
        };
        contents.add_file(&name, size, |_, _| Ok(()))?;
        walk.check_search(size, limits.unvouched_bytes)?;
        match wanted.iter().find(|(one, _)| *one == name.as_str()) {
            None => walk.pass_over(&name, size)?,
            Some((_, limit)) if size > *limit => {
                return Err(ArchiveError::TooLarge { name: name.to_string(), size, limit: *limit });
            }
            Some(_) => {
                let mut bytes = Vec::new();
                walk.read_over(&name, size, |more| {
                    bytes.extend_from_slice(more);
                    Ok(())
                })?;
                found.insert(name, bytes);
            }
        }
        if found.len() == wanted.len() {
            return Ok(found);
        }
    }
    walk.finish()?;
    contents.finish()?;
    Ok(found)
}

/// Makes sure that there is a folder and nothing in it: then nothing there can lead elsewhere.
fn check_empty(folder: &Path) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::Read { path: folder.to_owned(), source };
    match fs::read_dir(folder).map_err(failed)?.next() {
        None => Ok(()),
        Some(_) => Err(ArchiveError::NotEmpty(folder.to_owned())),
    }
}

fn write_file<R: Read + Seek>(
    walk: &mut Walk<'_, R>,
    name: &Name,
    size: u64,
    into: &Path,
) -> Result<Digest, ArchiveError> {
    let path = name.under(into);
    let failed = |source| ArchiveError::Write { path: path.clone(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Never through a link, never over a file.
    let mut file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
    let mut hasher = Hasher::new();
    walk.read_over(name, size, |bytes| {
        hasher.update(bytes);
        file.write_all(bytes).map_err(failed)
    })?;
    Ok(hasher.finish())
}

/// What an archive lists, without its one folder.
enum Entry {
    /// The one folder itself.
    Top,
    Folder(Name),
    /// Its bytes come next and must be read or passed over.
    File(Name, u64),
}

/// The entries of an archive one after another, each checked by itself.
struct Walk<'a, R> {
    input: Input<'a, R>,
    top: Option<String>,
    is_top_listed: bool,
    buffer: Vec<u8>,
}

impl<'a, R: Read + Seek> Walk<'a, R> {
    fn begin(archive: &'a mut R, path: &'a Path, limits: &'a Limits) -> Result<Self, ArchiveError> {
        let input = Input::begin(archive, path, limits)?;
        Ok(Self { input, top: None, is_top_listed: false, buffer: vec![0; BUFFER] })
    }

    /// Returns the next entry; `None` after the mark of the end.
    fn next(&mut self) -> Result<Option<Entry>, ArchiveError> {
        let at = self.input.at();
        let mut block: Block = [0; BLOCK];
        match self.input.read(&mut block)? {
            BLOCK => {}
            _ if at == 0 => return Err(ArchiveError::NotAnArchive),
            0 => return Err(ArchiveError::Truncated { place: "without a mark of its end".to_owned() }),
            _ => return Err(ArchiveError::Truncated { place: "within a header".to_owned() }),
        }
        if is_zero(&block) {
            return self.read_end().map(|()| None);
        }
        let header = header::parse(&block).map_err(|fault| match fault {
            Fault::Magic if at == 0 => ArchiveError::NotAnArchive,
            Fault::Magic => ArchiveError::Header { at, why: "it is not one of ustar" },
            Fault::Checksum => ArchiveError::Checksum { at },
            Fault::Malformed(why) => ArchiveError::Header { at, why },
        })?;
        self.judge(&header).map(Some)
    }

    /// Ends the walk after the last entry and returns the name of the one folder.
    fn finish(self) -> Result<Option<String>, ArchiveError> {
        self.input.finish()?;
        Ok(self.top)
    }

    fn judge(&mut self, header: &Header) -> Result<Entry, ArchiveError> {
        let shown = || shown(&header.name);
        match header.kind {
            Kind::File | Kind::Folder => {}
            Kind::Link => return Err(ArchiveError::Link { name: shown() }),
            Kind::Device => return Err(ArchiveError::Device { name: shown() }),
            Kind::Sparse => return Err(ArchiveError::Sparse { name: shown() }),
            Kind::Extension(kind) => {
                return Err(ArchiveError::Extension { name: shown(), kind: kind.escape_ascii().to_string() });
            }
        }
        let refused = |source| ArchiveError::Name { name: shown(), source };
        let text = std::str::from_utf8(&header.name).map_err(|_| refused(NameError::NotUtf8))?;
        let text = match header.kind {
            Kind::Folder if text.len() > 1 => text.strip_suffix('/').unwrap_or(text),
            _ => text,
        };
        // The whole name first: `..` is no folder that all could be in.
        text.parse::<Name>().map_err(refused)?;
        let (top, rest) = text.split_once('/').unwrap_or((text, ""));
        if self.top.get_or_insert_with(|| top.to_owned()) != top {
            return Err(ArchiveError::Layout { name: shown() });
        }
        match (header.kind, rest) {
            (Kind::Folder, "") if self.is_top_listed => Err(ArchiveError::Duplicate { name: shown() }),
            (Kind::Folder, "") => {
                self.is_top_listed = true;
                Ok(Entry::Top)
            }
            (_, "") => Err(ArchiveError::Layout { name: shown() }),
            (Kind::Folder, rest) => Ok(Entry::Folder(rest.parse().map_err(refused)?)),
            (_, rest) => Ok(Entry::File(rest.parse().map_err(refused)?, header.size)),
        }
    }

    /// Refuses to unpack the bytes of another file when it is too many already.
    fn check_search(&self, size: u64, limit: u64) -> Result<(), ArchiveError> {
        let is_late = self.input.is_packed() && self.input.at().saturating_add(size) > limit;
        if is_late { Err(ArchiveError::LateList { limit }) } else { Ok(()) }
    }

    /// Passes over a file's bytes.
    fn pass_over(&mut self, name: &Name, size: u64) -> Result<(), ArchiveError> {
        if !self.input.skip(size)? {
            return Err(ends_within(name));
        }
        self.read_padding(name, size)
    }

    /// Reads a file's bytes, piece by piece.
    fn read_over(
        &mut self,
        name: &Name,
        size: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut left = size;
        while left > 0 {
            let step = left.min(self.buffer.len() as u64) as usize;
            if self.input.read(&mut self.buffer[..step])? < step {
                return Err(ends_within(name));
            }
            take(&self.buffer[..step])?;
            left -= step as u64;
        }
        self.read_padding(name, size)
    }

    fn read_padding(&mut self, name: &Name, size: u64) -> Result<(), ArchiveError> {
        let at = self.input.at();
        let mut block: Block = [0; BLOCK];
        let rest = &mut block[..padding(size)];
        if self.input.read(rest)? < rest.len() {
            return Err(ends_within(name));
        }
        // A place to hide something in, where no digest looks.
        if is_zero(rest) { Ok(()) } else { Err(ArchiveError::Garbage { at, place: "behind the end of a file" }) }
    }

    /// Reads the second of the two blocks that mark the end.
    fn read_end(&mut self) -> Result<(), ArchiveError> {
        let at = self.input.at();
        let mut block: Block = [0; BLOCK];
        if self.input.read(&mut block)? < BLOCK {
            return Err(ArchiveError::Truncated { place: "within the mark of its end".to_owned() });
        }
        if is_zero(&block) { Ok(()) } else { Err(ArchiveError::Garbage { at, place: "behind a block of zeros" }) }
    }
}

fn ends_within(name: &Name) -> ArchiveError {
    ArchiveError::Truncated { place: format!("within `{}`", excerpt(name.as_str(), SHOWN)) }
}

fn shown(name: &[u8]) -> String {
    excerpt(&String::from_utf8_lossy(name), SHOWN)
}
