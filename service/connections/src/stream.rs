//! A connection's stream, which ends when it makes room for another one.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::connection::Connection;
use crate::connections::Place;
use crate::stall::Stall;
use crate::tune::HEAD_TIMEOUT;

/// A client that reads nothing of a response for so long is dropped. The kernel reports room only when a third of the send buffer (at
/// most 4 MiB) is free, so a client has to read about 11 kB/s at least.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Reads and writes pass. Between requests, its reads return the end of the stream when its place is needed; the same happens when the
/// first request is late: no timer of hyper covers a client that has not yet sent the HTTP version.
#[derive(Debug)]
pub struct PlacedStream<S> {
    /// Boxed: a stream of TLS is large, and this one is moved often.
    inner: Box<S>,
    place: Place,
    first_request: Option<Pin<Box<Sleep>>>,
    /// Bytes that were read of it before; reads return them first.
    ahead: Bytes,
    stall: Stall,
}

impl<S> PlacedStream<S> {
    pub(crate) fn new(inner: S, place: Place) -> Self {
        Self {
            inner: Box::new(inner),
            place,
            first_request: Some(Box::pin(sleep(HEAD_TIMEOUT))),
            ahead: Bytes::new(),
            stall: Stall::after(STALL_TIMEOUT),
        }
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.place.connection
    }

    /// Sets the bytes that reads return first.
    pub(crate) fn read_first(&mut self, bytes: Bytes) {
        debug_assert!(self.ahead.is_empty(), "they would be lost");
        self.ahead = bytes;
    }

    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.place.connection.poll_closed(context).is_ready() {
            return Poll::Ready(());
        }
        if self.place.connection.has_asked() {
            self.first_request = None;
        }
        match &mut self.first_request {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PlacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let length = buffer.remaining().min(self.ahead.len());
            buffer.put_slice(&self.ahead.split_to(length));
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut *self.inner).poll_read(context, buffer) {
            Poll::Pending => self.poll_over(context).map(Ok),
            ready @ Poll::Ready(_) => ready,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PlacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.place.connection.set_unsent(true);
        let written = Pin::new(&mut *self.inner).poll_write(context, bytes);
        self.stall.guard(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.place.connection.set_unsent(true);
        let written = Pin::new(&mut *self.inner).poll_write_vectored(context, slices);
        self.stall.guard(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut *self.inner).poll_flush(context);
        self.place.connection.set_unsent(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_shutdown(context)
    }
}
