//! Adds Debian's dropbear, the only program of the image with shared libraries.

use std::path::Path;

use anyhow::{Context, Result};
use muster_image::newc::Archive;

use crate::packages::deb::{self, Kind};
use crate::packages::gather::Ingredients;

const PACKAGE: &str = "dropbear-bin";
const PROGRAMS: [&str; 2] = ["usr/sbin/dropbear", "usr/bin/dropbearkey"];
/// Package and name of each library that the programs load, and those that these load.
const LIBRARIES: [(&str, &str); 6] = [
    ("libc6", "libc.so.6"),
    ("libcrypt1", "libcrypt.so.1"),
    ("libgmp10", "libgmp.so.10"),
    ("libtomcrypt1", "libtomcrypt.so.1"),
    ("libtommath1", "libtommath.so.1"),
    ("zlib1g", "libz.so.1"),
];
/// Adds the programs and their libraries.
///
/// # Errors
/// When an ingredient lacks a file.
pub fn add(archive: &mut Archive, ingredients: &Ingredients) -> Result<()> {
    let programs = ingredients.deb(PACKAGE)?;
    for path in PROGRAMS {
        archive.file(path, 0o755, &deb::read_file(&programs, path)?);
    }
    let folder = ingredients.architecture.library_folder();
    let (loader_folder, loader) = ingredients.architecture.dynamic_loader();
    archive.file(
        &format!("{loader_folder}/{loader}"),
        0o755,
        &library(&ingredients.deb("libc6")?, &folder, loader)?,
    );
    for (package, name) in LIBRARIES {
        let library = library(&ingredients.deb(package)?, &folder, name)?;
        archive.file(&format!("usr/{folder}/{name}"), 0o644, &library);
    }
    Ok(())
}

/// The file of a library, which packages call by its whole version: `libz.so.1.2.13`.
fn library(package: &Path, folder: &str, name: &str) -> Result<Vec<u8>> {
    let mut found = None;
    deb::read(package, |member| {
        let file = member.path.rsplit('/').next().unwrap_or_default();
        if let Kind::File { content, .. } = member.kind
            && member.path.contains(folder)
            && file.starts_with(name)
        {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found = Some(bytes);
        }
        Ok(())
    })?;
    found.with_context(|| format!("{} holds no library {name}", package.display()))
}
