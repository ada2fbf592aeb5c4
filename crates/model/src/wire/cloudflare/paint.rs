//! Models that make pictures.

use data_encoding::BASE64;
use proofmark_canon::Value;

use super::super::parts;
use super::super::{Assemble, Body, Call, Completion, Picture, Refused, Wire, WireError, parse_reply};
use super::reply;
use crate::ask::Request;

/// `POST /run/{model}` for pictures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint;

/// How large a picture may be.
const MAX_PICTURE: usize = 64 << 20;

impl Wire for Paint {
    fn params(&self) -> &'static [&'static str] {
        &["negative_prompt", "width", "height", "steps", "guidance"]
    }

    fn lacks(&self) -> &'static [&'static str] {
        &["temperature", "top_p", "max_tokens", "stop", "stream"]
    }

    fn takes_seed(&self) -> bool {
        true
    }

    fn encode(&self, model: &str, request: &Request) -> Result<Call, String> {
        if model.contains("/flux-2") {
            return Err(format!("`{model}` wants a form, and this provider is asked in JSON"));
        }
        if !request.tools.is_empty() || !request.turns.is_empty() {
            return Err(format!("`{model}` makes pictures and takes no tools"));
        }
        let mut texts = Vec::with_capacity(request.messages.len());
        for message in request.messages.iter() {
            let content = parts::content(request, message)?;
            if !content.images.is_empty() {
                return Err(format!("`{model}` takes no images"));
            }
            texts.push(content.text);
        }
        let mut body = Body::new();
        body.set("prompt", texts.join("\n\n"));
        body.copy(request, &["negative_prompt", "width", "height", "guidance"]);
        body.copy_as(request, "steps", steps(model));
        if let Some(seed) = parts::seed(request) {
            body.set("seed", seed);
        }
        body.merge_extra(request);
        Ok(Call { path: super::path(model)?, body: body.to_bytes(), streamed: false })
    }

    /// Older models send the picture itself, newer ones JSON with the picture in base 64.
    fn decode(&self, body: &[u8]) -> Result<Completion, WireError> {
        let begin = body.trim_ascii_start();
        let bytes = match begin.first() {
            None => return Err(WireError::malformed("the reply is empty")),
            // A page of some proxy; no picture begins like this.
            Some(b'<') => return Err(WireError::malformed("the reply is neither a picture nor JSON")),
            Some(b'{') => {
                let envelope = parse_reply(body)?;
                if let Some(failed) = reply::failure(&envelope) {
                    return failed;
                }
                picture(&envelope)?
            }
            Some(_) if body.len() > MAX_PICTURE => return Err(too_large()),
            Some(_) => body.to_vec(),
        };
        Ok(Completion { images: vec![Picture { bytes }], ..Completion::default() })
    }

    fn assemble(&self) -> Box<dyn Assemble> {
        Box::new(NoStream)
    }

    fn refuse(&self, status: u16, body: &[u8]) -> Refused {
        super::refuse(status, body)
    }
}

/// What a model calls its number of steps. The newest ones know both words.
fn steps(model: &str) -> &'static str {
    if model.contains("/flux-") { "steps" } else { "num_steps" }
}

fn picture(envelope: &Value) -> Result<Vec<u8>, WireError> {
    let image = envelope.get("result").and_then(|result| result.get("image")).and_then(Value::as_str);
    let image = image.ok_or_else(|| WireError::malformed("the result has no `image`"))?;
    let text = match image.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,").map_or(url, |(_, text)| text),
        None => image,
    };
    if text.len() / 4 > MAX_PICTURE / 3 {
        return Err(too_large());
    }
    let bytes = BASE64.decode(text.as_bytes());
    let bytes = bytes.map_err(|error| WireError::malformed(format!("`image` is not base 64: {error}")))?;
    if bytes.is_empty() { Err(WireError::malformed("`image` is empty")) } else { Ok(bytes) }
}

fn too_large() -> WireError {
    WireError::malformed(format!("the picture is larger than {} MiB", MAX_PICTURE >> 20))
}

/// Pictures come whole.
struct NoStream;

impl Assemble for NoStream {
    fn take(&mut self, _event: &str, _data: &str) -> Result<bool, WireError> {
        Err(WireError::malformed("a picture does not come as a stream"))
    }

    fn finish(self: Box<Self>) -> Result<Completion, WireError> {
        Err(WireError::cut())
    }
}
