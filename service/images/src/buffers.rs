//! Read buffers that are used again: no clearing, no growth, warm in the processor's cache.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

/// Bytes of a buffer. From 64 KiB to 1 MiB the size made no difference beyond noise (`service/images/benches/README.md`), and a slow
/// client holds about 0.5 MiB in hyper's queue whatever the size.
pub const BUFFER_BYTES: usize = 128 * 1024;
/// Free buffers kept; those of a burst beyond it go back to the allocator.
const MOST_FREE: usize = 64;

type Free = Arc<Mutex<Vec<Box<[u8]>>>>;

/// A stack of free buffers.
#[derive(Debug, Clone, Default)]
pub struct Buffers {
    free: Free,
}

/// A buffer in use; returns to the stack when dropped.
#[derive(Debug)]
pub struct Buffer {
    /// Empty only while dropping.
    bytes: Box<[u8]>,
    filled: usize,
    free: Free,
}

impl Buffers {
    /// A buffer with unspecified content.
    pub fn take(&self) -> Buffer {
        let reused = self
            .free
            .lock()
            .expect("no code panics while holding the lock")
            .pop();
        let bytes = reused.unwrap_or_else(|| vec![0; BUFFER_BYTES].into_boxed_slice());
        Buffer {
            bytes,
            filled: 0,
            free: self.free.clone(),
        }
    }
}

impl Buffer {
    /// The first `length` bytes, to be written; at most [`BUFFER_BYTES`].
    pub fn space(&mut self, length: usize) -> &mut [u8] {
        &mut self.bytes[..length]
    }

    /// The first `filled` bytes as content. The buffer returns when the last slice of them is gone.
    pub fn into_bytes(mut self, filled: usize) -> Bytes {
        self.filled = filled;
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Ok(mut free) = self.free.lock()
            && free.len() < MOST_FREE
        {
            free.push(bytes);
        }
    }
}
