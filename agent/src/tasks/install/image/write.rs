//! Writes an image to a disk with direct I/O: one thread decompresses, one computes digests, one writes.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use muster_api::steps::ImageFormat;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::Xxh3;

use super::buffer::{ALIGNMENT, Buffer};
use super::decode::Decoder;
use super::error::ImageError;
use super::head::{HEAD, Head};

/// Bytes of one write.
pub const PIECE: usize = 4 << 20;
/// Pieces in memory.
const PIECES: usize = 4;

/// A disk, open for direct I/O.
#[derive(Debug)]
pub struct Target {
    pub file: File,
    /// Kernel name.
    pub name: String,
    /// Bytes.
    pub size: u64,
}

impl Target {
    /// The error of an operation on the disk at an offset.
    pub fn error(&self, what: &'static str, at: u64, source: io::Error) -> ImageError {
        ImageError::Disk {
            what,
            at,
            disk_gone: !Path::new("/sys/class/block").join(&self.name).exists(),
            source,
        }
    }
}

/// An image that is on the disk from [`HEAD`] on.
#[derive(Debug)]
pub struct Written {
    pub target: Target,
    pub head: Head,
    /// Bytes of the whole image.
    pub size: u64,
    /// XXH3 of the bytes from [`HEAD`] on, as written.
    pub sum: u128,
    /// SHA-256 of the whole, if requested.
    pub sha256: Option<String>,
}

/// The parameters of one run.
pub struct Order<'a> {
    pub format: Option<ImageFormat>,
    /// Logical sector of the disk, bytes.
    pub sector: u32,
    /// Bytes of the disk.
    pub disk: u64,
    /// Compute the SHA-256 of the content.
    pub with_sha256: bool,
    pub stop: &'a CancellationToken,
}

/// A filled piece on its way to the disk.
struct Piece {
    buffer: Buffer,
    length: usize,
    at: u64,
}

/// Reads the image from `from` and writes all but its first mebibyte. `prepare` gets that and returns the disk, cleared:
/// until then nothing is written. Returns `from`, for the bytes that the decompressor left in it.
///
/// # Errors
/// [`ImageError`]
pub fn write<R: Read + Send>(
    from: R,
    order: &Order<'_>,
    prepare: impl FnOnce(&Head) -> Result<Target, ImageError>,
) -> Result<(Written, R), ImageError> {
    let mut decoder = Decoder::new(from, order.format)?;
    let mut bytes = Buffer::new(HEAD);
    let filled = decoder.fill(bytes.bytes_mut())?;
    let head = Head::check(bytes, filled, decoder.content_size(), order.sector, order.disk)?;
    if order.stop.is_cancelled() {
        return Err(ImageError::Stopped);
    }
    let target = prepare(&head)?;
    let mut sha256 = order.with_sha256.then(Sha256::new);
    if let Some(sha256) = &mut sha256 {
        sha256.update(head.bytes.bytes());
    }
    let (free, free_pieces) = sync_channel(PIECES);
    for _ in 0..PIECES {
        let _ = free.send(Buffer::new(PIECE));
    }
    let (to_digest, filled_pieces) = sync_channel::<Piece>(PIECES);
    let (to_disk, digested_pieces) = sync_channel::<Piece>(PIECES);
    let (size, sum, sha256) = std::thread::scope(|scope| {
        let digesting = scope.spawn(move || digest(filled_pieces, to_disk, sha256));
        let (writing_target, free) = (&target, free);
        let writing = scope.spawn(move || put(writing_target, digested_pieces, free));
        let decoded = decode(&mut decoder, order.stop, &free_pieces, to_digest);
        drop(free_pieces);
        let broken = |_| ImageError::Broken("a thread panicked".to_owned());
        let (sum, sha256) = digesting.join().map_err(broken)?;
        // A disk that fails ends the decoder, too: the disk's error counts.
        writing.join().map_err(broken)??;
        Ok::<_, ImageError>((decoded?, sum, sha256))
    })?;
    let needed = head.table.end();
    if size < needed {
        return Err(ImageError::Short { found: size, needed });
    }
    let sync = target.file.sync_all();
    sync.map_err(|source| target.error("written", size, source))?;
    let written = Written {
        target,
        head,
        size,
        sum,
        sha256,
    };
    Ok((written, decoder.into_inner()))
}

/// Fills pieces until the end of the image; returns its size.
fn decode<R: Read>(
    decoder: &mut Decoder<R>,
    stop: &CancellationToken,
    free: &Receiver<Buffer>,
    to: SyncSender<Piece>,
) -> Result<u64, ImageError> {
    let mut at = HEAD as u64;
    loop {
        if stop.is_cancelled() {
            return Err(ImageError::Stopped);
        }
        // The writing thread has ended; its error is taken from there.
        let Ok(mut buffer) = free.recv() else {
            return Ok(at);
        };
        let length = decoder.fill(buffer.bytes_mut())?;
        if length > 0 && to.send(Piece { buffer, length, at }).is_err() {
            return Ok(at);
        }
        at += length as u64;
        if length < PIECE {
            return Ok(at);
        }
    }
}

fn digest(
    from: Receiver<Piece>,
    to: SyncSender<Piece>,
    mut sha256: Option<Sha256>,
) -> (u128, Option<String>) {
    let mut sum = Xxh3::new();
    for piece in from {
        let bytes = &piece.buffer.bytes()[..piece.length];
        sum.update(bytes);
        if let Some(sha256) = &mut sha256 {
            sha256.update(bytes);
        }
        if to.send(piece).is_err() {
            break;
        }
    }
    (
        sum.digest128(),
        sha256.map(|sha256| hex::encode(sha256.finalize())),
    )
}

fn put(target: &Target, from: Receiver<Piece>, free: SyncSender<Buffer>) -> Result<(), ImageError> {
    for mut piece in from {
        let end = piece.at + piece.length as u64;
        if end > target.size {
            return Err(ImageError::TooSmall {
                disk: target.size,
                image: format!("at least {end}"),
            });
        }
        // The last piece is padded with zeros to a length that direct I/O accepts, but not beyond the disk.
        let room = usize::try_from(target.size - piece.at).unwrap_or(PIECE);
        let padded = piece.length.next_multiple_of(ALIGNMENT).min(room);
        piece.buffer.bytes_mut()[piece.length..padded].fill(0);
        target
            .file
            .write_all_at(&piece.buffer.bytes()[..padded], piece.at)
            .map_err(|source| target.error("written", piece.at, source))?;
        // The decoder has ended if the receiver is gone.
        let _ = free.send(piece.buffer);
    }
    Ok(())
}
