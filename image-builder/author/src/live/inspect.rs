//! `muster-image live inspect`: what an ISO of ours holds.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::description::{Description, FORMAT};
use super::{DESCRIPTION, KERNEL};
use crate::initramfs;
use crate::iso;
use crate::iso::read::Image;
use crate::progress::megabytes;

/// Describes the ISO for a person.
///
/// # Errors
/// When it is no live image, or a damaged one.
pub fn inspect(path: &Path) -> Result<String> {
    let image = Image::open(path)?;
    let json = image
        .read(DESCRIPTION)
        .with_context(|| format!("{} is no Muster live image", path.display()))?;
    let description: Description =
        serde_json::from_slice(&json).with_context(|| format!("its {DESCRIPTION} is not understood"))?;
    ensure!(
        description.format == FORMAT,
        "its format is {}",
        description.format
    );

    let mut text = String::new();
    let size = std::fs::metadata(path)?.len();
    writeln!(text, "{} ({})", path.display(), megabytes(size))?;
    writeln!(
        text,
        "volume {}, agent {}",
        image.volume_id, description.agent_version
    )?;
    writeln!(
        text,
        "\n{DESCRIPTION}:\n{}",
        String::from_utf8_lossy(&json).trim_end()
    )?;
    writeln!(text, "\nfiles:")?;
    for file in [
        KERNEL,
        &description.initrd,
        &description.config.file,
        iso::EFI_IMAGE,
        iso::BIOS_IMAGE,
    ] {
        let extent = image.find(file)?;
        writeln!(text, "  {:>10}  at {:>10}  {file}", extent.length, extent.offset)?;
    }
    write_areas(&mut text, &image, &description)?;
    write_initrd(&mut text, &image, &description)?;
    Ok(text)
}

fn write_areas(text: &mut String, image: &Image, description: &Description) -> Result<()> {
    let config = image.read(&description.config.file)?;
    ensure!(
        config.len() == description.config.length,
        "the configuration area has {} bytes instead of {}",
        config.len(),
        description.config.length
    );
    let state = if config.iter().all(|byte| *byte == 0) {
        "never written"
    } else {
        "written"
    };
    writeln!(
        text,
        "\nreserved areas:\n  configuration: {} bytes, {state}",
        config.len()
    )?;
    for place in &description.kargs.files {
        let start = image.find(&place.path)?.offset + place.offset as u64;
        let file = image.read(&place.path)?;
        let area = file
            .get(place.offset..place.offset + description.kargs.size)
            .with_context(|| format!("{} ends within its kernel-argument area", place.path))?;
        let area = String::from_utf8_lossy(area);
        let arguments = area.split(&description.kargs.end).next().unwrap_or_default();
        writeln!(
            text,
            "  kernel arguments: {} bytes at {start}: {arguments}",
            description.kargs.size
        )?;
    }
    Ok(())
}

fn write_initrd(text: &mut String, image: &Image, description: &Description) -> Result<()> {
    let entries = initramfs::list_bytes(&image.read(&description.initrd)?)?;
    let sum = |wanted: &dyn Fn(&str) -> bool| {
        let chosen = entries
            .iter()
            .filter(|entry| entry.mode & 0o170_000 == 0o100_000 && wanted(&entry.path));
        chosen.fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.size))
    };
    writeln!(text, "\ninitrd, uncompressed:")?;
    for (what, (count, bytes)) in [
        ("agent", sum(&|path| path == "init")),
        ("kernel modules", sum(&|path| path.ends_with(".ko"))),
        ("firmware", sum(&|path| path.starts_with("lib/firmware/"))),
        ("all files", sum(&|_| true)),
    ] {
        writeln!(text, "  {count:>5} {what}, {}", megabytes(bytes))?;
    }
    Ok(())
}
