//! The providers we know by name: where they are, how they are spoken to, which variable holds their key.

use crate::transport::endpoint::KeyIn;

/// A provider, or a kind of server.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// What stands before the colon in `provider:model-id`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    pub(crate) language: Language,
    /// Where it is; empty when the suite or the environment must say. `{NAME}` stands for a variable.
    pub base: &'static str,
    /// The variable that puts another address in place of it.
    pub base_env: &'static str,
    /// Variables that may hold the key, the usual one first.
    pub keys: &'static [&'static str],
    /// Whether it can be asked without a key.
    pub is_keyless: bool,
    pub(crate) key_in: KeyIn,
    /// Whether it can make pictures.
    pub makes_images: bool,
    /// Runs on one's own machine, so that nobody sends a bill.
    pub is_local: bool,
}

/// Which wire a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    OpenAi,
    /// As OpenAI, in the form that other servers understand.
    Compatible,
    Anthropic,
    Gemini,
    Cloudflare,
    Ollama,
    Mistral,
    Cohere,
}

const COMPATIBLE: Preset = Preset {
    name: "compatible",
    about: "any server that speaks OpenAI's Chat Completions; needs `base_url`",
    language: Language::Compatible,
    base: "",
    base_env: "PROOFMARK_COMPATIBLE_BASE_URL",
    keys: &[],
    is_keyless: true,
    key_in: KeyIn::Bearer,
    makes_images: false,
    is_local: false,
};

/// Every preset, in the order in which they are listed.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "openai",
        about: "OpenAI: Chat Completions, Responses (`api: responses`), images (`output: image`)",
        language: Language::OpenAi,
        base: "https://api.openai.com/v1",
        base_env: "OPENAI_BASE_URL",
        keys: &["OPENAI_API_KEY"],
        is_keyless: false,
        makes_images: true,
        ..COMPATIBLE
    },
    Preset {
        name: "anthropic",
        about: "Anthropic: Messages",
        language: Language::Anthropic,
        base: "https://api.anthropic.com",
        base_env: "ANTHROPIC_BASE_URL",
        keys: &["ANTHROPIC_API_KEY"],
        is_keyless: false,
        key_in: KeyIn::Header("x-api-key"),
        ..COMPATIBLE
    },
    Preset {
        name: "gemini",
        about: "Google Gemini: generateContent, images (`output: image`)",
        language: Language::Gemini,
        base: "https://generativelanguage.googleapis.com",
        base_env: "GEMINI_BASE_URL",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        is_keyless: false,
        key_in: KeyIn::Header("x-goog-api-key"),
        makes_images: true,
        ..COMPATIBLE
    },
    Preset {
        name: "cloudflare",
        about: "Cloudflare Workers AI, images (`output: image`); CLOUDFLARE_ACCOUNT_ID says whose",
        language: Language::Cloudflare,
        base: "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai",
        base_env: "CLOUDFLARE_BASE_URL",
        keys: &["CLOUDFLARE_API_TOKEN"],
        is_keyless: false,
        makes_images: true,
        ..COMPATIBLE
    },
    Preset {
        name: "mistral",
        about: "Mistral",
        language: Language::Mistral,
        base: "https://api.mistral.ai",
        base_env: "MISTRAL_BASE_URL",
        keys: &["MISTRAL_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "cohere",
        about: "Cohere: Chat v2",
        language: Language::Cohere,
        base: "https://api.cohere.com",
        base_env: "COHERE_BASE_URL",
        keys: &["COHERE_API_KEY", "CO_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "azure",
        about: "Azure OpenAI (v1 API); AZURE_OPENAI_ENDPOINT or `base_url` says where",
        language: Language::OpenAi,
        base: "{AZURE_OPENAI_ENDPOINT}/openai/v1",
        base_env: "AZURE_OPENAI_BASE_URL",
        keys: &["AZURE_OPENAI_API_KEY"],
        is_keyless: false,
        key_in: KeyIn::Header("api-key"),
        makes_images: true,
        ..COMPATIBLE
    },
    Preset {
        name: "openrouter",
        about: "OpenRouter",
        base: "https://openrouter.ai/api/v1",
        base_env: "OPENROUTER_BASE_URL",
        keys: &["OPENROUTER_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "together",
        about: "Together AI",
        base: "https://api.together.xyz/v1",
        base_env: "TOGETHER_BASE_URL",
        keys: &["TOGETHER_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "groq",
        about: "Groq",
        base: "https://api.groq.com/openai/v1",
        base_env: "GROQ_BASE_URL",
        keys: &["GROQ_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "huggingface",
        about: "the Hugging Face router",
        base: "https://router.huggingface.co/v1",
        base_env: "HF_ROUTER_BASE_URL",
        keys: &["HF_TOKEN"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "deepseek",
        about: "DeepSeek",
        base: "https://api.deepseek.com/v1",
        base_env: "DEEPSEEK_BASE_URL",
        keys: &["DEEPSEEK_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "xai",
        about: "xAI",
        base: "https://api.x.ai/v1",
        base_env: "XAI_BASE_URL",
        keys: &["XAI_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "fireworks",
        about: "Fireworks AI",
        base: "https://api.fireworks.ai/inference/v1",
        base_env: "FIREWORKS_BASE_URL",
        keys: &["FIREWORKS_API_KEY"],
        is_keyless: false,
        ..COMPATIBLE
    },
    Preset {
        name: "ollama",
        about: "Ollama's native API; OLLAMA_HOST is understood too",
        language: Language::Ollama,
        base: "http://localhost:11434",
        base_env: "OLLAMA_BASE_URL",
        keys: &["OLLAMA_API_KEY"],
        is_local: true,
        ..COMPATIBLE
    },
    Preset {
        name: "vllm",
        about: "vLLM's server",
        base: "http://localhost:8000/v1",
        base_env: "VLLM_BASE_URL",
        keys: &["VLLM_API_KEY"],
        is_local: true,
        ..COMPATIBLE
    },
    Preset {
        name: "llamacpp",
        about: "llama.cpp's server",
        base: "http://localhost:8080/v1",
        base_env: "LLAMACPP_BASE_URL",
        keys: &["LLAMACPP_API_KEY"],
        is_local: true,
        ..COMPATIBLE
    },
    Preset {
        name: "lmstudio",
        about: "LM Studio's server",
        base: "http://localhost:1234/v1",
        base_env: "LMSTUDIO_BASE_URL",
        keys: &["LMSTUDIO_API_KEY"],
        is_local: true,
        ..COMPATIBLE
    },
    COMPATIBLE,
];

impl Preset {
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The preset whose usual key a variable holds.
    pub(crate) fn of_key(variable: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.keys.contains(&variable))
    }

    /// The host it is on, when the table says so.
    pub(crate) fn host(&self) -> Option<&'static str> {
        let rest = self.base.split_once("://")?.1;
        rest.split(['/', ':']).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_variables_stand_once() {
        for (at, preset) in PRESETS.iter().enumerate() {
            for other in &PRESETS[at + 1..] {
                assert_ne!(preset.name, other.name);
                assert_ne!(preset.base_env, other.base_env);
                assert!(preset.keys.iter().all(|key| !other.keys.contains(key)), "{}", preset.name);
            }
            assert!(!preset.base.ends_with('/') && (preset.is_keyless || !preset.keys.is_empty()), "{}", preset.name);
        }
    }
}
