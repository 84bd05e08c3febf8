//! Serves the connections of a listener. An idle connection has no buffers.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::middleware::AddExtension;
use axum::response::Response;
use axum::{Extension, Router};
use axum_server::accept::Accept;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::{Layer as _, Service};

use crate::acceptor::PlaceAcceptor;
use crate::http1;
use crate::listener::Listener;
use crate::requests::counted;
use crate::tune;

/// Pause after a connection could not be accepted, because no descriptor is free.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The service of a connection; requests carry its peer's address.
type Peer = AddExtension<Router, ConnectInfo<SocketAddr>>;

/// Answers requests of HTTP/1 by `router` until `stop`; then no new connection is accepted, and requests in progress get `drain`.
///
/// # Errors
/// When the socket cannot be listened on.
pub async fn serve<A>(
    listener: Listener,
    acceptor: A,
    router: Router,
    stop: CancellationToken,
    drain: Duration,
) -> io::Result<()>
where
    A: Accept<TcpStream, Peer> + Clone + Send + 'static,
    A::Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A::Service:
        Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + Unpin + 'static,
    <A::Service as Service<Request<Incoming>>>::Future: Send,
    A::Future: Send + 'static,
{
    let tcp = TcpListener::from_std(listener.tcp)?;
    let acceptor = PlaceAcceptor::new(acceptor, listener.connections);
    let builder = Arc::new(tune::http1(listener.longest_head));
    let router = counted(router);
    // Dropping it ends them.
    let mut running = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = running.join_next(), if !running.is_empty() => continue,
            accepted = tcp.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(ACCEPT_RETRY).await;
            continue;
        };
        let service = Extension(ConnectInfo(peer)).layer(router.clone());
        let (acceptor, builder, stop) = (acceptor.clone(), builder.clone(), stop.clone());
        running.spawn(async move {
            let accepted = acceptor.accept(stream, service).await;
            drop(acceptor);
            if let Ok((stream, service)) = accepted {
                http1::answer_all(stream, service, &builder, &stop).await;
            }
        });
    }
    drop(tcp);
    let ended = async { while running.join_next().await.is_some() {} };
    let _ = timeout(drain, ended).await;
    Ok(())
}
