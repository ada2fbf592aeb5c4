//! One entry of a cassette: a request, and what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64;
use proofmark_canon::digest::DigestError;
use proofmark_canon::json::{self, EncodeError};
use proofmark_canon::seed::derive;
use proofmark_canon::{Digest, Hasher};
use serde::{Deserialize, Serialize};

use crate::ask::Reply;
use crate::class::Class;

/// Names a request: everything that decides what is asked, and nothing of where or by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestDigest(Digest);

impl RequestDigest {
    pub fn get(self) -> Digest {
        self.0
    }
}

impl From<Digest> for RequestDigest {
    fn from(digest: Digest) -> Self {
        Self(digest)
    }
}

impl fmt::Display for RequestDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RequestDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

/// A request as it is named and kept. There is no key in it: keys are sent in headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Canonical JSON, as it was sent.
    pub body: String,
    /// Digest of the headers that the suite adds; null when it adds none.
    pub headers: Option<Digest>,
    /// The provider's name of the model.
    pub model: String,
    /// After the address.
    pub path: String,
    /// What stands before the colon in `provider:model-id`.
    pub provider: String,
    /// The sample's seed, also where the provider takes none: samples of one item keep their own answers.
    pub seed: u32,
}

const REQUEST_DOMAIN: &str = "proofmark.request/1";
const HEADERS_DOMAIN: &str = "proofmark.request-headers/1";
const CONTENT_DOMAIN: &str = "proofmark.cassette-entry/1";

impl Question {
    pub fn digest(&self) -> RequestDigest {
        let headers: &[u8] = self.headers.as_ref().map_or(&[], |digest| digest.as_bytes());
        let labels: [&[u8]; 6] = [
            self.provider.as_bytes(),
            self.model.as_bytes(),
            self.path.as_bytes(),
            headers,
            &self.seed.to_be_bytes(),
            self.body.as_bytes(),
        ];
        RequestDigest(derive(REQUEST_DOMAIN, &labels))
    }

    /// The digest of a suite's headers. Their values stay out of the cassette.
    pub(crate) fn headers_digest(headers: &BTreeMap<String, String>) -> Option<Digest> {
        if headers.is_empty() {
            return None;
        }
        let mut sorted: Vec<(String, &String)> =
            headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        sorted.sort_unstable();
        let mut hasher = Hasher::new();
        hasher.part(HEADERS_DOMAIN.as_bytes());
        for (name, value) in sorted {
            hasher.part(name.as_bytes()).part(value.as_bytes());
        }
        Some(hasher.finish())
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// A whole reply. What it means is worked out again each time.
    Http { body: Body, headers: BTreeMap<String, String>, status: u16 },
    /// What stood at the end where there is no whole reply: a failure, or what a program answered.
    Outcome { reply: Reply },
}

impl Answer {
    /// Whether another attempt may end differently, so that a cache should not hold on to it.
    pub(crate) fn is_passing(&self) -> bool {
        const PASSING: [Class; 8] = [
            Class::Server,
            Class::Network,
            Class::Timeout,
            Class::RateLimited,
            Class::Truncated,
            Class::StreamCut,
            Class::Runner,
            Class::EndpointDown,
        ];
        match self {
            Self::Outcome { reply: Reply::Failed { class, .. } } => PASSING.iter().any(|known| known.as_str() == class),
            _ => false,
        }
    }
}

/// The bytes of a reply, whatever they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "encoding", content = "data", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    Text(String),
    Base64(String),
}

impl Body {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            // Escapes can make a text six times as long; this bounds the entry.
            Ok(text) if escapes(&text) <= text.len() / 4 + 64 => Self::Text(text),
            Ok(text) => Self::Base64(BASE64.encode(text.as_bytes())),
            Err(error) => Self::Base64(BASE64.encode(error.as_bytes())),
        }
    }

    /// The bytes; `None` when what should be base64 is not.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.as_bytes().to_vec()),
            Self::Base64(text) => BASE64.decode(text.as_bytes()).ok(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Base64(text) => text.len() / 4 * 3,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How much longer a text is as a JSON string, at most.
fn escapes(text: &str) -> usize {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum()
}

/// A request and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub answer: Answer,
    /// The digest of everything else in the entry.
    content: Digest,
    pub digest: RequestDigest,
    format: String,
    pub question: Question,
    version: u32,
}

pub(super) const ENTRY_FORMAT: &str = "proofmark.cassette-entry";
pub(super) const ENTRY_VERSION: u32 = 1;

/// Bytes are not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    #[error("it is not JSON")]
    NotJson,
    #[error("it is not an entry of a cassette")]
    Shape,
    #[error("it has version {0}, this build reads {ENTRY_VERSION}")]
    Newer(u64),
    #[error("it was altered: its content is not what its digest says")]
    Altered,
    #[error("it answers the request {0}")]
    OtherRequest(RequestDigest),
}

impl Entry {
    pub(crate) fn new(question: Question, answer: Answer) -> Result<Self, EncodeError> {
        let digest = question.digest();
        // Replaced below: the content's digest covers everything but itself.
        let (content, format, version) = (digest.get(), ENTRY_FORMAT.to_owned(), ENTRY_VERSION);
        let mut entry = Self { answer, content, digest, format, question, version };
        entry.content = entry.content_digest()?;
        Ok(entry)
    }

    /// Canonical bytes and a line end.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads an entry that answers this request and nothing else.
    pub(crate) fn decode(bytes: &[u8], wanted: RequestDigest) -> Result<Self, EntryError> {
        let text = bytes.strip_suffix(b"\n").ok_or(EntryError::NotJson)?;
        let value = json::parse(text).map_err(|_| EntryError::NotJson)?;
        // The version comes first: a newer entry may have any other shape.
        if value.get("format").and_then(json::Value::as_str) != Some(ENTRY_FORMAT) {
            return Err(EntryError::Shape);
        }
        match value.get("version").and_then(json::Value::as_u64) {
            Some(version) if version == u64::from(ENTRY_VERSION) => {}
            Some(version) => return Err(EntryError::Newer(version)),
            None => return Err(EntryError::Shape),
        }
        let entry: Self = json::from_value(&value).map_err(|_| EntryError::Shape)?;
        drop(value);
        let is_own = entry.content_digest().is_ok_and(|digest| digest == entry.content)
            && entry.question.digest() == entry.digest
            && entry.encode().is_ok_and(|again| again == bytes);
        if !is_own {
            return Err(EntryError::Altered);
        }
        if entry.digest != wanted {
            return Err(EntryError::OtherRequest(entry.digest));
        }
        Ok(entry)
    }

    fn content_digest(&self) -> Result<Digest, EncodeError> {
        let answer = json::to_vec(&self.answer)?;
        Ok(derive(CONTENT_DOMAIN, &[self.digest.get().as_bytes(), &answer]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            body: "{}".into(),
            headers: None,
            model: "m".into(),
            path: "/p".into(),
            provider: "openai".into(),
            seed: 7,
        }
    }

    fn http(body: &[u8]) -> Answer {
        Answer::Http { body: Body::of(body.to_vec()), headers: BTreeMap::new(), status: 200 }
    }

    #[test]
    fn every_part_of_a_request_is_part_of_its_name() {
        let one = question();
        let others = [
            Question { body: "{ }".into(), ..one.clone() },
            Question { headers: Some(Digest::of(b"")), ..one.clone() },
            Question { model: "m/p".into(), path: String::new(), ..one.clone() },
            Question { path: "/q".into(), ..one.clone() },
            Question { provider: "azure".into(), ..one.clone() },
            Question { seed: 8, ..one.clone() },
        ];
        let mut names: Vec<RequestDigest> = others.iter().map(Question::digest).collect();
        names.push(one.digest());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 7);
        assert_eq!(one.digest(), question().digest());
        // The one in docs/formats/cassette.md.
        assert_eq!(one.digest().to_string(), KNOWN);
    }

    const KNOWN: &str = "sha256:50b659e2969b3304036d0e7b6db01672f59d93e75b7ac51bf143272f85eec636";

    #[test]
    fn headers_have_a_digest_that_ignores_the_case_of_their_names() {
        let digest = |pairs: &[(&str, &str)]| {
            Question::headers_digest(&pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
        };
        assert_eq!(digest(&[]), None);
        assert_eq!(digest(&[("X-Beta", "1"), ("a", "2")]), digest(&[("x-beta", "1"), ("A", "2")]));
        assert_ne!(digest(&[("x-beta", "1")]), digest(&[("x-beta", "2")]));
    }

    #[test]
    fn any_bytes_survive() {
        for bytes in [
            &b""[..],
            b"text \xc3\xa9 \"quoted\"\r\n",
            b"\x89PNG\r\n\x1a\n\0",
            &[0x01; 1000],
            &[b'"'; 1000],
            &[0xff; 10],
        ] {
            let entry = Entry::new(question(), http(bytes)).unwrap();
            let encoded = entry.encode().unwrap();
            assert!(encoded.len() < bytes.len() * 3 / 2 + 1000, "{}", encoded.len());
            let Answer::Http { body, .. } = Entry::decode(&encoded, entry.digest).unwrap().answer else { panic!() };
            assert_eq!(body.bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn an_entry_with_any_byte_changed_is_refused() {
        let entry = Entry::new(question(), http(b"an answer")).unwrap();
        let encoded = entry.encode().unwrap();
        for at in 0..encoded.len() {
            let mut changed = encoded.clone();
            changed[at] ^= 1;
            assert!(Entry::decode(&changed, entry.digest).is_err(), "byte {at}");
            assert!(Entry::decode(&encoded[..at], entry.digest).is_err(), "cut at {at}");
        }
        let other = Question { seed: 8, ..question() }.digest();
        assert_eq!(Entry::decode(&encoded, other), Err(EntryError::OtherRequest(entry.digest)));
        let newer = String::from_utf8(encoded).unwrap().replace("\"version\":1", "\"version\":2");
        assert_eq!(Entry::decode(newer.as_bytes(), entry.digest), Err(EntryError::Newer(2)));
    }

    #[test]
    fn failures_that_may_pass_are_told_from_those_that_stay() {
        let failed = |class| Answer::Outcome { reply: Reply::failed(class, "") };
        for class in [Class::Timeout, Class::RateLimited, Class::EndpointDown] {
            assert!(failed(class).is_passing());
        }
        for class in [Class::Malformed, Class::Refusal, Class::BadRequest] {
            assert!(!failed(class).is_passing());
        }
        assert!(!http(b"").is_passing());
    }
}
