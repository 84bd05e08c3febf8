//! Proves that an image can be pulled, and measures the rate. A host that runs no container has nowhere to
//! pull it to, so this checks the manifest of this platform, that the registry has every blob of it, and the
//! bytes of the configuration. The rate is measured on the layers, up to a limit; `size_bytes` and `time` are
//! those of the real download. A blob read to its end is compared with its digest.

use std::time::Duration;

use reqwest::Response;
use tokio::time::Instant;

use super::client::Found;
use super::hash::Hash;
use super::manifest::Descriptor;
use super::{Reference, Registries, RegistryError};

/// More bytes do not make the rate more exact.
const MOST_BYTES: u64 = 32 << 20;
/// Nor does more time.
const MOST_TIME: Duration = Duration::from_secs(15);
/// Blobs that are requested at once.
const AT_ONCE: usize = 6;

/// The amount and duration of a download.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Download {
    /// Bytes of blobs.
    pub bytes: u64,
    /// From the first request for a blob's bytes to the last byte.
    pub time: Duration,
}

impl Download {
    /// MB (10^6 bytes) a second.
    pub fn rate(&self) -> f64 {
        let seconds = self.time.as_secs_f64();
        if seconds > 0.0 {
            self.bytes as f64 / 1e6 / seconds
        } else {
            0.0
        }
    }
}

/// Proves that an image can be pulled.
///
/// # Errors
/// [`RegistryError`]
pub async fn check(registries: &Registries, image: &str) -> Result<Download, RegistryError> {
    let found = registries.find(&Reference::parse(image)?).await?;
    for some in found.blobs.chunks(AT_ONCE) {
        let asked = some.iter().map(|blob| registries.has_blob(&found, blob));
        futures_util::future::try_join_all(asked).await?;
    }
    measure(registries, &found).await
}

async fn measure(registries: &Registries, found: &Found) -> Result<Download, RegistryError> {
    let began = Instant::now();
    let mut bytes = 0;
    // The configuration first, always read whole; then the largest layers, which give the best measure.
    let (config, layers) = found.blobs.split_at(found.blobs.len().min(1));
    let mut layers: Vec<&Descriptor> = layers.iter().collect();
    layers.sort_by_key(|blob| std::cmp::Reverse(blob.size));
    for blob in config.iter().chain(layers) {
        if bytes >= MOST_BYTES || began.elapsed() >= MOST_TIME {
            break;
        }
        let response = registries.blob(found, blob).await?;
        bytes += download(response, blob, MOST_BYTES - bytes, began + MOST_TIME).await?;
    }
    Ok(Download {
        bytes,
        time: began.elapsed(),
    })
}

/// Reads a blob without keeping it; compares it with its digest if it was read to its end.
async fn download(
    mut response: Response,
    blob: &Descriptor,
    most: u64,
    until: Instant,
) -> Result<u64, RegistryError> {
    let registry = response.url().host_str().unwrap_or_default().to_owned();
    let (mut hash, mut bytes) = (Hash::default(), 0);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                hash.update(&chunk);
                bytes += chunk.len() as u64;
            }
            Ok(None) => {
                return if hash.finish() == blob.digest {
                    Ok(bytes)
                } else {
                    Err(RegistryError::Digest(registry, blob.digest.clone()))
                };
            }
            Err(error) => {
                let why = crate::net::unanswered::why(error);
                return Err(RegistryError::Unreachable(registry, why));
            }
        }
        if bytes >= most || Instant::now() >= until {
            return Ok(bytes);
        }
    }
}
