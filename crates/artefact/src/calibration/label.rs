//! Labels: answers that people judged, one JSON object a line.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use proofmark_canon::json::{self, Integers};
use proofmark_canon::{Digest, Map, Value};

use crate::store::{Hashed, LineError, Lines};
use crate::suite::judge::{JudgeMode, JudgePlan};
use crate::text::excerpt;

/// One answer and what people say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Where it stands in the file, from 1.
    pub line: u64,
    pub id: String,
    pub answer: String,
    /// The answer it is compared with.
    pub other: Option<String>,
    pub question: Option<String>,
    /// Null when the line gives none.
    pub expected: Value,
    /// An item of the task's dataset that gives question and expected answer.
    pub item: Option<String>,
    /// Who wrote the answer: `provider:model-id`, or `human`.
    pub author: Option<String>,
    pub people: People,
}

/// What people say of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct People {
    pub passed: bool,
    /// The word they gave; `None` for a plain yes or no.
    pub word: Option<String>,
}

/// All labels of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// In the file's order.
    pub list: Vec<Label>,
    /// Labels of empty answers, which never reach a judge; they are not in the list.
    pub empty: u64,
    /// Of the file's bytes.
    pub digest: Digest,
}

/// What a label may say, which follows from the scorer.
#[derive(Debug, Clone)]
pub struct LabelRules {
    mode: JudgeMode,
    pass: f64,
    verdicts: BTreeMap<String, f64>,
}

/// A file of labels cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("the file cannot be read")]
    Io(#[from] std::io::Error),
    #[error("line {line} {why}")]
    Wrong { line: u64, why: String, hint: Option<String> },
    #[error("line {second} has the id `{id}` of line {first}")]
    Twice { first: u64, second: u64, id: String },
    #[error("line {second} is the same as line {first}")]
    Repeated { first: u64, second: u64 },
    #[error("there are more than {MAX_LABELS} labels")]
    TooMany,
    #[error("the labels have more than {MAX_TOTAL} bytes")]
    TooLarge,
    #[error("there is no label with an answer")]
    Empty,
}

impl LabelError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Wrong { hint, .. } => hint.clone(),
            Self::Repeated { .. } => {
                Some("a label that stands twice counts twice; give each an `id` if both are meant".into())
            }
            Self::Empty => {
                Some("a line is {\"answer\": \"…\", \"label\": true, \"question\": \"…\", \"expected\": \"…\"}".into())
            }
            _ => None,
        }
    }
}

/// The most labels of a file.
pub const MAX_LABELS: usize = 100_000;
/// The longest line, in bytes.
const MAX_LINE: usize = 4 << 20;
/// The most bytes of all lines, which are held in memory.
const MAX_TOTAL: u64 = 256 << 20;
/// The longest id, in characters.
const MAX_ID: usize = 200;
/// The members of a line.
const MEMBERS: [&str; 9] = ["answer", "author", "expected", "id", "item", "label", "label_other", "other", "question"];
/// What people say of a pair.
const PAIR: [(&str, f64); 3] = [("first", 1.0), ("second", 0.0), ("tie", 0.5)];

impl Labels {
    /// Reads all labels. The first line that is wrong is an error: a label that was passed over would change every number.
    pub fn read(source: impl Read, rules: &LabelRules) -> Result<Self, LabelError> {
        let mut lines = Lines::new(Hashed::new(source), MAX_LINE);
        let (mut list, mut empty) = (Vec::new(), 0);
        // Looked up, never walked.
        let mut seen: HashMap<String, u64> = HashMap::new();
        while let Some(line) = lines.next_line()? {
            if line.offset > MAX_TOTAL {
                return Err(LabelError::TooLarge);
            }
            if line.bytes.trim_ascii().is_empty() {
                continue;
            }
            let number = line.number;
            let (label, has_id) = rules.read(number, line.bytes)?;
            if let Some(first) = seen.insert(label.id.clone(), number) {
                return Err(match has_id {
                    true => LabelError::Twice { first, second: number, id: excerpt(&label.id, 60) },
                    false => LabelError::Repeated { first, second: number },
                });
            }
            if seen.len() > MAX_LABELS {
                return Err(LabelError::TooMany);
            }
            match label.answer.trim().is_empty() {
                true => empty += 1,
                false => list.push(label),
            }
        }
        let (digest, _) = lines.drain()?.finish();
        if list.is_empty() {
            return Err(LabelError::Empty);
        }
        Ok(Self { list, empty, digest })
    }
}

impl LabelRules {
    pub fn new(plan: &JudgePlan) -> Self {
        Self { mode: plan.mode, pass: plan.pass, verdicts: plan.verdicts.clone() }
    }

    /// Reads a line, and says whether it names its own id.
    fn read(&self, line: u64, bytes: &[u8]) -> Result<(Label, bool), LabelError> {
        let fields = Fields::parse(line, bytes)?;
        let text = |name| fields.text(name);
        let answer = text("answer")?.ok_or_else(|| fields.wrong("has no `answer`", None))?;
        let (question, item) = (text("question")?, text("item")?);
        let expected = fields.members.get("expected").cloned().unwrap_or(Value::Null);
        if item.is_some() && (question.is_some() || expected != Value::Null) {
            let hint = "`item` names a row of the task's dataset, which has a question and a target of its own";
            return Err(fields.wrong("has both `item` and `question` or `expected`", Some(hint)));
        }
        let other = text("other")?;
        if self.mode == JudgeMode::Single {
            for name in ["other", "label_other"] {
                if fields.members.contains(name) {
                    let why = format!("has `{name}`, but the scorer judges one answer at a time");
                    return Err(fields.wrong(why, Some("that takes a scorer with `mode: pairwise`")));
                }
            }
        } else if other.is_none() && item.is_none() {
            return Err(fields.wrong("has no `other` answer to compare with", None));
        }
        let author = text("author")?;
        if let Some(author) = &author
            && author != "human"
            && !author.split_once(':').is_some_and(|(provider, id)| !provider.is_empty() && !id.is_empty())
        {
            let why = format!("has the author `{}`", excerpt(author, 60));
            return Err(fields.wrong(why, Some("expected `provider:model-id`, or `human`")));
        }
        let people = self.people(&fields)?;
        let given = fields.id()?;
        let has_id = given.is_some();
        let id = given.unwrap_or_else(|| fields.digest());
        Ok((Label { line, id, answer, other, question, expected, item, author, people }, has_id))
    }

    fn people(&self, fields: &Fields) -> Result<People, LabelError> {
        let label = fields.members.get("label").ok_or_else(|| fields.wrong("has no `label`", None))?;
        let other = fields.members.get("label_other");
        match (self.mode, label, other) {
            (JudgeMode::Single, Value::Bool(passed), None) => Ok(People { passed: *passed, word: None }),
            (JudgeMode::Pairwise, Value::Bool(answer), Some(Value::Bool(other))) => {
                // Two answers that are both right, or both wrong, are a tie.
                let word = match (answer, other) {
                    (true, false) => "first",
                    (false, true) => "second",
                    _ => "tie",
                };
                self.worded(fields, word)
            }
            (_, Value::String(word), None) => self.worded(fields, word),
            _ => Err(fields.wrong("has a `label` that is not one", Some(&self.expected()))),
        }
    }

    fn worded(&self, fields: &Fields, word: &str) -> Result<People, LabelError> {
        let value = match self.mode {
            JudgeMode::Single => self.verdicts.get(word).copied(),
            JudgeMode::Pairwise => PAIR.iter().find(|(known, _)| *known == word).map(|(_, value)| *value),
        };
        let Some(value) = value else {
            let why = format!("has the label `{}`", excerpt(word, 60));
            return Err(fields.wrong(why, Some(&self.expected())));
        };
        Ok(People { passed: value >= self.pass, word: Some(word.to_owned()) })
    }

    fn expected(&self) -> String {
        match self.mode {
            JudgeMode::Pairwise => {
                "expected first, second or tie: which answer people prefer, `answer` being the first; \
                                    or true or false in `label` and `label_other`"
                    .to_owned()
            }
            JudgeMode::Single => {
                let words: Vec<&str> = self.verdicts.keys().map(String::as_str).collect();
                format!("expected true, false, or a verdict of the scorer: {}", words.join(", "))
            }
        }
    }
}

/// The members of one line.
struct Fields {
    line: u64,
    members: Map,
}

impl Fields {
    fn parse(line: u64, bytes: &[u8]) -> Result<Self, LabelError> {
        let wrong =
            |why: String| LabelError::Wrong { line, why, hint: Some("a label is one JSON object on one line".into()) };
        let value = json::parse_with(bytes, Integers::AsText)
            .map_err(|error| wrong(format!("is not JSON: {}", excerpt(&error.to_string(), 200))))?;
        let kind = value.kind();
        let Value::Object(members) = value else { return Err(wrong(format!("is {kind}, expected an object"))) };
        let fields = Self { line, members };
        if let Some((name, _)) = fields.members.iter().find(|(name, _)| !MEMBERS.contains(name)) {
            let why = format!("has an unknown member `{}`", excerpt(name, 60));
            return Err(fields.wrong(why, Some(&format!("a label has {}", MEMBERS.join(", ")))));
        }
        Ok(fields)
    }

    fn wrong(&self, why: impl Into<String>, hint: Option<&str>) -> LabelError {
        LabelError::Wrong { line: self.line, why: why.into(), hint: hint.map(ToOwned::to_owned) }
    }

    /// A text, or nothing where the member is missing or null.
    fn text(&self, name: &str) -> Result<Option<String>, LabelError> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(format!("has {} as `{name}`, expected a text", other.kind()), None)),
        }
    }

    fn id(&self) -> Result<Option<String>, LabelError> {
        let id = match self.members.get("id") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(number @ Value::Number(inner)) if inner.get().fract() == 0.0 => number.to_string(),
            Some(other) => return Err(self.wrong(format!("has {} as `id`, expected a text", other.kind()), None)),
        };
        match id.chars().count() {
            1..=MAX_ID => Ok(Some(id)),
            length => Err(self.wrong(format!("has an id of {length} characters, expected 1 to {MAX_ID}"), None)),
        }
    }

    /// An id for a line that has none: the beginning of the digest of what it says.
    fn digest(&self) -> String {
        let mut canonical = Vec::new();
        self.members.append_canonical(&mut canonical);
        Digest::of(&canonical).hex()[..24].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(mode: JudgeMode) -> LabelRules {
        let verdicts = match mode {
            JudgeMode::Single => [("good", 1.0), ("fair", 0.5), ("bad", 0.0)].map(|(k, v)| (k.to_owned(), v)).into(),
            JudgeMode::Pairwise => BTreeMap::new(),
        };
        LabelRules { mode, pass: 1.0, verdicts }
    }

    fn read(mode: JudgeMode, text: &str) -> Result<Labels, LabelError> {
        Labels::read(text.as_bytes(), &rules(mode))
    }

    #[test]
    fn labels_are_yes_no_or_a_word_of_the_scorer() {
        let text = "{\"answer\":\"a\",\"label\":true}\n\n{\"id\":7,\"answer\":\"b\",\"label\":\"fair\",\"author\":\"openai:x\"}\r\n\
                    {\"answer\":\"c\",\"label\":\"good\",\"question\":\"q\",\"expected\":[\"x\"]}\n{\"answer\":\" \",\"label\":false}";
        let labels = read(JudgeMode::Single, text).unwrap();
        let seen: Vec<(u64, bool, Option<&str>)> =
            labels.list.iter().map(|label| (label.line, label.people.passed, label.people.word.as_deref())).collect();
        assert_eq!(seen, [(1, true, None), (3, false, Some("fair")), (4, true, Some("good"))]);
        assert_eq!((labels.list[1].id.as_str(), labels.list[0].id.len(), labels.empty), ("7", 24, 1));
        assert_eq!(labels.digest, Digest::of(text.as_bytes()));
    }

    #[test]
    fn a_pair_has_the_answer_first() {
        let line = |label: &str| format!("{{\"answer\":\"a\",\"other\":\"b\",{label}}}");
        for (label, passed, word) in [
            ("\"label\":\"first\"", true, "first"),
            ("\"label\":\"second\"", false, "second"),
            ("\"label\":\"tie\"", false, "tie"),
            ("\"label\":true,\"label_other\":false", true, "first"),
            ("\"label\":false,\"label_other\":true", false, "second"),
            ("\"label\":true,\"label_other\":true", false, "tie"),
        ] {
            let labels = read(JudgeMode::Pairwise, &line(label)).unwrap();
            assert_eq!(labels.list[0].people, People { passed, word: Some(word.to_owned()) }, "{label}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let long = "x".repeat(201);
        for (mode, line, want) in [
            (JudgeMode::Single, "[]", "line 2 is a list, expected an object"),
            (JudgeMode::Single, "{\"answer\":\"a\"}", "line 2 has no `label`"),
            (JudgeMode::Single, "{\"label\":true}", "line 2 has no `answer`"),
            (JudgeMode::Single, "{\"answer\":1,\"label\":true}", "line 2 has a number as `answer`, expected a text"),
            (JudgeMode::Single, "{\"answer\":\"a\",\"label\":1}", "line 2 has a `label` that is not one"),
            (JudgeMode::Single, "{\"answer\":\"a\",\"label\":\"Good\"}", "line 2 has the label `Good`"),
            (
                JudgeMode::Single,
                "{\"answer\":\"a\",\"label\":true,\"lable\":1}",
                "line 2 has an unknown member `lable`",
            ),
            (JudgeMode::Single, "{\"answer\":\"a\",\"label\":true,\"author\":\"gpt\"}", "line 2 has the author `gpt`"),
            (
                JudgeMode::Single,
                "{\"answer\":\"a\",\"label\":true,\"other\":\"b\"}",
                "line 2 has `other`, but the scorer judges one answer at a time",
            ),
            (
                JudgeMode::Single,
                "{\"answer\":\"a\",\"label\":true,\"item\":\"1\",\"question\":\"q\"}",
                "line 2 has both `item` and `question` or `expected`",
            ),
            (
                JudgeMode::Single,
                "{\"id\":\"\",\"answer\":\"a\",\"label\":true}",
                "line 2 has an id of 0 characters, expected 1 to 200",
            ),
            (
                JudgeMode::Pairwise,
                "{\"answer\":\"a\",\"label\":\"tie\"}",
                "line 2 has no `other` answer to compare with",
            ),
            (
                JudgeMode::Pairwise,
                "{\"answer\":\"a\",\"other\":\"b\",\"label\":true}",
                "line 2 has a `label` that is not one",
            ),
        ] {
            let error = read(mode, &format!("\n{line}\n")).unwrap_err();
            assert_eq!(error.to_string(), want, "{line}");
        }
        let error =
            read(JudgeMode::Single, &format!("{{\"id\":\"{long}\",\"answer\":\"a\",\"label\":true}}")).unwrap_err();
        assert!(error.to_string().contains("201 characters"));
        assert!(read(JudgeMode::Single, "{\"answer\":\"a\",\"answer\":\"b\",\"label\":true}").is_err());
        assert!(read(JudgeMode::Single, "{\"answer\":\"\\ud800\",\"label\":true}").is_err());
        assert!(matches!(read(JudgeMode::Single, "\n \n"), Err(LabelError::Empty)));
        assert!(matches!(read(JudgeMode::Single, "{\"answer\":\"\",\"label\":true}"), Err(LabelError::Empty)));
    }

    #[test]
    fn nothing_counts_twice() {
        let twice = "{\"id\":\"x\",\"answer\":\"a\",\"label\":true}\n{\"id\":\"x\",\"answer\":\"b\",\"label\":true}";
        assert_eq!(read(JudgeMode::Single, twice).unwrap_err().to_string(), "line 2 has the id `x` of line 1");
        let same = "{\"answer\":\"a\",\"label\":true}\n{\"label\":true,\"answer\":\"a\"}";
        assert_eq!(read(JudgeMode::Single, same).unwrap_err().to_string(), "line 2 is the same as line 1");
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut text = b"{\"answer\":\"".to_vec();
        text.resize(MAX_LINE + 10, b'x');
        assert!(matches!(Labels::read(&text[..], &rules(JudgeMode::Single)), Err(LabelError::Line(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Labels::read(&bytes[..], &rules(JudgeMode::Single));
            let _ = Labels::read(&bytes[..], &rules(JudgeMode::Pairwise));
        }
    }
}
