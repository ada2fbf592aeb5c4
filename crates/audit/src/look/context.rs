//! What stands around an answer: names of the benchmark, the task's id, a record or a table of answers.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use proofmark_artefact::scan::Plain;

use super::label::{self, Label, label};
use super::marks::{MarkKind, Marks};

/// How far around an answer its context reaches.
pub(super) const REACH: usize = 2048;
/// How far a file's name may stand from an answer to say something about it.
const FILE_REACH: usize = 512;
/// A document with no more than so many bytes beside the answer holds little else.
const BARE: usize = 80;
/// The most clues that are kept: what is denser says no more.
const MAX_FOUND: usize = 1024;
/// The line of names at the top of a table is looked for in so many bytes.
const HEADER: usize = 4096;

/// What is looked for around answers, compiled once for all texts of a sample.
#[derive(Debug, Clone)]
pub(super) struct Clues {
    finder: Option<AhoCorasick>,
    kinds: Vec<Clue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clue {
    Mark(MarkKind),
    Id,
    Field(u8),
}

impl Clues {
    pub(super) fn new(marks: &Marks, id: Option<&str>) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let mut kinds = Vec::new();
        for mark in marks.names() {
            texts.push(&mark.text);
            kinds.push(Clue::Mark(mark.kind));
        }
        if let Some(id) = id {
            texts.push(id);
            kinds.push(Clue::Id);
        }
        for (field, names) in FIELDS.iter().enumerate() {
            for name in *names {
                texts.push(name);
                kinds.push(Clue::Field(field as u8));
            }
        }
        // It searches a few kilobytes around answers: a faster automaton would cost more than it saves.
        let finder = AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(texts);
        Self { finder: finder.ok(), kinds }
    }
}

/// The fields of a record of GAIA, as folding leaves them; the first two are nobody else's.
const FIELDS: &[&[&str]] = &[
    &["task_id", "task id"],
    &["annotator metadata", "annotator_metadata"],
    &["question"],
    &["level"],
    &["file_name", "file name"],
];

/// The label right before an answer.
pub(super) fn label_before(text: &str, at: usize) -> Option<Label> {
    let from = text.ceil_char_boundary(at.saturating_sub(label::REACH));
    label(&text[from..at])
}

/// The surroundings of the answers of one text. Folded once for answers that stand near each other.
pub(super) struct Context<'a> {
    text: &'a str,
    clues: &'a Clues,
    range: Range<usize>,
    /// What was found in the range, and where in the text.
    found: Vec<(Clue, usize)>,
    /// Whether the range holds questions and answers by name.
    has_records: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(text: &'a str, clues: &'a Clues) -> Self {
        Self { text, clues, range: 0..0, found: Vec::new(), has_records: false }
    }

    /// Whether the text holds hardly anything but a label and the answer.
    pub(super) fn is_bare(&self, hit: &Range<usize>) -> bool {
        let words = |text: &str| Plain::words(text).text().split(' ').filter(|word| !word.is_empty()).count();
        self.text.len() - hit.len() <= BARE && words(&self.text[..hit.start]) <= 3 && words(&self.text[hit.end..]) <= 3
    }

    /// The strongest name of the benchmark that stands by an answer.
    pub(super) fn mark(&mut self, hit: &Range<usize>) -> Option<MarkKind> {
        self.fill(hit);
        let near = |(clue, at): &(Clue, usize)| match clue {
            Clue::Mark(MarkKind::File) => is_near(*at, hit, FILE_REACH).then_some(MarkKind::File),
            Clue::Mark(MarkKind::Address) => is_near(*at, hit, REACH).then_some(MarkKind::Address),
            _ => None,
        };
        self.found.iter().filter_map(near).min()
    }

    /// Whether the task's id stands by an answer, and not as the name of the task's own attachment.
    pub(super) fn has_id(&mut self, hit: &Range<usize>) -> bool {
        self.fill(hit);
        self.found.iter().any(|(clue, at)| *clue == Clue::Id && is_near(*at, hit, REACH))
    }

    /// Whether the answer is a field of a record that a benchmark's file would hold.
    pub(super) fn is_record(&mut self, hit: &Range<usize>) -> bool {
        if label_before(self.text, hit.start).is_none() {
            return false;
        }
        self.fill(hit);
        let mut fields = [false; FIELDS.len()];
        for (clue, at) in &self.found {
            if let Clue::Field(field) = clue
                && is_near(*at, hit, REACH)
            {
                fields[usize::from(*field)] = true;
            }
        }
        let is_gaia = (fields[0] || fields[1]) && fields.iter().filter(|is_there| **is_there).count() >= 2;
        is_gaia || self.has_records
    }

    /// Whether the answer is a cell of a table with a column of questions or ids and one of answers.
    pub(super) fn is_in_table(&self, hit: &Range<usize>) -> bool {
        let start = self.text[..hit.start].rfind('\n').map_or(0, |at| at + 1);
        let line = head(&self.text[start..], HEADER).lines().next().unwrap_or_default();
        let top = head(&self.text[..start], HEADER);
        ['|', '\t', ',', ';'].into_iter().any(|sign| {
            let columns = count(line, sign);
            let column = count(head(line, hit.start - start), sign);
            let mut lines = top.lines().take(64);
            let is_header = |header: &str| count(header, sign) == columns && is_header(header, sign, column);
            // A line of names and two rows make a table.
            columns > 0 && lines.any(is_header) && lines.any(|row| count(row, sign) == columns)
        })
    }

    /// Folds what stands around an answer, and more of it, for the next one.
    fn fill(&mut self, hit: &Range<usize>) {
        let wanted = hit.start.saturating_sub(REACH)..(hit.end + REACH).min(self.text.len());
        if self.range.start <= wanted.start && wanted.end <= self.range.end && !self.range.is_empty() {
            return;
        }
        let from = self.text.floor_char_boundary(wanted.start);
        let to = self.text.ceil_char_boundary((wanted.end + 2 * REACH).min(self.text.len()));
        self.range = from..to;
        self.found.clear();
        let part = &self.text[from..to];
        self.has_records = has_records(part);
        let Some(finder) = &self.clues.finder else { return };
        let joined = Plain::joined(part);
        let text = joined.text();
        for found in finder.find_overlapping_iter(text) {
            let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
            let (before, after) = (&text[..found.start()], &text[found.end()..]);
            let clue = self.clues.kinds[found.pattern()];
            let is_part = is_word(before.chars().next_back()) || is_word(after.chars().next());
            let is_other = is_part || clue == Clue::Id && is_file(after);
            if !is_other && self.found.len() < MAX_FOUND {
                self.found.push((clue, from + joined.offset(found.start())));
            }
        }
    }
}

/// Whether what stands behind an id makes it the name of a file.
fn is_file(after: &str) -> bool {
    let extension = after.strip_prefix('.').map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
    extension.flatten().is_some_and(|extension| (1..=6).contains(&extension.len()))
}

fn is_near(at: usize, hit: &Range<usize>, reach: usize) -> bool {
    at + reach >= hit.start && at <= hit.end + reach
}

/// Whether a part of a text has several questions and several answers by name, as JSON writes it.
fn has_records(part: &str) -> bool {
    const QUESTIONS: usize = 3;
    const NAMES: [&str; 9] = [
        "\"question\":",
        "\"task_id\":",
        "\"prompt\":",
        "\"answer\":",
        "\"correct_answer\":",
        "\"final answer\":",
        "\"final_answer\":",
        "\"expected_output\":",
        "\"gold\":",
    ];
    static FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let finder = FINDER.get_or_init(|| AhoCorasick::builder().ascii_case_insensitive(true).build(NAMES).ok());
    let Some(finder) = finder else { return false };
    let (mut questions, mut answers) = (0, 0);
    for found in finder.find_iter(part) {
        if found.pattern().as_usize() < QUESTIONS { questions += 1 } else { answers += 1 }
    }
    questions >= 2 && answers >= 2
}

/// How often a sign stands in a line, quoted parts left out.
fn count(line: &str, sign: char) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for character in line.chars() {
        is_quoted ^= character == '"';
        count += usize::from(character == sign && !is_quoted);
    }
    count
}

/// Whether a line names columns: one of questions or ids, and a given one of answers.
fn is_header(line: &str, sign: char, column: usize) -> bool {
    if line.len() > 1024 {
        return false;
    }
    let cells: Vec<String> = line.split(sign).map(|cell| Plain::words(cell).text().to_owned()).collect();
    let has = |names: &[&str]| cells.iter().any(|cell| names.contains(&cell.as_str()));
    let is_answer = |cell: &String| {
        let names = [
            "answer",
            "answers",
            "final answer",
            "gold",
            "gold answer",
            "correct answer",
            "expected",
            "expected output",
            "expected answer",
            "ground truth",
            "solution",
            "reference answer",
        ];
        names.contains(&cell.as_str())
    };
    has(&["question", "questions", "task id", "task", "prompt", "problem", "question id", "qid"])
        && cells.get(column).is_some_and(is_answer)
}

fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
