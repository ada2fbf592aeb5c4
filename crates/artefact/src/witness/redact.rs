//! Secrets out of command lines and addresses, before they are stored.
//!
//! What is known to be secret is taken out wherever it stands; what looks like a secret is taken out too. A value too
//! many costs whoever repeats the command a moment; one too few is published.

use std::fmt;

/// Stands where a secret was.
pub const REDACTED: &str = "***";

/// Knows the secrets of this machine.
#[derive(Clone, Default)]
pub struct Redactor(Vec<String>);

impl Redactor {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets.into_iter().map(|secret| secret.trim().to_owned()).collect();
        secrets.retain(|secret| !secret.is_empty());
        // A secret that holds another one goes first, or its rest would stay.
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self(secrets)
    }

    /// A command line without secrets. It keeps its length.
    pub fn argv(&self, argv: &[String]) -> Vec<String> {
        let mut out = Vec::with_capacity(argv.len());
        let mut is_value = false;
        for argument in argv {
            let is_option = argument.starts_with('-');
            // A key may start with a dash; another long option does not.
            if is_value && !argument.starts_with("--") {
                out.push(REDACTED.to_owned());
                is_value = false;
                continue;
            }
            out.push(self.argument(argument));
            is_value = is_option && !argument.contains('=') && is_secret_name(argument);
        }
        out
    }

    /// An address without user, query values and fragment, and any other text without secrets.
    pub fn text(&self, text: &str) -> String {
        without_key_shapes(&without_url_secrets(&self.known(text)))
    }

    fn argument(&self, argument: &str) -> String {
        let text = self.text(argument);
        match secret_value(&text) {
            Some(at) => format!("{}{REDACTED}", &text[..at]),
            None => text,
        }
    }

    /// A text without the secrets that are known; what only looks like one stays.
    pub fn known(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if secret.len() < SHORTEST {
                if text == *secret {
                    return REDACTED.to_owned();
                }
                continue;
            }
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
            let encoded = percent_encoded(secret);
            if encoded != *secret && text.contains(&encoded) {
                text = text.replace(&encoded, REDACTED);
            }
        }
        text
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// Where the value begins that a name before it says is secret, as in `--env=API_KEY=x` or `X-Api-Key: x`.
fn secret_value(text: &str) -> Option<usize> {
    // An address has its own rules, and a `=` in its query is no assignment.
    let end = text.find("://").unwrap_or(text.len());
    let mut name = 0;
    for (at, _) in text[..end].match_indices(['=', ':']) {
        let mark = if text[at..].starts_with('=') { 1 } else { 2 };
        if mark == 2 && !text[at..].starts_with(": ") {
            continue;
        }
        let value = at + mark;
        if is_secret_name(&text[name..at]) || (mark == 1 && name == 0 && looks_random(&text[value..end])) {
            return Some(value);
        }
        name = value;
    }
    None
}

/// Secrets that are shorter would take ordinary words with them.
const SHORTEST: usize = 6;

/// Whether the name of an option, a variable or a header says that its value is secret.
fn is_secret_name(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    // Counts of tokens, such as `--max-tokens`, are no secret.
    let name = name.replace("tokens", "");
    ["key", "token", "secret", "passw", "pwd", "credential", "authorization", "bearer", "cookie"]
        .iter()
        .any(|word| name.contains(word))
}

/// Takes user, query values and fragment out of every address in a text.
fn without_url_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>')).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        out.push_str(&redact_url(url));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Redacts what stands behind `://`.
fn redact_url(url: &str) -> String {
    let (url, fragment) = url.split_once('#').map_or((url, false), |(url, _)| (url, true));
    let (url, query) = url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)));
    let (host, path) = url.split_at(url.find('/').unwrap_or(url.len()));
    let mut out = match host.rsplit_once('@') {
        Some((_, host)) => format!("{REDACTED}@{host}"),
        None => host.to_owned(),
    };
    out.push_str(path);
    if let Some(query) = query {
        let fields = query.split(['&', ';']).map(|field| match field.split_once('=') {
            Some((name, _)) => format!("{name}={REDACTED}"),
            // A name without a value may be the secret itself.
            None => REDACTED.to_owned(),
        });
        out.push('?');
        out.push_str(&fields.collect::<Vec<_>>().join("&"));
    }
    if fragment {
        out.push('#');
        out.push_str(REDACTED);
    }
    out
}

/// How keys of well-known services begin, and how many characters follow at least.
const SHAPES: [(&str, usize); 24] = [
    ("sk-", 8),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("pk_live_", 8),
    ("ghp_", 8),
    ("gho_", 8),
    ("ghu_", 8),
    ("ghs_", 8),
    ("ghr_", 8),
    ("github_pat_", 8),
    ("glpat-", 8),
    ("hf_", 8),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 20),
    ("xoxb-", 8),
    ("xoxp-", 8),
    ("xapp-", 8),
    ("gsk_", 8),
    ("xai-", 8),
    ("pplx-", 8),
    ("r8_", 8),
    ("eyJ", 24),
];

/// Takes out what has the shape of a key.
fn without_key_shapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let is_start = text[..at].chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric());
        match if is_start { key_at(&text[at..]) } else { Found::Nothing } {
            Found::Key(length) => {
                out.push_str(REDACTED);
                at += length;
            }
            Found::Word(length) => {
                out.push_str(&text[at..at + length]);
                at += length;
            }
            Found::Nothing => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    out
}

/// What a text begins with, and how many bytes of it.
enum Found {
    Key(usize),
    /// It begins like a key, but no part of it is one.
    Word(usize),
    Nothing,
}

fn key_at(text: &str) -> Found {
    for scheme in ["Bearer ", "bearer ", "Basic ", "basic "] {
        if let Some(rest) = text.strip_prefix(scheme) {
            let blank = rest.len() - rest.trim_start().len();
            let token = rest.trim_start().find(char::is_whitespace).unwrap_or(rest.trim_start().len());
            return if token > 0 { Found::Key(scheme.len() + blank + token) } else { Found::Nothing };
        }
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    for (start, least) in SHAPES {
        if let Some(rest) = text.strip_prefix(start) {
            let length = rest.bytes().take_while(|byte| is_part(*byte) || (start == "eyJ" && *byte == b'.')).count();
            // Words are no keys: `sk-learn-tasks`.
            return match rest[..length].bytes().any(|byte| byte.is_ascii_digit()) {
                true if length >= least => Found::Key(start.len() + length),
                true => Found::Nothing,
                false => Found::Word(start.len() + length),
            };
        }
    }
    Found::Nothing
}

/// Whether a value has a part that is too long and too mixed to be a word.
fn looks_random(value: &str) -> bool {
    value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '+')).any(|part| {
        part.len() >= LONG
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
            && distinct(part) >= MIXED
    })
}

const LONG: usize = 20;
/// Different characters in a part: a counter or a date has few.
const MIXED: usize = 10;

fn distinct(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "canary-7f3c9a1e5b2d8046";

    fn argv(line: &[&str]) -> Vec<String> {
        let known = Redactor::new([CANARY.to_owned(), "pw 1/2+3".to_owned(), "tiny".to_owned()]);
        known.argv(&line.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_place_a_secret_can_stand_in_is_cleared() {
        for (line, want) in [
            (&["--api-key", "abc", "x"][..], &["--api-key", "***", "x"][..]),
            (&["--apiKey=abc"], &["--apiKey=***"]),
            (&["--hf-token", "-abc"], &["--hf-token", "***"]),
            (&["--token", "--resume"], &["--token", "--resume"]),
            (&["--client_secret=a=b"], &["--client_secret=***"]),
            (&["--password", ""], &["--password", "***"]),
            (&["OPENAI_API_KEY=abc", "run"], &["OPENAI_API_KEY=***", "run"]),
            (&["--env=API_TOKEN=abc"], &["--env=API_TOKEN=***"]),
            (&["--header", "X-Api-Key: abc"], &["--header", "X-Api-Key: ***"]),
            (&["--header=Authorization: Basic abc"], &["--header=Authorization: ***"]),
            (&["-H", "Bearer abc def"], &["-H", "*** def"]),
            (&["https://me:pw@host/v1?api_key=abc&b#frag"], &["https://***@host/v1?api_key=***&***#***"]),
            (&["--base=http://me@h:80?x=y z"], &["--base=http://***@h:80?x=*** z"]),
            (&["see <https://a@b/c> and ftp://d:e@f"], &["see <https://***@b/c> and ftp://***@f"]),
            (&["https://a@b@c/d"], &["https://***@c/d"]),
            (&["x-canary-7f3c9a1e5b2d8046-y"], &["x-***-y"]),
            (&["a/pw%201%2F2%2B3/b", "pw 1/2+3"], &["a/***/b", "***"]),
            (&["tiny", "tiny.yaml"], &["***", "tiny.yaml"]),
            (&["sk-proj-abc123def456", "(ghp_0123456789abcdef)"], &["***", "(***)"]),
            (&["hf_AbCdEf0123456789", "AKIAIOSFODNN7EXAMPLE"], &["***", "***"]),
            (&["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc"], &["***"]),
            (&["--x=9f8A7c6D5e4B3a2F1d0C9b8A"], &["--x=***"]),
        ] {
            assert_eq!(argv(line), want, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        for line in [
            &["proofmark", "run", "evals/suite.yaml", "--run-dir", "runs/capitals-9f8e7d6c5b4a"][..],
            &["--max-tokens", "1000", "--max-tokens=1000"],
            &["--only", "model=gpt-4.1-mini", "--only=task=a:b"],
            &["--run-dir=runs/capitals-2026-11-16T01:22:33Z-9f8e7d6c5b4a"],
            &["sk-learn-tasks.yaml", "task-1", "risk-0123456789abc", "hf_models", "--max-cost=12.50"],
            &["https://host:8080/v1/chat", "Zürich: a city", "--record-evidence=false", "a = b", ""],
            &["--x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", "--note=pneumonoultramicroscopicsilicovolcanoconiosis"],
        ] {
            assert_eq!(argv(line), line);
        }
    }

    #[test]
    fn any_text_goes_through_in_linear_time() {
        for piece in ["://", "sk-", "=", "Bearer ", "é@?#", "a: ", "--key="] {
            let text = piece.repeat(20_000);
            assert!(Redactor::default().argv(&[text]).len() == 1);
        }
    }
}
