//! Places in an image.

/// Bytes of a logical sector. Images with other block sizes are refused.
pub const SECTOR: u64 = 2048;

/// A run of bytes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte, from the start of the image.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Extent {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}
