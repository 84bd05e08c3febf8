//! The body of a download: walks the plan, one frame at a time.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use muster_image::iso9660::Extent;
use muster_image::{Piece, Plan};
use muster_operations::images::base_file::BaseFile;
use tokio::task::JoinHandle;

use super::buffers::{BUFFER_BYTES, Buffers};
use super::downloads::Slot;
use super::transport::{FileChannel, MOST_RUN_BYTES};

/// Frames of zeros are slices of this.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A download in progress. Holds its slot until it is dropped.
#[derive(Debug)]
pub struct ImageBody {
    plan: Plan,
    /// The part that is still to be produced.
    left: Range<u64>,
    base: Arc<BaseFile>,
    buffers: Buffers,
    /// Set when the connection can send from the file itself.
    channel: Option<FileChannel>,
    /// A read that waits for the disk.
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    _slot: Slot,
}

impl ImageBody {
    /// The bytes `range` of `plan`.
    pub(super) fn new(
        plan: Plan,
        range: Range<u64>,
        base: Arc<BaseFile>,
        buffers: Buffers,
        channel: Option<FileChannel>,
        slot: Slot,
    ) -> Self {
        Self {
            plan,
            left: range,
            base,
            buffers,
            channel,
            reading: None,
            _slot: slot,
        }
    }

    fn next_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(channel) = &self.channel {
            channel.check_taken(self.left.is_empty())?;
        }
        if let Some(reading) = self.reading.as_mut() {
            let outcome = ready!(Pin::new(reading).poll(context));
            self.reading = None;
            return Poll::Ready(Some(outcome.map_err(io::Error::other).flatten()));
        }
        let until = self.left.end.min(self.left.start + MOST_RUN_BYTES as u64);
        let Some(piece) = self.plan.range(self.left.start..until).next() else {
            return Poll::Ready(None);
        };
        match piece {
            Piece::Bytes(bytes) => Poll::Ready(Some(Ok(bytes))),
            Piece::Zeros(length) => {
                let length = usize::try_from(length).map_or(ZEROS.len(), |length| length.min(ZEROS.len()));
                Poll::Ready(Some(Ok(Bytes::from_static(&ZEROS[..length]))))
            }
            Piece::Base(extent) => self.base_frame(extent, context),
        }
    }

    /// The start of a run of the base file: by reference, from the page cache, or from the disk.
    fn base_frame(&mut self, extent: Extent, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.base.check_unchanged()?;
        let length =
            usize::try_from(extent.length).map_or(MOST_RUN_BYTES, |length| length.min(MOST_RUN_BYTES));
        if let Some(channel) = &self.channel
            && self.base.is_cached(extent.offset, length)?
        {
            return Poll::Ready(Some(Ok(channel.announce(&self.base, extent.offset, length))));
        }
        let length = length.min(BUFFER_BYTES);
        let mut buffer = self.buffers.take();
        if let Some(filled) = self.base.read_cached(buffer.space(length), extent.offset)? {
            return Poll::Ready(Some(Ok(buffer.into_bytes(filled))));
        }
        let base = self.base.clone();
        let mut reading = tokio::task::spawn_blocking(move || {
            base.read(buffer.space(length), extent.offset)?;
            Ok(buffer.into_bytes(length))
        });
        match Pin::new(&mut reading).poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome.map_err(io::Error::other).flatten())),
            Poll::Pending => {
                self.reading = Some(reading);
                Poll::Pending
            }
        }
    }
}

impl Body for ImageBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let outcome = ready!(self.next_frame(context));
        Poll::Ready(outcome.map(|frame| {
            let bytes = frame.inspect_err(|error| tracing::warn!(%error, "a download was broken off"))?;
            self.left.start += bytes.len() as u64;
            Ok(Frame::data(bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.end - self.left.start)
    }
}
