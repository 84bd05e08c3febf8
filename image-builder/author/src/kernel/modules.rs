//! Unpacks the kernel package and chooses the modules of the image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::modinfo::{self, ModuleInfo};
use super::{drivers, firmware};
use crate::packages::borrowed::Tools;
use crate::packages::deb::{self, Kind};

/// Files beside the modules that `depmod` needs and the image carries.
const LISTS_OF_PACKAGE: [&str; 3] = ["modules.builtin", "modules.builtin.modinfo", "modules.order"];

/// Files that `depmod` writes and the image carries.
const LISTS_OF_DEPMOD: [&str; 3] = ["modules.alias", "modules.dep", "modules.softdep"];

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
}

impl Kernel {
    /// Unpacks the kernel package into `scratch` and keeps the modules of [`drivers`] and all that they need.
    ///
    /// # Errors
    /// When the package is not as expected, a dependency is missing, or `depmod` fails.
    pub fn unpack(package: &Path, release: &str, scratch: &Path, tools: &Tools) -> Result<Self> {
        let root = format!("lib/modules/{release}/");
        let vmlinuz = format!("boot/vmlinuz-{release}");
        let folder = scratch.join(&root);
        let mut image = None;
        let mut all = BTreeMap::new();
        deb::read(package, |member| {
            let Kind::File { content, .. } = member.kind else {
                return Ok(());
            };
            let inside = member.path.strip_prefix(&root);
            let wanted = inside.is_some_and(|path| path.ends_with(".ko") || LISTS_OF_PACKAGE.contains(&path));
            if !wanted && member.path != vmlinuz {
                return Ok(());
            }
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let Some(path) = inside else {
                image = Some(bytes);
                return Ok(());
            };
            if path.ends_with(".ko") {
                let info =
                    modinfo::parse(&bytes).with_context(|| format!("cannot read the module {path}"))?;
                all.insert(path.to_owned(), info);
            }
            let place = folder.join(path);
            fs::create_dir_all(place.parent().expect("a path below a folder has a parent"))?;
            fs::write(place, bytes)?;
            Ok(())
        })?;
        let modules = choose(&all)?;
        for path in all.keys().filter(|path| !modules.contains_key(*path)) {
            fs::remove_file(folder.join(path))?;
        }
        tools.run(
            "bin/kmod",
            "depmod",
            &[
                "--errsyms".to_owned(),
                "--basedir".to_owned(),
                scratch.display().to_string(),
                release.to_owned(),
            ],
        )?;
        Ok(Self {
            release: release.to_owned(),
            image: image.with_context(|| format!("{} holds no {vmlinuz}", package.display()))?,
            folder,
            drivers_unknown: drivers::unknown(all.keys().map(|path| path_in_lists(path))),
            modules,
        })
    }

    #[must_use]
    pub fn module_count(&self) -> usize {
        self.modules.len()
    }

    /// Paths below `/lib/modules/<release>` and where their bytes are: modules, unchanged (their signatures
    /// are appended to them), and the lists.
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
fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.trim_end_matches(".ko").replace('-', "_")
}

/// `kernel/drivers/md/dm-mod.ko` stands in the lists as `drivers/md/dm-mod`.
fn path_in_lists(path: &str) -> &str {
    path.trim_start_matches("kernel/").trim_end_matches(".ko")
}

/// The modules that the lists of [`drivers`] name, and all that these need.
fn choose(all: &BTreeMap<String, ModuleInfo>) -> Result<BTreeMap<String, ModuleInfo>> {
    let by_name: BTreeMap<String, &str> = all
        .keys()
        .map(|path| (module_name(path), path.as_str()))
        .collect();
    let mut open: Vec<&str> = all
        .keys()
        .map(String::as_str)
        .filter(|path| {
            let path = path_in_lists(path);
            drivers::names(drivers::CARRIED, path) && !drivers::names(drivers::LEFT_OUT, path)
        })
        .collect();
    ensure!(
        !open.is_empty(),
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
    Ok(chosen
        .into_iter()
        .map(|path| (path.to_owned(), all[path].clone()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(depends: &[&str], soft_depends: &[&str]) -> ModuleInfo {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ModuleInfo {
            depends: owned(depends),
            soft_depends: owned(soft_depends),
            firmware: Vec::new(),
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
        ]);
        let chosen = choose(&all).unwrap();
        assert_eq!(chosen.len(), 3);
        assert!(!chosen.contains_key("kernel/sound/soundcore.ko"));
    }

    #[test]
    fn a_missing_dependency_is_an_error_that_names_both() {
        let all = BTreeMap::from([("kernel/drivers/ata/ahci.ko".to_owned(), module(&["libahci"], &[]))]);
        let error = choose(&all).expect_err("refused").to_string();
        assert!(error.contains("ahci.ko") && error.contains("libahci"), "{error}");
    }
}
