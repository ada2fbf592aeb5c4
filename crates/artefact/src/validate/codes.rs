//! The codes of findings. A code never changes its meaning and is never used again.

use super::finding::Severity;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// `V` and three digits.
    pub id: &'static str,
    pub severity: Severity,
    /// What is wrong when it is found.
    pub means: &'static str,
}

macro_rules! codes {
    ($($name:ident = $id:literal $severity:ident $means:literal)*) => {
        $(#[doc = $means] pub(super) const $name: Code =
            Code { id: $id, severity: Severity::$severity, means: $means };)*

        /// Every code, in order.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    MISSING_FILE = "V001" Error "a file of the run is not there"
    DIGEST = "V002" Error "the bytes of a file do not have the digest that the manifest lists"
    UNLISTED = "V003" Error "a plane-1 file is there, but the manifest does not list it"
    EXTRA = "V004" Warning "the directory holds something that no part of a run wrote"
    LEFTOVER = "V005" Warning "unfinished work was left behind"
    NOT_A_FILE = "V006" Error "a name that belongs to a run is a link, a folder or a device; it was not read"
    FOREIGN_ARTIFACT = "V007" Error "the manifest lists something that is not a plane-1 file"
    TOO_LARGE = "V008" Error "a JSON file is larger than any we write; it was not read"

    JSON_NOT_CANONICAL = "V010" Error "a JSON file is not one canonical object and a line end"
    JSON_SHAPE = "V011" Error "a JSON file does not have the fields and types of its schema"
    VERSION = "V012" Error "a schema version is not the one this shape has"
    CREATED_AT = "V013" Error "the moment of creation is not on the run's time spine"
    TWICE = "V014" Error "a name stands twice where each may stand once"
    MANIFEST_REFERENCE = "V015" Error "parts of the manifest do not fit together"
    ROWS = "V016" Error "a dataset's rows are not the items of its task"
    PLATFORM = "V017" Error "the host is named although artefacts were to be deterministic"
    RANGE = "V018" Error "a number of the manifest is out of its range"
    IDENTITY = "V019" Error "the run id does not follow from the resolved suite, the datasets and the assets"

    LINE_NOT_CANONICAL = "V020" Error "a line is not one canonical JSON object"
    LINE_END = "V021" Error "the last line does not end"
    BLANK_LINE = "V022" Error "a line is empty"
    BOM = "V023" Error "the file starts with a byte order mark"
    LINE_TOO_LONG = "V024" Error "a line is longer than any we write; it was not read"
    LINE_SHAPE = "V025" Error "a line does not have the fields and types of its schema"

    RUN_ID = "V030" Error "a file or line belongs to another run"
    REFERENCE = "V031" Error "a record names a task, model, condition or sample that the run does not have"
    PROVIDER = "V032" Error "a record's provider is not that of its model"
    KEY = "V033" Error "a record's key is not made of its own parts"
    SEED = "V034" Error "a sample's seed is not the one derived from the suite's seed and the key"
    STARTED_AT = "V035" Error "a record's moment is not its own on the time spine"
    ORDINAL = "V036" Error "ordinals do not count up by one from 0"
    ORDER = "V037" Error "records are not in the suite's order, or one is missing or too many"
    DUPLICATE_ITEM = "V038" Error "an item stands twice in one task"
    STATUS = "V039" Error "status, error, output and scores contradict each other"
    SCORERS = "V040" Error "scores are not those of the task's scorers, in order"
    VALUE = "V041" Error "a score is not from 0 to 1"
    OUTPUT_FINGERPRINT = "V042" Error "the output fingerprint is not that of what came back"
    USAGE = "V043" Error "a count of tokens is larger than any real one"

    RECORD_COUNT = "V050" Error "the manifest counts other records than there are"
    STATUS_COUNTS = "V051" Error "the manifest counts other statuses than there are"
    ITEMS = "V052" Error "the manifest counts other items of a task than there are"
    EFFECTIVE = "V053" Error "the effective conditions are not those with a scored sample"

    SUMMARY_DIFFERS = "V060" Error "the summary is not the one that the records give"
    SUMMARY_UNCHECKED = "V061" Warning "the summary could not be made again, so it was not compared"

    EVIDENCE = "V070" Error "trajectories are there without evidence, or the other way round"
    TRAJECTORY_KEY = "V071" Error "trajectories are not those of the records, in order"
    TRAJECTORY_FIELDS = "V072" Error "a trajectory and its record disagree"
    FINAL_ANSWER = "V073" Error "the final answer is not the record's output"
    PROMPT_STEP = "V074" Error "the first steps are not the record's messages"
    OUTPUT_STEP = "V075" Error "the last model output is not the record's output"

    IMAGE_MISSING = "V080" Error "a picture that a record names is not there"
    IMAGE_DIGEST = "V081" Error "the bytes of a picture do not have the digest that names it"
    IMAGE_FACTS = "V082" Error "a picture does not have the size, media type or dimensions of its record"
    IMAGE_UNNAMED = "V083" Warning "the folder of pictures holds something that no record names"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_each_stands_once() {
        assert!(CODES.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert!(CODES.iter().all(|code| code.id.len() == 4 && code.id.starts_with('V') && !code.means.is_empty()));
    }

    #[test]
    fn every_code_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/validate.md");
        let page = std::fs::read_to_string(path).unwrap();
        for code in CODES {
            let row = format!("| {} | {} | {} |", code.id, code.severity.as_str(), code.means);
            assert!(page.contains(&row), "docs/formats/validate.md lacks {row}");
            assert!(include_str!("mod.rs").contains(&row), "the module's table lacks {row}");
        }
    }
}
