//! The shape of `calibration.json`.

use std::collections::BTreeMap;

use proofmark_canon::json::EncodeError;
use proofmark_canon::{Digest, Map};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::{Figure, Share};
use super::measure::{self, Labelled, Ruling};
use super::probe::Probe;
use super::warn::{Warning, warnings};
use crate::suite::judge::{JudgeMode, ScoreRange};

/// The version of the calibration's shape.
pub const CALIBRATION_SCHEMA: u32 = 1;

/// How far the judges of a scorer agree with people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Each judge on its own, in the scorer's order.
    pub judges: Vec<Measured>,
    pub labels: LabelSet,
    /// All judges together, as a run counts them; null when there is only one.
    pub panel: Option<Measured>,
    /// What attacks inside of answers did; null when that was not tried.
    pub probe: Option<Probe>,
    /// How often every label was put before every judge.
    pub repeats: u32,
    pub schema_version: u32,
    pub subject: Subject,
    /// What a reader must not overlook.
    pub warnings: Vec<Warning>,
}

impl Calibration {
    /// Makes the report out of what the judges ruled: by judge, then by label, then by repeat; `panel` by label, then by
    /// repeat.
    pub fn new(
        subject: Subject,
        labels: LabelSet,
        labelled: &[Labelled],
        judges: &[Vec<Vec<Ruling>>],
        panel: Option<&[Vec<Ruling>]>,
        probe: Option<Probe>,
    ) -> Self {
        let repeats = judges.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let measured = |name: Option<&JudgeSubject>, rulings: &[Vec<Ruling>]| {
            measure::measure(&subject, name, &labels.digest, labelled, rulings)
        };
        let judges = subject.judges.iter().zip(judges).map(|(judge, rulings)| measured(Some(judge), rulings)).collect();
        let panel = panel.map(|rulings| measured(None, rulings));
        let repeats = u32::try_from(repeats).unwrap_or(u32::MAX);
        let schema_version = CALIBRATION_SCHEMA;
        let mut made = Self { judges, labels, panel, probe, repeats, schema_version, subject, warnings: Vec::new() };
        made.warnings = warnings(&made);
        made
    }

    /// The bytes of `calibration.json`: canonical JSON and a line end.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = proofmark_canon::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads `calibration.json`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        if bytes.len() > MAX_BYTES {
            return Err(ReadError::TooLong);
        }
        let value = proofmark_canon::json::parse(bytes).map_err(ReadError::Json)?;
        match value.get("schema_version").and_then(proofmark_canon::Value::as_u64) {
            Some(version) if version == u64::from(CALIBRATION_SCHEMA) => {}
            Some(version) => return Err(ReadError::Version(version)),
            None => return Err(ReadError::NoVersion),
        }
        proofmark_canon::json::from_value(&value).map_err(ReadError::Shape)
    }

    /// What the run's verdict rests on: the panel, or the only judge.
    pub fn headline(&self) -> Option<&Measured> {
        self.panel.as_ref().or_else(|| self.judges.first())
    }
}

/// The longest `calibration.json` that is read; ours have some kilobytes.
const MAX_BYTES: usize = 16 << 20;

/// A `calibration.json` cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("it is not JSON")]
    Json(#[source] proofmark_canon::json::ParseError),
    #[error("it has no `schema_version`")]
    NoVersion,
    #[error("its `schema_version` is {0}, and this Proofmark knows {CALIBRATION_SCHEMA}")]
    Version(u64),
    #[error("it is not a calibration")]
    Shape(#[source] proofmark_canon::json::ShapeError),
}

/// What was calibrated: everything of a judge scorer that its verdicts depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// In the scorer's order.
    pub judges: Vec<JudgeSubject>,
    pub mode: JudgeMode,
    /// The value from which an answer passes.
    pub pass: f64,
    /// The version of the texts around rubric and answer.
    pub prompt_version: u32,
    /// Whether the judges are shown the target.
    pub reference: bool,
    /// Digest of the rubric's text.
    #[schemars(with = "String")]
    pub rubric: Digest,
    pub score: Option<ScoreRange>,
    /// The scorer's name in the suite.
    pub scorer: String,
    /// The task's id in the suite.
    pub task: String,
    /// What a judge may say, and what each word is worth; empty for comparisons.
    pub verdicts: BTreeMap<String, f64>,
    pub votes: u32,
}

/// A judge that was calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeSubject {
    /// The judge's id in the suite.
    pub id: String,
    /// `provider:model-id`.
    pub model: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub params: Map,
    /// What decides how it is reached besides its name; empty when nothing does.
    pub serving: String,
}

/// The labels that were used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelSet {
    /// Labels that were put before the judges.
    pub count: u64,
    /// Of the bytes of the file.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// Labels of empty answers: they fail without a judge, in a run too, and were left out.
    pub empty: u64,
    /// Answers that people fail.
    pub fails: u64,
    /// Labels in the file.
    pub in_file: u64,
    /// Answers that people pass.
    pub passes: u64,
    /// Labels that say who wrote the answer.
    pub with_author: u64,
}

/// One judge, or the panel, held against the labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Labels judged as people did, of all labels. A label without a verdict is not judged right.
    pub accuracy: Share,
    pub bias: Bias,
    pub confusion: Confusion,
    pub errors: Errors,
    /// Answers that people pass and the judge fails, of those that people pass and that have a verdict.
    pub false_fail: Share,
    /// Answers that people fail and the judge passes, of those that people fail and that have a verdict.
    pub false_pass: Share,
    /// The judge's id; null for the panel.
    pub judge: Option<String>,
    /// Cohen's kappa of judge and people over labels that have a verdict.
    pub kappa: Figure,
    /// Whether the judge says the same when it is asked again.
    pub repeat: Repeat,
    /// Word by word, where there are more than two and people gave words; else null.
    pub verdicts: Option<VerdictTable>,
}

/// People against the judge, over labels that have a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confusion {
    pub false_fail: u64,
    pub false_pass: u64,
    pub true_fail: u64,
    pub true_pass: u64,
}

/// Labels without a verdict, the first time they were asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The judge gave no answer.
    pub failed: u64,
    /// Its reply did not have the declared form, twice.
    pub misfit: u64,
}

impl Errors {
    pub fn total(self) -> u64 {
        self.failed + self.misfit
    }
}

/// Where a judge errs more than elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bias {
    pub length: LengthBias,
    pub own_family: FamilyBias,
    pub position: PositionBias,
}

/// Whether long answers are judged more kindly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LengthBias {
    /// Rank correlation (Spearman) of an answer's length with how far the judge is above people: 1 for a false pass, -1 for
    /// a false fail, else 0. Interval by Fisher's transformation.
    pub correlation: Figure,
    /// False passes among the longer answers minus those among the shorter ones.
    pub difference: Figure,
    /// False passes among failing answers longer than the median.
    pub longer: Share,
    /// The median length of failing answers, in characters; null without any.
    pub median: Option<u64>,
    /// False passes among failing answers up to the median.
    pub shorter: Share,
}

/// Whether the place of an answer in a comparison decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PositionBias {
    /// Pairs of votes, one a label, whose winner changes with the order.
    pub flips: Share,
    /// Of those: pairs that lean to what stands first.
    pub to_first: u64,
    /// Of those: pairs that lean to what stands second.
    pub to_second: u64,
    /// Two-sided p-value (exact binomial test) for one place being favoured; null without flips.
    pub p: Option<f64>,
}

/// Whether answers of the judge's own family are judged more kindly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyBias {
    /// False passes among the own family's minus those among the others'.
    pub difference: Figure,
    /// The judge's family; null for the panel.
    pub family: Option<String>,
    /// False passes among failing answers by models of the judge's own family.
    pub others: Share,
    /// False passes among failing answers by others.
    pub own: Share,
}

/// Whether the judge says the same when it is asked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Labels with the same verdict in all repeats, of those that have one in all.
    pub agreement: Share,
    /// Labels that have no verdict in some repeat.
    pub errors: u64,
    /// Cohen's kappa of the first and the second repeat.
    pub kappa: Figure,
}

/// How often people said one word and the judge another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictTable {
    /// A row for each of people's words, a column for each of the judge's, in the order of `words`.
    pub counts: Vec<Vec<u64>>,
    pub kappa: Figure,
    pub words: Vec<String>,
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A single judge of the family `openai`.
    pub(crate) fn subject() -> Subject {
        let judge =
            JudgeSubject { id: "j".into(), model: "openai:gpt-4.1".into(), params: Map::new(), serving: String::new() };
        Subject {
            judges: vec![judge],
            mode: JudgeMode::Single,
            pass: 1.0,
            prompt_version: 1,
            reference: true,
            rubric: Digest::of(b"rubric"),
            score: None,
            scorer: "judge".into(),
            task: "t".into(),
            verdicts: [("fail".to_owned(), 0.0), ("pass".to_owned(), 1.0)].into(),
            votes: 1,
        }
    }

    pub(crate) fn label(passed: bool) -> Labelled {
        Labelled { passed, word: None, length: 10, author: None }
    }

    pub(crate) fn ruled(passed: bool) -> Ruling {
        Ruling::Ruled { passed, word: None, lean: None }
    }

    pub(crate) fn label_set(labelled: &[Labelled]) -> LabelSet {
        let passes = labelled.iter().filter(|label| label.passed).count() as u64;
        let count = labelled.len() as u64;
        let with_author = labelled.iter().filter(|label| label.author.is_some()).count() as u64;
        let digest = Digest::of(b"labels");
        LabelSet { count, digest, empty: 0, fails: count - passes, in_file: count, passes, with_author }
    }

    /// A calibration of one judge.
    pub(crate) fn calibration(labelled: &[Labelled], rulings: Vec<Vec<Ruling>>) -> Calibration {
        Calibration::new(subject(), label_set(labelled), labelled, &[rulings], None, None)
    }
}
