//! Numbers in the many ways of writing them.

use super::window::{Gap, Window};

/// A number as its digits: `digits × 10^exponent`, where the digits end in no zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    is_negative: bool,
    digits: u128,
    exponent: i32,
}

/// A number where it stands in a folded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub from: usize,
    pub to: usize,
    pub number: Number,
}

/// The longest number that is read: what fits into 128 bits.
const MAX_DIGITS: usize = 38;
/// The most groups that are read as one: `1,234,567` has three.
const MAX_GROUPS: usize = 24;
/// How far a reading can look ahead.
pub(super) const LOOKAHEAD: usize = MAX_GROUPS * (MAX_DIGITS + 1) + 16;

impl Number {
    /// The number that a whole text is, with the offset of its first digit. A code like `007` is none.
    pub(super) fn parse(text: &str) -> Option<(Self, usize)> {
        let is_decoration =
            |c: char| matches!(c, '$' | '€' | '£' | '¥' | '₹' | '%' | '+' | '~' | '≈') || c.is_whitespace();
        let core = text.trim_start_matches(is_decoration);
        let lead = text.len() - core.len();
        let core = core.trim_end_matches(is_decoration).trim_end_matches('.');
        let window = Window::of(core);
        let first = *window.starts.first()? as usize;
        // Anything before the digits but a sign or a point makes it a text.
        let has_other = core[..first].trim_start_matches(['-', '−', '.', '$', '€', '£']).chars().next().is_some();
        let last = *window.starts.last()? as usize;
        if has_other || core[last..].chars().count() != 1 {
            return None;
        }
        let is_code = window.text.len() > 1 && window.text[0] == b'0' && window.gaps[1] == Gap::None;
        if is_code && window.gaps[0] != Gap::Point {
            return None;
        }
        let mut found = None;
        read_at(&window, 0, &mut |place| {
            if place.to == window.text.len() && place.from == 0 {
                found.get_or_insert(place.number);
            }
        });
        found.map(|number| (number, lead + first))
    }

    /// Its digits without zeros at either end, as every way of writing it has them.
    pub(super) fn digits(&self) -> String {
        self.digits.to_string()
    }

    fn new(is_negative: bool, text: &[u8], groups: &[Group], exponent: i32) -> Option<Self> {
        let count: usize = groups.iter().map(|group| group.to - group.from).sum();
        if count > MAX_DIGITS {
            return None;
        }
        let mut digits = 0u128;
        for digit in groups.iter().flat_map(|group| &text[group.from..group.to]) {
            digits = digits * 10 + u128::from(digit - b'0');
        }
        if digits == 0 {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        let mut exponent = exponent;
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Some(Self { is_negative, digits, exponent })
    }
}

/// Digits without anything between them, and what stands before them.
#[derive(Clone, Copy)]
struct Group {
    from: usize,
    to: usize,
    gap: Gap,
}

impl Group {
    fn len(self) -> usize {
        self.to - self.from
    }
}

/// Reads the digits that begin at an index in all the ways that make sense; returns where to read on.
///
/// `1,234` is one number with a comma for thousands and another with a comma for a point, while `5,17000` may also be
/// two fields of a table. The most likely reading comes first.
pub(super) fn read_at(window: &Window, at: usize, found: &mut impl FnMut(Place)) -> usize {
    let groups = collect(window, at);
    let Some(last) = groups.last() else { return at + 1 };
    let end = last.to;
    if end - at > LOOKAHEAD {
        return end;
    }
    let (exponent, to) = exponent(window, end).unwrap_or((0, end));
    let is_free_before = window.starts_word(at);
    let is_free_after = window.ends_word(to);
    let negative = groups[0].gap == Gap::Sign;
    let mut give = |from: usize, to: usize, number: Option<Number>| {
        if let Some(number) = number {
            found(Place { from, to, number });
        }
    };
    if is_free_before && is_free_after {
        whole(window, &groups, exponent, |number| give(at, to, number));
    }
    if groups.len() > 1 && !is_grouped(&groups) {
        pieces(window, &groups, |from, to, number, is_first, is_last| {
            if (is_free_before || !is_first) && (is_free_after && end == to || !is_last) {
                give(from, to, number);
            }
        });
    }
    if groups.len() == 1 && groups[0].len() <= 3 && is_free_before {
        spaced(window, groups[0], |to, number| give(at, to, Number { is_negative: negative, ..number }.into()));
    }
    end
}

/// The groups that stand together without white space.
fn collect(window: &Window, at: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut from = at;
    while groups.len() < MAX_GROUPS && window.is_digit(from) {
        let to = end_of_digits(window, from);
        let group = Group { from, to, gap: window.gaps[from] };
        groups.push(group);
        if to - at > LOOKAHEAD || !window.gaps.get(to).is_some_and(|gap| is_joint(*gap)) {
            break;
        }
        from = to;
    }
    groups
}

fn end_of_digits(window: &Window, from: usize) -> usize {
    let mut to = from + 1;
    while window.is_digit(to) && window.gaps[to] == Gap::None {
        to += 1;
    }
    to
}

fn is_joint(gap: Gap) -> bool {
    matches!(gap, Gap::Comma | Gap::Dot | Gap::Apostrophe | Gap::Underscore)
}

/// Whether the groups are thousands, or lakhs and crores, with one kind of joint.
fn is_grouped(groups: &[Group]) -> bool {
    let [first, middle @ .., last] = groups else { return false };
    let is_same = middle.iter().all(|group| group.gap == last.gap);
    let by_three = middle.iter().all(|group| group.len() == 3);
    let by_two = first.len() <= 2 && middle.iter().all(|group| group.len() == 2);
    is_same && is_joint(last.gap) && (1..=3).contains(&first.len()) && last.len() == 3 && (by_three || by_two)
}

/// The readings of all groups as one number.
fn whole(window: &Window, groups: &[Group], exponent: i32, mut give: impl FnMut(Option<Number>)) {
    let negative = groups[0].gap == Gap::Sign;
    let text = &window.text[..];
    let Some((last, before)) = groups.split_last() else { return };
    let scaled = |fraction: usize| exponent - fraction as i32;
    if before.is_empty() {
        let fraction = if last.gap == Gap::Point { last.len() } else { 0 };
        return give(Number::new(negative, text, groups, scaled(fraction)));
    }
    let is_point = matches!(last.gap, Gap::Dot | Gap::Comma);
    let is_simple = before.len() == 1 || is_grouped(before) && before[1].gap != last.gap;
    let decimal = (is_point && is_simple).then(|| Number::new(negative, text, groups, scaled(last.len()))).flatten();
    let grouped = is_grouped(groups).then(|| Number::new(negative, text, groups, exponent)).flatten();
    if last.gap == Gap::Dot {
        give(decimal);
        give(grouped);
    } else {
        give(grouped);
        give(decimal);
    }
}

/// The readings of groups between commas, apostrophes and underscores, as fields of a table or parts of a name.
fn pieces(window: &Window, groups: &[Group], mut give: impl FnMut(usize, usize, Option<Number>, bool, bool)) {
    let mut from = 0;
    for at in 1..=groups.len() {
        if at < groups.len() && groups[at].gap == Gap::Dot {
            continue;
        }
        let mut piece = groups[from..at].to_vec();
        let (is_first, is_last) = (from == 0, at == groups.len());
        from = at;
        if is_first && is_last {
            return;
        }
        let (start, end) = (piece[0].from, piece[piece.len() - 1].to);
        if !is_first {
            piece[0].gap = Gap::Wide;
        }
        whole(window, &piece, 0, |number| give(start, end, number, is_first, is_last));
    }
}

/// The readings with spaces for thousands. `3 100 200` may be any of 3100, 3100200 and three numbers.
fn spaced(window: &Window, first: Group, mut give: impl FnMut(usize, Number)) {
    let mut groups = vec![first];
    let mut end = first.to;
    while groups.len() < 8 && window.is_digit(end) && window.gaps[end] == Gap::Space {
        let to = end_of_digits(window, end);
        if to - end != 3 {
            return;
        }
        groups.push(Group { from: end, to, gap: Gap::Space });
        end = to;
        if !window.ends_word(end) {
            return;
        }
        let point = window.gaps.get(end).filter(|gap| matches!(gap, Gap::Dot | Gap::Comma) && window.is_digit(end));
        if point.is_some() {
            let to = end_of_digits(window, end);
            groups.push(Group { from: end, to, gap: Gap::Dot });
            let fraction = (to - end) as i32;
            let number = window.ends_word(to).then(|| Number::new(false, &window.text, &groups, -fraction)).flatten();
            if let Some(number) = number {
                give(to, number);
            }
            return;
        }
        if let Some(number) = Number::new(false, &window.text, &groups, 0) {
            give(end, number);
        }
    }
}

/// The power of ten behind a number and where it ends: `e3`, `E+03`, `e-3`.
fn exponent(window: &Window, at: usize) -> Option<(i32, usize)> {
    if window.text.get(at) != Some(&b'e') || window.gaps[at] != Gap::None || !window.is_digit(at + 1) {
        return None;
    }
    let sign = match window.gaps[at + 1] {
        Gap::None | Gap::Plus => 1,
        Gap::Hyphen => -1,
        _ => return None,
    };
    let to = end_of_digits(window, at + 1);
    if to - at > 5 {
        return None;
    }
    let power = window.text[at + 1..to].iter().fold(0, |power, digit| power * 10 + i32::from(digit - b'0'));
    Some((sign * power, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text holds a number that another text is.
    fn holds(text: &str, number: &str) -> bool {
        let (number, _) = Number::parse(number).unwrap();
        let window = Window::of(text);
        let (mut at, mut is_found) = (0, false);
        while at < window.text.len() {
            at = if window.is_digit(at) {
                read_at(&window, at, &mut |place| is_found |= place.number == number)
            } else {
                at + 1
            };
        }
        is_found
    }

    #[test]
    fn one_number_is_found_however_it_is_written() {
        for text in [
            "1234",
            "1,234",
            "1 234",
            "1'234",
            "1’234",
            "1_234",
            "1.234",
            "1234.0",
            "1234.",
            "1234,00",
            "1,234.00",
            "1.234,0",
            "1.234e3",
            "1.234E+03",
            "12340e-1",
            "1\u{202F}234",
            "１２３４",
            "١٢٣٤",
            "١٬٢٣٤",
            "$1,234",
            "1234%",
            "(1234)",
            "x=1234;",
            "a,1234,b",
            "7,1234,9",
            "[1234]",
            "+1234",
            "共1234人",
            "1234年",
            "page 9 1 234 units",
            "1 234.00",
            "0.5,1234,2.5",
        ] {
            assert!(holds(text, "1234"), "{text}");
        }
        for (text, number) in [
            ("12,34,567", "1234567"),
            ("1.234.567", "1234567"),
            ("3,14", "3.14"),
            ("-5", "-5"),
            ("(−5)", "-5"),
            (".5", "0.5"),
            ("is .50 of", "0.5"),
            ("0.50", ".5"),
            ("6.022e23", "602200000000000000000000"),
            ("1,5", "5"),
            ("0", "0.00"),
            ("-0", "0"),
            ("12 345 678,9", "12345678.9"),
        ] {
            assert!(holds(text, number), "{text} {number}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        for (text, number) in [
            ("1345", "3"),
            ("3.2", "3"),
            ("9910023", "100"),
            ("3.2.1", "2"),
            ("v3", "3"),
            ("3rd", "3"),
            ("-5", "5"),
            ("5", "-5"),
            ("3-5", "-5"),
            ("9,100", "100"),
            ("0.1234", "1234"),
            ("12345", "1234"),
            ("1234e5", "1234"),
            ("12 34", "1234"),
            ("1,23", "123"),
            ("10²", "102"),
            ("½", "12"),
            ("192.168.1.1", "168"),
        ] {
            assert!(!holds(text, number), "{text} {number}");
        }
        assert!(!holds(&"9".repeat(5000), "9"));
        assert!(holds(&"9,".repeat(5000), "9"));
    }

    #[test]
    fn texts_that_are_no_numbers_are_told_apart() {
        for text in [
            "",
            "x",
            "1 km",
            "007",
            "1.2.3.4",
            "2020-01-05",
            "1/2",
            "1, 2",
            "12:30",
            "a1",
            "5e",
            "--",
            "(5",
            "5)",
            "1 2",
        ] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        for (text, first) in
            [("$1,234", 1), ("-5", 1), ("89%", 0), (" 17", 1), (".5", 1), ("$ -3.50", 3), ("1e3", 0), ("5.", 0)]
        {
            assert_eq!(Number::parse(text).unwrap().1, first, "{text}");
        }
    }
}
