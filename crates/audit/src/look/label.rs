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
    /// `expected_output`: a field of a benchmark's file, and of other programs' files too.
    Field,
    /// `answer key`, `ground truth`, `expected_output`: what a benchmark's file says.
    Key,
}

/// How far before an answer its label is looked for.
pub(super) const REACH: usize = 96;

/// Reads the label at the end of the text that stands before an answer.
pub(super) fn label(before: &str) -> Option<Label> {
    let before = without_command(before);
    let from = before.ceil_char_boundary(before.len().saturating_sub(REACH));
    let before = &before[from..];
    let plain = Plain::words(before);
    let mut words = plain.text();
    while let Some(rest) = FILLERS.iter().find_map(|filler| strip_word(words, filler)) {
        words = rest;
    }
    // Folding changes letters of other scripts too, so labels are folded as texts are.
    static TABLE: OnceLock<Vec<(Label, Needs, String)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let labels = [
            (Label::Key, Needs::Nothing, KEY),
            (Label::Key, Needs::Sign, KEY_IN_PROSE),
            (Label::Field, Needs::Name, FIELD),
            (Label::ShortKey, Needs::Nothing, SHORT_KEY),
            (Label::Told, Needs::Nothing, TOLD),
            (Label::Answer, Needs::Nothing, ANSWER),
        ];
        let each = |(label, needs, texts): (Label, Needs, &[&str])| -> Vec<(Label, Needs, String)> {
            texts.iter().map(|text| (label, needs, Plain::words(text).text().to_owned())).collect()
        };
        labels.into_iter().flat_map(each).collect()
    });
    let fits = |(_, needs, text): &&(Label, Needs, String)| {
        if strip_word(words, text).is_none() {
            return false;
        }
        let last = plain.offset(words.len().saturating_sub(1));
        let end = last + before[last..].chars().next().map_or(0, char::len_utf8);
        let written = &before[plain.offset(words.len() - text.len()).min(end)..end];
        let is_said = || words.len() < plain.text().trim_end().len() || before[end..].contains(|sign| sign != ' ');
        // A sentence that ends within a label is no label.
        ![". ", "! ", "? ", ".\n"].iter().any(|end| written.contains(end))
            && match needs {
                Needs::Nothing => true,
                Needs::Sign => is_said(),
                Needs::Name => !written.contains(' '),
            }
    };
    table.iter().find(fits).map(|(label, _, _)| *label)
}

/// What a label needs beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A sign or a verb behind it: `ground truth: Paris`. Without, its words are words of a sentence.
    Sign,
    /// To be written as the name of a field: `expected_output`.
    Name,
}

/// A text without the commands of LaTeX and the functions at its end, which say how something looks or is put together:
/// `\boxed{`, `String.fromCharCode(`, `''.join(['`.
fn without_command(text: &str) -> &str {
    let mut text = text;
    for _ in 0..4 {
        let bare = text.trim_end_matches(['{', '$', '(', '[', ' ', '~', '\'', '"']);
        let signs = &text[bare.len()..];
        let name = bare.trim_end_matches(|sign: char| sign.is_ascii_alphanumeric() || "._'\"".contains(sign));
        let is_named = name.len() < bare.len();
        match name.strip_suffix('\\') {
            Some(rest) if is_named && !signs.is_empty() => text = rest.trim_end_matches('\\'),
            None if is_named && signs.starts_with('(') && name.ends_with([' ', '=']) => text = name,
            _ => break,
        }
    }
    text
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
    "gold standard answer",
    "ground truth answer",
    "expected final answer",
    "benchmark answer",
    "oracle answer",
    "musterlösung",
];

/// The same in words that sentences about other things have too.
const KEY_IN_PROSE: &[&str] =
    &["gold label", "ground truth", "groundtruth", "expected answer", "reference answer", "annotated answer"];

/// Tutorials show an `expected output`, so that only the name of a field counts, and not by itself.
const FIELD: &[&str] = &["expected output", "expectedoutput"];

const SHORT_KEY: &[&str] = &["key", "keys", "gold", "golds", "oracle"];

const TOLD: &[&str] = &[
    "hint",
    "tip",
    "spoiler",
    "correct answer",
    "right answer",
    "true answer",
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
    "expected output",
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
            ("\"expected_output\": \"", Some(Label::Field)),
            ("expectedOutput=", Some(Label::Field)),
            ("Expected output: ", Some(Label::Answer)),
            ("ground truth: ", Some(Label::Key)),
            ("The ground truth is ", Some(Label::Key)),
            ("| ground truth | ", Some(Label::Key)),
            ("Ground truth ", None),
            ("See the reference. Answer: ", Some(Label::Answer)),
            (r"answer key: $\boxed{\text{", Some(Label::Key)),
            (r"The answer is \(", Some(Label::Answer)),
            ("answer key: ''.join(['", Some(Label::Key)),
            ("answer key = String.fromCharCode(", Some(Label::Key)),
            ("the answer key for (", None),
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
