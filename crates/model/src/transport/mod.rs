//! Requests over HTTP: connections, deadlines, limits, retries.
//!
//! - [`endpoint`] one address that is asked, and the manners towards it: [`limit`] how much at once, [`breaker`] whether
//!   it is alive; [`proxy`] whether the way to it can be gone;
//! - [`http`] one exchange over the wire of HTTP; [`broken`] what it means when none comes about; [`retry`] when to try
//!   again;
//! - [`live`] a model behind an endpoint.

mod breaker;
mod broken;
pub(crate) mod endpoint;
mod http;
mod limit;
pub(crate) mod live;
mod proxy;
mod retry;
