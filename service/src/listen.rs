//! Listeners: bound early, served until shutdown, drained within a limit.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Extension;
use axum::middleware::AddExtension;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use muster_connections::{Budgets, Connections, Listener, serve};
use muster_images::transport::STALL_TIMEOUT;
use muster_images::{FileChannel, FileStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::Layer;

/// Time that a client of the TLS listener gets to send its first byte.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that the head of a request to the API may have: tokens and long paths fit many times over.
pub const API_HEAD: usize = 64 * 1024;

/// Bytes that the head of a request of firmware or a boot loader may have.
pub const BOOT_HEAD: usize = 16 * 1024;

/// Bytes of a plain-HTTP request that are read before its connection is closed.
const LONGEST_PLAIN: u64 = 64 * 1024;

/// Time that the client gets to close the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Binds; the error names the flag to change.
pub fn bind(
    address: SocketAddr,
    flag: &str,
    connections: Connections,
    longest_head: usize,
) -> Result<Listener> {
    Listener::bind(address, connections, longest_head)
        .with_context(|| format!("{flag} {address} cannot be listened on (is another service there?)"))
}

/// Serves `router` in `tasks` until `stop`; then no new connection is taken and running requests get `drain`.
pub fn spawn(
    tasks: &mut JoinSet<Result<()>>,
    listener: Listener,
    router: Router,
    tls: Option<RustlsConfig>,
    stop: CancellationToken,
    drain: Duration,
) {
    match tls {
        Some(config) => {
            let acceptor = TlsAcceptor(RustlsAcceptor::new(config));
            let served = serve(listener, acceptor, router, stop, drain);
            tasks.spawn(async move { served.await.context("the TLS listener failed") });
        }
        None => {
            let served = serve(listener, FileAcceptor, router, stop, drain);
            tasks.spawn(async move { served.await.context("a listener failed") });
        }
    }
}

/// Raises the limit of open files to the maximum, since each connection is one, and divides them among the listeners.
pub fn raise_file_limit() -> (u64, Budgets) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (descriptors, Budgets::of(descriptors))
}

/// Logs the budget of each listener, and warns if it is too small.
pub fn tell_budgets(descriptors: u64, budgets: Budgets) {
    let (api, boot) = (budgets.api, budgets.boot);
    if budgets.are_few {
        tracing::warn!(
            descriptors,
            api,
            boot,
            "the system lets this service open few files, and so few connections: raise the hard limit (LimitNOFILE=, ulimit -Hn)"
        );
    } else {
        tracing::info!(descriptors, api, boot, "connections at once");
    }
}

/// Accepts TLS. A client that speaks plain HTTP gets a plain-HTTP response.
#[derive(Debug, Clone)]
struct TlsAcceptor(RustlsAcceptor);

/// First byte of a TLS connection: a record that holds a handshake (RFC 8446, 5.1).
const HANDSHAKE: u8 = 22;

const SPEAKS_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 89\r\n\r\n\
{\"code\":400,\"message\":\"this address speaks TLS: write https:// in place of http:// here\"}";

type TlsAccept = RustlsAcceptor;

impl<S: Send + 'static> Accept<TcpStream, S> for TlsAcceptor {
    type Stream = <TlsAccept as Accept<TcpStream, S>>::Stream;
    type Service = S;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, S)>> + Send>>;

    fn accept(&self, mut tcp: TcpStream, service: S) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move {
            // Small responses go out at once.
            tcp.set_nodelay(true)?;
            let mut first = [0];
            let peeked = tokio::time::timeout(FIRST_BYTE_TIMEOUT, tcp.peek(&mut first)).await;
            if peeked.map_err(|_| io::ErrorKind::TimedOut)?? == 1 && first[0] != HANDSHAKE {
                tcp.write_all(SPEAKS_TLS).await?;
                tcp.shutdown().await?;
                // Closed with unread bytes, the connection would be reset before the response is read.
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

/// Accepts connections that send files well, and marks their requests as such. Only for connections without TLS.
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
