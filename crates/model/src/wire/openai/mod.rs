//! OpenAI's Chat Completions, Responses and Images, and every server that speaks them.
//!
//! - [`chat`], `gather` and `calls`: Chat Completions, whole and streamed;
//! - [`responses`]: Responses; [`images`]: image generation;
//! - `attach` files that go with a message; `fault` what an error means; `fields` reading members of a reply.

mod attach;
mod calls;
mod chat;
mod fault;
mod fields;
mod gather;
mod images;
mod responses;
#[cfg(test)]
mod tests;

pub(crate) use chat::{Chat, Dialect};
pub(crate) use images::Images;
pub(crate) use responses::Responses;
