//! Reads a file of an OS image once, and compares it with its digests.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use muster_api::steps::{ImageFormat, virtual_disk};
use muster_core::rules::os_image::{Digest as ImageDigest, MetalImage};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::OpenOsImage;
use crate::images::ImageError;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// Bytes that show what the content is.
const BEGINNING: usize = 32;

/// Between two lines of the log about one file.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A file that matches its digests.
pub(super) struct Checked {
    pub(super) open: OpenOsImage,
    /// Of the file.
    pub(super) sha256: ImageDigest,
}

/// Reads the whole file; blocks.
///
/// # Errors
/// [`ImageError`]
pub(super) fn check(
    path: &str,
    wanted: &MetalImage,
    stop: &CancellationToken,
) -> Result<Checked, ImageError> {
    read(path, wanted, stop).unwrap_or_else(|error| Err(ImageError::Unreadable(error)))
}

fn read(
    path: &str,
    wanted: &MetalImage,
    stop: &CancellationToken,
) -> io::Result<Result<Checked, ImageError>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(Err(ImageError::Empty));
    }
    // An image that cannot be decompressed fails below.
    let beginning = beginning(path, wanted.format).unwrap_or_default();
    if let Some(format) = virtual_disk(&beginning) {
        return Ok(Err(ImageError::OfVirtualMachines(format)));
    }
    let mut stored = Hashing {
        inner: &file,
        hash: Sha256::new(),
        done: 0,
        length: metadata.len(),
        path,
        logged: Instant::now(),
        stop,
    };
    // The file's own digest implies its decompressed content.
    let content = match (&wanted.sha256, &wanted.uncompressed_sha256) {
        (None, Some(_)) if wanted.format != ImageFormat::Raw => {
            Some(hash_content(&mut stored, wanted.format)?)
        }
        _ => None,
    };
    io::copy(&mut stored, &mut io::sink())?;
    let sha256 = hex_of(stored.hash);
    let content = content.or((wanted.format == ImageFormat::Raw).then(|| sha256.clone()));
    if let Some(why) = differs("the file", wanted.sha256.as_ref(), Some(&sha256)) {
        return Ok(Err(why));
    }
    if let Some(why) = differs(
        "its content",
        wanted.uncompressed_sha256.as_ref(),
        content.as_ref(),
    ) {
        return Ok(Err(why));
    }
    let Some(digest) = ImageDigest::parse(&sha256) else {
        return Err(io::Error::other("its digest has no 64 digits"));
    };
    let open = OpenOsImage::new(file, path, sha256)?;
    Ok(Ok(Checked { open, sha256: digest }))
}

fn differs(what: &'static str, wanted: Option<&ImageDigest>, found: Option<&String>) -> Option<ImageError> {
    let (wanted, found) = (wanted?, found?);
    (wanted.as_str() != found).then(|| ImageError::OtherDigest {
        what,
        found: found.clone(),
        wanted: wanted.as_str().to_owned(),
    })
}

/// The first bytes of the content.
fn beginning(path: &str, format: ImageFormat) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(BEGINNING);
    decoder(File::open(path)?, format)?
        .take(BEGINNING as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decoder<'a>(stored: impl Read + 'a, format: ImageFormat) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match format {
        ImageFormat::Raw => Box::new(stored),
        ImageFormat::Gz => Box::new(MultiGzDecoder::new(stored)),
        ImageFormat::Xz => Box::new(XzDecoder::new_multi_decoder(stored)),
        ImageFormat::Zst => Box::new(zstd::stream::read::Decoder::new(stored)?),
    })
}

fn hash_content(stored: &mut Hashing<'_>, format: ImageFormat) -> io::Result<String> {
    let mut decoder = decoder(stored, format)?;
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        match decoder.read(&mut chunk)? {
            0 => return Ok(hex_of(hash)),
            length => hash.update(&chunk[..length]),
        }
    }
}

fn hex_of(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes the bytes that are read, and logs the progress.
struct Hashing<'a> {
    inner: &'a File,
    hash: Sha256,
    done: u64,
    length: u64,
    path: &'a str,
    logged: Instant,
    stop: &'a CancellationToken,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the service stops"));
        }
        let length = self.inner.read(buffer)?;
        self.hash.update(&buffer[..length]);
        self.done += length as u64;
        if self.logged.elapsed() >= LOG_INTERVAL {
            self.logged = Instant::now();
            let percent = self.done * 100 / self.length.max(1);
            tracing::info!(path = self.path, percent, "an OS image is being checked");
        }
        Ok(length)
    }
}
