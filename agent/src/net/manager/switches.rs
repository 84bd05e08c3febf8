//! Keeps what switches advertise about the ports that the cards are plugged into, for the console and the inventory.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use muster_api::inventory::SwitchPort;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use super::neighbor::Neighbor;
use super::read_back::Difference;
use super::{Manager, NicState, write_for_inventory};
use crate::net::fixed::Fixed;
use crate::net::links::Link;
use crate::net::lldp::{self, NeighborPorts};
use crate::view::problem::{Problem, Source};

/// Drivers of cards whose firmware has an LLDP agent of its own, which takes the packets before the system sees them, and the private flag
/// (ethtool(8)) that ends that. Source: Documentation/networking/device_drivers/ethernet/intel of Linux.
const TAKE_LLDP: [(&str, &str); 2] = [("i40e", "disable-fw-lldp on"), ("ice", "fw-lldp-agent off")];

/// Switches speak every thirty seconds, and this is many times that.
const UNHEARD: Duration = Duration::from_secs(180);

impl NicState {
    /// Listens while there is a carrier; another cable may be another port.
    pub(super) fn listen(&mut self, link: &Link, ports: &watch::Sender<NeighborPorts>) {
        let is_card = !self.mac.is_empty();
        let Neighbor {
            listener,
            port,
            changed_at,
        } = &mut self.neighbor;
        if !link.carrier {
            listener.clear();
            *port = None;
            // Without a notification: none is needed.
            ports.send_if_modified(|ports| {
                ports.remove(&link.index);
                false
            });
        } else if is_card {
            let listen = || lldp::listen(link.index, link.name.clone(), *changed_at, ports.clone());
            if let Some(note) = listener.keep(&link.name, "LLDP", listen) {
                self.note = note;
            }
        }
    }

    /// The port of the switch, with the VLANs that it lacks for `fixed`. One that advertises no VLANs may have them all.
    pub(super) fn switch_port(&self, fixed: Option<&Fixed>) -> Option<SwitchPort> {
        let mut port = self.neighbor.port.clone()?;
        if let Some(fixed) = fixed.filter(|_| !port.tagged_vlans.is_empty()) {
            let mut missing = fixed.vlans_on(fixed.name_of(self));
            missing.retain(|vlan| *vlan != port.native_vlan && !port.tagged_vlans.contains(vlan));
            port.missing_vlans = missing;
        }
        Some(port)
    }
}

impl Manager<'_> {
    pub(super) fn neighbors_changed(&mut self, ports: &NeighborPorts) {
        for (index, port) in ports {
            let Some(nic) = self.nics.get_mut(index) else {
                continue;
            };
            // A listener that was ended may have left one.
            if nic.neighbor.listener.is_empty() || nic.neighbor.port == *port {
                continue;
            }
            match port {
                Some(port) => info!(nic = nic.name, "{port}"),
                None => info!(nic = nic.name, "the switch no longer reports its port"),
            }
            nic.neighbor.port.clone_from(port);
            nic.neighbor.changed_at = Some(Instant::now());
        }
    }

    /// Cards with VLANs that receive no LLDP packets, if their firmware may be the reason.
    pub(super) fn unheard(&self, fixed: &Fixed, links: &[Link]) -> Vec<Difference> {
        let of = |link: &Link| {
            let nic = self.nics.get(&link.index)?;
            let is_silent = link.carrier && !nic.mac.is_empty() && nic.neighbor.port.is_none();
            let vlans = is_silent.then(|| fixed.vlans_on(fixed.name_of(nic)))?;
            unheard(&link.name, &driver(&link.name)?, &vlans)
        };
        links.iter().filter_map(of).collect()
    }

    /// Writes the ports by the names of their interfaces, when they are others than before.
    pub(super) fn write_switch_ports(&mut self, ports: &BTreeMap<String, SwitchPort>) {
        let text = serde_json::to_string(ports).unwrap_or_default();
        if text == self.switch_ports_text {
            return;
        }
        let file = &self.environment.switch_ports;
        match write_for_inventory(file, &text) {
            Ok(()) => self.switch_ports_text = text,
            Err(error) => warn!(file = %file.display(), "not written: {error}"),
        }
    }
}

fn driver(nic: &str) -> Option<String> {
    let driver = Path::new("/sys/class/net").join(nic).join("device/driver");
    let driver = std::fs::read_link(driver).ok()?;
    Some(driver.file_name()?.to_string_lossy().into_owned())
}

fn unheard(nic: &str, driver: &str, vlans: &[u16]) -> Option<Difference> {
    let (_, flag) = TAKE_LLDP.iter().find(|(name, _)| *name == driver)?;
    if vlans.is_empty() {
        return None;
    }
    let vlans: Vec<String> = vlans.iter().map(u16::to_string).collect();
    let text = format!(
        "no LLDP packets of its switch are received, so it is not known whether the port has VLAN {}; the firmware of cards with the driver {driver} takes \
         these packets unless its own LLDP agent is off",
        vlans.join(", ")
    );
    let advice = format!(
        "Switch the LLDP agent of {nic} off in its setup, or under an installed system (ethtool --set-priv-flags {nic} {flag})."
    );
    let problem = Problem {
        source: Source::SwitchPort,
        ..Problem::of(nic, text, advice)
    };
    Some(Difference {
        problem,
        patience: UNHEARD,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_switch_is_told_where_the_firmware_may_take_its_packets_and_vlans_are_to_be_there() {
        let problem = |driver, vlans: &[u16]| unheard("ens1f0", driver, vlans).map(|one| one.problem);
        let told = problem("ice", &[100, 200]).unwrap();
        assert_eq!(told.subject(), "switch-port.ens1f0");
        assert!(
            told.line()
                .starts_with("ens1f0: no LLDP packets of its switch are received")
                && told.text.contains("VLAN 100, 200;"),
            "{}",
            told.line()
        );
        assert!(
            told.advice.contains("--set-priv-flags ens1f0 fw-lldp-agent off"),
            "{}",
            told.advice
        );
        assert!(
            problem("i40e", &[5])
                .unwrap()
                .advice
                .contains("disable-fw-lldp on")
        );
        assert_eq!(problem("ice", &[]), None);
        assert_eq!(problem("virtio_net", &[100]), None);
    }
}
