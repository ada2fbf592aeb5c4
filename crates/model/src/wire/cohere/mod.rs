//! Cohere's chat.
