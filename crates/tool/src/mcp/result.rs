//! What a call gave, as bytes for a model.

use data_encoding::{BASE64, BASE64_NOPAD};
use proofmark_artefact::text::excerpt;
use proofmark_canon::Digest;
use proofmark_canon::json::{Integers, parse_with};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::output;
use crate::tool::ToolOutput;

/// Joins the parts of a result. What is no text is told with its type, length and digest.
pub(super) fn output(result: CallToolResult, secrets: &[String], most: u64) -> ToolOutput {
    let is_error = result.is_error.unwrap_or(false);
    let mut has_text = false;
    let mut parts = Vec::with_capacity(result.content.len());
    for part in result.content {
        parts.push(match part {
            ContentBlock::Text(text) => {
                has_text = true;
                text.text
            }
            ContentBlock::Image(image) => binary(Some(&image.mime_type), &image.data),
            ContentBlock::Audio(audio) => binary(Some(&audio.mime_type), &audio.data),
            ContentBlock::Resource(resource) => match resource.resource {
                // Text is text, however it is wrapped.
                ResourceContents::TextResourceContents { text, .. } => {
                    has_text = true;
                    text
                }
                ResourceContents::BlobResourceContents { mime_type, blob, .. } => binary(mime_type.as_deref(), &blob),
                _ => "[a resource of an unknown kind]".to_owned(),
            },
            ContentBlock::ResourceLink(link) => format!("[resource {}]", excerpt(&link.uri, SHOWN)),
            _ => "[a part of an unknown kind]".to_owned(),
        });
    }
    if let Some(value) = result.structured_content.filter(|_| !has_text) {
        parts.push(canonical(&value));
    }
    let content = hide(parts.join("\n"), secrets).into_bytes();
    ToolOutput { content: output::cut(content, most), source: None, is_error }
}

/// Takes keys out of a text that goes to the model and into artefacts.
pub(super) fn hide(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), "***");
        }
    }
    text
}

/// A note in the place of bytes that a model cannot be shown. The digest is of the bytes, not of their base64.
fn binary(media_type: Option<&str>, data: &str) -> String {
    let media_type = excerpt(media_type.unwrap_or("application/octet-stream"), SHOWN);
    let trimmed = data.trim_end_matches('=').as_bytes();
    match BASE64.decode(data.as_bytes()).or_else(|_| BASE64_NOPAD.decode(trimmed)) {
        Ok(bytes) => format!("[{media_type}, {} bytes, {}]", bytes.len(), Digest::of(&bytes)),
        Err(_) => format!("[{media_type}, not valid base64]"),
    }
}

/// The value's canonical bytes. Integers that a double cannot hold become text rather than other integers.
fn canonical(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match parse_with(text.as_bytes(), Integers::AsText) {
        Ok(value) => String::from_utf8(value.to_canonical()).unwrap_or(text),
        Err(_) => text,
    }
}

/// Characters of a media type or an address that are shown.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(result: &str) -> ToolOutput {
        output(serde_json::from_str(result).unwrap(), &[], 1 << 16)
    }

    fn text(result: &str) -> String {
        String::from_utf8(shown(result).content).unwrap()
    }

    #[test]
    fn parts_are_joined_by_line_ends() {
        let hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        for (result, want) in [
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}"#.to_owned(),
                "a\nb\n".to_owned(),
            ),
            (r#"{"content":[]}"#.to_owned(), String::new()),
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}]}"#
                    .to_owned(),
                format!("a\n[image/png, 5 bytes, {hello}]"),
            ),
            (
                r#"{"content":[{"type":"audio","data":"aGVsbG8","mimeType":"audio/\u001bwav"}]}"#.to_owned(),
                format!("[audio/\\u{{1b}}wav, 5 bytes, {hello}]"),
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"aGVsbG8="}}]}"#.to_owned(),
                format!("[application/octet-stream, 5 bytes, {hello}]"),
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}"#.to_owned(),
                "inside".to_owned(),
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"x:y","name":"n"}]}"#.to_owned(),
                "[resource x:y]".to_owned(),
            ),
            (
                r#"{"content":[{"type":"image","data":"!!","mimeType":"image/png"}]}"#.to_owned(),
                "[image/png, not valid base64]".to_owned(),
            ),
        ] {
            assert_eq!(text(&result), want, "{result}");
        }
    }

    #[test]
    fn structured_content_is_canonical_and_stands_in_for_text_that_is_missing() {
        let both = r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}"#;
        assert_eq!(text(both), "t");
        let alone = r#"{"content":[],"structuredContent":{"b":1.0,"a":[1e21,9007199254740993,null],"é":"\u001b"}}"#;
        assert_eq!(text(alone), "{\"a\":[1e+21,\"9007199254740993\",null],\"b\":1,\"é\":\"\\u001b\"}");
    }

    #[test]
    fn an_error_stays_an_error_and_control_characters_stay_what_they_are() {
        let output = shown(r#"{"content":[{"type":"text","text":"\u001b[31m\u0000"}],"isError":true}"#);
        assert!(output.is_error);
        assert_eq!(output.content, b"\x1b[31m\0");
    }

    #[test]
    fn a_key_that_comes_back_is_hidden() {
        let result = r#"{"content":[{"type":"text","text":"you sent Bearer s3cr3t-key!"}]}"#;
        let output = output(serde_json::from_str(result).unwrap(), &["s3cr3t-key".to_owned()], 1 << 16);
        assert_eq!(output.content, b"you sent Bearer ***!");
    }

    #[test]
    fn a_long_result_is_cut() {
        let long = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(1000));
        let output = output(serde_json::from_str(&long).unwrap(), &[], 256);
        assert!(output.content.len() <= 256 && output.content.ends_with(b" bytes of 1000 bytes]\n"));
    }
}
