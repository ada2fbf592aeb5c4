//! Rows to items: what a template may see, what it may not, and what names the item.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use proofmark_artefact::path::RelPath;
use proofmark_artefact::suite::plan::DatasetPlan;
use proofmark_canon::{Digest, Map, Value};

use super::context::{DataContext, HasFile};
use super::error::{Problem, Role};
use super::gaia;
use super::names::show;

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 512;

/// Hex digits of the digest that names a row without an id.
const DIGEST_ID_DIGITS: usize = 24;

/// One row of a dataset, ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// From the row's id field, or the first 24 hex digits of the digest of the row's canonical JSON.
    pub id: String,
    /// Position in the final order, from 0.
    pub index: u64,
    /// What templates may see: the row without target and metadata, plus `input` and `choices`.
    pub fields: Map,
    /// The gold answer, null when the row has none.
    pub expected: Value,
    pub choices: Option<Vec<Value>>,
    /// Carried along and shown, but not given to templates.
    pub metadata: Map,
    pub files: Vec<Attachment>,
}

/// A file that a row names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub field: String,
    /// Under the root; it was a regular file, or listed by the hub, when the row was read.
    pub path: RelPath,
    /// The suite's root, or where files of the hub are kept.
    pub root: Arc<Path>,
}

/// Where the attachments of a dataset are.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub(super) root: Arc<Path>,
    /// The folder under the root that rows name files of; the root itself when `None`.
    pub(super) below: Option<RelPath>,
    /// What there is on the hub, when it is fetched only after rows have named it.
    pub(super) listed: Option<BTreeSet<RelPath>>,
}

/// Which field means what.
#[derive(Debug)]
pub(super) struct Mapping {
    id: Option<String>,
    input: Option<String>,
    target: Option<String>,
    choices: Option<String>,
    files: Vec<String>,
    metadata: Vec<String>,
    pub(super) home: Home,
    has_file: Option<HasFile>,
    gaia: Option<gaia::Rules>,
}

impl Mapping {
    pub(super) fn new(plan: &DatasetPlan, context: &DataContext) -> Result<Self, Problem> {
        let mapping = Self {
            id: plan.id.clone(),
            input: plan.input.clone(),
            target: plan.target.clone(),
            choices: plan.choices.clone(),
            files: plan.files.clone(),
            metadata: plan.metadata.clone(),
            home: Home { root: context.root.as_path().into(), below: None, listed: None },
            has_file: context.has_file.clone(),
            gaia: gaia::Rules::new(plan),
        };
        mapping.check_roles()?;
        Ok(mapping)
    }

    /// Whether the id of a row is the digest of its canonical JSON.
    pub(super) fn id_is_digest(&self) -> bool {
        self.id.is_none()
    }

    /// Whether a row is left out on purpose. That is no fault of the row.
    pub(super) fn leaves_out(&self, row: &Map) -> Result<bool, Problem> {
        self.gaia.as_ref().map_or(Ok(false), |rules| rules.wants(row).map(|wanted| !wanted))
    }

    /// Turns a row to an item. `canonical` is the row's canonical JSON, needed when [`Self::id_is_digest`].
    pub(super) fn apply(&self, row: Map, canonical: &[u8]) -> Result<Item, Problem> {
        let row = match &self.gaia {
            Some(rules) => rules.narrow(row)?,
            None => row,
        };
        let id = match &self.id {
            Some(field) => id_text(field, required(&row, Role::Id, field)?)?,
            None => digest_id(canonical),
        };
        let files = self.attachments(&row)?;
        let choices = self.choices(&row)?;
        let input = match &self.input {
            Some(field) if field != "input" => Some(required(&row, Role::Input, field)?.clone()),
            Some(field) => required(&row, Role::Input, field).map(|_| None)?,
            None => None,
        };
        for (role, field) in self.hidden() {
            required(&row, role, field)?;
        }

        let mut fields = row;
        let expected = fields.remove(self.target.as_deref().unwrap_or("target")).unwrap_or_default();
        let mut metadata = Map::new();
        for field in &self.metadata {
            if let Some(value) = fields.remove(field) {
                metadata.insert(field.as_str(), value);
            }
        }
        if let Some(input) = input {
            fields.insert("input", input);
        }
        if let Some(choices) = &choices
            && self.choices.as_deref().is_some_and(|field| field != "choices")
        {
            fields.insert("choices", choices.clone());
        }
        Ok(Item { id, index: 0, fields, expected, choices, metadata, files })
    }

    fn choices(&self, row: &Map) -> Result<Option<Vec<Value>>, Problem> {
        match &self.choices {
            Some(field) => match required(row, Role::Choices, field)? {
                Value::Array(list) => Ok(Some(list.clone())),
                other => Err(wrong_kind(Role::Choices, field, "a list", other)),
            },
            None => Ok(row.get("choices").and_then(Value::as_array).map(<[Value]>::to_vec)),
        }
    }

    fn attachments(&self, row: &Map) -> Result<Vec<Attachment>, Problem> {
        let mut files = Vec::new();
        for field in &self.files {
            let wrong = |found| wrong_kind(Role::Files, field, "a path or a list of paths", found);
            match required(row, Role::Files, field)? {
                Value::Null => {}
                Value::String(path) => files.extend(self.attachment(field, path)?),
                Value::Array(paths) => {
                    for path in paths {
                        files.extend(self.attachment(field, path.as_str().ok_or_else(|| wrong(path))?)?);
                    }
                }
                other => return Err(wrong(other)),
            }
        }
        Ok(files)
    }

    /// Reads one path; an empty string names nothing.
    fn attachment(&self, field: &str, text: &str) -> Result<Option<Attachment>, Problem> {
        if text.is_empty() {
            return Ok(None);
        }
        let Home { root, below, listed } = &self.home;
        let path: RelPath = match below {
            Some(folder) => gaia::below(folder, text)?,
            None => text.parse().map_err(|source| Problem::AttachmentPath { field: field.to_owned(), source })?,
        };
        let (field, shown) = (field.to_owned(), show(path.as_str()));
        let full = path.under(root);
        let real_name = full.canonicalize().ok().and_then(|real| Some(real.file_name()?.to_str()?.to_owned()));
        let mut names = path.as_str().rsplit('/').next().into_iter().chain(real_name.as_deref());
        if self.gaia.is_some() && names.any(gaia::is_metadata) {
            return Err(Problem::AttachmentIsGold { field, path: shown });
        }
        let folder = below.as_ref().map_or_else(|| root.to_path_buf(), |below| below.under(root));
        let is_there = match (listed, &self.has_file) {
            (Some(listed), _) => listed.contains(&path),
            (None, Some(HasFile(look))) => look(&path),
            (None, None) => full.is_file() && is_inside(&full, &folder),
        };
        match listed {
            _ if is_there => {}
            Some(_) => return Err(Problem::AttachmentNotListed { field, path: shown }),
            None => return Err(Problem::AttachmentMissing { field, path: shown }),
        }
        Ok(Some(Attachment { field, path, root: Arc::clone(root) }))
    }

    /// Configured fields that templates must not see.
    fn hidden(&self) -> impl Iterator<Item = (Role, &str)> {
        let metadata = self.metadata.iter().map(|field| (Role::Metadata, field.as_str()));
        self.target.as_deref().map(|field| (Role::Target, field)).into_iter().chain(metadata)
    }

    /// Refuses to show a template what must be hidden from it.
    fn check_roles(&self) -> Result<(), Problem> {
        let shown = [(Role::Input, &self.input), (Role::Choices, &self.choices)];
        for (first, field) in shown.into_iter().filter_map(|(role, field)| Some((role, field.as_deref()?))) {
            if let Some((second, _)) = self.hidden().find(|(_, hidden)| *hidden == field) {
                return Err(Problem::RoleConflict { first, second, field: field.to_owned() });
            }
        }
        let target = self.target.as_deref().unwrap_or("target");
        if self.metadata.iter().any(|field| field == target) {
            return Err(Problem::RoleConflict {
                first: Role::Target,
                second: Role::Metadata,
                field: target.to_owned(),
            });
        }
        Ok(())
    }
}

/// Whether a path really is inside a folder: a link inside may point anywhere.
pub(super) fn is_inside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

fn required<'a>(row: &'a Map, role: Role, field: &str) -> Result<&'a Value, Problem> {
    row.get(field).ok_or_else(|| Problem::MissingField {
        role,
        field: field.to_owned(),
        available: row.iter().map(|(name, _)| name.to_owned()).collect(),
    })
}

fn wrong_kind(role: Role, field: &str, expected: &'static str, found: &Value) -> Problem {
    Problem::FieldKind { role, field: field.to_owned(), expected, found: found.kind() }
}

fn id_text(field: &str, value: &Value) -> Result<String, Problem> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.get().fract() == 0.0 => value.to_string(),
        Value::Number(_) => {
            return Err(Problem::FieldKind {
                role: Role::Id,
                field: field.to_owned(),
                expected: "a string or an integer",
                found: "a fraction",
            });
        }
        other => return Err(wrong_kind(Role::Id, field, "a string or an integer", other)),
    };
    match text.len() {
        0 => Err(Problem::EmptyId),
        length if length > MAX_ID_BYTES => Err(Problem::LongId(length)),
        _ => Ok(text),
    }
}

fn digest_id(canonical: &[u8]) -> String {
    let mut hex = Digest::of(canonical).hex();
    hex.truncate(DIGEST_ID_DIGITS);
    hex
}
