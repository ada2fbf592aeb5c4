//! What the prompts of a task have in common: the words of whoever wrote the template, not of the item.
//!
//! A run's records hold prompts as they were sent. What stands before and behind the item is the same in all of them, so that
//! it can be told apart without the dataset. What stands between two fields of an item cannot.

use std::collections::BTreeMap;

use proofmark_artefact::scan::Plain;

use crate::sample::Sample;

/// How much of the end of a prompt is kept.
const TAIL: usize = 4096;

/// Prompts of a run while they are read, by task and condition.
#[derive(Debug, Default)]
pub(super) struct Prompts(BTreeMap<(usize, usize), Common>);

/// What all prompts so far begin and end with.
#[derive(Debug)]
struct Common {
    head: String,
    tail: String,
    /// Whether two prompts were different.
    is_varied: bool,
}

/// The words before and behind the item in all prompts of a task.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) texts: [String; 2],
    /// Both, folded.
    plain: Plain,
}

/// The end of a prompt, as far as frames need it.
pub(super) fn tail(prompt: &str) -> &str {
    &prompt[prompt.ceil_char_boundary(prompt.len().saturating_sub(TAIL))..]
}

impl Prompts {
    /// Takes the beginning and the end of one prompt.
    pub(super) fn take(&mut self, task: usize, condition: usize, head: &str, tail: &str) {
        let common = self.0.entry((task, condition)).or_insert_with(|| Common {
            head: head.to_owned(),
            tail: tail.to_owned(),
            is_varied: false,
        });
        let prefix = alike(common.head.chars(), head.chars());
        let suffix = alike(common.tail.chars().rev(), tail.chars().rev());
        common.is_varied |= prefix < head.len() || suffix < tail.len();
        common.head.truncate(prefix);
        common.tail.drain(..common.tail.len() - suffix);
    }

    /// The frames, cut at the ends of words. There is none where all prompts are one.
    pub(super) fn frames(self) -> BTreeMap<(usize, usize), Frame> {
        let frame = |common: Common| {
            let before = common.head.rfind(char::is_whitespace).map_or("", |at| &common.head[..at]);
            let behind = common.tail.find(char::is_whitespace).map_or("", |at| &common.tail[at..]);
            Frame {
                plain: Plain::joined(&format!("{before}\n{behind}")),
                texts: [before.to_owned(), behind.to_owned()],
            }
        };
        let varied = self.0.into_iter().filter(|(_, common)| common.is_varied);
        varied.map(|(place, common)| (place, frame(common))).collect()
    }
}

impl Frame {
    /// The sample with the question that is its item's own, if its gold answer may stand in the frame.
    pub(super) fn told_apart(&self, sample: &Sample) -> Option<Sample> {
        let is_there = |gold: &String| {
            let gold = Plain::joined(gold);
            !gold.text().is_empty() && self.plain.text().contains(gold.text())
        };
        if !sample.golds().iter().any(is_there) {
            return None;
        }
        let [before, behind] = &self.texts;
        let rest = sample.question.strip_prefix(before.as_str()).unwrap_or(&sample.question);
        let rest = rest.strip_suffix(behind.as_str()).unwrap_or(rest);
        Some(Sample { question: rest.to_owned(), ..sample.clone() })
    }
}

/// How many bytes two texts have in common from where they begin.
fn alike(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(prompts: &[&str]) -> Option<[String; 2]> {
        let mut all = Prompts::default();
        for prompt in prompts {
            all.take(0, 0, prompt, tail(prompt));
        }
        all.frames().remove(&(0, 0)).map(|frame| frame.texts)
    }

    #[test]
    fn what_all_prompts_begin_and_end_with_is_the_frame() {
        let texts = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
        let framed = ["Hint: Rome. What is 1?\nBe short.", "Hint: Rome. Who is it?\nBe short."];
        assert_eq!(frame(&framed), texts("Hint: Rome.", "\nBe short."));
        assert_eq!(frame(&["the same", "the same"]), None);
        assert_eq!(frame(&["one"]), None);
        assert_eq!(frame(&["a b", "c d", "é f"]), texts("", ""));
        assert_eq!(frame(&["x aa", "x aaa"]), texts("x", ""));
    }
}
