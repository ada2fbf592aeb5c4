//! Requests over HTTP: connections, deadlines, limits, retries.
//!
//! - [`endpoint`] one address that is asked, and the manners towards it: [`limit`] how much at once, [`breaker`] whether
//!   it is alive; [`proxy`] whether the way to it can be gone;
//! - [`link`] the way to it: the full client, or [`plain`] HTTP to this machine;
//! - [`http`] one exchange over the wire of HTTP; [`broken`] what it means when none comes about; [`retry`] when to try
//!   again;
//! - [`judge`] what a result means for a sample; [`voice`] the same for replies from a cassette;
//! - [`live`] a model behind an endpoint; [`replay`] one whose replies are all on a cassette.

mod breaker;
mod broken;
pub(crate) mod endpoint;
mod http;
pub(crate) mod judge;
mod limit;
mod link;
pub(crate) mod live;
mod plain;
mod proxy;
pub(crate) mod replay;
mod retry;
pub(crate) mod voice;
