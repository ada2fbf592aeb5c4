//! The words of a command that can be names of files.

use super::super::unravel::is_prose;
use super::args::Kind;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub text: String,
    /// The same from the folder that the command went to before.
    pub resolved: Option<String>,
    /// Whether it stands between quotes, or alone: it is a value and no name of the program's own.
    pub is_value: bool,
}

/// The words of a text that can be names of files.
pub(super) fn words(text: &str, kind: Kind) -> Vec<Word> {
    if kind == Kind::Path || !text.trim().contains(char::is_whitespace) && kind == Kind::Prose {
        let mut found = vec![Word { text: text.trim().to_owned(), resolved: None, is_value: true }];
        found.extend(text.split_whitespace().map(|word| Word {
            text: trim(word).to_owned(),
            resolved: None,
            is_value: true,
        }));
        return found;
    }
    let is_break = |character: char| character.is_whitespace() || "'\"`;|&<>()=,".contains(character);
    let mut found = Vec::new();
    let mut folder: Option<String> = None;
    let (mut start, mut last) = (0, String::new());
    let mut quote: Option<char> = None;
    // Whether what stands between the quotes is said and not done.
    let mut is_sentence = false;
    let ends =
        text.char_indices().filter(|(_, character)| is_break(*character)).map(|(at, character)| (at, Some(character)));
    for (at, sign) in ends.chain([(text.len(), None)]) {
        // Within braces a comma is a part of the word.
        let is_within = || text[start..at].rfind('{').is_some_and(|open| !text[start + open..at].contains('}'));
        if sign == Some(',') && kind == Kind::Shell && at - start <= 256 && is_within() {
            continue;
        }
        let word = trim(&text[start..at]);
        if !word.is_empty() {
            let is_target = matches!(last.as_str(), "cd" | "pushd" | "chdir" | "-C" | "os.chdir" | "Set-Location");
            let resolved = match &folder {
                Some(folder) if !is_absolute(word) => Some(normal(&format!("{folder}/{word}"))),
                _ => None,
            };
            if is_target {
                folder = Some(resolved.clone().unwrap_or_else(|| normal(word)));
            }
            let is_set = sign == Some('=') && quote.is_none();
            let is_value = match kind {
                Kind::Shell => !is_set && !is_sentence,
                _ => quote.is_some() && !is_sentence || matches!(last.as_str(), "import" | "from"),
            };
            let resolved = resolved.or_else(|| word.contains("..").then(|| normal(word)));
            found.push(Word { text: word.to_owned(), resolved, is_value });
            last = word.to_owned();
        }
        if let Some(sign @ ('\'' | '"' | '`')) = sign {
            quote = match quote {
                None => Some(sign),
                Some(open) if open == sign => None,
                other => other,
            };
            let inner = |quote: char| text[at + 1..text.floor_char_boundary(at + 513)].split(quote).next();
            is_sentence = quote.and_then(inner).is_some_and(is_prose);
        }
        start = at + sign.map_or(0, char::len_utf8);
    }
    found
}

/// A word without the signs of the sentence or the list that it stands in.
fn trim(word: &str) -> &str {
    word.trim_matches(['\'', '"', '`', ',', ';', ':', '!', '(', ')', '<', '>'])
        .trim_end_matches(['.', '}', ']'])
        .trim_start_matches('@')
}

fn is_absolute(word: &str) -> bool {
    word.starts_with(['/', '~', '$']) || word.contains("://")
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
