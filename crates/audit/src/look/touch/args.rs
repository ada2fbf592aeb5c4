//! The texts of a call, and how each of them is to be read.

use proofmark_artefact::scan::Plain;
use proofmark_canon::Value;

/// The words of a name: `file_read`, `fileRead` and `file-read` have two.
pub(super) fn words_of(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    let mut was_lower = false;
    for character in name.chars().take(256) {
        if character.is_uppercase() && was_lower {
            spaced.push(' ');
        }
        was_lower = character.is_lowercase();
        spaced.push(character);
    }
    let words: Vec<String> = Plain::words(&spaced).text().split(' ').map(str::to_owned).collect();
    words.into_iter()
}

/// The longest text of a call that is unravelled; of a longer one the beginning and the end.
const MAX_TEXT: usize = 64 * 1024;
/// The most texts of one call.
const MAX_TEXTS: usize = 256;

/// All texts of the arguments, each with the name of its field; the words of a command in a list as one text too.
pub(super) fn collect<'a>(value: &'a Value, key: &'a str, texts: &mut Vec<(&'a str, String)>) {
    if texts.len() >= MAX_TEXTS {
        return;
    }
    match value {
        Value::String(text) => texts.push((key, bounded(text))),
        Value::Array(values) => {
            let words: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            if words.len() > 1
                && words.len() == values.len()
                && words.iter().map(|word| word.len()).sum::<usize>() <= MAX_TEXT
            {
                texts.push((key, words.join(" ")));
            }
            values.iter().for_each(|value| collect(value, key, texts));
        }
        Value::Object(members) => {
            for (name, value) in members.iter() {
                collect(value, name, texts);
            }
        }
        _ => {}
    }
}

fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(MAX_TEXT / 2), text.ceil_char_boundary(text.len() - MAX_TEXT / 2));
    format!("{}\n{}", &text[..head], &text[tail..])
}

/// How a text of a call is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// For people or search engines: only what looks like a path counts.
    Prose,
    Path,
    Shell,
    Program,
}

pub(super) fn kind(tool: &str, key: &str, text: &str, args: &Value) -> Kind {
    let is = |name: &str, words: &[&str]| words_of(name).any(|word| words.contains(&word.as_str()));
    const SHELL: &[&str] =
        &["bash", "sh", "shell", "zsh", "terminal", "cmd", "command", "commands", "powershell", "argv", "console"];
    const PROGRAM: &[&str] = &[
        "code",
        "script",
        "python",
        "javascript",
        "node",
        "program",
        "ipython",
        "repl",
        "sql",
        "expression",
        "eval",
        "exec",
    ];
    const PATH: &[&str] = &[
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filepath",
        "dir",
        "directory",
        "cwd",
        "folder",
        "url",
        "uri",
        "urls",
        "href",
        "glob",
        "destination",
        "dest",
        "src",
    ];
    const PROSE: &[&str] =
        &["query", "q", "question", "prompt", "text", "message", "thought", "content", "reason", "search"];
    match () {
        () if is(key, PATH) => Kind::Path,
        () if is(key, PROSE) => Kind::Prose,
        () if is(key, SHELL) => Kind::Shell,
        () if is(key, PROGRAM) && !is(tool, SHELL) => Kind::Program,
        () if is(tool, SHELL) => Kind::Shell,
        () if is(tool, PROGRAM) => Kind::Program,
        // A call whose arguments are one word names what it wants.
        () if args.as_str().is_some() && !text.trim().contains(char::is_whitespace) => Kind::Path,
        () if is(tool, &["file", "read", "write", "open", "fetch", "download", "browse", "ls", "glob", "edit"]) => {
            Kind::Path
        }
        () => Kind::Prose,
    }
}
