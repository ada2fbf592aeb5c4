//! What stands around an answer: names of the benchmark, the task's id, a record or a table of answers.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use proofmark_artefact::scan::Plain;

use super::label::{self, Label, label};
use super::marks::{MarkKind, Marks, find_name};
use super::rows::{Shape, is_answer_of_row, shape};

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
/// The longest line of names.
const MAX_NAMES: usize = 1024;

/// What is looked for around answers, compiled once for all texts of a sample.
#[derive(Debug, Clone)]
pub(super) struct Clues {
    finder: Option<AhoCorasick>,
    kinds: Vec<Clue>,
    /// The task's id and its encodings, letters and digits only: signs between them do not count.
    ids: Vec<Vec<u8>>,
    /// The first part of an id that is long enough to be its own.
    short_id: Option<String>,
    /// Whether the task's question can be looked for, so that a list of questions without it is somebody else's.
    has_question: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clue {
    Mark(MarkKind),
    Id,
    /// The id as the name of a folder, in a path that ends there.
    Folder(usize),
    Field(u8),
}

impl Clues {
    pub(super) fn new(marks: &Marks, id: Option<&str>, has_question: bool) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let mut kinds = Vec::new();
        for mark in marks.names() {
            texts.push(&mark.text);
            kinds.push(Clue::Mark(mark.kind));
        }
        for (field, names) in FIELDS.iter().enumerate() {
            for name in *names {
                texts.push(name);
                kinds.push(Clue::Field(field as u8));
            }
        }
        // It searches a few kilobytes around answers: a faster automaton would cost more than it saves.
        let finder = AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(texts);
        let ids = id.map(ids).unwrap_or_default();
        // The first of the groups of a UUID is as good as all of them, and is what people write in short.
        let short_id = id.and_then(|id| id.split(['-', '_']).next().filter(|first| first.len() < id.len()));
        let is_own = |first: &&str| {
            let has = |is: fn(&u8) -> bool| first.as_bytes().iter().any(is);
            first.len() >= 8 && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase)
        };
        let short_id = short_id.filter(is_own).map(str::to_owned);
        Self { finder: finder.ok(), kinds, ids, short_id, has_question }
    }
}

/// An id in all the ways that are looked for, letters and digits only.
fn ids(id: &str) -> Vec<Vec<u8>> {
    let bare = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| !byte.is_ascii_punctuation() && **byte != b' ').map(u8::to_ascii_lowercase).collect()
    };
    let mut all = vec![bare(id.as_bytes())];
    if all[0].len() < MIN_BARE {
        // What is short is written as it is.
        return vec![id.as_bytes().to_vec()];
    }
    let upper = id.to_ascii_uppercase();
    for text in [id, &upper] {
        let code = base64(text.as_bytes());
        // The end depends on what follows.
        all.push(bare(&code.as_bytes()[..code.len() - 2]));
        all.push(text.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
    }
    all
}

fn base64(bytes: &[u8]) -> String {
    const CODE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        (0..=group.len()).map(move |at| char::from(CODE[(bits >> (18 - 6 * at) & 63) as usize])).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// From so many letters and digits on an id is known without the signs between them.
const MIN_BARE: usize = 12;

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
    /// The shape of the whole text, when it was asked for.
    shape: Option<Shape>,
}

impl<'a> Context<'a> {
    pub(super) fn new(text: &'a str, clues: &'a Clues) -> Self {
        Self { text, clues, range: 0..0, found: Vec::new(), has_records: false, shape: None }
    }

    /// Whether the text holds hardly anything but a label and the answer.
    pub(super) fn is_bare(&self, hit: &Range<usize>) -> bool {
        self.is_bare_but(hit, 3)
    }

    /// Whether the text holds a label and the answer and no word behind it.
    pub(super) fn is_alone(&self, hit: &Range<usize>) -> bool {
        self.is_bare_but(hit, 0)
    }

    fn is_bare_but(&self, hit: &Range<usize>, after: usize) -> bool {
        let words = |text: &str| Plain::words(text).text().split(' ').filter(|word| !word.is_empty()).count();
        self.text.len() - hit.len() <= BARE
            && words(&self.text[..hit.start]) <= 3
            && words(&self.text[hit.end..]) <= after
    }

    /// The strongest name of the benchmark that stands by an answer.
    pub(super) fn mark(&mut self, hit: &Range<usize>) -> Option<MarkKind> {
        self.fill(hit);
        let near = |(clue, at): &(Clue, usize)| match clue {
            Clue::Mark(MarkKind::File) => self.is_source(*at, hit).then_some(MarkKind::File),
            Clue::Mark(MarkKind::Address) => is_near(*at, hit, REACH).then_some(MarkKind::Address),
            _ => None,
        };
        self.found.iter().filter_map(near).min()
    }

    /// Whether a file that is named somewhere is said to be where an answer is from: `Paris, source metadata.jsonl`, or a line
    /// of it as a search through files shows one. Pages about such files name them too.
    fn is_source(&self, at: usize, hit: &Range<usize>) -> bool {
        let (from, to) = (at.min(hit.start), at.max(hit.end).min(self.text.len()));
        if to - from > FILE_REACH {
            return false;
        }
        let between = &self.text[self.text.floor_char_boundary(from)..self.text.ceil_char_boundary(to)];
        if between.contains('\n') || between.contains(". ") {
            return false;
        }
        let before = &self.text[self.text.ceil_char_boundary(at.saturating_sub(64))..self.text.floor_char_boundary(at)];
        let line = before.rsplit('\n').next().unwrap_or_default();
        // The folders of its path are a part of its name.
        let path = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_found = line.len() == path.len() && at < hit.start && {
            let name =
                self.text[at..].find(char::is_whitespace).map_or(&self.text[at..], |end| &self.text[at..at + end]);
            name.contains(':')
        };
        let words = Plain::words(&line[..line.len() - path.len()]);
        let last = words.text().rsplit(' ').next().unwrap_or_default();
        is_found || SOURCES.contains(&last)
    }

    /// Whether the task's id stands by an answer, and not as the name of the task's own attachment or folder.
    pub(super) fn has_id(&mut self, hit: &Range<usize>) -> bool {
        self.fill(hit);
        self.found.iter().any(|(clue, at)| match clue {
            Clue::Id => is_near(*at, hit, REACH),
            Clue::Folder(end) => *at < hit.start && hit.start < *end,
            _ => false,
        })
    }

    /// Whether the text is nothing but rows of ids and answers, and the answer one of them.
    pub(super) fn is_row_of_key(&mut self, hit: &Range<usize>) -> bool {
        let start = self.text[..hit.start].rfind('\n').map_or(0, |at| at + 1);
        let line = head(&self.text[start..], HEADER).lines().next().unwrap_or_default();
        is_answer_of_row(line, &self.text[hit.clone()])
            && *self.shape.get_or_insert_with(|| shape(self.text)) == Shape::Key
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
        is_gaia || self.is_bare_record(hit) || self.has_records
    }

    /// Whether the answer is the `Final answer` of a record with a `Question` and a `Level`, as GAIA names them, whatever
    /// was left out of it.
    fn is_bare_record(&self, hit: &Range<usize>) -> bool {
        let from = self.text.ceil_char_boundary(hit.start.saturating_sub(label::REACH));
        let before = &self.text[from..hit.start];
        if !is_field(before, "final answer") {
            return false;
        }
        let has = |name: &str| {
            let is_it = |(clue, at): &&(Clue, usize)| {
                matches!(clue, Clue::Field(field) if FIELDS[usize::from(*field)][0] == name) && is_near(*at, hit, REACH)
            };
            self.found.iter().filter(is_it).any(|(_, at)| {
                let end = self.text.floor_char_boundary((at + name.len() + 8).min(self.text.len()));
                let rest = self.text.get(at + name.len()..end).unwrap_or_default();
                rest.trim_start_matches(['\\', '"', '\'', ' ']).starts_with(':')
            })
        };
        has("question") && has("level")
    }

    /// Whether the answer is a cell of a table with a column of questions or ids and one of answers.
    pub(super) fn is_in_table(&self, hit: &Range<usize>) -> bool {
        let start = self.text[..hit.start].rfind('\n').map_or(0, |at| at + 1);
        let line = head(&self.text[start..], HEADER).lines().next().unwrap_or_default();
        let top = head(&self.text[..start], HEADER);
        ['|', '\t', ',', ';'].into_iter().any(|sign| {
            let columns = count(line, sign, '"');
            let column = count(head(line, hit.start - start), sign, '"');
            let row = || cells(line, sign, '"');
            let mut lines = top.lines().take(64);
            let is_header = |header: &str| {
                header.len() <= MAX_NAMES
                    && count(header, sign, '"') == columns
                    && self.is_key(&cells(header, sign, '"'), column, &row())
            };
            // A line of names and two rows make a table.
            columns > 0 && lines.any(is_header) && lines.any(|row| count(row, sign, '"') == columns)
        })
    }

    /// Whether the answer is a value that a statement of SQL puts into a column of answers.
    pub(super) fn is_inserted(&self, hit: &Range<usize>) -> bool {
        let from = self.text.ceil_char_boundary(hit.start.saturating_sub(HEADER));
        let before = &self.text[from..hit.start];
        // Most answers are no value of a list, and need no more than this.
        if !before.trim_end_matches(['\'', '"', ' ']).ends_with([',', '(']) {
            return false;
        }
        let lower = before.to_ascii_lowercase();
        let Some(at) = lower.rfind("insert into") else { return false };
        let Some(values) = lower[at..].find("values").map(|values| at + values) else { return false };
        let names = before[at..values].split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let Some((names, _)) = names else { return false };
        let names: Vec<&str> = names.split(',').collect();
        // A comma within quotes parts nothing, and neither does a bracket.
        let mut is_quoted = false;
        let mut row = None;
        for (at, sign) in before[values..].char_indices() {
            is_quoted ^= sign == '\'';
            if sign == '(' && !is_quoted {
                row = Some(values + at + 1);
            }
        }
        let Some(row) = row else { return false };
        let column = count(&before[row..], ',', '\'');
        self.is_key(&names, column, &cells(&before[row..], ',', '\''))
    }

    /// Whether columns with these names are those of a key: the one of the answer has answers, another one has ids or
    /// questions. A list of questions with answers that does not hold the task's own is like any page of that kind,
    /// unless it calls its answers as only benchmarks do.
    fn is_key(&self, names: &[&str], column: usize, row: &[&str]) -> bool {
        let names: Vec<String> = names.iter().map(|name| Plain::words(name).text().to_owned()).collect();
        let place = |list: &[&str]| names.iter().position(|name| list.contains(&name.as_str()));
        let Some(answer) = names.get(column).map(String::as_str) else { return false };
        let is_gold = GOLD_NAMES.contains(&answer);
        if !is_gold && !ANSWER_NAMES.contains(&answer) {
            return false;
        }
        // `17` and `question 17` are ids, whatever the column is called.
        let is_text = |cell: &&str| {
            let words = Plain::words(cell);
            let count = words.text().split(' ').count();
            count >= 3 || count == 2 && !words.text().contains(|sign: char| sign.is_ascii_digit())
        };
        // `#` folds to nothing, as the space before the first sign of a line does: the cell must be an id.
        let has_ids = || {
            let is_id = |(name, cell): (&String, &&str)| {
                SHORT_ID_NAMES.contains(&name.as_str())
                    && cell.bytes().any(|byte| byte.is_ascii_digit())
                    && cell.trim().len() <= 40
                    && !cell.trim().contains(' ')
            };
            names.iter().zip(row).any(is_id)
        };
        match (place(ID_NAMES), place(QUESTION_NAMES)) {
            (Some(_), _) => true,
            (None, None) if (is_gold || answer.contains("answer")) && has_ids() => true,
            (None, Some(question)) => is_gold || !self.clues.has_question || !row.get(question).is_some_and(is_text),
            (None, None) => false,
        }
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
        self.has_records = has_records(part, self.clues.has_question);
        let Some(finder) = &self.clues.finder else { return };
        let joined = Plain::joined(part);
        let text = joined.text();
        self.fill_ids(&joined, from);
        for found in finder.find_overlapping_iter(text) {
            let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
            let (before, after) = (&text[..found.start()], &text[found.end()..]);
            let clue = self.clues.kinds[found.pattern()];
            let is_part = is_word(before.chars().next_back()) || is_word(after.chars().next());
            if !is_part && self.found.len() < MAX_FOUND {
                self.found.push((clue, from + joined.offset(found.start())));
            }
        }
    }

    /// Finds the task's id in a folded text, whatever signs stand within it.
    fn fill_ids(&mut self, joined: &Plain, from: usize) {
        let Some(id) = self.clues.ids.first() else { return };
        let text = joined.text();
        let is_bare = id.len() >= MIN_BARE;
        let is_kept = |byte: u8| !is_bare || !byte.is_ascii_punctuation() && byte != b' ';
        let places: Vec<usize> = (0..text.len()).filter(|at| is_kept(text.as_bytes()[*at])).collect();
        let bare: Vec<u8> = places.iter().map(|at| text.as_bytes()[*at]).collect();
        let mut found: Vec<Range<usize>> = Vec::new();
        for id in &self.clues.ids {
            let finds = memmem::find_iter(&bare, id).take(MAX_FOUND);
            found.extend(finds.map(|at| places[at]..places[at + id.len() - 1] + 1));
        }
        if let Some(id) = &self.clues.short_id {
            found.extend(find_name(text, id).take(MAX_FOUND).map(|at| at..at + id.len()));
        }
        let is_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        for place in found {
            let (before, after) = (&text[..place.start], &text[place.end..]);
            let is_short = self.clues.short_id.as_ref().is_some_and(|id| id.len() == place.len());
            // The first part of the whole id is no id of its own, and digits go on with digits.
            let is_part = is_word(before.chars().next_back()) && !before.ends_with("0x")
                || is_bare && is_word(after.chars().next()) && id.len() == place.len()
                || is_short && after.starts_with(['-', '_']);
            if is_part || is_file(after) || self.found.len() >= MAX_FOUND {
                continue;
            }
            let (at, end) = (from + joined.offset(place.start), from + joined.offset(place.end - 1));
            let is_folder = before.ends_with(['/', '\\']) && after.starts_with(['/', '\\']);
            let clue = match is_folder {
                true => Clue::Folder(end + self.text[end..].find(char::is_whitespace).unwrap_or(self.text.len() - end)),
                false => Clue::Id,
            };
            self.found.push((clue, at));
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

/// Whether a part of a text has several tasks and several answers by name, as JSON and YAML write it.
///
/// Questions with answers are on many pages: where the task's own could have been found, a list of others must have ids
/// or name its answers as benchmarks do. YAML without quotes reads like any list of notes, so it must do both.
fn has_records(part: &str, has_question: bool) -> bool {
    const NAMES: [(&str, Name); 19] = [
        ("task_id", Name::Id),
        ("question_id", Name::Id),
        ("qid", Name::Id),
        ("task", Name::Task),
        ("question", Name::Question),
        ("prompt", Name::Question),
        ("answer", Name::Answer),
        ("correct_answer", Name::Answer),
        ("final answer", Name::Gold),
        ("final_answer", Name::Gold),
        ("expected_output", Name::Gold),
        ("expected_answer", Name::Gold),
        ("gold", Name::Gold),
        ("gold_answer", Name::Gold),
        ("ground_truth", Name::Gold),
        ("answer_key", Name::Gold),
        ("reference_answer", Name::Gold),
        ("ground truth", Name::Gold),
        ("gold answer", Name::Gold),
    ];
    let (mut quoted, mut bare) = ([0; 5], [0; 5]);
    for (at, _) in part.match_indices(':') {
        let (before, is_quoted) = part[..at].strip_suffix('"').map_or((&part[..at], false), |before| (before, true));
        // YAML has a space there, addresses have none.
        if !is_quoted && !part[at + 1..].starts_with(' ') {
            continue;
        }
        for (name, kind) in NAMES {
            let start = before.len().saturating_sub(name.len());
            let is_it = before.as_bytes()[start..].eq_ignore_ascii_case(name.as_bytes());
            let line = || before[..start].trim_end_matches([' ', '-']);
            match is_quoted {
                _ if !is_it => {}
                true => quoted[kind as usize] += usize::from(before[..start].ends_with('"')),
                false => bare[kind as usize] += usize::from(line().is_empty() || line().ends_with('\n')),
            }
        }
    }
    let [ids, tasks, questions, answers, golds] = quoted;
    let is_list = ids + tasks + questions >= 2 && answers + golds >= 2;
    let is_named = !has_question || ids >= 2 || golds >= 2;
    let [bare_ids, bare_tasks, _, _, bare_golds] = bare;
    is_list && is_named || bare_ids + bare_tasks >= 2 && bare_golds >= 2
}

/// What the name of a field says.
#[derive(Clone, Copy)]
enum Name {
    Id,
    Task,
    Question,
    Answer,
    Gold,
}

/// Whether a text ends with the name of a field, before its value.
fn is_field(before: &str, name: &str) -> bool {
    let before = before.trim_end_matches(['\\', '"', '\'', ' ']);
    before.strip_suffix(':').is_some_and(|before| Plain::words(before).text().ends_with(name))
}

/// How often a sign stands in a line, quoted parts left out.
fn count(line: &str, sign: char, quote: char) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for character in line.chars() {
        is_quoted ^= character == quote;
        count += usize::from(character == sign && !is_quoted);
    }
    count
}

/// The parts of a line between signs that are not quoted.
fn cells(line: &str, sign: char, quote: char) -> Vec<&str> {
    let mut is_quoted = false;
    let is_sign = |character: char| {
        is_quoted ^= character == quote;
        character == sign && !is_quoted
    };
    line.split(is_sign).collect()
}

/// Columns of ids, of questions, of answers, and of answers as only a benchmark calls them.
const ID_NAMES: &[&str] = &["task id", "question id", "qid"];
/// Columns of ids as other tables have them too.
const SHORT_ID_NAMES: &[&str] = &["id", "no", "nr", "number", "index", "q", "item", ""];
const QUESTION_NAMES: &[&str] = &["question", "questions", "task", "prompt", "problem"];
const ANSWER_NAMES: &[&str] = &["answer", "answers", "correct answer", "expected", "expected output", "solution"];
const GOLD_NAMES: &[&str] =
    &["final answer", "gold", "gold answer", "expected answer", "ground truth", "reference answer"];
/// What says of a file that something is from it.
const SOURCES: &[&str] = &["source", "sources", "from", "via", "quelle", "per"];

fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
