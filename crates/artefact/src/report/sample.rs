//! One record as the page shows it: long texts cut, everything bounded.

use proofmark_canon::Digest;

use crate::record::{Image, Opinion, Order, Record, Role, Stage, Status, Usage};
use crate::spill::mark;
use crate::text::excerpt;

/// What a sample came to, in the order in which the report prefers to show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Without an answer, or with one that could not be scored.
    Errored,
    /// The task's first scorer said no.
    Failed,
    /// The task's first scorer said yes.
    Passed,
    /// Answered, but there is no gold answer.
    Unscored,
}

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Errored, Self::Failed, Self::Passed, Self::Unscored];

    /// `passed` is the verdict of the task's first scorer, when there is one.
    pub fn of(status: Status, passed: Option<bool>) -> Self {
        match (status, passed) {
            (Status::Success, Some(true)) => Self::Passed,
            (Status::Success, Some(false)) => Self::Failed,
            (Status::Success, None) => Self::Unscored,
            _ => Self::Errored,
        }
    }
}

/// What the page says about one record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// Position among the records that were looked at, from 0.
    pub(super) position: u64,
    pub(super) outcome: Outcome,
    /// Positions in the manifest.
    pub(super) task: usize,
    pub(super) model: usize,
    pub(super) condition: usize,
    pub(super) item: Clip,
    pub(super) index: u32,
    pub(super) key: Clip,
    /// Of the whole key: what its trajectory is found by.
    pub(super) mark: [u8; 16],
    pub(super) seed: u32,
    pub(super) status: Status,
    pub(super) messages: Vec<(Role, Clip)>,
    /// How many messages were left out before the last one.
    pub(super) messages_left_out: usize,
    pub(super) answer: Option<Clip>,
    pub(super) images: Vec<Image>,
    pub(super) images_left_out: usize,
    pub(super) expected: Option<Clip>,
    pub(super) scores: Vec<Verdict>,
    pub(super) scores_left_out: usize,
    /// Class and message.
    pub(super) error: Option<(Clip, Clip)>,
    pub(super) finish_reason: Option<Clip>,
    pub(super) usage: Usage,
    pub(super) turns: u32,
    pub(super) tool_calls: u32,
    pub(super) input_fingerprint: Digest,
    pub(super) output_fingerprint: Digest,
    pub(super) votes: Option<Votes>,
}

/// How an answer was chosen among several.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Votes {
    pub(super) words: String,
    pub(super) chosen: Option<u32>,
    /// How many attempts there were; of the first ones the answers follow.
    pub(super) all: u32,
    pub(super) answers: Vec<Option<Clip>>,
}

/// One scorer's verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) scorer: Clip,
    pub(super) passed: bool,
    pub(super) value: f64,
    pub(super) explanation: Clip,
    /// What judges said, and what decided; `None` for other scorers.
    pub(super) judged: Option<(Stage, Vec<Said>)>,
}

/// One judge's opinion.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) judge: Clip,
    pub(super) order: Option<Order>,
    pub(super) passed: bool,
    pub(super) verdict: Clip,
    pub(super) score: Option<f64>,
    pub(super) reason: Clip,
}

/// The longest message, answer or expected text that is shown whole.
pub(super) const MAX_TEXT: usize = 4096;
/// All messages of a prompt together: with more than three, each has less room.
const MAX_PROMPT: usize = 3 * MAX_TEXT;
const MAX_MESSAGES: usize = 12;
const MAX_SCORES: usize = 12;
const MAX_VOTES: usize = 24;
const MAX_IMAGES: usize = 4;
const MAX_LINE: usize = 1024;
const MAX_NAME: usize = 256;
const MAX_MEDIA_TYPE: usize = 64;

impl Sample {
    pub(super) fn of(record: &Record, position: u64, outcome: Outcome, place: [usize; 3]) -> Self {
        let all = record.input.messages.len();
        // The last message is the question: it is always there.
        let left_out = all.saturating_sub(MAX_MESSAGES);
        let room = (MAX_PROMPT / all.clamp(1, MAX_MESSAGES)).min(MAX_TEXT);
        let messages = record.input.messages.iter().enumerate();
        let messages = messages.filter(|(at, _)| *at < MAX_MESSAGES - 1 || *at == all - 1);
        let said = |opinion: &Opinion| Said {
            judge: Clip::of(&opinion.judge, MAX_NAME),
            order: opinion.order,
            passed: opinion.passed,
            verdict: Clip::of(&opinion.verdict, MAX_NAME),
            score: opinion.score,
            reason: Clip::of(&opinion.reason, MAX_LINE),
        };
        let verdict = |score: &crate::record::Score| Verdict {
            scorer: Clip::of(&score.scorer, MAX_NAME),
            passed: score.passed,
            value: score.value,
            explanation: Clip::of(&score.explanation, MAX_LINE),
            judged: score
                .judge
                .as_ref()
                .map(|judged| (judged.stage, judged.opinions.iter().take(MAX_VOTES).map(said).collect())),
        };
        let images = record.output.iter().flat_map(|output| &output.images);
        let image = |image: &Image| Image { media_type: excerpt(&image.media_type, MAX_MEDIA_TYPE), ..image.clone() };
        Self {
            position,
            outcome,
            task: place[0],
            model: place[1],
            condition: place[2],
            item: Clip::of(&record.item_id, MAX_NAME),
            index: record.sample,
            key: Clip::of(record.key.as_str(), MAX_LINE),
            mark: mark(record.key.as_str().as_bytes()),
            seed: record.seed.get(),
            status: record.status,
            messages: messages.map(|(_, message)| (message.role, Clip::of(&message.content, room))).collect(),
            messages_left_out: left_out,
            answer: record.output.as_ref().map(|output| Clip::of(&output.text, MAX_TEXT)),
            images: images.clone().take(MAX_IMAGES).map(image).collect(),
            images_left_out: images.count().saturating_sub(MAX_IMAGES),
            expected: (!record.expected.is_null()).then(|| Clip::of(&record.expected.to_plain_text(), MAX_TEXT)),
            scores: record.scores.iter().take(MAX_SCORES).map(verdict).collect(),
            scores_left_out: record.scores.len().saturating_sub(MAX_SCORES),
            error: record
                .error
                .as_ref()
                .map(|error| (Clip::of(&error.class, MAX_NAME), Clip::of(&error.message, MAX_LINE))),
            finish_reason: record.finish_reason.as_ref().map(|reason| Clip::of(reason, MAX_NAME)),
            usage: record.usage,
            turns: record.turns,
            tool_calls: record.tool_calls,
            input_fingerprint: record.input.fingerprint,
            output_fingerprint: record.output_fingerprint,
            votes: record.voting.as_ref().map(|voting| Votes {
                words: crate::words::vote(voting),
                chosen: voting.chosen,
                all: u32::try_from(voting.answers.len()).unwrap_or(u32::MAX),
                answers: voting
                    .answers
                    .iter()
                    .take(MAX_VOTES)
                    .map(|answer| answer.as_ref().map(|answer| Clip::of(answer, MAX_NAME)))
                    .collect(),
            }),
        }
    }

    /// How many bytes of text it holds.
    pub(super) fn bytes(&self) -> usize {
        let messages = self.messages.iter().map(|(_, content)| content);
        let scores = self.scores.iter().flat_map(|score| [&score.scorer, &score.explanation]);
        let said = self.scores.iter().filter_map(|score| score.judged.as_ref()).flat_map(|(_, said)| said);
        let scores = scores.chain(said.flat_map(|said| [&said.judge, &said.verdict, &said.reason]));
        let error = self.error.iter().flat_map(|(class, message)| [class, message]);
        let rest = [&self.item, &self.key].into_iter().chain(&self.answer).chain(&self.expected);
        let rest = rest.chain(&self.finish_reason).chain(self.votes.iter().flat_map(|votes| &votes.answers).flatten());
        messages.chain(scores).chain(error).chain(rest).map(|clip| clip.head.len() + clip.tail.len()).sum()
    }
}

/// A text, or its beginning and end when it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clip {
    pub(super) head: String,
    /// Empty unless something was left out.
    pub(super) tail: String,
    /// Bytes left out between head and tail.
    pub(super) left_out: usize,
}

impl Clip {
    /// Keeps a text of up to `limit` bytes whole; of a longer one the first three quarters of the
    /// limit and the last quarter, since answers tend to end with what counts.
    pub(super) fn of(text: &str, limit: usize) -> Self {
        if text.len() <= limit {
            return Self { head: text.to_owned(), tail: String::new(), left_out: 0 };
        }
        let head = text.floor_char_boundary(limit - limit / 4);
        let tail = text.ceil_char_boundary(text.len() - limit / 4);
        Self { head: text[..head].to_owned(), tail: text[tail..].to_owned(), left_out: tail - head }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Message;
    use crate::report::fixture;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("{}{}{}", "a".repeat(3072), "é".repeat(50_000), "z".repeat(1024));
        let clip = Clip::of(&text, MAX_TEXT);
        assert_eq!((clip.head, clip.tail, clip.left_out), ("a".repeat(3072), "z".repeat(1024), 100_000));
        assert_eq!(Clip::of(&"x".repeat(MAX_TEXT), MAX_TEXT).left_out, 0);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for shift in 0..8 {
            let text = format!("{}{}", "x".repeat(shift), "🜚".repeat(100));
            let clip = Clip::of(&text, 64);
            assert_eq!(clip.head.len() + clip.left_out + clip.tail.len(), text.len());
            assert!(clip.head.len() + clip.tail.len() <= 64);
        }
    }

    #[test]
    fn a_record_of_any_size_gives_a_small_sample() {
        let mut record = fixture::record(0, Status::Success, Some(false));
        let long = "x".repeat(1 << 20);
        record.input.messages = (0..40).map(|_| Message::new(Role::User, long.clone())).collect();
        record.input.messages.push(Message::new(Role::User, "the question".to_owned()));
        record.scores = vec![crate::record::Score { explanation: long.clone(), ..record.scores[0].clone() }; 50];
        record.item_id = long.clone();
        record.expected = long.as_str().into();
        record.finish_reason = Some(long);
        let sample = Sample::of(&record, 0, Outcome::Failed, [0; 3]);
        assert!(sample.bytes() < 40 << 10, "{}", sample.bytes());
        assert_eq!((sample.messages.len(), sample.messages_left_out, sample.scores_left_out), (12, 29, 38));
        assert_eq!(sample.messages[11].1.head, "the question");
    }

    #[test]
    fn an_answer_without_a_verdict_is_unscored_and_an_error_never_passes() {
        assert_eq!(Outcome::of(Status::Success, None), Outcome::Unscored);
        assert_eq!(Outcome::of(Status::Error, None), Outcome::Errored);
        assert_eq!(Outcome::of(Status::Timeout, Some(true)), Outcome::Errored);
        assert_eq!(Outcome::of(Status::Success, Some(false)), Outcome::Failed);
    }
}
