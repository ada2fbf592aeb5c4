//! Streams of a program that may have closed them.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Reads something; 0 when the stream has ended, which is then taken away.
pub async fn read<R: AsyncRead + Unpin>(stream: &mut Option<R>, chunk: &mut [u8]) -> usize {
    let read = match stream {
        Some(stream) => stream.read(chunk).await.unwrap_or(0),
        None => 0,
    };
    if read == 0 {
        *stream = None;
    }
    read
}

/// Writes something of it; returns how much.
pub async fn write<W: AsyncWrite + Unpin>(stream: &mut Option<W>, bytes: &[u8]) -> io::Result<usize> {
    match stream {
        Some(stream) => stream.write(bytes).await,
        None => Ok(0),
    }
}
