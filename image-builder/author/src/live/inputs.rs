//! Collects everything that decides the bytes of an ISO.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::options::BuildOptions;
use crate::packages::apt::Package;
use crate::packages::gather::Ingredients;

/// The ingredients and options of an ISO: equal inputs give equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// SHA-256 of this program: its lists of drivers and its recipes are ingredients too.
    pub builder: String,
    /// Packages, sorted by name.
    pub packages: Vec<Package>,
    /// Files of the user: name, and SHA-256.
    #[serde(default)]
    pub own_files: BTreeMap<String, String>,
    /// Packages of which every file is carried.
    #[serde(default)]
    pub extra_packages: Vec<String>,
    /// Modules and folders of the kernel in addition to the lists.
    #[serde(default)]
    pub drivers: Vec<String>,
    pub firmware: bool,
    /// Level of zstd for the initrd.
    pub compression: i32,
    /// SHA-256 of the agent.
    pub agent: String,
    pub agent_version: String,
    /// Seconds since 1970 that every file bears.
    pub epoch: i64,
}

impl Inputs {
    /// # Errors
    /// When this program's own file cannot be read.
    pub fn new(options: &BuildOptions, agent: &[u8], ingredients: &Ingredients) -> Result<Self> {
        let builder = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Self {
            builder: file_digest(&builder)?,
            packages: ingredients.packages.clone(),
            own_files: ingredients.own_files.clone(),
            extra_packages: options.selection.extra_packages.clone(),
            drivers: options.selection.drivers.clone(),
            firmware: options.selection.firmware,
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
        for (name, file) in &self.own_files {
            digest.update(format!("{name}={file}\n"));
        }
        digest.update(self.extra_packages.join(","));
        digest.update(self.drivers.join(","));
        hex::encode(digest.finalize())
    }
}

/// SHA-256 of a file, as hexadecimal digits.
pub(super) fn file_digest(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut digest = Sha256::new();
    io::copy(&mut file, &mut digest)?;
    Ok(hex::encode(digest.finalize()))
}
