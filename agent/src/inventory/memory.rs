//! Measures the memory. Source of the rules: docs/protocol/agent-inventory.md#6.
//!
//! The methods keep the protocol's names: `dmidecode` stands for SMBIOS, `ghw` for the kernel's memory
//! blocks, `meminfo` for the kernel's own total. The service's tolerance depends on them.

use muster_api::inventory::Memory;

use super::{Problems, smbios};
use crate::root::{ProbeError, Root};

pub(super) fn memory(root: &Root, problems: &mut Problems) -> Memory {
    let usable = problems
        .take("memory.usable_bytes", usable_bytes(root))
        .unwrap_or(0);
    let modules = problems
        .take("memory.physical_bytes", installed(root))
        .map(|modules| {
            if modules.persistent > 0 {
                let gib = modules.persistent >> 30;
                problems.note(
                    "memory.physical_bytes",
                    format!("{gib} GiB of persistent memory are not used as memory, and are not counted"),
                );
            }
            modules.volatile
        })
        .filter(|bytes| *bytes > 0);
    let (physical, method) = match modules {
        Some(bytes) => (bytes, "dmidecode"),
        None => match memory_blocks(root).filter(|bytes| *bytes > 0) {
            Some(bytes) => (bytes, "ghw"),
            None => (usable, "meminfo"),
        },
    };
    Memory {
        physical_bytes: i64::try_from(physical).unwrap_or(i64::MAX),
        physical_bytes_method: method.to_owned(),
        usable_bytes: i64::try_from(usable).unwrap_or(i64::MAX),
    }
}

fn installed(root: &Root) -> Result<smbios::Modules, ProbeError> {
    let path = "/sys/firmware/dmi/tables/DMI";
    let table = root.read(path).map_err(ProbeError::reading(path))?;
    match smbios::memory_bytes(&table) {
        smbios::Modules {
            volatile: 0,
            persistent: 0,
        } => Err(ProbeError::content(path, "lists no memory module")),
        modules => Ok(modules),
    }
}

/// The number of blocks that are online times their size.
fn memory_blocks(root: &Root) -> Option<u64> {
    let folder = "/sys/devices/system/memory";
    let block = root.text(&format!("{folder}/block_size_bytes")).ok()?;
    let block = u64::from_str_radix(block.trim_start_matches("0x"), 16).ok()?;
    let online = root
        .list(folder)
        .ok()?
        .into_iter()
        .filter(|name| {
            name.strip_prefix("memory")
                .is_some_and(|rest| rest.parse::<u64>().is_ok())
        })
        .filter(|name| {
            root.text(&format!("{folder}/{name}/state"))
                .is_ok_and(|state| state == "online")
        })
        .count();
    block.checked_mul(online as u64)
}

fn usable_bytes(root: &Root) -> Result<u64, ProbeError> {
    let path = "/proc/meminfo";
    let text = root.text(path).map_err(ProbeError::reading(path))?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes
        .and_then(|kilobytes| kilobytes.checked_mul(1024))
        .ok_or_else(|| ProbeError::content(path, "has no MemTotal"))
}
