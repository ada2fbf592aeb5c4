//! The provider at its end: a client that does nothing but ask.
//!
//! As many connections as a run has, the same question over and over, one write and one read for each. Nothing is
//! encoded, understood or kept, so that no client that does is faster.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// Questions under way at once.
const CONNECTIONS: usize = 32;

/// Asks so many questions on connections that stay open; returns how many were answered a second. `base` is
/// `http://host:port`.
pub(super) fn ask(base: &str, questions: u64) -> Result<f64> {
    let host = base.strip_prefix("http://").context("the provider speaks plain HTTP")?;
    let body = r#"{"messages":[{"content":"What is 4711 plus 55?","role":"user"}],"model":"mock","seed":347364406,"store":false}"#;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nauthorization: Bearer none\r\n\
         accept: */*\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        connections.push(stream);
    }
    let mut room = vec![0; 64 << 10];
    let start = Instant::now();
    for stream in &mut connections {
        stream.write_all(request.as_bytes())?;
    }
    // Replies come about in the order of the questions: whoever reads them in turn hardly ever waits for one while others
    // are there, and always has all connections in use.
    for asked in 0..questions {
        let stream = &mut connections[asked as usize % CONNECTIONS];
        read_reply(stream, &mut room)?;
        if asked + (CONNECTIONS as u64) < questions {
            stream.write_all(request.as_bytes())?;
        }
    }
    Ok(questions as f64 / start.elapsed().as_secs_f64())
}

/// Reads to the end of a reply, which says how long it is.
fn read_reply(stream: &mut TcpStream, room: &mut [u8]) -> Result<()> {
    const LENGTH: &[u8] = b"content-length: ";
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|window| window == part);
    let mut come = 0;
    loop {
        let more = stream.read(&mut room[come..])?;
        if more == 0 {
            bail!("the provider sent no whole reply");
        }
        come += more;
        let text = &room[..come];
        let Some(head) = find(text, b"\r\n\r\n") else { continue };
        if !text.starts_with(b"HTTP/1.1 200 ") {
            bail!("the provider refused: {}", String::from_utf8_lossy(text));
        }
        let length = find(&text[..head], LENGTH).context("the reply does not say how long it is")? + LENGTH.len();
        let digits = text[length..].iter().take_while(|byte| byte.is_ascii_digit());
        let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
        if come >= head + 4 + length {
            return Ok(());
        }
    }
}
