//! Brings all ingredients into the cache, from the network where they are missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::apt::{AptRoot, Package};
use super::{FIRMWARE, IMAGE, RELEASE, TOOLS};
use crate::architecture::Architecture;
use crate::progress::{Progress, megabytes};

/// Permission to use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// When the package lists are older than a day or a package is missing.
    WhenNeeded,
    /// Now, for the package lists, and when a package is missing.
    Refresh,
    Never,
}

/// The packages of one image, all in the cache.
#[derive(Debug)]
pub struct Ingredients {
    apt: AptRoot,
    pub architecture: Architecture,
    /// Everything, sorted by name.
    pub packages: Vec<Package>,
    /// Name of the package with the kernel, such as `linux-image-6.1.0-56-amd64`.
    pub kernel: String,
    /// Firmware packages, none when left out.
    pub firmware: Vec<&'static str>,
}

impl Ingredients {
    /// The file of a package of the image.
    ///
    /// # Errors
    /// When the package was not gathered.
    pub fn deb(&self, name: &str) -> Result<PathBuf> {
        let found = self.apt.of_image(&self.packages, name);
        self.path(name, found)
    }

    /// The files of the packages of tools.
    ///
    /// # Errors
    /// When one was not gathered.
    pub fn tools(&self) -> Result<Vec<PathBuf>> {
        let file = |name: &&str| self.path(name, AptRoot::of_tools(&self.packages, name));
        TOOLS.iter().map(file).collect()
    }

    fn path(&self, name: &str, found: Option<&Package>) -> Result<PathBuf> {
        found
            .map(|package| self.apt.path(package))
            .with_context(|| format!("{name} is not among the ingredients"))
    }
}

/// Gathers what an image needs.
///
/// # Errors
/// When something is in neither the cache nor reach.
pub fn gather(
    cache: &Path,
    architecture: Architecture,
    network: Network,
    firmware: bool,
    progress: Progress,
) -> Result<Ingredients> {
    let apt = AptRoot::open(cache, architecture)?;
    let firmware: Vec<&'static str> = if firmware { FIRMWARE.to_vec() } else { Vec::new() };
    let updated = bring_lists(&apt, network, progress)?;
    let (kernel, packages) = look_up(&apt, architecture, &firmware)?;
    match bring_packages(&apt, &packages, network, progress) {
        Ok(()) => Ok(Ingredients {
            apt,
            architecture,
            packages,
            kernel,
            firmware,
        }),
        // A mirror drops a superseded version soon after: the lists of yesterday may name what is gone.
        Err(error) if network != Network::Never && !updated => {
            progress.say(&format!(
                "A package could not be had ({error}); fetching new package lists"
            ));
            apt.update()?;
            let (kernel, packages) = look_up(&apt, architecture, &firmware)?;
            bring_packages(&apt, &packages, network, progress)?;
            Ok(Ingredients {
                apt,
                architecture,
                packages,
                kernel,
                firmware,
            })
        }
        Err(error) => Err(error),
    }
}

/// Returns whether the lists were fetched just now.
fn bring_lists(apt: &AptRoot, network: Network, progress: Progress) -> Result<bool> {
    let wanted = match network {
        Network::WhenNeeded => !apt.lists_are_fresh(),
        Network::Refresh => true,
        Network::Never => false,
    };
    if !wanted {
        ensure!(
            apt.lists_age().is_some(),
            "the cache holds no package lists, and --offline forbids fetching them: run once without --offline"
        );
        return Ok(false);
    }
    let step = progress.step(format!("Package lists of Debian {RELEASE}"));
    match apt.update() {
        Ok(()) => {
            step.done("fetched");
            Ok(true)
        }
        // A user who asked for new lists is not given old ones.
        Err(error) if network == Network::WhenNeeded && apt.lists_age().is_some() => {
            drop(step);
            progress.say(&format!(
                "The package lists could not be fetched, so the cached ones are used. {error}"
            ));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn look_up(apt: &AptRoot, architecture: Architecture, firmware: &[&str]) -> Result<(String, Vec<Package>)> {
    let metapackage = architecture.kernel_metapackage();
    let kernel = apt
        .dependencies(&metapackage)?
        .into_iter()
        .find(|name| name.starts_with("linux-image-"))
        .with_context(|| format!("{metapackage} depends on no kernel package"))?;
    let mut names = vec![kernel.as_str()];
    names.extend(IMAGE.iter().chain(architecture.packages()).chain(firmware));
    let packages = apt.look_up(&names, TOOLS)?;
    Ok((kernel, packages))
}

fn bring_packages(apt: &AptRoot, packages: &[Package], network: Network, progress: Progress) -> Result<()> {
    let missing: Vec<&Package> = packages
        .iter()
        .filter(|package| !is_whole(apt, package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name.as_str()).collect();
    ensure!(
        network != Network::Never,
        "the cache lacks {}, and --offline forbids downloading: run once without --offline",
        names.join(", ")
    );
    let size = missing.iter().map(|package| package.size).sum();
    let step = progress.step(format!(
        "Downloading {} packages ({})",
        missing.len(),
        megabytes(size)
    ));
    apt.download(&missing)?;
    for package in missing {
        verify(&apt.path(package), package)?;
    }
    step.done("");
    Ok(())
}

/// True when the cache holds the very file that the signed lists name. Removes a damaged one, to be
/// downloaded again.
fn is_whole(apt: &AptRoot, package: &Package) -> bool {
    if !apt.has(package) {
        return false;
    }
    let path = apt.path(package);
    let whole = verify(&path, package).is_ok();
    if !whole {
        // If it cannot be removed, the download over it fails and says why.
        let _ = std::fs::remove_file(&path);
    }
    whole
}

fn verify(path: &Path, package: &Package) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(
        hex::encode(Sha256::digest(&bytes)) == package.sha256,
        "{} is not the file that the package lists name; delete it and try again",
        path.display()
    );
    Ok(())
}
