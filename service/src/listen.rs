//! Listeners: bound early, served until told to stop, drained within a limit.

use std::future::{Ready, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Extension;
use axum::middleware::AddExtension;
use axum_server::Handle;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use muster_images::transport::STALL_TIMEOUT;
use muster_images::{FileChannel, FileStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::Layer;

/// Time that a client gets to send its request's head; a slower one holds a connection for nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a plain request that are read before its connection is closed.
const LONGEST_PLAIN: u64 = 64 * 1024;

/// Time that its client gets to close it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Binds; the error says which flag to change.
pub fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address)
        .with_context(|| format!("{flag} {address} cannot be listened on (is another service there?)"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves `router` in `tasks` until `stop`; then no new connection is taken and running requests get `drain`.
pub fn spawn(
    tasks: &mut JoinSet<Result<()>>,
    listener: TcpListener,
    router: Router,
    tls: Option<RustlsConfig>,
    stop: CancellationToken,
    drain: Duration,
) -> Result<()> {
    let handle = Handle::new();
    let stopper = handle.clone();
    tokio::spawn(async move {
        stop.cancelled().await;
        stopper.graceful_shutdown(Some(drain));
    });
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    match tls {
        Some(config) => {
            let acceptor = TlsAcceptor(RustlsAcceptor::new(config).acceptor(StallAcceptor));
            let mut server = axum_server::from_tcp(listener)?
                .acceptor(acceptor)
                .handle(handle)
                .http1_only();
            tune(server.http_builder());
            tasks.spawn(async move { server.serve(service).await.context("the TLS listener failed") });
        }
        None => {
            let mut server = axum_server::from_tcp(listener)?
                .acceptor(FileAcceptor)
                .handle(handle)
                .http1_only();
            tune(server.http_builder());
            tasks.spawn(async move { server.serve(service).await.context("a listener failed") });
        }
    }
    Ok(())
}

fn tune(builder: &mut hyper_util::server::conn::auto::Builder<hyper_util::rt::TokioExecutor>) {
    builder
        .http1()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
}

/// Lets the process open as many files as the system allows it: each connection is one.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Accepts TLS. A client that speaks plain HTTP gets an answer that it understands.
#[derive(Debug, Clone)]
struct TlsAcceptor(RustlsAcceptor<StallAcceptor>);

/// First byte of a TLS connection: a record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 89\r\n\r\n\
{\"code\":400,\"message\":\"this address speaks TLS: write https:// in place of http:// here\"}";

type TlsAccept = RustlsAcceptor<StallAcceptor>;

impl<S: Send + 'static> Accept<TcpStream, S> for TlsAcceptor {
    type Stream = <TlsAccept as Accept<TcpStream, S>>::Stream;
    type Service = S;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, S)>> + Send>>;

    fn accept(&self, mut tcp: TcpStream, service: S) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move {
            let mut first = [0];
            let peeked = tokio::time::timeout(HEAD_TIMEOUT, tcp.peek(&mut first)).await;
            if peeked.map_err(|_| io::ErrorKind::TimedOut)?? == 1 && first[0] != HANDSHAKE {
                tcp.write_all(SPEAKS_TLS).await?;
                tcp.shutdown().await?;
                // Closed with unread bytes, the connection would be reset before the answer is read.
                let mut rest = tcp.take(LONGEST_PLAIN);
                let _ =
                    tokio::time::timeout(CLOSE_TIMEOUT, tokio::io::copy(&mut rest, &mut tokio::io::sink()))
                        .await;
                return Err(io::Error::other("no TLS"));
            }
            tls.accept(tcp, service).await
        })
    }
}

/// Gives up clients that take nothing. What it accepts is encrypted later, so files cannot be sent past that.
#[derive(Debug, Clone, Copy)]
struct StallAcceptor;

impl<S> Accept<TcpStream, S> for StallAcceptor {
    type Stream = FileStream;
    type Service = S;
    type Future = Ready<io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, tcp: TcpStream, service: S) -> Self::Future {
        ready(Ok((FileStream::new(tcp, STALL_TIMEOUT), service)))
    }
}

/// Makes connections that send files well, and tells their requests so. Only for connections without TLS.
#[derive(Debug, Clone, Copy)]
struct FileAcceptor;

impl<S> Accept<TcpStream, S> for FileAcceptor {
    type Stream = FileStream;
    type Service = AddExtension<S, FileChannel>;
    type Future = Ready<io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, tcp: TcpStream, service: S) -> Self::Future {
        let stream = FileStream::new(tcp, STALL_TIMEOUT);
        let service = Extension(stream.channel()).layer(service);
        ready(Ok((stream, service)))
    }
}
