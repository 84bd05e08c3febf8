//! Adds the user's files of packages, and firmware.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use muster_image::newc::Archive;

use crate::kernel::firmware::{self, Entry};
use crate::kernel::modules::files_below;
use crate::packages::deb::{self, Kind};
use crate::packages::gather::Ingredients;

/// Parts of packages that are left out: modules and firmware are added elsewhere, and there are no readers of manual pages.
const LEFT_OUT: [&str; 7] = [
    "lib/modules/",
    firmware::FOLDER,
    "usr/share/doc/",
    "usr/share/man/",
    "usr/share/locale/",
    "usr/share/lintian/",
    "usr/share/bug/",
];

/// Adds the files of the extra packages at their paths.
///
/// # Errors
/// When a package cannot be read.
pub fn add(archive: &mut Archive, ingredients: &Ingredients) -> Result<()> {
    for package in ingredients.extra_debs()? {
        deb::read(&package, |member| {
            // `/bin`, `/lib` and `/sbin` are folders of the image.
            let path = deb::without_usr(&member.path);
            if LEFT_OUT.iter().any(|left_out| path.starts_with(left_out)) {
                return Ok(());
            }
            match member.kind {
                Kind::File { mode, content } => {
                    let mut bytes = Vec::new();
                    content.read_to_end(&mut bytes)?;
                    archive.file(path, mode, &bytes);
                }
                Kind::Symlink(target) => archive.link(path, &target),
                Kind::Directory => {}
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The firmware of the extra packages and of the user's folder, by path relative to the firmware folder.
///
/// # Errors
/// When a package or file cannot be read.
pub fn firmware(ingredients: &Ingredients) -> Result<BTreeMap<String, Entry>> {
    let mut found = firmware::of_packages(&ingredients.extra_debs()?)?;
    if let Some(folder) = &ingredients.extra_firmware {
        for (name, path) in files_below(folder)? {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            found.insert(name, Entry::File(bytes));
        }
    }
    Ok(found)
}
