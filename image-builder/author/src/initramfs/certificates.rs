//! Collects the public certificate authorities in one file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::packages::deb::{self, Kind};

/// The folder of the package `ca-certificates` with one PEM file for each authority.
const FOLDER: &str = "usr/share/ca-certificates/mozilla/";

/// All certificates of the package, sorted by file name.
///
/// # Errors
/// When the package holds none.
pub fn bundle(package: &Path) -> Result<Vec<u8>> {
    let mut certificates = BTreeMap::new();
    deb::read(package, |member| {
        if let Kind::File { content, .. } = member.kind
            && member.path.starts_with(FOLDER)
            && member.path.ends_with(".crt")
        {
            let mut pem = Vec::new();
            content.read_to_end(&mut pem)?;
            if pem.last() != Some(&b'\n') {
                pem.push(b'\n');
            }
            certificates.insert(member.path, pem);
        }
        Ok(())
    })?;
    ensure!(
        !certificates.is_empty(),
        "{} holds no certificates",
        package.display()
    );
    Ok(certificates.into_values().flatten().collect())
}
