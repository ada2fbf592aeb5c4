//! Lists of models. Any name is answered; the lists show one.

use serde_json::{Value, json};

use super::super::answer::{CREATED, CREATED_TEXT};
use super::super::route::{Endpoint, Provider};

const NAME: &str = "mock-model";

/// The list of an endpoint. OpenAI and Anthropic share a path, so the provider is told apart by its headers.
pub(in super::super) fn models(endpoint: Endpoint, provider: Provider) -> Value {
    match (endpoint, provider) {
        (Endpoint::GeminiModels, _) => json!({"models": [{
            "name": format!("models/{NAME}"),
            "version": "1",
            "displayName": NAME,
            "inputTokenLimit": 1_000_000,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent"],
        }]}),
        (Endpoint::OllamaTags, _) => json!({"models": [{
            "name": format!("{NAME}:latest"),
            "model": format!("{NAME}:latest"),
            "modified_at": CREATED_TEXT,
            "size": 0,
            "digest": "0".repeat(64),
            "details": {"format": "gguf", "family": "mock", "families": ["mock"], "parameter_size": "0B",
                "quantization_level": "F16"},
        }]}),
        (_, Provider::Anthropic) => json!({
            "data": [{"type": "model", "id": NAME, "display_name": NAME, "created_at": CREATED_TEXT}],
            "has_more": false,
            "first_id": NAME,
            "last_id": NAME,
        }),
        _ => json!({"object": "list",
            "data": [{"id": NAME, "object": "model", "created": CREATED, "owned_by": "proofmark"}]}),
    }
}
