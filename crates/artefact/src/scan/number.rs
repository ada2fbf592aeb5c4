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
        // `17k` and `1/2` may be something else: see [`Number::parse_worded`].
        let is_letter = |byte: &u8| !byte.is_ascii_digit() && *byte != b'e';
        if window.text.iter().any(is_letter) || window.gaps.contains(&Gap::Slash) {
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

    /// The number that a text is in a way that texts which are no numbers may look like too: `17k`, `1.5 million`, `1/2`.
    pub(super) fn parse_worded(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['$', '€', '£', '¥', '₹']);
        // `17m` is a length more often than a number.
        if text.ends_with(['m', 'b']) {
            return None;
        }
        let window = Window::of(text);
        let is_sign = |character: char| matches!(character, '.' | ',' | '/' | '\'' | ' ' | '-');
        if !window.is_digit(0)
            || text.chars().any(|character| !character.is_ascii_alphanumeric() && !is_sign(character))
        {
            return None;
        }
        let mut found = None;
        read_at(&window, 0, &mut |place| {
            if (place.from, place.to) == (0, window.text.len()) {
                found.get_or_insert(place.number);
            }
        });
        found
    }

    /// The digits of the fractions that it is, as they stand beside each other in a folded text: `1/2` for 0.5, and both
    /// `1/2` and `5/2` for 2.5.
    pub(super) fn fractions(&self) -> Vec<String> {
        if !(-6..0).contains(&self.exponent) || self.digits > 1_000_000_000 {
            return Vec::new();
        }
        let tens = 10u128.pow(self.exponent.unsigned_abs());
        let written = |top: u128| {
            let common = gcd(top, tens);
            format!("{}{}", top / common, tens / common)
        };
        let mut all = vec![written(self.digits)];
        if self.digits > tens {
            all.push(written(self.digits % tens));
        }
        all
    }

    /// A fraction and what stands before it, when it ends as a decimal.
    fn of_fraction(is_negative: bool, whole: u128, top: u128, bottom: u128) -> Option<Self> {
        if bottom == 0 {
            return None;
        }
        let sum = whole.checked_mul(bottom)?.checked_add(top)?;
        let places = (0..=9u32).find(|places| (sum * 10u128.pow(*places)).is_multiple_of(bottom))?;
        let mut digits = sum * 10u128.pow(places) / bottom;
        let mut exponent = -(places as i32);
        if digits == 0 {
            return Some(Self { is_negative: false, digits, exponent: 0 });
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Some(Self { is_negative, digits, exponent })
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
    if is_free_before && to == end {
        if let Some((size, to)) = size(window, end) {
            whole(window, &groups, size, |number| give(at, to, number));
        }
        if let [only] = groups.as_slice() {
            fraction(window, *only, |to, number| give(at, to, Number { is_negative: negative, ..number }.into()));
        }
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

/// The power of ten that a word or a letter behind a number stands for, and where it ends: `17k`, `1.5 million`.
fn size(window: &Window, at: usize) -> Option<(i32, usize)> {
    let gap = *window.gaps.get(at)?;
    let rest = &window.text[at..];
    // Most numbers have none.
    if !matches!(gap, Gap::None | Gap::Space) || !matches!(rest.first()?, b'k' | b'm' | b'b' | b't' | b'l' | b'c') {
        return None;
    }
    let fits = |(name, _): &&(&[u8], i32)| {
        // `5 m` are metres, `5 k` is a number still.
        let is_apart = gap == Gap::Space;
        (!is_apart || name.len() > 1 || **name == *b"k") && rest.starts_with(name) && {
            let inner = at + 1..at + name.len();
            window.gaps[inner].iter().all(|gap| *gap == Gap::None) && window.ends_word(at + name.len())
        }
    };
    SIZES.iter().find(fits).map(|(name, power)| (*power, at + name.len()))
}

const SIZES: &[(&[u8], i32)] = &[
    (b"k", 3),
    (b"thousand", 3),
    (b"thousands", 3),
    (b"tausend", 3),
    (b"lakh", 5),
    (b"m", 6),
    (b"mn", 6),
    (b"mio", 6),
    (b"mln", 6),
    (b"million", 6),
    (b"millions", 6),
    (b"crore", 7),
    (b"b", 9),
    (b"bn", 9),
    (b"billion", 9),
    (b"billions", 9),
    (b"mrd", 9),
    (b"tn", 12),
    (b"trillion", 12),
];

/// The longest numbers of a fraction, in digits.
const MAX_FRACTION: usize = 9;

/// Reads a fraction that begins with some digits: `1/2`, `2 1/2`, `\frac{1}{2}`. A date has a second slash.
fn fraction(window: &Window, first: Group, mut give: impl FnMut(usize, Number)) {
    let value = |group: Group| {
        (group.len() <= MAX_FRACTION).then(|| {
            window.text[group.from..group.to].iter().fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'))
        })
    };
    let digits = |from: usize| Group { from, to: end_of_digits(window, from), gap: Gap::None };
    let gap = |at: usize| window.gaps.get(at).copied().filter(|_| window.is_digit(at));
    // The number below a top one, and where it ends.
    let bottom = |top: Group| {
        let is_called = window.text[..top.from].ends_with(b"frac") && window.gaps[top.from] == Gap::Tight;
        let is_fraction = matches!(gap(top.to), Some(Gap::Slash)) || is_called && gap(top.to) == Some(Gap::Tight);
        let group = is_fraction.then(|| digits(top.to))?;
        let is_more = gap(group.to).is_some_and(|gap| gap == Gap::Slash || is_joint(gap));
        (!is_more && window.ends_word(group.to)).then_some(group)
    };
    if first.gap == Gap::Slash {
        return;
    }
    if let Some(below) = bottom(first) {
        let number = value(first).zip(value(below)).and_then(|(top, below)| Number::of_fraction(false, 0, top, below));
        return number.into_iter().for_each(|number| give(below.to, number));
    }
    if gap(first.to) != Some(Gap::Space) {
        return;
    }
    let top = digits(first.to);
    let Some(below) = bottom(top) else { return };
    let values = value(first).zip(value(top)).zip(value(below)).filter(|((_, top), below)| top < below);
    let number = values.and_then(|((whole, top), below)| Number::of_fraction(false, whole, top, below));
    number.into_iter().for_each(|number| give(below.to, number));
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
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
            ("17k", "17000"),
            ("about 17K,", "17000"),
            ("17 thousand", "17000"),
            ("$1.5M", "1500000"),
            ("1.5 million people", "1500000"),
            ("1,5 Mio", "1500000"),
            ("2.3bn", "2300000000"),
            ("17 thousand", "17"),
            ("3 lakh", "300000"),
            ("-2k", "-2000"),
            ("1/2", "0.5"),
            ("is 3/4 of", "0.75"),
            ("2 1/2 cups", "2.5"),
            ("5/2", "2.5"),
            ("1⁄2", "0.5"),
            (r"$\frac{1}{2}$", "0.5"),
            (r"\dfrac{3}{16}", "0.1875"),
            ("-1/2", "-0.5"),
            ("4/2", "2"),
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
            ("17km", "17000"),
            ("17 kilos", "17000"),
            ("17 m", "17000000"),
            ("17 b", "17000000000"),
            ("17 k5", "17000"),
            ("1/2/2020", "0.5"),
            ("3/1/2", "0.5"),
            ("1/2.5", "0.5"),
            ("1/2a", "0.5"),
            ("1/3", "0.333"),
            ("1/0", "2"),
            ("{1}{2}", "0.5"),
            ("1:2", "0.5"),
            ("7 3/2", "8.5"),
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
        for (text, want) in [
            ("17k", "17000"),
            ("1.5 million", "1500000"),
            ("$1.5M", "1500000"),
            ("1/2", "0.5"),
            ("2 1/2", "2.5"),
            ("17 thousand", "17000"),
        ] {
            assert_eq!(Number::parse_worded(text), Number::parse(want).map(|(number, _)| number), "{text}");
        }
        for text in ["17m", "2b", "17 km", "1/2/2020", "x", "", "1/3", "k", "17k!", "12:30"] {
            assert_eq!(Number::parse_worded(text), None, "{text}");
        }
        for (text, first) in
            [("$1,234", 1), ("-5", 1), ("89%", 0), (" 17", 1), (".5", 1), ("$ -3.50", 3), ("1e3", 0), ("5.", 0)]
        {
            assert_eq!(Number::parse(text).unwrap().1, first, "{text}");
        }
    }
}
