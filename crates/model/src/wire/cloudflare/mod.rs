//! Cloudflare's Workers AI.
