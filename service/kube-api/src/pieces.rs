//! Text made of stored documents, which are shared and not copied: one document goes to a thousand watches.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use http_body::{Frame, SizeHint};

/// Shorter documents are copied: a piece of its own costs more.
const SHORT: usize = 4096;

/// Pieces of text, in order.
#[derive(Debug, Default)]
pub struct Pieces {
    done: VecDeque<Bytes>,
    open: BytesMut,
}

impl Pieces {
    pub fn push_str(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
    }

    pub fn push_document(&mut self, document: &Arc<str>) {
        if document.len() < SHORT {
            return self.push_str(document);
        }
        self.close();
        self.done.push_back(Bytes::from_owner(Shared(document.clone())));
    }

    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.open.is_empty()
    }

    /// Takes the first piece.
    pub fn next(&mut self) -> Option<Bytes> {
        if self.done.is_empty() {
            self.close();
        }
        self.done.pop_front()
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push_back(self.open.split().freeze());
        }
    }

    fn length(&self) -> usize {
        self.open.len() + self.done.iter().map(Bytes::len).sum::<usize>()
    }
}

/// A response body of successive pieces. HTTP/2 polls again after the end, which an unfused stream does not allow.
pub fn body<E: Into<BoxError>>(pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Body {
    Body::from_stream(pieces.fuse())
}

struct Shared(Arc<str>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_documents_are_shared_and_all_text_comes_in_order() {
        let (short, long): (Arc<str>, Arc<str>) = ("ab".into(), "x".repeat(SHORT).into());
        let mut pieces = Pieces::default();
        pieces.push_str("[");
        for document in [&short, &long, &short] {
            pieces.push_document(document);
            pieces.push_str(",");
        }
        assert_eq!(pieces.length(), 1 + 3 + SHORT + 1 + 3);
        assert_eq!(Arc::strong_count(&long), 2);
        let all: Vec<Bytes> = std::iter::from_fn(|| pieces.next()).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all.concat(), format!("[ab,{long},ab,").into_bytes());
        assert!(pieces.is_empty());
    }
}
