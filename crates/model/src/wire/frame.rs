//! Cuts a streamed body to its parts: server-sent events, or lines.
