//! Makes the firmware start the disk first, where it is UEFI. Source: docs/protocol/install-flow.md#8.

use std::fs::File;
use std::io;

use super::efi::Variables;
use super::{esp, load_option};
use crate::install::image::gpt::{EFI_SYSTEM, Table};

/// Makes the boot entry; gives the line for the log.
///
/// # Errors
/// The partition or the firmware's variables cannot be read or written.
pub fn boot_first(variables: &Variables, disk: &File, table: &Table) -> io::Result<String> {
    let Some(partition) = table.partitions.iter().find(|partition| partition.kind == EFI_SYSTEM) else {
        return Ok("no boot entry: the image has no EFI System Partition".to_owned());
    };
    let Some(loader) = esp::loader(disk, partition)? else {
        return Ok("no boot entry: the image has no boot loader that is known".to_owned());
    };
    let option = load_option::bytes(loader.label, partition, &loader.path);
    let number = variables.boot_first(&option)?;
    Ok(format!("Boot{number:04X} starts {} of partition {} first", loader.path, partition.number))
}
