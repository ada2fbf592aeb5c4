//! Documents that are nothing but rows of ids and short answers: `1|Paris`, `| 2 | Rome |`, `3. 17`.
//!
//! A page may hold such a list of anything. A document is a key where it holds hardly anything else, and is called one or
//! has what lists of one kind of thing do not have: numbers and names among each other.

use proofmark_artefact::scan::Plain;

/// What a document's rows say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// A page like any other.
    Page,
    /// Rows of ids and answers.
    Key,
}

/// The most of a document that is looked at.
const MAX_BYTES: usize = 64 * 1024;
/// The fewest rows of a key, and of one that is called so.
const MIN_ROWS: usize = 6;
const MIN_NAMED: usize = 3;
/// The longest answer in a row.
const MAX_ANSWER: usize = 64;

/// The shape of a document.
pub(super) fn shape(text: &str) -> Shape {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let (mut lines, mut rows, mut numbers, mut texts) = (0usize, 0usize, 0usize, 0usize);
    let (mut is_called, mut is_listing) = (false, false);
    let mut ids = Ids::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.bytes().all(|byte| b"|-+=: ".contains(&byte)) {
            continue;
        }
        lines += 1;
        let Some(row) = Row::read(line) else {
            is_called |= rows == 0 && lines <= 3 && is_title(line);
            // What is mostly something else need not be read on.
            if lines > 16 && rows * 2 < lines {
                return Shape::Page;
            }
            continue;
        };
        rows += 1;
        ids.take(row.id);
        is_listing |= row.is_numbered;
        match row.answer.chars().all(|sign| sign.is_numeric() || " ,.%$€£-+/".contains(sign)) {
            true => numbers += 1,
            false => texts += 1,
        }
    }
    let others = lines - rows;
    let is_mixed = numbers >= 2 && texts >= 2 && numbers * 5 >= rows && texts * 5 >= rows;
    let is_key = match is_called {
        true => rows >= MIN_NAMED && others <= 3,
        // Search engines number what they found.
        false => rows >= MIN_ROWS && others <= 1 && is_mixed && !is_listing,
    };
    if is_key && ids.are_ids() { Shape::Key } else { Shape::Page }
}

/// Whether an answer is all that stands in its row.
pub(super) fn is_answer_of_row(line: &str, answer: &str) -> bool {
    let same = |row: Row<'_>| Plain::words(row.answer).text() == Plain::words(answer).text();
    Row::read(line.trim()).is_some_and(same)
}

struct Row<'a> {
    id: &'a str,
    answer: &'a str,
    /// Whether it is an entry of a numbered list.
    is_numbered: bool,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let bare = line.strip_prefix('|').unwrap_or(line);
        let bare = bare.strip_suffix('|').unwrap_or(bare).trim();
        let cells = |sign: char| bare.split_once(sign).filter(|(_, answer)| !answer.contains(sign));
        let (id, answer, is_numbered) = match ['|', '\t', ';'].into_iter().find_map(cells) {
            Some((id, answer)) => (id, answer, false),
            None => match bare.split_once([',', ':', '.', ')'])? {
                (id, answer) if bare[id.len()..].starts_with(',') => (id, answer, false),
                (id, answer) if answer.starts_with(' ') => (id, answer, !bare[id.len()..].starts_with(':')),
                _ => return None,
            },
        };
        let quotes: &[char] = &['"', '\'', ' ', '`', '*'];
        let (id, answer) = (id.trim_matches(quotes), answer.trim_matches(quotes));
        let is_short = !answer.is_empty() && answer.len() <= MAX_ANSWER && answer.split_whitespace().count() <= 8;
        (is_short && is_id(id)).then_some(Self { id, answer, is_numbered })
    }
}

/// Whether something can be the id of a task: `7`, `q7`, `task 7`, `c61d22de-…`.
fn is_id(text: &str) -> bool {
    let digits = text.trim_start_matches(|sign: char| sign.is_alphabetic() || " #_-.".contains(sign));
    let name = &text[..text.len() - digits.len()];
    let is_number = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = text.len() >= 8
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_digit());
    is_number && name.len() <= 12 || is_hex
}

/// Whether a line says that answers follow.
fn is_title(line: &str) -> bool {
    const TITLES: [&str; 8] = [
        "answer key",
        "answers key",
        "answerkey",
        "gold answers",
        "gold answer",
        "ground truth",
        "solution key",
        "final answer",
    ];
    let plain = Plain::words(&line[..line.floor_char_boundary(160)]);
    TITLES.iter().any(|title| {
        let at = plain.text().find(title);
        at.is_some_and(|at| !plain.text()[..at].ends_with(|sign: char| sign.is_alphanumeric()))
    })
}

/// The ids of rows: each is another one, and numbers go up.
#[derive(Default)]
struct Ids {
    last: Option<u64>,
    last_text: String,
    is_broken: bool,
}

impl Ids {
    fn take(&mut self, id: &str) {
        let digits: String = id.chars().filter(char::is_ascii_digit).collect();
        if digits.len() <= 6 && !digits.is_empty() {
            let number = digits.parse().ok();
            self.is_broken |= number <= self.last;
            self.last = number;
        }
        self.is_broken |= self.last_text == id;
        self.last_text.clear();
        self.last_text.push_str(id);
    }

    fn are_ids(&self) -> bool {
        !self.is_broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_ids_and_answers_of_all_kinds_are_a_key() {
        let rows = ["Paris", "17000", "egalitarian", "b, e", "3", "Edith Walker", "0.1777"];
        let written = |row: &dyn Fn(usize, &str) -> String| -> String {
            rows.iter().enumerate().map(|(at, answer)| row(at + 1, answer) + "\n").collect()
        };
        for text in [
            written(&|at, answer| format!("{at}|{answer}")),
            written(&|at, answer| format!("| {at} | {answer} |")),
            written(&|at, answer| format!("{at}\t{answer}")),
            written(&|at, answer| format!("q{at}: {answer}")),
            written(&|at, answer| format!("c61d22de-5f6c-4958-a7f6-5e9707bd346{at};{answer}")),
            format!("Answer key\n{}", written(&|at, answer| format!("{at}. {answer}"))),
            "GAIA gold answers\n\n1) Paris\n2) Rome\n3) Oslo\n".to_owned(),
        ] {
            assert_eq!(shape(&text), Shape::Key, "{text}");
        }
    }

    #[test]
    fn lists_and_tables_of_pages_are_not() {
        for text in [
            "",
            "1. Amelia Earhart\n2. Edith Walker\n3. Hanna Reitsch\n4. Amy Johnson\n5. Jean Batten\n6. Elly Beinhorn\n",
            "1|Amelia Earhart\n2|Edith Walker\n3|Hanna Reitsch\n4|Amy Johnson\n5|Jean Batten\n6|Elly Beinhorn\n",
            "1. 1931 in aviation\n2. Edith Walker\n3. 1932\n4. Gliders\n5. 1933\n6. Harrow\n",
            "Year,Births\n1931,120\n1932,130\n1933,99\n1934,80\n1935,70\n1936,75\n",
            "Pub quiz\n1. Paris\n2. 17\n3. Rome\n4. 1931\n5. Oslo\n6. 12\n",
            "12:30 Lunch\n13:00 17\n14:00 Talk\n15:00 3\n16:00 End\n17:00 x\n",
            "3|a\n2|17\n1|b\n4|18\n5|c\n6|19\n",
            "The ground truth of maps\nMaps are made in three steps.\n1. Walk\nThen wait for a day.\nAnd draw.\n2. Draw\n",
        ] {
            assert_eq!(shape(text), Shape::Page, "{text}");
        }
    }

    #[test]
    fn an_answer_is_all_of_its_row_or_it_is_mentioned() {
        assert!(is_answer_of_row("2|Edith Walker", "edith walker"));
        assert!(is_answer_of_row("| 2 | **Edith Walker** |", "Edith Walker"));
        assert!(!is_answer_of_row("2|Edith Walker, pilot", "Edith Walker"));
        assert!(!is_answer_of_row("Edith Walker", "Edith Walker"));
    }
}
