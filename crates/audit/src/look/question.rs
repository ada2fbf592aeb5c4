//! The question where it stands in a text: as a question, or as words that any page about it shares.
//!
//! A page that answers "Who was the first woman to win a Nobel Prize in Physics?" says that somebody *was the first woman
//! to win a Nobel Prize in Physics*. How much of a question a text holds therefore says little; whether the text *asks*
//! does.

use std::ops::Range;

use proofmark_artefact::scan::{Plain, undo};
use proofmark_artefact::trajectory::{Form, Hit};

use super::echo::is_echo;

/// A question, and where in it something is asked.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// Its length as it is written.
    length: usize,
    /// Its letters and digits, folded, with nothing between them: scripts without spaces are compared as others are.
    letters: Vec<u8>,
    words: usize,
    /// The sentences that ask. Empty when nothing tells one from a statement.
    asks: Vec<Ask>,
    /// Whether it tells somebody to do something instead: `Name the member who …`.
    is_order: bool,
    /// The ends of its sentences, in letters.
    ends: Vec<usize>,
    /// What it quotes, folded: pages that hold the same quotation are no copies of the question.
    quoted: Vec<String>,
}

/// A sentence that asks; places are counted in letters of the question.
#[derive(Debug, Clone)]
struct Ask {
    start: usize,
    end: usize,
    /// Where the word stands that asks; the start where there is none.
    word: usize,
    /// How far a text must follow the sentence to have asked what it asks.
    needed: usize,
    /// Whether it ends with a question mark.
    is_marked: bool,
    /// Whether it begins with a word that begins relative clauses too: `…, who was the first …`.
    is_relative: bool,
    /// Whether it begins with a capital.
    is_capital: bool,
}

/// What a text holds of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub range: Range<usize>,
    pub standing: Standing,
}

/// How it stands there, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Words of it, as a statement shares them.
    Phrase,
    /// What somebody searched for: a tool that repeats its query.
    Echo,
    /// Some sentences of a long one, without what they ask.
    Part,
    /// It asks what the question asks.
    Question,
}

/// So much of a question is more than a phrase that happens to be the same.
const LONG: usize = 160;
/// How far around a find the text may go on with the question.
const MARGIN: usize = 512;
/// Letters by which a find is looked up in the question.
const LEAD: usize = 24;

impl Question {
    pub(super) fn new(question: &str) -> Self {
        let plain = Plain::words(question);
        let letters = Letters::of(&plain);
        let at = |offset: usize| letters.offsets.partition_point(|start| *start < offset);
        let mut ends: Vec<(usize, bool)> = Vec::new();
        for (offset, is_marked) in sentence_ends(question) {
            match ends.last_mut() {
                Some(last) if last.0 == at(offset) => last.1 |= is_marked,
                _ if at(offset) == 0 => {}
                _ => ends.push((at(offset), is_marked)),
            }
        }
        if ends.last().is_none_or(|last| last.0 < letters.bytes.len()) {
            ends.push((letters.bytes.len(), false));
        }
        let words = words_of(&plain);
        let has_mark = ends.iter().any(|(_, is_marked)| *is_marked);
        let starts = [0].into_iter().chain(ends.iter().map(|(end, _)| *end));
        let sentences = starts.zip(&ends).filter(|(start, (end, _))| start < end);
        let asks = sentences
            .filter_map(|(start, &(end, is_marked))| {
                if has_mark && !is_marked {
                    return None;
                }
                let word = |place: usize| words.partition_point(|(at, _)| *at < place);
                let words = &words[word(start)..word(end)];
                let first = words.first()?.1;
                let asking = asking_word(words);
                // Without any mark only a sentence that begins by asking is known to ask.
                if !has_mark && asking != Some(0) {
                    return None;
                }
                let needed = asking.and_then(|word| words.get(word + 4)).map_or(end, |(at, _)| *at);
                let is_capital = question[letters.offsets[start]..].starts_with(char::is_uppercase);
                let word = asking.map_or(start, |word| words[word].0);
                let is_relative = RELATIVE.contains(&first);
                Some(Ask { start, end, word, needed, is_marked, is_relative, is_capital })
            })
            .collect();
        Self {
            length: question.len(),
            is_order: words.first().is_some_and(|(_, word)| ORDERS.contains(word)),
            words: words.len(),
            letters: letters.bytes,
            asks,
            ends: ends.into_iter().map(|(end, _)| end).collect(),
            quoted: quoted(question),
        }
    }

    /// Whether it is long enough to be looked for in texts.
    pub(super) fn is_own(&self) -> bool {
        self.letters.len() >= 12 && self.words >= 3
    }

    /// Whether so many bytes of the question are more than some words of it.
    pub(super) fn is_enough(&self, length: usize) -> bool {
        length * 5 >= self.length * 2 || length >= LONG
    }

    /// What a find of the question's words is; `None` when they are too few, or quoted by the question.
    pub(super) fn judge(&self, text: &str, place: &Range<usize>) -> Option<Asked> {
        if !self.is_enough(place.len()) {
            return None;
        }
        if !self.quoted.is_empty() {
            let words = Plain::words(&text[place.clone()]);
            if self.quoted.iter().any(|quoted| quoted.contains(words.text())) {
                return None;
            }
        }
        let Some(run) = Run::find(self, text, place) else {
            return Some(Asked { range: place.clone(), standing: Standing::Phrase });
        };
        let standing = match self.standing(&run, place) {
            Standing::Phrase => Standing::Phrase,
            _ if is_echo(text, &run.place()) => Standing::Echo,
            standing => standing,
        };
        let (start, end) = (run.place().start.min(place.start), run.place().end.max(place.end));
        Some(Asked { range: start..end, standing })
    }

    /// The same of a find in a text that is not there: only as much as its length and form can prove.
    pub(super) fn is_whole(&self, hit: &Hit) -> bool {
        let length = usize::try_from(hit.length).unwrap_or(usize::MAX);
        // Tags and escapes make a phrase as long as a question.
        let is_plain = matches!(hit.form, Form::Verbatim | Form::Folded);
        // `…, who was the first …` is as long as `Who was the first …?`, but not byte for byte.
        let is_clause = self.asks.iter().any(|ask| ask.is_relative) && self.ends.len() == 1 && self.words < 16;
        is_plain
            && length + 4 >= self.length * 19 / 20
            && (self.is_order || !self.asks.is_empty())
            && (!is_clause || hit.form == Form::Verbatim && self.asks.iter().any(|ask| ask.is_capital))
    }

    fn standing(&self, run: &Run<'_>, place: &Range<usize>) -> Standing {
        let (from, to) = (run.from, run.to());
        if self.asks.iter().any(|ask| run.asks(ask)) {
            return Standing::Question;
        }
        let is_all = from == 0 && to == self.letters.len();
        let sign = if self.is_order { EndSign::Any } else { EndSign::Strong };
        if is_all && self.asks.is_empty() && run.starts_apart(0) && run.ends_apart(sign) {
            return Standing::Question;
        }
        let is_long = from == 0 && place.len() >= LONG && self.ends.iter().any(|end| *end < to);
        if is_long && run.starts_apart(0) { Standing::Part } else { Standing::Phrase }
    }
}

/// The letters of a folded text, each with the place of its character.
struct Letters {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Letters {
    fn of(plain: &Plain) -> Self {
        let places = || plain.text().bytes().enumerate().filter(|(_, byte)| *byte != b' ');
        Self {
            bytes: places().map(|(_, byte)| byte).collect(),
            offsets: places().map(|(at, _)| plain.offset(at)).collect(),
        }
    }
}

/// The words of a folded text, each with the number of letters before it.
fn words_of(plain: &Plain) -> Vec<(usize, &str)> {
    let mut at = 0;
    let place = |word| {
        let start = at;
        at += str::len(word);
        (start, word)
    };
    plain.text().split(' ').filter(|word| !word.is_empty()).map(place).collect()
}

/// Letters of a text that are those of the question in their order.
struct Run<'a> {
    text: &'a str,
    /// The first of them in the question.
    from: usize,
    length: usize,
    /// Letters of the text from the first one on, and their places in the text.
    offsets: Vec<usize>,
    /// Where the letters of the text end: with it, or where nobody looked farther.
    limit: usize,
}

impl<'a> Run<'a> {
    /// Follows the question from the beginning of a find as far as the text does, and back.
    fn find(question: &Question, text: &'a str, place: &Range<usize>) -> Option<Self> {
        let limit = text.ceil_char_boundary((place.end + MARGIN).min(text.len()));
        let ahead = Letters::of(&Plain::words(&text[place.start..limit]));
        let lead = &ahead.bytes[..ahead.bytes.len().min(LEAD)];
        if lead.is_empty() {
            return None;
        }
        let same = |from: usize| question.letters[from..].iter().zip(&ahead.bytes).take_while(|(a, b)| a == b).count();
        let places = question.letters.windows(lead.len()).enumerate().filter(|(_, part)| *part == lead);
        let (length, from) = places.map(|(from, _)| from).take(8).map(|from| (same(from), from)).max()?;
        let start = text.floor_char_boundary(place.start.saturating_sub(MARGIN / 2));
        let behind = Letters::of(&Plain::words(&text[start..place.start]));
        let back =
            question.letters[..from].iter().rev().zip(behind.bytes.iter().rev()).take_while(|(a, b)| a == b).count();
        let behind = behind.offsets[behind.offsets.len() - back..].iter().map(|offset| start + offset);
        let offsets = behind.chain(ahead.offsets.iter().map(|offset| place.start + offset)).collect();
        Some(Self { text, from: from - back, length: back + length, offsets, limit })
    }

    fn to(&self) -> usize {
        self.from + self.length
    }

    fn place(&self) -> Range<usize> {
        let last = self.offsets[self.length - 1];
        self.offsets[0]..last + self.text[last..].chars().next().map_or(0, char::len_utf8)
    }

    /// Whether it asks what a sentence of the question asks.
    ///
    /// It does when it follows the sentence from the word that asks to a question mark where the question has one. A
    /// sentence without its mark must begin where it begins in the question and end where a text or a field of one ends:
    /// in the midst of a sentence its words are those of a relative clause, and with other words behind them those of
    /// another question.
    fn asks(&self, ask: &Ask) -> bool {
        let length = ask.end - ask.start;
        let held = self.to().min(ask.end).saturating_sub(self.from.max(ask.start));
        let is_lower = || self.text[self.offsets[ask.start - self.from]..].starts_with(char::is_lowercase);
        let is_clause = || ask.is_relative && is_lower() && !self.starts_apart(ask.start);
        if ask.is_marked
            && self.from <= ask.word
            && self.to() >= ask.end
            && held * 5 >= length * 3
            && self.has_mark(ask.end)
        {
            return self.from > ask.start || !is_clause();
        }
        let sign = if self.to() >= ask.end { EndSign::Any } else { EndSign::Strong };
        self.from <= ask.start
            && self.to() >= ask.needed
            && held * 2 >= length
            && !(ask.is_capital && is_lower())
            && self.starts_apart(ask.start)
            && (self.to() > ask.end || self.ends_apart(sign))
    }

    /// What stands between a letter of the question and the next one.
    fn gap(&self, at: usize) -> String {
        let at = at - self.from;
        let start = self.offsets[at - 1];
        let end = self.offsets.get(at).copied().unwrap_or(self.limit);
        let end = self.text.floor_char_boundary(end.min(start + 256));
        let gap = undo(&self.text[start..end]);
        // The first one is the letter itself.
        without_inline(&gap.chars().skip(1).collect::<String>())
    }

    fn has_mark(&self, at: usize) -> bool {
        self.gap(at).contains(MARKS)
    }

    /// Whether the text begins something new at a letter of the question.
    fn starts_apart(&self, at: usize) -> bool {
        let end = self.offsets[at - self.from];
        let start = self.text.ceil_char_boundary(end.saturating_sub(256));
        let before = without_inline(&undo(&self.text[start..end]));
        let closed = before.trim_end_matches(' ');
        // A bullet, a number or a heading stands before what begins with its line.
        let line = before.trim_end_matches([' ', '-', '*', '#', '•', '_']);
        let line = line.trim_end_matches(|sign: char| sign.is_ascii_digit());
        match closed.chars().next_back() {
            None => start == 0 || closed.len() < before.len(),
            Some(',' | ';' | '\'') => closed.len() == before.len(),
            Some(sign) if sign.is_whitespace() || MARKS.contains(&sign) => true,
            Some('.' | '!' | ':' | '"' | '“' | '„' | '«' | '「' | '>' | '|' | '[' | '{' | '=' | '。') => true,
            Some(_) => line.is_empty() && start == 0 || line.ends_with(['\n', '\r']),
        }
    }

    /// Whether the text ends something behind the last letter.
    fn ends_apart(&self, sign: EndSign) -> bool {
        if self.offsets.len() == self.length && self.limit == self.text.len() {
            return true;
        }
        let gap = self.gap(self.to());
        let is_end =
            |sign: char| matches!(sign, '\n' | '\r' | '\t' | '"' | '“' | '”' | '»' | '|' | '<' | '…' | ']' | '}');
        gap.contains(is_end)
            || gap.contains(MARKS)
            || ["..", "',", "')"].iter().any(|sign| gap.contains(sign))
            || sign == EndSign::Any && gap.contains(['.', '!', ':', ',', ';', '=', ')', '。'])
    }
}

/// A text without tags that part nothing: links and marked words.
fn without_inline(text: &str) -> String {
    const INLINE: [&str; 12] = ["a", "b", "i", "u", "em", "strong", "span", "mark", "font", "cite", "sup", "q"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let name = after.trim_start_matches('/').split(|sign: char| !sign.is_ascii_alphanumeric()).next();
        let is_inline = name.is_some_and(|name| INLINE.contains(&name.to_ascii_lowercase().as_str()));
        rest = match after.split_once('>') {
            Some((_, after)) if is_inline => after,
            _ => {
                out.push('<');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// What must stand behind the words of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndSign {
    /// The end of a text, a line or a field, or dots where something was left out.
    Strong,
    /// Any sign that a sentence may end or be parted with.
    Any,
}

const MARKS: [char; 4] = ['?', '？', '؟', '⁇'];

/// Where sentences end, and whether they do so with a question mark.
fn sentence_ends(text: &str) -> Vec<(usize, bool)> {
    let mut ends = Vec::new();
    let mut word = 0;
    for (at, sign) in text.char_indices() {
        if sign.is_alphanumeric() {
            word += 1;
            continue;
        }
        let mut next = text[at + sign.len_utf8()..].chars();
        let is_end = match sign {
            '!' | '。' | '！' | '\n' => true,
            // Not behind an abbreviation or an initial.
            '.' => {
                word >= 4
                    && next.next().is_none_or(char::is_whitespace)
                    && next.next().is_none_or(|c| !c.is_lowercase())
            }
            sign => MARKS.contains(&sign),
        };
        if is_end {
            ends.push((at, MARKS.contains(&sign)));
        }
        word = 0;
    }
    ends
}

/// The word of a sentence that asks, as far as that can be told; `None` when it asks by its order.
///
/// `what` and `how` ask wherever they stand. Others ask at the beginning; elsewhere they may begin a relative clause, so
/// that the last one is taken, which a statement about the same thing has least.
fn asking_word(words: &[(usize, &str)]) -> Option<usize> {
    let is = |list: &[&str], word: &(usize, &str)| list.contains(&word.1);
    if words.first().is_some_and(|word| is(ASKING, word) || is(RELATIVE, word)) {
        return Some(0);
    }
    words.iter().position(|word| is(ASKING, word)).or_else(|| words.iter().rposition(|word| is(RELATIVE, word)))
}

const ASKING: &[&str] = &[
    "what",
    "how",
    "whats",
    "wie",
    "wieviel",
    "wieviele",
    "combien",
    "cuanto",
    "cuantos",
    "cuantas",
    "cual",
    "quanto",
    "quanti",
    "quale",
    "сколько",
    "какой",
    "какая",
    "какое",
];

const RELATIVE: &[&str] = &[
    "who",
    "whom",
    "whose",
    "which",
    "when",
    "where",
    "why",
    "wer",
    "wem",
    "wen",
    "wessen",
    "welche",
    "welcher",
    "welches",
    "wann",
    "wo",
    "warum",
    "qui",
    "quel",
    "quelle",
    "quand",
    "quien",
    "donde",
    "cuando",
    "chi",
    "quando",
    "кто",
    "где",
    "когда",
];

/// Words that orders begin with, and statements do not.
const ORDERS: &[&str] = &[
    "tell",
    "give",
    "name",
    "find",
    "list",
    "compute",
    "calculate",
    "determine",
    "identify",
    "write",
    "provide",
    "state",
    "describe",
    "explain",
    "please",
    "convert",
    "translate",
];

/// What a question quotes, folded.
fn quoted(question: &str) -> Vec<String> {
    let mut quoted = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('«', '»'), ('‘', '’'), ('「', '」'), ('„', '“')] {
        let mut rest = question;
        while let Some((_, after)) = rest.split_once(open)
            && let Some((inner, after)) = after.split_once(close)
            && quoted.len() < 64
        {
            quoted.push(Plain::words(inner).text().to_owned());
            rest = after;
        }
    }
    quoted.retain(|text| text.len() >= 8);
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURIE: &str = "Who was the first woman to win a Nobel Prize in Physics?";
    const LONG_ONE: &str = "A glider was built in Harrow in the winter of 1930 by five members of a club. It had a wooden tail that broke in \
        May. Two of the members were brothers, and one was a tuner of pianos by trade. Of those who flew it before it broke, \
        what is the name of the youngest? Give the first name only.";

    fn standing(question: &str, text: &str, words: &str) -> Option<Standing> {
        let at = text.find(words).unwrap();
        Question::new(question).judge(text, &(at..at + words.len())).map(|asked| asked.standing)
    }

    #[test]
    fn a_statement_shares_a_phrase_and_does_not_ask() {
        let words = "the first woman to win a Nobel Prize in Physics";
        for (text, want) in [
            (format!("Marie Curie was {words}, in 1903."), Standing::Phrase),
            (format!("Marie Curie, who was {words}, was born in Warsaw."), Standing::Phrase),
            (format!("Marie Curie (who was {words}) was born in Warsaw."), Standing::Phrase),
            (format!("It was she who was {words}."), Standing::Phrase),
            (format!("Can you say in what year {words}? It was in 1903."), Standing::Phrase),
            (format!("Was Lise Meitner {words}?"), Standing::Phrase),
            (format!("Did you know that it was Marie Curie who was {words}?"), Standing::Phrase),
            (format!("Who was {words}?"), Standing::Question),
            (format!("who was {words}? marie curie"), Standing::Question),
            (format!("WHO WAS {words}"), Standing::Question),
            (format!("7,Who was {words},Marie Curie"), Standing::Question),
            (format!("\"Who was {words}\": \"Marie Curie\""), Standing::Question),
            (format!("- Who was {words}\n- Marie Curie"), Standing::Question),
            (format!("Who%20was {words}%3F"), Standing::Question),
            (format!("You asked: Who was {words}? 1. Marie Curie"), Standing::Echo),
        ] {
            assert_eq!(standing(CURIE, &text, words), Some(want), "{text}");
        }
    }

    #[test]
    fn another_question_with_the_same_beginning_is_another_question() {
        let words = "Who was the first woman to win a Nobel Prize in";
        for (rest, want) in [
            (" Chemistry? Marie Curie", Standing::Phrase),
            (" Literature, and when? Selma Lagerlöf", Standing::Phrase),
            ("… Marie Curie", Standing::Question),
            (" Phy...", Standing::Question),
            ("\nMarie Curie", Standing::Question),
        ] {
            assert_eq!(standing(CURIE, &format!("{words}{rest}"), words), Some(want), "{rest}");
        }
    }

    #[test]
    fn of_a_long_question_the_sentence_that_asks_is_enough_and_the_others_are_a_part() {
        let half = &LONG_ONE[..180];
        let asking = &LONG_ONE[LONG_ONE.find("Of those").unwrap()..];
        for (text, words, want) in [
            (format!("{LONG_ONE} Edith"), LONG_ONE, Some(Standing::Question)),
            (format!("{half} …"), half, Some(Standing::Part)),
            (format!("As we know, {half} …"), half, Some(Standing::Phrase)),
            (format!("x. {asking}"), asking, None),
        ] {
            assert_eq!(standing(LONG_ONE, &text, words), want, "{text}");
        }
    }

    #[test]
    fn a_question_without_a_mark_must_stand_by_itself() {
        for (question, text, want) in [
            ("The capital city of France is", "The capital city of France is Paris.", Standing::Phrase),
            (
                "The capital city of France is",
                "{\"q1\": \"The capital city of France is\", \"a\": \"Paris\"}",
                Standing::Question,
            ),
            ("who played barney on the old show", "Don, who played barney on the old show, was", Standing::Phrase),
            (
                "who played barney on the old show",
                "Don, <a href=\"/x\">who played barney on the old show</a>, was",
                Standing::Phrase,
            ),
            ("who played barney on the old show", "who played barney on the old show\tDon", Standing::Question),
            (
                "谁是第一个获得诺贝尔物理学奖的女性？",
                "谁是第一个获得诺贝尔物理学奖的女性？居里夫人",
                Standing::Question,
            ),
        ] {
            let words = question.trim_end_matches('？');
            assert_eq!(standing(question, text, words), Some(want), "{text}");
        }
    }
}
