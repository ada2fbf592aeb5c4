//! Who made a model, as far as its name says.

/// The family of a model: its maker, whoever serves it.
///
/// `openai:gpt-4.1`, `azure:gpt-4.1` and `openrouter:openai/gpt-4.1` are of one family. What the name says comes first, then
/// the organisation before a slash, then the provider. A person's answer, `human`, is of the family `human`.
pub fn family(model: &str) -> String {
    let (provider, id) = model.split_once(':').unwrap_or((model, ""));
    let (organisation, name) = match id.rsplit_once('/') {
        // A longer path, as some gateways have: the organisation stands right before the name.
        Some((path, name)) => (Some(path.rsplit('/').next().unwrap_or(path)), name),
        None => (None, id),
    };
    let name = name.to_ascii_lowercase();
    if let Some((_, maker)) = NAMES.iter().find(|(start, _)| begins(&name, start)) {
        return (*maker).to_owned();
    }
    let maker = organisation.unwrap_or(provider).trim_start_matches('@').to_ascii_lowercase();
    MAKERS.iter().find(|(known, _)| *known == maker).map_or(maker, |(_, family)| (*family).to_owned())
}

/// Whether a name starts with a word: `o1-mini` is an o1, `o100` is not.
fn begins(name: &str, start: &str) -> bool {
    let after = name.strip_prefix(start).map(|rest| rest.bytes().next());
    match after {
        None => false,
        Some(None) => true,
        Some(Some(next)) => !next.is_ascii_digit() || !start.ends_with(|c: char| c.is_ascii_digit()),
    }
}

/// How names of models start, and who makes those.
const NAMES: [(&str, &str); 28] = [
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("llama", "meta"),
    ("meta-llama", "meta"),
    ("codellama", "meta"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("pixtral", "mistral"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("deepseek", "deepseek"),
    ("command-", "cohere"),
    ("aya", "cohere"),
    ("grok", "xai"),
    ("phi", "microsoft"),
    ("kimi", "moonshot"),
    ("glm", "zhipu"),
    ("nova", "amazon"),
];

/// Names under which makers go elsewhere.
const MAKERS: [(&str, &str); 10] = [
    ("meta-llama", "meta"),
    ("mistralai", "mistral"),
    ("x-ai", "xai"),
    ("gemini", "google"),
    ("vertex", "google"),
    ("cohereforai", "cohere"),
    ("coherelabs", "cohere"),
    ("moonshotai", "moonshot"),
    ("zai-org", "zhipu"),
    ("deepseek-ai", "deepseek"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_of_its_makers_family_whoever_serves_it() {
        for (model, want) in [
            ("openai:gpt-4.1", "openai"),
            ("azure:gpt-4.1-mini", "openai"),
            ("openrouter:openai/gpt-4.1", "openai"),
            ("openai:o1-mini", "openai"),
            ("openai:o3", "openai"),
            ("ollama:o100", "ollama"),
            ("anthropic:claude-sonnet-4-5", "anthropic"),
            ("openrouter:anthropic/claude-3.5-haiku", "anthropic"),
            ("gemini:gemini-2.5-pro", "google"),
            ("gemini:learnlm-2", "google"),
            ("ollama:qwen3:8b", "qwen"),
            ("together:meta-llama/Llama-3.3-70B-Instruct", "meta"),
            ("fireworks:accounts/fireworks/models/llama-v3", "meta"),
            ("cloudflare:@cf/meta/llama-3", "meta"),
            ("hf:mistralai/Zephyr-7b", "mistral"),
            ("offline:judge", "offline"),
            ("offline:echo", "offline"),
            ("human", "human"),
        ] {
            assert_eq!(family(model), want, "{model}");
        }
    }

    #[test]
    fn any_text_has_a_family() {
        for model in ["", ":", "a:", ":b", "a:/", "a://", "é:ü/ß", "a:b/c/d/"] {
            let _ = family(model);
        }
    }
}
