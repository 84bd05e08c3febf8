//! Carries out one attempt to bring the image to the disk: download and writing at the same time, then the digests, then reading back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::download::Downloads;
use super::error::ImageError;
use super::head::Head;
use super::source::Source;
use super::stream::{Pieces, Received, WAITING};
use super::verify;
use super::write::{self, Order, Target, Written};

/// Clears the disk and opens it, once the beginning of the image is known to be good.
pub type Prepare = Arc<dyn Fn(&Head) -> Result<Target, ImageError> + Send + Sync>;

/// The share of writing in the whole work, per cent; the rest is reading back.
const WRITING: u64 = 80;

/// Counts of the running attempt.
#[derive(Debug, Default)]
pub struct Counts {
    received: Arc<Received>,
    read_back: AtomicU64,
    /// Bytes of the decompressed image; 0 until all are written.
    size: AtomicU64,
}

impl Counts {
    /// The done part and the whole of all work, in the same unit; nothing if the size of the file is not known.
    pub fn done(&self) -> Option<(u64, u64)> {
        let whole = 10_000;
        let size = self.size.load(Ordering::Relaxed);
        let share = |part: u64, of: u64, weight: u64| {
            u64::try_from(u128::from(part.min(of)) * u128::from(weight * 100) / u128::from(of.max(1)))
                .unwrap_or(0)
        };
        if size > 0 {
            let read_back = share(self.read_back.load(Ordering::Relaxed), size, 100 - WRITING);
            return Some((WRITING * 100 + read_back, whole));
        }
        match self.received.total() {
            0 => None,
            total => Some((share(self.received.bytes(), total, WRITING), whole)),
        }
    }

    /// Bytes of the file that are on the disk.
    pub fn bytes(&self) -> u64 {
        self.received.bytes()
    }
}

/// One attempt.
pub struct Copy<'a> {
    pub downloads: &'a Downloads,
    pub source: &'a Source,
    /// Logical sector of the disk, bytes.
    pub sector: u32,
    /// Bytes of the disk.
    pub disk: u64,
    pub prepare: Prepare,
    pub counts: Arc<Counts>,
    pub stop: &'a CancellationToken,
}

impl Copy<'_> {
    /// Returns the image as written: all of it but the first mebibyte is on the disk and was read back.
    ///
    /// # Errors
    /// [`ImageError`]
    pub async fn run(self, waits: impl Fn(&str)) -> Result<Written, ImageError> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let received = Arc::clone(&self.counts.received);
        // Dropping this future ends the thread, too.
        let stop = self.stop.child_token();
        let _guard: DropGuard = stop.clone().drop_guard();
        let pieces = Pieces::new(receiver, self.source.sha256.is_some(), Arc::clone(&received));
        let writing = Writing {
            source: self.source.clone(),
            sector: self.sector,
            disk: self.disk,
            prepare: self.prepare,
            counts: self.counts,
            stop: stop.clone(),
        };
        let writing = tokio::task::spawn_blocking(move || writing.run(pieces));
        let feeding = async {
            tokio::select! {
                fed = self.downloads.feed(self.source, sender, received, waits) => fed,
                () = stop.cancelled() => Err(ImageError::Stopped),
            }
        };
        let (fed, written) = tokio::join!(feeding, writing);
        let written = written.map_err(|error| ImageError::Broken(error.to_string()))?;
        match (fed, written) {
            (_, Ok(written)) => Ok(written),
            // An error of the decompressor means nothing if the download broke off.
            (
                Err(error),
                Err(ImageError::Decode { .. } | ImageError::Digest { .. } | ImageError::NoDiskImage(_)),
            ) => Err(error),
            (_, Err(error)) => Err(error),
        }
    }
}

/// The part that runs in threads.
struct Writing {
    source: Source,
    sector: u32,
    disk: u64,
    prepare: Prepare,
    counts: Arc<Counts>,
    stop: CancellationToken,
}

impl Writing {
    fn run(self, pieces: Pieces) -> Result<Written, ImageError> {
        let order = Order {
            format: self.source.format,
            sector: self.sector,
            disk: self.disk,
            with_sha256: self.source.uncompressed_sha256.is_some(),
            stop: &self.stop,
        };
        let (written, mut pieces) = write::write(pieces, &order, |head| (self.prepare)(head))?;
        let read = |error: std::io::Error| ImageError::Decode {
            format: self.source.format.unwrap_or_default(),
            reason: error.to_string(),
        };
        let sha256 = pieces.finish().map_err(read)?;
        compare("the file", sha256, self.source.sha256.as_ref())?;
        compare(
            "its content",
            written.sha256.clone(),
            self.source.uncompressed_sha256.as_ref(),
        )?;
        self.counts.size.store(written.size, Ordering::Relaxed);
        verify::read_back(&written, &self.stop, |at| {
            self.counts.read_back.store(at, Ordering::Relaxed);
        })?;
        Ok(written)
    }
}

fn compare(of: &'static str, found: Option<String>, expected: Option<&String>) -> Result<(), ImageError> {
    match (found, expected) {
        (Some(found), Some(expected)) if found != *expected => Err(ImageError::Digest {
            of,
            found,
            expected: expected.clone(),
        }),
        _ => Ok(()),
    }
}
