//! OpenAI's images.

use serde_json::{Value, json};

use super::super::answer::{Answer, CREATED, Said};
use super::super::ask::{self, Asked, Pictures, number};
use super::super::png::MAX_SIDE;
use super::base64;

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::new(ask::model(body)?);
    let prompt = body.get("prompt").and_then(Value::as_str).filter(|prompt| !prompt.is_empty());
    asked.user(prompt.ok_or("`prompt` is missing or empty")?.to_owned());
    let count = number(body, "n").unwrap_or(1);
    let count = u32::try_from(count).ok().filter(|count| (1..=10).contains(count));
    let mut pictures = Pictures { count: count.ok_or("`n` is not from 1 to 10")?, ..Pictures::default() };
    if let Some(size) = body.get("size").and_then(Value::as_str).filter(|size| *size != "auto") {
        let (width, height) = parse_size(size).ok_or("`size` is not WIDTHxHEIGHT")?;
        (pictures.width, pictures.height) = (width, height);
    }
    asked.pictures = Some(pictures);
    Ok(asked)
}

fn parse_size(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once('x')?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    Some((side(width)?, side(height)?))
}

pub(super) fn whole(answer: &Answer) -> Value {
    let pictures = if let Said::Pictures(pictures) = &answer.said { pictures.as_slice() } else { &[] };
    json!({
        "created": CREATED,
        "background": "opaque",
        "data": pictures.iter().map(|bytes| json!({"b64_json": base64(bytes)})).collect::<Vec<_>>(),
        "output_format": "png",
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": answer.input_tokens},
            "output_tokens": answer.output_tokens,
            "total_tokens": answer.total_tokens(),
        },
    })
}
