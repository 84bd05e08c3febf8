//! Counts the requests in progress of each connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::connection::Connection;

/// Wraps a router: its requests count on their connections until their responses are sent.
pub fn counted(router: Router) -> Router {
    router.layer(from_fn(count))
}

async fn count(request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let Some(connection) = connection else {
        return next.run(request).await;
    };
    let running = Running::new(connection);
    let response = next.run(request).await;
    response.map(|inner| {
        Body::new(CountedBody {
            inner,
            _running: running,
        })
    })
}

/// A request in progress of a connection.
struct Running(Arc<Connection>);

impl Running {
    fn new(connection: Arc<Connection>) -> Self {
        connection.begin_request();
        Self(connection)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

/// A response's body; frames pass as they are.
struct CountedBody {
    inner: Body,
    _running: Running,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
