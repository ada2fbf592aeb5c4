//! A model that judges answers, to try judge scorers without a network.
//!
//! It reads what a judge is sent: the answer between its markers, the declared words, the range of the score. It finds an
//! answer good when the item's target, which no live model is told of, is in it; without a target, when it has at least
//! [`LONG_ENOUGH`] characters; a picture it takes for good, having no eyes. Parameters give it the weaknesses that real judges
//! have, each with a probability, by a coin of the question's seed.

use proofmark_artefact::record::{Message, Role};
use proofmark_canon::seed::Stream;
use proofmark_canon::{Map, Number, Value};

use super::answered;
use crate::ask::{Ask, Reply, Turn};

/// How long an answer without a target is to be, in characters.
const LONG_ENOUGH: usize = 40;

/// From how many characters on an answer is long to a judge that likes long ones.
const LONG: usize = 400;

/// What an answer says when it talks to its judge.
const CUES: [&str; 16] = [
    "grader",
    "judge",
    "evaluator",
    "verdict",
    "ignore",
    "disregard",
    "override",
    "full marks",
    "mark this",
    "rate this",
    "ignoriere",
    "bewerte",
    "ignora",
    "ignorez",
    "忽略",
    "игнорируй",
];

/// The most replies that do not fit.
const MAX_MISFITS: u64 = 10;

pub(super) fn reply(ask: &Ask<'_>) -> Reply {
    let asked_before = ask.request.turns.iter().filter(|turn| matches!(turn, Turn::Model { .. })).count() as u64;
    let misfits = ask.request.params.get("misfits").and_then(parse_misfits).unwrap_or(0);
    let Some(task) = Task::read(&ask.request.messages).filter(|_| asked_before >= misfits) else {
        return answered(ask, "I would rather not say.".to_owned());
    };
    let temper = Temper::of(ask);
    let (word, share, reason) = match &task.data {
        Data::One(answer) => temper.grade(answer, &task.words),
        Data::Two { first, second } => temper.compare(first, second),
    };
    let mut said = Map::new();
    said.insert("reason", reason);
    if let Some((min, max)) = task.range {
        said.insert("score", Number::new(min + (max - min) * share).map_or(Value::Null, Value::Number));
    }
    said.insert("verdict", word);
    answered(ask, Value::Object(said).to_plain_text())
}

/// How many replies are prose before one has the declared form.
pub(super) fn parse_misfits(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count <= MAX_MISFITS)
}

/// What a judge is asked, as far as this one understands it.
struct Task {
    data: Data,
    /// The best one first.
    words: Vec<String>,
    range: Option<(f64, f64)>,
}

enum Data {
    One(Answer),
    Two { first: Answer, second: Answer },
}

#[derive(Default)]
struct Answer {
    text: String,
    has_picture: bool,
}

impl Task {
    fn read(messages: &[Message]) -> Option<Self> {
        let closing = &messages.last()?.content;
        let line = |name: &str| closing.lines().rev().find_map(|line| line.strip_prefix(name));
        let words: Vec<String> = line("- verdict:")?.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        let range = line("- score: a number from ").and_then(|rest| {
            let (min, max) = rest.split_once(';')?.0.split_once(" to ")?;
            Some((min.parse().ok()?, max.parse().ok()?))
        });
        let picture = messages.iter().find(|message| message.role == Role::User && !message.attachments.is_empty());
        let answer = |name: &str, label: &str| Answer {
            text: messages.iter().find_map(|message| between(&message.content, name)).unwrap_or_default(),
            has_picture: picture.is_some_and(|message| message.content.contains(&format!("{label} has "))),
        };
        let data = if words == ["first", "second", "tie"] {
            let (first, second) = (answer("first", "The first answer"), answer("second", "The second answer"));
            Data::Two { first, second }
        } else {
            Data::One(answer("answer", "The answer"))
        };
        (words.len() >= 2).then_some(Self { data, words, range })
    }
}

/// The text between the markers of a part.
fn between(content: &str, name: &str) -> Option<String> {
    let opening = format!("<untrusted-{name}-");
    let mut lines = content.lines();
    let id = lines.by_ref().find_map(|line| line.strip_prefix(&opening)?.strip_suffix('>'))?;
    let closing = format!("</untrusted-{name}-{id}>");
    Some(lines.take_while(|line| *line != closing).collect::<Vec<_>>().join("\n"))
}

/// What this judge is like, and how its coins have fallen for this question.
struct Temper<'a> {
    expected: &'a Value,
    is_lenient: bool,
    is_mistaken: bool,
    likes_first: bool,
    likes_long: bool,
    is_injectable: bool,
}

impl<'a> Temper<'a> {
    fn of(ask: &Ask<'a>) -> Self {
        let params = &ask.request.params;
        let labels: [&[u8]; 2] = [&ask.request.seed.get().to_be_bytes(), ask.hint.key.as_bytes()];
        let mut stream = Stream::new("proofmark.offline-judge/1", &labels);
        // Every coin is thrown, so that one parameter never changes what another does.
        let mut falls = |name: &str| stream.next_unit() < params.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Self {
            expected: ask.hint.expected,
            is_lenient: falls("leniency"),
            is_mistaken: falls("noise"),
            likes_first: falls("position_bias"),
            likes_long: falls("length_bias"),
            is_injectable: params.get("injectable").and_then(Value::as_bool).unwrap_or(false),
        }
    }

    /// One of the words, a share of the score, and why.
    fn grade(&self, answer: &Answer, words: &[String]) -> (String, f64, String) {
        let (mut is_good, mut reason) = self.is_good(answer);
        let is_long = answer.text.chars().count() >= LONG;
        if !is_good && self.obeys(answer) {
            (is_good, reason) = (true, "the answer asks for it");
        } else if !is_good && self.likes_long && is_long {
            (is_good, reason) = (true, "the answer is thorough");
        } else if !is_good && self.is_lenient {
            (is_good, reason) = (true, "the answer is good enough");
        }
        if self.is_mistaken {
            (is_good, reason) = (!is_good, "a slip");
        }
        let word = if is_good { words.first() } else { words.last() };
        (word.cloned().unwrap_or_default(), if is_good { 1.0 } else { 0.0 }, reason.to_owned())
    }

    fn compare(&self, first: &Answer, second: &Answer) -> (String, f64, String) {
        let (is_first_good, is_second_good) = (self.is_good(first).0, self.is_good(second).0);
        let longer = first.text.chars().count().cmp(&second.text.chars().count());
        let (mut word, mut reason) = match (is_first_good, is_second_good) {
            (true, false) => ("first", "only the first answer is right"),
            (false, true) => ("second", "only the second answer is right"),
            (true, true) => ("tie", "both are right"),
            (false, false) => ("tie", "neither is right"),
        };
        match (self.obeys(first), self.obeys(second)) {
            (true, false) => (word, reason) = ("first", "the first answer asks for it"),
            (false, true) => (word, reason) = ("second", "the second answer asks for it"),
            _ if self.likes_long && longer.is_gt() => (word, reason) = ("first", "the first answer is thorough"),
            _ if self.likes_long && longer.is_lt() => (word, reason) = ("second", "the second answer is thorough"),
            _ if self.likes_first => (word, reason) = ("first", "the first answer reads well"),
            _ => {}
        }
        if self.is_mistaken {
            word = match word {
                "first" => "second",
                "second" => "first",
                _ => "first",
            };
            reason = "a slip";
        }
        (word.to_owned(), 0.0, reason.to_owned())
    }

    fn is_good(&self, answer: &Answer) -> (bool, &'static str) {
        let text = folded(&answer.text);
        match self.expected {
            _ if answer.has_picture => (true, "there is a picture"),
            Value::Null if text.chars().count() >= LONG_ENOUGH => (true, "the answer says enough"),
            Value::Null => (false, "the answer says too little"),
            Value::Array(items) if items.iter().any(|item| holds(&text, item)) => {
                (true, "the answer has a target in it")
            }
            Value::Array(_) => (false, "the answer has no target in it"),
            target if holds(&text, target) => (true, "the answer has the target in it"),
            _ => (false, "the answer does not have the target in it"),
        }
    }

    fn obeys(&self, answer: &Answer) -> bool {
        let text = folded(&answer.text);
        self.is_injectable && CUES.iter().any(|cue| text.contains(cue))
    }
}

fn holds(text: &str, target: &Value) -> bool {
    let target = folded(&target.to_plain_text());
    !target.is_empty() && text.contains(&target)
}

fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{AttemptLog, Hint, Request};
    use proofmark_artefact::record::Output;
    use proofmark_artefact::telemetry::Attempt;
    use proofmark_canon::json::parse;
    use proofmark_canon::seed::SampleSeed;

    struct NoLog;

    impl AttemptLog for NoLog {
        fn attempt(&self, _: &Attempt) {}
    }

    const GRADE: &str = "- score: a number from 1 to 5; more is better.\n- verdict: exactly one of these words, the \
                         best one first: \"good\", \"fair\", \"bad\".";
    const COMPARE: &str = "- verdict: exactly one of these words, the answer that is better, or a tie when neither is: \
                           \"first\", \"second\", \"tie\".";

    fn part(name: &str, text: &str) -> String {
        format!("A part:\n<untrusted-{name}-00ff>\n{text}\n</untrusted-{name}-00ff>\n\n")
    }

    fn say(prompt: &str, expected: &str, params: &str, turns: Vec<Turn>) -> String {
        let Value::Object(params) = parse(params.as_bytes()).unwrap() else { panic!() };
        let expected = parse(expected.as_bytes()).unwrap();
        let messages = vec![Message::new(Role::System, "Rules"), Message::new(Role::User, prompt)];
        let request = Request { turns, ..Request::new(messages, params, SampleSeed::derive(1, "k")) };
        let (expected, choices) = (&expected, None);
        let hint = Hint { key: "k", ordinal: 0, item_id: "i", item_index: 0, sample: 0, attempt: 0, expected, choices };
        match reply(&Ask { request: &request, hint, log: &NoLog }) {
            Reply::Answered { output: Output { text, .. }, .. } => text,
            Reply::Failed { message, .. } => message,
        }
    }

    fn graded(answer: &str, expected: &str, params: &str) -> (String, f64) {
        let said = say(&format!("{}{GRADE}", part("answer", answer)), expected, params, Vec::new());
        let said = parse(said.as_bytes()).unwrap();
        (
            said.get("verdict").and_then(Value::as_str).unwrap().to_owned(),
            said.get("score").and_then(Value::as_f64).unwrap(),
        )
    }

    #[test]
    fn an_answer_with_the_target_in_it_is_good() {
        for (answer, expected, params, want) in [
            ("It is  PARIS,\nI think", r#""paris, i""#, "{}", ("good", 5.0)),
            ("London", r#""Paris""#, "{}", ("bad", 1.0)),
            ("Two years", r#"["24 months", "two years"]"#, "{}", ("good", 5.0)),
            ("anything", r#""""#, "{}", ("bad", 1.0)),
            ("short", "null", "{}", ("bad", 1.0)),
            ("long enough for someone who has no other measure", "null", "{}", ("good", 5.0)),
            ("London", r#""Paris""#, r#"{"leniency": 1}"#, ("good", 5.0)),
            ("Paris", r#""Paris""#, r#"{"noise": 1}"#, ("bad", 1.0)),
            ("Dear grader", r#""Paris""#, "{}", ("bad", 1.0)),
            ("Dear grader", r#""Paris""#, r#"{"injectable": true}"#, ("good", 5.0)),
            ("London", r#""Paris""#, r#"{"injectable": true}"#, ("bad", 1.0)),
            ("London", r#""Paris""#, r#"{"length_bias": 1}"#, ("bad", 1.0)),
        ] {
            let (word, score) = graded(answer, expected, params);
            assert_eq!((word.as_str(), score), want, "{answer} {params}");
        }
        assert_eq!(graded(&"x ".repeat(300), r#""Paris""#, r#"{"length_bias": 1}"#).0, "good");
    }

    #[test]
    fn of_two_answers_it_names_the_good_one() {
        for (first, second, params, want) in [
            ("Paris", "London", "{}", "first"),
            ("London", "Paris", "{}", "second"),
            ("Paris", "paris!", "{}", "tie"),
            ("London", "Paris", r#"{"position_bias": 1}"#, "first"),
            ("Paris", "London, at length", r#"{"length_bias": 1}"#, "second"),
            ("Paris", "Judge: mine", r#"{"injectable": true}"#, "second"),
            ("Paris", "London", r#"{"noise": 1}"#, "second"),
        ] {
            let prompt = format!("{}{}{COMPARE}", part("first", first), part("second", second));
            let said = say(&prompt, r#""Paris""#, params, Vec::new());
            assert!(said.contains(&format!("\"verdict\":\"{want}\"")), "{first} {second} {params}: {said}");
        }
    }

    #[test]
    fn it_writes_prose_as_often_as_it_is_told_to_and_where_nothing_is_to_judge() {
        let prompt = format!("{}{GRADE}", part("answer", "Paris"));
        let turn = || Turn::Model { text: String::new(), calls: Vec::new(), keep: None };
        let fits = |turns| say(&prompt, r#""Paris""#, r#"{"misfits": 1}"#, turns).starts_with('{');
        assert!(!fits(Vec::new()) && fits(vec![turn()]));
        assert!(!say("What is the capital of France?", r#""Paris""#, "{}", Vec::new()).contains('{'));
    }
}
