//! Computes overlays: an image is a list of segments, and any range of it a list of pieces to read.

use std::ops::Range;

use bytes::Bytes;

use crate::iso9660::Extent;

/// iPXE appends an archive to the initramfs; both are padded to this.
const APPENDED_ALIGNMENT: u64 = 512;

/// The pieces of an image, in order. The length is the same for every InfraEnv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Ends of the segments, ascending; the last is the length.
    ends: Vec<u64>,
    segments: Vec<Piece>,
}

/// A run of bytes and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the base file.
    Base(Extent),
    Bytes(Bytes),
    /// So many zero bytes.
    Zeros(u64),
}

impl Piece {
    pub fn length(&self) -> u64 {
        match self {
            Self::Base(extent) => extent.length,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(length) => *length,
        }
    }

    /// The part that `range` selects, which must lie within.
    fn slice(&self, range: Range<u64>) -> Self {
        match self {
            Self::Base(extent) => Self::Base(Extent {
                offset: extent.offset + range.start,
                length: range.end - range.start,
            }),
            Self::Bytes(bytes) => Self::Bytes(bytes.slice(range.start as usize..range.end as usize)),
            Self::Zeros(_) => Self::Zeros(range.end - range.start),
        }
    }
}

/// An overlay does not fit into a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an overlay of {length} bytes at {offset} does not fit into an image of {image} bytes")]
pub struct OutOfImage {
    offset: u64,
    length: u64,
    image: u64,
}

impl Plan {
    pub fn concatenation(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut plan = Self {
            ends: Vec::new(),
            segments: Vec::new(),
        };
        for piece in pieces {
            plan.push(piece);
        }
        plan
    }

    /// One run of the base file.
    pub fn of_base(extent: Extent) -> Self {
        Self::concatenation([Piece::Base(extent)])
    }

    /// This plan with the bytes from `offset` on replaced.
    pub fn overlaid(&self, offset: u64, piece: Piece) -> Result<Self, OutOfImage> {
        let out_of_image = OutOfImage {
            offset,
            length: piece.length(),
            image: self.length(),
        };
        let end = offset
            .checked_add(piece.length())
            .filter(|&end| end <= self.length())
            .ok_or(out_of_image)?;
        let before = self.range(0..offset);
        let after = self.range(end..self.length());
        Ok(Self::concatenation(before.chain([piece]).chain(after)))
    }

    /// This plan with `area` filled: these bytes, and zeros after them. The bytes fit.
    pub(crate) fn filled(&self, area: Extent, bytes: Bytes) -> Result<Self, OutOfImage> {
        let rest = area.length.saturating_sub(bytes.len() as u64);
        self.overlaid(area.end() - rest, Piece::Zeros(rest))?
            .overlaid(area.offset, Piece::Bytes(bytes))
    }

    /// An initramfs: that of the base and an archive after it, each padded. The kernel looks for a further archive at multiples of four
    /// bytes and skips zeros before it.
    pub(crate) fn initrd_with(initrd: Extent, archive: Bytes) -> Self {
        let padding = |length: u64| Piece::Zeros(length.next_multiple_of(APPENDED_ALIGNMENT) - length);
        let behind = padding(archive.len() as u64);
        Self::concatenation([
            Piece::Base(initrd),
            padding(initrd.length),
            Piece::Bytes(archive),
            behind,
        ])
    }

    pub fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.segments
    }

    /// The pieces that make up `range`; what lies beyond the end is left out.
    pub fn range(&self, range: Range<u64>) -> impl Iterator<Item = Piece> + '_ {
        let (from, to) = (range.start, range.end.min(self.length()));
        let first = self.ends.partition_point(|&end| end <= from);
        let segments = self.segments[first..].iter().zip(&self.ends[first..]);
        segments
            .map(|(segment, &end)| (segment, end - segment.length(), end))
            .take_while(move |&(_, start, _)| start < to)
            .map(move |(segment, start, end)| segment.slice(from.max(start) - start..to.min(end) - start))
    }

    fn push(&mut self, piece: Piece) {
        if piece.length() == 0 {
            return;
        }
        self.ends.push(self.length() + piece.length());
        self.segments.push(piece);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: usize = 300;

    fn base() -> Vec<u8> {
        (0..BASE).map(|index| (index % 251) as u8 + 1).collect()
    }

    fn materialise(pieces: impl Iterator<Item = Piece>) -> Vec<u8> {
        let base = base();
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Base(extent) => bytes.extend(&base[extent.offset as usize..extent.end() as usize]),
                Piece::Bytes(computed) => bytes.extend(&computed),
                Piece::Zeros(length) => bytes.resize(bytes.len() + length as usize, 0),
            }
        }
        bytes
    }

    fn piece() -> impl Strategy<Value = Piece> {
        prop_oneof![
            (0..BASE as u64, 0..80u64).prop_map(|(offset, length)| {
                Piece::Base(Extent {
                    offset,
                    length: length.min(BASE as u64 - offset),
                })
            }),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Piece::Bytes(bytes.into())),
            (0..60u64).prop_map(Piece::Zeros),
        ]
    }

    proptest! {
        #[test]
        fn any_range_equals_that_part_of_the_whole(
            pieces in prop::collection::vec(piece(), 0..12), from in 0..700u64, length in 0..700u64,
        ) {
            let plan = Plan::concatenation(pieces.clone());
            let whole = materialise(pieces.into_iter());
            prop_assert_eq!(plan.length(), whole.len() as u64);
            let from = from.min(plan.length());
            let to = (from + length).min(plan.length());
            prop_assert_eq!(materialise(plan.range(from..from + length)), &whole[from as usize..to as usize]);
        }

        #[test]
        fn overlays_replace_their_bytes_and_nothing_else(
            overlays in prop::collection::vec((0..BASE as u64, piece()), 0..8),
        ) {
            let mut plan = Plan::of_base(Extent { offset: 0, length: BASE as u64 });
            let mut expected = base();
            for (offset, piece) in overlays {
                let end = offset + piece.length();
                match plan.overlaid(offset, piece.clone()) {
                    Ok(next) => plan = next,
                    Err(error) => {
                        prop_assert!(end > BASE as u64, "{}", error);
                        continue;
                    }
                }
                let bytes = materialise([piece].into_iter());
                expected[offset as usize..end as usize].copy_from_slice(&bytes);
            }
            prop_assert_eq!(plan.length(), BASE as u64);
            prop_assert_eq!(materialise(plan.range(0..BASE as u64)), expected);
        }
    }

    #[test]
    fn an_overlay_beyond_the_end_says_the_numbers() {
        let plan = Plan::of_base(Extent {
            offset: 0,
            length: 10,
        });
        let error = plan.overlaid(8, Piece::Zeros(3)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "an overlay of 3 bytes at 8 does not fit into an image of 10 bytes"
        );
        assert!(plan.overlaid(u64::MAX, Piece::Zeros(3)).is_err());
    }
}
