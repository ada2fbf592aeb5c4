//! Which option an answer states.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::text::{fold_space, lower};

/// What an answer says about a list of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// The option of this index, which may lie beyond the last one.
    Option(usize),
    /// More than one, and no statement which of them counts.
    Several,
    Nothing,
}

/// Reads which option an answer names. `options` is empty where they are not known.
///
/// In this order:
/// 1. The whole answer is a letter (`B`, `(b)`, `**B.**`, `\boxed{B}`, `Option B`) or the text of an option.
/// 2. The last explicit statement: `answer: B`, `the correct option is (B)`, `I choose B`, `B is correct`, `\boxed{B}`, the
///    same with an option's text, a line that is nothing but one letter, or a first line such as `B. London` when no
///    other line starts like that. `the answer is A or B` states several.
/// 3. Without a statement, the letters that stand alone: one is the choice, different ones are [`Stated::Several`].
///    `A` and `I` count here only in brackets, emphasis or before a mark, never as words of a sentence.
pub(super) fn read(text: &str, options: &[Cow<'_, str>]) -> Stated {
    if let Some(at) = options.iter().position(|option| option.trim() == text.trim()).filter(|_| !text.trim().is_empty())
    {
        return Stated::Option(at);
    }
    if let Some(letter) = bare_letter(text) {
        return Stated::Option(by_letter(letter, options));
    }
    if let Some(stated) = whole_text(text, options) {
        return stated;
    }
    explicit(text, options).unwrap_or_else(|| lone_letters(text, options))
}

/// The index of a text that is one letter.
pub(super) fn letter_index(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    }
}

/// The option that a letter names: one whose text it is, such as `x` among `x`, `y` and `z`, or the one it counts to.
fn by_letter(letter: usize, options: &[Cow<'_, str>]) -> usize {
    options.iter().position(|option| letter_index(option.trim()) == Some(letter)).unwrap_or(letter)
}

/// Reads a text that is nothing but a letter and its wrapping.
fn bare_letter(text: &str) -> Option<usize> {
    let mut text = text;
    for _ in 0..MAX_WRAPS {
        text = text.trim_matches(|char: char| char.is_whitespace() || WRAPS.contains(char));
        if let Some(letter) = letter_index(text) {
            return Some(letter);
        }
        let lead = BARE_LEADS.iter().find(|lead| starts_with_ignoring_case(text, lead))?;
        text = &text[lead.len()..];
        // `Optional` is a word; `Option B` and `\boxed{B}` go on with something else.
        if text.starts_with(char::is_alphanumeric) {
            return None;
        }
    }
    None
}

/// Reads an answer that is the text of an option, give or take case, white space and wrapping.
fn whole_text(text: &str, options: &[Cow<'_, str>]) -> Option<Stated> {
    // Far longer than any option: it cannot be one, and need not be copied.
    if text.len() > MAX_OPTION || options.is_empty() || text.trim().is_empty() {
        return None;
    }
    let folded: Vec<String> = options.iter().map(|option| lower(&fold_space(option)).into_owned()).collect();
    let found = lower(&fold_space(text)).into_owned();
    only(options, |at| folded[at] == found).or_else(|| {
        let found = without_edges(&found);
        only(options, |at| !found.is_empty() && without_edges(&folded[at]) == found)
    })
}

/// The option that a test accepts. Where it accepts two of different texts (`Tt` and `TT`), neither is named.
fn only(options: &[Cow<'_, str>], test: impl Fn(usize) -> bool) -> Option<Stated> {
    let first = (0..options.len()).find(|at| test(*at))?;
    let differs = |at: &usize| test(*at) && options[*at] != options[first];
    Some(if (first..options.len()).any(|at| differs(&at)) { Stated::Several } else { Stated::Option(first) })
}

/// Strips quotes, emphasis and a final full stop; never a sign, which may be the option's own.
fn without_edges(text: &str) -> &str {
    let text = text.trim_matches(EDGES);
    text.strip_suffix('.').unwrap_or(text).trim_matches(EDGES)
}

/// The last explicit statement.
fn explicit(text: &str, options: &[Cow<'_, str>]) -> Option<Stated> {
    // Each kind gives its last statement; the one that stands last of all counts.
    let lead = last_named(LEAD.captures_iter(text).filter(|found| found.get(1).is_none()), text, options);
    let boxed = last_named(BOXED.captures_iter(text), text, options);
    let trail = TRAIL.captures_iter(text).last().and_then(|found| found.get(1)).and_then(|letter| {
        letter_index(letter.as_str()).map(|at| (letter.start(), Stated::Option(by_letter(at, options))))
    });
    [lead, boxed, trail, line_statement(text, options)]
        .into_iter()
        .flatten()
        .max_by_key(|(at, _)| *at)
        .map(|(_, stated)| stated)
}

fn last_named<'t>(
    leads: impl Iterator<Item = regex::Captures<'t>>,
    text: &str,
    options: &[Cow<'_, str>],
) -> Option<(usize, Stated)> {
    let ends: Vec<usize> = leads.filter_map(|found| found.get(0)).map(|found| found.end()).collect();
    ends.into_iter().rev().take(MAX_LEADS).find_map(|end| Some((end, designation(&text[end..], options)?)))
}

/// A line that is nothing but a letter, or a first line that starts with a label.
fn line_statement(text: &str, options: &[Cow<'_, str>]) -> Option<(usize, Stated)> {
    let mut bare: Option<(usize, usize)> = None;
    let mut bare_agree = true;
    let mut label = None;
    let mut labels = 0;
    let mut is_first = true;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(letter) = bare_letter(line) {
            bare_agree &= bare.is_none_or(|(_, before)| before == letter);
            bare = Some((start, letter));
        } else if let Some(letter) = line_label(line).filter(|letter| by_letter(*letter, options) < limit(options)) {
            labels += 1;
            if is_first {
                label = Some((start, letter));
            }
        }
        is_first &= line.trim().is_empty();
        start += line.len();
    }
    let bare = bare.filter(|_| bare_agree);
    let label = label.filter(|_| labels == 1);
    bare.max(label).map(|(at, letter)| (at, Stated::Option(by_letter(letter, options))))
}

/// The letter of a line such as `B. London`, `(B) London`, `**B:** London`.
fn line_label(line: &str) -> Option<usize> {
    let line = line.trim_start_matches(|char: char| char.is_whitespace() || "*_([\"`#>".contains(char));
    let letter = letter_index(line.get(..1)?).filter(|_| line.starts_with(|char: char| char.is_ascii_uppercase()))?;
    let rest = line[1..].trim_start_matches(['*', '_']).strip_prefix(['.', ')', ':', ']'])?;
    let rest = rest.trim_start_matches(['*', '_', '.', ')', ':']);
    let is_label = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_label && !names_another(letter, rest)).then_some(letter)
}

/// Reads what follows a lead such as `the answer is`.
fn designation(rest: &str, options: &[Cow<'_, str>]) -> Option<Stated> {
    let mut rest = rest;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start();
        if let Some(stated) = leading_option(rest, options) {
            return Some(stated);
        }
        rest = rest.trim_start_matches(|char: char| char.is_whitespace() || OPENERS.contains(char));
        if let Some(stated) = leading_option(rest, options) {
            return Some(stated);
        }
        if let Some((letter, after)) = leading_letter(rest) {
            return Some(if names_another(letter, after) {
                Stated::Several
            } else {
                Stated::Option(by_letter(letter, options))
            });
        }
        let word = word(rest);
        if !FILLERS.iter().any(|filler| filler.eq_ignore_ascii_case(word)) {
            return None;
        }
        rest = &rest[word.len()..];
    }
    None
}

/// The longest option whose text stands here and ends with its clause.
fn leading_option(rest: &str, options: &[Cow<'_, str>]) -> Option<Stated> {
    let (at, after) = option_prefix(rest, options).min_by_key(|(at, after)| {
        let is_other_case = !rest.starts_with(options[*at].trim());
        (after.len(), is_other_case)
    })?;
    let is_exact = rest.starts_with(options[at].trim());
    let has_twin = option_prefix(rest, options).any(|(other, also)| also == after && options[other] != options[at]);
    let next = after.trim_start();
    let goes_on = matches!(word(next), "or" | "and").then(|| next[word(next).len()..].trim_start());
    let has_other = goes_on.is_some_and(|rest| option_prefix(rest, options).any(|(other, _)| other != at));
    Some(if has_other || (has_twin && !is_exact) { Stated::Several } else { Stated::Option(at) })
}

/// The options whose texts stand here, each with what follows it. Single letters are read as letters.
fn option_prefix<'t>(rest: &'t str, options: &[Cow<'_, str>]) -> impl Iterator<Item = (usize, &'t str)> {
    let texts = options.iter().enumerate().filter(|(_, option)| letter_index(option.trim()).is_none());
    texts
        .filter_map(move |(at, option)| Some((at, strip_prefix_ignoring_case(rest, option.trim())?)))
        .filter(|(_, after)| ends_clause(after))
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    if prefix.is_empty() {
        return None;
    }
    let mut chars = text.chars();
    for wanted in prefix.chars() {
        let found = chars.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(chars.as_str())
}

/// Whether a clause can end here: at a mark that is not part of a number, or before `because`.
fn ends_clause(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None | Some('\n' | '\r') => true,
        Some('.' | ',' | ':') => !chars.next().is_some_and(|next| next.is_ascii_digit()),
        Some(mark) if ";!?)]}*_\"'`”’<$\\".contains(mark) => true,
        Some(space) if space.is_whitespace() => {
            let next = after.trim_start();
            next.is_empty() || next.starts_with(['(', '–', '—']) || is_connector(word(next))
        }
        Some(_) => false,
    }
}

/// A letter that names an option, and what follows it.
fn leading_letter(rest: &str) -> Option<(usize, &str)> {
    let letter = letter_index(rest.get(..1)?)?;
    let after = &rest[1..];
    let mut chars = after.chars();
    let is_letter = match chars.next() {
        None | Some('\n' | '\r') => true,
        Some('\'' | '’' | '-') => !chars.next().is_some_and(char::is_alphanumeric),
        Some(mark) if ".,:;!?)]}*_\"`”/&<|$\\–—".contains(mark) => true,
        Some(space) if space.is_whitespace() => {
            let next = after.trim_start();
            // `A dog`, `I think` and `x squared` go on as sentences; `B` hardly does.
            let is_plain = rest.starts_with(|char: char| char.is_ascii_uppercase() && !matches!(char, 'A' | 'I'));
            is_plain || next.is_empty() || next.starts_with(['(', '–', '—', '/', '&']) || is_connector(word(next))
        }
        Some(_) => false,
    };
    is_letter.then_some((letter, after))
}

/// Whether `or B` or the like follows a letter.
fn names_another(letter: usize, after: &str) -> bool {
    let after = after.trim_start_matches(|char: char| char.is_whitespace() || ")]}*_`\"'”’".contains(char));
    let (rest, in_list) = if let Some(rest) = after.strip_prefix(',') {
        (rest, true)
    } else if let Some(rest) = after.strip_prefix(['/', '&']) {
        (rest, false)
    } else if matches!(word(after).to_ascii_lowercase().as_str(), "or" | "and") {
        (&after[word(after).len()..], false)
    } else {
        return false;
    };
    let rest = rest.trim_start_matches(|char: char| char.is_whitespace() || OPENERS.contains(char));
    let Some((other, after)) = leading_letter(rest) else { return false };
    // `B, C is wrong` goes on about C; `B, C` and `B, C, D` are lists.
    let ends = after.is_empty() || after.starts_with(['.', ',', '\n', ')', '*']);
    other != letter && (!in_list || ends)
}

/// The letters that stand alone.
fn lone_letters(text: &str, options: &[Cow<'_, str>]) -> Stated {
    let mut seen: Option<usize> = None;
    for (at, _) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphabetic()) {
        let Some(letter) = letter_index(&text[at..=at]).filter(|_| stands_alone(text, at)) else { continue };
        let named = by_letter(letter, options);
        if named < limit(options) && seen.replace(named).is_some_and(|seen| seen != named) {
            return Stated::Several;
        }
    }
    seen.map_or(Stated::Nothing, Stated::Option)
}

fn stands_alone(text: &str, at: usize) -> bool {
    let (before, after) = (&text[..at], &text[at + 1..]);
    let (previous, next) = (before.chars().next_back(), after.chars().next());
    let joins = |char: char| char.is_alphanumeric() || "'’-+#=^/\\".contains(char);
    if previous.is_some_and(joins) || next.is_some_and(joins) {
        return false;
    }
    let opened = matches!(previous, Some('(' | '[' | '*' | '"' | '`' | '“'));
    let closed = matches!(next, Some(')' | ']' | '*' | '"' | '`' | '”'));
    match text.as_bytes()[at] {
        b'a'..=b'z' => previous == Some('(') && next == Some(')'),
        b'I' => opened && closed,
        b'A' => {
            let is_called =
                || ["option ", "choice ", "answer "].iter().any(|lead| ends_with_ignoring_case(before, lead));
            (opened && closed) || matches!(next, None | Some(')' | '.' | ':')) || is_called() || names_another(0, after)
        }
        _ => true,
    }
}

/// How many letters can name an option.
fn limit(options: &[Cow<'_, str>]) -> usize {
    if options.is_empty() { 26 } else { options.len() }
}

fn word(text: &str) -> &str {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    &text[..length]
}

fn is_connector(word: &str) -> bool {
    CONNECTORS.iter().any(|connector| connector.eq_ignore_ascii_case(word))
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

fn ends_with_ignoring_case(text: &str, suffix: &str) -> bool {
    let start = text.len().checked_sub(suffix.len());
    start.is_some_and(|start| text.as_bytes()[start..].eq_ignore_ascii_case(suffix.as_bytes()))
}

// Word boundaries are ASCII's: Unicode's would take the slow path of the regex library on every text with an accent.

/// A lead and its verb. Group 1 holds what turns it to its opposite.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?xi)
        (?: (?-u:\b)(wrong|incorrect|false|worst) \s{1,4} )?
        (?-u:\b) (?:
            (?: answer|choice|option|solution ) (?: \s{1,4} (?:choice|option|letter) )?
            [*_`"'”’]{0,4} \s{0,4}
            (?: :|=|->|→|⇒ | (?-u:\b)(?:is|was|would\s+be|should\s+be|must\s+be|will\s+be)(?-u:\b) )
          | (?: i|we ) (?: ['’](?:d|ll) | \s+(?:would|will|shall) )? \s{1,4}
            (?: choose|chose|pick|picked|select|selected|go\s+with|went\s+with|say|answer )(?-u:\b)
        )"#,
    )
});

/// A letter that is called right. Group 1 holds it.
static TRAIL: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r#"(?x)
        (?: ^ | [^\w'’-] ) ([A-Z]) [)\]*_`."]{0,4} \s{1,4}
        (?: is | seems | must\ be | would\ be ) \s{1,4}
        (?: [a-z]{1,20}ly \s{1,4} )? (?: the \s{1,4} )? (?: most \s{1,4} | only \s{1,4} )?
        (?: correct | right | best | answer | accurate ) (?-u:\b)"#,
    )
});

static BOXED: LazyLock<Regex> = LazyLock::new(|| fixed(r"\\boxed\s{0,4}\{()"));

fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern that the tests compile")
}

const WRAPS: &str = "*_`\"'“”‘’()[]{}<>.,:;!#$\\";
const EDGES: [char; 11] = [' ', '*', '_', '`', '"', '\'', '“', '”', '‘', '’', '$'];
const OPENERS: &str = "*_`\"'“”‘’([{<:=>-→$\\";
const BARE_LEADS: [&str; 8] = ["boxed", "textbf", "text", "mathrm", "mathbf", "option", "choice", "answer"];
const FILLERS: [&str; 22] = [
    "option",
    "choice",
    "letter",
    "answer",
    "the",
    "therefore",
    "thus",
    "then",
    "simply",
    "clearly",
    "definitely",
    "probably",
    "likely",
    "most",
    "indeed",
    "actually",
    "boxed",
    "text",
    "textbf",
    "mathrm",
    "mathbf",
    "bf",
];
const CONNECTORS: [&str; 14] =
    ["because", "since", "as", "and", "or", "but", "which", "due", "for", "given", "based", "so", "while", "not"];
const MAX_WRAPS: usize = 6;
const MAX_WORDS: usize = 8;
const MAX_LEADS: usize = 1000;
const MAX_OPTION: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const CITIES: [Cow<'static, str>; 4] =
        [Cow::Borrowed("Paris"), Cow::Borrowed("London"), Cow::Borrowed("Rome"), Cow::Borrowed("New York")];

    #[test]
    fn an_explicit_answer_is_read_in_its_many_spellings() {
        for text in [
            "B",
            "b",
            " B\n",
            "(B)",
            "B.",
            "B)",
            "**B**",
            "**B.**",
            "`B`",
            "\"B\"",
            "[B]",
            "\\boxed{B}",
            "$\\boxed{\\text{B}}$",
            "Option B",
            "Answer: B",
            "answer: b",
            "**Answer:** B",
            "**Answer: B**",
            "Final answer: (B)",
            "The answer is B",
            "The answer is (B) because Paris is (A) and Rome is (C).",
            "The answer is B because A is wrong.",
            "The answer is **B**.",
            "The correct answer is option B.",
            "The correct option is: B",
            "The best answer choice is \"B\".",
            "The answer is most likely B.",
            "The answer is $\\boxed{B}$.",
            "Answer:\n\nB",
            "I choose B",
            "I'd go with (B), not (A).",
            "A is tempting, C too, but B is correct.",
            "(A) no. (C) no. (B) is the right answer.",
            "First I thought the answer is A. On reflection, the answer is B.",
            "Answer: A\nWait.\nAnswer: B",
            "A is far away and C is too old.\n\nB",
            "B\n\nA and C are wrong.",
            "B. London",
            "B) London is the capital. A and C are not.",
            "(B) London",
            "**B:** London",
            "B London",
            "I think it is B",
            "It's B, since a river runs there and I know it.",
            "London",
            "london.",
            "**London**",
            "\"London\"",
            "The answer is London.",
            "The answer is **London**, because it is.",
            "Answer: London",
            "The wrong answer is A. The answer is B.",
            "The answer is not A. The answer is B.",
        ] {
            assert_eq!(read(text, &CITIES), Stated::Option(1), "{text:?}");
        }
    }

    #[test]
    fn words_of_a_sentence_name_no_option() {
        for text in [
            "",
            "banana",
            "I think a city is a large place",
            "A city I like",
            "I am not sure.",
            "A large city",
            "The answer is a city.",
            "The answer is A large city",
            "The answer is I think unknown",
            "Answer: a",
            "It is an A-level question about B-52 and C++",
            "x",
            "It isn't Paris",
            "Plan E",
            "The answer is Parisian",
        ] {
            let stated = read(text, &CITIES);
            let expected = match text {
                "Answer: a" => Stated::Option(0),
                "x" => Stated::Option(23),
                _ => Stated::Nothing,
            };
            assert_eq!(stated, expected, "{text:?}");
        }
    }

    #[test]
    fn several_letters_without_a_statement_are_ambiguous() {
        for text in [
            "A or B",
            "B or C",
            "It could be B or C",
            "(A) and (B)",
            "The answer is A or B.",
            "The answer is A and B",
            "Answer: B, C",
            "Answer: B/C",
            "Answer: (B) or (C)",
            "The answer is Paris or London.",
            "A. Paris\nB. London\nC. Rome",
            "A.\nParis\nB.\nLondon",
        ] {
            assert_eq!(read(text, &CITIES), Stated::Several, "{text:?}");
        }
    }

    #[test]
    fn an_option_that_is_a_part_of_another_or_of_a_number_is_not_taken_for_it() {
        let options = ["10", "10.5", "New", "New York", "-5", "5"].map(Cow::Borrowed);
        for (text, expected) in [
            ("The answer is 10.", Stated::Option(0)),
            ("The answer is 10.5", Stated::Option(1)),
            ("The answer is 10,500", Stated::Nothing),
            ("The answer is New York", Stated::Option(3)),
            ("The answer is New.", Stated::Option(2)),
            ("The answer is New Jersey", Stated::Nothing),
            ("-5", Stated::Option(4)),
            ("5", Stated::Option(5)),
            ("Answer: -5", Stated::Option(4)),
        ] {
            assert_eq!(read(text, &options), expected, "{text:?}");
        }
    }

    #[test]
    fn options_that_differ_in_case_are_told_apart() {
        let options = ["TT", "Tt", "tt"].map(Cow::Borrowed);
        for (text, expected) in [
            ("Tt", Stated::Option(1)),
            ("The answer is tt.", Stated::Option(2)),
            ("tT", Stated::Several),
            ("The answer is tT.", Stated::Several),
        ] {
            assert_eq!(read(text, &options), expected, "{text:?}");
        }
    }

    #[test]
    fn options_that_are_letters_are_named_by_their_text() {
        let numerals = ["I", "II", "I and II", "x"].map(Cow::Borrowed);
        for (text, expected) in [
            ("I", Stated::Option(0)),
            ("The answer is I.", Stated::Option(0)),
            ("The answer is I and II", Stated::Option(2)),
            ("x", Stated::Option(3)),
            ("D", Stated::Option(3)),
            ("I think so", Stated::Nothing),
        ] {
            assert_eq!(read(text, &numerals), expected, "{text:?}");
        }
    }

    #[test]
    fn a_statement_beyond_the_last_option_is_still_the_statement() {
        assert_eq!(read("Answer: B. No, answer: E", &CITIES), Stated::Option(4));
    }

    #[test]
    fn without_options_any_letter_counts() {
        assert_eq!(read("Answer: H", &[]), Stated::Option(7));
        assert_eq!(read("I would say it is G", &[]), Stated::Option(6));
    }
}
