//! Bodies of requests: bytes at once, bytes in drips, or far more bytes than fit in memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http_body::{Frame, SizeHint};
use tokio::time::sleep;

/// Pieces of a dripping body.
const DRIPS: usize = 8;

/// A request's body.
pub struct Body {
    content: Content,
}

enum Content {
    Whole(Option<Bytes>),
    Stream(BoxStream<'static, Bytes>),
}

impl Body {
    /// An empty body.
    pub fn empty() -> Self {
        Self {
            content: Content::Whole(None),
        }
    }

    /// A body of these bytes.
    pub fn whole(bytes: Bytes) -> Self {
        Self {
            content: Content::Whole(Some(bytes)),
        }
    }

    /// These bytes, in pieces over that time, without announcing their number.
    pub fn dripping(bytes: Bytes, over: Duration) -> Self {
        let size = bytes.len().div_ceil(DRIPS).max(1);
        let pause = over / u32::try_from(DRIPS).unwrap_or(1);
        let pieces = (0..bytes.len().div_ceil(size))
            .map(move |n| bytes.slice(n * size..bytes.len().min((n + 1) * size)));
        let drips = stream::iter(pieces).then(move |piece| async move {
            sleep(pause).await;
            piece
        });
        Self {
            content: Content::Stream(drips.boxed()),
        }
    }

    /// `before`, so many times `line`, `after`. Only these are held in memory.
    pub fn repeated(before: Bytes, line: Bytes, lines: u64, after: Bytes) -> Self {
        let block = 64;
        let many = Bytes::from(line.repeat(block));
        let block = u64::try_from(block).unwrap_or(1);
        let blocks = stream::iter(0..lines / block).map(move |_| many.clone());
        let rest = stream::iter(0..lines % block).map(move |_| line.clone());
        let whole = stream::iter([before])
            .chain(blocks)
            .chain(rest)
            .chain(stream::iter([after]));
        Self {
            content: Content::Stream(whole.boxed()),
        }
    }

    /// A copy for a retry, if that is possible.
    pub fn again(&self) -> Option<Self> {
        match &self.content {
            Content::Whole(bytes) => Some(Self {
                content: Content::Whole(bytes.clone()),
            }),
            Content::Stream(_) => None,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Stream(pieces) => pieces
                .poll_next_unpin(context)
                .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    async fn bytes(body: Body) -> Bytes {
        body.collect().await.unwrap().to_bytes()
    }

    #[tokio::test(start_paused = true)]
    async fn drips_take_their_time_and_lose_nothing() {
        for text in ["", "a", "twenty bytes and more"] {
            let began = tokio::time::Instant::now();
            let body = Body::dripping(Bytes::from(text), Duration::from_secs(4));
            assert_eq!(bytes(body).await, text);
            assert!(began.elapsed() <= Duration::from_secs(4));
        }
    }

    #[tokio::test]
    async fn a_repeated_line_comes_as_often_as_it_was_asked_for() {
        let body = Body::repeated("<".into(), "ab".into(), 130, ">".into());
        assert_eq!(bytes(body).await, format!("<{}>", "ab".repeat(130)));
    }
}
