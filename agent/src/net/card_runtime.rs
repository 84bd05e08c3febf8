//! Sockets of the resolver that are bound to one card (`SO_BINDTODEVICE`): the kernel then takes only the routes of that card.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use hickory_resolver::net::runtime::iocompat::AsyncIoTokioAsStd;
use hickory_resolver::net::runtime::{RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

/// Longest time for a connection, unless the resolver sets one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the sockets.
#[derive(Clone, Default)]
pub struct CardRuntime {
    tokio: TokioRuntimeProvider,
    /// The card; `None`: by the routes.
    card: Option<String>,
}

impl CardRuntime {
    pub fn through(card: Option<&str>) -> Self {
        Self {
            tokio: TokioRuntimeProvider::default(),
            card: card.map(str::to_owned),
        }
    }
}

impl RuntimeProvider for CardRuntime {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = UdpSocket;
    type Tcp = AsyncIoTokioAsStd<TcpStream>;

    fn create_handle(&self) -> Self::Handle {
        self.tokio.create_handle()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        bind: Option<SocketAddr>,
        timeout: Option<Duration>,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Tcp>>>> {
        let Some(card) = self.card.clone() else {
            return self.tokio.connect_tcp(server, bind, timeout);
        };
        Box::pin(async move {
            let socket = if server.is_ipv4() {
                TcpSocket::new_v4()
            } else {
                TcpSocket::new_v6()
            }?;
            socket.bind_device(Some(card.as_bytes()))?;
            if let Some(bind) = bind {
                socket.bind(bind)?;
            }
            socket.set_nodelay(true)?;
            let connecting = socket.connect(server);
            let connected = tokio::time::timeout(timeout.unwrap_or(CONNECT_TIMEOUT), connecting).await;
            Ok(AsyncIoTokioAsStd(connected.map_err(io::Error::from)??))
        })
    }

    fn bind_udp(
        &self,
        local: SocketAddr,
        server: SocketAddr,
    ) -> Pin<Box<dyn Send + Future<Output = io::Result<Self::Udp>>>> {
        let Some(card) = self.card.clone() else {
            return self.tokio.bind_udp(local, server);
        };
        Box::pin(async move {
            let socket = UdpSocket::bind(local).await?;
            socket.bind_device(Some(card.as_bytes()))?;
            Ok(socket)
        })
    }
}
