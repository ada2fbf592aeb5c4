//! Pictures that models made, as the page shows them: a small copy and the facts.

use std::path::Path;

use super::html::Html;
use super::page::base64;
use super::sample::Sample;
use crate::number::{count, counted};
use crate::picture::{sniff, thumbnail};
use crate::record::Image;
use crate::store::load_output;

/// The longest side of a small copy, in pixels.
const SIDE: u32 = 96;
/// The most bytes that all small copies of a page take.
const MAX_BYTES: usize = 4 << 20;
/// The most pixels that are decoded for a page: a few seconds' worth.
const MAX_PIXELS: u64 = 512 << 20;

/// Makes small copies until the page is full. The first ones count, in the order of the page.
pub(super) struct Thumbnails<'a> {
    run_dir: &'a Path,
    bytes: usize,
    pixels: u64,
}

/// A small copy as a `data:` address.
struct Thumbnail {
    address: String,
    width: u32,
    height: u32,
}

impl<'a> Thumbnails<'a> {
    pub(super) fn of(run_dir: &'a Path) -> Self {
        Self { run_dir, bytes: MAX_BYTES, pixels: MAX_PIXELS }
    }

    /// Returns nothing when the page is full, or when the file is not what the record says: `validate` says what is.
    fn take(&mut self, image: &Image) -> Option<Thumbnail> {
        if self.bytes == 0 {
            return None;
        }
        let bytes = load_output(self.run_dir, image).ok()?;
        let facts = sniff(&bytes).ok()?;
        let small = thumbnail(&bytes, SIDE, self.pixels);
        self.pixels = self.pixels.saturating_sub(u64::from(facts.width) * u64::from(facts.height));
        let small = small.ok()?;
        let facts = sniff(&small).ok()?;
        let address = format!("data:image/png;base64,{}", base64(&small));
        // Once one does not fit none follows: which are shown must not depend on how small the others are.
        self.bytes = self.bytes.saturating_sub(address.len());
        (self.bytes > 0).then_some(Thumbnail { address, width: facts.width, height: facts.height })
    }
}

/// Writes the pictures of a sample.
pub(super) fn figures(html: &mut Html, sample: &Sample, thumbnails: &mut Thumbnails<'_>) {
    if sample.images.is_empty() {
        return;
    }
    html.raw("<div class=\"pictures\">\n");
    for image in &sample.images {
        html.raw("<figure>");
        match thumbnails.take(image) {
            Some(Thumbnail { address, width, height }) => {
                html.raw("<img").attr("src", &address);
                html.attr("width", &width.to_string()).attr("height", &height.to_string());
                html.attr("alt", &format!("the picture that the model made, {}", dimensions(image))).raw(">");
            }
            None => {
                html.raw("<p class=\"quiet\">no preview</p>");
            }
        }
        html.raw("<figcaption>").text(&dimensions(image)).raw("<br>").text(&image.media_type).raw(", ");
        html.text(&counted(image.bytes, "byte", "bytes")).raw("<br><code class=\"copy\"");
        html.attr("title", &image.digest.to_string()).raw(">").text(&image.digest.short());
        html.raw("</code></figcaption></figure>\n");
    }
    html.raw("</div>\n");
    if sample.images_left_out > 0 {
        html.raw("<p class=\"quiet\">").text(&counted(sample.images_left_out as u64, "picture", "pictures"));
        html.raw(" left out</p>\n");
    }
}

/// What a reader sees of the pictures before the sample is opened.
pub(super) fn glance(html: &mut Html, sample: &Sample) {
    let all = sample.images.len() + sample.images_left_out;
    match sample.images.first() {
        Some(image) if all == 1 => html.raw("picture, ").text(&dimensions(image)),
        _ => html.text(&count(all as u64)).raw(" pictures"),
    };
}

fn dimensions(image: &Image) -> String {
    format!("{} \u{d7} {} pixels", count(image.width.into()), count(image.height.into()))
}
