//! Answers the requests of one connection of HTTP/1.
//!
//! hyper holds some 18 KB per connection: a read buffer, the state of a request. A host polls once a minute. So an idle connection is
//! taken from hyper, and returned to it with the first bytes of its next request.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt as _};

use crate::stream::PlacedStream;

/// A connection without a request rests after so long, or twice as long.
const RESTS_AFTER: Duration = Duration::from_secs(2);

/// Time that a connection is kept open between requests: longer than between two polls of a host, and than clients keep theirs.
const KEPT_OPEN: Duration = Duration::from_secs(120);

/// Time in which what ends a connection must be sent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of the next request that are read before hyper reads: most heads of polls.
const READ_AHEAD: usize = 1024;

/// Answers requests until the connection ends, or until `stop`: then the one in progress is the last one.
pub(crate) async fn answer_all<S, V>(
    mut stream: PlacedStream<S>,
    service: V,
    builder: &Builder,
    stop: &CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    V: Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + Unpin + 'static,
    V::Future: Send,
{
    // Boxed, so that nothing of it is held at rest.
    while let Some((rested, ahead)) = Box::pin(answer(stream, service.clone(), builder, stop)).await {
        stream = rested;
        let ahead = match ahead {
            Some(ahead) => Some(ahead),
            None => tokio::select! {
                ahead = timeout(KEPT_OPEN, next_bytes(&mut stream)) => ahead.ok().flatten(),
                () = stop.cancelled() => None,
            },
        };
        match ahead {
            Some(ahead) => stream.read_first(ahead),
            None => return close(stream).await,
        }
    }
}

/// Answers requests until the connection is idle; returns the stream and the bytes read of the next request. `None`: it has ended.
async fn answer<S, V>(
    stream: PlacedStream<S>,
    service: V,
    builder: &Builder,
    stop: &CancellationToken,
) -> Option<(PlacedStream<S>, Option<Bytes>)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    V: Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + Unpin + 'static,
    V::Future: Send,
{
    let connection = stream.connection().clone();
    let answered = connection.answered();
    let service = service_fn(move |request| service.clone().oneshot(request).boxed());
    let mut served = builder.serve_connection(TokioIo::new(stream), service);
    let rests = async {
        let mut looks = interval(RESTS_AFTER);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while connection.answered() == answered || !connection.rests_for(RESTS_AFTER) {
            looks.tick().await;
        }
    };
    let ended = tokio::select! {
        ended = poll_fn(|context| served.poll_without_shutdown(context)) => Some(ended),
        () = rests => None,
        () = stop.cancelled() => None,
    };
    let (ended, may_rest) = match ended {
        Some(ended) => (ended, false),
        None => {
            Pin::new(&mut served).graceful_shutdown();
            let mut ending = poll_fn(|context| served.poll_without_shutdown(context));
            // A connection that does not end immediately has a request in progress after all; its response announces that it is the last
            // one.
            match (&mut ending).now_or_never() {
                Some(ended) => (ended, !stop.is_cancelled()),
                None => (ending.await, false),
            }
        }
    };
    ended.ok()?;
    let parts = served.into_parts();
    let stream = parts.io.into_inner();
    if may_rest {
        // An empty buffer would hold its memory.
        let ahead = (!parts.read_buf.is_empty()).then_some(parts.read_buf);
        return Some((stream, ahead));
    }
    close(stream).await;
    None
}

/// The first bytes of the next request; `None`: the connection has ended. Until they come, nothing is held for them.
async fn next_bytes<S: AsyncRead + Unpin>(stream: &mut PlacedStream<S>) -> Option<Bytes> {
    poll_fn(|context| {
        let mut bytes = [0; READ_AHEAD];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut *stream).poll_read(context, &mut buffer);
        read.map(|read| read.ok().map(|()| Bytes::copy_from_slice(buffer.filled())))
    })
    .await
    .filter(|bytes| !bytes.is_empty())
}

async fn close<S: AsyncWrite + Unpin>(mut stream: PlacedStream<S>) {
    let _ = timeout(CLOSE_TIMEOUT, stream.shutdown()).await;
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Bytes as Body;
    use axum::extract::Extension;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::{Instant, sleep};
    use tower::Layer as _;

    use super::*;
    use crate::connections::Connections;
    use crate::requests::counted;
    use crate::tune;

    const LONG: usize = 100_000;

    fn router() -> Router {
        Router::new()
            .route("/", get(async || "here"))
            .route("/late", get(async || sleep(Duration::from_secs(50)).await))
            .route("/long", get(async || vec![b'x'; LONG]))
            .route("/length", post(async |body: Body| body.len().to_string()))
    }

    /// A client of a connection, with a pipe of so many bytes.
    struct Client {
        pipe: DuplexStream,
        served: JoinHandle<()>,
        stop: CancellationToken,
    }

    impl Client {
        fn new(pipe: usize) -> Self {
            let place = Connections::new("test", 8).admit([192, 0, 2, 1].into()).unwrap();
            let (pipe, theirs) = duplex(pipe);
            let service = Extension(place.connection.clone()).layer(counted(router()));
            let stop = CancellationToken::new();
            let stopped = stop.clone();
            let served = tokio::spawn(async move {
                let stream = PlacedStream::new(theirs, place);
                answer_all(stream, service, &tune::http1(16 << 10), &stopped).await;
            });
            Self { pipe, served, stop }
        }

        async fn send(&mut self, text: &str) {
            self.pipe.write_all(text.as_bytes()).await.unwrap();
        }

        /// Reads until the answer ends with this text.
        async fn read_until(&mut self, end: &str) -> String {
            let mut answer = Vec::new();
            while !answer.ends_with(end.as_bytes()) {
                let byte = self.pipe.read_u8().await;
                answer.push(byte.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&answer))));
            }
            String::from_utf8(answer).unwrap()
        }

        async fn ask(&mut self) {
            self.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            self.read_until("\r\n\r\nhere").await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_rests_goes_on_with_its_next_request() {
        let mut client = Client::new(64 << 10);
        for _ in 0..3 {
            client.ask().await;
            sleep(Duration::from_secs(60)).await;
        }
        // A head and a body in pieces, the first of them while the connection is idle.
        for piece in [
            "POST /le",
            "ngth HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n",
            "\r\n12",
            "345",
        ] {
            client.send(piece).await;
            sleep(Duration::from_secs(4)).await;
        }
        client.read_until("\r\n\r\n5").await;
        sleep(Duration::from_secs(60)).await;
        let two = "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(2);
        client.send(&two).await;
        client.read_until("here").await;
        client.read_until("here").await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_kept_open_for_two_minutes() {
        let mut client = Client::new(64 << 10);
        client.ask().await;
        let rests_since = Instant::now();
        assert!(client.pipe.read_u8().await.is_err(), "it has ended");
        let kept = rests_since.elapsed();
        assert!(
            kept >= KEPT_OPEN && kept < KEPT_OPEN + RESTS_AFTER * 3,
            "{kept:?}"
        );
        client.served.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_answered_as_a_whole() {
        let mut client = Client::new(1000);
        client.send("GET /late HTTP/1.1\r\nhost: a\r\n\r\n").await;
        client.read_until("\r\n\r\n").await;
        // A client that reads late: most of the answer waits at the service.
        client.send("GET /long HTTP/1.1\r\nhost: a\r\n\r\n").await;
        sleep(Duration::from_secs(100)).await;
        let head = client.read_until("\r\n\r\n").await;
        assert!(!head.contains("close"), "{head}");
        let mut body = vec![0; LONG];
        client.pipe.read_exact(&mut body).await.unwrap();
        assert!(body.iter().all(|byte| *byte == b'x'));
        client.ask().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_what_rests_and_lets_an_answer_end() {
        let mut resting = Client::new(64 << 10);
        resting.ask().await;
        sleep(Duration::from_secs(60)).await;
        let mut asking = Client::new(64 << 10);
        asking.send("GET /late HTTP/1.1\r\nhost: a\r\n\r\n").await;
        sleep(Duration::from_secs(1)).await;
        let stopped = Instant::now();
        resting.stop.cancel();
        asking.stop.cancel();
        assert!(resting.pipe.read_u8().await.is_err());
        assert!(stopped.elapsed() < Duration::from_secs(1));
        let head = asking.read_until("\r\n\r\n").await;
        assert!(head.contains("connection: close"), "{head}");
        asking.served.await.unwrap();
    }
}
