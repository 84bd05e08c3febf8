//! The listener: accepts connections, with TLS or without, and can reset and refuse them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::respond::{Link, respond};
use crate::shared::{Order, Shared};

/// Interval between two checks for due work.
const TICK: Duration = Duration::from_millis(20);

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

/// A port on loopback that stays reserved while nothing listens on it.
pub(crate) struct Port {
    address: SocketAddr,
    _reserved: TcpSocket,
}

impl Port {
    /// Reserves a free port.
    pub(crate) fn reserve() -> io::Result<Self> {
        let reserved = socket(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(Self {
            address: reserved.local_addr()?,
            _reserved: reserved,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn listen(&self) -> io::Result<TcpListener> {
        socket(self.address)?.listen(BACKLOG)
    }
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Serves until `stop`.
pub(crate) async fn run(
    shared: Arc<Shared>,
    port: Port,
    mut listener: TcpListener,
    mut orders: UnboundedReceiver<Order>,
    mut stop: oneshot::Receiver<()>,
) {
    let mut tasks = JoinSet::new();
    tasks.spawn(tick(Arc::clone(&shared)));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(connection(Arc::clone(&shared), stream));
            },
            Some(_) = connections.join_next() => {}
            Some(order) = orders.recv() => {
                let duration = match order {
                    Order::Refuse(duration) => duration,
                    Order::Close(closed) => {
                        connections.shutdown().await;
                        let _ = closed.send(());
                        continue;
                    }
                };
                drop(listener);
                connections.shutdown().await;
                tokio::select! {
                    () = tokio::time::sleep(duration) => {}
                    _ = &mut stop => return,
                }
                listener = match port.listen() {
                    Ok(listener) => listener,
                    Err(error) => panic!("the BMC emulator cannot listen on {} again: {error}", port.address),
                };
            }
            _ = &mut stop => return,
        }
    }
}

/// Performs the work that becomes due between requests.
async fn tick(shared: Arc<Shared>) {
    let mut interval = tokio::time::interval(TICK);
    loop {
        interval.tick().await;
        let shared = Arc::clone(&shared);
        let ticked = tokio::task::spawn_blocking(move || shared.bmc().tick(Instant::now()));
        if ticked.await.is_err() {
            return;
        }
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    use std::os::fd::AsFd as _;
    let Ok(socket) = stream.as_fd().try_clone_to_owned() else {
        return;
    };
    let link = Arc::new(Link::default());
    let is_over = async {
        match shared.tls() {
            None => serve(&shared, &link, stream).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    serve(&shared, &link, stream).await;
                }
            }
        }
    };
    tokio::select! {
        () = is_over => {}
        () = link.reset.notified() => {
            // The last close of the socket sends a reset.
            let _ = rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
        }
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    shared: &Arc<Shared>,
    link: &Arc<Link>,
    stream: S,
) {
    let router: Router = Router::new()
        .fallback(respond)
        .layer(Extension(Arc::clone(link)))
        .with_state(Arc::clone(shared));
    // A connection that a client aborted does not concern the BMC.
    let _ = Builder::new(TokioExecutor::new())
        .http1_only()
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
