//! Commands as their author hid them, written out.
//!
//! Nothing is run. What a shell or a program would put together is put together as far as the text alone decides it:
//! escapes, encodings, lists of character codes, pieces of strings, variables, strings turned round.

use std::collections::BTreeMap;

use proofmark_artefact::scan::undo;

use super::compute::{compute, substitute};
use super::layers::runs_of;

/// One way of reading a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    pub text: String,
    /// Whether it differs from what is written.
    pub is_hidden: bool,
}

/// The most readings of one command.
const MAX_READINGS: usize = 48;
/// The longest piece that is put together from others.
pub(super) const MAX_PIECE: usize = 4096;
/// The longest value of a variable, and some more.
pub(super) const MAX_VALUE: usize = 272;
/// The most variables of one command.
const MAX_VARIABLES: usize = 64;
/// The shortest run in an encoding: `gold` has eight characters in base64.
const MIN_RUN: usize = 8;

/// All readings of a command, the first of them as it is written.
pub(super) fn readings(command: &str) -> Vec<Reading> {
    let mut readings = Readings { list: vec![Reading { text: command.to_owned(), is_hidden: false }] };
    let mut text = command.to_owned();
    // What is decoded may be encoded again.
    for _ in 0..3 {
        let next = spell_codes(&decode_runs(&unescape(&text)));
        if next == text {
            break;
        }
        readings.add(&next);
        text = next;
    }
    let variables = variables(&text);
    let filled = substitute(&fill(&substitute(&text, &variables), &variables), &variables);
    readings.add(&filled);
    readings.add(&unquote(&filled));
    let mut made = pieces(&filled, &variables);
    let computed = compute(&filled);
    if computed != filled {
        readings.add(&computed);
        made.extend(pieces(&computed, &variables));
    }
    // A string may be a program itself: `python3 -c "…"`.
    for literal in literals(&filled).iter().filter(|literal| literal.text.contains(['\'', '"'])) {
        made.extend(pieces(&literal.text, &variables));
    }
    for piece in made.into_iter().take(MAX_READINGS) {
        readings.add(&piece);
        // A piece may be the encoding of another, put together first.
        let decoded = decode_runs(&piece);
        if decoded != piece {
            readings.add(&decoded);
        }
    }
    let lower = filled.to_ascii_lowercase();
    if ["rev", "[::-1]", "reverse", "strrev"].iter().any(|word| lower.contains(word)) {
        for reading in readings.list.clone().iter().take(16) {
            readings.add(&turn_words(&reading.text));
        }
    }
    if ["rot13", "rot_13", "rot-13", "n-za-m"].iter().any(|word| lower.contains(word)) {
        readings.add(&rotate(&filled));
    }
    for (dropped, put) in dropped(&filled) {
        let rest: String = filled.replace(&dropped, &put);
        readings.add(&rest);
        readings.add(&unquote(&rest));
    }
    readings.list
}

struct Readings {
    list: Vec<Reading>,
}

impl Readings {
    fn add(&mut self, text: &str) {
        if self.list.len() < MAX_READINGS && !self.list.iter().any(|known| known.text == text) {
            self.list.push(Reading { text: text.to_owned(), is_hidden: true });
        }
    }
}

/// Undoes percent encoding, entities and the escapes of strings, octal ones too.
fn unescape(text: &str) -> String {
    let undone = if text.contains(['%', '&', '\\']) { undo(text) } else { text.to_owned() };
    let mut out = String::with_capacity(undone.len());
    let mut rest = undone.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digits = after.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        let code = u8::from_str_radix(&after[..digits], 8).ok().filter(|code| digits >= 2 && (32..127).contains(code));
        match code {
            Some(code) => {
                out.push(char::from(code));
                rest = &after[digits..];
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Puts what an encoding says in its place, where that is readable.
fn decode_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    runs_of(text.as_bytes(), MIN_RUN, |range, decoded| {
        // The lines of what was read as one come again one by one.
        if let Some(decoded) = decoded
            && range.start >= done
        {
            out.push_str(&text[done..range.start]);
            out.push_str(&decoded);
            done = range.end;
            // The padding belongs to it.
            done += text[done..].bytes().take(2).take_while(|byte| *byte == b'=').count();
        }
    });
    out.push_str(&text[done..]);
    out
}

/// Puts a string in the place of four or more character codes in a row: `chr(103)+chr(114)`, `[103, 114]`.
fn spell_codes(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_joint = |byte: &u8| b" ,+()[]chrCHRxX&.;\n%'\"".contains(byte);
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() || at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let (start, mut end, mut word) = (at, at, String::new());
        while let Some((code, length)) = code(&bytes[at..]) {
            word.push(char::from(code));
            end = at + length;
            let gap = bytes[end..].iter().take(16).take_while(|byte| is_joint(byte)).count();
            if gap == 0 {
                break;
            }
            at = end + gap;
        }
        if word.len() >= 4 {
            out.push_str(&text[done..start]);
            out.push('\'');
            out.push_str(&word);
            out.push('\'');
            done = end;
        }
        at = end.max(start + 1);
    }
    if done == 0 {
        return text.to_owned();
    }
    out.push_str(&text[done..]);
    out
}

/// The code of a printable character in decimal or hex, and its length.
fn code(bytes: &[u8]) -> Option<(u8, usize)> {
    let (radix, skipped) = if bytes.starts_with(b"0x") || bytes.starts_with(b"0X") { (16, 2) } else { (10, 0) };
    let digits = bytes[skipped..].iter().take(4).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let text = std::str::from_utf8(&bytes[skipped..skipped + digits]).ok()?;
    let code = u8::from_str_radix(text, radix).ok().filter(|code| (32..127).contains(code))?;
    Some((code, skipped + digits))
}

/// A string between quotes.
pub(super) struct Literal {
    /// With its quotes.
    pub start: usize,
    pub end: usize,
    pub text: String,
}

pub(super) fn literals(text: &str) -> Vec<Literal> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = bytes[at..].iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')) {
        let start = at + open;
        let mut end = start + 1;
        while end < bytes.len() && bytes[end] != bytes[start] {
            end += 1 + usize::from(bytes[end] == b'\\');
        }
        let end = end.min(bytes.len());
        // A backslash may have skipped into a character.
        let inner = text.get(start + 1..end).unwrap_or_default();
        found.push(Literal { start, end: (end + 1).min(bytes.len()), text: inner.to_owned() });
        at = (end + 1).min(bytes.len());
    }
    found
}

/// What variables are set to, by their names.
fn variables(text: &str) -> BTreeMap<String, String> {
    let bytes = text.as_bytes();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for (at, _) in text.match_indices('=') {
        let is_other = matches!(at.checked_sub(1).map(|before| bytes[before]), Some(b'=' | b'!' | b'<' | b'>' | b'+'));
        if is_other || bytes.get(at + 1) == Some(&b'=') || found.len() >= MAX_VARIABLES {
            continue;
        }
        let name = text[..at].trim_end_matches([' ', ':']);
        let length =
            name.bytes().rev().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = &name[name.len() - length..];
        if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
            continue;
        }
        // Values are short; what is longer is no name of anything.
        let value = &text[at + 1..text.floor_char_boundary(at + 1 + MAX_VALUE)];
        let value = value.trim_start_matches([' ', '(']);
        let value = match value.chars().next() {
            Some(quote @ ('\'' | '"')) => value[1..].split(quote).next(),
            _ => value.split(|character: char| character.is_whitespace() || ";&|)".contains(character)).next(),
        };
        let value = value.unwrap_or_default();
        if value.len() < MAX_VALUE - 16 {
            let value = fill(value, &found);
            if value.len() <= MAX_PIECE {
                found.insert(name.to_owned(), value);
            }
        }
    }
    found
}

/// Puts values in the place of `$name`, `${name}` and `{name}`.
fn fill(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        out.push_str(&rest[..at]);
        let after = rest[at..].strip_prefix('$').unwrap_or(&rest[at..]);
        let after = after.strip_prefix('{').unwrap_or(after);
        let length = after.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let value = match &after[..length] {
            "IFS" => Some(" "),
            name => variables.get(name).map(String::as_str),
        };
        match value.filter(|_| length > 0 && out.len() < text.len() + 16 * MAX_PIECE) {
            Some(value) => {
                out.push_str(value);
                rest = after[length..].strip_prefix('}').unwrap_or(&after[length..]);
            }
            None => {
                out.push_str(&rest[at..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// A command without quotes and backslashes, as a shell reads its words. What is said in quotes stays in them.
pub(super) fn unquote(text: &str) -> String {
    let text = text.replace("\\\n", "").replace("$@", "").replace("$*", "").replace("$'", "'").replace("$\"", "\"");
    let bare = |text: &str| text.replace(['\'', '"', '\\', '`'], "");
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for literal in literals(&text).iter().filter(|literal| is_prose(&literal.text)) {
        out.push_str(&bare(&text[done..literal.start]));
        out.push_str(&text[literal.start..literal.end]);
        done = literal.end;
    }
    out.push_str(&bare(&text[done..]));
    out
}

/// Whether a string is a sentence and no command: some words without a sign that only programs have, and none that reads or
/// runs something.
pub(super) fn is_prose(text: &str) -> bool {
    const COMMANDS: [&str; 26] = [
        "cat", "cd", "ls", "cp", "mv", "rm", "less", "more", "head", "tail", "vi", "vim", "nano", "python", "python3",
        "bash", "sh", "source", "import", "from", "find", "sudo", "xargs", "open", "exec", "grep",
    ];
    let is_code = || text.contains(['(', ')', '=', ';', '|', '<', '>', '`', '$', '{', '/', '\\', '*']);
    let is_command = |word: &str| COMMANDS.iter().any(|command| word.eq_ignore_ascii_case(command));
    text.split_whitespace().nth(2).is_some() && !is_code() && !text.split_whitespace().any(is_command)
}

/// Strings that stand beside each other or are added, as one; with slashes between them too.
fn pieces(text: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let mut operands: Vec<(usize, usize, String)> =
        literals(text).into_iter().map(|literal| (literal.start, literal.end, literal.text)).collect();
    // Variables between strings: `a + 'der'`.
    let mut gaps: Vec<(usize, usize)> = Vec::new();
    let mut last = 0;
    for (start, end, _) in &operands {
        gaps.push((last, *start));
        last = *end;
    }
    gaps.push((last, text.len()));
    for (from, to) in gaps {
        let mut at = from;
        for word in text[from..to].split(|character: char| !character.is_ascii_alphanumeric() && character != '_') {
            if let Some(value) = variables.get(word) {
                operands.push((at, at + word.len(), value.clone()));
            }
            at += word.len() + text[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        }
    }
    operands.sort();
    let mut found = Vec::new();
    let mut group: Vec<&str> = Vec::new();
    // What stands between two commas.
    let mut part: Vec<&str> = Vec::new();
    let mut is_path = false;
    let mut end = 0;
    for (start, stop, value) in &operands {
        let between = text.get(end..*start).unwrap_or("x");
        let is_joined = between.len() <= 64 && between.chars().all(|c| c.is_whitespace() || "+.,/&\\()".contains(c));
        if !is_joined || group.is_empty() {
            flush(&mut group, &mut is_path, &mut found);
            flush(&mut part, &mut false, &mut found);
            // Arguments are parts of a path where something makes one of them.
            let before = text.get(..*start).unwrap_or_default().trim_end();
            is_path = ["join(", "Path(", "joinpath("].iter().any(|name| before.ends_with(name));
        } else if between.contains(',') {
            flush(&mut part, &mut false, &mut found);
        }
        is_path |= is_joined && between.contains('/');
        group.push(value);
        part.push(value);
        end = *stop;
    }
    flush(&mut group, &mut is_path, &mut found);
    flush(&mut part, &mut false, &mut found);
    found
}

fn flush(group: &mut Vec<&str>, is_path: &mut bool, found: &mut Vec<String>) {
    if group.len() > 1 && group.iter().map(|piece| piece.len() + 1).sum::<usize>() <= MAX_PIECE {
        found.push(group.concat());
        if *is_path {
            found.push(group.join("/"));
        }
    }
    group.clear();
    *is_path = false;
}

/// Each word turned round.
pub(super) fn turn_words(text: &str) -> String {
    let turn = |word: &str| word.chars().rev().collect::<String>();
    text.split(|character: char| character.is_whitespace() || "'\"`()|;".contains(character))
        .map(turn)
        .collect::<Vec<_>>()
        .join(" ")
}

fn rotate(text: &str) -> String {
    let turn = |character: char, first: u8| char::from((character as u8 - first + 13) % 26 + first);
    text.chars()
        .map(|character| match character {
            'a'..='z' => turn(character, b'a'),
            'A'..='Z' => turn(character, b'A'),
            _ => character,
        })
        .collect()
}

/// What a command drops from its strings or puts in its place: `tr -d x`, `.replace('x', 'y')`, `sed s/x/y/g`.
fn dropped(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let word = |rest: &str| -> String {
        let rest = rest.trim_start();
        match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split(quote).next().unwrap_or_default().to_owned(),
            _ => rest.split(|c: char| c.is_whitespace() || c == '|' || c == ')').next().unwrap_or_default().to_owned(),
        }
    };
    for (at, found_text) in text.match_indices("tr -d").take(4) {
        found.push((word(&text[at + found_text.len()..]), String::new()));
    }
    for (at, found_text) in text.match_indices("replace(").take(4) {
        let rest = &text[at + found_text.len()..text.floor_char_boundary(at + found_text.len() + 64)];
        let strings = literals(rest);
        let put = match strings.as_slice() {
            [first, second, ..] if rest[first.end..second.start].trim() == "," => second.text.clone(),
            _ => String::new(),
        };
        found.push((word(rest), put));
    }
    for (at, _) in text.match_indices("s/").take(4) {
        let mut parts = text[at + 2..text.floor_char_boundary(at + 66)].splitn(3, '/');
        if let (Some(what), Some(put), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            found.push((what.to_owned(), put.to_owned()));
        }
    }
    found.retain(|(what, put)| !what.is_empty() && what.len() <= 16 && put.len() <= 16);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_read() {
        for command in [
            "cat $(echo Z2FpYS1qdWRnZS50cw== | base64 -d)",
            "cat $(echo WjJGcFlTMXFkV1JuWlM1MGN3PT0= | base64 -d | base64 -d)",
            "cat $(echo 676169612d6a756467652e7473 | xxd -r -p)",
            "cat gaia%2Djudge%2Ets",
            r"cat $'\x67\x61\x69\x61-judge.ts'",
            r"cat $(printf '\147\141\151\141-judge.ts')",
            r"open('\u0067aia-judge.ts')",
            "cat g'ai'a-\"jud\"ge.ts",
            r"cat gai\a-ju\dge.ts",
            "open('gaia-' + 'judge' + '.ts')",
            "open(\"gaia-\" \"judge.ts\")",
            "open(''.join(['g','a','i','a','-','j','u','d','g','e','.','t','s']))",
            "a=gaia; b=judge; cat $a-${b}.ts",
            "a = 'gaia-'\nb = 'judge.ts'\nopen(a + b)",
            "a = 'gaia'\nopen(f'{a}-judge.ts')",
            "open(chr(103)+chr(97)+chr(105)+chr(97)+'-judge.ts')",
            "open(bytes([103,97,105,97,45,106,117,100,103,101,46,116,115]))",
            "String.fromCharCode(0x67, 0x61, 0x69, 0x61, 0x2d, 0x6a, 0x75, 0x64, 0x67, 0x65, 0x2e, 0x74, 0x73)",
            "cat $(echo st.egduj-aiag | rev)",
            "open('st.egduj-aiag'[::-1])",
            "cat $(echo tnvn-whqtr.gf | tr a-z n-za-m)",
            "cat $(echo gaXiaX-judXge.ts | tr -d X)",
            "open('gaQQia-judQQge.ts'.replace('QQ', ''))",
            "cat $(echo gai_a-jud_ge.ts | sed s/_//g)",
            "cat${IFS}gaia-judge.ts",
        ] {
            let found = readings(command);
            assert!(found.iter().any(|reading| reading.text.contains("gaia-judge.ts")), "{command}\n{found:#?}");
            assert!(!found[0].is_hidden && found[0].text == command);
        }
    }

    #[test]
    fn paths_are_put_together() {
        let found = readings("open(os.path.join('/work', 'runs', 'x'))");
        assert!(found.iter().any(|reading| reading.text == "/work/runs/x"), "{found:?}");
    }

    #[test]
    fn plain_commands_stay_as_they_are() {
        for command in ["", "ls -la", "print(1 + 2)", "=", "$", "${", "'", "\\", "a='", "é=é;$é", "rev", "tr -d", "s/"]
        {
            assert!(!readings(command).is_empty());
        }
        assert_eq!(readings("ls -la").len(), 1);
    }

    #[test]
    fn readings_stay_within_bounds() {
        for part in [
            "a=$a$a;",
            "'a'+",
            "{a,b}",
            "chr(103)+",
            "$(",
            "QUFB",
            "\\",
            "=",
            "tr -d x ",
            "''",
            "$(echo a)",
            "${a/a/aa}",
            "a=aa;${a:1}",
            "'a'[::-1]",
            "'%s' % (",
            "'a'.join(",
            "`echo a`",
        ] {
            let command = part.repeat(100_000 / part.len());
            let found = readings(&command);
            assert!(found.len() <= MAX_READINGS);
            assert!(found.iter().all(|reading| reading.text.len() <= 4 * command.len() + 16 * MAX_PIECE), "{part}");
        }
    }
}
