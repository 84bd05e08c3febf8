//! Saves a download as a file that is whole or not there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use reqwest::Response;
use tokio::io::AsyncWriteExt;

/// Writes the body of the response to a file next to `file`, then renames it; returns the number of its bytes.
pub async fn save(mut answer: Response, file: &Path) -> Result<u64> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let named = || format!("{} cannot be written", part.display());
    let mut out = tokio::fs::File::create(&part).await.with_context(named)?;
    let mut written = 0;
    loop {
        // A URL may carry a token.
        let chunk = answer.chunk().await.map_err(reqwest::Error::without_url);
        let Some(bytes) = chunk.context("the download ended early")? else {
            break;
        };
        out.write_all(&bytes).await.with_context(named)?;
        written += bytes.len() as u64;
    }
    out.sync_all().await.with_context(named)?;
    let renamed = tokio::fs::rename(&part, file).await;
    renamed.with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(written)
}
