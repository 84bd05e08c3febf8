//! Computes the names that udev gives to network interfaces, from sysfs alone.
//!
//! The agent runs without udev, and static network configuration for the installed OS names interfaces as
//! that OS will. The rules are the ones in systemd's `net_id` at version 252 (the naming scheme of RHEL 9) under
//! the policy of Debian and RHEL, `keep kernel database onboard slot path`: a name made of a MAC address
//! never becomes *the* name, such an interface keeps its kernel name. Source: systemd.net-naming-scheme(7),
//! PREDICTABLE_INTERFACE_NAMES.

mod pci;

use std::collections::BTreeSet;

use crate::root::Root;
use crate::root::sysfs::Device;

/// Longest interface name (`IFNAMSIZ` less the final NUL).
const MAX_NAME: usize = 15;
const ARPHRD_ETHER: u64 = 1;
const ARPHRD_SLIP: u64 = 256;
const ARPHRD_INFINIBAND: u64 = 32;
/// `name_assign_type` of a stable name chosen by the driver (`NET_NAME_PREDICTABLE`).
const NAME_PREDICTABLE: u64 = 2;

/// Every interface by its present name, with its name in the installed OS; `None` where it keeps the
/// kernel's.
///
/// In order of the interface index. Of two interfaces with the same name, the first has it.
pub fn names(root: &Root) -> Vec<(String, Option<String>)> {
    let mut links: Vec<(u64, String)> = root
        .list("/sys/class/net")
        .unwrap_or_default()
        .into_iter()
        .filter(|name| root.is_dir(&format!("/sys/class/net/{name}")))
        .map(|name| {
            let index = root
                .text(&format!("/sys/class/net/{name}/ifindex"))
                .ok()
                .and_then(|text| text.parse().ok());
            (index.unwrap_or(u64::MAX), name)
        })
        .collect();
    links.sort();
    let mut taken = BTreeSet::new();
    links
        .into_iter()
        .map(|(_, name)| {
            let predictable = Device::open(root, &format!("/sys/class/net/{name}"))
                .and_then(|device| predictable(&device))
                .filter(|wanted| wanted.len() <= MAX_NAME && taken.insert(wanted.clone()));
            (name, predictable)
        })
        .collect()
}

/// The name of one interface by the rules.
fn predictable(device: &Device<'_>) -> Option<String> {
    if device.attribute_number("name_assign_type") == Some(NAME_PREDICTABLE) {
        return None;
    }
    // Stacked devices (VLANs, macvlans) are named by their creator.
    if device.attribute("iflink") != device.attribute("ifindex") {
        return None;
    }
    let kind = device.attribute_number("type")?;
    let prefix = match kind {
        ARPHRD_ETHER => "en",
        ARPHRD_INFINIBAND => "ib",
        ARPHRD_SLIP => "sl",
        _ => return None,
    };
    let prefix = match device.devtype().as_deref() {
        Some("wlan") => "wl",
        Some("wwan") => "ww",
        _ => prefix,
    };
    let suffix = ccw(device)
        .or_else(|| vio(device))
        .or_else(|| platform(device))
        .or_else(|| xen(device))
        .or_else(|| on_pci(device, kind == ARPHRD_INFINIBAND))?;
    Some(format!("{prefix}{suffix}"))
}

/// The nearest device above that is no virtio bus device.
fn skip_virtio(device: Device<'_>) -> Option<Device<'_>> {
    device
        .chain()
        .find(|device| device.subsystem().as_deref() != Some("virtio"))
}

/// s390x: `c` and the bus id without leading zeros and dots.
fn ccw(device: &Device<'_>) -> Option<String> {
    let parent = skip_virtio(device.parent()?)?;
    if !matches!(parent.subsystem().as_deref(), Some("ccw" | "ccwgroup")) {
        return None;
    }
    let bus_id = parent.name();
    if !matches!(bus_id.len(), 8 | 9) {
        return None;
    }
    let short = bus_id.trim_start_matches(['.', '0']);
    Some(format!("c{}", if short.is_empty() { "0" } else { short }))
}

/// ppc64le: `/sys/devices/vio/30000002/net/eth0` is `v2`.
fn vio(device: &Device<'_>) -> Option<String> {
    if device.parent()?.subsystem().as_deref() != Some("vio") {
        return None;
    }
    let id = device.path().strip_prefix("/sys/devices/vio/")?.get(..8)?;
    let slot = u32::from_str_radix(id.get(4..)?, 16).ok()?;
    Some(format!("v{slot}"))
}

/// ACPI platform devices of arm64: `/sys/devices/platform/HISI00C2:00/net/eth0` is `ahisic2i0`.
fn platform(device: &Device<'_>) -> Option<String> {
    if device.parent()?.subsystem().as_deref() != Some("platform") {
        return None;
    }
    let instance_path = device.path().strip_prefix("/sys/devices/platform/")?;
    let (id, instance) = instance_path.split('/').next()?.split_once(':')?;
    let (vendor, model) = match id.len() {
        8 => id.split_at_checked(4)?,
        7 => id.split_at_checked(3)?,
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_uppercase() || (vendor.len() == 4 && c.is_ascii_digit());
    if !vendor.chars().all(plain) {
        return None;
    }
    let model = u32::from_str_radix(model, 16).ok()?;
    let instance = u32::from_str_radix(instance, 16).ok()?;
    Some(format!("a{}{model:x}i{instance}", vendor.to_ascii_lowercase()))
}

/// Xen network front ends: `/sys/devices/vif-0/net/eth0` is `X0`.
fn xen(device: &Device<'_>) -> Option<String> {
    if device.parent()?.subsystem().as_deref() != Some("xen") {
        return None;
    }
    let rest = device.path().strip_prefix("/sys/devices/vif-")?;
    let number: u32 = rest.split('/').next()?.parse().ok()?;
    Some(format!("X{number}"))
}

/// PCI devices, and USB and Broadcom devices behind them.
fn on_pci(device: &Device<'_>, infiniband: bool) -> Option<String> {
    let parent = skip_virtio(device.parent()?)?;
    if parent.subsystem().as_deref() == Some("pci") {
        let place = pci::place(device, &parent, infiniband);
        return place.onboard.or(place.slot).or(place.path);
    }
    let pci = device.parent_of("pci", None)?;
    let place = pci::place(device, &pci, infiniband);
    let suffix = usb(device).or_else(|| bcma(device))?;
    // The onboard index belongs to the controller, not to what is plugged into it.
    let base = place.slot.or(place.path)?;
    Some(format!("{base}{suffix}"))
}

/// The chain of USB ports, with configuration and interface unless they are 1 and 0.
fn usb(device: &Device<'_>) -> Option<String> {
    let interface = device.parent_of("usb", Some("usb_interface"))?;
    let (_, place) = interface.name().split_once('-')?;
    let (ports, rest) = place.split_once(':')?;
    let (configuration, interface) = rest.split_once('.')?;
    let mut suffix = format!("u{}", ports.replace('.', "u"));
    if configuration != "1" {
        suffix += &format!("c{configuration}");
    }
    if interface != "0" {
        suffix += &format!("i{interface}");
    }
    Some(suffix)
}

/// `bcma0:2` is `b2`; core 0 has no suffix.
fn bcma(device: &Device<'_>) -> Option<String> {
    let bus = device.parent_of("bcma", None)?;
    let core: u32 = bus.name().strip_prefix("bcma")?.split_once(':')?.1.parse().ok()?;
    Some(if core > 0 {
        format!("b{core}")
    } else {
        String::new()
    })
}

#[cfg(test)]
mod tests;
