//! Pins every ingredient of an image in a file, so that the same bytes are built again later (`--lock FILE`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::apt::Package;
use super::selection::{Selection, Sources};

const FORMAT: &str = "muster-image-lock";
const VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    pub format: String,
    pub version: u32,
    pub sources: Sources,
    /// Names of the packages with the kernel and its modules.
    pub kernel: Vec<String>,
    pub firmware: Vec<String>,
    pub extra_packages: Vec<String>,
    pub drivers: Vec<String>,
    /// SHA-256 of the user's own files: packages, modules, firmware.
    pub own_files: BTreeMap<String, String>,
    pub packages: Vec<Package>,
    /// What the first build with it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// An ISO, and what decided its bytes apart from the packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub iso_sha256: String,
    /// SHA-256 of the agent.
    pub agent: String,
    pub agent_version: String,
    /// SHA-256 of muster-image.
    pub builder: String,
    pub compression: i32,
    pub epoch: i64,
}

impl Lock {
    #[must_use]
    pub fn new(
        selection: &Selection,
        kernel: Vec<String>,
        firmware: Vec<String>,
        own_files: BTreeMap<String, String>,
        packages: Vec<Package>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            sources: selection.sources.clone(),
            kernel,
            firmware,
            extra_packages: selection.extra_packages.clone(),
            drivers: selection.drivers.clone(),
            own_files,
            packages,
            made: None,
        }
    }

    /// Reads the file; `None` if it does not exist yet.
    ///
    /// # Errors
    /// When it cannot be read or is of another form.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the lock file {}", path.display()));
            }
        };
        let lock: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no lock file of muster-image", path.display()))?;
        ensure!(
            lock.format == FORMAT && lock.version == VERSION,
            "{} is a lock file of version {}, and this program knows version {VERSION}",
            path.display(),
            lock.version
        );
        Ok(Some(lock))
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        fs::write(path, text).with_context(|| format!("cannot write the lock file {}", path.display()))
    }

    /// Compares with the options of the command line.
    ///
    /// # Errors
    /// When both contradict each other.
    pub fn check(&self, selection: &Selection, own_files: &BTreeMap<String, String>) -> Result<()> {
        let mut differences = Vec::new();
        let (locked, wanted) = (&self.sources, &selection.sources);
        if locked.architecture != wanted.architecture {
            differences.push(format!("it is for {}", locked.architecture.name()));
        }
        if (locked.release, locked.backports) != (wanted.release, wanted.backports) {
            let backports = if locked.backports { " with --backports" } else { "" };
            differences.push(format!("it is of --release {}{backports}", locked.release.name()));
        }
        if let Some(kernel) = &selection.kernel_package
            && !kernel.ends_with(".deb")
            && !self.kernel.contains(kernel)
        {
            differences.push(format!("its kernel is {}", self.kernel.join(", ")));
        }
        if self.firmware.is_empty() == selection.firmware {
            let present = if selection.firmware { "has no" } else { "has" };
            differences.push(format!("it {present} firmware"));
        }
        if self.extra_packages != selection.extra_packages {
            differences.push(format!(
                "its extra packages are [{}]",
                self.extra_packages.join(", ")
            ));
        }
        if self.drivers != selection.drivers {
            differences.push(format!("its drivers are [{}]", self.drivers.join(", ")));
        }
        for (file, digest) in own_files {
            if self.own_files.get(file) != Some(digest) {
                differences.push(format!("{file} was another file, or none"));
            }
        }
        for file in self
            .own_files
            .keys()
            .filter(|file| !own_files.contains_key(*file))
        {
            differences.push(format!("{file} was added"));
        }
        ensure!(
            differences.is_empty(),
            "the lock file does not fit these options: {}. Give the options that it was written with, or delete it to \
             lock again",
            differences.join("; ")
        );
        Ok(())
    }
}

impl Made {
    /// The inputs that decide the bytes and differ now.
    #[must_use]
    pub fn differences(&self, now: &Self) -> Vec<&'static str> {
        [
            (self.agent != now.agent, "the agent"),
            (self.agent_version != now.agent_version, "--agent-version"),
            (self.builder != now.builder, "muster-image itself"),
            (self.compression != now.compression, "--compression-level"),
            (self.epoch != now.epoch, "--epoch"),
        ]
        .into_iter()
        .filter_map(|(differs, name)| differs.then_some(name))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Architecture;
    use crate::packages::release::Release;

    fn selection() -> Selection {
        Selection {
            sources: Sources {
                architecture: Architecture::X86_64,
                release: Release::Trixie,
                backports: false,
                mirror: None,
                security_mirror: None,
            },
            kernel_package: None,
            firmware: true,
            drivers: Vec::new(),
            extra_packages: Vec::new(),
            extra_debs: Vec::new(),
            extra_modules: None,
            extra_firmware: None,
            lock: None,
        }
    }

    fn lock() -> Lock {
        let (kernel, firmware) = (vec!["linux-image-6".to_owned()], vec!["firmware-bnx2".to_owned()]);
        Lock::new(&selection(), kernel, firmware, BTreeMap::new(), Vec::new())
    }

    #[test]
    fn a_lock_is_read_as_it_was_written_and_none_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(Lock::read(&path).unwrap(), None);
        lock().write(&path).unwrap();
        assert_eq!(Lock::read(&path).unwrap(), Some(lock()));
        fs::write(&path, "{}").unwrap();
        assert!(Lock::read(&path).is_err());
    }

    #[test]
    fn options_that_contradict_the_lock_are_named() {
        lock().check(&selection(), &BTreeMap::new()).unwrap();
        let mut other = selection();
        other.sources.release = Release::Bookworm;
        other.firmware = false;
        let own = BTreeMap::from([("extra.deb".to_owned(), "ab".to_owned())]);
        let error = lock().check(&other, &own).expect_err("refused").to_string();
        for part in ["--release trixie", "has firmware", "extra.deb was another file"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
