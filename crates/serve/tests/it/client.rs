//! A client that sees every byte: no library stands between the test and the socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use proofmark_serve::mock::{Config, Server, serve};
use serde_json::Value;

/// Whatever takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn start(config: Config) -> Server {
    serve(config).expect("a server that starts")
}

pub(crate) const ANTHROPIC: &[(&str, &str)] = &[("x-api-key", "k"), ("anthropic-version", "2023-06-01")];

/// A reply with everything that came.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// As announced by a length or put together out of chunks.
    pub(crate) body: Vec<u8>,
    /// Whether the body ended where it said it would.
    pub(crate) is_complete: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The data of server-sent events, `[DONE]` as a string.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        assert_eq!(self.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let blocks = self.text().split("\n\n").filter(|block| !block.is_empty());
        blocks
            .map(|block| {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                let data = field("data: ").expect("an event with data");
                let value = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
                (field("event: ").unwrap_or_default().to_owned(), value)
            })
            .collect()
    }
}

/// A connection that is kept.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let bytes = [head.as_bytes(), body].concat();
        self.0.get_mut().write_all(&bytes).expect("a connection that takes a request");
    }

    /// Sends bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("a connection that takes bytes");
    }

    /// Reads one reply. `Err` when there is none.
    pub(crate) fn receive(&mut self) -> std::io::Result<Reply> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new(), is_complete: false };
        if let Some(length) = reply.header("content-length") {
            let length = length.parse().expect("a length");
            self.0.by_ref().take(length).read_to_end(&mut reply.body)?;
            reply.is_complete = reply.body.len() as u64 == length;
        } else {
            assert_eq!(reply.header("transfer-encoding"), Some("chunked"));
            reply.is_complete = self.chunks(&mut reply.body)?;
        }
        Ok(reply)
    }

    /// Reads chunks; false when they end without the last one.
    fn chunks(&mut self, body: &mut Vec<u8>) -> std::io::Result<bool> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Ok(false);
            }
            let size = u64::from_str_radix(line.trim_end(), 16).expect("a size of a chunk");
            let before = body.len();
            self.0.by_ref().take(size).read_to_end(body)?;
            let mut end = String::new();
            if (body.len() - before) as u64 != size || self.0.read_line(&mut end)? == 0 {
                return Ok(false);
            }
            if size == 0 {
                return Ok(true);
            }
        }
    }

    pub(crate) fn ask(&mut self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.send("POST", path, headers, body.to_string().as_bytes());
        self.receive().expect("a reply")
    }
}

/// Asks over a connection of its own.
pub(crate) fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    Client::new(server.address()).ask(path, headers, body)
}

pub(crate) fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut client = Client::new(server.address());
    client.send("GET", path, headers, b"");
    client.receive().expect("a reply")
}

/// A question in the language of a wire: path, headers, body.
pub(crate) type Question = (&'static str, &'static [(&'static str, &'static str)], Value);

/// The same question on every wire, not streamed.
pub(crate) fn questions(text: &str) -> Vec<Question> {
    use serde_json::json;
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]);
    let gemini = json!({"systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": text}]}]});
    vec![
        ("/v1/chat/completions", &[], json!({"model": "m", "messages": messages})),
        ("/v1/responses", &[], json!({"model": "m", "instructions": "Be brief.", "input": text})),
        (
            "/v1/messages",
            ANTHROPIC,
            json!({"model": "m", "max_tokens": 99, "system": "Be brief.", "messages": [{"role": "user", "content": text}]}),
        ),
        ("/v1beta/models/m:generateContent", &[], gemini),
        ("/api/chat", &[], json!({"model": "m", "messages": messages, "stream": false})),
        ("/v2/chat", &[], json!({"model": "m", "messages": messages})),
        ("/client/v4/accounts/acc/ai/run/m", &[], json!({"messages": messages})),
    ]
}

/// The same question on every wire, streamed.
pub(crate) fn streamed(text: &str) -> Vec<Question> {
    let mut questions = questions(text);
    for (path, _, body) in &mut questions {
        match *path {
            "/v1beta/models/m:generateContent" => *path = "/v1beta/models/m:streamGenerateContent?alt=sse",
            _ => body["stream"] = true.into(),
        }
    }
    questions
}
