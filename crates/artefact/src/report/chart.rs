//! Small drawings that stand in table cells.
//!
//! Horizontal positions are percentages of the cell's width, so that a drawing fits any screen
//! without a script and without stretching its dots. What a drawing shows is in words beside it,
//! so drawings are hidden from screen readers.

use super::html::Html;
use crate::number;
use crate::summary::{Comparison, Estimate, Interval};

/// A line of numbers that several drawings share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// From nothing to everything.
    pub(super) const PARTS: Self = Self { low: 0.0, high: 1.0 };

    /// An axis with zero in its middle that reaches the widest of the intervals.
    pub(super) fn around_zero<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Self {
        let reach = comparisons
            .flat_map(|comparison| [comparison.interval.low, comparison.interval.high, comparison.difference])
            .fold(0.0, |reach: f64, end| reach.max(end.abs()));
        let reach = [0.05, 0.1, 0.2, 0.3, 0.5].into_iter().find(|step| reach <= *step).unwrap_or(1.0);
        Self { low: -reach, high: reach }
    }

    fn is_around_zero(self) -> bool {
        self.low < 0.0
    }

    /// Five places: both ends, the middle and the two between.
    fn ticks(self) -> [f64; 5] {
        [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| self.low + (self.high - self.low) * part)
    }

    /// Where a number stands, from 0 to 100.
    fn place(self, number: f64) -> f64 {
        ((number - self.low) / (self.high - self.low)).clamp(0.0, 1.0) * 100.0
    }
}

/// Writes the numbers of the axis, for the head of a column of drawings.
pub(super) fn axis(html: &mut Html, axis: Axis) {
    html.raw("<svg class=\"axis\" aria-hidden=\"true\" focusable=\"false\">");
    for (at, tick) in axis.ticks().into_iter().enumerate() {
        let label = if axis.is_around_zero() {
            // Ends and middle are enough: the steps between need decimals.
            if at % 2 == 1 { continue } else { number::points(tick).replace(".0", "") }
        } else {
            number::percent(tick).replace(".0", "")
        };
        html.raw("<text y=\"12\"").attr("x", &at_percent(axis.place(tick))).raw(">").text(&label).raw("</text>");
    }
    html.raw("</svg>");
}

/// Draws a mean as a dot on its interval, or only the axis when there is none.
pub(super) fn estimate(html: &mut Html, estimate: Option<&Estimate>, baseline: bool) {
    open(html, Axis::PARTS);
    if let Some(estimate) = estimate {
        let class = if baseline { "dot base" } else { "dot" };
        whisker(html, Axis::PARTS, &estimate.interval, estimate.mean, class);
    }
    close(html);
}

/// Draws a mean as a bar with its interval.
pub(super) fn bar(html: &mut Html, estimate: Option<&Estimate>) {
    open(html, Axis::PARTS);
    if let Some(estimate) = estimate {
        html.raw("<rect class=\"bar\" x=\"0\" y=\"-6\" height=\"12\"");
        html.attr("width", &at_percent(Axis::PARTS.place(estimate.mean))).raw("/>");
        range(html, Axis::PARTS, &estimate.interval);
    }
    close(html);
}

/// Draws a difference and its interval against zero.
pub(super) fn difference(html: &mut Html, axis: Axis, comparison: &Comparison) {
    let class = match Direction::of(comparison) {
        Direction::Higher => "dot up",
        Direction::Lower => "dot down",
        Direction::Unclear => "dot base",
    };
    open(html, axis);
    whisker(html, axis, &comparison.interval, comparison.difference, class);
    close(html);
}

/// Draws how many items were won, tied and lost as one divided bar.
pub(super) fn shares(html: &mut Html, comparison: &Comparison) {
    let parts = [("up", comparison.wins), ("tie", comparison.ties), ("down", comparison.losses)];
    let all: u64 = parts.iter().fold(0, |all, (_, part)| all.saturating_add(*part));
    html.raw("<svg class=\"shares\" aria-hidden=\"true\" focusable=\"false\">");
    let mut before = 0u64;
    for (class, part) in parts.into_iter().filter(|(_, part)| *part > 0) {
        let share = |count: u64| at_percent(count as f64 / all as f64 * 100.0);
        html.raw("<rect height=\"5\"").attr("class", class).attr("x", &share(before));
        html.attr("width", &share(part)).raw("/>");
        before = before.saturating_add(part);
    }
    html.raw("</svg>");
}

/// What an interval says about the sign of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Higher,
    Lower,
    /// The interval holds zero.
    Unclear,
}

impl Direction {
    pub(super) fn of(comparison: &Comparison) -> Self {
        match comparison.interval {
            Interval { low, .. } if low > 0.0 => Self::Higher,
            Interval { high, .. } if high < 0.0 => Self::Lower,
            _ => Self::Unclear,
        }
    }
}

/// Opens a drawing that fills its cell: grid lines over the whole height, then a group whose
/// vertical zero is the middle.
fn open(html: &mut Html, axis: Axis) {
    html.raw("<svg class=\"plot\" aria-hidden=\"true\" focusable=\"false\">");
    for (at, tick) in axis.ticks().into_iter().enumerate() {
        let class = if axis.is_around_zero() && at == 2 { "zero" } else { "grid" };
        let x = at_percent(axis.place(tick));
        html.raw("<line y1=\"0\" y2=\"100%\"").attr("class", class).attr("x1", &x).attr("x2", &x).raw("/>");
    }
    html.raw("<svg y=\"50%\" overflow=\"visible\">");
}

fn close(html: &mut Html) {
    html.raw("</svg></svg>");
}

fn whisker(html: &mut Html, axis: Axis, interval: &Interval, at: f64, class: &'static str) {
    range(html, axis, interval);
    html.raw("<circle r=\"4.5\"").attr("class", class).attr("cx", &at_percent(axis.place(at))).raw("/>");
}

fn range(html: &mut Html, axis: Axis, interval: &Interval) {
    let (low, high) = (at_percent(axis.place(interval.low)), at_percent(axis.place(interval.high)));
    html.raw("<line class=\"range\"").attr("x1", &low).attr("x2", &high).raw("/>");
    for end in [&low, &high] {
        html.raw("<line class=\"range\" y1=\"-4\" y2=\"4\"").attr("x1", end).attr("x2", end).raw("/>");
    }
}

fn at_percent(number: f64) -> String {
    let mut text = number::coordinate(number);
    text.push('%');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn drawn(draw: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        draw(&mut html);
        html.take()
    }

    #[test]
    fn a_mean_stands_where_it_belongs_with_two_decimals() {
        let third = fixture::estimate(1.0 / 3.0, 0.1, 0.9);
        let svg = drawn(|html| estimate(html, Some(&third), false));
        assert!(svg.contains("class=\"dot\" cx=\"33.33%\""), "{svg}");
        assert!(svg.contains("<line class=\"range\" x1=\"10%\" x2=\"90%\"/>"), "{svg}");
    }

    #[test]
    fn nothing_leaves_the_axis() {
        let wild = fixture::estimate(7.0, -3.0, 9.0);
        let svg = drawn(|html| estimate(html, Some(&wild), true));
        assert!(svg.contains("cx=\"100%\"") && svg.contains("x1=\"0%\" x2=\"100%\"") && !svg.contains("700"), "{svg}");
    }

    #[test]
    fn the_axis_around_zero_grows_in_steps() {
        let mut comparison = fixture::summary().comparisons[0].clone();
        let cases = [(0.0, 0.04, 0.05), (-0.12, 0.01, 0.2), (-0.6, 0.1, 1.0)];
        for (low, high, reach) in cases {
            (comparison.interval.low, comparison.interval.high, comparison.difference) = (low, high, high);
            assert_eq!(Axis::around_zero([&comparison].into_iter()), Axis { low: -reach, high: reach });
        }
        assert_eq!(Axis::around_zero([].into_iter()), Axis { low: -0.05, high: 0.05 });
    }

    #[test]
    fn an_interval_that_holds_zero_says_nothing_about_direction() {
        let mut comparison = fixture::summary().comparisons[0].clone();
        let cases = [
            (0.01, 0.2, Direction::Higher),
            (-0.2, -0.01, Direction::Lower),
            (-0.1, 0.1, Direction::Unclear),
            (0.0, 0.1, Direction::Unclear),
        ];
        for (low, high, want) in cases {
            (comparison.interval.low, comparison.interval.high) = (low, high);
            assert_eq!(Direction::of(&comparison), want);
        }
    }

    #[test]
    fn shares_fill_the_bar_and_empty_ones_are_not_drawn() {
        let mut comparison = fixture::summary().comparisons[0].clone();
        (comparison.wins, comparison.ties, comparison.losses) = (3, 0, 1);
        let svg = drawn(|html| shares(html, &comparison));
        assert!(
            svg.contains("class=\"up\" x=\"0%\" width=\"75%\"")
                && svg.contains("class=\"down\" x=\"75%\" width=\"25%\"")
        );
        assert!(!svg.contains("tie"), "{svg}");
    }
}
