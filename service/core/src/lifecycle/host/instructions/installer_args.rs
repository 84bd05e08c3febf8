//! Composes the arguments of coreos-installer. Source: docs/protocol/instructions.md#3, "installer_args composition".

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::inventory::{Disk, Interface, Inventory};
use muster_api::steps::ImageConfiguration;

use crate::json::to_json;
use crate::record::{Host, HostData};
use crate::rules::addresses::addresses_of;
use crate::rules::facts::HostFacts;
use crate::rules::{disks, os_image};

/// Kernel arguments of the discovery system that a mainframe needs after the installation, too.
const MAINFRAME: [&str; 5] = [
    "rd.neednet",
    "zfcp.allow_lun_scan",
    "rd.znet",
    "rd.dasd",
    "rd.zfcp",
];

/// True if partitions of the installation disk are kept at a user's request.
pub(super) fn keeps_partitions(data: &HostData) -> bool {
    data.installer_args
        .iter()
        .any(|argument| matches!(argument.as_str(), "--save-partlabel" | "--save-partindex"))
}

/// The processor architecture that the host reported, else that of its InfraEnv's images.
pub(super) fn architecture<'a>(host: &'a Host, facts: &HostFacts<'a>) -> &'a str {
    let reported = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.cpu.as_ref());
    reported
        .map(|cpu| cpu.architecture.as_str())
        .filter(|reported| !reported.is_empty())
        .unwrap_or(facts.infra_env.settings.cpu_architecture.name())
}

/// JSON text of a list; empty for no arguments.
pub(super) fn for_host(host: &Host, facts: &HostFacts<'_>) -> String {
    let mut arguments = host.data.installer_args.clone();
    if os_image::configuration(host, facts) == ImageConfiguration::Ignition {
        add_ours(&mut arguments, host, facts);
    }
    if arguments.is_empty() {
        return String::new();
    }
    to_json(&arguments)
}

/// Adds the arguments that a CoreOS needs on this host. Other systems have their network from their seed, and the kernel
/// arguments of their image.
fn add_ours(arguments: &mut Vec<String>, host: &Host, facts: &HostFacts<'_>) {
    let chosen_ip = arguments.iter().any(|argument| argument.starts_with("ip="));
    let mut append = |argument: &str| arguments.extend(["--append-karg".to_owned(), argument.to_owned()]);
    let mut copies_network = false;
    if let Some(inventory) = &host.inventory {
        let own_network = mainframe(inventory, architecture(host, facts), &mut append);
        let iscsi = disk_needs(&host.data, inventory, &mut append);
        if let Some(nic) = iscsi.filter(|_| !chosen_ip) {
            append(&format!("ip={}:{}", dashes(&nic.mac_address), by_dhcp(nic)));
        }
        copies_network = !facts.infra_env.settings.static_network_config.is_empty();
        if !copies_network && !chosen_ip && !own_network {
            for nic in in_machine_network(inventory, facts) {
                append(&format!("ip={}:{}", dashes(&nic.mac_address), by_dhcp(nic)));
            }
        }
    }
    if copies_network && !arguments.iter().any(|argument| argument == "--copy-network") {
        arguments.push("--copy-network".into());
    }
}

/// Adds a mainframe's arguments. Returns true if the network is set up by arguments that are carried over.
fn mainframe(inventory: &Inventory, architecture: &str, append: &mut impl FnMut(&str)) -> bool {
    let vendor = inventory.system_vendor.as_ref();
    let is_kvm = vendor.is_some_and(|vendor| vendor.is_virtual);
    if architecture != "s390x" || is_kvm {
        return false;
    }
    let line = inventory.boot.as_ref().map_or("", |boot| &boot.command_line);
    let overridden = line
        .split_whitespace()
        .any(|argument| argument == "ai.ip_cfg_override=1");
    for argument in line.split_whitespace() {
        let name = argument.split('=').next().unwrap_or(argument);
        if MAINFRAME.contains(&name) || overridden && matches!(name, "ip" | "nameserver") {
            append(argument);
        }
    }
    overridden
}

/// Adds the arguments for the installation disk's kind. Returns the interface that an iSCSI disk is reached through.
fn disk_needs<'a>(
    data: &HostData,
    inventory: &'a Inventory,
    append: &mut impl FnMut(&str),
) -> Option<&'a Interface> {
    let disk = disks::find(&inventory.disks, &data.installation_disk_id)?;
    let paths: Vec<&Disk> = inventory
        .disks
        .iter()
        .filter(|path| path.holders.split(',').any(|holder| holder.trim() == disk.name))
        .collect();
    let iscsi = match disk.drive_type.as_str() {
        "Multipath" => {
            append("rw");
            append("rd.multipath=default");
            paths.into_iter().find(|path| path.drive_type == "iSCSI")
        }
        "iSCSI" => Some(disk),
        "RAID" => {
            append("rd.md=1");
            append("rd.auto=1");
            None
        }
        _ => None,
    }?;
    append("rd.iscsi.firmware=1");
    let address: IpAddr = iscsi.iscsi.as_ref()?.host_ip_address.parse().ok()?;
    let mut nics = inventory.interfaces.iter();
    nics.find(|nic| addresses_of(nic).any(|net| net.addr() == address))
}

/// Cards with an address in the first machine network; none if an imported cluster has no known machine network.
fn in_machine_network<'a>(inventory: &'a Inventory, facts: &HostFacts<'_>) -> Vec<&'a Interface> {
    let first = facts
        .cluster
        .and_then(|facts| facts.cluster.data.machine_networks.first());
    let Some(network) = first.and_then(|text| text.parse::<IpNet>().ok()) else {
        return Vec::new();
    };
    let nics = inventory.interfaces.iter();
    nics.filter(|nic| addresses_of(nic).any(|net| network.contains(&net.addr())))
        .collect()
}

fn by_dhcp(nic: &Interface) -> &'static str {
    match (nic.ipv4_addresses.is_empty(), nic.ipv6_addresses.is_empty()) {
        (false, false) => "dhcp,dhcp6",
        (true, false) => "dhcp6",
        (false | true, true) => "dhcp",
    }
}

fn dashes(mac: &str) -> String {
    mac.replace(':', "-")
}
