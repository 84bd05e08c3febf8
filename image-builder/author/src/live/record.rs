//! Keeps `<output>.build.json`, the inputs of an ISO, so that it is made again only when they change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use muster_image::LiveImage;
use serde::{Deserialize, Serialize};

use super::inputs::{Inputs, file_digest};
use super::parts::Facts;

/// The content of `<output>.build.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    pub iso_sha256: String,
    /// Bytes of the ISO.
    pub iso_size: u64,
    pub inputs: Inputs,
    pub facts: Facts,
}

impl BuildRecord {
    #[must_use]
    pub fn new(inputs: Inputs, facts: Facts, image: &LiveImage) -> Self {
        Self {
            iso_sha256: hex::encode(image.digest),
            iso_size: image.length,
            inputs,
            facts,
        }
    }

    /// The record of `output`, if that is the ISO that these inputs give.
    ///
    /// # Errors
    /// When the ISO is there and cannot be read.
    pub fn of_finished(output: &Path, inputs: &Inputs) -> Result<Option<Self>> {
        let Ok(text) = fs::read(path(output)) else {
            return Ok(None);
        };
        // A record of another version of this program may have another form.
        let Ok(record) = serde_json::from_slice::<Self>(&text) else {
            return Ok(None);
        };
        if record.inputs != *inputs || !output.exists() {
            return Ok(None);
        }
        Ok((file_digest(output)? == record.iso_sha256).then_some(record))
    }

    /// Moves `image` to `output` and writes the record next to it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn replace(&self, image: &Path, output: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        fs::rename(image, output).with_context(|| format!("cannot write {}", output.display()))?;
        fs::write(path(output), text)?;
        Ok(())
    }
}

/// The path of the record of an ISO.
#[must_use]
pub fn path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".build.json");
    name.into()
}
