//! Finds files in an ISO 9660 image by path: the primary volume's directories only, no Rock Ridge, no multi-extent
//! files. Enough for images that [`super::write`] made.
//!
//! Source: ECMA-119, 8.4 (primary volume descriptor) and 9.1 (directory record).

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

const SECTOR: u64 = 2048;
/// The first volume descriptor follows the system area of 16 sectors.
const PRIMARY_DESCRIPTOR: u64 = 16 * SECTOR;
const VOLUME_ID: std::ops::Range<usize> = 40..72;
const ROOT_RECORD: std::ops::Range<usize> = 156..190;
const FLAG_DIRECTORY: u8 = 2;
/// No directory of ours comes near.
const LONGEST_DIRECTORY: u64 = 1 << 20;

/// An image being read.
#[derive(Debug)]
pub struct Image {
    file: File,
    root: Extent,
    /// Volume identifier.
    pub volume_id: String,
}

/// Where a file's bytes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the image.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Image {
    /// Opens an image.
    ///
    /// # Errors
    /// When the file cannot be read or is no ISO 9660 image.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut descriptor = vec![0; usize::try_from(SECTOR)?];
        file.read_exact_at(&mut descriptor, PRIMARY_DESCRIPTOR)
            .with_context(|| format!("{} is too short for an ISO image", path.display()))?;
        ensure!(
            &descriptor[..6] == b"\x01CD001",
            "{} is no ISO 9660 image",
            path.display()
        );
        let (_, root) = parse_record(&descriptor[ROOT_RECORD]).context("its root directory is damaged")?;
        Ok(Self {
            file,
            root: root.extent,
            volume_id: String::from_utf8_lossy(&descriptor[VOLUME_ID])
                .trim_end()
                .to_owned(),
        })
    }

    /// Finds a file, such as `images/config.img`.
    ///
    /// # Errors
    /// When the image has no such file.
    pub fn find(&self, path: &str) -> Result<Extent> {
        let mut here = Record {
            extent: self.root,
            is_directory: true,
        };
        for part in path.split('/') {
            here = self
                .entry(here, part)
                .with_context(|| format!("while looking for {path} in the image"))?;
        }
        Ok(here.extent)
    }

    /// Reads a file whole.
    ///
    /// # Errors
    /// When the image has no such file or ends early.
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let extent = self.find(path)?;
        let mut bytes = vec![0; usize::try_from(extent.length)?];
        self.file
            .read_exact_at(&mut bytes, extent.offset)
            .with_context(|| format!("the image ends within {path}"))?;
        Ok(bytes)
    }

    fn entry(&self, directory: Record, name: &str) -> Result<Record> {
        ensure!(directory.is_directory, "a file stands where a folder should");
        let length = directory.extent.length;
        ensure!(length <= LONGEST_DIRECTORY, "a folder of {length} bytes");
        let mut bytes = vec![0; usize::try_from(length)?];
        self.file.read_exact_at(&mut bytes, directory.extent.offset)?;
        // Records do not cross sectors: a zero length ends a sector.
        for sector in bytes.chunks(usize::try_from(SECTOR)?) {
            let mut rest = sector;
            while let Some((&size, _)) = rest.split_first()
                && size > 0
            {
                let record = rest.get(..usize::from(size)).context("a damaged directory")?;
                let (found, parsed) = parse_record(record).context("a damaged directory")?;
                if found == name.as_bytes() {
                    return Ok(parsed);
                }
                rest = &rest[usize::from(size)..];
            }
        }
        bail!("there is no {name}")
    }
}

#[derive(Debug, Clone, Copy)]
struct Record {
    extent: Extent,
    is_directory: bool,
}

/// A directory record: its name (without version) and what it stands for.
fn parse_record(record: &[u8]) -> Option<(&[u8], Record)> {
    let word = |at: usize| -> Option<u64> {
        let bytes = record.get(at..at + 4)?.try_into().ok()?;
        Some(u64::from(u32::from_le_bytes(bytes)))
    };
    let extent = Extent {
        offset: word(2)? * SECTOR,
        length: word(10)?,
    };
    let is_directory = record.get(25)? & FLAG_DIRECTORY != 0;
    let name_length = usize::from(*record.get(32)?);
    let name = record.get(33..33 + name_length)?;
    let name = name.strip_suffix(b";1").unwrap_or(name);
    Some((name, Record { extent, is_directory }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(100_000).unwrap();
        let error = Image::open(file.path()).expect_err("refused").to_string();
        assert!(error.contains("no ISO 9660 image"), "{error}");
    }
}
