//! Judges by their parts whether two machines are one. A part proves it only if it cannot be in two machines at once:
//! locally administered MAC addresses, those of the network cards that management controllers show to their hosts by
//! USB, and disks that several hosts reach prove nothing. Parts that differ on both sides count against it: a
//! superfluous second host can be deleted, an installation on the wrong machine cannot be undone.

use std::collections::BTreeSet;

use muster_api::fingerprint::Fingerprint;
use muster_api::inventory::{Disk, Inventory};
use muster_api::placeholder::is_placeholder;

/// Cards that controllers show by USB, with one address on every board: RNDIS and CDC gadgets of AMI's and Insyde's
/// firmware on ASPEED chips. Our agents leave out USB cards; other agents report them.
const GADGETS: [&str; 2] = ["b0:3a:f2:b6:05:9f", "be:3a:f2:b6:05:9f"];

/// Disks of these types may be seen by several hosts.
const SHARED_DRIVE_TYPES: [&str; 3] = ["FC", "iSCSI", "Multipath"];

/// True if two fingerprints are of one machine, or have nothing by which the machines can be distinguished.
pub fn is_same_machine(a: &Fingerprint, b: &Fingerprint) -> bool {
    let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
    let wwns = Common::of(&set(&a.disk_wwns), &set(&b.disk_wwns));
    let contradicted = wwns.is_disjoint() || differ(&a.system_uuid, &b.system_uuid);
    let (macs, unique) = cards(&set(&a.macs), &set(&b.macs));
    if macs.is_disjoint() {
        return false;
    }
    if macs.shared > 0 {
        // An added or removed card does not make another machine. A card that both have, while each side has further
        // ones, may be a gadget.
        return (unique && !(macs.only_a && macs.only_b)) || !contradicted;
    }
    if wwns.shared > 0 || wwns.is_disjoint() {
        return wwns.shared > 0;
    }
    !(differ(&a.board_serial, &b.board_serial)
        || differ(&a.system_serial, &b.system_serial)
        || differ(&a.system_uuid, &b.system_uuid))
}

/// True if two inventories under one host id are of two machines: they share no card and no disk.
pub fn are_of_two_machines(a: &Inventory, b: &Inventory) -> bool {
    let disks = Common::of(&disk_ids(a), &disk_ids(b));
    let (macs, _) = cards(&macs(a), &macs(b));
    let nothing_common = macs.is_disjoint() && disks.shared == 0;
    nothing_common || (macs.shared > 0 && macs.only_a && macs.only_b && disks.is_disjoint())
}

/// MAC addresses of cards, lower case. Agents of other makes leave the kind of an interface empty.
pub fn macs(inventory: &Inventory) -> BTreeSet<String> {
    let cards = inventory
        .interfaces
        .iter()
        .filter(|nic| matches!(nic.kind.as_str(), "physical" | ""));
    cards
        .map(|nic| nic.mac_address.to_lowercase())
        .filter(|mac| !is_placeholder(mac) && !is_gadget(mac))
        .collect()
}

/// The first of sorted MAC addresses that identifies a machine permanently, if there is one.
pub fn first_mac(macs: &[String]) -> Option<&String> {
    let mut own = macs.iter().filter(|mac| !is_gadget(mac));
    own.clone().find(|mac| !is_made_up(mac)).or_else(|| own.next())
}

/// The result of a comparison of two sets of ids.
struct Common {
    shared: usize,
    only_a: bool,
    only_b: bool,
}

impl Common {
    fn of<T: Ord>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> Self {
        let shared = a.intersection(b).count();
        Self {
            shared,
            only_a: a.len() > shared,
            only_b: b.len() > shared,
        }
    }

    /// True if both sets have ids, and share none.
    fn is_disjoint(&self) -> bool {
        self.shared == 0 && self.only_a && self.only_b
    }
}

/// Compares cards: those with a maker's address if both machines have such, else all. The second value is true in the
/// former case.
fn cards(a: &BTreeSet<String>, b: &BTreeSet<String>) -> (Common, bool) {
    let own = |all: &BTreeSet<String>| -> BTreeSet<String> {
        all.iter().filter(|mac| !is_gadget(mac)).cloned().collect()
    };
    let unique = |all: &BTreeSet<String>| -> BTreeSet<String> {
        all.iter().filter(|mac| !is_made_up(mac)).cloned().collect()
    };
    let (a, b) = (own(a), own(b));
    let (unique_a, unique_b) = (unique(&a), unique(&b));
    if unique_a.is_empty() || unique_b.is_empty() {
        (Common::of(&a, &b), false)
    } else {
        (Common::of(&unique_a, &unique_b), true)
    }
}

/// IEEE 802: the bit of locally administered addresses, which virtual machines and gadgets have.
fn is_made_up(mac: &str) -> bool {
    let first = mac.get(..2).and_then(|byte| u8::from_str_radix(byte, 16).ok());
    mac.contains(':') && first.is_some_and(|byte| byte & 0x02 != 0)
}

/// True for the address, in lower case, of a network card that a BMC or the kernel emulates by USB.
pub fn is_gadget(mac: &str) -> bool {
    GADGETS.contains(&mac)
}

fn set(list: &[String]) -> BTreeSet<String> {
    list.iter().cloned().collect()
}

fn disk_ids(inventory: &Inventory) -> BTreeSet<&str> {
    let own = |disk: &&Disk| !disk.removable && !SHARED_DRIVE_TYPES.contains(&disk.drive_type.as_str());
    let all = inventory
        .disks
        .iter()
        .filter(own)
        .flat_map(|disk| [disk.wwn.as_str(), disk.serial.as_str()]);
    all.filter(|id| !is_placeholder(id)).collect()
}
