//! A trajectory as plain text: what was said, called and returned, in order.

use std::fmt::Write as _;

use crate::trajectory::{Step, Trajectory, head};

/// The longest text of one trajectory.
pub(super) const MAX_TRACE: usize = 64 * 1024;
const CUT: &str = "\n[the rest is left out]";

/// Tells a trajectory. What the model was shown before it first spoke is the question, and left out.
pub(super) fn render_trace(trajectory: &Trajectory) -> String {
    let mut text = String::new();
    let first = trajectory.steps.iter().position(|step| !matches!(step, Step::Prompt { .. }));
    for step in &trajectory.steps[first.unwrap_or(trajectory.steps.len())..] {
        tell(step, &mut text);
        if text.len() > MAX_TRACE {
            break;
        }
    }
    if let Some(why) = &trajectory.no_answer {
        let _ = writeln!(text, "No answer: {why}");
    }
    text.truncate(text.trim_end().len());
    if text.len() > MAX_TRACE {
        text.truncate(head(&text, MAX_TRACE - CUT.len()).len());
        text.push_str(CUT);
    }
    text
}

fn tell(step: &Step, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match step {
        Step::Prompt { head, role, bytes, .. } => {
            writeln!(text, "{}: {}{}", role.as_str(), head.trim_end(), cut(head, *bytes))
        }
        Step::ModelOutput { head, .. } if head.trim().is_empty() => Ok(()),
        Step::ModelOutput { head, bytes, .. } => writeln!(text, "{}{}", head.trim_end(), cut(head, *bytes)),
        Step::ToolCall { name, args, args_truncated, .. } => {
            let mark = if *args_truncated { " …" } else { "" };
            writeln!(text, "Call {name}: {args}{mark}")
        }
        Step::ToolResult { name, head, bytes, is_error, source, .. } => {
            let what = if *is_error { "Error" } else { "Result" };
            let from = source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
            writeln!(text, "{what} of {name}{from}: {}{}", head.trim_end(), cut(head, *bytes))
        }
    };
}

/// Marks a head that is not all.
fn cut(head: &str, bytes: u64) -> &'static str {
    if (head.len() as u64) < bytes { " …" } else { "" }
}

#[cfg(test)]
mod tests {
    use proofmark_canon::{Digest, RunId, SampleKey};

    use super::*;
    use crate::record::{Role, Usage};

    fn trajectory(steps: Vec<Step>) -> Trajectory {
        Trajectory {
            attempt: None,
            final_answer: None,
            key: SampleKey::new("t", "i", "m", "c", 0),
            model: "m".to_owned(),
            no_answer: None,
            run_id: RunId::from_digest(&Digest::of(b"run")),
            steps,
            stop: None,
            task_id: "t".to_owned(),
            turns: 1,
            usage: Usage::default(),
        }
    }

    #[test]
    fn a_trace_tells_every_step_after_the_question() {
        let args = proofmark_canon::json::parse(br#"{"path":"a.csv"}"#).unwrap();
        let mut told = trajectory(vec![
            Step::prompt(Role::System, "how"),
            Step::prompt(Role::User, "what?"),
            Step::model_output("Let me look.\n", None),
            Step::tool_call("file_read", &args).unwrap(),
            Step::tool_result("file_read", b"1,2\n", Some("a.csv"), false, None, None),
            Step::model_output("", None),
            Step::tool_result("x", "é".repeat(3000).as_bytes(), None, true, Some("timeout"), None),
            Step::prompt(Role::User, "Go on."),
        ]);
        told.no_answer = Some("it never called `submit`".to_owned());
        let want = format!(
            "Let me look.\nCall file_read: {{\"path\":\"a.csv\"}}\nResult of file_read (a.csv): 1,2\n\
             Error of x: {} …\nuser: Go on.\nNo answer: it never called `submit`",
            "é".repeat(2048)
        );
        assert_eq!(render_trace(&told), want);
        assert_eq!(render_trace(&trajectory(vec![Step::prompt(Role::User, "what?")])), "");
        assert_eq!(render_trace(&trajectory(vec![])), "");
    }

    #[test]
    fn a_long_trace_is_cut_between_characters() {
        let steps = (0..60).map(|_| Step::model_output(&format!("a{}", "é".repeat(4000)), None)).collect();
        let text = render_trace(&trajectory(steps));
        assert!(text.len() <= MAX_TRACE && text.ends_with(CUT), "{}", text.len());
    }
}
