//! One sample as text: what was asked, how it was answered, how that was scored.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proofmark_artefact::lookup::Found;
use proofmark_artefact::manifest::PriceEntry;
use proofmark_artefact::number::{count, counted};
use proofmark_artefact::record::{Record, Status, Usage, Voting};
use proofmark_artefact::text::{escaped, visible};
use proofmark_artefact::trajectory::{Step, Trajectory};
use proofmark_artefact::words;
use proofmark_canon::{Digest, json};

use super::style::Style;
use super::wrap::fold;

/// What is shown, and how.
pub(crate) struct View<'a> {
    pub(crate) found: &'a Found,
    pub(crate) price: Option<&'a PriceEntry>,
    /// Whether the run recorded evidence.
    pub(crate) recorded: bool,
    pub(crate) length: Length,
    /// The whole content with a digest, where the run keeps it.
    pub(crate) body: &'a dyn Fn(&Digest) -> Option<Vec<u8>>,
    pub(crate) style: Style,
    pub(crate) width: usize,
}

/// How much of each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// A few lines.
    Short,
    /// Everything that was recorded.
    Full,
}

/// Lines of a text that are shown.
const SHORT: usize = 6;
/// Finds that are told of each result.
const FINDS: usize = 6;

/// Returns the text of a sample.
pub(crate) fn describe(view: &View<'_>) -> String {
    let mut page = Page { out: String::new(), view };
    let record = &view.found.record;
    page.header(record);
    page.heading("question");
    for message in &record.input.messages {
        page.line(2, &view.style.dim(message.role.as_str()));
        page.text(4, &message.content);
    }
    if let Some(voting) = &record.voting {
        page.votes(voting);
    }
    if view.found.trajectories.is_empty() && !view.recorded {
        page.out.push('\n');
        page.line(0, &view.style.dim("no evidence was recorded: how the answer was earned is not known"));
    }
    for trajectory in &view.found.trajectories {
        page.attempt(trajectory, record);
    }
    page.end(record);
    page.out
}

struct Page<'a> {
    out: String,
    view: &'a View<'a>,
}

impl Page<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.out, "\n{}", self.view.style.bold(text));
    }

    /// A text of others, wrapped and, unless everything was asked for, cut.
    fn text(&mut self, indent: usize, text: &str) {
        if text.is_empty() {
            return self.line(indent, &self.view.style.dim("nothing"));
        }
        let most = if self.view.length == Length::Full { usize::MAX } else { SHORT };
        let (lines, left) = fold(&visible(text), self.view.width.saturating_sub(indent), most);
        for line in lines {
            self.line(indent, &line);
        }
        if left > 0 {
            let more = format!("… {} (--full shows them)", counted(left as u64, "more line", "more lines"));
            self.line(indent, &self.view.style.dim(&more));
        }
    }

    fn header(&mut self, record: &Record) {
        let style = self.view.style;
        let outcome = match (record.status, record.scores.first()) {
            (Status::Success, Some(score)) if score.passed => style.good("passed"),
            (Status::Success, Some(_)) => style.bad("failed"),
            (status, _) => style.bad(if status == Status::Success { "no score" } else { status.as_str() }),
        };
        self.line(0, &format!("{}  {outcome}", style.bold(&escaped(record.key.as_str()))));
        let mut facts = format!("seed {}, {}", record.seed.get(), self.cost(record.usage));
        if record.turns > 1 || record.tool_calls > 0 {
            let turns = counted(record.turns.into(), "turn", "turns");
            let _ = write!(facts, ", {turns}, {}", counted(record.tool_calls.into(), "tool call", "tool calls"));
        }
        self.line(0, &style.dim(&facts));
    }

    fn cost(&self, usage: Usage) -> String {
        words::tokens(usage, self.view.price.map(|price| price.cost(usage)))
    }

    fn votes(&mut self, voting: &Voting) {
        let style = self.view.style;
        self.heading("votes");
        self.line(2, &words::vote(voting));
        let all = if self.view.length == Length::Full { usize::MAX } else { 20 };
        for (at, answer) in voting.answers.iter().enumerate().take(all) {
            let mark = if voting.chosen.is_some_and(|chosen| chosen as usize == at) { "*" } else { " " };
            let room = self.view.width.saturating_sub(9).max(20);
            let text = match answer {
                Some(answer) => proofmark_artefact::text::one_line(answer, room),
                None => style.dim("no answer"),
            };
            self.line(2, &format!("{mark} {at:>3}  {text}"));
        }
        let left = voting.answers.len().saturating_sub(all);
        if left > 0 {
            self.line(2, &style.dim(&format!("… and {} more", count(left as u64))));
        }
    }

    fn attempt(&mut self, trajectory: &Trajectory, record: &Record) {
        let style = self.view.style;
        let title = match trajectory.attempt {
            Some(number) => {
                let counts = record.voting.as_ref().is_some_and(|voting| voting.chosen == Some(number));
                format!("attempt {number}{}", if counts { " (counts)" } else { "" })
            }
            None => "trajectory".to_owned(),
        };
        let turns = counted(trajectory.turns.into(), "turn", "turns");
        let _ = writeln!(
            self.out,
            "\n{}  {}",
            style.bold(&title),
            style.dim(&format!("{turns}, {}", self.cost(trajectory.usage)))
        );
        let asked: BTreeSet<Digest> =
            record.input.messages.iter().map(|message| Digest::of(message.content.as_bytes())).collect();
        let mut turn = 0u32;
        for step in &trajectory.steps {
            self.step(step, &mut turn, &asked);
        }
        if let Some(stop) = trajectory.stop {
            self.line(2, &format!("stopped: {}", words::stop(stop)));
        }
        match (&trajectory.final_answer, &trajectory.no_answer) {
            (None, Some(why)) => {
                self.line(2, &style.bad("no final answer"));
                self.text(4, why);
            }
            (Some(answer), _) if trajectory.attempt.is_some() => {
                self.line(2, "final answer");
                self.text(4, answer);
            }
            _ => {}
        }
    }

    fn step(&mut self, step: &Step, turn: &mut u32, asked: &BTreeSet<Digest>) {
        let style = self.view.style;
        match step {
            Step::Prompt { bytes, content_sha256, head, role } => {
                // What stands before the first answer stands above too.
                let is_above = *turn == 0 && asked.contains(content_sha256);
                let size = size(*bytes, head, content_sha256);
                let above = if is_above { ", as above" } else { "" };
                self.line(2, &format!("{}  {}", role.as_str(), style.dim(&format!("{size}{above}"))));
                if !is_above {
                    self.content(4, head, *bytes, content_sha256);
                }
            }
            Step::ModelOutput { bytes, content_sha256, head, usage } => {
                *turn += 1;
                let tokens = usage.map(|usage| format!("{}, ", self.cost(usage))).unwrap_or_default();
                let facts = format!("{tokens}{}", size(*bytes, head, content_sha256));
                self.line(2, &format!("{}  {}", style.bold(&format!("turn {turn}")), style.dim(&facts)));
                if *bytes > 0 {
                    self.content(4, head, *bytes, content_sha256);
                }
            }
            Step::ToolCall { args, args_bytes, name, .. } => {
                let cut = args_bytes.map(|bytes| format!("{}, cut", counted(bytes, "byte", "bytes")));
                let cut = cut.map(|cut| format!("  {}", style.dim(&cut))).unwrap_or_default();
                self.line(4, &format!("calls {}{cut}", style.hint(&escaped(name))));
                let text = match (args_bytes, args.as_str()) {
                    // Arguments that were cut are a text: the beginning of their JSON.
                    (Some(_), Some(text)) => text.to_owned(),
                    _ => String::from_utf8_lossy(&json::to_vec(args).unwrap_or_default()).into_owned(),
                };
                self.text(6, &text);
            }
            Step::ToolResult { binary, bytes, error, head, is_error, name, output_sha256, scan, source, .. } => {
                let class = error.as_deref().map(escaped).unwrap_or_else(|| "error".to_owned());
                let class = if *is_error { format!("  {}", style.bad(&class)) } else { String::new() };
                let what = if *binary { ", not text" } else { "" };
                let size = style.dim(&format!("{}{what}", size(*bytes, head, output_sha256)));
                self.line(4, &format!("result of {}{class}  {size}", escaped(name)));
                if let Some(source) = source {
                    self.line(6, &style.dim(&format!("from {}", escaped(source))));
                }
                for find in scan.iter().flat_map(|scan| words::finds(scan, FINDS)) {
                    self.line(6, &style.warn(&format!("note: {find}")));
                }
                self.content(6, head, *bytes, output_sha256);
            }
        }
    }

    /// A recorded content: its head, or all of it where that was asked for and is there.
    fn content(&mut self, indent: usize, head: &str, bytes: u64, digest: &Digest) {
        let is_whole = head.len() as u64 >= bytes;
        if self.view.length == Length::Full && !is_whole {
            if let Some(body) = (self.view.body)(digest) {
                return self.text(indent, &String::from_utf8_lossy(&body));
            }
            self.text(indent, head);
            let rest = counted(bytes - head.len() as u64, "byte was", "bytes were");
            return self.line(indent, &self.view.style.dim(&format!("… {rest} not recorded")));
        }
        self.text(indent, head);
    }

    fn end(&mut self, record: &Record) {
        let style = self.view.style;
        if let Some(error) = &record.error {
            self.heading("error");
            self.line(2, &style.bad(&escaped(&error.class)));
            self.text(4, &error.message);
        }
        self.heading("answer");
        match &record.output {
            Some(output) => {
                self.text(2, &output.answer());
                for image in &output.images {
                    let size = format!("{} × {} pixels", image.width, image.height);
                    self.line(2, &format!("picture, {size}, {}", image.digest.hex()));
                }
            }
            None => self.line(2, &style.dim("none came")),
        }
        self.heading("expected");
        if record.expected.is_null() {
            self.line(2, &style.dim("the item has no expected answer"));
        } else {
            self.text(2, &record.expected.to_plain_text());
        }
        if record.scores.is_empty() {
            return;
        }
        self.heading("scores");
        for score in &record.scores {
            let verdict = if score.passed { style.good("pass") } else { style.bad("fail") };
            self.line(2, &format!("{verdict} {}  {}", score.value, escaped(&score.scorer)));
            self.text(4, &score.explanation);
        }
    }
}

/// `62 bytes 355401dcccc2`, and how much of them was recorded.
fn size(bytes: u64, head: &str, digest: &Digest) -> String {
    let all = counted(bytes, "byte", "bytes");
    if head.len() as u64 >= bytes {
        format!("{all}, {}", digest.short())
    } else {
        format!("the first {} of {all}, {}", count(head.len() as u64), digest.short())
    }
}
