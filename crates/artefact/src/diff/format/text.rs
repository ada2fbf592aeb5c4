//! The comparison for a terminal.

use std::fmt::Write as _;

use super::words::{Part, Tag, word_diff};
use super::{changed_cells, kind_counts, notes, pass_rate, plural, significance_lines, verdict, verdict_of};
use crate::diff::{
    Change, Class, Comparison, Excerpt, FileDifference, GateFailure, RunSide, Sample, TrajectoryChange,
    TrajectoryDifference, TrajectoryKind,
};
use crate::text::{one_line, visible};

/// How to write for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    pub palette: Palette,
    /// Columns. Every character counts as one.
    pub width: usize,
    /// How many examples of each class are shown.
    pub limit: usize,
}

impl Default for TextStyle {
    fn default() -> Self {
        Self { palette: Palette::Plain, width: 100, limit: 10 }
    }
}

/// How changes stand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// `[-removed-]{+added+}`.
    Plain,
    /// Removed in red, added in green.
    Colour,
}

impl Palette {
    fn paint(self, ink: Ink, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", ink as u8),
        }
    }
}

/// SGR codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Bold = 1,
    Faint = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// A narrower terminal gets lines that are too long.
const NARROWEST: usize = 40;
/// How many lines of a text are shown.
const MOST_LINES: usize = 12;
/// A common run longer than this is shortened in its middle.
const LONGEST_COMMON: usize = 240;
/// Where the text of an example starts.
const INDENT: usize = 16;

/// Returns the text for a terminal.
pub fn text(comparison: &Comparison, failures: &[GateFailure], style: &TextStyle) -> String {
    let style = TextStyle { width: style.width.max(NARROWEST), ..*style };
    let mut out = String::new();
    header(&mut out, comparison, style);
    files(&mut out, &comparison.files, style);
    counts(&mut out, comparison, style);
    cells(&mut out, comparison, style);
    examples(&mut out, comparison, style);
    summary(&mut out, comparison, failures, style);
    out
}

// Writing to a String cannot fail: results of `write!` below are dropped.

fn header(out: &mut String, comparison: &Comparison, style: TextStyle) {
    let side = |side: &RunSide| {
        let name = one_line(&side.name, 40);
        format!("{}  {name}  {}  {}", visible(&side.path), side.run_id, plural(side.record_count, "record", "records"))
    };
    let _ = writeln!(out, "{} {}", style.palette.paint(Ink::Bold, "A"), side(&comparison.a));
    let _ = writeln!(out, "{} {}", style.palette.paint(Ink::Bold, "B"), side(&comparison.b));
}

fn files(out: &mut String, files: &[FileDifference], style: TextStyle) {
    if files.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.palette.paint(Ink::Bold, "files that differ"));
    for file in files {
        let how = match (&file.a, &file.b) {
            (Some(a), Some(b)) if a.bytes == b.bytes => format!("{} bytes on both sides", a.bytes),
            (Some(a), Some(b)) => format!("{} → {} bytes", a.bytes, b.bytes),
            (Some(_), None) => "only in A".to_owned(),
            _ => "only in B".to_owned(),
        };
        let _ = writeln!(out, "  {:<22}{how}", file.name);
    }
}

fn counts(out: &mut String, comparison: &Comparison, style: TextStyle) {
    let _ = writeln!(out, "\n{}", style.palette.paint(Ink::Bold, "samples"));
    let row = |out: &mut String, name: &str, count: u64, ink: Option<Ink>| {
        let line = format!("{name:<22}{count}");
        let _ = writeln!(out, "  {}", ink.map_or(line.clone(), |ink| style.palette.paint(ink, &line)));
    };
    row(out, "matched", comparison.matched, None);
    row(out, "unchanged", comparison.unchanged, None);
    for class in Class::ALL {
        let count = comparison.counts.of(class);
        if count > 0 {
            row(out, class.title(), count, Some(ink_of(class)));
        }
        if class == Class::TrajectoryChanged && !comparison.trajectory_kinds.is_empty() {
            let _ = writeln!(out, "    {}", style.palette.paint(Ink::Faint, &kind_counts(comparison)));
        }
    }
}

fn ink_of(class: Class) -> Ink {
    match class {
        Class::Regression => Ink::Red,
        Class::Improvement => Ink::Green,
        _ => Ink::Yellow,
    }
}

/// The cells in which something changed.
fn cells(out: &mut String, comparison: &Comparison, style: TextStyle) {
    let changed = changed_cells(comparison);
    if changed.is_empty() {
        return;
    }
    let name_width = (style.width / 2).min(48);
    let heading =
        format!("{:<name_width$}  {:>17}  {:>17}  {:>6} {:>6}", "cell", "A passed", "B passed", "worse", "better");
    let _ = writeln!(out, "\n{}", style.palette.paint(Ink::Bold, &heading));
    let shown = if style.limit == usize::MAX { changed.len() } else { changed.len().min(style.limit.max(10)) };
    for cell in &changed[..shown] {
        let _ = writeln!(
            out,
            "{:<name_width$}  {:>17}  {:>17}  {:>6} {:>6}",
            one_line(&cell.title(), name_width),
            pass_rate(&cell.a),
            pass_rate(&cell.b),
            cell.counts.regression,
            cell.counts.improvement,
        );
    }
    more(out, (changed.len() - shown) as u64, "", style);
}

fn more(out: &mut String, left: u64, indent: &str, style: TextStyle) {
    if left > 0 {
        let _ = writeln!(out, "{indent}{}", style.palette.paint(Ink::Faint, &format!("… and {left} more (use --all)")));
    }
}

/// Each sample once, under the first of its classes that has room for it.
fn examples(out: &mut String, comparison: &Comparison, style: TextStyle) {
    let mut shown_before = vec![false; comparison.changes.len()];
    for class in Class::ALL {
        let total = comparison.counts.of(class);
        if total == 0 {
            continue;
        }
        let _ = writeln!(out, "\n{}", style.palette.paint(ink_of(class), &format!("{} ({total})", class.title())));
        let (mut above, mut here) = (0, 0);
        let mut task = None;
        for (change, shown) in comparison.changes.iter().zip(&mut shown_before) {
            if !change.is(class) {
                continue;
            }
            if *shown {
                above += 1;
                continue;
            }
            if here == style.limit {
                continue;
            }
            (*shown, here) = (true, here + 1);
            if task != Some(&change.task) {
                task = Some(&change.task);
                let _ = writeln!(out, "  {}", style.palette.paint(Ink::Bold, &one_line(&change.task, style.width - 2)));
            }
            example(out, change, class, style);
        }
        if above > 0 {
            let _ = writeln!(out, "  {}", style.palette.paint(Ink::Faint, &format!("{above} shown above")));
        }
        more(out, total.saturating_sub(above + here as u64), "  ", style);
    }
}

fn example(out: &mut String, change: &Change, class: Class, style: TextStyle) {
    let also: Vec<&str> = change.classes.iter().filter(|other| **other != class).map(|class| class.title()).collect();
    let also = if also.is_empty() { String::new() } else { format!("  (also {})", also.join(", ")) };
    let key = one_line(change.key.as_str(), style.width.saturating_sub(also.chars().count() + 4).max(20));
    let _ = writeln!(out, "    {key}{}", style.palette.paint(Ink::Faint, &also));
    let (a, b) = match (&change.a, &change.b) {
        (Some(a), Some(b)) => (a, b),
        (Some(one), None) | (None, Some(one)) => return alone(out, one, style),
        (None, None) => return,
    };
    if a.context != b.context {
        pair(out, "before", a.context.as_ref(), b.context.as_ref(), style);
    }
    pair(out, "prompt", Some(&a.prompt), Some(&b.prompt), style);
    pair(out, "expected", a.expected.as_ref(), b.expected.as_ref(), style);
    pair(out, "answer", a.output.as_ref(), b.output.as_ref(), style);
    let stopped = |sample: &Sample| sample.finish_reason.clone().unwrap_or_else(|| "nothing".to_owned());
    let turns = |sample: &Sample| format!("{} ({} tool calls)", sample.turns, sample.tool_calls);
    let facts = [
        ("status", ended(a), ended(b)),
        ("stopped", stopped(a), stopped(b)),
        ("provider", a.provider.clone(), b.provider.clone()),
        ("sent", a.input_fingerprint.short(), b.input_fingerprint.short()),
        ("turns", turns(a), turns(b)),
        ("tokens", tokens(a), tokens(b)),
    ];
    for (name, of_a, of_b) in facts {
        if of_a != of_b {
            line(out, name, &format!("{of_a} → {of_b}"), style);
        }
    }
    if let Some(trajectory) = &change.trajectory {
        course(out, trajectory, style);
    }
    scores(out, a, b, style);
}

/// What differs in how the answer was earned.
fn course(out: &mut String, change: &TrajectoryChange, style: TextStyle) {
    let kinds: Vec<&str> = change.kinds.iter().map(|kind| kind.as_str()).collect();
    if !kinds.is_empty() {
        line(out, "steps", &format!("differ in {}", kinds.join(", ")), style);
    }
    // Those of a sample with one attempt stand above, as far as the record has them.
    let is_above = |difference: &&TrajectoryDifference| {
        difference.attempt.is_none() && matches!(difference.kind, TrajectoryKind::Turns | TrajectoryKind::Stop)
    };
    for difference in change.differences.iter().filter(|difference| !is_above(difference)) {
        let attempt = difference.attempt.map(|attempt| format!("attempt {attempt}: ")).unwrap_or_default();
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        let (a, b) = (side(&difference.a), side(&difference.b));
        let name = difference.kind.as_str();
        if attempt.len() + a.len() + b.len() + 3 <= style.width - INDENT {
            line(out, name, &format!("{attempt}{a} → {b}"), style);
        } else {
            line(out, name, &format!("A {attempt}{a}"), style);
            line(out, "", &format!("B {attempt}{b}"), style);
        }
    }
}

/// A sample that only one run has.
fn alone(out: &mut String, one: &Sample, style: TextStyle) {
    line(out, "prompt", &one.prompt.text, style);
    for (name, text) in [("expected", &one.expected), ("answer", &one.output)] {
        if let Some(text) = text {
            line(out, name, &text.text, style);
        }
    }
    line(out, "status", &ended(one), style);
    for score in &one.scores {
        line(out, &score.scorer, &format!("{}: {}", verdict_of(score), score.explanation), style);
    }
}

fn ended(sample: &Sample) -> String {
    match &sample.error {
        Some(error) => format!("{} ({}: {})", sample.status.as_str(), error.class, error.message),
        None => sample.status.as_str().to_owned(),
    }
}

fn tokens(sample: &Sample) -> String {
    format!("{} in, {} out", sample.usage.input_tokens, sample.usage.output_tokens)
}

fn scores(out: &mut String, a: &Sample, b: &Sample, style: TextStyle) {
    let mut names: Vec<&str> = a.scores.iter().map(|score| score.scorer.as_str()).collect();
    for score in &b.scores {
        if !names.contains(&score.scorer.as_str()) {
            names.push(&score.scorer);
        }
    }
    for name in names {
        let of = |sample: &'_ Sample| sample.scores.iter().find(|score| score.scorer == name).cloned();
        match (of(a), of(b)) {
            (Some(x), Some(y)) if x == y => line(out, name, &format!("{}: {}", verdict_of(&x), x.explanation), style),
            (x, y) => {
                for (side, score) in [("A", x), ("B", y)] {
                    let text = score
                        .map_or_else(|| "no verdict".to_owned(), |x| format!("{}: {}", verdict_of(&x), x.explanation));
                    line(out, if side == "A" { name } else { "" }, &format!("{side} {text}"), style);
                }
            }
        }
    }
}

fn line(out: &mut String, name: &str, text: &str, style: TextStyle) {
    let _ = writeln!(out, "{}{}", label(name), one_line(text, style.width - INDENT));
}

/// The name of a line of an example, as wide as the indent.
fn label(name: &str) -> String {
    format!("      {:<9} ", one_line(name, 9))
}

/// A text that both sides have, as a word diff when it differs.
fn pair(out: &mut String, name: &str, a: Option<&Excerpt>, b: Option<&Excerpt>, style: TextStyle) {
    let text = |excerpt: Option<&Excerpt>| excerpt.map(|excerpt| visible(&excerpt.text)).unwrap_or_default();
    match (a, b) {
        (None, None) => {}
        (Some(one), Some(other)) if one == other => line(out, name, &one.text, style),
        _ => {
            let (text_a, text_b) = (text(a), text(b));
            let parts = word_diff(&text_a, &text_b);
            wrapped(out, name, &parts, style);
            let cut: Vec<String> = [("A", a), ("B", b)]
                .into_iter()
                .filter_map(|(side, excerpt)| excerpt.filter(|excerpt| excerpt.is_cut()).map(|excerpt| (side, excerpt)))
                .map(|(side, excerpt)| format!("{side} has {} bytes", excerpt.bytes))
                .collect();
            if !cut.is_empty() {
                line(out, "", &format!("(only the beginning: {})", cut.join(", ")), style);
            }
        }
    }
}

/// Writes a word diff, breaking lines between words where there is a border to break at.
fn wrapped(out: &mut String, name: &str, parts: &[Part<'_>], style: TextStyle) {
    let mut lines = Lines { done: Vec::new(), line: String::new(), used: 0, room: style.width - INDENT };
    for part in parts {
        let (open, close, ink) = match (part.tag, style.palette) {
            (Tag::Both, _) => ("", "", None),
            (Tag::Removed, Palette::Plain) => ("[-", "-]", None),
            (Tag::Added, Palette::Plain) => ("{+", "+}", None),
            (Tag::Removed, Palette::Colour) => ("", "", Some(Ink::Red)),
            (Tag::Added, Palette::Colour) => ("", "", Some(Ink::Green)),
        };
        let shortened;
        let text = if part.tag == Tag::Both && part.text.chars().count() > LONGEST_COMMON {
            shortened = shorten(part.text);
            shortened.as_str()
        } else {
            part.text
        };
        lines.put(&format!("{open}{text}{close}"), ink, style.palette);
        if lines.done.len() > MOST_LINES {
            break;
        }
    }
    let mut lines = lines.finish();
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES - 1);
        lines.push(style.palette.paint(Ink::Faint, "…"));
    }
    for (at, text) in lines.iter().enumerate() {
        let _ = writeln!(out, "{}{text}", label(if at == 0 { name } else { "" }));
    }
}

/// Both ends of a long text.
fn shorten(text: &str) -> String {
    const END: usize = LONGEST_COMMON / 3;
    let count = text.chars().count();
    let start: String = text.chars().take(END).collect();
    let end: String = text.chars().skip(count - END).collect();
    format!("{start} … {end}")
}

/// Lines of limited width; each is painted by itself, so that a line end never carries a colour.
struct Lines {
    done: Vec<String>,
    line: String,
    used: usize,
    room: usize,
}

impl Lines {
    fn put(&mut self, text: &str, ink: Option<Ink>, palette: Palette) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.end();
            }
            for word in line.split_inclusive(' ') {
                self.word(word, ink, palette);
            }
            // What nobody will see need not be laid out.
            if self.done.len() > MOST_LINES {
                return;
            }
        }
    }

    fn word(&mut self, word: &str, ink: Option<Ink>, palette: Palette) {
        let mut rest = word;
        let mut length = rest.chars().count();
        if self.used > 0 && self.used + length > self.room && length <= self.room {
            self.end();
        }
        while length > 0 && self.done.len() <= MOST_LINES {
            if self.used == self.room {
                self.end();
            }
            let taken = length.min(self.room - self.used);
            let border = rest.char_indices().nth(taken).map_or(rest.len(), |(at, _)| at);
            let (now, later) = rest.split_at(border);
            match ink {
                Some(ink) => self.line.push_str(&palette.paint(ink, now)),
                None => self.line.push_str(now),
            }
            self.used += taken;
            length -= taken;
            rest = later;
        }
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
        self.used = 0;
    }

    fn finish(mut self) -> Vec<String> {
        self.end();
        self.done
    }
}

fn summary(out: &mut String, comparison: &Comparison, failures: &[GateFailure], style: TextStyle) {
    let _ = writeln!(out, "\n{}", style.palette.paint(Ink::Bold, "summary"));
    for (name, text) in significance_lines(&comparison.significance) {
        let _ = writeln!(out, "  {name:<11}{text}");
    }
    for note in notes(comparison) {
        let _ = writeln!(out, "  {}", style.palette.paint(Ink::Yellow, &format!("note: {}", visible(&note))));
    }
    for failure in failures {
        let text = format!("FAIL {}: {}", failure.gate, visible(&failure.message));
        let _ = writeln!(out, "  {}", style.palette.paint(Ink::Red, &text));
    }
    let _ = writeln!(out, "  {:<11}{}", "verdict", verdict(comparison));
}
