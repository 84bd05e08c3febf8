//! Writes the medium, an ISO 9660 image that also boots from a USB stick.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use muster_image::LiveImage;

use crate::xorriso;

/// Volume identifier, by which the agent and users find the medium.
pub const VOLUME_ID: &str = "MUSTER";

/// Paths of the El Torito images in the ISO.
pub const BIOS_IMAGE: &str = "boot/grub/eltorito.img";
pub const EFI_IMAGE: &str = "images/efiboot.img";

/// Writes the folder `tree` as an image to `output`, which must not exist, and opens it as the service will. `boot_record`: that of GRUB
/// for BIOS, with its El Torito image in the tree, or `None` where machines have no BIOS.
///
/// Equal trees and `epoch` give equal bytes: every time in the image is `epoch`, and the identifiers of its
/// partition table are derived from it (docs/protocol/boot-lab.md#7).
///
/// # Errors
/// When xorriso fails, or reports success and left no live image.
pub fn write(
    tree: &Path,
    boot_record: Option<&Path>,
    output: &Path,
    epoch: DateTime<Utc>,
) -> Result<LiveImage> {
    let mut arguments: Vec<String> = vec![];
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    let seconds = format!("={}", epoch.timestamp());
    let uuid = epoch.format("%Y%m%d%H%M%S00").to_string();
    add(&["-volume_date", "all_file_dates", &seconds]);
    add(&["-volume_date", "uuid", &uuid]);
    add(&["-boot_image", "any", "gpt_disk_guid=volume_date_uuid"]);
    // `-U`: the plain ISO 9660 names are the real ones, so that a reader need not know Rock Ridge.
    add(&["-as", "mkisofs", "-V", VOLUME_ID, "-r", "-U"]);
    add(&["-c", "boot/grub/boot.cat"]);
    if let Some(boot_record) = boot_record {
        add(&["-b", BIOS_IMAGE, "-no-emul-boot", "-boot-load-size", "4"]);
        add(&["-boot-info-table", "--grub2-boot-info"]);
        add(&["--grub2-mbr", path(boot_record)?]);
        add(&["-eltorito-alt-boot"]);
    }
    add(&["-part_like_isohybrid", "-e", EFI_IMAGE, "-no-emul-boot"]);
    add(&["-isohybrid-gpt-basdat"]);
    add(&["-o", path(output)?, path(tree)?]);
    add(&["--", "-commit"]);
    xorriso::run(&arguments)?;
    let image = File::open(output)
        .with_context(|| format!("xorriso reported success but left no {}", output.display()))?;
    LiveImage::open(&image).context("xorriso reported success, but the service could not use what it wrote")
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the path {} is not UTF-8", path.display()))
}
