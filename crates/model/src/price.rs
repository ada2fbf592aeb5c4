//! What tokens cost: the suite's own prices, or a dated table of list prices.
//!
//! The table is a help to see what a run costs, not a bill: discounts, caches and batches are not in it. Its date
//! goes into the manifest with every price that is taken from it.

use proofmark_artefact::manifest::PriceEntry;
use proofmark_artefact::suite::plan::ModelPlan;

use crate::preset::Preset;

/// The day on which the table was made.
pub const AS_OF: &str = "2025-12-01";

/// Provider, beginning of the model's name, US dollars a million input and output tokens. The longest beginning wins.
pub const TABLE: &[(&str, &str, f64, f64)] = &[
    ("openai", "gpt-5", 1.25, 10.0),
    ("openai", "gpt-5-mini", 0.25, 2.0),
    ("openai", "gpt-5-nano", 0.05, 0.4),
    ("openai", "gpt-5-pro", 15.0, 120.0),
    ("openai", "gpt-5.1", 1.25, 10.0),
    ("openai", "gpt-4.1", 2.0, 8.0),
    ("openai", "gpt-4.1-mini", 0.4, 1.6),
    ("openai", "gpt-4.1-nano", 0.1, 0.4),
    ("openai", "gpt-4o", 2.5, 10.0),
    ("openai", "gpt-4o-mini", 0.15, 0.6),
    ("openai", "o1", 15.0, 60.0),
    ("openai", "o3", 2.0, 8.0),
    ("openai", "o3-mini", 1.1, 4.4),
    ("openai", "o3-pro", 20.0, 80.0),
    ("openai", "o4-mini", 1.1, 4.4),
    ("anthropic", "claude-opus-4", 15.0, 75.0),
    ("anthropic", "claude-opus-4-5", 5.0, 25.0),
    ("anthropic", "claude-sonnet-4", 3.0, 15.0),
    ("anthropic", "claude-haiku-4-5", 1.0, 5.0),
    ("anthropic", "claude-3-7-sonnet", 3.0, 15.0),
    ("anthropic", "claude-3-5-sonnet", 3.0, 15.0),
    ("anthropic", "claude-3-5-haiku", 0.8, 4.0),
    ("anthropic", "claude-3-opus", 15.0, 75.0),
    ("anthropic", "claude-3-haiku", 0.25, 1.25),
    ("gemini", "gemini-2.5-pro", 1.25, 10.0),
    ("gemini", "gemini-2.5-flash", 0.3, 2.5),
    ("gemini", "gemini-2.5-flash-lite", 0.1, 0.4),
    ("gemini", "gemini-2.0-flash", 0.1, 0.4),
    ("gemini", "gemini-2.0-flash-lite", 0.075, 0.3),
    ("mistral", "mistral-large", 2.0, 6.0),
    ("mistral", "mistral-medium", 0.4, 2.0),
    ("mistral", "mistral-small", 0.1, 0.3),
    ("mistral", "ministral-8b", 0.1, 0.1),
    ("mistral", "ministral-3b", 0.04, 0.04),
    ("mistral", "codestral", 0.3, 0.9),
    ("cohere", "command-a", 2.5, 10.0),
    ("cohere", "command-r-plus", 2.5, 10.0),
    ("cohere", "command-r", 0.15, 0.6),
    ("cohere", "command-r7b", 0.0375, 0.15),
    ("deepseek", "deepseek-chat", 0.28, 0.42),
    ("deepseek", "deepseek-reasoner", 0.28, 0.42),
];

/// Returns what a model's tokens cost, when anybody says so.
pub fn of(plan: &ModelPlan) -> Option<PriceEntry> {
    if let Some(price) = plan.price {
        return Some(PriceEntry { as_of: None, input: price.input, output: price.output });
    }
    // Pictures are not billed by these prices, and another address may bill anything.
    if plan.makes_images() || plan.base_url.is_some() {
        return None;
    }
    let fits = |(provider, start, ..): &&(&str, &str, f64, f64)| {
        let rest = plan.model_id().strip_prefix(start);
        // `gpt-5-2025-08-07` is a gpt-5, `gpt-5x` is something else.
        *provider == plan.provider() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
    };
    let (_, _, input, output) = TABLE.iter().filter(fits).max_by_key(|(_, start, ..)| start.len())?;
    Some(PriceEntry { as_of: Some(AS_OF.to_owned()), input: *input, output: *output })
}

/// Whether nobody sends a bill for a model: it needs no price for a limit on cost.
pub fn is_free(plan: &ModelPlan) -> bool {
    matches!(plan.provider(), "offline" | "recorded")
        || Preset::find(plan.provider()).is_some_and(|preset| preset.is_local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_artefact::suite::config::Price;

    fn price(model: &str) -> Option<(f64, f64)> {
        of(&ModelPlan::named("m", model)).map(|price| (price.input, price.output))
    }

    #[test]
    fn the_longest_beginning_wins_and_a_longer_word_is_another_model() {
        assert_eq!(price("openai:gpt-4.1-mini-2025-04-14"), Some((0.4, 1.6)));
        assert_eq!(price("openai:gpt-4.1-2025-04-14"), Some((2.0, 8.0)));
        assert_eq!(price("openai:gpt-4.15"), None);
        assert_eq!(price("azure:gpt-4.1"), None);
        assert_eq!(price("anthropic:claude-opus-4-5-20251101"), Some((5.0, 25.0)));
        assert_eq!(price("ollama:qwen3:8b"), None);
    }

    #[test]
    fn the_suite_has_the_last_word_and_the_table_has_a_date() {
        let mut plan = ModelPlan::named("m", "openai:gpt-4.1");
        assert_eq!(of(&plan).unwrap().as_of.as_deref(), Some(AS_OF));
        plan.price = Some(Price { input: 9.0, output: 10.0 });
        assert_eq!(of(&plan), Some(PriceEntry { as_of: None, input: 9.0, output: 10.0 }));
        plan.price = None;
        plan.base_url = Some("https://elsewhere.example/v1".into());
        assert_eq!(of(&plan), None);
    }
}
