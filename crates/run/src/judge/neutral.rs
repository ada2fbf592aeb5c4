//! Look-alike markup in untrusted text, made harmless.
