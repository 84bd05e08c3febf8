//! Brings all ingredients into the cache, from the network if they are missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::apt::{AptRoot, Package};
use super::lock::Lock;
use super::release::IMAGE;
use super::selection::Selection;
use crate::architecture::Architecture;
use crate::kernel::modules::files_below;
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

/// The packages and files of one image, all in the cache or the user's.
#[derive(Debug)]
pub struct Ingredients {
    apt: AptRoot,
    pub architecture: Architecture,
    /// Everything, sorted by name.
    pub packages: Vec<Package>,
    /// Names of the packages with the kernel and its modules, such as `linux-image-6.1.0-56-amd64`; empty when that
    /// is a file of the user.
    kernel: Vec<String>,
    kernel_file: Option<PathBuf>,
    tools: Vec<&'static str>,
    /// Firmware packages, none when left out.
    pub firmware: Vec<String>,
    extra_packages: Vec<String>,
    /// Modules and folders of the kernel in addition to the lists.
    pub drivers: Vec<String>,
    extra_files: Vec<PathBuf>,
    /// The user's folder with modules.
    pub extra_modules: Option<PathBuf>,
    /// The user's folder with firmware.
    pub extra_firmware: Option<PathBuf>,
    /// SHA-256 of the user's own files.
    pub own_files: BTreeMap<String, String>,
    /// The file that pins all this.
    pub lock: Lock,
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
        self.tools.iter().map(file).collect()
    }

    /// The files of the packages with the kernel and its modules.
    ///
    /// # Errors
    /// When one was not gathered.
    pub fn kernel_debs(&self) -> Result<Vec<PathBuf>> {
        match &self.kernel_file {
            Some(file) => Ok(vec![file.clone()]),
            None => self.kernel.iter().map(|name| self.deb(name)).collect(),
        }
    }

    /// The files of the packages that the user adds.
    ///
    /// # Errors
    /// When one was not gathered.
    pub fn extra_debs(&self) -> Result<Vec<PathBuf>> {
        let named = self.extra_packages.iter().map(|name| self.deb(name));
        named.chain(self.extra_files.iter().cloned().map(Ok)).collect()
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
/// When an ingredient is neither in the cache nor within reach.
pub fn gather(
    cache: &Path,
    selection: &Selection,
    network: Network,
    progress: Progress,
) -> Result<Ingredients> {
    let own_files = own_files(selection)?;
    let apt = AptRoot::open(cache, &selection.sources)?;
    let present = selection.lock.as_deref().map(Lock::read).transpose()?.flatten();
    let lock = match present {
        Some(lock) => {
            lock.check(selection, &own_files)?;
            bring_locked(&apt, &lock, network, progress)?;
            lock
        }
        None => bring_newest(&apt, selection, &own_files, network, progress)?,
    };
    Ok(Ingredients {
        apt,
        architecture: selection.sources.architecture,
        packages: lock.packages.clone(),
        kernel: lock.kernel.clone(),
        kernel_file: kernel_file(selection),
        tools: selection.sources.release.tools(),
        firmware: lock.firmware.clone(),
        extra_packages: selection.extra_packages.clone(),
        drivers: selection.drivers.clone(),
        extra_files: selection.extra_debs.clone(),
        extra_modules: selection.extra_modules.clone(),
        extra_firmware: selection.extra_firmware.clone(),
        own_files,
        lock,
    })
}

/// The kernel's package, if the user has it as a file.
fn kernel_file(selection: &Selection) -> Option<PathBuf> {
    let name = selection.kernel_package.as_ref()?;
    name.ends_with(".deb").then(|| PathBuf::from(name))
}

/// The user's own files by name, with their digests.
fn own_files(selection: &Selection) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut add = |name: String, path: &Path| -> Result<()> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        files.insert(name, hex::encode(Sha256::digest(&bytes)));
        Ok(())
    };
    for file in selection.extra_debs.iter().chain(&kernel_file(selection)) {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        add(name, file)?;
    }
    for (kind, folder) in [
        ("modules", &selection.extra_modules),
        ("firmware", &selection.extra_firmware),
    ] {
        let found = folder.as_deref().map(files_below).transpose()?;
        for (name, path) in found.unwrap_or_default() {
            add(format!("{kind}/{name}"), &path)?;
        }
    }
    Ok(files)
}

/// The packages of a lock, and no others.
fn bring_locked(apt: &AptRoot, lock: &Lock, network: Network, progress: Progress) -> Result<()> {
    let missing: Vec<&Package> = lock
        .packages
        .iter()
        .filter(|package| !is_whole(apt, package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bring_lists(apt, network, progress)?;
    let gone: Vec<String> = missing
        .iter()
        .filter(|package| !apt.offers(package))
        .map(|package| {
            let now = apt.version_now(&package.name).map_or_else(
                || "it has no such package any more".to_owned(),
                |version| format!("it has {version} now"),
            );
            format!(
                "  {} {} ({now}): {}, SHA-256 {}",
                package.name, package.version, package.file, package.sha256
            )
        })
        .collect();
    if !gone.is_empty() {
        bail!(
            "the mirror no longer has {} of the {} packages of the lock file:\n{}\nPut these files into {} or name a \
             mirror that keeps old versions (--mirror https://snapshot.debian.org/archive/debian/TIMESTAMP \
             --security-mirror https://snapshot.debian.org/archive/debian-security/TIMESTAMP); or delete the lock file \
             to build from what there is now",
            gone.len(),
            lock.packages.len(),
            gone.join("\n"),
            apt.folder().display()
        );
    }
    bring_packages(apt, &lock.packages, network, progress)
}

/// The newest packages of the lists, pinned.
fn bring_newest(
    apt: &AptRoot,
    selection: &Selection,
    own_files: &BTreeMap<String, String>,
    network: Network,
    progress: Progress,
) -> Result<Lock> {
    let updated = bring_lists(apt, network, progress)?;
    let lock = look_up(apt, selection, own_files)?;
    match bring_packages(apt, &lock.packages, network, progress) {
        Ok(()) => Ok(lock),
        // A mirror drops a superseded version soon after: the lists of yesterday may name what is gone.
        Err(error) if network != Network::Never && !updated => {
            progress.say(&format!(
                "A package could not be had ({error}); fetching new package lists"
            ));
            apt.update()?;
            let lock = look_up(apt, selection, own_files)?;
            bring_packages(apt, &lock.packages, network, progress)?;
            Ok(lock)
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
    let step = progress.step(format!("Package lists of Debian {}", apt.release()));
    match apt.update() {
        Ok(()) => {
            step.done("fetched");
            Ok(true)
        }
        // With `--refresh`, cached lists are not used instead.
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

fn look_up(apt: &AptRoot, selection: &Selection, own_files: &BTreeMap<String, String>) -> Result<Lock> {
    let sources = &selection.sources;
    let kernel = match (&selection.kernel_package, kernel_file(selection)) {
        (_, Some(_)) => Vec::new(),
        (Some(package), None) => kernel_packages(apt, package)?,
        (None, None) => kernel_packages(apt, &sources.architecture.kernel_metapackage())?,
    };
    let firmware: Vec<String> = if selection.firmware {
        sources
            .release
            .firmware()
            .into_iter()
            .map(str::to_owned)
            .collect()
    } else {
        Vec::new()
    };
    let mut names: Vec<&str> = kernel.iter().map(String::as_str).collect();
    names.extend(IMAGE.iter().chain(sources.architecture.packages()));
    names.extend(
        firmware
            .iter()
            .chain(&selection.extra_packages)
            .map(String::as_str),
    );
    let packages = apt.look_up(&names, &sources.release.tools())?;
    Ok(Lock::new(
        selection,
        kernel,
        firmware,
        own_files.clone(),
        packages,
    ))
}

/// The packages with a kernel, its modules and their lists: `named`, or its dependencies; new kernels are in three.
fn kernel_packages(apt: &AptRoot, named: &str) -> Result<Vec<String>> {
    let mut packages = vec![named.to_owned()];
    let mut next = 0;
    while next < packages.len() {
        for name in apt.dependencies(&packages[next])? {
            if is_part_of_kernel(&name) && !packages.contains(&name) {
                packages.push(name);
            }
        }
        next += 1;
    }
    // Metapackages hold no files.
    let is_meta = |name: &str| !name.contains('.');
    packages.retain(|name| !is_meta(name));
    ensure!(
        !packages.is_empty(),
        "{named} is no package of a kernel, and depends on none"
    );
    Ok(packages)
}

fn is_part_of_kernel(package: &str) -> bool {
    ["linux-image-", "linux-base-", "linux-binary-", "linux-modules-"]
        .iter()
        .any(|prefix| package.starts_with(prefix))
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

/// True when the cache holds exactly the file that the signed lists name. Removes a damaged one, to be downloaded again.
fn is_whole(apt: &AptRoot, package: &Package) -> bool {
    if !apt.has(package) {
        return false;
    }
    let path = apt.path(package);
    let whole = verify(&path, package).is_ok();
    if !whole {
        // If it cannot be removed, the download over it fails and reports the reason.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_kernel_are_told_from_what_else_its_package_depends_on() {
        // As linux-image of 6.12 and of 7.3 depend on.
        let (parts, others) = (
            [
                "linux-base-7.3.4+deb13-amd64",
                "linux-binary-7.3.4+deb13-amd64",
                "linux-modules-7.3.4+deb13-amd64",
            ],
            ["linux-base", "kmod", "initramfs-tools", "dracut"],
        );
        assert!(parts.iter().all(|name| is_part_of_kernel(name)));
        assert!(!others.iter().any(|name| is_part_of_kernel(name)));
    }
}
