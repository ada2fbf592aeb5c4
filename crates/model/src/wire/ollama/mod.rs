//! Ollama's native chat.
