//! What a host reports of itself, found natively: sysfs, procfs, netlink, SMBIOS, a few ioctls; no program is run.
//! Source of every rule: docs/protocol/agent-inventory.md.
//!
//! A probe that fails leaves its field empty, says why in [`Collected::problems`], and costs nothing else. The
//! result is the same as long as the machine is: the session sends an inventory only when its text changes.
//!
//! Where this differs from the field's agent, on purpose:
//! - mounted partitions, a mounted whole disk, and a disk with a Muster live image on it are not eligible (theirs
//!   cannot see mounts in production);
//! - one PCI device that cannot be read does not empty the list of GPUs;
//! - where neither SMBIOS nor memory blocks tell, the method is `meminfo`, to which the service is more lenient;
//! - a host whose kernel name was never set is named by its MAC address, as one named `localhost` is;
//! - UEFI without a readable efivarfs says `Unknown`, not `NotSupported`, of Secure Boot.

mod bmc;
mod boot;
mod cpu;
pub(crate) mod disks;
mod gpus;
mod hostname;
mod interfaces;
mod memory;
mod mounts;
mod netlink;
mod pci_ids;
mod routes;
mod smbios;
mod system_vendor;
mod tpm;

use muster_api::inventory::{Interface, Inventory, Truncation};
use netlink_packet_route::AddressFamily;

use crate::root::Root;
pub(crate) use interfaces::Network;

/// What the service asks for beside the host's id, as arguments of the step. Zero means no wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Disks smaller than this may be left out when the text would be too long, bytes.
    pub disk_min_size: u64,
    /// Longest JSON text, bytes.
    pub output_max_size: u64,
}

impl Options {
    /// Reads `--disk-min-size=N` and `--output-max-size=N`; other arguments and bad numbers say nothing.
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

/// Why a field is unknown or may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `memory.physical_bytes`, `disks.sda.serial`, ...
    pub field: String,
    /// In words for a person.
    pub reason: String,
}

/// An inventory and what is missing from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    /// What goes over the wire.
    pub inventory: Inventory,
    /// In order of the probes.
    pub problems: Vec<Problem>,
}

/// Collects the reasons of probes that fail.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    fn note(&mut self, field: &str, reason: impl Into<String>) {
        self.0.push(Problem {
            field: field.to_owned(),
            reason: reason.into(),
        });
    }

    fn take<T>(&mut self, field: &str, answer: Result<T, String>) -> Option<T> {
        answer.map_err(|reason| self.note(field, reason)).ok()
    }

    fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    fn into_list(self) -> Vec<Problem> {
        self.0
    }
}

/// Everything there is to know about the machine under `root`. Takes as long as its slowest device answers.
pub fn collect(root: &Root, options: Options) -> Collected {
    let mut problems = Problems::default();
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
        disks: disks::disks(root, &mounts, &mut problems),
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
        truncation: None,
    };
    truncate(&mut inventory, options);
    Collected {
        inventory,
        problems: problems.into_list(),
    }
}

/// The interfaces alone, as the whole inventory has them: netlink and sysfs answer even when a disk does not.
pub fn interfaces(root: &Root) -> Vec<Interface> {
    interfaces::interfaces(root, &network(root, &mut Problems::default()))
}

/// Links, addresses and routes as the kernel tells them, and what it does not tell.
pub(crate) fn network_state(root: &Root) -> (Network, Vec<Problem>) {
    let mut problems = Problems::default();
    let network = network(root, &mut problems);
    (network, problems.into_list())
}

fn network(root: &Root, problems: &mut Problems) -> Network {
    let links = problems.take("interfaces", netlink::links(root));
    let mut network = Network {
        // A tree of proc and sys alone: names and MACs are better than nothing.
        links: links.unwrap_or_else(|| netlink::links_of_sysfs(root)),
        ..Network::default()
    };
    for (family, name) in [(AddressFamily::Inet, "ipv4"), (AddressFamily::Inet6, "ipv6")] {
        let addresses = problems.take(
            &format!("interfaces.{name}_addresses"),
            netlink::addresses(root, family),
        );
        network.addresses.extend(addresses.unwrap_or_default());
        let routes = problems.take(&format!("routes.{name}"), netlink::routes(root, family));
        network.routes.extend(routes.unwrap_or_default());
    }
    network
}

/// Leaves small disks out while the text is too long (docs/protocol/agent-inventory.md#13), and says so.
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
mod tests;
