//! Sends runs of a file from the page cache to a TCP socket with `sendfile`, below hyper.
//!
//! hyper has no way to send a file, only bytes. So a body that wants to send a run of the base file announces the run on
//! the connection's [`FileChannel`] and gives hyper a placeholder of the same length: a slice of one static array that
//! is never read. [`FileStream`] recognises the placeholder by its address when hyper writes it, and sends the announced
//! run in its place. hyper keeps framing, keep-alive and back-pressure.
//!
//! Why: reading into a buffer and writing it costs two copies and twice the CPU per byte (numbers: `service/images/benches/README.md`).
//! A mapping of the file would cost one copy, `unsafe`, and a signal when the file is truncated.
//!
//! What keeps it sound: the channel is given to HTTP/1 requests only (which write one body at a time, in order); and when anything
//! between the body and the socket reads or rewrites the body (a compression layer, say), announced runs are not taken, which
//! [`FileChannel::check_taken`] turns into an error. A placeholder that meets another run than its own is an error, too. Such a download
//! breaks, visibly.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::serve::{IncomingStream, Listener};
use bytes::Bytes;
use http::Version;
use http::request::Parts;
use muster_connections::Stall;
use muster_operations::images::base_file::{BaseFile, truncated};
use rustix::fs::sendfile;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The longest announced run. Longer ones save nothing measurable; shorter ones let other connections of the thread continue sooner.
pub const MOST_RUN_BYTES: usize = 512 * 1024;

/// hyper polls for the next frame while it holds fewer than about 400 KiB unsent, so announced bytes never exceed that plus one run.
const MOST_ANNOUNCED: usize = 512 * 1024 + MOST_RUN_BYTES;

/// A client that reads nothing for so long is dropped, and its slot with it. The kernel reports room only when a third of the send buffer
/// (at most 4 MiB) is free, so a client has to read about 11 kB/s at least: a live image would take over an hour at that rate.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Each run's placeholder begins at another of so many offsets, so that one that meets another run than its own is noticed.
const PLACES: usize = 4096;

/// Its address range marks placeholders; its content is never read, so it takes no memory.
static PLACEHOLDER: [u8; MOST_RUN_BYTES + PLACES] = [0; MOST_RUN_BYTES + PLACES];

/// Offset of these bytes in [`PLACEHOLDER`]; `None` when they are other bytes.
fn place_of(bytes: &[u8]) -> Option<usize> {
    let start = bytes.as_ptr().addr().checked_sub(PLACEHOLDER.as_ptr().addr())?;
    (!bytes.is_empty() && start < PLACEHOLDER.len()).then_some(start)
}

/// The announced runs of a connection, in the order of their placeholders.
#[derive(Debug, Clone, Default)]
pub struct FileChannel {
    runs: Arc<Mutex<Runs>>,
}

#[derive(Debug, Default)]
struct Runs {
    announced: VecDeque<Run>,
    /// Offset of the next placeholder.
    next_place: usize,
}

#[derive(Debug)]
struct Run {
    base: Arc<BaseFile>,
    /// Offset of the rest of its placeholder.
    place: usize,
    offset: u64,
    length: usize,
}

impl FileChannel {
    /// The channel of the request's connection, when it has one and the protocol allows its use.
    pub fn of(request: &Parts) -> Option<Self> {
        if !matches!(request.version, Version::HTTP_10 | Version::HTTP_11) {
            return None;
        }
        let of_peer = || {
            request
                .extensions
                .get::<ConnectInfo<Peer>>()
                .map(|info| &info.0.channel)
        };
        request.extensions.get::<Self>().or_else(of_peer).cloned()
    }

    /// Announces a run of at most [`MOST_RUN_BYTES`] and returns what to give to hyper instead of it.
    pub(super) fn announce(&self, base: &Arc<BaseFile>, offset: u64, length: usize) -> Bytes {
        let mut runs = self.runs();
        let place = runs.next_place;
        runs.next_place = (place + 1) % PLACES;
        runs.announced.push_back(Run {
            base: base.clone(),
            place,
            offset,
            length,
        });
        Bytes::from_static(&PLACEHOLDER[place..place + length])
    }

    /// Fails when announced runs do not reach the socket. hyper does not poll again after the last frame, so nothing may be left at the
    /// end.
    pub(super) fn check_taken(&self, at_end: bool) -> io::Result<()> {
        let announced: usize = self.runs().announced.iter().map(|run| run.length).sum();
        if announced > MOST_ANNOUNCED || (at_end && announced > 0) {
            return Err(io::Error::other(
                "a layer between the image's body and its socket reads the body; take it off the image routes",
            ));
        }
        Ok(())
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().expect("no code panics while holding the lock")
    }
}

/// A TCP connection that sends announced runs in place of their placeholders, and drops a client that reads nothing.
#[derive(Debug)]
pub struct FileStream {
    tcp: TcpStream,
    channel: FileChannel,
    stall: Stall,
}

impl FileStream {
    /// Wraps an accepted connection.
    pub fn new(tcp: TcpStream, stall_timeout: Duration) -> Self {
        // Small answers go out at once. A failure (the client is gone already) shows at the first write.
        let _ = tcp.set_nodelay(true);
        Self {
            tcp,
            channel: FileChannel::default(),
            stall: Stall::after(stall_timeout),
        }
    }

    /// To be put into the extensions of this connection's requests; never when TLS is between.
    pub fn channel(&self) -> FileChannel {
        self.channel.clone()
    }

    fn poll_send_run(
        &self,
        place: usize,
        length: usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(context))?;
            let mut runs = self.channel.runs();
            let run = runs
                .announced
                .front_mut()
                .filter(|run| run.place == place && run.length >= length);
            let run =
                run.ok_or_else(|| io::Error::other("a placeholder was written that is not the next run's"))?;
            let mut offset = run.offset;
            let sent = self.tcp.try_io(Interest::WRITABLE, || {
                Ok(sendfile(&self.tcp, run.base.file(), Some(&mut offset), length)?)
            });
            match sent {
                Ok(0) => return Poll::Ready(Err(truncated())),
                Ok(sent) => {
                    run.place += sent;
                    run.offset += sent as u64;
                    run.length -= sent;
                    if run.length == 0 {
                        runs.announced.pop_front();
                    }
                    return Poll::Ready(Ok(sent));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Logs that a client is dropped because it reads nothing.
    fn guard(
        &mut self,
        outcome: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let waited = outcome.is_pending();
        let outcome = self.stall.guard(outcome, context);
        if waited && outcome.is_ready() {
            let seconds = self.stall.timeout().as_secs();
            tracing::info!(peer = ?self.tcp.peer_addr().ok(), seconds, "a client took nothing for too long: dropped");
        }
        outcome
    }
}

impl AsyncWrite for FileStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = match place_of(bytes) {
            Some(place) => self.poll_send_run(place, bytes.len(), context),
            None => Pin::new(&mut self.tcp).poll_write(context, bytes),
        };
        self.guard(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().position(|slice| !slice.is_empty()).unwrap_or(0);
        let slices = &slices[first..];
        let plain = slices
            .iter()
            .take_while(|slice| place_of(slice).is_none())
            .count();
        let outcome = match slices
            .first()
            .and_then(|slice| Some((place_of(slice)?, slice.len())))
        {
            Some((place, length)) => self.poll_send_run(place, length, context),
            None => Pin::new(&mut self.tcp).poll_write_vectored(context, &slices[..plain]),
        };
        self.guard(outcome, context)
    }

    /// Without this hyper would copy every frame, placeholders too, into one buffer.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

impl AsyncRead for FileStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

/// A listener for [`axum::serve`] with connections that can send files.
#[derive(Debug)]
pub struct DownloadListener {
    tcp: TcpListener,
    stall_timeout: Duration,
}

impl DownloadListener {
    /// With [`STALL_TIMEOUT`].
    pub fn new(tcp: TcpListener) -> Self {
        Self::with_stall_timeout(tcp, STALL_TIMEOUT)
    }

    /// Drops clients that read nothing for so long.
    pub fn with_stall_timeout(tcp: TcpListener, stall_timeout: Duration) -> Self {
        Self { tcp, stall_timeout }
    }
}

impl Listener for DownloadListener {
    type Io = FileStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (FileStream, SocketAddr) {
        let (tcp, address) = Listener::accept(&mut self.tcp).await;
        (FileStream::new(tcp, self.stall_timeout), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// Connection information for `into_make_service_with_connect_info::<Peer>()`.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The handle by which bodies send files on this connection.
    pub channel: FileChannel,
}

impl Connected<IncomingStream<'_, DownloadListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, DownloadListener>) -> Self {
        Self {
            address: *stream.remote_addr(),
            channel: stream.io().channel(),
        }
    }
}
