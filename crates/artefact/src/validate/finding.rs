//! What a check found, and how many findings are kept.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::text::excerpt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The run does not hold what it says.
    Error,
    /// Something a reader should know; the run's own files are as they should be.
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable; [`super::CODES`] says what each one means.
    pub code: &'static str,
    /// Name of the file inside the run directory.
    pub file: String,
    /// The sample, where one is known.
    pub key: Option<String>,
    /// From 1.
    pub line: Option<u64>,
    /// What is so and what was expected.
    pub message: String,
    pub severity: Severity,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} {}: {}", self.code, self.severity.as_str(), self.message)
    }
}

/// How many findings are kept; all are counted.
pub const MAX_FINDINGS: usize = 1000;

/// Findings in the order in which they were made: the first ones are kept, all are counted.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) kept: Vec<Finding>,
    pub(super) errors: u64,
    pub(super) warnings: u64,
}

impl Findings {
    /// Counts a finding and, while there is room, keeps it. Its text is made only when it is kept.
    pub(super) fn push(&mut self, code: super::Code, place: Place<'_>, message: impl FnOnce() -> String) {
        match code.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(Finding {
                code: code.id,
                file: place.file.to_owned(),
                key: place.key.map(|key| excerpt(key, 400)),
                line: place.line,
                message: message(),
                severity: code.severity,
            });
        }
    }

    /// Adds what another part of the work found.
    pub(super) fn append(&mut self, mut other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        other.kept.truncate(MAX_FINDINGS - self.kept.len().min(MAX_FINDINGS));
        self.kept.append(&mut other.kept);
    }
}

/// Where a finding is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u64>,
    pub(super) key: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(super) fn file(file: &'a str) -> Self {
        Self { file, line: None, key: None }
    }

    pub(super) fn line(file: &'a str, line: u64) -> Self {
        Self { file, line: Some(line), key: None }
    }

    pub(super) fn with_key(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }
}

/// A text from a file as a message shows it: in backticks, bounded, without control characters.
pub(super) fn quote(text: &str) -> String {
    format!("`{}`", excerpt(text, 120))
}

/// Names in backticks, with commas between them; only the first ones of many.
pub(super) fn quote_all<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 8;
    let mut list: Vec<String> = names.iter().take(SHOWN).map(|name| quote(name.as_ref())).collect();
    if names.len() > SHOWN {
        list.push(format!("{} more", names.len() - SHOWN));
    }
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::codes;
    use super::*;

    #[test]
    fn a_finding_reads_like_a_compiler_message() {
        let mut findings = Findings::default();
        findings.push(codes::SEED, Place::line("records.jsonl", 17).with_key("t/1/m/raw/0"), || "seed is 1".to_owned());
        findings.push(codes::EXTRA, Place::file("notes.txt"), || "unknown".to_owned());
        let texts: Vec<String> = findings.kept.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["records.jsonl:17: V034 error: seed is 1", "notes.txt: V004 warning: unknown"]);
        assert_eq!((findings.errors, findings.warnings), (1, 1));
    }

    #[test]
    fn the_first_thousand_are_kept_and_all_are_counted() {
        let many = |from: u64, count: u64| {
            let mut findings = Findings::default();
            for line in from..from + count {
                findings.push(codes::BLANK_LINE, Place::line("x", line), || "blank".to_owned());
            }
            findings
        };
        let mut all = many(1, 700);
        all.append(many(701, 2500));
        assert_eq!((all.kept.len(), all.errors), (MAX_FINDINGS, 3200));
        assert_eq!(all.kept.last().unwrap().line, Some(1000));
    }

    #[test]
    fn a_message_cannot_drive_a_terminal() {
        assert_eq!(quote("a\u{1b}[2J\u{202e}b"), "`a\\u{1b}[2J\\u{202e}b`");
        assert_eq!(quote(&"é".repeat(500)).chars().count(), 123);
        assert_eq!(quote_all::<&str>(&[]), "none");
        assert_eq!(quote_all(&["a"; 10]).matches("`a`").count(), 8);
    }
}
