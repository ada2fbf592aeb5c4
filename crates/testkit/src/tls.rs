//! A server that puts TLS before another.
//!
//! Behind HTTP/1.1 the bytes go through as they are; HTTP/2 is spoken here and asked on in HTTP/1.1.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::LazyConfigAcceptor;

use crate::certificate::Identity;

/// What came to a front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Connections, whatever came of them.
    pub connections: u64,
    /// Those that ended before TLS began.
    pub failed: u64,
    /// Protocols that the last client offered.
    pub offered: Vec<String>,
    /// Connections by the protocol that was chosen; empty when none was.
    pub chosen: BTreeMap<String, u64>,
    /// Requests over HTTP/2.
    pub requests: u64,
}

/// A server that puts TLS before another. It stops when it is dropped.
pub struct Front {
    address: SocketAddr,
    seen: Arc<Mutex<Handshakes>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Front {
    /// Listens on a free port and hands everything on to `behind`. `protocols` are what it offers, the best first.
    ///
    /// # Panics
    /// When the loopback cannot be used or the identity makes no sense.
    pub fn start(identity: &Identity, protocols: &[&str], behind: SocketAddr) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.clone()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions that the provider knows")
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(identity.certificate.clone())], key)
            .expect("a certificate with its key");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let config = Arc::new(config);
        let seen = Arc::new(Mutex::new(Handshakes::default()));
        let shared = Arc::clone(&seen);
        let (address, stop, thread) = on_a_thread(move |stream| {
            let (config, seen) = (Arc::clone(&config), Arc::clone(&shared));
            async move { drop(serve(stream, config, behind, &seen).await) }
        });
        Self { address, seen, stop: Some(stop), thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn seen(&self) -> Handshakes {
        lock(&self.seen).clone()
    }

    /// The same once so many handshakes are over: a client that refuses is gone before its server knows. After some seconds it is
    /// what it is.
    pub fn seen_after(&self, handshakes: u64) -> Handshakes {
        for _ in 0..1000 {
            let seen = self.seen();
            if seen.failed + seen.chosen.values().sum::<u64>() >= handshakes {
                return seen;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.seen()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        end(self.stop.take(), self.thread.take());
    }
}

async fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    behind: SocketAddr,
    seen: &Arc<Mutex<Handshakes>>,
) -> io::Result<()> {
    lock(seen).connections += 1;
    let shaken = async {
        let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
        let hello = start.client_hello();
        let offered = hello.alpn().map(|names| names.map(text).collect()).unwrap_or_default();
        lock(seen).offered = offered;
        start.into_stream(config).await
    };
    let mut stream = shaken.await.inspect_err(|_| lock(seen).failed += 1)?;
    let protocol = stream.get_ref().1.alpn_protocol().map(text).unwrap_or_default();
    let is_h2 = protocol == "h2";
    *lock(seen).chosen.entry(protocol).or_default() += 1;
    if is_h2 {
        let service = service_fn(|request| {
            lock(seen).requests += 1;
            ask_on(request, behind)
        });
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        return connection.serve_connection(TokioIo::new(stream), service).await.map_err(io::Error::other);
    }
    let mut upstream = TcpStream::connect(behind).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut upstream).await.map(drop)
}

/// Asks the server behind, on a connection of its own.
async fn ask_on(mut request: Request<Incoming>, behind: SocketAddr) -> io::Result<Response<Incoming>> {
    let stream = TokioIo::new(TcpStream::connect(behind).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let host = request.uri().authority().map_or("", |host| host.as_str()).to_owned();
    *request.uri_mut() = path.parse::<Uri>().map_err(io::Error::other)?;
    *request.version_mut() = hyper::Version::HTTP_11;
    request.headers_mut().insert(HOST, host.parse().map_err(io::Error::other)?);
    sender.send_request(request).await.map_err(io::Error::other)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Accepts connections on a free port of the loopback, on a thread of its own, until it is told to stop.
pub(crate) fn on_a_thread<F, S>(serve: F) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>)
where
    F: Fn(TcpStream) -> S + Send + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let (stop, mut stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => drop(tokio::spawn(serve(stream))),
                    _ = &mut stopped => break,
                }
            }
        });
    });
    (address, stop, thread)
}

pub(crate) fn end(stop: Option<oneshot::Sender<()>>, thread: Option<JoinHandle<()>>) {
    // Nobody listens when it has ended already.
    let _ = stop.map(|stop| stop.send(()));
    let _ = thread.map(JoinHandle::join);
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
