//! Compares the facts that the agent derives by itself with the output of the programs of a running Linux: udev's database, `lsblk`,
//! `lscpu`, `dmidecode` and `ip`. For users with machines that we do not have; nothing else of the agent starts a program for facts.

mod memory;
mod report;
mod tools;
mod udev;

pub use report::{Difference, Report};

use crate::inventory::{self, Options};
use crate::root::Root;

/// Compares everything that can be compared on this machine. Takes as long as its slowest disk.
pub fn run() -> Report {
    let root = Root::live();
    let collected = inventory::collect(&root, Options::default());
    let mut report = Report::default();
    udev::disks(&root, &mut report);
    udev::names(&root, &mut report);
    tools::disks(&root, &collected.inventory, &mut report);
    tools::processors(&collected.inventory, &mut report);
    tools::links(&root, &collected.inventory, &mut report);
    memory::smbios(&collected.inventory, &mut report);
    for problem in collected.problems {
        report.note(format!("{}: {}", problem.field, problem.reason));
    }
    report
}
