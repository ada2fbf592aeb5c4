//! The comparison as workflow commands of GitHub Actions.

use std::fmt::Write as _;

use super::{answer, outcome, verdict};
use crate::diff::{Change, Class, Comparison, GateFailure, Gates};
use crate::text::one_line;

/// GitHub shows ten annotations of a level and step; more would push each other out.
const MOST_OF_A_LEVEL: usize = 10;
const MESSAGE: usize = 500;

/// Returns annotations and a summary line.
///
/// Failed gates and samples in gated classes are errors, regressions that no gate looks at are
/// warnings, improvements are notices; each up to ten. All else is in the summary line's counts.
pub fn github(comparison: &Comparison, gates: &Gates, failures: &[GateFailure]) -> String {
    let (mut errors, mut warnings, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    for failure in failures {
        errors.push(annotation("error", &format!("Proofmark gate {}", failure.gate), &failure.message));
    }
    for change in &comparison.changes {
        if let Some(class) = change.classes.iter().find(|class| gates.is_about(**class)) {
            errors.push(of_change("error", *class, change));
        } else if change.is(Class::Regression) {
            warnings.push(of_change("warning", Class::Regression, change));
        } else if change.is(Class::Improvement) {
            notices.push(of_change("notice", Class::Improvement, change));
        }
    }
    let mut out = String::new();
    for level in [errors, warnings, notices] {
        level.iter().take(MOST_OF_A_LEVEL).for_each(|line| out.push_str(line));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, "proofmark diff: {}", verdict(comparison));
    out
}

fn of_change(level: &str, class: Class, change: &Change) -> String {
    let mut message = String::new();
    for (side, sample) in [("A", &change.a), ("B", &change.b)] {
        let Some(sample) = sample else { continue };
        let _ = writeln!(message, "{side} ({}): {}", outcome(sample), answer(sample, MESSAGE));
    }
    if let Some(trajectory) = change.trajectory.as_ref().filter(|_| class == Class::TrajectoryChanged) {
        let kinds: Vec<&str> = trajectory.kinds.iter().map(|kind| kind.as_str()).collect();
        let _ = writeln!(message, "steps differ in {}", kinds.join(", "));
    }
    annotation(level, &format!("{}: {}", class.title(), one_line(change.key.as_str(), 200)), message.trim_end())
}

fn annotation(level: &str, title: &str, message: &str) -> String {
    format!("::{level} title={}::{}\n", property(title), data(message))
}

/// The message of a command.
fn data(text: &str) -> String {
    // The older `##[…]` commands are found anywhere in a line.
    let text = text.replace("##[", "## [");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_start_a_command_of_its_own() {
        let found = annotation("error", "a,b: c", "50%\n::set-env name=x::y\r##[error]z");
        assert_eq!(found, "::error title=a%2Cb%3A c::50%25%0A::set-env name=x::y%0D## [error]z\n");
    }
}
