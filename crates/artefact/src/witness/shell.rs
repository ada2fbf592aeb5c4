//! Commands that can be pasted into a POSIX shell.

use crate::text::{escaped, is_deceptive};

/// A command line as text, each word quoted where it has to be. Characters that a terminal obeys or that cannot be
/// seen are written as escapes, which is said by the second value: what is pasted is then not quite the command.
pub(super) fn command(argv: &[String]) -> (String, bool) {
    let is_exact = !argv.iter().any(|word| word.contains(is_deceptive));
    let words: Vec<String> = argv.iter().map(|word| quote(&escaped(word))).collect();
    (words.join(" "), is_exact)
}

/// A word in single quotes, unless every character of it is harmless.
pub(super) fn quote(word: &str) -> String {
    let is_harmless =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '%' | '@');
    // A word that starts with `-` is an option; one with `=` in it may be an assignment and is quoted.
    if !word.is_empty() && word.chars().all(is_harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let words = [
            "plain",
            "",
            "two words",
            "it's",
            "$HOME `id` \"x\" \\",
            "*",
            "~",
            "a=b",
            "-n",
            "#x",
            "é",
            "!!",
            "a;b&c|d",
        ];
        for word in words {
            let script = format!("printf %s {}", quote(word));
            let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            // `printf` takes `-n` for an option of its own in some shells; a word after the format is safe.
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), word, "{script}");
        }
        assert_eq!(command(&["a".to_owned(), "b c".to_owned()]), ("a 'b c'".to_owned(), true));
        assert_eq!(command(&["a\nb\u{202e}".to_owned()]), (r"'a\nb\u{202e}'".to_owned(), false));
    }
}
