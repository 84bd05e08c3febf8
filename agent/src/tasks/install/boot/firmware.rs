//! Makes the firmware start the disk first, if it is UEFI. Source: docs/protocol/install-flow.md#8.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::efi::Variables;
use super::esp::{self, Among};
use super::load_option;
use crate::gpt::{self, EFI_SYSTEM, Table};
use crate::install::image::head::HEAD;

/// Makes the boot entry for the disk of this node; returns the line for the log. Without a table the disk's own is read.
///
/// # Errors
/// Fails if the partition or the firmware's variables cannot be read or written.
pub fn boot_first(
    variables: &Variables,
    node: &str,
    table: Option<Table>,
    among: Among,
) -> io::Result<String> {
    let disk = File::open(node)?;
    let table = match table {
        Some(table) => Some(table),
        None => {
            let mut head = vec![0; HEAD];
            disk.read_exact_at(&mut head, 0)?;
            gpt::at_beginning(&head)
        }
    };
    let partitions = table.map(|table| table.partitions).unwrap_or_default();
    let Some(partition) = partitions.iter().find(|partition| partition.kind == EFI_SYSTEM) else {
        return Ok("no boot entry: the image has no EFI System Partition".to_owned());
    };
    let Some(loader) = esp::loader(&disk, partition, among)? else {
        return Ok("no boot entry: the image has no boot loader that is known".to_owned());
    };
    let option = load_option::bytes(loader.label, partition, &loader.path);
    let number = variables.boot_first(&option)?;
    Ok(format!(
        "Boot{number:04X} starts {} of partition {} first",
        loader.path, partition.number
    ))
}
