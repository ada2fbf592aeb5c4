//! Models that answer with what is given.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_artefact::record::{MISSING_OUTPUT, Record, Status, Usage};
use proofmark_artefact::spill::Walk;
use proofmark_artefact::store::{MAX_LINE, load_output};
use proofmark_artefact::text::excerpt;
use proofmark_canon::json;
use proofmark_model::ask::Asking;
use proofmark_model::{Ask, Asked, Blob, Model, Reply, Stop};

use super::index::{FOUND, Place, found_of, line_mark};
use super::line::{LineProblem, LineRules};
use crate::execute::WINDOW;
use crate::recorded::reply_of;

/// The longest line of a file of outputs.
const MAX_GIVEN_LINE: usize = 16 << 20;

/// What the lines are.
pub(super) enum Reader {
    /// Records of the run in this directory.
    Run(PathBuf),
    File(LineRules),
}

impl Reader {
    pub(super) fn longest_line(&self) -> usize {
        match self {
            Self::Run(_) => MAX_LINE,
            Self::File(_) => MAX_GIVEN_LINE,
        }
    }

    /// Returns the sample's key and the answer; `None` where the line says that there is none.
    pub(super) fn read(&self, line: &[u8]) -> Result<(String, Option<Reply>), LineProblem> {
        match self {
            Self::File(rules) => rules.read(line),
            Self::Run(_) => {
                let not_a_record = |why: String| LineProblem {
                    why: format!("is not a record: {}", excerpt(&why, 200)),
                    hint: Some("`proofmark validate DIR` lists everything that is wrong with a run".to_owned()),
                };
                let value = json::parse(line).map_err(|error| not_a_record(error.to_string()))?;
                let record: Record = json::from_value(&value).map_err(|error| not_a_record(error.to_string()))?;
                let key = record.key.to_string();
                let reply = reply_of(record).map_err(|error| not_a_record(error.to_string()))?;
                Ok((key, Some(reply)))
            }
        }
    }
}

/// The answers of a run, by ordinal.
pub(super) struct Answers {
    path: PathBuf,
    file: File,
    reader: Reader,
    walk: Mutex<Ahead>,
}

impl Answers {
    pub(super) fn open(path: &Path, reader: Reader, places: Walk<FOUND>) -> io::Result<Self> {
        let walk = Mutex::new(Ahead { places, next: None, passed: BTreeMap::new() });
        Ok(Self { path: path.to_owned(), file: File::open(path)?, reader, walk })
    }

    fn take(&self, ordinal: u64, key: &str) -> Result<Asked, Stop> {
        let place = self.walk.lock().unwrap_or_else(PoisonError::into_inner).take(ordinal);
        let Some(place) = place.map_err(|error| self.stop(&format!("cannot be sorted: {error}")))? else {
            return Ok(missing().into());
        };
        let mut line = vec![0; place.length as usize];
        let read = self.file.read_exact_at(&mut line, place.offset);
        read.map_err(|error| self.stop(&format!("cannot be read: {error}")))?;
        let (found, reply) = match self.reader.read(&line) {
            Ok(read) if line_mark(&line) == place.mark => read,
            _ => return Err(self.stop("has changed while it was scored")),
        };
        let Some(reply) = reply.filter(|_| found == key) else {
            return Err(self.stop(&format!("has another answer at line {} than it had", place.line)));
        };
        let blobs = match (&self.reader, &reply) {
            (Reader::Run(dir), Reply::Answered { output, .. }) => {
                let load = |image| {
                    let bytes = load_output(dir, image).map_err(|error| Stop {
                        message: format!("a picture of `{key}` cannot be used: {error}"),
                        hint: Some("put it back, or score a whole copy of the run".to_owned()),
                    })?;
                    Ok(Blob { digest: image.digest, media_type: image.media_type.clone(), bytes })
                };
                output.images.iter().map(load).collect::<Result<_, Stop>>()?
            }
            _ => Vec::new(),
        };
        Ok(Asked { reply, blobs, next: None })
    }

    fn stop(&self, why: &str) -> Stop {
        Stop { message: format!("`{}` {why}", self.path.display()), hint: None }
    }
}

fn missing() -> Reply {
    Reply::Failed {
        class: MISSING_OUTPUT.to_owned(),
        message: "the outputs have no answer for this sample".to_owned(),
        status: Status::Error,
        usage: Usage::default(),
    }
}

/// A walk by ordinal whose entries are asked for nearly in order.
struct Ahead {
    places: Walk<FOUND>,
    /// The first one that was not asked for yet.
    next: Option<(u64, Place)>,
    /// Those that were passed on the way to a later one.
    passed: BTreeMap<u64, Place>,
}

impl Ahead {
    fn take(&mut self, ordinal: u64) -> io::Result<Option<Place>> {
        if let Some(place) = self.passed.remove(&ordinal) {
            return Ok(Some(place));
        }
        loop {
            let (found, place) = match self.next.take() {
                Some(next) => next,
                None => match self.places.next().transpose()? {
                    Some(entry) => found_of(&entry),
                    None => return Ok(None),
                },
            };
            match found.cmp(&ordinal) {
                std::cmp::Ordering::Equal => return Ok(Some(place)),
                std::cmp::Ordering::Greater => {
                    self.next = Some((found, place));
                    return Ok(None);
                }
                std::cmp::Ordering::Less => {
                    self.passed.insert(found, place);
                    // No sample can be that far behind another.
                    while self.passed.first_key_value().is_some_and(|(first, _)| first + (WINDOW as u64) < found) {
                        self.passed.pop_first();
                    }
                }
            }
        }
    }
}

/// A model of the suite whose answers are given.
pub(super) struct Given(Arc<Answers>);

impl Given {
    pub(super) fn model(answers: &Arc<Answers>) -> Arc<dyn Model> {
        Arc::new(Self(Arc::clone(answers)))
    }
}

impl Model for Given {
    fn ask<'a>(&'a self, ask: Ask<'a>) -> Asking<'a> {
        Box::pin(async move { self.0.take(ask.hint.ordinal, ask.hint.key) })
    }

    /// All of them read one file, in order.
    fn lane(&self) -> &str {
        "given"
    }
}
