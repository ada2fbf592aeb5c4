//! A proxy that counts and remembers what it was asked.
//!
//! It knows HTTP's two ways (an absolute address, `CONNECT`) and SOCKS 5, resolves no name, and leads to one server
//! whatever it is asked for.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::tls::{end, lock, on_a_thread};

/// What it does with who comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Forward,
    /// Says 407 and hangs up.
    Refuse,
}

/// A running proxy. It stops when it is dropped.
pub struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free port and leads everyone to `behind`.
    ///
    /// # Panics
    /// When the loopback cannot be used.
    pub fn start(manner: Manner, behind: SocketAddr) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let (address, stop, thread) = on_a_thread(move |stream| {
            let seen = Arc::clone(&shared);
            async move { drop(serve(stream, manner, behind, &seen).await) }
        });
        Self { address, seen, stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The head of the first request of every connection, as it came; for SOCKS `socks5 HOST:PORT`.
    pub fn seen(&self) -> Vec<String> {
        lock(&self.seen).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        end(self.stop.take(), self.thread.take());
    }
}

async fn serve(mut client: TcpStream, manner: Manner, behind: SocketAddr, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = vec![client.read_u8().await?];
    if head[0] == 5 {
        let target = greet_socks(&mut client).await?;
        lock(seen).push(format!("socks5 {target}"));
        // Granted, from 0.0.0.0:0.
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        head.clear();
    } else {
        while !head.ends_with(b"\r\n\r\n") && head.len() < 64 << 10 {
            head.push(client.read_u8().await?);
        }
        lock(seen).push(String::from_utf8_lossy(&head).into_owned());
        if manner == Manner::Refuse {
            let answer =
                b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            return client.write_all(answer).await;
        }
        if head.starts_with(b"CONNECT ") {
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            head.clear();
        }
    }
    let mut server = TcpStream::connect(behind).await?;
    // An absolute address is what the server behind may see as well.
    server.write_all(&head).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// RFC 1928 without authentication; the first byte has been read.
async fn greet_socks(client: &mut TcpStream) -> io::Result<String> {
    let methods = client.read_u8().await?;
    client.read_exact(&mut vec![0; usize::from(methods)]).await?;
    client.write_all(&[5, 0]).await?;
    let mut request = [0; 4];
    client.read_exact(&mut request).await?;
    let mut host = vec![
        0;
        match request[3] {
            1 => 4,
            3 => usize::from(client.read_u8().await?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
    ];
    client.read_exact(&mut host).await?;
    let port = client.read_u16().await?;
    Ok(format!("{}:{port}", String::from_utf8_lossy(&host)))
}
