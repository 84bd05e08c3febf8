//! Compares the hardware of a machine over time: the parts that two inventories differ in, and a machine that came back smaller than it
//! was approved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use muster_api::inventory::{Disk, Interface, Inventory, Memory};
use muster_api::placeholder::named;
use muster_api::words::{gib, si_size};

use crate::record::{HardwarePart, HardwareParts, HardwareSize, MemoryBy};
use crate::rules::disks::own_disks;
use crate::rules::identity::is_gadget;
use crate::text::one_line;

/// Differences between two inventories that have an event each; more are counted.
pub const MAX_CHANGES: usize = 16;

/// Disks, and cards, that are compared one by one; of more only the number is.
const MAX_PARTS: usize = 64;

/// Longest text of a part, and longest name of one, bytes.
const MAX_TEXT: usize = 120;

/// The share of a memory by which two sizes may differ without being another size, where they are not those of the modules: 1/16.
const SAME_MEMORY: i64 = 16;

/// A part that differs between two inventories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `processor threads`, `memory`, `disk`, `network card` or `firmware`.
    pub part: &'static str,
    /// Value of the older inventory; empty: the part was not there.
    pub before: String,
    /// Value of the newer inventory; empty: the part is gone.
    pub after: String,
    /// True if the machine has less than before.
    pub is_loss: bool,
}

/// The size of the hardware that an inventory lists; `None`: it has no processors, since it could not be made.
pub fn size(inventory: &Inventory) -> Option<HardwareSize> {
    let cpu_threads = inventory.cpu.as_ref().map(|cpu| cpu.count);
    let memory = inventory.memory.as_ref();
    Some(HardwareSize {
        cpu_threads: cpu_threads.filter(|threads| *threads > 0)?,
        memory_bytes: memory.map_or(0, |memory| memory.physical_bytes.max(0)),
        memory_by: memory.map(memory_by).unwrap_or_default(),
        disks: is_whole(inventory).then(|| count(fixed_disks(inventory).count())),
        cards: count(cards(inventory).count()),
    })
}

/// The parts of the hardware that an inventory lists, where it has a [`size`]. Parts without a name of their own are in that only.
pub fn parts(inventory: &Inventory) -> Option<HardwareParts> {
    Some(HardwareParts {
        size: size(inventory)?,
        disks: is_whole(inventory)
            .then(|| fixed_disks(inventory).filter_map(named_disk).collect())
            .filter(are_few),
        cards: have_own_macs(inventory)
            .then(|| cards(inventory).filter_map(named_card).collect())
            .filter(are_few),
    })
}

/// The disks that belong to the machine: no sticks, no media of a BMC, and nothing that the kernel keeps in memory.
fn fixed_disks(inventory: &Inventory) -> impl Iterator<Item = &Disk> {
    let is_of_memory = |disk: &Disk| {
        let mut kinds = ["loop", "zram", "ram"].into_iter();
        kinds.any(|kind| {
            let number = disk.name.strip_prefix(kind);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        })
    };
    own_disks(&inventory.disks).filter(move |disk| !disk.removable && !is_of_memory(disk))
}

/// False if two cards have one address: agents of other makes report that of the bond for its cards.
fn have_own_macs(inventory: &Inventory) -> bool {
    let mut seen = BTreeSet::new();
    let macs = cards(inventory).filter_map(|card| named(&card.mac_address));
    macs.map(str::to_ascii_lowercase).all(|mac| seen.insert(mac))
}

fn are_few(parts: &BTreeMap<String, HardwarePart>) -> bool {
    parts.len() <= MAX_PARTS
}

/// The hardware that the machine had more of when it was `approved` than it has `now`, each as a part of a sentence with both values.
pub fn lacks(approved: &HardwareSize, now: &HardwareSize) -> Vec<String> {
    let mut lacks = Vec::new();
    let mut lack = |part: &str, less: &dyn Display, more: &dyn Display| {
        lacks.push(format!("{part} {less} instead of {more}"));
    };
    if now.cpu_threads < approved.cpu_threads {
        lack("processor threads", &now.cpu_threads, &approved.cpu_threads);
    }
    if is_other_memory(approved, now) && now.memory_bytes < approved.memory_bytes {
        lack("memory", &gib(now.memory_bytes), &gib(approved.memory_bytes));
    }
    if let (Some(less), Some(more)) = (now.disks, approved.disks)
        && less < more
    {
        lack("disks", &less, &more);
    }
    if now.cards < approved.cards {
        lack("network cards", &now.cards, &approved.cards);
    }
    lacks
}

fn is_other_memory(before: &HardwareSize, now: &HardwareSize) -> bool {
    let is_known = before.memory_bytes > 0 && now.memory_bytes > 0;
    let difference = before.memory_bytes.abs_diff(now.memory_bytes);
    let tolerance = match before.memory_by {
        MemoryBy::Modules => 0,
        MemoryBy::Unknown | MemoryBy::Blocks | MemoryBy::Kernel => before.memory_bytes / SAME_MEMORY,
    };
    is_known && before.memory_by == now.memory_by && difference > tolerance.unsigned_abs()
}

/// The parts in which `new` differs from `old`.
pub fn changes(old: &HardwareParts, new: &HardwareParts) -> Vec<Change> {
    let (before, after) = (&old.size, &new.size);
    let mut changes = Vec::new();
    if before.cpu_threads != after.cpu_threads {
        changes.push(Change {
            part: "processor threads",
            before: before.cpu_threads.to_string(),
            after: after.cpu_threads.to_string(),
            is_loss: after.cpu_threads < before.cpu_threads,
        });
    }
    if is_other_memory(before, after) {
        changes.push(Change {
            part: "memory",
            before: gib(before.memory_bytes),
            after: gib(after.memory_bytes),
            is_loss: after.memory_bytes < before.memory_bytes,
        });
    }
    if let (Some(old_disks), Some(new_disks)) = (&old.disks, &new.disks) {
        let (unnamed_before, unnamed_now) = (unnamed(before, old_disks), unnamed(after, new_disks));
        // A disk that does not answer has no name meanwhile: so many are neither gone nor new.
        let mut silent = unnamed_now.saturating_sub(unnamed_before);
        let mut back = unnamed_before.saturating_sub(unnamed_now);
        let of_disks = changes_of("disk", old_disks, new_disks).into_iter();
        changes.extend(of_disks.filter(|change| {
            let left = match (change.before.is_empty(), change.after.is_empty()) {
                (true, _) => &mut back,
                (false, true) => &mut silent,
                (false, false) => return true,
            };
            let is_change = *left == 0;
            *left = left.saturating_sub(1);
            is_change
        }));
    }
    if let (Some(old), Some(new)) = (&old.cards, &new.cards) {
        changes.extend(changes_of("network card", old, new));
    }
    changes
}

/// Disks that are counted, and have no name.
fn unnamed(size: &HardwareSize, named: &BTreeMap<String, HardwarePart>) -> u32 {
    size.disks.unwrap_or(0).saturating_sub(count(named.len()))
}

fn changes_of(
    part: &'static str,
    old: &BTreeMap<String, HardwarePart>,
    new: &BTreeMap<String, HardwarePart>,
) -> Vec<Change> {
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let mut come: Vec<&HardwarePart> = new
        .iter()
        .filter(|(name, _)| !old.contains_key(*name))
        .map(|(_, part)| part)
        .collect();
    let mut changes = Vec::new();
    for (_, one) in gone {
        let place = come.iter().position(|other| other.place == one.place);
        let after = place.map(|at| come.remove(at));
        changes.push(Change {
            part,
            before: one.shown.clone(),
            after: after.map(|other| other.shown.clone()).unwrap_or_default(),
            is_loss: after.is_none(),
        });
    }
    changes.extend(come.into_iter().map(|one| Change {
        part,
        before: String::new(),
        after: one.shown.clone(),
        is_loss: false,
    }));
    changes
}

/// False if the agent had to leave disks out.
fn is_whole(inventory: &Inventory) -> bool {
    inventory.truncation.is_none()
}

fn named_disk(disk: &Disk) -> Option<(String, HardwarePart)> {
    let name = named(&disk.wwn).or_else(|| named(&disk.serial))?;
    let part = HardwarePart {
        place: one_line(place(disk), MAX_TEXT),
        shown: shown(disk),
    };
    Some((one_line(name, MAX_TEXT), part))
}

/// The path by its controller, otherwise the kernel's name.
fn place(disk: &Disk) -> &str {
    if disk.by_path.is_empty() {
        &disk.name
    } else {
        &disk.by_path
    }
}

fn shown(disk: &Disk) -> String {
    let names = [("", &disk.model), ("serial ", &disk.serial), ("WWN ", &disk.wwn)];
    let names = names
        .into_iter()
        .filter_map(|(label, text)| named(text).map(|text| format!("{label}{text}")));
    let parts: Vec<String> = std::iter::once(si_size(disk.size_bytes.max(0)))
        .chain(names)
        .collect();
    one_line(&format!("{} ({})", disk.name, parts.join(", ")), MAX_TEXT)
}

/// Without those that a BMC emulates: they come and go with a setting of it.
fn cards(inventory: &Inventory) -> impl Iterator<Item = &Interface> {
    let all = inventory.interfaces.iter();
    all.filter(|card| card.kind == "physical" && !is_gadget(&card.mac_address.to_ascii_lowercase()))
}

fn named_card(card: &Interface) -> Option<(String, HardwarePart)> {
    let mac = one_line(&named(&card.mac_address)?.to_ascii_lowercase(), MAX_TEXT);
    let part = HardwarePart {
        place: one_line(&card.name, MAX_TEXT),
        shown: one_line(&format!("{} ({mac})", card.name), MAX_TEXT),
    };
    Some((mac, part))
}

/// The names are the protocol's. Source: docs/protocol/agent-inventory.md#6.
fn memory_by(memory: &Memory) -> MemoryBy {
    match memory.physical_bytes_method.as_str() {
        "dmidecode" => MemoryBy::Modules,
        "ghw" => MemoryBy::Blocks,
        "meminfo" => MemoryBy::Kernel,
        _ => MemoryBy::Unknown,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
