//! Computes the service's reasons against a disk, which are added to the agent's own.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_api::inventory::{Disk, Inventory, Route};
use muster_api::words::si_size;

use super::unit;
use crate::rules::facts::HostFacts;

const GB: i64 = 1_000_000_000;

/// The requirements for a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskRules {
    /// Bytes.
    least_bytes: i64,
    /// Drive types that may be installed to.
    allowed: Vec<&'static str>,
}

impl DiskRules {
    /// `required_gb`: see [`required`](crate::rules::requirements::required). The version is the InfraEnv's: hosts of a
    /// cluster run its image, too.
    pub fn new(required_gb: i64, facts: &HostFacts<'_>, inventory: &Inventory) -> Self {
        let reported = inventory.cpu.as_ref().map_or("", |cpu| &cpu.architecture);
        let architecture = if reported.is_empty() {
            facts.infra_env.settings.cpu_architecture.name()
        } else {
            reported
        };
        Self {
            least_bytes: required_gb.saturating_mul(GB),
            allowed: allowed_types(architecture, &facts.infra_env.settings.openshift_version),
        }
    }

    /// Returns every reason against `disk`, each with the requirement.
    pub fn reasons(&self, disk: &Disk, inventory: &Inventory) -> Vec<String> {
        let mut reasons = Vec::new();
        reasons.extend(self.too_small(disk));
        if !self.allowed.contains(&disk.drive_type.as_str()) {
            reasons.push(self.wrong_type("This disk", &disk.drive_type));
        }
        match disk.drive_type.as_str() {
            "Multipath" => reasons.extend(self.multipath(disk, inventory)),
            "iSCSI" => reasons.extend(iscsi_network(disk, inventory)),
            _ => {}
        }
        reasons.extend(member_of_multipath(disk, inventory));
        reasons.extend(unit::reason_of_name(disk, &inventory.disks));
        reasons
    }

    fn too_small(&self, disk: &Disk) -> Option<String> {
        if disk.size_bytes >= self.least_bytes {
            return None;
        }
        let (found, wanted) = (si_size(disk.size_bytes), si_size(self.least_bytes));
        let shortfall = if found == wanted {
            format!(" ({} short)", si_size(self.least_bytes - disk.size_bytes))
        } else {
            String::new()
        };
        Some(format!(
            "Too small: the disk has {found}{shortfall}, and {wanted} are required"
        ))
    }

    fn wrong_type(&self, whose: &str, drive_type: &str) -> String {
        let found = if drive_type.is_empty() { "none" } else { drive_type };
        format!(
            "{whose} has the drive type {found}; only these can be installed to: {}",
            self.allowed.join(", ")
        )
    }

    fn multipath(&self, disk: &Disk, inventory: &Inventory) -> Vec<String> {
        let paths: Vec<&Disk> = inventory
            .disks
            .iter()
            .filter(|path| holds(path, &disk.name))
            .collect();
        let of_type = |kind: &str| paths.iter().filter(|path| path.drive_type == kind).count();
        let (fc, iscsi) = (of_type("FC"), of_type("iSCSI"));
        if fc == 0 && iscsi == 0 {
            return vec!["The paths of this multipath disk are neither Fibre Channel nor iSCSI".into()];
        }
        let mut reasons = Vec::new();
        if fc != paths.len() && iscsi != paths.len() {
            reasons
                .push("The paths of this multipath disk are of different types; all must be of one".into());
        }
        if iscsi > 0 {
            if !self.allowed.contains(&"iSCSI") {
                reasons.push(self.wrong_type("A path of this multipath disk", "iSCSI"));
            }
            let broken = paths
                .iter()
                .filter(|path| path.drive_type == "iSCSI")
                .find_map(|path| iscsi_network(path, inventory));
            reasons.extend(broken.map(|reason| format!("A path of this multipath disk: {reason}")));
        }
        reasons
    }
}

/// Drive types that can be installed to. An empty or unreadable version means the newest.
fn allowed_types(architecture: &str, version: &str) -> Vec<&'static str> {
    let version = minor_version(version);
    let since = |least: (u32, u32)| version.is_none_or(|v| v >= least);
    let mut allowed = vec!["HDD", "SSD", "Multipath"];
    if since((4, 14)) {
        allowed.push("RAID");
    }
    if since((4, 15)) {
        allowed.push("iSCSI");
    }
    if matches!(architecture, "x86_64" | "s390x") {
        allowed.push("FC");
    }
    if architecture == "s390x" {
        allowed.extend(["ECKD (ESE)", "ECKD", "FBA"]);
    }
    allowed
}

/// `4.16.3-ec.1` is (4, 16).
fn minor_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// True if `holder`, a device name, is made of `path`: `holders` is a comma list of device names.
fn holds(path: &Disk, holder: &str) -> bool {
    !holder.is_empty() && path.holders.split(',').any(|name| name.trim() == holder)
}

fn member_of_multipath(disk: &Disk, inventory: &Inventory) -> Option<String> {
    let holder = inventory
        .disks
        .iter()
        .find(|other| other.drive_type == "Multipath" && holds(disk, &other.name))?;
    Some(format!(
        "This disk is a path of the multipath disk {}; choose that one",
        holder.name
    ))
}

/// The initiator's address must not be one of the interface with the default route: installed systems configure that
/// interface again.
fn iscsi_network(disk: &Disk, inventory: &Inventory) -> Option<String> {
    let address = disk.iscsi.as_ref().map_or("", |iscsi| &iscsi.host_ip_address);
    if address.is_empty() {
        return Some("The host's address of this iSCSI disk is not known".into());
    }
    let Ok(ip) = address.parse::<IpAddr>() else {
        return Some(format!(
            "The host's address of this iSCSI disk is not an IP address: {address}"
        ));
    };
    let route = default_route(&inventory.routes, ip)?;
    let Some(interface) = inventory
        .interfaces
        .iter()
        .find(|interface| interface.name == route.interface)
    else {
        return Some(format!(
            "The default route leads to the interface {}, which the host does not list",
            route.interface
        ));
    };
    let addresses = interface
        .ipv4_addresses
        .iter()
        .chain(&interface.ipv6_addresses)
        .filter_map(|text| text.parse::<IpNet>().ok());
    addresses.map(|net| net.addr()).any(|own| own == ip).then(|| {
        format!(
            "This iSCSI disk is reached through {} ({ip}), the interface of the default route; use another interface for iSCSI",
            interface.name
        )
    })
}

fn default_route(routes: &[Route], like: IpAddr) -> Option<&Route> {
    let family = if like.is_ipv4() { 2 } else { 10 };
    routes
        .iter()
        .filter(|route| route.family == family && is_default_route(route))
        .min_by_key(|route| route.metric)
}

/// Destination unspecified (any family).
fn is_default_route(route: &Route) -> bool {
    route
        .destination
        .split('/')
        .next()
        .and_then(|address| address.parse::<IpAddr>().ok())
        .is_some_and(|ip| ip.is_unspecified())
}
