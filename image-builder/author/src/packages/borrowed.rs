//! Runs a program of the distribution from the cache, without installing it: its own dynamic loader is
//! started with the folder of its own libraries, so the machine's C library does not matter.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::deb;

/// The loader and the libraries in packages; since Debian 13 all below `usr`.
const LOADER: &str = "ld-linux-x86-64.so.2";
const LIBRARY_FOLDERS: [&str; 2] = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];

/// A folder with unpacked programs and their libraries.
#[derive(Debug)]
pub struct Tools {
    root: PathBuf,
}

impl Tools {
    /// Unpacks programs and libraries of the packages below `root`, which must not exist.
    ///
    /// # Errors
    /// When a package cannot be read or the folder not be written.
    pub fn unpack(root: &Path, debs: &[PathBuf]) -> Result<Self> {
        fs::create_dir_all(root)?;
        for package in debs {
            deb::unpack(package, root, |path| {
                ["bin/", "sbin/", "usr/bin/", "usr/sbin/"]
                    .iter()
                    .chain(&["lib/x86_64-linux-gnu/", "usr/lib/x86_64-linux-gnu/"])
                    .any(|folder| path.starts_with(folder))
            })?;
        }
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// Runs `program` (a path in the packages, below `usr` or not) under the name `as_name`.
    ///
    /// # Errors
    /// When it cannot start or fails; the error holds its output.
    pub fn run(&self, program: &str, as_name: &str, arguments: &[String]) -> Result<()> {
        let libraries = LIBRARY_FOLDERS
            .map(|folder| self.root.join(folder).display().to_string())
            .join(":");
        let loader = LIBRARY_FOLDERS
            .map(|folder| self.root.join(folder).join(LOADER))
            .into_iter()
            .find(|loader| loader.exists())
            .with_context(|| format!("the packages of tools hold no {LOADER}"))?;
        let place = [self.root.join(program), self.root.join("usr").join(program)]
            .into_iter()
            .find(|place| place.exists())
            .with_context(|| format!("the packages of tools hold no {program}"))?;
        let output = Command::new(loader)
            .args(["--library-path", &libraries, "--argv0", as_name])
            .arg(place)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {program}: this needs an x86-64 Linux machine"))?;
        if !output.status.success() {
            bail!(
                "{as_name} failed ({}):\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    }
}
