//! Runs every probe and puts the inventory together.

use muster_api::inventory::{Disk, Inventory, InventoryProblem, Truncation};

use super::network::{network, note_problems};
use super::problems::{Problem, Problems};
use super::{
    bmc, boot, cpu, disks, gpus, hostname, interfaces, memory, mounts, routes, system_vendor, tpm, trouble,
};
use crate::root::Root;

/// Problems that are reported.
const MOST_PROBLEMS: usize = 64;
/// Bytes of a reason that are reported.
const LONGEST_REASON: usize = 400;

/// Arguments of the step in addition to the host's id. Zero means not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Disks smaller than this may be left out when the text would be too long, bytes.
    pub disk_min_size: u64,
    /// Longest JSON text, bytes.
    pub output_max_size: u64,
}

impl Options {
    /// Reads `--disk-min-size=N` and `--output-max-size=N`; other arguments and bad numbers are ignored.
    pub fn from_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut options = Self::default();
        for argument in arguments {
            match argument.split_once('=') {
                Some(("--disk-min-size", text)) => options.disk_min_size = text.parse().unwrap_or(0),
                Some(("--output-max-size", text)) => options.output_max_size = text.parse().unwrap_or(0),
                _ => {}
            }
        }
        options
    }
}

/// An inventory and what is missing from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    pub inventory: Inventory,
    /// In order of the probes.
    pub problems: Vec<Problem>,
}

/// Collects the inventory of the machine under `root`. Takes as long as its slowest device.
pub fn collect(root: &Root, options: Options) -> Collected {
    let mut problems = Problems::default();
    // First: of many problems the first ones are reported.
    note_problems(root, &mut problems);
    let network = network(root, &mut problems);
    let interfaces = interfaces::interfaces(root, &network);
    let mounts = problems
        .take("disks.mounts", mounts::mounts(root))
        .unwrap_or_default();
    let cpu = cpu::cpu(root, &mut problems);
    let bmc = bmc::addresses(root, &mut problems);
    let mut inventory = Inventory {
        bmc_address: bmc.v4,
        bmc_v6address: bmc.v6,
        boot: Some(boot::boot(root, &mounts, &mut problems)),
        disks: disks::units::merged(disks::disks(root, &mounts, &mut problems)),
        gpus: gpus::gpus(root, &mut problems),
        hostname: problems
            .take("hostname", hostname::hostname(root, &interfaces))
            .unwrap_or_default(),
        memory: Some(memory::memory(root, &mut problems)),
        routes: routes::routes(&network),
        system_vendor: Some(system_vendor::system_vendor(root, &cpu.flags)),
        tpm_version: problems
            .take("tpm_version", tpm::version(root))
            .unwrap_or_default(),
        cpu: Some(cpu),
        interfaces,
        problems: Vec::new(),
        truncation: None,
    };
    trouble::note(root, &mut problems);
    let problems = problems.into_list();
    inventory.problems = reported(&problems);
    truncate(&mut inventory, options);
    Collected { inventory, problems }
}

/// The problems as the service takes them.
fn reported(problems: &[Problem]) -> Vec<InventoryProblem> {
    let list = problems
        .iter()
        .take(MOST_PROBLEMS)
        .map(|problem| InventoryProblem {
            subject: problem.field.clone(),
            reason: problem.reason[..problem.reason.floor_char_boundary(LONGEST_REASON)].to_owned(),
        });
    list.collect()
}

/// The disks only, each path to a unit of several as one. Takes as long as the slowest one.
pub fn listed_disks(root: &Root) -> Vec<Disk> {
    let mut problems = Problems::default();
    let mounts = mounts::mounts(root).unwrap_or_default();
    disks::disks(root, &mounts, &mut problems)
}

/// Leaves small disks out while the text is too long (docs/protocol/agent-inventory.md#13), and reports it.
fn truncate(inventory: &mut Inventory, options: Options) {
    let length = |inventory: &Inventory| serde_json::to_string(inventory).map_or(0, |text| text.len() as u64);
    if options.output_max_size == 0 || length(inventory) <= options.output_max_size {
        return;
    }
    let before = inventory.disks.len();
    let large = |size: i64| u64::try_from(size).is_ok_and(|size| size >= options.disk_min_size);
    inventory.disks.retain(|disk| large(disk.size_bytes));
    let left_out = before - inventory.disks.len();
    let mut truncation = Truncation {
        kind: "partial".to_owned(),
        reasons: vec![format!(
            "{left_out} disks smaller than {} bytes were left out to stay under {} bytes",
            options.disk_min_size, options.output_max_size
        )],
    };
    inventory.truncation = Some(truncation.clone());
    if length(inventory) > options.output_max_size {
        inventory.disks.clear();
        truncation.kind = "full".to_owned();
        truncation.reasons = vec![format!(
            "all {before} disks were left out to stay under {} bytes",
            options.output_max_size
        )];
        inventory.truncation = Some(truncation);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
