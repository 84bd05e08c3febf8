//! The file of a backup: a tar archive with a manifest, the database, and the key files that earlier versions kept in its folder.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::DATABASE;
use crate::authority::EARLIER_FILES;
use crate::cli::failure::{Failure, Kind};

/// The first file in the archive. Archives of earlier versions lack it.
const MANIFEST: &str = "backup.json";

/// Upper bound of a manifest's size, bytes.
const MOST_OF_MANIFEST: u64 = 1 << 20;

/// The manifest of an archive.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the program that wrote it.
    pub muster: String,
    /// The last migration of the database's tables: they are as the service had them, even if the program that wrote this is newer.
    pub schema: i64,
    /// SHA-256 of each file, in hexadecimal.
    #[serde(default)]
    sha256: BTreeMap<String, String>,
}

/// Writes a new archive, which only its owner can read. `schema`: the last migration of the database in it.
///
/// # Errors
/// Fails if a file cannot be read or the archive cannot be written.
pub fn write(archive: &Path, schema: i64, files: &[(&'static str, PathBuf)]) -> Result<()> {
    let mut manifest = Manifest {
        muster: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        sha256: BTreeMap::new(),
    };
    for (name, path) in files {
        manifest.sha256.insert((*name).to_owned(), sha256(path)?);
    }
    let named = || format!("{} cannot be written", archive.display());
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(archive);
    let mut tar = tar::Builder::new(out.with_context(named)?);
    let text = serde_json::to_vec_pretty(&manifest)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    tar.append_data(&mut header, MANIFEST, &text[..])
        .with_context(named)?;
    for (name, path) in files {
        let mut from = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
        tar.append_file(name, &mut from).with_context(named)?;
    }
    let out = tar.into_inner().with_context(named)?;
    out.sync_all().with_context(named)
}

fn sha256(path: &Path) -> Result<String> {
    let named = || format!("{} cannot be read", path.display());
    let mut hasher = Sha256::new();
    std::io::copy(&mut File::open(path).with_context(named)?, &mut hasher).with_context(named)?;
    Ok(format!("{:x}", hasher.finalize()))
}

impl Manifest {
    /// # Errors
    /// Fails if a file in `folder` is not the one that was written.
    fn check(&self, folder: &Path, names: &[&str], archive: &Path) -> Result<()> {
        let damaged = |name: &str| {
            let words = format!(
                "{} is damaged: {name} in it is not what was backed up",
                archive.display()
            );
            Failure::new(Kind::Failed, words).hint("use another copy, or another backup")
        };
        if let Some(lacking) = self.sha256.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(damaged(lacking).into());
        }
        for name in names {
            if self.sha256.get(*name) != Some(&sha256(&folder.join(name))?) {
                return Err(damaged(name).into());
            }
        }
        Ok(())
    }
}

/// The content of an archive.
#[derive(Debug)]
pub struct Unpacked {
    /// `None` for an archive of a version without manifests.
    pub manifest: Option<Manifest>,
    /// The names of the files, the database's last.
    pub names: Vec<&'static str>,
}

/// Unpacks an archive into an empty folder.
///
/// # Errors
/// Fails if the file is not a backup or damaged, or if a file cannot be written.
pub fn unpack(archive: &Path, folder: &Path) -> Result<Unpacked> {
    let no_backup = || {
        Failure::usage(format!(
            "{} is no backup: muster backup makes one",
            archive.display()
        ))
    };
    let from = File::open(archive).with_context(|| format!("{} cannot be read", archive.display()))?;
    let mut manifest: Option<Manifest> = None;
    let mut names = Vec::new();
    let mut entries = tar::Archive::new(from);
    for entry in entries.entries().map_err(|_| no_backup())? {
        let mut entry = entry.map_err(|_| no_backup())?;
        let path = entry.path().map_err(|_| no_backup())?.into_owned();
        if path == Path::new(MANIFEST) {
            let mut text = Vec::new();
            let read = entry.by_ref().take(MOST_OF_MANIFEST).read_to_end(&mut text);
            read.map_err(|_| no_backup())?;
            manifest = Some(serde_json::from_slice(&text).map_err(|_| no_backup())?);
            continue;
        }
        let known = EARLIER_FILES
            .iter()
            .chain([&DATABASE])
            .find(|name| Path::new(name) == path);
        let name = *known.ok_or_else(no_backup)?;
        let named = || format!("{name} cannot be written");
        let out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.join(name));
        let mut out = out.with_context(named)?;
        std::io::copy(&mut entry, &mut out).with_context(named)?;
        out.sync_all().with_context(named)?;
        names.push(name);
    }
    if !names.contains(&DATABASE) {
        return Err(no_backup().into());
    }
    if let Some(manifest) = &manifest {
        manifest.check(folder, &names, archive)?;
    }
    names.sort_by_key(|name| *name == DATABASE);
    Ok(Unpacked { manifest, names })
}
