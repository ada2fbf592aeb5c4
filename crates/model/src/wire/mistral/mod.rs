//! Mistral's chat, where it differs from OpenAI's.
