//! What stands around an answer: names of the benchmark, the task's id, a record or a table of answers.

use std::ops::Range;

use proofmark_artefact::scan::Plain;

use super::label::{self, Label, label};
use super::marks::{MarkKind, Marks, find_name};

/// How far around an answer its context reaches.
pub(super) const REACH: usize = 2048;
/// How far a file's name may stand from an answer to say something about it.
const FILE_REACH: usize = 512;
/// A document with no more than so many bytes beside the answer holds little else.
const BARE: usize = 80;
/// The line of names at the top of a table is looked for in so many bytes.
const HEADER: usize = 4096;

/// The surroundings of the answers of one text. Folded once for answers that stand near each other.
pub(super) struct Context<'a> {
    text: &'a str,
    range: Range<usize>,
    joined: Plain,
    words: Plain,
}

impl<'a> Context<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, range: 0..0, joined: Plain::default(), words: Plain::default() }
    }

    /// The label right before an answer.
    pub(super) fn label(&self, at: usize) -> Option<Label> {
        let from = self.text.ceil_char_boundary(at.saturating_sub(label::REACH));
        label(&self.text[from..at])
    }

    /// Whether the text holds hardly anything but a label and the answer.
    pub(super) fn is_bare(&self, hit: &Range<usize>) -> bool {
        let words = |text: &str| Plain::words(text).text().split(' ').filter(|word| !word.is_empty()).count();
        self.text.len() - hit.len() <= BARE && words(&self.text[..hit.start]) <= 3 && words(&self.text[hit.end..]) <= 3
    }

    /// The strongest name of the benchmark that stands by an answer.
    pub(super) fn mark(&mut self, hit: &Range<usize>, marks: &Marks) -> Option<MarkKind> {
        self.fill(hit);
        let joined = &self.joined;
        marks
            .names()
            .filter(|mark| {
                let reach = if mark.kind == MarkKind::File { FILE_REACH } else { REACH };
                find_name(joined.text(), &mark.text).any(|at| {
                    let at = joined.offset(at) + self.range.start;
                    at + reach >= hit.start && at <= hit.end + reach
                })
            })
            .map(|mark| mark.kind)
            .min()
    }

    /// Whether the task's id stands by an answer, and not as the name of the task's own attachment.
    pub(super) fn has_id(&mut self, hit: &Range<usize>, id: &str) -> bool {
        self.fill(hit);
        let joined = &self.joined;
        let text = joined.text();
        find_name(text, id).any(|at| {
            let rest = &text[at + id.len()..];
            let extension = rest.strip_prefix('.').map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
            !extension.flatten().is_some_and(|extension| (1..=6).contains(&extension.len()))
        })
    }

    /// Whether the answer is a field of a record that a benchmark's file would hold.
    pub(super) fn is_record(&mut self, hit: &Range<usize>) -> bool {
        if self.label(hit.start).is_none() {
            return false;
        }
        self.fill(hit);
        let words = self.words.text();
        let count = |name: &str| find_name(words, name).take(4).count();
        let names =
            [count("task id"), count("annotator metadata"), count("question"), count("level"), count("file name")];
        let fields = names.iter().filter(|count| **count > 0).count();
        // One record of GAIA, or several of a file that has questions and answers by these names.
        let is_gaia = (names[0] > 0 || names[1] > 0) && fields >= 2;
        let raw = &self.text[self.range.clone()];
        let keys = |names: &[&str]| -> usize {
            names.iter().map(|name| raw.match_indices(&format!("\"{name}\":")).take(4).count()).sum()
        };
        let is_json = keys(&["question", "Question", "task_id", "prompt"]) >= 2
            && keys(&["answer", "Answer", "correct_answer", "Final answer", "final_answer", "expected_output", "gold"])
                >= 2;
        is_gaia || is_json
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
        self.joined = Plain::joined(&self.text[from..to]);
        self.words = Plain::words(&self.text[from..to]);
    }
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
