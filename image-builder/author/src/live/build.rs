//! Builds the live ISO, or finds that it need not be built.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use muster_image::live::{AgentArea, DESCRIPTION_PATH};
use sha2::{Digest as _, Sha256};

use super::agent;
use super::description::{CONFIG, CONFIG_LENGTH, DISK_INFO, INITRD, KERNEL, describe};
use super::inputs::Inputs;
use super::options::BuildOptions;
use super::parts::Parts;
use super::record::BuildRecord;
use crate::boot::menu::{self, MENU};
use crate::initramfs;
use crate::iso;
use crate::packages::gather::{self, Ingredients};
use crate::packages::lock::{Lock, Made};
use crate::progress::{Progress, megabytes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The ISO was there already, made from the same ingredients.
    UpToDate(BuildRecord),
    Built(BuildRecord),
}

/// Builds the ISO, or finds that it need not be built.
///
/// # Errors
/// When an ingredient is missing or a step fails; an existing ISO is left intact then.
pub fn build(options: &BuildOptions, progress: Progress) -> Result<Outcome> {
    let architecture = options.selection.sources.architecture;
    let agent = agent::load(&options.agent, architecture)?;
    let folder = output_folder(&options.output)?;
    fs::create_dir_all(&options.cache)
        .with_context(|| format!("cannot make the cache folder {}", options.cache.display()))?;
    let cache = options.cache.canonicalize()?;
    let _lock = lock(&cache, progress)?;
    let ingredients = gather::gather(&cache, &options.selection, options.network, progress)?;
    let inputs = Inputs::new(options, &agent, &ingredients)?;
    if !options.force
        && let Some(record) = BuildRecord::of_finished(&options.output, &inputs)?
    {
        pin(options, &ingredients, &record, progress)?;
        return Ok(Outcome::UpToDate(record));
    }

    let parts = Parts::obtain(&cache, &ingredients, &inputs, progress)?;
    let step = progress.step("Writing the ISO");
    let scratch = tempfile::Builder::new()
        .prefix(".muster-live-")
        .tempdir_in(&folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    let tree = scratch.path().join("tree");
    lay_out(&tree, &parts, &agent, options)?;
    let image = scratch.path().join("live.iso");
    let live = iso::write(&tree, parts.boot_record().as_deref(), &image, options.epoch)?;
    let record = BuildRecord::new(inputs, parts.facts.clone(), &live);
    // The new ISO must not have the record of an older one next to it.
    record.replace(&image, &options.output)?;
    step.done(&megabytes(record.iso_size));
    pin(options, &ingredients, &record, progress)?;
    Ok(Outcome::Built(record))
}

/// Writes the requested lock file, or compares the ISO with the one that an existing lock file describes.
fn pin(
    options: &BuildOptions,
    ingredients: &Ingredients,
    record: &BuildRecord,
    progress: Progress,
) -> Result<()> {
    let Some(path) = &options.selection.lock else {
        return Ok(());
    };
    let now = Made {
        iso_sha256: record.iso_sha256.clone(),
        agent: record.inputs.agent.clone(),
        agent_version: record.inputs.agent_version.clone(),
        builder: record.inputs.builder.clone(),
        compression: record.inputs.compression,
        epoch: record.inputs.epoch,
    };
    let file = path.display();
    match &ingredients.lock.made {
        Some(made) if made.iso_sha256 == now.iso_sha256 => {
            progress.say(&format!("The same bytes as when {file} was written"));
        }
        Some(made) => {
            let differences = made.differences(&now);
            ensure!(
                !differences.is_empty(),
                "the same ingredients as in {file} gave other bytes: report this as a bug"
            );
            progress.say(&format!(
                "Other bytes than when {file} was written, for these differ: {}",
                differences.join(", ")
            ));
        }
        None => {
            let lock = Lock {
                made: Some(now),
                ..ingredients.lock.clone()
            };
            lock.write(path)?;
            progress.say(&format!("{file} pins {} packages", lock.packages.len()));
        }
    }
    Ok(())
}

/// Writes every file of the ISO below `tree`.
fn lay_out(tree: &Path, parts: &Parts, agent: &[u8], options: &BuildOptions) -> Result<()> {
    let place = |path: &str| -> Result<PathBuf> {
        let place = tree.join(path);
        fs::create_dir_all(place.parent().expect("a path below the tree has a parent"))?;
        Ok(place)
    };
    fs::copy(parts.kernel(), place(KERNEL)?)?;
    let mut initrd = fs::read(parts.base())?;
    let packed = initramfs::compress(&initramfs::agent(agent), options.compression)?;
    let area = AgentArea {
        offset: initrd.len() as u64,
        length: packed.len() as u64,
        size: agent.len() as u64,
        sha256: hex::encode(Sha256::digest(agent)),
    };
    initrd.extend(packed);
    fs::write(place(INITRD)?, initrd)?;
    fs::write(place(CONFIG)?, vec![0; CONFIG_LENGTH])?;
    fs::copy(parts.efi_image(), place(iso::EFI_IMAGE)?)?;
    if let Some(bios) = parts.bios_image() {
        fs::copy(bios, place(iso::BIOS_IMAGE)?)?;
    }
    let architecture = options.selection.sources.architecture;
    let menu = menu::menu(architecture);
    fs::write(place(MENU)?, &menu.text)?;
    let description = describe(architecture, &options.agent_version, area, menu.kargs);
    fs::write(place(DESCRIPTION_PATH)?, description.to_json())?;
    let info = format!("Muster live {} {}\n", options.agent_version, architecture.name());
    fs::write(place(DISK_INFO)?, info)?;
    Ok(())
}

fn output_folder(output: &Path) -> Result<PathBuf> {
    ensure!(
        !output.is_dir(),
        "--output {} is a folder; name a file in it",
        output.display()
    );
    let folder = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder.canonicalize()?)
}

/// Locks the cache folder, for one build at a time.
///
/// # Errors
/// When the folder cannot be written.
pub fn lock(cache: &Path, progress: Progress) -> Result<File> {
    let file = File::create(cache.join("lock"))?;
    if file.try_lock().is_err() {
        progress.say("Another build uses the cache; waiting for it");
        file.lock()?;
    }
    Ok(file)
}
