//! Requests over HTTP: connections, deadlines, limits, retries.
