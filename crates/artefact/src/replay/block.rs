//! The fields of a sidecar: ours and AHD's.
//!
//! Unknown fields are ignored; a newer `schema_version` is refused before anything else is looked at.

use proofmark_canon::json::ParseError;
use proofmark_canon::{Digest, Value};

use crate::manifest::HashMode;
use crate::text::excerpt;
use crate::witness::markdown::REQUEST_IDS;
use crate::witness::sidecar::{IdList, Sidecar};

/// The newest block that is understood.
pub const NEWEST: u64 = 1;

/// A sidecar whose fields are what the contract says.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub dialect: Dialect,
    pub kind: String,
    /// Of the program that wrote it.
    pub version: String,
    pub commit: Option<String>,
    pub git_dirty: Option<bool>,
    pub invoked_at: String,
    pub backfilled: bool,
    /// The way from the sidecar's folder to the root.
    pub root: Option<String>,
    /// Where the root is in its repository.
    pub root_in_repo: Option<String>,
    pub inputs: Vec<Input>,
    /// How many files the block pins beside the inputs.
    pub artifacts: usize,
    /// The whole document with the models' lists of request ids emptied, for the comparison with the markdown.
    pub value: Value,
    /// What was in those lists.
    pub request_ids: Vec<IdList>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Proofmark,
    Ahd,
}

/// Something that the run read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Where it stands in the block: `suite`, `inputs[3]`, `token`.
    pub field: String,
    pub role: String,
    /// `None`: it is not under the root.
    pub path: Option<String>,
    pub hash: Digest,
    /// `None`: raw is tried first, then structured.
    pub mode: Option<HashMode>,
    /// A dataset of the hub is not a file under the root.
    pub hub: Option<OfHub>,
}

/// A dataset of the hub, as the block names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfHub {
    pub repo: String,
    /// Empty when the block does not say.
    pub revision: String,
    /// The files that were read and the hex digits of their SHA-256.
    pub files: Vec<(String, String)>,
}

/// The sidecar cannot be understood.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    #[error("not valid JSON: {0}")]
    NotJson(ParseError),
    #[error("expected an object, found {0}")]
    NotAnObject(&'static str),
    #[error("`schema_version` is {0}, and this program knows up to {NEWEST}")]
    Newer(u64),
    #[error("neither `proofmark_version` nor `ahd_version` is there")]
    NoDialect,
    #[error("`{field}` is missing")]
    Missing { field: String },
    #[error("`{field}` is {found}, expected {expected}")]
    Shape { field: String, found: String, expected: &'static str },
}

impl BlockError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer(_) => Some("verify it with a newer Proofmark"),
            Self::NoDialect => Some("a sidecar is the `.replay.json` beside a report"),
            _ => None,
        }
    }
}

/// Finds the fields of a sidecar.
pub fn parse(sidecar: &Sidecar) -> Result<Block, BlockError> {
    let value = sidecar.parse_marked().map_err(BlockError::NotJson)?;
    let top = At { value: &value, path: String::new() };
    if value.as_object().is_none() {
        return Err(BlockError::NotAnObject(value.kind()));
    }
    let version = top.field("schema_version")?;
    let version = version.value.as_u64().ok_or_else(|| version.misfit("the number 1"))?;
    match version {
        0 => return Err(top.field("schema_version")?.misfit("the number 1")),
        newer if newer > NEWEST => return Err(BlockError::Newer(newer)),
        _ => {}
    }
    let dialect = match (value.get("proofmark_version"), value.get("ahd_version")) {
        (Some(_), _) => Dialect::Proofmark,
        (None, Some(_)) => Dialect::Ahd,
        (None, None) => return Err(BlockError::NoDialect),
    };
    let kind = top.field("kind")?;
    if !matches!(kind.value.as_str(), Some("eval-live" | "critique" | "eval-image")) {
        return Err(kind.misfit("`eval-live`, `critique` or `eval-image`"));
    }
    let (commit_field, version_field) = match dialect {
        Dialect::Proofmark => ("repo_commit", "proofmark_version"),
        Dialect::Ahd => ("ahd_commit", "ahd_version"),
    };
    let commit = top.field(commit_field)?;
    let commit = match commit.value {
        Value::Null => None,
        Value::String(text) if is_commit(text) => Some(text.clone()),
        _ => return Err(commit.misfit("40 lower-case hex digits or null")),
    };
    let git_dirty = top.field("git_dirty")?;
    let git_dirty = match git_dirty.value {
        Value::Null => None,
        Value::Bool(dirty) => Some(*dirty),
        _ => return Err(git_dirty.misfit("true, false or null")),
    };
    let invoked_at = top.field("invoked_at")?;
    if !invoked_at.value.as_str().is_some_and(is_utc_time) {
        return Err(invoked_at.misfit("a time such as 2026-04-22T10:00:00Z"));
    }
    check_shared(&top, sidecar)?;
    let inputs = match dialect {
        Dialect::Proofmark => own_inputs(&top)?,
        Dialect::Ahd => ahd_inputs(&top)?,
    };
    let own_text = |name: &str| -> Result<Option<String>, BlockError> {
        match (dialect, value.get(name)) {
            (Dialect::Ahd, _) | (_, None | Some(Value::Null)) => Ok(None),
            (_, Some(Value::String(text))) => Ok(Some(text.clone())),
            _ => Err(top.field(name)?.misfit("a text or null")),
        }
    };
    let artifacts = match value.get("artifacts") {
        None => 0,
        Some(found) => match found.as_object() {
            Some(map) => map.len(),
            None => return Err(top.field("artifacts")?.misfit("an object")),
        },
    };
    let backfilled = match value.get("backfilled") {
        None => false,
        Some(Value::Bool(backfilled)) => *backfilled,
        Some(_) => return Err(top.field("backfilled")?.misfit("true or false")),
    };
    Ok(Block {
        dialect,
        kind: top.text("kind")?.to_owned(),
        version: top.text(version_field)?.to_owned(),
        commit,
        git_dirty,
        invoked_at: top.text("invoked_at")?.to_owned(),
        backfilled,
        root: own_text("root")?,
        root_in_repo: own_text("root_in_repo")?,
        inputs,
        artifacts,
        value,
        request_ids: sidecar.lists().to_vec(),
    })
}

/// Fields that are checked for their shape alone.
fn check_shared(top: &At<'_>, sidecar: &Sidecar) -> Result<(), BlockError> {
    for argument in top.field("argv")?.items()? {
        argument.as_text()?;
    }
    let sampling = top.field("sampling")?;
    let n = sampling.field("n")?;
    n.value.as_u64().ok_or_else(|| n.misfit("a whole number"))?;
    let temperature = sampling.field("temperature")?;
    if !temperature.value.is_null() && temperature.value.as_f64().is_none() {
        return Err(temperature.misfit("a number or null"));
    }
    let seed = sampling.field("seed")?;
    if !seed.value.is_null() && !seed.value.as_f64().is_some_and(|seed| seed.fract() == 0.0) {
        return Err(seed.misfit("a whole number or null"));
    }
    for (at, model) in top.field("models")?.items()?.iter().enumerate() {
        model.text("id")?;
        model.text("provider")?;
        // Ids were left behind when they are texts; what is no text is still here.
        for id in model.field(REQUEST_IDS)?.items_from(sidecar.ids_before(at))? {
            id.as_text()?;
        }
    }
    let conditions = top.field("conditions")?;
    for name in ["requested", "effective"] {
        for condition in conditions.field(name)?.items()? {
            condition.as_text()?;
        }
    }
    Ok(())
}

fn own_inputs(top: &At<'_>) -> Result<Vec<Input>, BlockError> {
    let suite = top.field("suite")?;
    let mut inputs = vec![suite.input("suite")?];
    for item in top.field("inputs")?.items()? {
        let role = item.text("role")?.to_owned();
        let input = item.input(&role)?;
        let suite = &inputs[0];
        let is_suite_again =
            role == "suite" && (&input.path, input.hash, input.mode) == (&suite.path, suite.hash, suite.mode);
        if !is_suite_again {
            inputs.push(input);
        }
    }
    Ok(inputs)
}

fn ahd_inputs(top: &At<'_>) -> Result<Vec<Input>, BlockError> {
    let mut inputs = Vec::new();
    for role in ["token", "brief"] {
        let field = top.field(role)?;
        if role == "brief" && field.value.is_null() {
            continue;
        }
        let input = field.input(role)?;
        if input.path.is_none() {
            return Err(field.field("path")?.misfit("a path"));
        }
        inputs.push(input);
    }
    Ok(inputs)
}

/// A value and where it stands.
struct At<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> At<'a> {
    fn field(&self, name: &str) -> Result<At<'a>, BlockError> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        if self.value.as_object().is_none() {
            return Err(self.misfit("an object"));
        }
        match self.value.get(name) {
            Some(value) => Ok(At { value, path }),
            None => Err(BlockError::Missing { field: path }),
        }
    }

    fn items(&self) -> Result<Vec<At<'a>>, BlockError> {
        self.items_from(0)
    }

    /// The items of a list of which so many are not here.
    fn items_from(&self, first: usize) -> Result<Vec<At<'a>>, BlockError> {
        let items = self.value.as_array().ok_or_else(|| self.misfit("a list"))?;
        let place = |at| format!("{}[{}]", self.path, first + at);
        Ok(items.iter().enumerate().map(|(at, value)| At { value, path: place(at) }).collect())
    }

    fn text(&self, name: &str) -> Result<&'a str, BlockError> {
        self.field(name)?.as_text()
    }

    fn as_text(&self) -> Result<&'a str, BlockError> {
        self.value.as_str().ok_or_else(|| self.misfit("a text"))
    }

    fn input(&self, role: &str) -> Result<Input, BlockError> {
        let path = self.field("path")?;
        let path = match path.value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => return Err(path.misfit("a path")),
        };
        let hash = self.field("hash")?;
        let digest = hash.value.as_str().and_then(|text| text.parse().ok());
        let mode = match self.value.get("mode") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_str() {
                Some("raw") => Some(HashMode::Raw),
                Some("structured") => Some(HashMode::Structured),
                _ => return Err(self.field("mode")?.misfit("`raw` or `structured`")),
            },
        };
        Ok(Input {
            field: self.path.clone(),
            role: role.to_owned(),
            path,
            hash: digest.ok_or_else(|| hash.misfit("`sha256:` and 64 lower-case hex digits"))?,
            mode,
            // Only datasets and their attachments come from the hub: a suite that says so is a file all the same.
            hub: if matches!(role, "dataset" | "attachment") { self.of_hub()? } else { None },
        })
    }

    fn of_hub(&self) -> Result<Option<OfHub>, BlockError> {
        if self.value.get("repo").is_none_or(Value::is_null) {
            return Ok(None);
        }
        let revision = self.value.get("revision").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut files = Vec::new();
        if self.value.get("files").is_some() {
            for file in self.field("files")?.items()? {
                files.push((file.text("path")?.to_owned(), file.text("sha256")?.to_owned()));
            }
        }
        Ok(Some(OfHub { repo: self.text("repo")?.to_owned(), revision, files }))
    }

    fn misfit(&self, expected: &'static str) -> BlockError {
        let found = match self.value {
            Value::Array(_) | Value::Object(_) => self.value.kind().to_owned(),
            value => format!("`{}`", excerpt(&value.to_plain_text(), 80)),
        };
        BlockError::Shape { field: self.path.clone(), found, expected }
    }
}

/// 40 hex digits, or 64 in repositories that hash with SHA-256.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// RFC 3339 in UTC with `T` and `Z`, a day that the calendar has.
fn is_utc_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u32> {
        let part = bytes.get(from..to)?;
        part.iter().all(u8::is_ascii_digit).then(|| part.iter().fold(0, |sum, d| sum * 10 + u32::from(d - b'0')))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
        return false;
    }
    let parts = [number(0, 4), number(5, 7), number(8, 10), number(11, 13), number(14, 16), number(17, 19)];
    let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] = parts else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    let fraction = match bytes.get(19..) {
        Some([b'Z']) => true,
        Some([b'.', digits @ .., b'Z']) => {
            !digits.is_empty() && digits.len() <= 9 && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    fraction && (1..=days).contains(&day) && hour < 24 && minute < 60 && second < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_in_utc_that_the_calendar_has_are_times() {
        for text in ["2026-08-03T09:57:42.291Z", "2024-02-29T00:00:00Z", "2999-01-01T23:59:59.123456789Z"] {
            assert!(is_utc_time(text), "{text}");
        }
        for text in [
            "2026-08-03",
            "2026-08-03T09:57:42+00:00",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01t00:00:00Z",
            "2026-01-01T00:00:00z",
            "",
            "２026-01-01T00:00:00Z",
        ] {
            assert!(!is_utc_time(text), "{text}");
        }
    }
}
