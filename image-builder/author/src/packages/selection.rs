//! The packages and own files that an image is made of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::release::Release;
use crate::architecture::Architecture;

/// The choices of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub sources: Sources,
    /// A package of the kernel in place of the release's own: its name, or a `.deb` file.
    pub kernel_package: Option<String>,
    /// Carry firmware, from the packages of Debian's non-free-firmware.
    pub firmware: bool,
    /// Modules and folders of the kernel that are carried in addition to the lists.
    pub drivers: Vec<String>,
    /// Names of packages to add the files of.
    pub extra_packages: Vec<String>,
    /// `.deb` files of packages to add the files of.
    pub extra_debs: Vec<PathBuf>,
    /// A folder with kernel modules.
    pub extra_modules: Option<PathBuf>,
    /// A folder that is laid over `/lib/firmware`.
    pub extra_firmware: Option<PathBuf>,
    /// A file that pins every ingredient.
    pub lock: Option<PathBuf>,
}

/// The sources of packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    pub architecture: Architecture,
    pub release: Release,
    /// Kernel and firmware from the release's backports.
    pub backports: bool,
    /// Mirrors in place of those of the machine.
    #[serde(skip)]
    pub mirror: Option<String>,
    #[serde(skip)]
    pub security_mirror: Option<String>,
}
