//! Questions that a tool repeats: what it was asked or searched for.

use std::ops::Range;

use proofmark_artefact::scan::Plain;

/// Whether what stands somewhere is what somebody searched for or asked: a tool that repeats its query.
pub(super) fn is_echo(text: &str, place: &Range<usize>) -> bool {
    let from = text.ceil_char_boundary(place.start.saturating_sub(80));
    let before = &text[from..place.start];
    let plain = Plain::words(before);
    let mut words = plain.text();
    // `q=` and `"q":` are fields of a request, `Q:` is a question.
    let is_field = |before: &str| {
        let name = before.trim_end_matches([' ', '"', '\'', '\\', ':', '=']);
        let rest = &before[name.len()..];
        name.ends_with(['q', 'Q'])
            && (rest.starts_with('=') || rest.starts_with(['"', '\'', '\\']) && rest.contains(':'))
    };
    // What somebody typed stands in the field for it.
    let is_input = || {
        words.ends_with("value") && before.trim_end_matches(['"', '\'']).ends_with('=') && {
            let tag = before.rfind('<').map_or("", |at| &before[at + 1..]);
            tag.len() >= 5 && tag.as_bytes()[..5].eq_ignore_ascii_case(b"input")
        }
    };
    if ends_with_word(words, "q").is_some() && is_field(before) || is_input() {
        return true;
    }
    while let Some(rest) = ECHO_FILLERS.iter().find_map(|filler| ends_with_word(words, filler)) {
        words = rest;
    }
    let line = text[place.end..].lines().next().unwrap_or_default();
    let behind = Plain::words(&line[..line.floor_char_boundary(48)]);
    let behind = behind.text();
    let is_count = || {
        let mut words = behind.split(' ');
        words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty())
            && words.next() == Some("results")
    };
    ECHOES.iter().any(|echo| ends_with_word(words, echo).is_some())
        || TITLES
            .iter()
            .any(|title| behind.strip_prefix(title).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
        || behind == "search"
        || is_count()
}

fn ends_with_word<'a>(words: &'a str, last: &str) -> Option<&'a str> {
    let rest = words.strip_suffix(last)?;
    (rest.is_empty() || rest.ends_with(' ')).then(|| rest.trim_end())
}

/// Words between what introduces an echo and the echo.
const ECHO_FILLERS: &[&str] = &[
    "for",
    "about",
    "is",
    "the",
    "following",
    "text",
    "string",
    "exact",
    "phrase",
    "this",
    "web",
    "internet",
    "term",
    "terms",
    "to",
];

/// What introduces an echo.
const ECHOES: &[&str] = &[
    "query",
    "queries",
    "search",
    "searches",
    "searched",
    "searching",
    "search results",
    "web results",
    "top results",
    "results",
    "results matching",
    "results found",
    "results i found",
    "results we found",
    "what i found",
    "showing",
    "showing results",
    "looking",
    "looked",
    "looking up",
    "looked up",
    "lookup",
    "you asked",
    "you asked me",
    "you ask",
    "user asked",
    "user asks",
    "i asked",
    "asked",
    "your question",
    "your request",
    "your prompt",
    "you typed",
    "you entered",
    "you wrote",
    "you said",
    "keywords",
];

/// What follows an echo in the title of a page of results.
const TITLES: &[&str] =
    &["google search", "bing", "search results", "at duckduckgo", "duckduckgo", "brave search", "web search"];

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &str = "Who was the first woman to win a Nobel Prize in Physics?";

    #[test]
    fn an_echo_is_introduced_as_one() {
        for (before, after, want) in [
            ("Query: ", "", true),
            ("{\"query\": \"", "\"", true),
            ("You asked: ", "", true),
            ("Showing results for \"", "\"", true),
            ("I searched the web for: ", "", true),
            ("Search results for the query \"", "\"", true),
            ("https://example.org/?q=", "", true),
            ("{\"q\": \"", "\"", true),
            ("", " - Google Search", true),
            ("", " 1200 results", true),
            ("", " - Search\nAbout 12 results", true),
            ("<input name=\"q\" value=\"", "\">", true),
            ("Here are the results I found for \"", "\":", true),
            ("<td value=\"", "\">", false),
            ("", " Search parties were sent out.", false),
            ("Q: ", " A: Edith", false),
            ("Question: ", "", false),
            ("{\"Question\": \"", "\"", false),
            ("", "", false),
            ("research: ", "", false),
        ] {
            let text = format!("{before}{QUESTION}{after}");
            assert_eq!(is_echo(&text, &(before.len()..before.len() + QUESTION.len())), want, "{text}");
        }
    }
}
