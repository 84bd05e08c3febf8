//! The values that a host has for the keys of filters.

use chrono::TimeDelta;
use muster_api::time::Timestamp;

use super::key::{Key, other_word, stage_word};
use super::quantity::Unit;
use crate::query::summary::{Firmware, HardwareSummary, HostSummary};
use crate::rules::agent_version::OWN_PREFIX;

/// Hands each text that a host has for a key to `visit`, as it is shown. Numbers, times and labels are no texts.
pub(in crate::query) fn each_value(key: Key, host: &HostSummary, visit: &mut dyn FnMut(&str)) {
    let mut text = |text: &str| {
        if !text.is_empty() {
            visit(text);
        }
    };
    match key {
        Key::Name => text(&host.name),
        Key::Id => text(&host.id.to_string()),
        Key::Pool => text(&host.pool),
        Key::Cluster => each_cluster(host, &mut text),
        Key::State => text(host.status.name()),
        Key::Stage => text(&host.stage.map(stage_word).unwrap_or_default()),
        Key::Role => text(host.role.name()),
        Key::Approved => text(flag(host.approved)),
        Key::Finding => host.findings.iter().for_each(|kind| text(kind)),
        Key::Check => host.failed_checks.iter().for_each(|check| text(check.id())),
        Key::Bmc => each_bmc(host, &mut text),
        Key::Power => text(host.bmc.as_ref().map_or("", |bmc| &bmc.power)),
        Key::Agent => text(&host.agent_version),
        _ => {
            if let Some(hardware) = &host.hardware {
                each_of_hardware(key, hardware, &mut text);
            }
        }
    }
}

fn each_of_hardware(key: Key, hardware: &HardwareSummary, text: &mut dyn FnMut(&str)) {
    match key {
        Key::Disk => hardware
            .disks
            .iter()
            .for_each(|disk| text(disk.drive_type.name())),
        Key::Gpu => hardware.gpus.iter().for_each(|gpu| text(&gpu.model)),
        Key::Mac => hardware.macs.iter().for_each(|mac| text(mac)),
        Key::Ip => hardware.ips.iter().for_each(|ip| text(ip)),
        Key::Serial => {
            text(&hardware.serial);
            hardware.disks.iter().for_each(|disk| text(&disk.serial));
        }
        Key::Vendor => text(&hardware.vendor),
        Key::Model => text(&hardware.model),
        Key::Switch => hardware.ports.iter().for_each(|port| text(&port.switch)),
        Key::Port => hardware.ports.iter().for_each(|port| text(&port.port)),
        Key::Firmware => text(hardware.firmware.map_or("", Firmware::name)),
        Key::SecureBoot => text(flag(hardware.secure_boot)),
        _ => {}
    }
}

/// The cluster's id where its name is not known.
fn each_cluster(host: &HostSummary, text: &mut dyn FnMut(&str)) {
    match host.cluster_id {
        Some(id) if host.cluster.is_empty() => text(&id.to_string()),
        _ => text(&host.cluster),
    }
}

fn each_bmc(host: &HostSummary, text: &mut dyn FnMut(&str)) {
    if let Some(bmc) = &host.bmc {
        text(&bmc.name);
        text(&bmc.address);
    }
    if let Some(hardware) = &host.hardware {
        text(&hardware.bmc_address);
    }
}

/// Hands further texts, which mean the same and are not shown, to `visit`.
pub(super) fn each_alias(key: Key, host: &HostSummary, visit: &mut dyn FnMut(&str)) {
    match key {
        Key::Pool => visit(&host.infra_env_id.to_string()),
        Key::State => {
            other_word(host.status).into_iter().for_each(&mut *visit);
            let sleep = host.sleep_word();
            if !sleep.is_empty() {
                visit(sleep);
            }
        }
        Key::Cluster => host.cluster_id.iter().for_each(|id| visit(&id.to_string())),
        Key::Agent => host
            .agent_version
            .strip_prefix(OWN_PREFIX)
            .into_iter()
            .for_each(visit),
        _ => {}
    }
}

/// Hands each text in which words are searched to `visit`.
pub(super) fn each_searched(host: &HostSummary, visit: &mut dyn FnMut(&str)) {
    const SEARCHED: [Key; 10] = [
        Key::Name,
        Key::Serial,
        Key::Mac,
        Key::Ip,
        Key::Vendor,
        Key::Model,
        Key::Bmc,
        Key::Switch,
        Key::Port,
        Key::Id,
    ];
    for key in SEARCHED {
        each_value(key, host, visit);
    }
    visit(&host.reason);
}

/// The numbers that a host has for a key: bytes, Mbit/s, or how many; none if they are not known.
pub(super) fn numbers(key: Key, unit: Unit, host: &HostSummary) -> Vec<u64> {
    let Some(hardware) = &host.hardware else {
        return Vec::new();
    };
    let known = |number: u64| if number > 0 { vec![number] } else { Vec::new() };
    match key {
        Key::Cpu => known(u64::from(hardware.cpu_threads)),
        Key::Memory => known(hardware.memory_bytes),
        Key::NicSpeed => known(u64::from(hardware.nic_speed_mbps)),
        Key::Disk if unit == Unit::One => vec![hardware.disks.len() as u64],
        Key::Disk => hardware.disks.iter().map(|disk| disk.bytes).collect(),
        Key::Gpu => vec![hardware.gpu_count()],
        Key::Vlan => hardware.vlans.iter().map(|id| u64::from(*id)).collect(),
        _ => Vec::new(),
    }
}

/// Time that a host has for a key, never negative; `None`: it has none.
pub(super) fn age(key: Key, host: &HostSummary, now: Timestamp) -> Option<TimeDelta> {
    let since = match key {
        Key::Wait => host.wait.as_ref()?.since,
        Key::Seen => host.seen_at,
        Key::Since => host.since,
        _ => return None,
    };
    Some((now - since).max(TimeDelta::zero()))
}

/// True if a host has any value of a key.
pub(super) fn is_known(key: Key, host: &HostSummary) -> bool {
    match key {
        Key::Label => !host.labels.is_empty(),
        Key::Wait => host.wait.is_some(),
        Key::Seen | Key::Since => true,
        Key::Cpu | Key::Memory | Key::NicSpeed | Key::Vlan => !numbers(key, Unit::One, host).is_empty(),
        Key::Disk => host
            .hardware
            .as_ref()
            .is_some_and(|hardware| !hardware.disks.is_empty()),
        _ => {
            let mut is_known = false;
            each_value(key, host, &mut |_| is_known = true);
            is_known
        }
    }
}

fn flag(flag: Option<bool>) -> &'static str {
    match flag {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    }
}
