//! Holds the first mebibyte of an image, which goes to the disk last.

use muster_api::steps::{TO_RAW, virtual_disk};

use super::buffer::Buffer;
use super::error::ImageError;
use crate::gpt::{self, Table};

/// Bytes that make a disk bootable: boot sector, partition table, the gap before the first partition.
pub const HEAD: usize = 1 << 20;

/// The beginning of an image, checked.
#[derive(Debug)]
pub struct Head {
    /// [`HEAD`] bytes.
    pub bytes: Buffer,
    pub table: Table,
    /// Bytes of the whole image, if known from its file.
    pub content_size: Option<u64>,
}

impl Head {
    /// Checks the beginning of an image for a disk with logical sectors of `sector` bytes and `disk` bytes in all.
    ///
    /// # Errors
    /// [`ImageError`]: it cannot boot from this disk.
    pub fn check(
        bytes: Buffer,
        filled: usize,
        content_size: Option<u64>,
        sector: u32,
        disk: u64,
    ) -> Result<Self, ImageError> {
        let no_image = |reason: String| Err(ImageError::NoDiskImage(reason));
        if filled < HEAD && virtual_disk(bytes.bytes()).is_none() {
            return no_image(format!("it has {filled} bytes"));
        }
        if let Some(format) = virtual_disk(bytes.bytes()) {
            return no_image(format!("it is {format}, for virtual machines; {TO_RAW}"));
        }
        if bytes.bytes()[510..512] != [0x55, 0xaa] {
            return no_image("it has no boot sector; is it an ISO or a web page?".to_owned());
        }
        let Some(table) = gpt::at_beginning(bytes.bytes()) else {
            return no_image("it has no GUID partition table".to_owned());
        };
        if table.sector != sector {
            return no_image(format!(
                "it is made for sectors of {} bytes, and the disk has sectors of {sector}; give the image for these",
                table.sector
            ));
        }
        let needed = content_size.unwrap_or(0).max(table.end());
        if needed > disk {
            return Err(ImageError::TooSmall {
                disk,
                image: needed.to_string(),
            });
        }
        Ok(Self {
            bytes,
            table,
            content_size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &[u8], content_size: Option<u64>, sector: u32, disk: u64) -> Result<Head, ImageError> {
        let mut buffer = Buffer::new(HEAD);
        buffer.bytes_mut()[..head.len()].copy_from_slice(head);
        Head::check(buffer, head.len(), content_size, sector, disk)
    }

    #[test]
    fn an_image_that_cannot_boot_here_is_refused_before_anything_is_written() {
        let good = gpt::tests::head(512, &[("boot", [7; 16], 4096, 8191)]);
        assert!(check(&good, None, 512, 1 << 30).is_ok());
        let text = |result: Result<Head, ImageError>| result.unwrap_err().to_string();
        assert!(text(check(&good[..5000], None, 512, 1 << 30)).contains("5000 bytes"));
        assert!(text(check(&[0; HEAD], None, 512, 1 << 30)).contains("no boot sector"));
        let mut qcow2 = vec![0; HEAD];
        qcow2[..4].copy_from_slice(b"QFI\xfb");
        assert!(text(check(&qcow2, None, 512, 1 << 30)).contains("it is qcow2"));
        assert!(text(check(&qcow2[..5000], None, 512, 1 << 30)).contains("qemu-img convert"));
        assert!(text(check(&good, None, 4096, 1 << 30)).contains("sectors of 512 bytes"));
        assert!(text(check(&good, Some(2 << 30), 512, 1 << 30)).contains("too small"));
        let beyond = gpt::tests::head(512, &[("boot", [7; 16], u64::MAX / 512 - 9, u64::MAX / 512 + 9)]);
        assert!(text(check(&beyond, None, 512, 1 << 30)).contains("too small"));
        // The partitions alone do not fit.
        assert!(text(check(&good, None, 512, 3 << 20)).contains("the image 4194304"));
    }
}
