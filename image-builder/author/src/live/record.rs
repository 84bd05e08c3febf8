//! `<output>.build.json`: from what an ISO was made, so that it is made again only when that changed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::BuildOptions;
use super::parts::Facts;
use crate::packages::apt::Package;
use crate::packages::gather::Ingredients;

/// Everything that decides the bytes of an ISO.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// SHA-256 of this program: its lists of drivers and its recipes are ingredients too.
    pub builder: String,
    /// Packages, sorted by name.
    pub packages: Vec<Package>,
    /// Whether firmware was asked for.
    pub firmware: bool,
    /// Level of zstd for the initrd.
    pub compression: i32,
    /// SHA-256 of the agent.
    pub agent: String,
    /// The agent's version.
    pub agent_version: String,
    /// Seconds since 1970 that every file bears.
    pub epoch: i64,
}

impl Inputs {
    /// Collects them.
    ///
    /// # Errors
    /// When this program's own file cannot be read.
    pub fn new(options: &BuildOptions, agent: &[u8], ingredients: &Ingredients) -> Result<Self> {
        let builder = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Self {
            builder: file_digest(&builder)?,
            packages: ingredients.packages.clone(),
            firmware: options.firmware,
            compression: options.compression,
            agent: hex::encode(Sha256::digest(agent)),
            agent_version: options.agent_version.clone(),
            epoch: options.epoch.timestamp(),
        })
    }

    /// Names the parts that do not depend on the agent.
    #[must_use]
    pub fn parts_digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(&self.builder);
        digest.update([u8::from(self.firmware)]);
        digest.update(self.compression.to_le_bytes());
        for package in &self.packages {
            digest.update(&package.sha256);
        }
        hex::encode(digest.finalize())
    }
}

/// The record's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// SHA-256 of the ISO.
    pub iso_sha256: String,
    /// Bytes of the ISO.
    pub iso_size: u64,
    /// From what it was made.
    pub inputs: Inputs,
    /// What is in it.
    pub facts: Facts,
}

impl BuildRecord {
    /// Describes the finished image.
    ///
    /// # Errors
    /// When the image cannot be read.
    pub fn new(inputs: Inputs, facts: Facts, image: &Path) -> Result<Self> {
        Ok(Self {
            iso_sha256: file_digest(image)?,
            iso_size: fs::metadata(image)?.len(),
            inputs,
            facts,
        })
    }

    /// The record of `output`, if that is the ISO that these inputs give.
    ///
    /// # Errors
    /// When the ISO is there and cannot be read.
    pub fn of_finished(output: &Path, inputs: &Inputs) -> Result<Option<Self>> {
        let Ok(text) = fs::read(path(output)) else {
            return Ok(None);
        };
        // A record of another version of this program says nothing about this one.
        let Ok(record) = serde_json::from_slice::<Self>(&text) else {
            return Ok(None);
        };
        if record.inputs != *inputs || !output.exists() {
            return Ok(None);
        }
        Ok((file_digest(output)? == record.iso_sha256).then_some(record))
    }

    /// Moves `image` to `output` and puts the record beside it.
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

/// Where the record of an ISO is.
#[must_use]
pub fn path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".build.json");
    name.into()
}

fn file_digest(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut digest = Sha256::new();
    io::copy(&mut file, &mut digest)?;
    Ok(hex::encode(digest.finalize()))
}
