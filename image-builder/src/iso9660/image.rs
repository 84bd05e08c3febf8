//! Finds files by path in an opened image.

use super::directory::{Record, u32_at};
use super::error::{IsoError, damaged};
use super::extent::{Extent, SECTOR};
use crate::read_at::ReadAt;

/// The primary volume descriptor is the first of the descriptors, which begin here.
const FIRST_DESCRIPTOR: u64 = 16;
/// Descriptors looked at before giving up; real images have two to five.
const MOST_DESCRIPTORS: u64 = 32;
/// Directories of real images are much smaller; a larger one is damage or malice.
const LARGEST_DIRECTORY: u64 = 1 << 20;
/// The volume's name in its descriptor.
const VOLUME_ID: std::ops::Range<usize> = 40..72;

pub struct Iso<'a, R: ReadAt + ?Sized> {
    source: &'a R,
    length: u64,
    volume_id: String,
    root: Extent,
}

impl<'a, R: ReadAt + ?Sized> Iso<'a, R> {
    /// Reads the volume descriptors.
    pub fn open(source: &'a R) -> Result<Self, IsoError> {
        let length = source.length()?;
        for number in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + MOST_DESCRIPTORS {
            let at = number * SECTOR;
            if at + SECTOR > length {
                return Err(IsoError::NotAnIso);
            }
            let mut descriptor = [0u8; SECTOR as usize];
            source.read_exact_at(&mut descriptor, at)?;
            if &descriptor[1..6] != b"CD001" {
                return Err(IsoError::NotAnIso);
            }
            match descriptor[0] {
                1 => return Self::from_primary(source, length, &descriptor),
                255 => break,
                _ => {}
            }
        }
        Err(damaged("no primary volume descriptor"))
    }

    fn from_primary(source: &'a R, length: u64, descriptor: &[u8]) -> Result<Self, IsoError> {
        let block_size = u16::from_le_bytes([descriptor[128], descriptor[129]]);
        if u64::from(block_size) != SECTOR {
            return Err(damaged(format!("its block size is {block_size}, not {SECTOR}")));
        }
        let expected = u64::from(u32_at(descriptor, 80)) * SECTOR;
        if expected > length {
            return Err(IsoError::Truncated {
                expected,
                actual: length,
            });
        }
        let (record, _) = Record::parse(&descriptor[156..190])
            .ok_or_else(|| damaged("the root directory's record is broken"))?;
        let iso = Self {
            source,
            length,
            volume_id: String::from_utf8_lossy(&descriptor[VOLUME_ID])
                .trim_end()
                .to_owned(),
            root: record.extent,
        };
        iso.check("/", record.extent)?;
        Ok(iso)
    }

    /// Finds the bytes of the file at `path` (components separated by `/`); `None` when there is no such
    /// file.
    pub fn find(&self, path: &str) -> Result<Option<Extent>, IsoError> {
        let mut directory = self.root;
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let Some(record) = self.find_in(directory, name)? else {
                return Ok(None);
            };
            let last = names.peek().is_none();
            if record.is_directory == last {
                return Ok(None);
            }
            self.check(path, record.extent)?;
            if !last {
                directory = record.extent;
                continue;
            }
            if record.several_extents || record.interleaved {
                let what = if record.interleaved {
                    "interleaved"
                } else {
                    "in several extents"
                };
                return Err(IsoError::Unsupported {
                    path: path.into(),
                    what,
                });
            }
            return Ok(Some(record.extent));
        }
        Ok(None)
    }

    /// The bytes of a small file; more than `limit` is an error.
    pub fn read(&self, path: &str, extent: Extent, limit: u64) -> Result<Vec<u8>, IsoError> {
        if extent.length > limit {
            return Err(damaged(format!(
                "{path} has {} bytes, more than the {limit} that are sensible",
                extent.length
            )));
        }
        let mut bytes = vec![0; usize::try_from(extent.length).map_err(|_| damaged("a file too large"))?];
        self.source.read_exact_at(&mut bytes, extent.offset)?;
        Ok(bytes)
    }

    /// Length of the file that holds the image.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Name of the volume, without the padding.
    pub fn volume_id(&self) -> &str {
        &self.volume_id
    }

    fn find_in(&self, directory: Extent, name: &str) -> Result<Option<Record>, IsoError> {
        if directory.length > LARGEST_DIRECTORY {
            return Err(damaged(format!("a directory of {} bytes", directory.length)));
        }
        let bytes = self.read("a directory", directory, LARGEST_DIRECTORY)?;
        for sector in bytes.chunks(SECTOR as usize) {
            let mut rest = sector;
            // A zero length byte fills the sector: records never cross sectors (ECMA-119 6.8.1.1).
            while rest.first().is_some_and(|&length| length != 0) {
                let (record, size) =
                    Record::parse(rest).ok_or_else(|| damaged("a broken directory record"))?;
                if record.is_named(name, |at, length| self.continuation(at, length)) {
                    return Ok(Some(record));
                }
                rest = &rest[size..];
            }
        }
        Ok(None)
    }

    /// A Rock Ridge continuation area; an unreadable one counts as absent.
    fn continuation(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.source.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
    }

    fn check(&self, path: &str, extent: Extent) -> Result<(), IsoError> {
        // Offsets are below 2^43 and lengths below 2^32: the sum cannot overflow.
        if extent.end() > self.length {
            return Err(IsoError::Damaged {
                what: format!(
                    "{path} ends at byte {}, the file at {}",
                    extent.end(),
                    self.length
                ),
            });
        }
        Ok(())
    }
}
