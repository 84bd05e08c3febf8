//! Unpacks the kernel packages and chooses the modules of the image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::compressed;
use super::modinfo::{self, ModuleInfo};
use super::{drivers, firmware, reach};
use crate::packages::borrowed::Tools;
use crate::packages::deb::{self, Kind};
use crate::packages::gather::Ingredients;

/// Files next to the modules that `depmod` needs and the image carries.
const LISTS_OF_PACKAGE: [&str; 3] = ["modules.builtin", "modules.builtin.modinfo", "modules.order"];

/// Files that `depmod` writes and the image carries.
const LISTS_OF_DEPMOD: [&str; 3] = ["modules.alias", "modules.dep", "modules.softdep"];

/// Folder of modules that the user adds, as `make modules_install` names it.
const EXTRA: &str = "extra";

const MODULES: &str = "lib/modules/";
const IMAGE: &str = "boot/vmlinuz-";

/// A kernel with the chosen modules, in a scratch folder.
#[derive(Debug)]
pub struct Kernel {
    /// Release of the kernel, such as `6.1.0-56-amd64`.
    pub release: String,
    pub image: Vec<u8>,
    /// `lib/modules/<release>` of the scratch folder.
    folder: PathBuf,
    /// The chosen modules by path below `folder`, such as `kernel/drivers/ata/ahci.ko`.
    modules: BTreeMap<String, ModuleInfo>,
    /// Entries of the driver lists that name no module of this kernel.
    pub drivers_unknown: Vec<String>,
    /// Chosen modules that nothing would ever load.
    pub unreachable: Vec<String>,
}

/// Every module of a kernel, before any is chosen.
#[derive(Debug)]
pub struct AllModules {
    pub release: String,
    image: Vec<u8>,
    /// By path below `lib/modules/<release>`, ending in `.ko`.
    pub modules: BTreeMap<String, ModuleInfo>,
    /// The user's picks in addition to the lists.
    drivers: Vec<String>,
}

impl AllModules {
    /// Reads kernel packages, extra packages and the folder of extra modules; writes modules, uncompressed, below
    /// `scratch` if there is one.
    ///
    /// # Errors
    /// When a package is not as expected, or an extra module is of another kernel.
    pub fn read(ingredients: &Ingredients, scratch: Option<&Path>) -> Result<Self> {
        let mut packages = ingredients.kernel_debs()?;
        let (release, image) = image(&packages)?;
        packages.extend(ingredients.extra_debs()?);
        let mut this = Self {
            release,
            image,
            modules: BTreeMap::new(),
            drivers: ingredients.drivers.clone(),
        };
        let folder = scratch.map(|scratch| scratch.join(MODULES).join(&this.release));
        for package in &packages {
            this.add_package(package, folder.as_deref())?;
        }
        if let Some(extra) = &ingredients.extra_modules {
            this.add_folder(extra, folder.as_deref())?;
        }
        Ok(this)
    }

    fn add_package(&mut self, package: &Path, folder: Option<&Path>) -> Result<()> {
        let root = format!("{MODULES}{}/", self.release);
        deb::read(package, |member| {
            let Kind::File { content, .. } = member.kind else {
                return Ok(());
            };
            let Some(path) = deb::without_usr(&member.path).strip_prefix(&root) else {
                return Ok(());
            };
            let is_list = LISTS_OF_PACKAGE.contains(&path);
            if !is_list && !compressed::is_module(path) {
                return Ok(());
            }
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            if is_list {
                return write(folder, path, &bytes);
            }
            self.add(path, bytes, folder)
        })
    }

    fn add_folder(&mut self, from: &Path, folder: Option<&Path>) -> Result<()> {
        let mut found = 0;
        for (path, file) in files_below(from)? {
            if compressed::is_module(&path) {
                let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                let path = format!("{EXTRA}/{path}");
                self.add(&path, bytes, folder)
                    .with_context(|| format!("cannot use the extra module {}", file.display()))?;
                found += 1;
            }
        }
        ensure!(
            found > 0,
            "{} holds no kernel module (.ko, .ko.xz, .ko.zst)",
            from.display()
        );
        Ok(())
    }

    fn add(&mut self, path: &str, bytes: Vec<u8>, folder: Option<&Path>) -> Result<()> {
        let (path, bytes) =
            compressed::unpack(path, bytes).with_context(|| format!("cannot read the module {path}"))?;
        let info = modinfo::parse(&bytes).with_context(|| format!("cannot read the module {path}"))?;
        if let Some(of) = info.kernel.as_ref().filter(|of| **of != self.release) {
            bail!(
                "the module {path} was built for the kernel {of}, and the image has {}; build it for that one, or name its \
                 kernel with --kernel-package",
                self.release
            );
        }
        // A later module replaces the kernel's.
        let name = module_name(&path);
        let older = self
            .modules
            .keys()
            .find(|older| module_name(older) == name)
            .cloned();
        if let Some(older) = older.filter(|older| *older != path) {
            self.modules.remove(&older);
            if let Some(folder) = folder {
                fs::remove_file(folder.join(older))?;
            }
        }
        write(folder, &path, &bytes)?;
        self.modules.insert(path, info);
        Ok(())
    }

    /// The modules that the image carries: those of [`drivers`], those that were added, and all that they need.
    ///
    /// # Errors
    /// When a dependency is missing.
    pub fn chosen(&self) -> Result<BTreeSet<&str>> {
        choose(&self.modules, &self.drivers)
    }
}

/// The one kernel of these packages: its release and its bytes.
fn image(packages: &[PathBuf]) -> Result<(String, Vec<u8>)> {
    let mut found: Option<(String, Vec<u8>)> = None;
    for package in packages {
        deb::read(package, |member| {
            if let Kind::File { content, .. } = member.kind
                && let Some(release) = release_of_image(&member.path)
            {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes)?;
                found = Some((release.to_owned(), bytes));
            }
            Ok(())
        })?;
    }
    found.with_context(|| {
        let names: Vec<_> = packages
            .iter()
            .map(|package| package.display().to_string())
            .collect();
        format!(
            "no kernel (boot/vmlinuz-RELEASE, or lib/modules/RELEASE/vmlinuz) is in {}",
            names.join(", ")
        )
    })
}

/// The release of the kernel that a package has at this path, if it is a kernel's: next to its modules since Linux 7, before that in
/// `boot`.
fn release_of_image(path: &str) -> Option<&str> {
    path.strip_prefix(IMAGE).or_else(|| {
        let release = deb::without_usr(path).strip_prefix(MODULES)?;
        release
            .strip_suffix("/vmlinuz")
            .filter(|name| !name.contains('/'))
    })
}

fn write(folder: Option<&Path>, path: &str, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = folder {
        let place = folder.join(path);
        fs::create_dir_all(place.parent().expect("a path below a folder has a parent"))?;
        fs::write(place, bytes)?;
    }
    Ok(())
}

/// Every file below a folder: its path there, and where it is; links are followed, sorted by path.
///
/// # Errors
/// When the folder cannot be read.
pub fn files_below(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut open = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{}: its name is not UTF-8", path.display()))?;
            let inside = format!("{prefix}{name}");
            if path.is_dir() {
                ensure!(
                    inside.matches('/').count() < 16,
                    "{}: too deep, or a circle",
                    path.display()
                );
                open.push((path, inside + "/"));
            } else {
                found.insert(inside, path);
            }
        }
    }
    Ok(found)
}

impl Kernel {
    /// Unpacks the kernel packages into `scratch` and keeps the modules of [`drivers`] and all that they need.
    ///
    /// # Errors
    /// When a package is not as expected, a dependency is missing, or `depmod` fails.
    pub fn unpack(ingredients: &Ingredients, scratch: &Path, tools: &Tools) -> Result<Self> {
        let all = AllModules::read(ingredients, Some(scratch))?;
        let folder = scratch.join(MODULES).join(&all.release);
        let modules: BTreeMap<String, ModuleInfo> = all
            .chosen()?
            .into_iter()
            .map(|path| (path.to_owned(), all.modules[path].clone()))
            .collect();
        for path in all.modules.keys().filter(|path| !modules.contains_key(*path)) {
            fs::remove_file(folder.join(path))?;
        }
        tools.run(
            "bin/kmod",
            "depmod",
            &[
                "--errsyms".to_owned(),
                "--basedir".to_owned(),
                scratch.display().to_string(),
                all.release.clone(),
            ],
        )?;
        let builtin = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
        let paths = all.modules.keys().map(String::as_str).chain(builtin.lines());
        Ok(Self {
            folder,
            drivers_unknown: drivers::unknown(paths.map(path_in_lists)),
            unreachable: reach::unreachable(&modules),
            modules,
            release: all.release,
            image: all.image,
        })
    }

    #[must_use]
    pub fn module_count(&self) -> usize {
        self.modules.len()
    }

    /// Paths below `/lib/modules/<release>` and where their bytes are: modules, with the signatures that are
    /// appended to them, and the lists.
    pub fn files(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        LISTS_OF_PACKAGE
            .into_iter()
            .filter(|name| *name != "modules.order")
            .chain(LISTS_OF_DEPMOD)
            .chain(self.modules.keys().map(String::as_str))
            .map(|path| (path, self.folder.join(path)))
    }

    /// Firmware that the chosen modules name, with the modules that name it.
    #[must_use]
    pub fn firmware(&self) -> firmware::Wanted {
        let mut wanted = firmware::Wanted::new();
        for (path, info) in &self.modules {
            for name in &info.firmware {
                wanted.entry(name.clone()).or_default().insert(module_name(path));
            }
        }
        wanted
    }
}

/// `kernel/drivers/md/dm-mod.ko` is the module `dm_mod`.
#[must_use]
pub fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.trim_end_matches(".ko").replace('-', "_")
}

/// `kernel/drivers/md/dm-mod.ko` is in the lists as `drivers/md/dm-mod`.
fn path_in_lists(path: &str) -> &str {
    path.trim_start_matches("kernel/").trim_end_matches(".ko")
}

/// True for modules that the user or a package adds to the kernel's own (`extra`, `updates/dkms`).
fn is_added(path: &str) -> bool {
    !path.starts_with("kernel/")
}

/// The modules that the lists of [`drivers`] name, those that were added, and all that these need.
fn choose<'a>(all: &'a BTreeMap<String, ModuleInfo>, drivers: &[String]) -> Result<BTreeSet<&'a str>> {
    for pick in drivers {
        ensure!(
            all.keys()
                .any(|path| drivers::names(&[pick.as_str()], path_in_lists(path))),
            "--driver {pick}: this kernel has no such module; the form is that of drivers/scsi/bfa/ or drivers/md/dm-zero"
        );
    }
    let by_name: BTreeMap<String, &str> = all
        .keys()
        .map(|path| (module_name(path), path.as_str()))
        .collect();
    let mut open: Vec<&str> = all
        .keys()
        .map(String::as_str)
        .filter(|path| is_added(path) || drivers::are_carried(path_in_lists(path), drivers))
        .collect();
    ensure!(
        open.iter().any(|path| !is_added(path)),
        "the kernel package holds none of the wanted modules"
    );
    let mut chosen = BTreeSet::new();
    while let Some(path) = open.pop() {
        if !chosen.insert(path) {
            continue;
        }
        let info = &all[path];
        for name in &info.depends {
            let needed = by_name.get(&name.replace('-', "_")).with_context(|| {
                format!("{path} needs the module {name}, which the package does not hold")
            })?;
            open.push(needed);
        }
        // A soft dependency may be an alias (of an algorithm, mostly) or built in: then it is not found here.
        open.extend(
            info.soft_depends
                .iter()
                .filter_map(|name| by_name.get(&name.replace('-', "_"))),
        );
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_in_either_place() {
        for (path, release) in [
            ("boot/vmlinuz-6.12.94+deb13-amd64", Some("6.12.94+deb13-amd64")),
            (
                "usr/lib/modules/7.3.4+deb13-amd64/vmlinuz",
                Some("7.3.4+deb13-amd64"),
            ),
            ("lib/modules/7.3.4/vmlinuz", Some("7.3.4")),
            ("usr/lib/modules/7.3.4/kernel/vmlinuz", None),
            ("usr/lib/modules/7.3.4/vmlinux", None),
        ] {
            assert_eq!(release_of_image(path), release, "{path}");
        }
    }

    fn module(depends: &[&str], soft_depends: &[&str]) -> ModuleInfo {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ModuleInfo {
            depends: owned(depends),
            soft_depends: owned(soft_depends),
            ..ModuleInfo::default()
        }
    }

    #[test]
    fn dependencies_come_along_from_anywhere_and_strangers_stay() {
        let all = BTreeMap::from([
            (
                "kernel/drivers/net/ethernet/intel/igb/igb.ko".to_owned(),
                module(&["i2c-algo-bit"], &["dca", "crypto-none"]),
            ),
            (
                "kernel/drivers/i2c/algos/i2c-algo-bit.ko".to_owned(),
                module(&[], &[]),
            ),
            ("kernel/drivers/dca/dca.ko".to_owned(), module(&[], &[])),
            ("kernel/sound/soundcore.ko".to_owned(), module(&[], &[])),
            ("extra/vendor/nic.ko".to_owned(), module(&["dca"], &[])),
        ]);
        let chosen = choose(&all, &[]).unwrap();
        assert_eq!(chosen.len(), 4);
        assert!(chosen.contains("extra/vendor/nic.ko"));
        assert!(!chosen.contains("kernel/sound/soundcore.ko"));
    }

    #[test]
    fn a_missing_dependency_is_an_error_that_names_both() {
        let all = BTreeMap::from([("kernel/drivers/ata/ahci.ko".to_owned(), module(&["libahci"], &[]))]);
        let error = choose(&all, &[]).expect_err("refused").to_string();
        assert!(error.contains("ahci.ko") && error.contains("libahci"), "{error}");
    }
}
