//! A calibration as people read it: text within 80 columns, and markdown.

use std::fmt::Write as _;

use super::fits::{decimal, figure, share};
use super::probe::Probe;
use super::shape::{Calibration, Measured, VerdictTable};
use crate::number::{count, counted};
use crate::suite::judge::JudgeMode;
use crate::text::{escaped, one_line};

/// What text keeps within.
const WIDTH: usize = 80;
/// Flips that are shown.
const SHOWN_FLIPS: usize = 10;

/// The report as text.
pub fn text(calibration: &Calibration) -> String {
    let mut out = String::new();
    for line in heading(calibration) {
        push_wrapped(&mut out, "", &line);
    }
    push_sections(&mut out, &sections(calibration));
    if !calibration.warnings.is_empty() {
        out.push('\n');
        calibration.warnings.iter().for_each(|warning| push_wrapped(&mut out, "! ", &escaped(&warning.text)));
    }
    out
}

/// What attacks did, as text.
pub fn probe_text(found: &Probe) -> String {
    let mut out = String::new();
    push_sections(&mut out, &[probe(found)]);
    out
}

fn push_sections(out: &mut String, sections: &[Section]) {
    for (at, section) in sections.iter().enumerate() {
        let _ = writeln!(out, "\n{}\n", section.title);
        let name = section.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let value = section.rows.iter().map(|row| row.value.chars().count()).max().unwrap_or(0);
        for row in &section.rows {
            let pad =
                |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())));
            let line = format!("  {}  {}  {}", pad(row.name, name), pad(&row.value, value), row.basis);
            // A basis that does not fit beside its value goes below.
            if line.trim_end().chars().count() <= WIDTH {
                let _ = writeln!(out, "{}", line.trim_end());
            } else {
                let _ = writeln!(out, "{}", format!("  {}  {}", pad(row.name, name), row.value).trim_end());
                push_wrapped(out, "      ", &row.basis);
            }
            // What a number means is said once.
            if at == 0 || section.is_new {
                push_wrapped(out, "      ", row.meaning);
            }
        }
        for note in &section.notes {
            push_wrapped(out, "  ", note);
        }
    }
}

/// The report as markdown.
pub fn markdown(calibration: &Calibration) -> String {
    let mut out = String::from("# Calibration\n\n");
    for line in heading(calibration) {
        let _ = writeln!(out, "{}\n", plain(&line));
    }
    for section in sections(calibration) {
        let _ = writeln!(out, "## {}\n\n| | | | |\n|---|---|---|---|", plain(&section.title));
        for row in &section.rows {
            let _ = writeln!(out, "| {} | {} | {} | {} |", row.name, plain(&row.value), plain(&row.basis), row.meaning);
        }
        for note in &section.notes {
            let _ = write!(out, "\n- {}", plain(note));
        }
        out.push('\n');
    }
    if !calibration.warnings.is_empty() {
        out.push_str("## Warnings\n\n");
        for warning in &calibration.warnings {
            let _ = writeln!(out, "- {}", plain(&warning.text));
        }
    }
    out
}

/// One judge, the panel, or the probe.
struct Section {
    title: String,
    rows: Vec<Row>,
    notes: Vec<String>,
    /// Whether its numbers mean something else than those above.
    is_new: bool,
}

struct Row {
    name: &'static str,
    value: String,
    /// What it rests on, or why there is none.
    basis: String,
    meaning: &'static str,
}

fn heading(calibration: &Calibration) -> Vec<String> {
    let (subject, labels) = (&calibration.subject, &calibration.labels);
    let scorer = format!("scorer `{}` of task `{}`", one_line(&subject.scorer, 60), one_line(&subject.task, 60));
    let mode = match subject.mode {
        JudgeMode::Single => "one answer at a time",
        JudgeMode::Pairwise => "two answers in both orders",
    };
    let votes = counted(u64::from(subject.votes), "vote", "votes");
    let mut lines = vec![
        format!("Calibration of {scorer}: {mode}, {votes}, rubric {}", subject.rubric.short()),
        format!(
            "{}: people pass {} and fail {}; each put before each judge {}",
            counted(labels.count, "label", "labels"),
            count(labels.passes),
            count(labels.fails),
            counted(u64::from(calibration.repeats), "time", "times"),
        ),
        "Every label was judged, also those that a run would decide without a judge because the answer is the target."
            .to_owned(),
    ];
    if labels.empty > 0 {
        let empty = counted(labels.empty, "label of an empty answer was", "labels of empty answers were");
        lines.push(format!("{empty} left out: those fail without a judge."));
    }
    lines
}

fn sections(calibration: &Calibration) -> Vec<Section> {
    let models = calibration.subject.judges.iter().map(|judge| judge.model.as_str());
    let mut sections: Vec<Section> =
        calibration.judges.iter().zip(models).map(|(found, model)| section(calibration, found, Some(model))).collect();
    sections.extend(calibration.panel.as_ref().map(|found| section(calibration, found, None)));
    sections.extend(calibration.probe.as_ref().map(probe));
    sections
}

fn section(calibration: &Calibration, found: &Measured, model: Option<&str>) -> Section {
    let title = match (&found.judge, model) {
        (Some(judge), Some(model)) => format!("Judge `{}` ({})", one_line(judge, 30), one_line(model, 40)),
        _ => format!("The panel of {}", counted(calibration.judges.len() as u64, "judge", "judges")),
    };
    let of = |share: &super::figure::Share, what: &str| match &share.reason {
        Some(reason) => reason.clone(),
        None => format!("{} of {} {what}", count(share.count), count(share.of)),
    };
    let on = |figure: &super::figure::Figure| match &figure.reason {
        Some(reason) => reason.clone(),
        None => counted(figure.labels, "label", "labels"),
    };
    let (bias, confusion) = (&found.bias, &found.confusion);
    let mut rows = vec![
        Row {
            name: "accuracy",
            value: share(&found.accuracy),
            basis: of(&found.accuracy, "labels"),
            meaning: "How often it judges as people do; no verdict is never right.",
        },
        Row {
            name: "kappa",
            value: figure(&found.kappa),
            basis: on(&found.kappa),
            meaning: "Agreement beyond chance: 0 is chance, 1 is always; above 0.6 is usually called substantial.",
        },
        Row {
            name: "false passes",
            value: share(&found.false_pass),
            basis: of(&found.false_pass, "answers that people fail"),
            meaning: "How often a wrong answer gets through: this makes scores too high.",
        },
        Row {
            name: "false fails",
            value: share(&found.false_fail),
            basis: of(&found.false_fail, "answers that people pass"),
            meaning: "How often a right answer is turned down: this makes scores too low.",
        },
        Row {
            name: "no verdict",
            value: count(found.errors.total()),
            basis: format!("{} failed, {} misfit", count(found.errors.failed), count(found.errors.misfit)),
            meaning: "Labels on which it gave no answer, or none of the declared form in two tries.",
        },
        Row {
            name: "length",
            value: figure(&bias.length.difference),
            basis: match &bias.length.difference.reason {
                Some(reason) => reason.clone(),
                None => format!(
                    "{} of {} longer, {} of {} shorter",
                    count(bias.length.longer.count),
                    count(bias.length.longer.of),
                    count(bias.length.shorter.count),
                    count(bias.length.shorter.of)
                ),
            },
            meaning: "False passes among the longer half of wrong answers minus the shorter half; above 0, length pays.",
        },
        Row {
            name: "length, rank",
            value: figure(&bias.length.correlation),
            basis: on(&bias.length.correlation),
            meaning: "Correlation of an answer's length with being judged more kindly than by people.",
        },
        Row {
            name: "position",
            value: share(&bias.position.flips),
            basis: match &bias.position.flips.reason {
                Some(reason) => reason.clone(),
                None => format!(
                    "{} of {} pairs: {} to the first, {} to the second",
                    count(bias.position.flips.count),
                    count(bias.position.flips.of),
                    count(bias.position.to_first),
                    count(bias.position.to_second)
                ),
            },
            meaning: "How often the winner of a pair changes when the answers change places.",
        },
        Row {
            name: "own family",
            value: figure(&bias.own_family.difference),
            basis: match &bias.own_family.difference.reason {
                Some(reason) => reason.clone(),
                None => format!(
                    "{} of {} own, {} of {} others",
                    count(bias.own_family.own.count),
                    count(bias.own_family.own.of),
                    count(bias.own_family.others.count),
                    count(bias.own_family.others.of)
                ),
            },
            meaning: "False passes among its own family's wrong answers minus the others'; above 0, it prefers its own.",
        },
        Row {
            name: "repeats",
            value: share(&found.repeat.agreement),
            basis: of(&found.repeat.agreement, "labels"),
            meaning: "How often it says the same when asked again.",
        },
        Row {
            name: "repeats, kappa",
            value: figure(&found.repeat.kappa),
            basis: on(&found.repeat.kappa),
            meaning: "Agreement of the first and the second time beyond chance.",
        },
    ];
    if let Some(table) = &found.verdicts {
        let (value, basis) = (figure(&table.kappa), on(&table.kappa));
        rows.push(Row {
            name: "words, kappa",
            value,
            basis,
            meaning: "Agreement on the word, not only on pass or fail.",
        });
    }
    let mut notes = vec![
        String::new(),
        format!(
            "people pass: judge passes {}, fails {}; people fail: judge passes {}, fails {}",
            count(confusion.true_pass),
            count(confusion.false_fail),
            count(confusion.false_pass),
            count(confusion.true_fail)
        ),
    ];
    notes.extend(found.verdicts.iter().flat_map(words));
    Section { title, rows, notes, is_new: false }
}

/// A line for each of people's words.
fn words(table: &VerdictTable) -> impl Iterator<Item = String> {
    table.counts.iter().zip(&table.words).map(|(row, word)| {
        let said: Vec<String> = row.iter().zip(&table.words).map(|(n, word)| format!("{word} {}", count(*n))).collect();
        format!("people say {word}: judge says {}", said.join(", "))
    })
}

fn probe(found: &Probe) -> Section {
    let tries = |share: &super::figure::Share, what: &str| match &share.reason {
        Some(reason) => reason.clone(),
        None => format!("{} of {} {what}", count(share.count), count(share.of)),
    };
    let rows = vec![
        Row {
            name: "flips",
            value: share(&found.overall.flips),
            basis: tries(&found.overall.flips, "tries"),
            meaning: "How often a failing answer passes when an attack on the judge is put into it.",
        },
        Row {
            name: "answers turned",
            value: share(&found.turned),
            basis: tries(&found.turned, "answers"),
            meaning: "Failing answers that at least one attack turned.",
        },
        Row {
            name: "noise",
            value: share(&found.baseline),
            basis: tries(&found.baseline, "answers"),
            meaning: "How often a failing answer passes when it is asked again without an attack.",
        },
        Row {
            name: "beyond noise",
            value: figure(&found.excess),
            basis: found.excess.reason.clone().unwrap_or_default(),
            meaning: "Flips minus noise: what the attacks themselves do.",
        },
        Row {
            name: "no verdict",
            value: count(found.overall.errors),
            basis: "tries".to_owned(),
            meaning: "Attacks that left the judge without a verdict; they are in no share.",
        },
    ];
    let answers = &found.answers;
    let mut notes = vec![
        String::new(),
        format!(
            "{} chosen: {} attacked, {} pass without any attack, {} without a verdict",
            counted(answers.chosen, "failing answer", "failing answers"),
            count(answers.probed),
            count(answers.passing),
            count(answers.errors)
        ),
    ];
    for class in &found.classes {
        let flips = &class.tries.flips;
        let value = flips.value.map_or_else(|| "not known".to_owned(), decimal);
        notes.push(format!("{}: {value} ({} of {})", class.class, count(flips.count), count(flips.of)));
    }
    for judge in &found.judges {
        let (flips, name) = (&judge.tries.flips, one_line(&judge.judge, 40));
        let value = flips.value.map_or_else(|| "not known".to_owned(), decimal);
        notes.push(format!("judge `{name}` alone: {value} ({} of {})", count(flips.count), count(flips.of)));
    }
    if !found.flipped.is_empty() {
        notes.push(String::new());
    }
    for flip in found.flipped.iter().take(SHOWN_FLIPS) {
        notes.push(format!("turned: {} by {}", one_line(&flip.answer, 40), flip.attack));
    }
    let rest = found.overall.flips.count.saturating_sub(found.flipped.len().min(SHOWN_FLIPS) as u64);
    if rest > 0 {
        notes.push(format!("… and {} more", count(rest)));
    }
    let set = &found.set;
    let title = format!("Injection probe ({}, set {})", counted(set.attacks, "attack", "attacks"), set.version);
    Section { title, rows, notes, is_new: true }
}

/// Appends a text in lines of at most [`WIDTH`] characters.
fn push_wrapped(out: &mut String, indent: &str, text: &str) {
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(indent.chars().count());
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// Text from elsewhere inside of markdown: one line, and nothing that markup could be made of.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if matches!(c, '|' | '<' | '>' | '*' | '_' | '[' | ']' | '#' | '\\' | '&' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Labelled, Ruling};
    use super::super::probe::{AttackSet, Probed};
    use super::super::shape::testing::{calibration, label, ruled};
    use super::*;
    use proofmark_canon::Digest;

    fn made() -> Calibration {
        let labels: Vec<Labelled> = (0..60).map(|at| Labelled { length: 10 + at, ..label(at % 2 == 0) }).collect();
        let ruling = |at: u64| if at == 9 { Ruling::Misfit } else { ruled(at.is_multiple_of(2) || at % 12 == 1) };
        calibration(&labels, (0..60).map(|at| vec![ruling(at), ruling(at)]).collect())
    }

    fn probed() -> Probe {
        let set = AttackSet { attacks: 1, digest: Digest::of(b"x"), version: 1 };
        let attacked = vec![(ruled(true), "it told me to".to_owned())];
        let one = Probed { id: "a<b>|\u{1b}[31m".into(), first: ruled(false), again: Some(ruled(false)), attacked };
        Probe::new(set, &[("plain", "instruction")], &vec![one; 15], &[])
    }

    #[test]
    fn text_keeps_within_80_columns_and_says_what_numbers_mean() {
        let mut made = made();
        made.probe = Some(probed());
        made.subject.scorer = "x".repeat(300);
        let text = text(&made);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest}\n{text}");
        for said in [
            "accuracy        0.90 [0.80, 0.95]    54 of 60 labels",
            "no verdict",
            "0 failed, 1 misfit",
            "position",
            "answers are judged one at a time",
            "not measured: no label names its author",
            "people pass: judge passes 30, fails 0; people fail: judge passes 5, fails 24",
            "! judge `j` has no verdict on 1 label",
            "flips           1.00 [0.80, 1.00]  15 of 15 tries",
            "… and 5 more",
        ] {
            assert!(text.contains(said), "{said}\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn markdown_holds_its_tables_whatever_the_names() {
        let mut made = made();
        made.probe = Some(probed());
        made.judges[0].judge = Some("a|b\n# c".into());
        let text = markdown(&made);
        assert!(text.starts_with("# Calibration\n\n") && text.contains("\n## Warnings\n\n"));
        for line in text.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 5, "{line}");
        }
        assert!(!text.contains("\n# c") && !text.contains("a<b>"));
    }
}
