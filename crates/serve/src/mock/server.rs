//! The server: a listener, its connections, and the thread they live on.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proofmark_artefact::store::write_atomic;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::config::Config;
use super::handle::State;
use super::log::Log;
use super::stats::Stats;

/// The server cannot start, or cannot leave what it was to leave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot start the threads that serve")]
    Start(#[source] io::Error),
    #[error("cannot open the log `{}`", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("cannot write the counts to `{}`", path.display())]
    Stats { path: PathBuf, source: io::Error },
}

/// Starts a mock provider on loopback, on threads of its own.
pub fn serve(config: Config) -> Result<Server, ServeError> {
    let log = match &config.log {
        Some(path) => Some(Log::open(path).map_err(|source| ServeError::Log { path: path.clone(), source })?),
        None => None,
    };
    // One thread needs no scheduler between threads.
    let runtime = match config.threads {
        0 | 1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    };
    let runtime = runtime.map_err(ServeError::Start)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, config.port));
    let (listener, address) = listen(&runtime, address).map_err(|source| ServeError::Listen { address, source })?;
    let state = Arc::new(State::new(config, log));
    let (stop, stopped) = oneshot::channel();
    let serving = Arc::clone(&state);
    let thread = std::thread::Builder::new().name("mock-provider".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = accept(&listener, &serving) => {}
                _ = stopped => {}
            }
        });
        // Ends what is still being answered.
        runtime.shutdown_timeout(Duration::from_secs(5));
    });
    Ok(Server { address, state, stop: Some(stop), thread: Some(thread.map_err(ServeError::Start)?) })
}

/// A running mock provider. It stops when dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        self.state.counts.now()
    }

    /// Stops, writes the counts where the configuration wants them, and returns them.
    pub fn stop(mut self) -> Result<Stats, ServeError> {
        self.end()
    }

    fn end(&mut self) -> Result<Stats, ServeError> {
        // The other side is gone when the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let Some(thread) = self.thread.take() else { return Ok(self.stats()) };
        let _ = thread.join();
        let stats = self.stats();
        if let Some(path) = &self.state.config().stats {
            let mut text = serde_json::to_vec_pretty(&stats)
                .map_err(|error| ServeError::Stats { path: path.clone(), source: error.into() })?;
            text.push(b'\n');
            write_atomic(path, &text).map_err(|source| ServeError::Stats { path: path.clone(), source })?;
        }
        Ok(stats)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn listen(runtime: &Runtime, address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let _entered = runtime.enter();
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    // Clients open hundreds of connections at once.
    let listener = socket.listen(4096)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn accept(listener: &TcpListener, state: &Arc<State>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                state.counts.connections.fetch_add(1, Ordering::Relaxed);
                // Small parts of a stream must not wait for each other.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection(stream, Arc::clone(state)));
            }
            // Out of descriptors, for example: others will be given back.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let is_reset = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(Wire { stream, is_reset: Arc::clone(&is_reset) });
    let service = service_fn(|request| {
        let (state, is_reset) = (Arc::clone(&state), Arc::clone(&is_reset));
        async move { state.handle(request, || is_reset.store(true, Ordering::Relaxed)).await }
    });
    // A client that goes away is not our concern; neither is a connection broken on purpose.
    let _ = http1::Builder::new().pipeline_flush(true).serve_connection(io, service).await;
}

/// A connection that can end with a reset.
struct Wire {
    stream: TcpStream,
    is_reset: Arc<AtomicBool>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.is_reset.load(Ordering::Relaxed) {
            // Closing a socket that does not linger sends a reset instead of an end.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
