//! The digest that the contract gives a file.

use std::io::{self, Read};

use proofmark_canon::{Digest, Hasher};

use super::js::{self, JsError, JsForm};
use crate::manifest::HashMode;
use crate::yaml::{self, YamlError};

/// The largest file that is hashed as it is.
pub const MAX_RAW: u64 = 1 << 30;

/// What was read of a file: the digest of all of it, and its bytes while they are few enough to be parsed.
#[derive(Debug, Clone)]
pub struct Content {
    pub raw: Digest,
    pub size: u64,
    /// `None` when the file is larger than a document may be.
    pub bytes: Option<Vec<u8>>,
}

/// Reads to the end in constant memory. `Ok(None)`: there is more than [`MAX_RAW`].
pub fn read(source: impl Read) -> io::Result<Option<Content>> {
    let mut source = source.take(MAX_RAW + 1);
    let mut hasher = Hasher::new();
    let mut bytes = Some(Vec::new());
    let mut size = 0;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        size += read as u64;
        if size > yaml::MAX_BYTES as u64 {
            bytes = None;
        }
        if let Some(bytes) = &mut bytes {
            bytes.extend_from_slice(&buffer[..read]);
        }
    }
    Ok((size <= MAX_RAW).then(|| Content { raw: hasher.finish(), size, bytes }))
}

impl Content {
    /// The canonical JSON of the value that the bytes say, by our own strict reader.
    pub fn structured(&self) -> Result<Vec<u8>, YamlError> {
        match &self.bytes {
            Some(bytes) => canonical(bytes),
            None => Err(YamlError::new(format!("the document has more than {} bytes", yaml::MAX_BYTES))),
        }
    }

    /// The same as the JavaScript reference computes it.
    pub fn js(&self) -> Result<JsForm, JsError> {
        match &self.bytes {
            Some(bytes) => js::read(bytes),
            None => Err(JsError::too_large()),
        }
    }
}

/// The canonical JSON of a YAML or JSON document, read strictly.
pub fn canonical(bytes: &[u8]) -> Result<Vec<u8>, YamlError> {
    Ok(yaml::load_bytes(bytes)?.to_value().to_canonical())
}

/// The mode of a file that nobody gave one, by the end of its name.
pub fn mode_of(name: &str) -> HashMode {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "yml" | "yaml" | "json" => HashMode::Structured,
        _ => HashMode::Raw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hashed_whole_and_kept_only_while_it_is_small() {
        let small = read(&b"a: 1\n"[..]).unwrap().unwrap();
        assert_eq!((small.raw, small.size), (Digest::of(b"a: 1\n"), 5));
        assert_eq!(small.structured().unwrap(), br#"{"a":1}"#);
        let large = vec![b' '; yaml::MAX_BYTES + 1];
        let large = read(large.as_slice()).unwrap().unwrap();
        assert!(large.bytes.is_none() && large.structured().is_err() && large.js().is_err());
        assert!(read(io::repeat(0)).unwrap().is_none());
    }

    #[test]
    fn the_end_of_a_name_gives_the_mode() {
        for (name, mode) in [
            ("a.yml", HashMode::Structured),
            ("a.YAML", HashMode::Structured),
            ("a.b/c.json", HashMode::Structured),
            ("a.jsonl", HashMode::Raw),
            ("json", HashMode::Raw),
            ("a.md", HashMode::Raw),
        ] {
            assert_eq!(mode_of(name), mode, "{name}");
        }
    }
}
