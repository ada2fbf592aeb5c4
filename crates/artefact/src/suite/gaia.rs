//! What suites need not say about GAIA: its layout, the meaning of its fields, how answers are asked for and found.

use super::config::Dataset;
use super::plan::TaskPlan;
use super::problem::{Place, Problem};
use super::solver::{FinalAnswer, SolverPlan};
use super::text::TextSource;

/// Names a question.
pub const ID: &str = "task_id";
pub const QUESTION: &str = "Question";
/// The gold answer. `?` or nothing in the test split.
pub const ANSWER: &str = "Final answer";
/// A file beside the metadata, or nothing.
pub const FILE: &str = "file_name";
/// From 1 to 3, as a number or as text.
pub const LEVEL: &str = "Level";

/// The split that is read when the suite names none. Its gold answers are public.
pub const DEFAULT_SPLIT: &str = "validation";
/// The split whose gold answers nobody has.
pub const HIDDEN_SPLIT: &str = "test";
/// The configuration that is read when the suite names none.
pub const DEFAULT_CONFIG: &str = "2023_all";

const SPLITS: [&str; 2] = [DEFAULT_SPLIT, HIDDEN_SPLIT];
/// Configurations, with their folder and level.
const CONFIGS: [(&str, &str, Option<u32>); 4] = [
    (DEFAULT_CONFIG, "2023", None),
    ("2023_level1", "2023", Some(1)),
    ("2023_level2", "2023", Some(2)),
    ("2023_level3", "2023", Some(3)),
];
const LEVELS: std::ops::RangeInclusive<u32> = 1..=3;

/// Stands before the final answer of a text.
const MARKER: &str = "FINAL ANSWER:";
/// Finds the final answer in the last text of an agent that has no `submit`.
pub const PATTERN: &str = r"FINAL ANSWER:\s*(.*)";

/// Returns what follows the last `FINAL ANSWER:`, up to the end of its line; the whole text when nothing is marked.
pub fn final_answer(text: &str) -> &str {
    let Some((_, after)) = text.rsplit_once(MARKER) else { return text };
    after.trim_start().lines().next().unwrap_or_default().trim_end()
}

/// Where a configuration's metadata is: the folder of its year, and its level when it has only one.
pub fn config(name: &str) -> Option<(&'static str, Option<u32>)> {
    CONFIGS.iter().find(|(known, ..)| *known == name).map(|(_, folder, level)| (*folder, *level))
}

/// The level that a value names.
pub fn level(value: &proofmark_canon::Value) -> Option<u32> {
    let level = match value {
        proofmark_canon::Value::String(text) => text.parse().ok()?,
        other => u32::try_from(other.as_u64()?).ok()?,
    };
    LEVELS.contains(&level).then_some(level)
}

/// Fills in what the format fixes, and refuses what contradicts it.
pub(super) fn fill_dataset(dataset: &mut Dataset, place: &Place, problems: &mut Vec<Problem>) {
    if dataset.path.is_some() == dataset.repo.is_some() {
        let message = "a dataset of format `gaia` is either in a folder or on the hub";
        let hint = "give `path:` with the folder that holds `2023/`, or `repo: gaia-benchmark/GAIA` with a `revision:`";
        problems.push(Problem::at(place.clone(), message).hint(hint));
    }
    let config = dataset.config.get_or_insert_with(|| DEFAULT_CONFIG.to_owned());
    let own_level = CONFIGS.iter().find(|(known, ..)| known == config).map(|(.., level)| *level);
    if own_level.is_none() {
        let known: Vec<String> = CONFIGS.iter().map(|(name, ..)| format!("`{name}`")).collect();
        problems.push(Problem::at(place.key("config"), format!("expected one of {}", known.join(", "))));
    }
    let split = dataset.split.get_or_insert_with(|| DEFAULT_SPLIT.to_owned());
    if !SPLITS.contains(&split.as_str()) {
        problems.push(Problem::at(place.key("split"), "expected `validation` or `test`"));
    }
    if let Some(levels) = &mut dataset.level {
        levels.sort_unstable();
        levels.dedup();
        let is_known = !levels.is_empty() && levels.iter().all(|level| LEVELS.contains(level));
        let is_there = own_level.flatten().is_none_or(|own| levels.contains(&own));
        if !is_known {
            problems.push(Problem::at(place.key("level"), "expected a list of levels from 1 to 3"));
        } else if !is_there {
            let message = format!("the configuration `{config}` has no question of these levels");
            problems.push(Problem::at(place.key("level"), message));
        }
    }
    for (key, field, fixed) in
        [("id", &mut dataset.id, ID), ("input", &mut dataset.input, QUESTION), ("target", &mut dataset.target, ANSWER)]
    {
        // What a run wrote out is read again, so the right name may stand there.
        if field.get_or_insert_with(|| fixed.to_owned()) != fixed {
            problems.push(fixed_by_format(place, key));
        }
    }
    for (key, fields, fixed) in [("files", &mut dataset.files, FILE), ("metadata", &mut dataset.metadata, LEVEL)] {
        if *fields.get_or_insert_with(|| vec![fixed.to_owned()]) != [fixed] {
            problems.push(fixed_by_format(place, key));
        }
    }
    if dataset.choices.is_some() {
        problems.push(fixed_by_format(place, "choices"));
    }
}

fn fixed_by_format(place: &Place, key: &str) -> Problem {
    Problem::at(place.key(key), format!("the format `gaia` fixes what its fields mean; leave `{key}` out"))
}

/// The rule for the final answer of an agent without one.
pub(super) fn default_answer(has_submit: bool) -> FinalAnswer {
    match has_submit {
        true => FinalAnswer { pattern: None, tool: Some("submit".to_owned()) },
        false => FinalAnswer { pattern: Some(PATTERN.to_owned()), tool: None },
    }
}

/// Tells the model how answers are written, when the suite gives no system prompt.
pub(super) fn fill_system(task: &mut TaskPlan) {
    let by_tool = match &task.solver {
        Some(SolverPlan::Agent { final_answer, .. }) => final_answer.tool.as_deref(),
        None => None,
    };
    let ending = match by_tool {
        Some(tool) => {
            format!("When you are sure, hand in your answer with the tool `{tool}`, and nothing but the answer.")
        }
        None => format!("Say how you got there, and end with one line of this form:\n{MARKER} your answer"),
    };
    task.system.get_or_insert_with(|| TextSource::Inline(format!("{OPENING} {ending}\n\n{FORM}")));
}

const OPENING: &str = "You answer questions that have exactly one right answer. Work it out step by step.";
const FORM: &str = "\
A program compares your answer with the right one, so its form counts. It is a number, a few words, or a list:
- Write a number in digits, without separators of thousands, and without a unit, currency or percent sign unless the \
question asks for one.
- Write words without articles and without abbreviations, also in names of places, and spell out digits, unless the \
question asks for something else.
- Separate the entries of a list by commas, and write each of them by these rules.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_final_answer_is_what_follows_the_last_marker_on_its_line() {
        for (text, want) in [
            ("17", "17"),
            (" 17 \n", " 17 \n"),
            ("so\nFINAL ANSWER: 17", "17"),
            ("FINAL ANSWER: 3\nno\nFINAL ANSWER:  a, b \nthat is it", "a, b"),
            ("FINAL ANSWER:\n\n  Paris\n", "Paris"),
            ("FINAL ANSWER:", ""),
            ("FINAL ANSWER: \n", ""),
            ("final answer: 3", "final answer: 3"),
            ("FINAL ANSWER: FINAL ANSWER: 4", "4"),
        ] {
            assert_eq!(final_answer(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_level_is_a_number_or_its_digits() {
        let value = |text: &str| proofmark_canon::json::parse(text.as_bytes()).unwrap();
        for (text, want) in [
            ("1", Some(1)),
            ("\"3\"", Some(3)),
            ("2.0", Some(2)),
            ("0", None),
            ("4", None),
            ("1.5", None),
            ("\"one\"", None),
            ("null", None),
            ("[1]", None),
        ] {
            assert_eq!(level(&value(text)), want, "{text}");
        }
    }
}
