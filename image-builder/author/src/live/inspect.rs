//! `muster-image live inspect`: describes the content of one of our ISOs.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use muster_image::iso9660::{Extent, Iso};
use muster_image::live::{DESCRIPTION_PATH, Description, read_description};

use crate::initramfs;
use crate::iso;
use crate::progress::megabytes;

/// Files of a live image are much smaller.
const LARGEST_FILE: u64 = 1 << 30;

/// Describes the ISO for a user.
///
/// # Errors
/// When it is no live image, or a damaged one.
pub fn inspect(path: &Path) -> Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut text = String::new();
    write_image(&mut text, path, &file).with_context(|| format!("cannot use {}", path.display()))?;
    Ok(text)
}

fn write_image(text: &mut String, path: &Path, file: &File) -> Result<()> {
    let image = Iso::open(file)?;
    let description = read_description(&image)?;
    let json = read(&image, DESCRIPTION_PATH)?;
    writeln!(text, "{} ({})", path.display(), megabytes(image.length()))?;
    writeln!(
        text,
        "volume {}, {}, agent {}",
        image.volume_id(),
        description.architecture,
        description.agent_version
    )?;
    writeln!(
        text,
        "\n{DESCRIPTION_PATH}:\n{}",
        String::from_utf8_lossy(&json).trim_end()
    )?;
    writeln!(text, "\nfiles:")?;
    for file in [
        description.kernel.as_str(),
        &description.initrd,
        &description.config.file,
        iso::EFI_IMAGE,
        iso::BIOS_IMAGE,
    ] {
        // Machines of some architectures have no BIOS.
        if file == iso::BIOS_IMAGE && image.find(file)?.is_none() {
            continue;
        }
        let extent = find(&image, file)?;
        writeln!(text, "  {:>10}  at {:>10}  {file}", extent.length, extent.offset)?;
    }
    write_areas(text, &image, &description)?;
    write_initrd(text, &image, &description)
}

fn find(image: &Iso<'_, File>, path: &str) -> Result<Extent> {
    image
        .find(path)?
        .with_context(|| format!("it has no file {path}"))
}

fn read(image: &Iso<'_, File>, path: &str) -> Result<Vec<u8>> {
    Ok(image.read(path, find(image, path)?, LARGEST_FILE)?)
}

fn write_areas(text: &mut String, image: &Iso<'_, File>, description: &Description) -> Result<()> {
    let config = read(image, &description.config.file)?;
    ensure!(
        config.len() as u64 == description.config.length,
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
        let start = find(image, &place.path)?.offset + place.offset;
        let file = read(image, &place.path)?;
        let offset = usize::try_from(place.offset)?;
        let area = file
            .get(offset..offset + description.kargs.size)
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

fn write_initrd(text: &mut String, image: &Iso<'_, File>, description: &Description) -> Result<()> {
    let entries = initramfs::list(&read(image, &description.initrd)?)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(100_000).unwrap();
        let error = format!("{:#}", inspect(file.path()).expect_err("refused"));
        assert!(error.contains("not an ISO 9660 image"), "{error}");
        assert!(error.contains(&file.path().display().to_string()), "{error}");
    }
}
