//! Compares the reports of BMC and agent about one machine.

use muster_api::bmc::{BmcDifference, BmcInventory};
use muster_api::inventory::Inventory;
use muster_api::placeholder::is_placeholder;
use muster_bmc::matching::{self, Identifiers, Key, Matching, Verdict};
use muster_core::record::Host;

const GIB: f64 = (1u64 << 30) as f64;

/// Some BMCs count in units of 10^9 bytes, and firmware keeps some memory for itself.
const MEMORY_TOLERANCE: f64 = 0.15;

/// Compares the identifiers of a machine with those of a host.
pub(crate) fn compare(bmc: &BmcInventory, host: &Host) -> Matching {
    judge(bmc, &of_host(host))
}

/// Serial numbers of the chassis count only together with another identifier. On their own they prove nothing, because machines may share
/// them; and a difference proves nothing, because a chassis has a number of its own.
fn judge(bmc: &BmcInventory, told: &Identifiers) -> Matching {
    let all = matching::compare(&of_bmc(bmc, true), told);
    let is_alone = all.verdict == Verdict::Same && all.agreed == [Key::Serial];
    if is_alone || all.differences.iter().any(|one| one.key == Key::Serial) {
        return matching::compare(&of_bmc(bmc, false), told);
    }
    all
}

fn of_bmc(bmc: &BmcInventory, with_shared: bool) -> Identifiers {
    let nics = bmc.nics.iter();
    let macs = nics.flat_map(|nic| std::iter::once(nic.mac.clone()).chain(nic.permanent_mac.clone()));
    let own = bmc.serial.iter().chain(&bmc.sku).cloned();
    let shared = bmc.other_serials.iter().filter(|_| with_shared).cloned();
    Identifiers {
        macs: macs.collect(),
        uuid: bmc.uuid.clone(),
        serials: own.chain(shared).collect(),
    }
}

fn of_host(host: &Host) -> Identifiers {
    let parts = host.data.fingerprint.clone().unwrap_or_default();
    let mut macs = parts.macs;
    let mut serials = vec![parts.system_serial, parts.board_serial];
    if let Some(inventory) = &host.inventory {
        macs.extend(inventory.interfaces.iter().map(|one| one.mac_address.clone()));
        serials.extend(
            inventory
                .system_vendor
                .iter()
                .map(|vendor| vendor.serial_number.clone()),
        );
    }
    Identifiers {
        macs,
        uuid: Some(parts.system_uuid).filter(|uuid| !uuid.is_empty()),
        serials,
    }
}

/// The differences between the two reports, for operators.
pub(crate) fn differences(bmc: &BmcInventory, host: &Host, matching: &Matching) -> Vec<BmcDifference> {
    let ids = matching.differences.iter().map(|one| BmcDifference {
        what: one.key.to_string(),
        bmc: one.bmc.clone(),
        host: one.host.clone(),
    });
    let parts = host.inventory.iter().flat_map(|told| {
        let compared = [memory(bmc, told), processors(bmc, told), disks(bmc, told)];
        compared.into_iter().flatten()
    });
    ids.chain(parts).collect()
}

fn difference(what: &str, bmc: String, host: String) -> Option<BmcDifference> {
    Some(BmcDifference {
        what: what.to_owned(),
        bmc,
        host,
    })
}

fn memory(bmc: &BmcInventory, host: &Inventory) -> Option<BmcDifference> {
    let reported = bmc.memory.gib.filter(|gib| *gib > 0.0)?;
    let seen = host.memory.as_ref()?.physical_bytes as f64 / GIB;
    let far = seen > 0.0 && (reported - seen).abs() > reported.max(seen) * MEMORY_TOLERANCE;
    far.then(|| difference("memory", format!("{reported:.0} GiB"), format!("{seen:.0} GiB")))?
}

fn processors(bmc: &BmcInventory, host: &Inventory) -> Option<BmcDifference> {
    let threads: Option<u32> = bmc.processors.iter().map(|one| one.threads).sum();
    let reported = i64::from(threads.filter(|threads| *threads > 0)?);
    let cores: i64 = bmc
        .processors
        .iter()
        .filter_map(|one| one.cores)
        .map(i64::from)
        .sum();
    let seen = host.cpu.as_ref()?.count;
    // Without hyper-threading the system reports the cores.
    let other = seen > 0 && seen != reported && seen != cores;
    other.then(|| {
        difference(
            "processors",
            format!("{reported} threads"),
            format!("{seen} CPUs"),
        )
    })?
}

/// Disks that the BMC names by serial number and the agent does not report.
fn disks(bmc: &BmcInventory, host: &Inventory) -> Option<BmcDifference> {
    let seen: Vec<String> = host
        .disks
        .iter()
        .map(|disk| disk.serial.trim().to_lowercase())
        .collect();
    let named = bmc.drives.iter().filter_map(|drive| drive.serial.as_deref());
    let missing: Vec<&str> = named
        .map(str::trim)
        .filter(|serial| !is_placeholder(serial) && !seen.contains(&serial.to_lowercase()))
        .take(8)
        .collect();
    if missing.is_empty() || seen.iter().all(|serial| is_placeholder(serial)) {
        return None;
    }
    difference("disks", missing.join(" "), "not there".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_chassis_neither_proves_nor_contradicts() {
        let uuid = Some("30000000-0000-4000-8000-000000000051".to_owned());
        let told = Identifiers {
            macs: Vec::new(),
            uuid: uuid.clone(),
            serials: vec!["SN0051".to_owned()],
        };
        let in_chassis = |number: &str| BmcInventory {
            other_serials: vec![number.to_owned()],
            ..BmcInventory::default()
        };
        // As sushy-emulator reports it: the UUID, and only the serial number of a chassis.
        let other = BmcInventory {
            uuid,
            ..in_chassis("CHASSIS-7")
        };
        assert_eq!(judge(&other, &told).verdict, Verdict::Same);
        let own = BmcInventory {
            serial: Some("SN0052".to_owned()),
            ..other
        };
        assert_eq!(judge(&own, &told).verdict, Verdict::Conflict);
        assert_eq!(judge(&in_chassis("CHASSIS-7"), &told).verdict, Verdict::Unknown);
        assert_eq!(judge(&in_chassis("SN0051"), &told).verdict, Verdict::Unknown);
    }
}
