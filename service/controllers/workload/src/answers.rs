//! Whether a server answers at an address that a new cluster's API is to have.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::clients::Workloads;

/// Time of each step.
const LIMIT: Duration = Duration::from_secs(2);

/// Most addresses of a name.
const MOST: usize = 4;

/// A server of HTTP answers it, and so do API servers to plain text on their port, with an error. A balancer that has no server behind it
/// closes the connection.
const REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

impl Workloads {
    /// The first of a host's addresses at which a server answers; `None`: none does, or there is none that may be connected to.
    pub async fn answering(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let found = self.networks.resolve(host, port, LIMIT).await.ok()?;
        // At once: addresses that keep silent cost the time of one, as a reconciliation waits for them.
        let requests = found.into_iter().take(MOST).map(|address| async move {
            let is_one = answers(address).await;
            is_one.then_some(address)
        });
        join_all(requests).await.into_iter().flatten().next()
    }
}

async fn answers(address: SocketAddr) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(REQUEST).await?;
        stream.read(&mut [0; 1]).await
    };
    matches!(timeout(LIMIT, asked).await, Ok(Ok(1)))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn a_server_answers_and_a_balancer_without_one_does_not() {
        let (server, address) = listener().await;
        let serving = tokio::spawn(async move {
            let (mut stream, _) = server.accept().await.unwrap();
            // The whole: what is not read would reset the connection.
            let mut request = [0; 256];
            let length = stream.read(&mut request).await.unwrap();
            stream
                .write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            request[..length].to_vec()
        });
        assert!(answers(address).await);
        assert_eq!(serving.await.unwrap(), REQUEST);

        let (balancer, address) = listener().await;
        let closing = tokio::spawn(async move { drop(balancer.accept().await.unwrap()) });
        assert!(!answers(address).await);
        closing.await.unwrap();
        assert!(!answers(address).await, "nobody listens any more");
    }
}
