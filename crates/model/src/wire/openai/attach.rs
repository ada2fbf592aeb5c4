//! Files that go with a message.

use data_encoding::BASE64;
use proofmark_artefact::record::{Attachment, Message, Role};

use crate::ask::Request;

/// One part of a message's content.
pub(super) enum Part {
    Text(String),
    /// A `data:` URL.
    Image(String),
    /// A file's name and its `data:` URL.
    File(String, String),
}

/// The parts of a message: its text, then its attachments in their order.
pub(super) fn parts(message: &Message, request: &Request) -> Result<Vec<Part>, String> {
    let mut parts = Vec::with_capacity(1 + message.attachments.len());
    if !message.content.is_empty() {
        parts.push(Part::Text(message.content.clone()));
    }
    for attachment in &message.attachments {
        parts.push(part(attachment, message.role, request)?);
    }
    Ok(parts)
}

fn part(attachment: &Attachment, role: Role, request: &Request) -> Result<Part, String> {
    let Attachment { digest, media_type, name, .. } = attachment;
    let kind = Kind::of(media_type).ok_or_else(|| format!("this model cannot take `{name}`: it is `{media_type}`"))?;
    // Only a user may speak in pictures and files; the others' parts are text.
    if role != Role::User && kind != Kind::Text {
        return Err(format!("a message of the {} cannot take `{name}`: it is `{media_type}`", role.as_str()));
    }
    let bytes = request.file(digest).ok_or_else(|| format!("the bytes of `{name}` ({digest}) are not there"))?;
    let data_url = || format!("data:{media_type};base64,{}", BASE64.encode(bytes));
    Ok(match kind {
        Kind::Image => Part::Image(data_url()),
        Kind::Pdf => Part::File(name.rsplit('/').next().unwrap_or(name).to_owned(), data_url()),
        Kind::Text => {
            let text = std::str::from_utf8(bytes).map_err(|_| format!("this model cannot take `{name}`: not UTF-8"))?;
            Part::Text(format!("{name}:\n\n{text}"))
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    Pdf,
    Text,
}

impl Kind {
    fn of(media_type: &str) -> Option<Self> {
        match media_type {
            "image/png" | "image/jpeg" | "image/webp" | "image/gif" => Some(Self::Image),
            "application/pdf" => Some(Self::Pdf),
            "application/json" | "application/xml" | "application/yaml" | "application/toml" => Some(Self::Text),
            other => other.starts_with("text/").then_some(Self::Text),
        }
    }
}
