//! The comparison as JUnit XML.
//!
//! One test case a cell, since a case for each of a million samples helps nobody: it fails when the
//! cell has samples in a class that a gate looks at, and lists the first ones. Gates that look at the
//! whole comparison (`bytes`, `significant`) are cases of a second suite.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escape::xml;
use super::{answer, outcome, verdict};
use crate::diff::gate::samples;
use crate::diff::{CellDifference, Change, Class, Comparison, GateFailure, Gates};
use crate::text::{one_line, visible};

const MOST_EXAMPLES: usize = 20;

/// Returns an XML document.
pub fn junit(comparison: &Comparison, gates: &Gates, failures: &[GateFailure]) -> String {
    let failing: Vec<bool> = comparison.cells.iter().map(|cell| !gated(cell, gates).is_empty()).collect();
    let failed_cells = failing.iter().filter(|failing| **failing).count();
    let whole: Vec<&GateFailure> =
        failures.iter().filter(|failure| matches!(failure.gate.as_str(), "bytes" | "significant")).collect();
    let tests = comparison.cells.len() + whole.len();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "<testsuites name=\"proofmark diff\" tests=\"{tests}\" failures=\"{}\">",
        failed_cells + whole.len()
    );
    let _ =
        writeln!(out, "  <testsuite name=\"cells\" tests=\"{}\" failures=\"{failed_cells}\">", comparison.cells.len());
    let mut examples: BTreeMap<[&str; 3], Vec<&Change>> = BTreeMap::new();
    for change in &comparison.changes {
        examples.entry([&change.task, &change.model, &change.condition]).or_default().push(change);
    }
    for cell in &comparison.cells {
        let of_cell = examples.get(&[cell.task.as_str(), &cell.model, &cell.condition]);
        case(&mut out, cell, of_cell.map_or(&[], Vec::as_slice), gates);
    }
    out.push_str("  </testsuite>\n");
    if !whole.is_empty() {
        let _ = writeln!(out, "  <testsuite name=\"gates\" tests=\"{0}\" failures=\"{0}\">", whole.len());
        for failure in whole {
            let (gate, message) = (attribute(&failure.gate), attribute(&failure.message));
            let _ = writeln!(out, "    <testcase classname=\"gates\" name=\"{gate}\">");
            let _ = writeln!(out, "      <failure type=\"{gate}\" message=\"{message}\"/>");
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    let _ = writeln!(out, "  <system-out>{}</system-out>", xml(&visible(&verdict(comparison))));
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, cell: &CellDifference, examples: &[&Change], gates: &Gates) {
    let name = format!("{} / {}", cell.model, cell.condition);
    let _ = write!(out, "    <testcase classname=\"{}\" name=\"{}\"", attribute(&cell.task), attribute(&name));
    let classes = gated(cell, gates);
    if classes.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    for class in classes {
        let count = cell.counts.of(class);
        let message = format!("{}: {}", class.title(), samples(count));
        let _ = write!(out, "      <failure type=\"{class}\" message=\"{}\">", attribute(&message));
        let mut listed = 0;
        for change in examples.iter().filter(|change| change.is(class)).take(MOST_EXAMPLES) {
            listed += 1;
            out.push_str(&xml(&example(change)));
        }
        if listed < count {
            let _ = write!(out, "\n… and {} more", count - listed);
        }
        out.push_str("</failure>\n");
    }
    out.push_str("    </testcase>\n");
}

fn example(change: &Change) -> String {
    let mut text = format!("\n{}", one_line(change.key.as_str(), 500));
    for (side, sample) in [("A", &change.a), ("B", &change.b)] {
        let Some(sample) = sample else { continue };
        let _ = write!(text, "\n  {side} ({}): {}", outcome(sample), answer(sample, 500));
    }
    text
}

/// The classes of a cell that a gate looks at.
fn gated(cell: &CellDifference, gates: &Gates) -> Vec<Class> {
    Class::ALL.into_iter().filter(|class| cell.counts.of(*class) > 0 && gates.is_about(*class)).collect()
}

fn attribute(text: &str) -> String {
    xml(&one_line(text, 500))
}
