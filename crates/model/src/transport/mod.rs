//! Requests over HTTP: connections, deadlines, limits, retries.
//!
//! - [`endpoint`] one address that is asked, and the manners towards it: [`limit`] how much at once, [`breaker`] whether
//!   it is alive;
//! - [`http`] one exchange over the wire of HTTP; [`retry`] when to try again;
//! - [`live`] a model behind an endpoint.

mod breaker;
pub(crate) mod endpoint;
mod http;
mod limit;
pub(crate) mod live;
mod retry;
