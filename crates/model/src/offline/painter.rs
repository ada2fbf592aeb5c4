//! A model that makes pictures.
//!
//! The picture follows from the last user message and the sample's seed: a gradient between two colours with blocks on
//! it. It always makes one, whatever the suite's `output` says, and writes no text.

use proofmark_artefact::picture::png;
use proofmark_artefact::record::{Output, Usage};
use proofmark_canon::Value;
use proofmark_canon::seed::Stream;

use super::{input_tokens, last_user};
use crate::ask::{Ask, Asked, Blob, Reply};
use crate::class::Class;

const DEFAULT_SIDE: u32 = 64;
const MAX_SIDE: u32 = 1024;

pub(super) fn paint(ask: &Ask<'_>) -> Asked {
    let side = |name: &str| ask.request.params.get(name).and_then(parse_side).unwrap_or(DEFAULT_SIDE);
    let (width, height) = (side("width"), side("height"));
    let text = last_user(&ask.request.messages);
    let labels: [&[u8]; 2] = [text.as_bytes(), &ask.request.seed.get().to_be_bytes()];
    let pixels = Scene::new(Stream::new("proofmark.painter/1", &labels)).pixels(width, height);
    let usage = Usage { input_tokens: input_tokens(ask), output_tokens: 0 };
    match Blob::picture(png::encode_rgb(width, height, &pixels)) {
        Ok((image, blob)) => {
            let output = Output { images: vec![image], ..Output::default() };
            let reply = Reply::Answered { finish_reason: "stop".to_owned(), output, usage };
            Asked { reply, blobs: vec![blob], next: None }
        }
        Err(error) => Reply::failed(Class::Malformed, error.to_string()).with_usage(usage).into(),
    }
}

/// A side of the picture in pixels.
pub(super) fn parse_side(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|side| u32::try_from(side).ok()).filter(|side| (1..=MAX_SIDE).contains(side))
}

type Colour = [u8; 3];

/// What is to be seen, in units of a 1024th of each side, so that another size shows the same.
struct Scene {
    top: Colour,
    bottom: Colour,
    blocks: Vec<Block>,
}

struct Block {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
    colour: Colour,
}

impl Scene {
    fn new(mut stream: Stream) -> Self {
        let mut below = |bound: u64| stream.next_below(bound) as u32;
        let mut colour = || [below(256) as u8, below(256) as u8, below(256) as u8];
        let (top, bottom) = (colour(), colour());
        let count = 3 + stream.next_below(4);
        let blocks = (0..count).map(|_| Block::new(&mut stream)).collect();
        Self { top, bottom, blocks }
    }

    fn pixels(&self, width: u32, height: u32) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
        for y in 0..height {
            let y = y * MAX_SIDE / height;
            let mix = |at: usize| {
                let (top, bottom) = (u32::from(self.top[at]), u32::from(self.bottom[at]));
                ((top * (MAX_SIDE - y) + bottom * y) / MAX_SIDE) as u8
            };
            let ground = [mix(0), mix(1), mix(2)];
            for x in 0..width {
                let x = x * MAX_SIDE / width;
                // The last block lies on top.
                let block = self.blocks.iter().rev().find(|block| block.covers(x, y));
                pixels.extend(block.map_or(ground, |block| block.colour));
            }
        }
        pixels
    }
}

impl Block {
    fn new(stream: &mut Stream) -> Self {
        let mut below = |bound: u64| stream.next_below(bound) as u32;
        let (width, height) = (128 + below(384), 128 + below(384));
        let (left, top) = (below(u64::from(MAX_SIDE - width)), below(u64::from(MAX_SIDE - height)));
        Self { left, top, width, height, colour: [below(256) as u8, below(256) as u8, below(256) as u8] }
    }

    fn covers(&self, x: u32, y: u32) -> bool {
        (self.left..self.left + self.width).contains(&x) && (self.top..self.top + self.height).contains(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{AttemptLog, Hint, Request};
    use proofmark_artefact::picture::{distance, perceptual_hash, sniff};
    use proofmark_artefact::record::{Message, Role};
    use proofmark_canon::Map;
    use proofmark_canon::seed::SampleSeed;

    struct Nobody;

    impl AttemptLog for Nobody {
        fn attempt(&self, _: &proofmark_artefact::telemetry::Attempt) {}
    }

    fn painted(text: &str, key: &str, params: &[(&str, u32)]) -> (Asked, Vec<u8>) {
        let mut map = Map::new();
        params.iter().for_each(|(name, side)| drop(map.insert(*name, *side)));
        let request = Request::new([Message::new(Role::User, text)], map, SampleSeed::derive(0, key));
        let expected = Value::Null;
        let hint = Hint {
            key,
            ordinal: 0,
            item_id: "i",
            item_index: 0,
            sample: 0,
            attempt: 0,
            expected: &expected,
            choices: None,
        };
        let asked = paint(&Ask { request: &request, hint, log: &Nobody });
        let bytes = asked.blobs[0].bytes.clone();
        (asked, bytes)
    }

    #[test]
    fn the_picture_is_in_the_reply_and_its_bytes_beside_it() {
        let (asked, bytes) = painted("a harbour", "k", &[("width", 40), ("height", 30)]);
        let Reply::Answered { output, usage, .. } = &asked.reply else { panic!("{:?}", asked.reply) };
        let image = &output.images[0];
        assert_eq!((image.width, image.height, image.media_type.as_str()), (40, 30, "image/png"));
        assert_eq!((image.bytes, image.digest), (bytes.len() as u64, proofmark_canon::Digest::of(&bytes)));
        assert_eq!((asked.blobs[0].digest, output.text.as_str()), (image.digest, ""));
        assert_eq!((usage.input_tokens, usage.output_tokens), (3, 0));
        let facts = sniff(&painted("a harbour", "k", &[]).1).unwrap();
        assert_eq!((facts.width, facts.height), (64, 64));
    }

    #[test]
    fn text_and_seed_make_the_picture_and_its_size_does_not_change_what_is_seen() {
        let (_, base) = painted("a harbour", "k", &[]);
        assert_eq!(painted("a harbour", "k", &[]).1, base);
        assert_ne!(painted("a desert", "k", &[]).1, base);
        assert_ne!(painted("a harbour", "other", &[]).1, base);
        let larger = painted("a harbour", "k", &[("width", 256), ("height", 256)]).1;
        let hash = |bytes: &[u8]| perceptual_hash(bytes).unwrap();
        assert!(distance(hash(&base), hash(&larger)) <= 4);
        assert!(distance(hash(&base), hash(&painted("a desert", "k", &[]).1)) > 10);
    }

    #[test]
    fn a_side_is_a_whole_number_of_pixels() {
        for (text, side) in [
            ("1", Some(1)),
            ("1024", Some(1024)),
            ("0", None),
            ("1025", None),
            ("1.5", None),
            ("-3", None),
            ("\"8\"", None),
        ] {
            let value = proofmark_canon::json::parse(text.as_bytes()).unwrap();
            assert_eq!(parse_side(&value), side, "{text}");
        }
    }
}
