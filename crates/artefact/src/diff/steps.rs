//! Two trajectories compared without building them.
//!
//! Steps are canonical objects, so what matters in each is a piece of its text. Tokens of a turn stand
//! last in theirs and are left out: a model that counts otherwise has not acted otherwise.

use std::collections::BTreeMap;

use super::kind::{Kinds, TrajectoryKind as Kind};
use super::scan::{TrajectoryRow, skip_value, trajectory};

/// Returns in what two trajectories differ, or `None` when one of them has no list of steps.
pub(super) fn compare(a: TrajectoryRow<'_>, b: TrajectoryRow<'_>) -> Option<Kinds> {
    let differs = |member| a.value(member) != b.value(member);
    let mut kinds = Kinds::default();
    let turns = differs(trajectory::TURNS);
    kinds.put(Kind::Turns, turns);
    kinds.put(Kind::Stop, differs(trajectory::STOP));
    kinds.put(Kind::Answer, differs(trajectory::FINAL_ANSWER) || differs(trajectory::NO_ANSWER));
    if differs(trajectory::MODEL) || differs(trajectory::TASK_ID) {
        kinds.add(Kinds::OTHER);
    }
    if !differs(trajectory::STEPS) {
        return Some(kinds);
    }
    let (a, b) = (Steps::of(a.value(trajectory::STEPS))?, Steps::of(b.value(trajectory::STEPS))?);
    let names = |steps: &Steps<'_>| steps.calls.iter().map(|(name, _)| name.to_vec()).collect::<Vec<_>>();
    let (names_a, names_b) = (names(&a), names(&b));
    let mut in_steps = Kinds::default();
    if names_a != names_b {
        let sorted = |mut names: Vec<Vec<u8>>| {
            names.sort_unstable();
            names
        };
        let same_tools = sorted(names_a) == sorted(names_b);
        in_steps.put(if same_tools { Kind::Order } else { Kind::Tools }, true);
    }
    in_steps.put(Kind::Arguments, differ_by_name(&a.calls, &b.calls));
    in_steps.put(Kind::Results, differ_by_name(&a.results, &b.results));
    in_steps.put(Kind::Prompts, a.prompts != b.prompts);
    // A turn that only one side has is said by the turns.
    let outputs = a.outputs.iter().zip(&b.outputs).any(|(a, b)| a != b);
    in_steps.put(Kind::Outputs, outputs || (a.outputs.len() != b.outputs.len() && !turns));
    if a.usage != b.usage {
        in_steps.add(Kinds::USAGE);
    }
    // The same steps that stand otherwise: results that came after all calls, say.
    in_steps.put(Kind::Order, in_steps.is_empty());
    kinds.add(in_steps);
    Some(kinds)
}

/// Whether the contents of some name differ, of those that both sides have equally often.
fn differ_by_name(a: &[(&[u8], &[u8])], b: &[(&[u8], &[u8])]) -> bool {
    fn by_name<'a>(list: &[(&'a [u8], &'a [u8])]) -> BTreeMap<&'a [u8], Vec<&'a [u8]>> {
        let mut named: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (name, content) in list {
            named.entry(*name).or_default().push(*content);
        }
        named
    }
    let (a, b) = (by_name(a), by_name(b));
    a.iter().any(|(name, of_a)| b.get(name).is_some_and(|of_b| of_a.len() == of_b.len() && of_a != of_b))
}

/// The pieces of steps that can differ.
#[derive(Default)]
struct Steps<'a> {
    prompts: Vec<&'a [u8]>,
    outputs: Vec<&'a [u8]>,
    /// What follows the outputs: their tokens.
    usage: Vec<&'a [u8]>,
    /// Names and arguments.
    calls: Vec<(&'a [u8], &'a [u8])>,
    /// Names and everything.
    results: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Steps<'a> {
    fn of(list: &'a [u8]) -> Option<Self> {
        let mut steps = Self::default();
        if list == b"[]" {
            return Some(steps);
        }
        let mut at = 1;
        loop {
            let end = skip_value(list, at)?;
            steps.push(&list[at..end])?;
            match list.get(end)? {
                b',' => at = end + 1,
                b']' if end + 1 == list.len() => return Some(steps),
                _ => return None,
            }
        }
    }

    fn push(&mut self, step: &'a [u8]) -> Option<()> {
        let (mut kind, mut kind_end) = (b"".as_slice(), 0);
        let (mut name, mut before_name) = (b"".as_slice(), 0);
        // At the brace, then at the comma before each member.
        let mut at = 0;
        while step.get(at)? != &b'}' {
            let colon = skip_value(step, at + 1)?;
            let end = (step.get(colon)? == &b':').then(|| skip_value(step, colon + 1)).flatten()?;
            match &step[at + 1..colon] {
                b"\"type\"" => (kind, kind_end) = (&step[colon + 1..end], end),
                b"\"name\"" => (name, before_name) = (&step[colon + 1..end], at),
                _ => {}
            }
            at = end;
        }
        match kind {
            b"\"prompt\"" => self.prompts.push(step),
            b"\"model_output\"" => {
                self.outputs.push(&step[..kind_end]);
                self.usage.push(&step[kind_end..]);
            }
            b"\"tool_call\"" => self.calls.push((name, &step[..before_name])),
            b"\"tool_result\"" => self.results.push((name, step)),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::sample;
    use crate::diff::scan::{Row, TRAJECTORY};
    use crate::record::{Role, Usage};
    use crate::trajectory::{Step, StopReason, Trajectory};
    use proofmark_canon::{Value, json};

    fn call(name: &str, args: &str) -> Step {
        Step::tool_call(name, &Value::from(args)).unwrap()
    }

    fn result(name: &str, text: &str) -> Step {
        Step::tool_result(name, text.as_bytes(), None, false, None, None)
    }

    fn output(text: &str, tokens: u64) -> Step {
        Step::model_output(text, Some(Usage { input_tokens: tokens, output_tokens: 1 }))
    }

    fn agent() -> Trajectory {
        Trajectory {
            stop: Some(StopReason::Answered),
            steps: vec![
                Step::prompt(Role::User, "so?"),
                output("let me see", 10),
                call("search", "x"),
                call("fetch", "y"),
                result("search", "found"),
                result("fetch", "page"),
                output("yes", 20),
            ],
            turns: 2,
            ..sample::trajectory("t/i/m/c/0", "yes")
        }
    }

    fn kinds(change: impl Fn(&mut Trajectory)) -> String {
        let mut other = agent();
        change(&mut other);
        let bytes = [agent(), other].map(|line| proofmark_canon::to_vec(&line).unwrap());
        let ends = [0, 1].map(|at| TRAJECTORY.scan(&bytes[at]).unwrap());
        let [a, b] =
            [0, 1].map(|at| Row { shape: &TRAJECTORY, bytes: &bytes[at], ends: &ends[at], line: 1, offset: 0 });
        let kinds = compare(a, b).unwrap();
        assert_eq!(compare(b, a), Some(kinds));
        let named: Vec<&str> = kinds.iter().map(Kind::as_str).collect();
        let only_tokens = !kinds.is_empty() && !kinds.is_change();
        if only_tokens { "only tokens".to_owned() } else { named.join(" ") }
    }

    #[test]
    fn every_kind_is_found_and_nothing_else() {
        type Edit = fn(&mut Trajectory);
        let edits: [(Edit, &str); 17] = [
            (|_| {}, ""),
            (|t| t.steps[2] = call("look", "x"), "tools"),
            (|t| drop(t.steps.remove(2)), "tools"),
            (|t| t.steps.swap(2, 3), "order"),
            (|t| t.steps.swap(3, 4), "order"),
            (|t| t.steps[2] = call("search", "z"), "arguments"),
            (|t| t.steps[4] = result("search", "nothing"), "results"),
            (|t| t.steps[1] = output("let us see", 10), "outputs"),
            (|t| t.steps.push(output("really", 1)), "outputs"),
            (|t| t.steps[0] = Step::prompt(Role::User, "so!"), "prompts"),
            (|t| t.steps.insert(2, Step::prompt(Role::User, "go on")), "prompts"),
            (|t| t.turns = 3, "turns"),
            (|t| t.stop = Some(StopReason::Submitted), "stop"),
            (|t| t.final_answer = None, "answer"),
            (|t| t.no_answer = Some("silent".into()), "answer"),
            (|t| t.steps[1] = output("let me see", 11), "only tokens"),
            (
                |t| {
                    t.steps.truncate(2);
                    t.turns = 1;
                    t.stop = Some(StopReason::MaxTurns);
                },
                "tools turns stop",
            ),
        ];
        for (at, (edit, want)) in edits.into_iter().enumerate() {
            assert_eq!(kinds(edit), want, "edit {at}");
        }
    }

    #[test]
    fn a_call_more_does_not_hide_other_arguments_of_another_tool() {
        let change = |t: &mut Trajectory| {
            t.steps[3] = call("fetch", "z");
            t.steps.insert(2, call("search", "w"));
        };
        assert_eq!(kinds(change), "tools arguments");
    }

    #[test]
    fn what_is_no_list_of_steps_is_refused() {
        let good = json::to_vec(&agent().steps).unwrap();
        assert!(Steps::of(&good).is_some());
        for end in 0..good.len() {
            assert!(Steps::of(&good[..end]).is_none(), "{end}");
        }
        for bad in ["{}", "[1]", "[{}]", "[{\"type\":\"dance\"}]", "[{\"type\"}]", "[[]]", "null", "[{\"type\":1}}"] {
            assert!(Steps::of(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
