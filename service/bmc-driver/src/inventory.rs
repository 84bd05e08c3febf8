//! The stored form of a BMC's report about its machine.

use muster_api::bmc::{BmcDrive, BmcFirmware, BmcInventory, BmcMemory, BmcNic, BmcProcessor};
use muster_bmc::{Drive, Firmware, Inventory, Nic, Processor};

/// Entries that are kept of each list: a BMC may report any number.
const MOST: usize = 256;

pub(crate) fn stored(told: Inventory) -> BmcInventory {
    BmcInventory {
        vendor: told.vendor,
        model: told.model,
        serial: told.serial,
        sku: told.sku,
        other_serials: first(told.other_serials, |serial| serial),
        uuid: told.uuid,
        asset_tag: told.asset_tag,
        host_name: told.host_name,
        processors: first(told.processors, processor),
        memory: BmcMemory {
            gib: told.memory.gib.filter(|gib| gib.is_finite()),
        },
        nics: first(told.nics, nic),
        drives: first(told.drives, drive),
        bios_version: told.bios_version,
        bmc_version: told.bmc_version,
        firmware: first(told.firmware, firmware),
        boot_mode: told.boot_mode,
        secure_boot: told.secure_boot,
        health: told.health,
        power: told.power,
        notes: first(told.notes, |note| note),
    }
}

fn first<T, U>(list: Vec<T>, keep: impl Fn(T) -> U) -> Vec<U> {
    list.into_iter().take(MOST).map(keep).collect()
}

fn processor(told: Processor) -> BmcProcessor {
    BmcProcessor {
        model: told.model,
        cores: told.cores,
        threads: told.threads,
        instruction_set: told.instruction_set,
    }
}

fn nic(told: Nic) -> BmcNic {
    BmcNic {
        name: told.name,
        mac: told.mac,
        permanent_mac: told.permanent_mac,
        speed_mbps: told.speed_mbps,
        link: told.link,
    }
}

fn drive(told: Drive) -> BmcDrive {
    BmcDrive {
        name: told.name,
        model: told.model,
        serial: told.serial,
        bytes: told.bytes,
        media: told.media,
        protocol: told.protocol,
    }
}

fn firmware(told: Firmware) -> BmcFirmware {
    BmcFirmware {
        name: told.name,
        version: told.version,
    }
}
