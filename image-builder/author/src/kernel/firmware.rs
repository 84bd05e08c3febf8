//! Takes the firmware that the chosen modules name from the firmware packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;

use crate::packages::deb::{self, Kind};

/// Firmware names (relative to the firmware folder), each with the modules that name it.
pub type Wanted = BTreeMap<String, BTreeSet<String>>;

/// The firmware folder of the packages.
pub const FOLDER: &str = "lib/firmware/";

/// Links are followed at most this often.
const MOST_LINKS: usize = 8;

/// A file of the firmware folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(Vec<u8>),
    /// A link, as written.
    Link(String),
}

/// The wanted firmware files that packages have, and the names of those that none has.
#[derive(Debug, Default)]
pub struct Firmware {
    /// By path relative to the firmware folder, with the targets of links.
    pub files: BTreeMap<String, Entry>,
    /// Named by modules, found in no package.
    pub missing: Wanted,
}

impl Firmware {
    /// Adds files, which replace those of the same names.
    pub fn add(&mut self, extra: BTreeMap<String, Entry>) {
        for (name, entry) in extra {
            self.missing.remove(&name);
            self.files.insert(name, entry);
        }
    }
}

/// Picks the wanted files from the packages.
///
/// # Errors
/// When a package cannot be read.
pub fn pick(wanted: &Wanted, packages: &[PathBuf]) -> Result<Firmware> {
    Ok(pick_from(wanted, &of_packages(packages)?))
}

/// All firmware of the packages, by path relative to the firmware folder.
///
/// # Errors
/// When a package cannot be read.
pub fn of_packages(packages: &[PathBuf]) -> Result<BTreeMap<String, Entry>> {
    let mut shelf = BTreeMap::new();
    for package in packages {
        deb::read(package, |member| {
            let Some(path) = deb::without_usr(&member.path).strip_prefix(FOLDER) else {
                return Ok(());
            };
            let entry = match member.kind {
                Kind::File { content, .. } => {
                    let mut bytes = Vec::new();
                    content.read_to_end(&mut bytes)?;
                    Entry::File(bytes)
                }
                Kind::Symlink(target) => Entry::Link(target),
                Kind::Directory => return Ok(()),
            };
            shelf.insert(path.to_owned(), entry);
            Ok(())
        })?;
    }
    Ok(shelf)
}

/// Older versions, which drivers request when the newer ones are missing.
const SUPERSEDED: [&str; 3] = [
    "bnx2x/bnx2x-e1-7.13.15.0.fw",
    "bnx2x/bnx2x-e1h-7.13.15.0.fw",
    "bnx2x/bnx2x-e2-7.13.15.0.fw",
];

fn pick_from(wanted: &Wanted, shelf: &BTreeMap<String, Entry>) -> Firmware {
    let mut found = Firmware::default();
    for (name, modules) in wanted {
        if SUPERSEDED.contains(&name.as_str()) {
            continue;
        }
        match chain(name, shelf) {
            Some(paths) => {
                for path in paths {
                    found.files.insert(path.clone(), shelf[&path].clone());
                }
            }
            None => {
                found.missing.insert(name.clone(), modules.clone());
            }
        }
    }
    found
}

/// The path itself and, for a link, the paths that it leads to; `None` if they end nowhere.
fn chain(name: &str, shelf: &BTreeMap<String, Entry>) -> Option<Vec<String>> {
    let mut paths = vec![name.to_owned()];
    for _ in 0..MOST_LINKS {
        let path = paths.last()?;
        match shelf.get(path)? {
            Entry::File(_) => return Some(paths),
            Entry::Link(target) => paths.push(resolve(path, target)?),
        }
    }
    None
}

/// A link's target, relative to the firmware folder.
fn resolve(link: &str, target: &str) -> Option<String> {
    if let Some(absolute) = target.strip_prefix('/') {
        return deb::without_usr(absolute).strip_prefix(FOLDER).map(str::to_owned);
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(names: &[&str]) -> Wanted {
        names
            .iter()
            .map(|name| ((*name).to_owned(), BTreeSet::from(["driver".to_owned()])))
            .collect()
    }

    #[test]
    fn a_link_brings_its_target_along() {
        let shelf = BTreeMap::from([
            (
                "netronome/nic_X.nffw".to_owned(),
                Entry::Link("./nic/../nic/nic_X.nffw".to_owned()),
            ),
            ("netronome/nic/nic_X.nffw".to_owned(), Entry::File(vec![1])),
            ("netronome/flower.nffw".to_owned(), Entry::File(vec![2])),
        ]);
        let found = pick_from(&wanted(&["netronome/nic_X.nffw"]), &shelf);
        let paths: Vec<_> = found.files.keys().collect();
        assert_eq!(paths, ["netronome/nic/nic_X.nffw", "netronome/nic_X.nffw"]);
        assert!(found.missing.is_empty());
    }

    #[test]
    fn what_is_in_no_package_is_told_with_the_module_that_wants_it() {
        let shelf = BTreeMap::from([("a".to_owned(), Entry::Link("b".to_owned()))]);
        let found = pick_from(&wanted(&["a", "c"]), &shelf);
        assert!(found.files.is_empty());
        assert_eq!(found.missing.len(), 2);
        assert!(found.missing["c"].contains("driver"));
    }

    #[test]
    fn a_link_in_a_circle_ends() {
        let shelf = BTreeMap::from([("a".to_owned(), Entry::Link("a".to_owned()))]);
        assert!(chain("a", &shelf).is_none());
    }
}
