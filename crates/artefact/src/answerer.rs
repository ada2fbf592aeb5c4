//! Whether who answered is who was asked for.
//!
//! One rule for reports, `doctor` and the audit. It errs towards the alarm: a model that is taken for another is looked
//! at by a person, one that is taken for the same by nobody.

/// Who answered, seen from what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answerer {
    /// The model that was asked for, or a dated snapshot of it.
    AsAsked,
    Another,
    /// A program that was not told which model to use: none is another one.
    FreeChoice,
}

/// Judges a name that came back. `model` is written `provider:model-id`; `asked` is the model that a program was told
/// to use.
pub fn answerer(model: &str, asked: Option<&str>, name: &str) -> Answerer {
    let is_same = match (model.split_once(':'), asked) {
        (Some(("command", _)), None) => return Answerer::FreeChoice,
        (Some(("command", _)), Some(asked)) if is_left_open(asked) => return Answerer::FreeChoice,
        (Some(("command", _)), Some(asked)) => is_same_model(asked, name) || is_short_for(asked, name),
        (Some((_, id)), _) => is_same_model(id, name),
        (None, _) => is_same_model(model, name),
    };
    if is_same { Answerer::AsAsked } else { Answerer::Another }
}

/// Whether a name is that of the model or of a dated snapshot of it: `gpt-x` may answer as `gpt-x-2026-01-31`, and
/// `gpt-x-latest` too.
fn is_same_model(asked: &str, name: &str) -> bool {
    let (asked, name) = (bare(asked), bare(name));
    if asked == name {
        return true;
    }
    let base = asked.strip_suffix("-latest").unwrap_or(&asked);
    match name.strip_prefix(base) {
        Some("") => true,
        // What is a snapshot already has none of its own.
        Some(rest) => is_snapshot(rest) && !is_dated(base),
        None => false,
    }
}

/// Programs know models by words such as `opus`, which stands for `claude-opus-4-5`. A name with a version in it is
/// short for nothing.
fn is_short_for(asked: &str, name: &str) -> bool {
    let (asked, name) = (bare(asked), bare(name));
    // `sonnet[1m]` is `sonnet` with more room.
    let word = asked.split('[').next().unwrap_or_default();
    let is_word = !word.is_empty() && !word.bytes().any(|byte| byte.is_ascii_digit());
    is_word && word.split('-').all(|part| name.split('-').any(|other| other == part))
}

/// Words with which a program is told to choose for itself.
fn is_left_open(asked: &str) -> bool {
    ["auto", "default"].contains(&asked)
}

/// A name without what does not tell models apart.
fn bare(name: &str) -> String {
    let name = name.strip_prefix("models/").unwrap_or(name).to_ascii_lowercase();
    // Ollama's word for no tag at all.
    name.strip_suffix(":latest").map(str::to_owned).unwrap_or(name)
}

fn is_dated(name: &str) -> bool {
    name.match_indices(['-', '@']).any(|(at, _)| is_snapshot(&name[at..]))
}

/// Whether the end of a name tells a snapshot: a date as providers write it, or a number of three digits as Gemini does.
/// Anything else may be a version, and `gpt-4.1` is not `gpt-4`.
fn is_snapshot(rest: &str) -> bool {
    let rest = rest.strip_prefix("-preview").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(['-', '@']) else { return false };
    let parts: Vec<&str> = rest.split('-').collect();
    if !parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let is_year = |text: &str| (2015..2100).contains(&number(text));
    let is_month = |text: &str| (1..=12).contains(&number(text));
    let is_day = |text: &str| (1..=31).contains(&number(text));
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    match (lengths.as_slice(), parts.as_slice()) {
        ([8], [all]) => is_year(&all[..4]) && is_month(&all[4..6]) && is_day(&all[6..]),
        ([4, 2, 2], [year, month, day]) => is_year(year) && is_month(month) && is_day(day),
        // `-0613` is a day of June; `-2411`, as Mistral writes it, November of 2024.
        ([4], [all]) => {
            let (left, right) = all.split_at(2);
            is_month(left) && is_day(right) || (20..40).contains(&number(left)) && is_month(right)
        }
        ([2, 2], [month, day]) => is_month(month) && is_day(day),
        ([2, 4], [month, year]) => is_month(month) && is_year(year),
        ([3], [all]) => all.starts_with("00") && *all != "000",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_snapshot_is_the_model_that_was_asked_for() {
        for (model, name) in [
            ("openai:gpt-4.1", "gpt-4.1"),
            ("openai:gpt-4.1", "GPT-4.1"),
            ("openai:gpt-4.1", "gpt-4.1-2025-04-14"),
            ("openai:gpt-4", "gpt-4-0613"),
            ("openai:gpt-3.5-turbo", "gpt-3.5-turbo-1106"),
            ("openai:gpt-3.5-turbo", "gpt-3.5-turbo-0125"),
            ("openai:gpt-4o-realtime-preview", "gpt-4o-realtime-preview-2024-12-17"),
            ("gemini:models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("gemini:gemini-2.0-flash", "gemini-2.0-flash-001"),
            ("gemini:gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
            ("gemini:gemini-2.5-flash-preview", "models/gemini-2.5-flash-preview-05-20"),
            ("gemini:gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"),
            ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5@20250929"),
            ("anthropic:claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
            ("anthropic:claude-3-5-haiku-latest", "claude-3-5-haiku-latest"),
            ("mistral:mistral-small-latest", "mistral-small"),
            ("mistral:mistral-large-latest", "mistral-large-2411"),
            ("cohere:command-r", "command-r-08-2024"),
            ("ollama:qwen3:8b", "qwen3:8b"),
            ("ollama:qwen3", "qwen3:latest"),
            ("openrouter:openai/gpt-4.1", "openai/gpt-4.1-2025-04-14"),
            ("gpt-4.1", "gpt-4.1-2025-04-14"),
        ] {
            assert_eq!(answerer(model, None, name), Answerer::AsAsked, "{model} {name}");
        }
    }

    #[test]
    fn another_version_or_size_is_another_model() {
        for (model, name) in [
            ("openai:gpt-4", "gpt-4.1-2025-04-14"),
            ("openai:gpt-4", "gpt-4.1"),
            ("openai:gpt-5", "gpt-5.1-2025-11-13"),
            ("openai:gpt-4", "gpt-4-32k"),
            ("openai:gpt-4", "gpt-4-0125-preview"),
            ("openai:gpt-4", ""),
            ("openai:gpt-4", "gpt-4-"),
            ("openai:gpt-4", "gpt-4-9999"),
            ("openai:gpt-4", "gpt-4-2025-13-01"),
            ("openai:gpt-4", "gpt-4-20250432"),
            ("openai:gpt-4", "gpt-4-preview"),
            ("openai:gpt-4", "gpt-40613"),
            ("openai:gpt-4-0613", "gpt-4"),
            ("openai:gpt-4-0613", "gpt-4-0613-0125"),
            ("openai:gpt-4-0613", "gpt-4-0125"),
            ("openai:gpt-4.1", "gpt-4.1-mini"),
            ("openai:gpt-4.1", "gpt-4.1-mini-2025-04-14"),
            ("anthropic:claude-sonnet-4", "claude-sonnet-4-5-20250929"),
            ("anthropic:claude-sonnet-4", "claude-sonnet-4-5"),
            ("anthropic:claude-3", "claude-3-5-haiku-20241022"),
            ("anthropic:claude-3-5-haiku-latest", "claude-3-haiku-20240307"),
            ("gemini:gemini-2", "gemini-2.5-pro"),
            ("gemini:gemini-2.0-flash", "gemini-2.0-flash-000"),
            ("ollama:qwen3:8b", "qwen3:latest"),
            ("openai:", "gpt-4"),
        ] {
            assert_eq!(answerer(model, None, name), Answerer::Another, "{model} {name}");
        }
    }

    #[test]
    fn a_program_is_held_to_the_model_that_it_was_told_to_use() {
        use Answerer::{Another, AsAsked, FreeChoice};
        for (asked, name, expected) in [
            (None, "small-1", FreeChoice),
            (Some("auto"), "gemini-2.5-pro", FreeChoice),
            (Some("default"), "claude-sonnet-4-5", FreeChoice),
            (Some("small-1"), "small-1", AsAsked),
            (Some("small-1"), "small-1-20250929", AsAsked),
            (Some("small-1"), "tiny-0", Another),
            (Some("small-1"), "small-10", Another),
            (Some("small-1"), "not-small-1", Another),
            (Some("opus"), "claude-opus-4-5-20251101", AsAsked),
            (Some("sonnet[1m]"), "claude-sonnet-4-5", AsAsked),
            (Some("opus"), "claude-sonnet-4-5", Another),
            (Some("gpt-5"), "gpt-5-mini", Another),
            (Some(""), "gpt-5-mini", Another),
        ] {
            assert_eq!(answerer("command:mine", asked, name), expected, "{asked:?} {name}");
        }
    }
}
