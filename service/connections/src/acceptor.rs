//! Accepts connections that have a place.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Extension;
use axum::middleware::AddExtension;
use axum_server::accept::Accept;
use tokio::net::TcpStream;
use tower::Layer as _;

use crate::connection::Connection;
use crate::connections::Connections;
use crate::stream::PlacedStream;
use crate::tune::HEAD_TIMEOUT;

/// Gives each connection a place before the inner acceptor gets it, TLS handshake included. A connection without a place is closed.
#[derive(Debug, Clone)]
pub struct PlaceAcceptor<A> {
    inner: A,
    connections: Connections,
}

impl<A> PlaceAcceptor<A> {
    /// Places are those of `connections`.
    pub fn new(inner: A, connections: Connections) -> Self {
        Self { inner, connections }
    }
}

impl<A, S> Accept<TcpStream, S> for PlaceAcceptor<A>
where
    A: Accept<TcpStream, S>,
    A::Future: Send + 'static,
    A::Stream: Send + 'static,
    A::Service: Send + 'static,
{
    type Stream = PlacedStream<A::Stream>;
    type Service = AddExtension<A::Service, Arc<Connection>>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, tcp: TcpStream, service: S) -> Self::Future {
        let peer = tcp.peer_addr();
        let place = peer.map(|peer| self.connections.admit(peer.ip()));
        let place = match place {
            Ok(Some(place)) => place,
            Ok(None) => return Box::pin(async { Err(io::Error::other("no place is free")) }),
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let accepting = self.inner.accept(tcp, service);
        Box::pin(async move {
            let (stream, service) = tokio::select! {
                accepted = tokio::time::timeout(HEAD_TIMEOUT, accepting) => accepted.map_err(|_| io::ErrorKind::TimedOut)??,
                () = poll_fn(|context| place.connection.poll_closed(context)) => {
                    return Err(io::Error::other("its place was needed"));
                }
            };
            let service = Extension(place.connection.clone()).layer(service);
            Ok((PlacedStream::new(stream, place), service))
        })
    }
}
