//! Where no tool call of an agent may reach.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::Plain;

use super::marks::Marks;

/// Names and paths that a call must not touch.
#[derive(Debug, Clone)]
pub struct Forbidden {
    pub(super) names: Vec<Name>,
    pub(super) paths: Vec<Path>,
    pub(super) marks: Marks,
    /// Finds the parts of all of them: a text without any, and without a pattern, touches nothing.
    finder: Option<AhoCorasick>,
}

/// What a forbidden place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Grader,
    JudgeCache,
    Gold,
    RunDirectory,
    Ledger,
    Keys,
}

impl Place {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grader => "grader",
            Self::JudgeCache => "judge_cache",
            Self::Gold => "gold",
            Self::RunDirectory => "run_directory",
            Self::Ledger => "ledger",
            Self::Keys => "keys",
        }
    }

    /// What it is, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Grader => "the grader",
            Self::JudgeCache => "the judge's cache",
            Self::Gold => "the benchmark's answers",
            Self::RunDirectory => "the run's own directory",
            Self::Ledger => "the ledger",
            Self::Keys => "signing keys",
        }
    }
}

/// A name that is forbidden wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub place: Place,
    /// Folded, its signs kept.
    pub text: String,
    pub reach: Reach,
}

/// What a name must be to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Any part of a path or an address.
    Part,
    /// A part of a local path, with or without an extension.
    Component,
    /// The same as a word of its own, and alone it is not enough: it needs an extension or a folder around it.
    InPath,
    /// A file of data, or a folder that such a file is asked for in: pages and books are called so too.
    Data,
    /// The name of a variable, anywhere in a command.
    Variable,
}

/// A path that is forbidden with all that is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub place: Place,
    /// Its components, folded, without the root.
    pub components: Vec<String>,
    /// Whether it starts at the root; otherwise at a folder that nobody knows.
    pub is_absolute: bool,
}

impl Forbidden {
    /// Nothing is forbidden.
    pub fn none() -> Self {
        Self { names: Vec::new(), paths: Vec::new(), marks: Marks::none(), finder: None }
    }

    /// What graders, caches of verdicts, files of answers, run directories and keys are usually called.
    pub fn usual() -> Self {
        let mut forbidden = Self::none();
        for (place, reach, names) in USUAL {
            for name in *names {
                forbidden.names.push(Name { place: *place, text: folded(name), reach: *reach });
            }
        }
        forbidden.compile();
        forbidden
    }

    /// Adds a path of this run: its directory, its judge cache, its dataset, a key.
    pub fn add(&mut self, place: Place, path: &str) {
        let components: Vec<String> = split(path).map(folded).collect();
        if !components.is_empty() {
            self.paths.push(Path { place, components, is_absolute: path.starts_with('/') });
            self.compile();
        }
    }

    /// Adds the places where the benchmark's answers can be had.
    pub fn add_marks(&mut self, marks: &Marks) {
        self.marks = std::mem::take(&mut self.marks).merge(marks);
        self.compile();
    }

    /// Whether a text, folded or plain ASCII, can touch anything by a name that is written out.
    pub(super) fn is_possible(&self, text: &str) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    fn compile(&mut self) {
        let mut parts: BTreeSet<&str> = BTreeSet::new();
        for name in &self.names {
            // All of its parts must be there, so that one is enough: of `proc/1/environ` not the `1`.
            parts.extend(split(&name.text).max_by_key(|part| part.len()));
        }
        for path in &self.paths {
            parts.extend(path.components.iter().map(String::as_str));
        }
        parts.extend(self.marks.names().map(|mark| mark.text.as_str()));
        self.finder = AhoCorasick::builder().ascii_case_insensitive(true).build(parts).ok();
    }
}

/// A part of a path without case and look-alikes, its signs kept.
pub(super) fn folded(part: &str) -> String {
    if part.is_ascii() {
        return part
            .bytes()
            .filter(|byte| !byte.is_ascii_control())
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
    }
    part.chars()
        .map(|character| match character {
            _ if character.is_ascii() => character.to_ascii_lowercase().to_string(),
            _ => Plain::joined(character.encode_utf8(&mut [0; 4])).text().to_owned(),
        })
        .collect()
}

/// The components of a path, without root, home and `.`.
pub(super) fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "~") && !part.starts_with('$'))
}

/// Parts of a path in a name that stand for any number, as that of a process.
pub(super) const NUMBER: &str = "#";

const USUAL: &[(Place, Reach, &[&str])] = &[
    (Place::JudgeCache, Reach::Part, &["judge-cache", "judge_cache", "judgecache", ".cache/proofmark/judgments"]),
    (Place::JudgeCache, Reach::Part, &[".local/state/proofmark"]),
    (Place::JudgeCache, Reach::Data, &["judgments", "judgements", "verdicts"]),
    (Place::Grader, Reach::Component, &["grader", "graders", "autograder"]),
    (Place::Grader, Reach::InPath, &["judge", "scorer"]),
    (Place::Grader, Reach::Part, &["gaia-judge", "gaia_judge", "gaia-scorer", "gaia_scorer", "llm-judge", "llm_judge"]),
    (
        Place::Gold,
        Reach::Part,
        &[
            "answer_key",
            "answer-key",
            "answerkey",
            "gold_answers",
            "gold-answers",
            ".cache/ruflo/gaia",
            // Datasets of the hub are kept there.
            ".cache/proofmark",
            "gold/answers",
            "golds/answers",
            "ground_truth/answers",
            "ground-truth/answers",
        ],
    ),
    (
        Place::Gold,
        Reach::Component,
        &[
            "gold.json",
            "gold.jsonl",
            "gold.csv",
            "golds.json",
            "answers.jsonl",
            "ground_truth.json",
            "ground_truth.jsonl",
        ],
    ),
    // Not `manifest.json`, `summary.json` or `report.html`: anybody writes files of these names. They are known by the
    // path of their run.
    (
        Place::RunDirectory,
        Reach::Component,
        &[
            "records.jsonl",
            "trajectories.jsonl",
            "telemetry.jsonl",
            "report.replay.json",
            "config.resolved.yaml",
            "judge-probe.json",
            ".proofmark",
        ],
    ),
    (Place::Ledger, Reach::Component, &["ledger.jsonl", "proofmark-ledger"]),
    (
        Place::Keys,
        Reach::Component,
        &[
            "id_ed25519",
            "id_rsa",
            "id_ecdsa",
            ".ssh",
            "trust.json",
            "signing.key",
            "signing.pem",
            "signing-key",
            "signing_key",
            "witness.key",
            "witness-key",
            "witness_key",
        ],
    ),
    (
        Place::Keys,
        Reach::Part,
        // A variable is no part of a path: `/proc/$PPID/environ` is the last one.
        &[
            "proc/self/environ",
            "proc/thread-self/environ",
            "proc/#/environ",
            "proc/environ",
            "proc/self/task/#/environ",
            "proc/#/task/#/environ",
            ".config/proofmark",
            "proofmark/keys",
        ],
    ),
    (
        Place::Keys,
        Reach::Variable,
        &[
            "proofmark_judge_key",
            "proofmark_runner_key",
            "proofmark_submitter_key",
            "proofmark_verifier_key",
            "proofmark_key_passphrase",
            "proofmark_home",
            "proofmark_trust",
        ],
    ),
];
