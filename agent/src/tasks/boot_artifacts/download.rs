//! Downloads a file from a URL, whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::statvfs::statvfs;
use reqwest::Response;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use url::Url;

use super::sync::sync_folder;
use crate::net::unanswered::why;

/// Bytes to keep free in addition to the file's size.
const MARGIN: u64 = 4 << 20;

/// A download that failed.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("`{0}` is no http(s) URL")]
    Url(String),
    /// Name resolution, routing, TLS, or a connection that ended.
    #[error("{url} cannot be downloaded: {reason}")]
    Transport {
        /// Without its query, which may hold a token.
        url: String,
        reason: String,
    },
    #[error("{url} is answered with {status}")]
    Status {
        /// Without its query.
        url: String,
        status: u16,
    },
    /// The body is not the one that the headers promised.
    #[error("{url} gave other than it promised")]
    NotWhole {
        /// Without its query.
        url: String,
        #[source]
        reason: Difference,
    },
    #[error(
        "{path} needs {needed} bytes and has {available}: free some space (old deployments) and let it be tried again",
        path = path.display()
    )]
    Space {
        path: PathBuf,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    #[error("{path} cannot be written", path = path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The difference between a body and its headers.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    #[error("{got} bytes and not {promised}")]
    Length {
        got: u64,
        /// `Content-Length`.
        promised: u64,
    },
    #[error("bytes whose SHA-256 is not the promised one")]
    Digest,
    #[error("bytes whose SHA-256 {found} is not the one that the service names, {wanted}")]
    OtherDigest { found: String, wanted: String },
    #[error("nothing")]
    Empty,
}

impl DownloadError {
    /// True when another attempt may succeed.
    pub fn may_pass(&self) -> bool {
        match self {
            // The next step may name another one.
            Self::NotWhole {
                reason: Difference::OtherDigest { .. },
                ..
            } => false,
            Self::Transport { .. } | Self::NotWhole { .. } => true,
            Self::Status { status, .. } => *status >= 500 || matches!(status, 408 | 429),
            Self::Url(_) | Self::Space { .. } | Self::Write { .. } => false,
        }
    }
}

/// A completed download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Bytes.
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// Downloads `url` to `path` through a file with `.part` appended, which never stays. Memory use does not
/// grow with the file. `sha256`: the digest of the only file that is taken, hexadecimal; empty: not known.
///
/// # Errors
/// [`DownloadError`]; then the previous content of `path` is unchanged.
pub async fn fetch(
    http: &reqwest::Client,
    url: &str,
    sha256: &str,
    path: &Path,
) -> Result<Download, DownloadError> {
    let wrong = || DownloadError::Url(url.to_owned());
    let url = Url::parse(url).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong());
    }
    let mut shown = url.clone();
    shown.set_query(None);
    let shown = shown.to_string();
    let transport = |error: reqwest::Error| DownloadError::Transport {
        url: shown.clone(),
        reason: why(error),
    };
    let response = http.get(url).send().await.map_err(transport)?;
    if !response.status().is_success() {
        return Err(DownloadError::Status {
            url: shown,
            status: response.status().as_u16(),
        });
    }
    let place = Part(part(path));
    let download = write(response, &place.0, &shown, sha256).await?;
    std::fs::rename(&place.0, path)
        .and_then(|()| sync_folder(path))
        .map_err(|source| DownloadError::Write {
            path: path.to_owned(),
            source,
        })?;
    Ok(download)
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Removed when dropped, unless it was renamed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn write(
    mut response: Response,
    place: &Path,
    shown: &str,
    wanted: &str,
) -> Result<Download, DownloadError> {
    let promised = response.content_length();
    let digest = promised_digest(&response);
    let on_disk = |source: io::Error| DownloadError::Write {
        path: place.to_owned(),
        source,
    };
    let differs = |reason| DownloadError::NotWhole {
        url: shown.to_owned(),
        reason,
    };
    enough_space(place, promised.unwrap_or(0))?;
    let mut file = File::create(place).map_err(on_disk)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    while let Some(chunk) = response.chunk().await.map_err(|error| DownloadError::Transport {
        url: shown.to_owned(),
        reason: why(error),
    })? {
        hash.update(&chunk);
        bytes += chunk.len() as u64;
        file.write_all(&chunk).map_err(on_disk)?;
    }
    let sha256 = hash.finalize();
    if let Some(promised) = promised.filter(|promised| *promised != bytes) {
        return Err(differs(Difference::Length { got: bytes, promised }));
    }
    if bytes == 0 {
        return Err(differs(Difference::Empty));
    }
    if digest.is_some_and(|digest| digest != sha256.as_slice()) {
        return Err(differs(Difference::Digest));
    }
    let found = hex::encode(sha256);
    if !wanted.is_empty() && !wanted.eq_ignore_ascii_case(&found) {
        let wanted = wanted.to_owned();
        return Err(differs(Difference::OtherDigest { found, wanted }));
    }
    // May take minutes on a slow disk: not on a thread that other tasks need.
    tokio::task::spawn_blocking(move || file.sync_all())
        .await
        .map_err(io::Error::other)
        .and_then(|synced| synced)
        .map_err(on_disk)?;
    Ok(Download { bytes, sha256: found })
}

/// `Repr-Digest` or `Content-Digest: sha-256=:<base64>:`. Source: RFC 9530.
fn promised_digest(response: &Response) -> Option<Vec<u8>> {
    ["repr-digest", "content-digest"].iter().find_map(|name| {
        let text = response.headers().get(*name)?.to_str().ok()?;
        let value = text
            .split(',')
            .find_map(|part| part.trim().strip_prefix("sha-256=:"))?;
        STANDARD.decode(value.trim_end_matches(':')).ok()
    })
}

fn enough_space(place: &Path, bytes: u64) -> Result<(), DownloadError> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    let space = statvfs(folder).map_err(|error| DownloadError::Write {
        path: folder.to_owned(),
        source: error.into(),
    })?;
    let available = space.blocks_available().saturating_mul(space.fragment_size());
    let needed = bytes.saturating_add(MARGIN);
    if available < needed {
        return Err(DownloadError::Space {
            path: folder.to_owned(),
            needed,
            available,
        });
    }
    Ok(())
}
