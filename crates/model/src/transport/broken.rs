//! Sorts the failures of a connection.
//!
//! The text is our own: the system's differs between machines, and a library's may hold more than is good.

use std::error::Error;
use std::io::{self, ErrorKind};

use rustls::CertificateError;

use super::http::{Deadlines, Failure, timed_out};
use crate::class::Class;
use crate::wire::WireError;

/// Sorts a failure before there was a reply.
pub(crate) fn before_reply(error: &reqwest::Error, deadlines: &Deadlines) -> Failure {
    if error.is_timeout() {
        return timed_out("a connection", deadlines.connect);
    }
    sort(error, error.is_connect())
}

/// Sorts a failure to connect, without a client around it.
pub(crate) fn on_connecting(error: &io::Error) -> Failure {
    sort(error, true)
}

/// Sorts a failure of a connection on which no reply came.
pub(crate) fn on_connection(error: &io::Error) -> Failure {
    sort(error, false)
}

/// What came is not the head of a reply.
pub(crate) fn no_head(is_too_long: bool) -> Failure {
    let message = if is_too_long { "the head of the reply is too long" } else { "the reply is not HTTP" };
    Failure::Wire(WireError::malformed(message))
}

fn sort(error: &(dyn Error + 'static), is_connect: bool) -> Failure {
    let mut text = String::new();
    for cause in causes(error) {
        if let Some(found) = cause.downcast_ref().and_then(of_tls) {
            return found;
        }
        if let Some(found) = cause.downcast_ref().and_then(of_http) {
            return found;
        }
        if let Some(found) = cause.downcast_ref::<io::Error>().and_then(of_system) {
            return found;
        }
        text = cause.to_string().to_ascii_lowercase();
        if text.contains("proxy authorization required") {
            return Failure::Barred(PROXY_REFUSES.to_owned());
        }
    }
    network(if text.contains("dns") || text.contains("lookup") || text.contains("name or service") {
        "the host's name could not be resolved"
    } else if text.starts_with("tunnel error") || text.starts_with("socks error") {
        "the proxy made no connection"
    } else if is_connect {
        "no connection could be made"
    } else {
        "the connection was closed before a reply came"
    })
}

/// What a proxy says that wants a password, or another one.
pub(crate) const PROXY_REFUSES: &str = "the proxy refuses to serve without its password";

/// Whether a body that cannot be read is one that breaks the rules of HTTP, not one that ended too early.
pub(crate) fn breaks_rules(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| {
        let kind = cause.downcast_ref().map(io::Error::kind);
        matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::InvalidData))
    })
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        // What an I/O error was made of is not its source.
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    })
}

fn of_tls(error: &rustls::Error) -> Option<Failure> {
    use CertificateError as Bad;
    let rustls::Error::InvalidCertificate(why) = error else {
        return Some(network("TLS could not be agreed on with the server"));
    };
    let why = match why {
        Bad::UnknownIssuer => "nobody whom this machine trusts has signed it",
        Bad::Expired | Bad::ExpiredContext { .. } => "it has expired",
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "it is not valid yet",
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => "it is for another host",
        Bad::BadSignature => "its signature is wrong",
        // What most tools make when they are asked for a certificate, and what no server may show.
        Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => "it is signed by itself",
        Bad::Revoked => "it was revoked",
        _ => "it is not valid",
    };
    Some(Failure::Barred(format!("the server's certificate was refused: {why}")))
}

fn of_http(error: &hyper::Error) -> Option<Failure> {
    (error.is_parse() || error.is_parse_too_large()).then(|| no_head(error.is_parse_too_large()))
}

fn of_system(error: &io::Error) -> Option<Failure> {
    Some(network(match error.kind() {
        ErrorKind::ConnectionRefused => "the connection was refused",
        ErrorKind::ConnectionReset => "the connection was reset",
        ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => "the connection broke",
        ErrorKind::UnexpectedEof => "the connection was closed",
        _ => return None,
    }))
}

fn network(message: &str) -> Failure {
    Failure::Broken(Class::Network, message.to_owned())
}
