//! The options of a build.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::packages::gather::Network;
use crate::packages::selection::Selection;

/// All options of a build's command line.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    pub selection: Selection,
    /// The ISO to write.
    pub output: PathBuf,
    /// The static agent, `/init` of the image.
    pub agent: PathBuf,
    /// The agent's version, for `live.json`.
    pub agent_version: String,
    /// Level of zstd for the initrd, 1 to 19.
    pub compression: i32,
    /// Folder that keeps packages and finished parts.
    pub cache: PathBuf,
    pub network: Network,
    /// Build even if the ISO is up to date.
    pub force: bool,
    /// The time that every file in the image bears.
    pub epoch: DateTime<Utc>,
}
