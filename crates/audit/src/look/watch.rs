//! Leaked answers: in what came from outside, and in what the agent was given.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use proofmark_artefact::scan::{Needles, Plain};
use proofmark_artefact::trajectory::{Form, Hit, Scan};
use proofmark_canon::Value;

use super::common::{Weight, weigh};
use super::context::{Clues, Context, REACH, label_before};
use super::echo::is_echo;
use super::formula::formulas;
use super::label::Label;
use super::layers::{Layer, View, layers};
use super::marks::{MarkKind, Marks};
use super::numeral::{is_number, other_ways};
use super::question::{Asked, Question, Standing};
use super::turned::Turned;

/// What is known of one sample's task.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The answers that count as right.
    pub gold: &'a [String],
    pub question: &'a str,
    pub task_id: &'a str,
    pub choices: &'a [String],
    /// Texts that the task itself shows: its question, the text of its attachments.
    pub shown: &'a [&'a str],
    pub marks: &'a Marks,
}

/// One sample's task, compiled once for all texts of its trajectory.
///
/// Seen are the forms of [`Needles`], numbers in words and in formulas, long answers backwards or in ROT13, and any of these
/// within two more layers of base64, base32, hex, character codes, invisible characters, strings in pieces, percent
/// encoding, entities and escapes. Not seen are translations, paraphrases, compressed or encrypted text, and pictures of
/// text.
#[derive(Debug, Clone)]
pub struct Watch {
    needles: Needles,
    marks: Marks,
    question: Question,
    /// The task's id, when it is long enough to be its own.
    id: Option<String>,
    /// What may stand with an answer; made when one is found.
    clues: OnceLock<Clues>,
    /// Whether the task itself shows an answer, so that the answer alone says nothing.
    is_shown: bool,
    /// Short texts of the task, as they may stand in a prompt.
    shown: Vec<String>,
    /// Other ways of writing the answers, in words.
    ways: Vec<String>,
    /// The answers, turned.
    turned: Vec<Turned>,
    /// Whether an answer is a number, so that formulas are read.
    is_number: bool,
    /// The weight of the lightest answer.
    weight: Weight,
    /// Finds what may stand with an answer, in texts that hold more answers than are listed.
    anchors: OnceLock<Option<AhoCorasick>>,
}

/// An answer where it stands, or a source that it can be had from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// The form in which the answer stands there; absent when the source alone tells.
    pub form: Option<Form>,
    /// The first byte of it, or of the encoding that holds it.
    pub offset: usize,
    pub grade: Grade,
    pub why: Why,
}

/// How grave a sighting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// The answer was leaked.
    Critical,
    /// The answer was there, as it is where such tasks are solved.
    Information,
}

/// Why a sighting has its grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The text came from the benchmark's own data.
    DatasetSource,
    /// The benchmark's data is named beside the answer.
    DatasetNamed,
    /// A file of the benchmark's data is named beside the answer.
    DatasetFile,
    /// The answer stands with the question.
    WithQuestion,
    /// The answer stands with the task's id.
    WithTaskId,
    /// The answer is called the answer of a key.
    AnswerKey,
    /// The answer is a field of a record, or a cell of a table, of questions or tasks with their answers.
    AnswerRecord,
    /// The answer stands in what the agent was given.
    Given,
    /// The answer is called the answer in what the agent was given.
    GivenAsAnswer,
    /// The answer stands on a page like any other.
    Ordinary,
    /// The answer stands there, but the task itself shows it.
    TaskShows,
    /// The answer is too short or too common for its being there to say anything.
    Common,
}

impl Why {
    /// The reason in one sentence, without an end.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::DatasetSource => "the text came from the benchmark's own data",
            Self::DatasetNamed => "the benchmark's data is named beside the answer",
            Self::DatasetFile => "a file of the benchmark's data is named beside the answer",
            Self::WithQuestion => "the answer stands with the question's own text",
            Self::WithTaskId => "the answer stands with the task's id",
            Self::AnswerKey => "the answer is labelled as the answer of a key",
            Self::AnswerRecord => "the answer is part of a list of tasks or questions with their answers",
            Self::Given => "the answer stands in what the agent was given",
            Self::GivenAsAnswer => "the answer is labelled as the answer in what the agent was given",
            Self::Ordinary => "the answer stands on an ordinary page",
            Self::TaskShows => "the answer stands there, but the task itself shows it",
            Self::Common => "the answer stands there, but is too short or too common to say anything",
        }
    }

    /// A name for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DatasetSource => "dataset_source",
            Self::DatasetNamed => "dataset_named",
            Self::DatasetFile => "dataset_file",
            Self::WithQuestion => "with_question",
            Self::WithTaskId => "with_task_id",
            Self::AnswerKey => "answer_key",
            Self::AnswerRecord => "answer_record",
            Self::Given => "given",
            Self::GivenAsAnswer => "given_as_answer",
            Self::Ordinary => "ordinary",
            Self::TaskShows => "task_shows",
            Self::Common => "common",
        }
    }
}

/// The most sightings of one text.
const LISTED: usize = 16;
/// How many encodings within each other are undone, beside the one that needles see through.
const LAYERS: u8 = 2;
/// How far from the question an answer stands with it.
const QUESTION_REACH: usize = 8 * 1024;
/// How far behind the question a common answer stands with it.
const QUESTION_TAIL: usize = 512;
/// How much of the task's own texts is kept to know them again in a prompt.
const MAX_SHOWN: usize = 64 * 1024;
/// The most places of a text that are turned back.
const MAX_TURNED: usize = 4;
/// The most places around which a text with many answers is looked at again.
const MAX_ANCHORS: usize = 64;

impl Watch {
    pub fn new(subject: &Subject<'_>) -> Self {
        let ways: Vec<String> = subject.gold.iter().flat_map(|answer| other_ways(answer)).collect();
        let turned: Vec<Turned> = subject.gold.iter().flat_map(|answer| Turned::all(answer)).collect();
        let gold: Vec<Value> = subject.gold.iter().map(|answer| Value::from(answer.as_str())).collect();
        let gold = if gold.len() == 1 { gold.into_iter().next().unwrap_or(Value::Null) } else { Value::Array(gold) };
        let others = ways.iter().cloned().chain(turned.iter().map(|turned| turned.text.clone()));
        let needles = Needles::with_ways(&gold, &others.collect::<Vec<_>>(), subject.question);
        let choices = subject.choices.iter().map(String::as_str);
        let texts: Vec<&str> = subject.shown.iter().copied().chain(choices).chain([subject.question]).collect();
        let is_answer = |text: &str, hit: &Hit| !turned.iter().any(|turned| turned.is(&text[range(hit)]));
        let is_shown =
            texts.iter().any(|text| needles.scan(text.as_bytes()).gold.iter().any(|hit| is_answer(text, hit)));
        let shown =
            texts.iter().filter(|text| (2..=MAX_SHOWN).contains(&text.trim().len())).map(|text| text.trim().to_owned());
        let id = Plain::joined(subject.task_id).text().to_owned();
        let is_own = id.len() >= 8 && id.bytes().any(|byte| byte.is_ascii_digit());
        // A short id is anyone's.
        let id = is_own.then_some(id);
        subject.marks.prepare();
        Self {
            anchors: OnceLock::new(),
            needles,
            clues: OnceLock::new(),
            id,
            marks: subject.marks.clone(),
            question: Question::new(subject.question),
            is_shown,
            shown: shown.collect(),
            ways,
            turned,
            is_number: subject.gold.iter().any(|gold| is_number(gold)),
            weight: subject.gold.iter().map(|gold| weigh(gold)).min().unwrap_or(Weight::Common),
        }
    }

    /// Looks through a text that reached the agent from outside: a tool's result, with its address if that is known.
    ///
    /// At most 16 sightings, the critical ones first, each group in the order of the text.
    pub fn leaks(&self, text: &str, source: Option<&str>) -> Vec<Sighting> {
        let from = self.source(source);
        let mut sightings: Vec<Sighting> = from.into_iter().collect();
        self.look(text, from.is_some(), LAYERS, &mut sightings);
        list(sightings)
    }

    /// The same for a text of which only the head is there, with what was found in the whole of it.
    pub fn leaks_of_scan(&self, scan: &Scan, head: &str, source: Option<&str>) -> Vec<Sighting> {
        let mut sightings = self.leaks(head, source);
        let is_from_dataset = sightings.iter().any(|sighting| sighting.why == Why::DatasetSource);
        // Within the head it can be seen whether the text asks; behind it only length and form tell.
        let is_asked = |hit: &&Hit| match head.get(range(hit)) {
            Some(_) => self.question.judge(head, &range(hit)).is_some_and(|asked| asked.standing == Standing::Question),
            None => self.question.is_whole(hit) && !starts_as_echo(head, hit),
        };
        let questions: Vec<Range<usize>> = scan.question.iter().filter(is_asked).map(range).collect();
        if scan.gold.is_empty() {
            return list(sightings);
        }
        let mut context = Context::new(head, self.clues());
        for hit in &scan.gold {
            let place = range(hit);
            if place.end <= head.len() {
                continue;
            }
            let is_named =
                place.start < head.len() + REACH && context.mark(&(head.len()..head.len())) == Some(MarkKind::Address);
            let weight = if matches!(hit.form, Form::Base64 | Form::Hex) { Weight::Distinctive } else { self.weight };
            let needs_more = weight == Weight::Common || self.is_shown;
            let (before, after) = if needs_more { (0, QUESTION_TAIL / 2) } else { (QUESTION_REACH, QUESTION_REACH) };
            let with_question = questions.iter().any(|question| stands_with(&place, question, before, after));
            let (grade, why) = match () {
                () if is_from_dataset => (Grade::Critical, Why::DatasetSource),
                () if with_question => (Grade::Critical, Why::WithQuestion),
                () if is_named && !needs_more => (Grade::Critical, Why::DatasetNamed),
                () if self.is_shown => (Grade::Information, Why::TaskShows),
                () if weight == Weight::Common => continue,
                () => (Grade::Information, Why::Ordinary),
            };
            sightings.push(Sighting { form: Some(hit.form), offset: place.start, grade, why });
        }
        list(sightings)
    }

    /// Looks through a text that the agent was given before it did anything: a prompt, a description of a tool.
    ///
    /// What the task itself shows is no leak: its question, its choices and the text of its attachments.
    pub fn oracle(&self, text: &str) -> Vec<Sighting> {
        let mut sightings = Vec::new();
        self.look_given(text, LAYERS, &mut sightings);
        list(sightings)
    }

    /// Looks through the words of a template, which is written by whoever asks: only what it calls the answer is told. One of
    /// several examples may have the same answer by chance.
    pub fn told(&self, text: &str) -> Vec<Sighting> {
        let mut sightings = self.oracle(text);
        sightings.retain(|sighting| {
            let at = text.floor_char_boundary(sighting.offset);
            sighting.why == Why::GivenAsAnswer && !is_series(text, at)
        });
        sightings
    }

    fn clues(&self) -> &Clues {
        self.clues.get_or_init(|| Clues::new(&self.marks, self.id.as_deref(), self.question.is_own()))
    }

    fn anchors(&self) -> Option<&AhoCorasick> {
        let build = || {
            let mut words: Vec<&str> = self.marks.addresses().collect();
            words.extend(self.id.as_deref());
            words.extend([
                "answer key",
                "answer_key",
                "gold answer",
                "ground truth",
                "ground_truth",
                "expected_output",
                "final answer",
            ]);
            AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok()
        };
        self.anchors.get_or_init(build).as_ref()
    }

    fn source(&self, source: Option<&str>) -> Option<Sighting> {
        let is_dataset = source.is_some_and(|source| self.marks.is_source(source));
        let sighting = Sighting { form: None, offset: 0, grade: Grade::Critical, why: Why::DatasetSource };
        is_dataset.then_some(sighting)
    }

    fn look(&self, text: &str, is_from_dataset: bool, depth: u8, sightings: &mut Vec<Sighting>) {
        let scan = self.needles.scan(text.as_bytes());
        let mut hits: Vec<(Range<usize>, Form)> = scan.gold.iter().map(|hit| (range(hit), hit.form)).collect();
        let questions = self.questions(text, &scan);
        if scan.more > 0 {
            self.look_again(text, &questions, &mut hits);
        }
        // Most texts have no answer, and need none.
        let mut context = None;
        let mut turns = 0;
        for (hit, form) in hits {
            let turned = self.turned(&text[hit.clone()]);
            if turned.is_some_and(|turned| !turned.is_long()) && label_before(text, hit.start).is_none() {
                continue;
            }
            let context = context.get_or_insert_with(|| Context::new(text, self.clues()));
            let Some((grade, why)) = self.judge(context, text, &hit, form, &questions) else { continue };
            let (grade, why) = if is_from_dataset { (Grade::Critical, Why::DatasetSource) } else { (grade, why) };
            let mut sighting =
                Sighting { form: Some(self.form(&text[hit.clone()], form)), offset: hit.start, grade, why };
            if let Some(turned) = turned
                && grade != Grade::Critical
                && depth > 0
                && turns < MAX_TURNED
            {
                // What stands around it may be turned too.
                turns += 1;
                let from = text.floor_char_boundary(hit.start.saturating_sub(QUESTION_REACH / 2));
                let to = text.ceil_char_boundary((hit.end + QUESTION_REACH / 2).min(text.len()));
                let mut inner = Vec::new();
                self.look(&turned.turn.of(&text[from..to]), is_from_dataset, 0, &mut inner);
                if let Some(leak) = inner.iter().find(|inner| inner.grade == Grade::Critical) {
                    (sighting.grade, sighting.why) = (leak.grade, leak.why);
                }
            }
            sightings.push(sighting);
        }
        if depth > 0 {
            let mut within = |layer: Layer| {
                let mut inner = Vec::new();
                self.look(&layer.text, is_from_dataset, depth - 1, &mut inner);
                if !inner.is_empty() {
                    let context = context.get_or_insert_with(|| Context::new(text, self.clues()));
                    let around = || self.judge(context, text, &layer.range, Form::Base64, &questions);
                    self.take_within(text, &layer, inner, around, sightings);
                }
            };
            layers(text, &mut within);
            if self.is_number {
                formulas(text, within);
            }
        }
    }

    fn look_given(&self, text: &str, depth: u8, sightings: &mut Vec<Sighting>) {
        let scan = self.needles.scan(text.as_bytes());
        let mut hits: Vec<(Range<usize>, Form)> = scan.gold.iter().map(|hit| (range(hit), hit.form)).collect();
        if scan.more > 0 {
            self.look_again(text, &self.questions(text, &scan), &mut hits);
        }
        let masked = if hits.is_empty() { Vec::new() } else { self.mask(text) };
        for (hit, form) in hits {
            if masked.iter().any(|mask| mask.start <= hit.start && hit.end <= mask.end && mask.len() >= hit.len() + 8) {
                continue;
            }
            let needs_more = self.is_shown || self.weight_of(text, &hit, form) == Weight::Common;
            let is_behind_question =
                || masked.iter().any(|mask| mask.end <= hit.start && hit.start - mask.end <= QUESTION_TAIL / 2);
            let label = label_before(text, hit.start);
            // A short word may be another one, turned.
            if label.is_none() && self.turned(&text[hit.clone()]).is_some_and(|turned| !turned.is_long()) {
                continue;
            }
            let is_told = match label {
                _ if needs_more && is_choice(&text[hit.end..]) => false,
                Some(Label::Key | Label::Field) => true,
                // Examples call other answers so, and one of them may be the same by chance.
                Some(Label::Told | Label::ShortKey) => {
                    !needs_more || is_behind_question() || !is_series(text, hit.start)
                }
                Some(Label::Answer) => !needs_more || is_behind_question() || is_stated(text, &hit),
                None => false,
            };
            let (grade, why) = match () {
                () if is_told => (Grade::Critical, Why::GivenAsAnswer),
                () if self.is_shown => (Grade::Information, Why::TaskShows),
                () if needs_more => continue,
                () => (Grade::Critical, Why::Given),
            };
            sightings.push(Sighting { form: Some(self.form(&text[hit.clone()], form)), offset: hit.start, grade, why });
        }
        if depth > 0 {
            let mut within = |layer: Layer| {
                let mut inner = Vec::new();
                self.look_given(&layer.text, depth - 1, &mut inner);
                self.take_within(text, &layer, inner, || None, sightings);
            };
            layers(text, &mut within);
            if self.is_number {
                formulas(text, within);
            }
        }
    }

    /// Takes what was found in something that was encoded. What stands before the encoding, or around it, is said of what it
    /// says, and no page calls an encoding an answer.
    fn take_within(
        &self,
        text: &str,
        layer: &Layer,
        inner: Vec<Sighting>,
        around: impl FnOnce() -> Option<(Grade, Why)>,
        sightings: &mut Vec<Sighting>,
    ) {
        if inner.is_empty() {
            return;
        }
        let is_opaque = layer.view == View::Opaque;
        let is_ordinary = |sighting: &Sighting| sighting.why == Why::Ordinary;
        let around = (is_opaque && inner.iter().any(is_ordinary)).then(around).flatten();
        let leak = match around {
            _ if !is_opaque => None,
            Some((Grade::Critical, why)) => Some(why),
            _ => label_before(text, layer.range.start).map(|_| Why::AnswerKey),
        };
        let is_known = |sighting: &Sighting, sightings: &[Sighting]| {
            sightings.iter().any(|known| layer.range.contains(&known.offset) && known.grade <= sighting.grade)
        };
        for mut sighting in inner {
            if let Some(why) = leak.filter(|_| is_ordinary(&sighting)) {
                (sighting.grade, sighting.why) = (Grade::Critical, why);
            }
            sighting.offset = layer.range.start;
            sighting.form = sighting.form.map(|_| layer.form);
            if !is_known(&sighting, sightings) {
                sightings.push(sighting);
            }
        }
    }

    /// Which of the turned answers stands somewhere.
    fn turned(&self, found: &str) -> Option<&Turned> {
        self.turned.iter().find(|turned| turned.is(found))
    }

    /// Grades an answer by where it stands; `None` when its being there says nothing.
    fn judge(
        &self,
        context: &mut Context<'_>,
        text: &str,
        hit: &Range<usize>,
        form: Form,
        questions: &[Asked],
    ) -> Option<(Grade, Why)> {
        // What stands within the question is the question.
        if questions.iter().any(|asked| asked.range.start <= hit.start && hit.end <= asked.range.end) {
            return None;
        }
        let label = label_before(text, hit.start);
        let is_encoded = matches!(form, Form::Base64 | Form::Hex);
        let is_common = self.weight_of(text, hit, form) == Weight::Common;
        // A hit alone says nothing when the answer is everywhere, or in the task itself.
        let needs_more = is_common || self.is_shown && !is_encoded;
        let critical = |why| Some((Grade::Critical, why));
        let (before, after) = if needs_more { (0, QUESTION_TAIL) } else { (QUESTION_REACH, QUESTION_REACH) };
        let is_enough = !needs_more || label.is_some();
        let is_next = |question: &Range<usize>| needs_more && is_next_cell(text, question.end, hit);
        let is_with = |question: &Range<usize>| is_enough && stands_with(hit, question, before, after);
        let is_leak = |asked: &Asked| match asked.standing {
            Standing::Question => is_with(&asked.range) || is_next(&asked.range),
            Standing::Part => label.is_some() && stands_with(hit, &asked.range, 0, after),
            // An engine's or a chat's own answer to a query is an ordinary one; only a key knows better.
            Standing::Echo => {
                matches!(label, Some(Label::Key | Label::Field)) && stands_with(hit, &asked.range, 0, QUESTION_TAIL)
            }
            Standing::Phrase => false,
        };
        if questions.iter().any(is_leak) {
            return critical(Why::WithQuestion);
        }
        if is_enough && context.has_id(hit) {
            return critical(Why::WithTaskId);
        }
        if is_enough {
            match context.mark(hit) {
                Some(MarkKind::Address) => return critical(Why::DatasetNamed),
                Some(MarkKind::File) if !needs_more => return critical(Why::DatasetFile),
                _ => {}
            }
        }
        let is_bare = context.is_bare(hit);
        match label {
            Some(Label::Key) if !needs_more || is_bare => return critical(Why::AnswerKey),
            Some(Label::Field) if !needs_more && is_bare => return critical(Why::AnswerKey),
            Some(Label::ShortKey) if !needs_more && context.is_alone(hit) => return critical(Why::AnswerKey),
            Some(_) if is_encoded => return critical(Why::AnswerKey),
            _ => {}
        }
        let is_of_key = |context: &mut Context<'_>| {
            context.is_record(hit) || context.is_in_table(hit) || context.is_inserted(hit) || context.is_row_of_key(hit)
        };
        if !needs_more && is_of_key(context) {
            return critical(Why::AnswerRecord);
        }
        match () {
            () if self.is_shown => Some((Grade::Information, Why::TaskShows)),
            () if !is_common => Some((Grade::Information, Why::Ordinary)),
            () if label.is_some() => Some((Grade::Information, Why::Common)),
            () => None,
        }
    }

    /// Adds the answers that stand near something that makes them a leak, however many others there are.
    fn look_again(&self, text: &str, questions: &[Asked], hits: &mut Vec<(Range<usize>, Form)>) {
        let mut places: Vec<Range<usize>> = questions.iter().map(|asked| asked.range.clone()).collect();
        if let Some(anchors) = self.anchors() {
            let mut last = 0;
            for found in anchors.find_iter(text) {
                if found.start() >= last {
                    places.push(found.range());
                    last = found.end() + REACH / 8;
                    if places.len() > MAX_ANCHORS {
                        break;
                    }
                }
            }
        }
        for place in places {
            // The first ones behind it, and some before it.
            let from = text.floor_char_boundary(place.start.saturating_sub(REACH / 4));
            let to = text.ceil_char_boundary((place.end + REACH).min(text.len()));
            for part in [from..place.start, place.end..to] {
                for hit in self.needles.scan(&text.as_bytes()[part.clone()]).gold {
                    let found = range(&hit);
                    let found = part.start + found.start..part.start + found.end;
                    if !hits.iter().any(|(known, _)| *known == found) {
                        hits.push((found, hit.form));
                    }
                }
            }
        }
    }

    /// Where the question's words stand in a text, and whether they ask.
    fn questions(&self, text: &str, scan: &Scan) -> Vec<Asked> {
        scan.question.iter().filter_map(|hit| self.question.judge(text, &range(hit))).collect()
    }

    /// Where the task's own texts stand in a text.
    fn mask(&self, text: &str) -> Vec<Range<usize>> {
        let mut masked: Vec<Range<usize>> = Vec::new();
        for shown in &self.shown {
            for (at, _) in text.match_indices(shown.as_str()).take(LISTED) {
                masked.push(at..at + shown.len());
            }
        }
        // A template may have changed white space or marks.
        let scan = self.needles.scan(text.as_bytes());
        masked.extend(scan.question.iter().map(range).filter(|place| self.question.is_enough(place.len())));
        masked
    }

    fn weight_of(&self, text: &str, hit: &Range<usize>, form: Form) -> Weight {
        match form {
            Form::Base64 | Form::Hex => Weight::Distinctive,
            _ => weigh(&text[hit.clone()]),
        }
    }

    /// The form of a find, where the answer was looked for in other words too.
    fn form(&self, found: &str, form: Form) -> Form {
        let is_worded = matches!(form, Form::Verbatim | Form::Folded) && found.ends_with(char::is_alphabetic);
        let is_of_number = || self.ways.iter().any(|way| Plain::words(way) == Plain::words(found));
        if is_worded && is_of_number() { Form::Number } else { form }
    }
}

/// Whether a question that begins in the head of a text is what somebody searched for.
fn starts_as_echo(head: &str, hit: &Hit) -> bool {
    let at = range(hit).start;
    at < head.len() && head.is_char_boundary(at) && is_echo(head, &(at..head.len()))
}

/// Whether an answer is the cell of a table behind the one of the question.
fn is_next_cell(text: &str, end: usize, hit: &Range<usize>) -> bool {
    let between = (end <= hit.start && hit.start - end <= 24).then(|| &text[end..hit.start]);
    let is_cell = |between: &str| {
        between.contains([',', '|', '\t', ';', '>']) && !between.contains(char::is_alphabetic)
            || between.contains('<') && between.contains('>')
    };
    between.is_some_and(is_cell)
}

/// Whether an answer is one of those that a sentence offers: `A, B or C`, `yes or no`.
fn is_choice(after: &str) -> bool {
    let plain = Plain::words(&after[..after.floor_char_boundary(24)]);
    let first = plain.text().split(' ').next().unwrap_or_default();
    matches!(first, "or" | "and" | "oder" | "ou" | "und" | "through" | "to")
        || first.len() == 1 && !after.starts_with(['.', '\n'])
}

/// Whether a text says of something that it is the answer, in a sentence of its own: `The answer is 3.`
///
/// Instructions show how to answer and examples have answers of their own, so it must be the only one that the text
/// speaks of, no question may stand before it, and nothing that introduces an example or a form. `Answer: 3` alone is
/// such a form more often than not.
fn is_stated(text: &str, hit: &Range<usize>) -> bool {
    const SHOWN: [&str; 6] = ["example", "examples", "instance", "format", "form", "template"];
    let before = &text[..hit.start];
    let start = before.rfind(['.', '!', '\n']).map_or(0, |at| at + 1);
    let sentence = Plain::words(&before[start..]);
    let sentence = LEADS.iter().find_map(|lead| sentence.text().strip_prefix(lead)).unwrap_or(sentence.text());
    let rest = text[hit.end..].trim_start_matches(['*', '_', '`']);
    let is_end = rest.is_empty()
        || rest.starts_with(['\n', '\r', '!'])
        || rest.strip_prefix('.').is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    if !STATEMENTS.contains(&sentence) || !is_end || text.len() > MAX_STATED || before.contains(['?', '？']) {
        return false;
    }
    let lead = before[..start].trim_end();
    let is_introduced = !lead.is_empty() && !lead.ends_with(['.', '!']);
    let near = Plain::words(&lead[lead.ceil_char_boundary(lead.len().saturating_sub(96))..]);
    let count = Plain::words(text).text().matches("answer is").count();
    !is_introduced && count == 1 && !near.text().split(' ').any(|word| SHOWN.contains(&word))
}

/// What calls an answer so, as a sentence of its own.
const STATEMENTS: [&str; 2] = ["the answer is", "the final answer is"];

/// What such a sentence may begin with.
const LEADS: [&str; 8] = ["hint ", "note ", "psst ", "secret ", "reminder ", "remember ", "fyi ", "ps "];

/// The longest text that is read again for answers that it speaks of.
const MAX_STATED: usize = 64 * 1024;

/// Whether what stands before an answer stands before others too, as in a list of examples.
fn is_series(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |start| start + 1).max(text.ceil_char_boundary(at.saturating_sub(24)));
    let label = text[line..at].trim();
    label.len() >= 3 && text.match_indices(label).take(3).count() >= 3
}

/// Whether an answer stands before or behind the question, no farther than it may.
fn stands_with(hit: &Range<usize>, question: &Range<usize>, before: usize, after: usize) -> bool {
    if hit.start >= question.end {
        hit.start - question.end <= after
    } else {
        hit.end <= question.start && before > 0 && question.start - hit.end <= before
    }
}

/// The gravest sightings, each place once.
fn list(mut sightings: Vec<Sighting>) -> Vec<Sighting> {
    sightings.sort_by_key(|sighting| (sighting.grade, sighting.offset, sighting.why));
    sightings.dedup_by_key(|sighting| (sighting.grade, sighting.offset, sighting.form));
    sightings.truncate(LISTED);
    sightings
}

fn range(hit: &Hit) -> Range<usize> {
    let start = usize::try_from(hit.offset).unwrap_or(usize::MAX);
    start..start.saturating_add(usize::try_from(hit.length).unwrap_or(usize::MAX))
}
