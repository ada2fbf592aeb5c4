//! When a comparison fails a build.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::Comparison;
use super::class::Class;
use crate::text::excerpt;

/// What must not be found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gates {
    pub fail_on: BTreeSet<Gate>,
    /// Fail when B is worse and a paired test gives a p-value of at most this. Getting better never fails.
    pub fail_on_significant: Option<f64>,
}

/// One thing that must not be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// A sample in any class.
    Changes,
    /// Any difference in the bytes of a plane-1 file.
    Bytes,
    /// A sample in this class. `regressions`, `improvements` and `trajectory` are other names of theirs.
    Class(Class),
}

impl Gate {
    /// The names people write, in the order of help texts.
    pub fn names() -> Vec<&'static str> {
        let short = ["changes", "regressions", "improvements", "trajectory", "bytes"];
        short.into_iter().chain(Class::ALL.map(Class::as_str)).collect()
    }

    fn is_about(self, class: Class) -> bool {
        match self {
            Self::Changes => true,
            Self::Bytes => false,
            Self::Class(gated) => gated == class,
        }
    }
}

impl Gates {
    /// Whether some gate looks at this class.
    pub fn is_about(&self, class: Class) -> bool {
        self.fail_on.iter().any(|gate| gate.is_about(class))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changes => "changes",
            Self::Bytes => "bytes",
            Self::Class(Class::Regression) => "regressions",
            Self::Class(Class::Improvement) => "improvements",
            Self::Class(Class::TrajectoryChanged) => "trajectory",
            Self::Class(class) => class.as_str(),
        })
    }
}

/// The text is not the name of a gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not something a diff can fail on; expected one of {names}", names = Gate::names().join(", "))]
pub struct GateError(String);

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        match text {
            "changes" => Ok(Self::Changes),
            "bytes" => Ok(Self::Bytes),
            "regressions" => Ok(Self::Class(Class::Regression)),
            "improvements" => Ok(Self::Class(Class::Improvement)),
            "trajectory" => Ok(Self::Class(Class::TrajectoryChanged)),
            _ => text.parse().map(Self::Class).map_err(|_| GateError(excerpt(text, 80))),
        }
    }
}

/// A gate that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateFailure {
    /// The gate as people write it; `significant` for the p-value.
    pub gate: String,
    pub message: String,
}

/// Returns every gate that does not hold, in a fixed order.
pub fn gate(comparison: &Comparison, gates: &Gates) -> Vec<GateFailure> {
    let mut failures = Vec::new();
    let mut fail = |gate: String, message: String| failures.push(GateFailure { gate, message });
    for gate in &gates.fail_on {
        match gate {
            Gate::Changes if comparison.changed > 0 => {
                fail(gate.to_string(), format!("{} changed", samples(comparison.changed)));
            }
            Gate::Bytes if !comparison.identical => {
                let names: Vec<&str> = comparison.files.iter().map(|file| file.name.as_str()).collect();
                fail(gate.to_string(), format!("files differ: {}", names.join(", ")));
            }
            Gate::Class(class) if comparison.counts.of(*class) > 0 => {
                let count = comparison.counts.of(*class);
                let edited = match class {
                    Class::Regression => edited(comparison.regressions_with_other_input),
                    Class::Improvement => edited(comparison.improvements_with_other_input),
                    Class::TrajectoryChanged if !comparison.trajectory_kinds.is_empty() => {
                        format!(" ({})", super::format::kind_counts(comparison))
                    }
                    _ => String::new(),
                };
                fail(gate.to_string(), format!("{}{edited}", samples(count)));
            }
            _ => {}
        }
    }
    if let Some(limit) = gates.fail_on_significant {
        let found = &comparison.significance;
        let lost = found.only_a_passed > found.only_b_passed;
        if let Some(p) = found.mcnemar_p.filter(|p| lost && *p <= limit) {
            fail("significant".to_owned(), format!("fewer samples pass: p = {} (McNemar), limit {limit}", p_text(p)));
        } else if let Some(p) = found.mean_p.filter(|p| found.difference.is_some_and(|d| d < 0.0) && *p <= limit) {
            fail(
                "significant".to_owned(),
                format!("the mean fell: p = {} (paired bootstrap), limit {limit}", p_text(p)),
            );
        }
    }
    failures
}

/// A p-value in three digits.
pub(super) fn p_text(p: f64) -> String {
    if p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

pub(super) fn samples(count: u64) -> String {
    if count == 1 { "1 sample".to_owned() } else { format!("{count} samples") }
}

fn edited(count: u64) -> String {
    if count == 0 { String::new() } else { format!(" ({count} of them asked something else)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_have_names_that_read_back() {
        for name in Gate::names() {
            let gate: Gate = name.parse().unwrap();
            assert_eq!(gate.to_string().parse(), Ok(gate));
        }
        assert_eq!("regression".parse::<Gate>(), "regressions".parse());
        assert!("regress".parse::<Gate>().unwrap_err().to_string().contains("expected one of changes, "));
    }

    #[test]
    fn a_gate_looks_at_its_class_only() {
        let gates = Gates { fail_on: ["regressions".parse().unwrap()].into(), fail_on_significant: None };
        assert!(gates.is_about(Class::Regression) && !gates.is_about(Class::OutputChanged));
        let gates = Gates { fail_on: [Gate::Changes].into(), fail_on_significant: None };
        assert!(gates.is_about(Class::UsageChanged));
    }

    #[test]
    fn p_values_are_short() {
        assert_eq!((p_text(0.5), p_text(0.0012), p_text(1.5e-9)), ("0.500".into(), "0.001".into(), "1.5e-9".into()));
    }
}
