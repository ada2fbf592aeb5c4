//! Image generation: `POST /images/generations`.

use data_encoding::BASE64;
use proofmark_artefact::record::Usage;
use proofmark_canon::Value;

use super::fault::{self, Fault};
use super::fields;
use crate::ask::Request;
use crate::wire::{Assemble, Body, Call, Completion, Picture, Refused, Wire, WireError, parse_reply};

/// OpenAI's image models, and servers that follow them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Images;

/// How many bytes the pictures of one reply may have.
const MAX_BYTES: usize = 64 << 20;

impl Wire for Images {
    fn params(&self) -> &'static [&'static str] {
        &["size", "quality", "background", "style", "image_format"]
    }

    fn lacks(&self) -> &'static [&'static str] {
        &["temperature", "top_p", "max_tokens", "stop", "stream"]
    }

    fn takes_seed(&self) -> bool {
        false
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        if let Some(file) = request.messages.iter().find_map(|message| message.attachments.first()) {
            return Err(format!("an image model cannot take `{}`: it takes a text", file.name));
        }
        if !request.turns.is_empty() || !request.tools.is_empty() {
            return Err("an image model cannot take turns or tools: it takes a text".to_owned());
        }
        let texts: Vec<&str> = request.messages.iter().map(|message| message.content.as_str()).collect();
        let mut body = Body::new();
        body.set("model", model).set("prompt", texts.join("\n\n")).set("n", 1u32);
        body.copy(request, &["size", "quality", "background", "style"]);
        body.copy_as(request, "image_format", "output_format");
        // These give links by default; the newer ones know bytes only, and refuse the word.
        if model.starts_with("dall-e-") {
            body.set("response_format", "b64_json");
        }
        body.merge_extra(request);
        Ok(Call { path: "/images/generations".to_owned(), body: body.to_bytes(), streamed: false })
    }

    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        let reply = parse_reply(body)?;
        if let Some(fault) = Fault::inside(&reply) {
            return fault.into_reply();
        }
        if fields::member(&reply, "data").is_none() {
            return Err(WireError::malformed("the reply has no `data`"));
        }
        let mut answer = Completion { model: fields::model(&reply)?, ..Completion::default() };
        let mut room = MAX_BYTES;
        for item in fields::list(&reply, "data")? {
            answer.images.push(picture(item, &mut room)?);
        }
        if let Some(usage) = fields::object(&reply, "usage")? {
            let tokens = |name| fields::count(usage, name).map(Option::unwrap_or_default);
            answer.usage = Usage { input_tokens: tokens("input_tokens")?, output_tokens: tokens("output_tokens")? };
        }
        Ok(answer)
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::new(NoStream)
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        fault::refuse(status, body)
    }
}

fn picture(item: &Value, room: &mut usize) -> Result<Picture, WireError> {
    let Some(text) = fields::text(item, "b64_json")? else {
        return Err(WireError::malformed(match fields::member(item, "url") {
            Some(_) => "the reply has a link in the place of the picture's bytes",
            None => "a picture of the reply has no `b64_json`",
        }));
    };
    // Four characters for three bytes.
    *room = room.checked_sub(text.len() / 4 * 3).ok_or_else(|| {
        WireError::malformed(format!("the pictures of the reply have more than {} MiB", MAX_BYTES >> 20))
    })?;
    let bytes = BASE64.decode(text.as_bytes());
    let bytes =
        bytes.map_err(|error| WireError::malformed(format!("a picture of the reply is not Base64: {error}")))?;
    Ok(Picture { bytes })
}

/// Pictures are never streamed.
struct NoStream;

impl Assemble for NoStream {
    fn take(&mut self, _: &str, _: &str) -> Result<bool, WireError> {
        Err(WireError::malformed("a stream came where a picture was asked for"))
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        Err(WireError::cut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_for_pictures_shrinks_with_each_of_them() {
        let item = proofmark_canon::json::parse(br#"{"b64_json":"QUJD"}"#).unwrap();
        let mut room = 5;
        assert_eq!(picture(&item, &mut room), Ok(Picture { bytes: b"ABC".to_vec() }));
        let error = WireError::malformed("the pictures of the reply have more than 64 MiB");
        assert_eq!(picture(&item, &mut room), Err(error));
    }
}
