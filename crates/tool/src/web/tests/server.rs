//! A server that says what a test wants, byte for byte.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a server answers.
pub(super) enum Answer {
    /// These bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, and the others again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, and then nothing.
    Silence(Vec<u8>),
}

/// A server on this machine. It stops when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens on a free port and answers each request by its head and body.
    pub(super) async fn start(host: &str, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at(&format!("{host}:0"), answer).await
    }

    pub(super) async fn start_at(at: &str, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                connections.spawn(async move { drop(serve(stream, &seen, &*answer).await) });
            }
        });
        Self { address, requests, task }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked. A connection without a request is an empty one.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str) -> Answer + Send + Sync),
) -> std::io::Result<()> {
    let at = {
        let mut seen = seen.lock().unwrap();
        seen.push(String::new());
        seen.len() - 1
    };
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await?;
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    seen.lock().unwrap()[at].clone_from(&request);
    match answer(&request) {
        Answer::Bytes(bytes) => stream.write_all(&bytes).await?,
        Answer::Endless(head, again) => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&again).await?;
            }
        }
        Answer::Silence(bytes) => {
            stream.write_all(&bytes).await?;
            std::future::pending::<()>().await;
        }
    }
    // The client may still be sending; closing now would reset the connection.
    stream.shutdown().await?;
    drop(stream.read(&mut buffer).await);
    Ok(())
}

/// A reply with a type and a body.
pub(super) fn page(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n", body.len());
    Answer::Bytes([head.as_bytes(), body].concat())
}

/// A reply that sends one on.
pub(super) fn moved(to: &str) -> Answer {
    Answer::Bytes(format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes())
}

/// The path of a request.
pub(super) fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}
