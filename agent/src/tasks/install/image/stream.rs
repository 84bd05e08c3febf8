//! Passes the downloaded bytes to the thread that decompresses them, and computes their digest on the way.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

/// A piece of the file as downloaded. A sender that is gone without [`Piece::End`] has failed, and reports the reason elsewhere.
#[derive(Debug)]
pub enum Piece {
    Bytes(bytes::Bytes),
    /// The file is whole.
    End,
}

/// Pieces that may wait to be decompressed.
pub const WAITING: usize = 32;

/// Counts of a download, read while it runs.
#[derive(Debug, Default)]
pub struct Received {
    bytes: AtomicU64,
    total: AtomicU64,
}

impl Received {
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// 0 when unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// Reads the pieces in a thread.
pub struct Pieces {
    from: mpsc::Receiver<Piece>,
    present: bytes::Bytes,
    ended: bool,
    digest: Option<Sha256>,
    received: Arc<Received>,
}

impl Pieces {
    /// Computes the digest if `with_digest`.
    pub fn new(from: mpsc::Receiver<Piece>, with_digest: bool, received: Arc<Received>) -> Self {
        Self {
            from,
            present: bytes::Bytes::new(),
            ended: false,
            digest: with_digest.then(Sha256::new),
            received,
        }
    }

    /// The next bytes without taking them; empty at the end.
    fn fill(&mut self) -> io::Result<&[u8]> {
        while self.present.is_empty() && !self.ended {
            match self.from.blocking_recv() {
                Some(Piece::Bytes(piece)) => {
                    if let Some(digest) = &mut self.digest {
                        digest.update(&piece);
                    }
                    self.received.add(piece.len() as u64);
                    self.present = piece;
                }
                Some(Piece::End) => self.ended = true,
                None => return Err(io::Error::other("the download failed")),
            }
        }
        Ok(&self.present)
    }

    /// Reads to the end, and returns the digest in hexadecimal if it is computed. A decompressor may leave the last bytes.
    ///
    /// # Errors
    /// Fails if the download did.
    pub fn finish(&mut self) -> io::Result<Option<String>> {
        while !self.fill()?.is_empty() {
            self.present.clear();
        }
        Ok(self.digest.take().map(|digest| hex::encode(digest.finalize())))
    }
}

impl Read for Pieces {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = self.fill()?.len().min(to.len());
        to[..length].copy_from_slice(&self.present.split_to(length));
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_every_byte_even_of_those_that_nobody_reads() {
        let (sender, receiver) = mpsc::channel(4);
        for piece in ["muster", "", " image"] {
            sender.blocking_send(Piece::Bytes(piece.into())).unwrap();
        }
        sender.blocking_send(Piece::End).unwrap();
        let received = Arc::<Received>::default();
        let mut pieces = Pieces::new(receiver, true, Arc::clone(&received));
        let mut some = [0; 3];
        pieces.read_exact(&mut some).unwrap();
        assert_eq!(&some, b"mus");
        assert_eq!(
            pieces.finish().unwrap(),
            Some(hex::encode(Sha256::digest(b"muster image")))
        );
        assert_eq!(received.bytes(), 12);
    }

    #[test]
    fn a_failed_download_is_no_end_of_the_file() {
        let (sender, receiver) = mpsc::channel(4);
        sender.blocking_send(Piece::Bytes("half".into())).unwrap();
        drop(sender);
        let mut pieces = Pieces::new(receiver, false, Arc::default());
        let mut all = Vec::new();
        assert!(pieces.read_to_end(&mut all).is_err());
        assert_eq!(all, b"half");
    }
}
