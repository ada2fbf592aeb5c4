//! The result for people.

use proofmark_artefact::number::count;
use proofmark_artefact::text::one_line;

use super::{Document, Finding, ModelCheck, Verdict};
use crate::ui::style::Style;
use crate::ui::wrap::wrap;

/// Columns before a text: the verdict and a gap.
const LEAD: usize = 6;
/// The longest foreign text that is shown.
const LONGEST: usize = 600;

pub(super) fn describe(document: &Document, style: Style, width: usize) -> String {
    let mut page = Page { out: String::new(), style, width };
    for model in &document.models {
        page.model(model);
    }
    for found in &document.surroundings {
        page.finding(found);
    }
    page.summary(document);
    page.out
}

struct Page {
    out: String,
    style: Style,
    width: usize,
}

impl Page {
    fn model(&mut self, check: &ModelCheck) {
        let mut facts = Vec::new();
        match (check.result, &check.class) {
            (Verdict::Failed, Some(class)) => facts.push(class.clone()),
            (Verdict::Skipped, _) => facts.extend(check.message.clone()),
            _ => {}
        }
        if check.result == Verdict::Failed {
            let what = if check.model.starts_with("command:") { "exit status" } else { "status" };
            facts.extend(check.status.map(|status| format!("{what} {status}")));
        }
        facts.extend(check.latency_ms.map(latency));
        if check.attempts > 1 {
            facts.push(format!("{} attempts", check.attempts));
        }
        facts.extend(check.answered_by.as_ref().map(|name| format!("answered by {}", one_line(name, 120))));
        facts.extend(
            check
                .usage
                .map(|usage| format!("{} tokens in and {} out", count(usage.input_tokens), count(usage.output_tokens))),
        );
        facts.extend(check.request_id.as_ref().map(|id| format!("request {}", one_line(id, 120))));
        let name = format!("{} ({})", one_line(&check.id, 128), one_line(&check.model, 200));
        let facts = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
        self.line(check.result, &format!("{name}{facts}"));
        if check.result == Verdict::Failed {
            let words = check.message.as_deref().unwrap_or_default();
            self.below(&one_line(words, LONGEST));
        }
        for warning in &check.warnings {
            let text = wrap(LEAD, &format!("warning: {}", one_line(warning, LONGEST)), self.width);
            self.out.push_str(&format!("{:LEAD$}{}\n", "", self.style.warn(&text)));
        }
        self.hint(check.hint.as_deref());
    }

    fn finding(&mut self, found: &Finding) {
        self.line(found.result, &format!("{}: {}", found.name, one_line(&found.detail, LONGEST)));
        self.hint(found.hint.as_deref());
    }

    fn line(&mut self, verdict: Verdict, text: &str) {
        let (word, mark) = match verdict {
            Verdict::Ok => ("ok", self.style.good("ok")),
            Verdict::Failed => ("FAIL", self.style.error("FAIL")),
            Verdict::Skipped => ("skip", self.style.dim("skip")),
            Verdict::Warning => ("warn", self.style.warn("warn")),
        };
        let gap = LEAD - word.len();
        self.out.push_str(&format!("{mark}{:gap$}{}\n", "", wrap(LEAD, text, self.width)));
    }

    fn below(&mut self, text: &str) {
        self.out.push_str(&format!("{:LEAD$}{}\n", "", wrap(LEAD, text, self.width)));
    }

    fn hint(&mut self, hint: Option<&str>) {
        let Some(hint) = hint else { return };
        let text = wrap(LEAD, &format!("hint: {}", one_line(hint, LONGEST)), self.width);
        let rest = text.strip_prefix("hint:").unwrap_or(&text);
        self.out.push_str(&format!("{:LEAD$}{}{rest}\n", "", self.style.hint("hint:")));
    }

    fn summary(&mut self, document: &Document) {
        let counts = &document.counts;
        let mut parts = vec![format!("{} ok", counts.ok)];
        for (number, word) in
            [(counts.failed, "failed"), (counts.skipped, "skipped"), (counts.warnings, "with a warning")]
        {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        }
        let end = if document.models.is_empty() { "name a suite to ask its models" } else { "nothing was written" };
        let text = wrap(0, &format!("{}; {end}", parts.join(", ")), self.width);
        self.out.push_str(&format!("\n{}\n", self.style.bold(&text)));
    }
}

fn latency(millis: f64) -> String {
    if millis < 9_999.5 { format!("{millis:.0} ms") } else { format!("{:.1} s", millis / 1000.0) }
}
