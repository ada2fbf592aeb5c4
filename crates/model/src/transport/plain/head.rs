//! The head of a reply of HTTP/1.1: a status, header fields, and what they say of the body.

use super::framing::{Chunks, Framing};

/// The most header fields.
const MOST_FIELDS: usize = 100;
/// Room for as many is made at first: room for the most of them takes longer to clear than a usual head to read.
const USUAL_FIELDS: usize = 24;

/// A head that was read.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Names and values of the fields, one after the other.
    text: Vec<u8>,
    fields: Vec<Field>,
    is_new: bool,
}

/// Where the name and the value of a field end. Each starts where the one before ends.
#[derive(Debug, Clone, Copy)]
struct Field {
    name_end: usize,
    value_end: usize,
}

/// Why something is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    TooLong,
    NotHttp,
}

/// A head, how its body is framed, and whether another reply may follow on the connection.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) head: Head,
    pub(super) framing: Framing,
    pub(super) stays_open: bool,
}

impl Begun {
    /// Reads the head in front of what has come; returns how many bytes it takes, too. `None` when more has to come.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Bad> {
        let parsed = match Head::parse::<USUAL_FIELDS>(bytes) {
            Err(httparse::Error::TooManyHeaders) => Head::parse::<MOST_FIELDS>(bytes),
            usual => usual,
        };
        let (head, length) = match parsed {
            Ok(httparse::Status::Complete(parsed)) => parsed,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Bad::TooLong),
            Err(_) => return Err(Bad::NotHttp),
        };
        if head.status < 100 {
            return Err(Bad::NotHttp);
        }
        let framing = head.framing()?;
        let stays_open = framing != Framing::UntilClosed && head.stays_open();
        Ok(Some((Self { head, framing, stays_open }, length)))
    }

    /// It only says that the reply is still to come.
    pub(super) fn is_interim(&self) -> bool {
        matches!(self.head.status, 100 | 102..200)
    }
}

impl Head {
    fn parse<const MOST: usize>(bytes: &[u8]) -> httparse::Result<(Self, usize)> {
        let mut found = [httparse::EMPTY_HEADER; MOST];
        let mut reply = httparse::Response::new(&mut found);
        let httparse::Status::Complete(length) = reply.parse(bytes)? else { return Ok(httparse::Status::Partial) };
        let mut text = Vec::with_capacity(length);
        let mut fields = Vec::with_capacity(reply.headers.len());
        for field in &*reply.headers {
            text.extend_from_slice(field.name.as_bytes());
            let name_end = text.len();
            text.extend_from_slice(field.value);
            fields.push(Field { name_end, value_end: text.len() });
        }
        let (status, is_new) = (reply.code.unwrap_or_default(), reply.version == Some(1));
        Ok(httparse::Status::Complete((Self { status, text, fields, is_new }, length)))
    }

    /// The first value of a header field.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let mut start = 0;
        self.fields.iter().filter_map(move |field| {
            let (its_name, value) = (&self.text[start..field.name_end], &self.text[field.name_end..field.value_end]);
            start = field.value_end;
            its_name.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
        })
    }

    /// RFC 9112 §6.3.
    fn framing(&self) -> Result<Framing, Bad> {
        if matches!(self.status, ..200 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        if let Some(coding) = self.all("transfer-encoding").last() {
            if !self.is_new {
                return Err(Bad::NotHttp);
            }
            let last = coding.rsplit(|byte| *byte == b',').next().unwrap_or_default();
            let is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            return Ok(if is_chunked { Framing::Chunked(Chunks::default()) } else { Framing::UntilClosed });
        }
        let mut length = None;
        for value in self.all("content-length") {
            let found = parse_length(value).ok_or(Bad::NotHttp)?;
            if length.is_some_and(|length| length != found) {
                return Err(Bad::NotHttp);
            }
            length = Some(found);
        }
        Ok(length.map_or(Framing::UntilClosed, Framing::Length))
    }

    fn stays_open(&self) -> bool {
        let says = |what: &[u8]| {
            let mut options = self.all("connection").flat_map(|value| value.split(|byte| *byte == b','));
            options.any(|option| option.trim_ascii().eq_ignore_ascii_case(what))
        };
        // Two framings at once are a trick, or a mistake. What follows may not be what it seems.
        let is_clear = self.get("transfer-encoding").is_none() || self.get("content-length").is_none();
        is_clear && self.status != 101 && !says(b"close") && (self.is_new || says(b"keep-alive"))
    }
}

/// Digits alone: no sign, no list.
fn parse_length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| str::from_utf8(value).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(text: &str) -> Result<Begun, Bad> {
        Begun::parse(text.as_bytes()).map(|begun| begun.expect("it is whole").0)
    }

    #[test]
    fn a_head_is_read_when_it_is_whole() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-ID: a\r\nx-request-id: b\r\n\r\n";
        for cut in 0..text.len() {
            assert!(Begun::parse(&text.as_bytes()[..cut]).unwrap().is_none(), "{cut}");
        }
        let (begun, length) = Begun::parse(format!("{text}{{}}").as_bytes()).unwrap().unwrap();
        assert_eq!((length, begun.head.status, begun.framing), (text.len(), 200, Framing::Length(2)));
        assert_eq!(begun.head.get("x-request-id"), Some(&b"a"[..]));
        assert_eq!(begun.head.get("retry-after"), None);
    }

    #[test]
    fn the_framing_follows_from_the_fields() {
        let of = |fields: &str| begun(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).map(|begun| begun.framing);
        let chunked = Framing::Chunked(Chunks::default());
        assert_eq!(of("transfer-encoding: gzip, Chunked\r\ncontent-length: 3\r\n"), Ok(chunked));
        assert_eq!(of("transfer-encoding: gzip\r\n"), Ok(Framing::UntilClosed));
        assert_eq!(of(""), Ok(Framing::UntilClosed));
        assert_eq!(of("content-length: 3\r\nContent-Length: 3\r\n"), Ok(Framing::Length(3)));
        for bad in ["-1", "+1", "", "1, 1", "0x1", "99999999999999999999", "3\r\ncontent-length: 4"] {
            assert_eq!(of(&format!("content-length: {bad}\r\n")), Err(Bad::NotHttp), "{bad}");
        }
        for status in ["100", "199", "204", "304"] {
            let none = begun(&format!("HTTP/1.1 {status} X\r\ncontent-length: 3\r\n\r\n")).unwrap();
            assert_eq!(none.framing, Framing::Length(0), "{status}");
        }
        assert_eq!(begun("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap_err(), Bad::NotHttp);
        assert_eq!(begun("HTTP/1.1 099 X\r\n\r\n").unwrap_err(), Bad::NotHttp);
    }

    #[test]
    fn a_connection_stays_open_unless_something_speaks_against_it() {
        for (head, stays_open) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n", true),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n", true),
            ("HTTP/1.1 200 OK\r\n", false),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: x\r\nConnection: keep-alive, Close\r\n", false),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: Keep-Alive\r\n", true),
            ("HTTP/1.1 101 X\r\n", false),
        ] {
            assert_eq!(begun(&format!("{head}\r\n")).unwrap().stays_open, stays_open, "{head}");
        }
    }

    #[test]
    fn many_fields_are_read_and_too_many_are_refused() {
        for (count, is_fine) in [(USUAL_FIELDS, true), (USUAL_FIELDS + 1, true), (MOST_FIELDS, true), (101, false)] {
            let fields: String = (0..count).map(|at| format!("x-{at}: {at}\r\n")).collect();
            let found = begun(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"));
            match found {
                Ok(begun) => assert!(is_fine && begun.head.get(&format!("x-{}", count - 1)).is_some(), "{count}"),
                Err(bad) => assert!(!is_fine && bad == Bad::TooLong, "{count}"),
            }
        }
    }
}
