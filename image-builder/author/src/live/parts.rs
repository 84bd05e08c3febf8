//! Makes the parts that do not depend on the agent and keeps them in the cache: a new agent then costs a second, not a minute.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::inputs::Inputs;
use crate::boot::{bios, efi};
use crate::initramfs;
use crate::initramfs::extra;
use crate::kernel::firmware;
use crate::kernel::modules::Kernel;
use crate::packages::borrowed::Tools;
use crate::packages::gather::Ingredients;
use crate::progress::{Progress, megabytes};

const BASE: &str = "base.cpio.zst";
const KERNEL: &str = "vmlinuz";
const EFI_IMAGE: &str = "efiboot.img";
const BIOS_IMAGE: &str = "eltorito.img";
const BOOT_RECORD: &str = "boot_hybrid.img";
const FACTS: &str = "facts.json";

/// Parts not used for this long are deleted.
const KEPT_FOR: Duration = Duration::from_hours(14 * 24);

/// Finished parts in a folder of the cache.
#[derive(Debug)]
pub struct Parts {
    folder: PathBuf,
    pub facts: Facts,
    has_bios: bool,
}

/// Counts and sizes of the base archive's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The kernel's release, such as `6.1.0-56-amd64`.
    pub kernel_release: String,
    pub modules: usize,
    /// Entries of the driver lists that name no module of this kernel.
    pub drivers_unknown: Vec<String>,
    /// Modules that are carried and that nothing would ever load.
    #[serde(default)]
    pub modules_unreachable: Vec<String>,
    /// Firmware files, links not counted.
    pub firmware_files: usize,
    /// Bytes of firmware, uncompressed.
    pub firmware_bytes: u64,
    /// Firmware that modules name and no package holds: name, and the modules.
    pub firmware_missing: BTreeMap<String, Vec<String>>,
    /// Bytes of the base archive, uncompressed.
    pub base_bytes: u64,
}

impl Parts {
    /// Takes the parts from the cache, or makes them.
    ///
    /// # Errors
    /// When an ingredient is not as expected or the cache cannot be written.
    pub fn obtain(
        cache: &Path,
        ingredients: &Ingredients,
        inputs: &Inputs,
        progress: Progress,
    ) -> Result<Self> {
        let has_bios = ingredients.architecture.has_bios();
        let shelf = cache.join("parts");
        fs::create_dir_all(&shelf)?;
        let folder = shelf.join(inputs.parts_digest());
        if let Ok(facts) = fs::read(folder.join(FACTS)) {
            let facts = serde_json::from_slice(&facts)
                .with_context(|| format!("{} is damaged; delete that folder", folder.display()))?;
            fs::File::open(&folder)?.set_modified(SystemTime::now())?;
            return Ok(Self {
                folder,
                facts,
                has_bios,
            });
        }
        delete_unused(&shelf)?;
        let scratch = tempfile::Builder::new().prefix("work-").tempdir_in(cache)?;
        let finished = scratch.path().join("finished");
        fs::create_dir(&finished)?;
        let facts = make(
            ingredients,
            inputs.compression,
            scratch.path(),
            &finished,
            progress,
        )?;
        fs::write(finished.join(FACTS), serde_json::to_vec_pretty(&facts)?)?;
        fs::rename(&finished, &folder)?;
        Ok(Self {
            folder,
            facts,
            has_bios,
        })
    }

    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.folder.join(KERNEL)
    }

    #[must_use]
    pub fn base(&self) -> PathBuf {
        self.folder.join(BASE)
    }

    /// The FAT image for UEFI.
    #[must_use]
    pub fn efi_image(&self) -> PathBuf {
        self.folder.join(EFI_IMAGE)
    }

    /// The El Torito image for BIOS, where machines have one.
    #[must_use]
    pub fn bios_image(&self) -> Option<PathBuf> {
        self.has_bios.then(|| self.folder.join(BIOS_IMAGE))
    }

    /// The master boot record for BIOS.
    #[must_use]
    pub fn boot_record(&self) -> Option<PathBuf> {
        self.has_bios.then(|| self.folder.join(BOOT_RECORD))
    }
}

fn make(
    ingredients: &Ingredients,
    compression: i32,
    scratch: &Path,
    finished: &Path,
    progress: Progress,
) -> Result<Facts> {
    let step = progress.step("Boot loaders");
    let tools = Tools::unpack(&scratch.join("tools"), &ingredients.tools()?)?;
    if ingredients.architecture.has_bios() {
        let loader = bios::loader(&ingredients.deb("grub-pc-bin")?, scratch, &tools)?;
        fs::copy(loader.eltorito, finished.join(BIOS_IMAGE))?;
        fs::copy(loader.boot_record, finished.join(BOOT_RECORD))?;
    }
    fs::write(finished.join(EFI_IMAGE), efi::image(ingredients)?)?;
    step.done(if ingredients.architecture.has_bios() {
        "GRUB for BIOS; shim and GRUB, signed, for UEFI"
    } else {
        "shim and GRUB, signed, for UEFI"
    });

    let step = progress.step("Kernel and drivers");
    let kernel = Kernel::unpack(ingredients, &scratch.join("kernel"), &tools)?;
    fs::write(finished.join(KERNEL), &kernel.image)?;
    step.done(&format!("{}, {} modules", kernel.release, kernel.module_count()));

    let (firmware, missing) = pick_firmware(ingredients, &kernel, progress)?;
    let step = progress.step("Compressing drivers and firmware");
    let base = initramfs::base(ingredients, &kernel, &firmware)?;
    let compressed = initramfs::compress(&base, compression)?;
    fs::write(finished.join(BASE), &compressed)?;
    step.done(&format!(
        "{} from {}",
        megabytes(compressed.len() as u64),
        megabytes(base.len() as u64)
    ));
    let firmware_sizes: Vec<u64> = firmware
        .files
        .values()
        .filter_map(|entry| match entry {
            firmware::Entry::File(bytes) => Some(bytes.len() as u64),
            firmware::Entry::Link(_) => None,
        })
        .collect();
    Ok(Facts {
        kernel_release: kernel.release.clone(),
        modules: kernel.module_count(),
        drivers_unknown: kernel.drivers_unknown.clone(),
        modules_unreachable: kernel.unreachable.clone(),
        firmware_files: firmware_sizes.len(),
        firmware_bytes: firmware_sizes.iter().sum(),
        firmware_missing: missing,
        base_bytes: base.len() as u64,
    })
}

/// The firmware, and what is named but in no package (nothing, when firmware is left out).
fn pick_firmware(
    ingredients: &Ingredients,
    kernel: &Kernel,
    progress: Progress,
) -> Result<(firmware::Firmware, BTreeMap<String, Vec<String>>)> {
    let extra = extra::firmware(ingredients)?;
    if ingredients.firmware.is_empty() && extra.is_empty() {
        progress.say("Firmware: left out, as requested");
        return Ok((firmware::Firmware::default(), BTreeMap::new()));
    }
    let step = progress.step("Firmware");
    let packages = ingredients
        .firmware
        .iter()
        .map(|name| ingredients.deb(name))
        .collect::<Result<Vec<_>>>()?;
    let mut found = firmware::pick(&kernel.firmware(), &packages)?;
    found.add(extra);
    step.done(&format!("{} files", found.files.len()));
    let missing = found
        .missing
        .iter()
        .map(|(name, modules)| (name.clone(), modules.iter().cloned().collect()))
        .collect();
    Ok((found, missing))
}

fn delete_unused(shelf: &Path) -> Result<()> {
    for entry in fs::read_dir(shelf)? {
        let entry = entry?;
        let unused_for = SystemTime::now()
            .duration_since(entry.metadata()?.modified()?)
            .unwrap_or_default();
        if unused_for > KEPT_FOR {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
