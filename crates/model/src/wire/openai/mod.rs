//! OpenAI's Chat Completions, Responses and Images, and every server that speaks them.
