//! Provides memory that direct I/O accepts.

/// Alignment of addresses, lengths and offsets that every disk accepts.
pub const ALIGNMENT: usize = 4096;

/// A piece of memory that starts at a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// Zeros.
    pub fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self {
            memory,
            start,
            length,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_as_long_as_asked() {
        for length in [0, 1, 4096, 1 << 20] {
            let mut buffer = Buffer::new(length);
            assert_eq!(buffer.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            assert_eq!((buffer.bytes().len(), buffer.bytes_mut().len()), (length, length));
        }
    }
}
