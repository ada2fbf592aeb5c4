//! What calls itself an answer: the words right before one.

use std::sync::OnceLock;

use proofmark_artefact::scan::Plain;

/// What the words before an answer say that it is, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// `answer`, `result`: what anyone writes, an agent's own programs included.
    Answer,
    /// `correct answer`, `hint`: what somebody writes who knows.
    Told,
    /// `key`, `gold`: what a benchmark's file says in short, and other files of other things.
    ShortKey,
    /// `answer key`, `ground truth`, `expected_output`: what a benchmark's file says.
    Key,
}

/// How far before an answer its label is looked for.
pub(super) const REACH: usize = 96;

/// Reads the label at the end of the text that stands before an answer.
pub(super) fn label(before: &str) -> Option<Label> {
    let from = before.ceil_char_boundary(before.len().saturating_sub(REACH));
    let plain = Plain::words(&before[from..]);
    let mut words = plain.text();
    while let Some(rest) = FILLERS.iter().find_map(|filler| strip_word(words, filler)) {
        words = rest;
    }
    // Folding changes letters of other scripts too, so labels are folded as texts are.
    static TABLE: OnceLock<Vec<(Label, String)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let labels = [(Label::Key, KEY), (Label::ShortKey, SHORT_KEY), (Label::Told, TOLD), (Label::Answer, ANSWER)];
        let each = |(label, texts): (Label, &[&str])| -> Vec<(Label, String)> {
            texts.iter().map(|text| (label, Plain::words(text).text().to_owned())).collect()
        };
        labels.into_iter().flat_map(each).collect()
    });
    table.iter().find(|(_, text)| strip_word(words, text).is_some()).map(|(label, _)| *label)
}

/// What is left of words that end with others.
fn strip_word<'a>(words: &'a str, last: &str) -> Option<&'a str> {
    let rest = words.strip_suffix(last)?;
    // Scripts without spaces write the label right behind what comes before it.
    let is_apart = rest.is_empty() || rest.ends_with(' ') || !last.is_ascii();
    is_apart.then(|| rest.trim_end())
}

/// Words between a label and what it names.
const FILLERS: &[&str] = &[
    "is", "was", "are", "be", "the", "a", "an", "value", "text", "string", "simply", "just", "exactly", "ist",
    "lautet", "est", "es", "letter", "option", "choice",
];

/// Labels in one spelling: folding makes `answer_key`, `Answer-Key` and `ANSWER KEY` one.
const KEY: &[&str] = &[
    "answer key",
    "answers key",
    "answerkey",
    "solution key",
    "gold answer",
    "gold answers",
    "golden answer",
    "gold label",
    "gold standard answer",
    "ground truth",
    "ground truth answer",
    "groundtruth",
    "expected output",
    "expected answer",
    "expected final answer",
    "reference answer",
    "annotated answer",
    "benchmark answer",
    "oracle answer",
    "true answer",
    "musterlösung",
];

const SHORT_KEY: &[&str] = &["key", "keys", "gold", "golds", "oracle"];

const TOLD: &[&str] = &[
    "hint",
    "tip",
    "spoiler",
    "correct answer",
    "right answer",
    "correct option",
    "correct choice",
    "correct response",
    "correct solution",
    "target",
    "expected",
    "richtige antwort",
    "bonne réponse",
    "respuesta correcta",
    "正确答案",
    "参考答案",
    "标准答案",
    "正解",
    "правильный ответ",
];

const ANSWER: &[&str] = &[
    "solution",
    "lösung",
    "answer",
    "answers",
    "ans",
    "final answer",
    "result",
    "response",
    "reply",
    "output",
    "antwort",
    "réponse",
    "respuesta",
    "risposta",
    "resposta",
    "答案",
    "答え",
    "回答",
    "ответ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_however_they_are_written() {
        for (before, want) in [
            ("answer key: ", Some(Label::Key)),
            ("\"answer_key\": \"", Some(Label::Key)),
            ("The ANSWER-KEY is ", Some(Label::Key)),
            ("ground_truth=", Some(Label::Key)),
            ("<b>Gold</b> answer: ", Some(Label::Key)),
            ("gоld answer — ", Some(Label::Key)),
            ("key: ", Some(Label::ShortKey)),
            ("hint ", Some(Label::Told)),
            ("The correct answer is: **", Some(Label::Told)),
            ("正确答案是：", None),
            ("正确答案：", Some(Label::Told)),
            ("Правильный ответ: ", Some(Label::Told)),
            ("\"Final answer\": \"", Some(Label::Answer)),
            ("Answer: ", Some(Label::Answer)),
            ("Réponse : ", Some(Label::Answer)),
            ("monkey: ", None),
            ("the answer lies in ", None),
            ("", None),
            ("capital of France is ", None),
        ] {
            assert_eq!(label(before), want, "{before}");
        }
    }
}
