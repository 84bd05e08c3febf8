//! Reads the rest of a refused request, so that the client receives the response: a connection that is closed with unread bytes is reset,
//! which may discard the response. The client of a proxy receives a 502 then.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::timeout;

/// Bytes that are read and dropped: twice those of the largest body that is kept in memory.
const MOST: usize = 16 << 20;

/// Time in which they must come.
const TIME: Duration = Duration::from_secs(30);

/// Time without a byte after which the client is not sending any more, but waits for the end.
const SILENCE: Duration = Duration::from_secs(2);

/// The body of a request. Its rest can be read after the end of the handler.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

struct State {
    body: Body,
    /// Reading has begun, at which a client that waits for `100 Continue` gets it.
    is_begun: bool,
    has_ended: bool,
}

impl Shared {
    pub(crate) fn of(body: Body) -> Self {
        Self(Arc::new(Mutex::new(State {
            has_ended: body.is_end_stream(),
            body,
            is_begun: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rest while the answer is sent. `waits`: the client sends nothing before `100 Continue`.
    pub(crate) fn read_on(self, waits: bool) {
        let state = self.state();
        let is_coming = !state.has_ended && (state.is_begun || !waits);
        drop(state);
        if is_coming {
            tokio::spawn(timeout(TIME, self.drop_rest()));
        }
    }

    async fn drop_rest(mut self) {
        let mut left = MOST;
        while let Ok(Some(Ok(frame))) = timeout(
            SILENCE,
            poll_fn(|context| Pin::new(&mut self).poll_frame(context)),
        )
        .await
        {
            let read = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }
}

impl http_body::Body for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = self.state();
        state.is_begun = true;
        let polled = Pin::new(&mut state.body).poll_frame(context);
        state.has_ended |= matches!(polled, Poll::Ready(None | Some(Err(_)))) || state.body.is_end_stream();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.state().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.state().body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::DefaultBodyLimit;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use crate::body::Text;
    use crate::listener::whole;
    use crate::problem::Problem;

    async fn connected() -> TcpStream {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let router = Router::new()
            .route("/read", post(async |_: Text| "taken"))
            .route("/unread", post(async || Problem::bad_request("not today")))
            .layer(DefaultBodyLimit::max(1 << 20));
        tokio::spawn(async move { axum::serve(tcp, whole(router)).await });
        TcpStream::connect(address).await.unwrap()
    }

    fn head(path: &str, length: usize, more: &str) -> String {
        format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n{more}\r\n")
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_client_that_sends_all_before_it_reads_gets_the_reason() {
        for (path, status, reason) in [
            ("/read", "413", "larger than this operation accepts"),
            ("/unread", "400", "not today"),
        ] {
            let mut stream = connected().await;
            let body = vec![b' '; 8 << 20];
            stream
                .write_all(head(path, body.len(), "").as_bytes())
                .await
                .unwrap();
            stream.write_all(&body).await.unwrap();
            let answer = answer(&mut stream).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(answer.contains(reason), "{answer}");
            assert!(answer.contains("connection: close"), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_client_that_waits_for_100_continue_gets_none_for_what_is_refused() {
        let mut stream = connected().await;
        let head = head("/unread", 8 << 20, "expect: 100-continue\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_waits_for_the_end_does_not_wait_long() {
        let mut stream = connected().await;
        let begun = tokio::time::Instant::now();
        stream.write_all(head("/unread", 8, "").as_bytes()).await.unwrap();
        assert!(answer(&mut stream).await.contains("not today"));
        assert!(begun.elapsed() < super::SILENCE * 2, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn not_more_than_so_much_is_read() {
        let mut stream = connected().await;
        let most = super::MOST;
        stream
            .write_all(head("/unread", most * 8, "").as_bytes())
            .await
            .unwrap();
        let piece = vec![b' '; 1 << 20];
        let mut sent = 0;
        while sent < most * 8 && stream.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        assert!(sent >= most && sent < most * 4, "{sent}");
    }
}
