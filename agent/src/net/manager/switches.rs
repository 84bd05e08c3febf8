//! Keeps what switches tell of the ports that the cards are plugged into, for the console and the inventory.

use std::collections::BTreeMap;
use std::path::Path;

use muster_api::inventory::SwitchPort;
use tokio::sync::mpsc::UnboundedSender;
use tracing::{info, warn};

use super::{Manager, NicState, Task};
use crate::net::fixed::Fixed;
use crate::net::links::Link;
use crate::net::lldp::{self, NeighborChange};

/// The other end of a card's cable.
#[derive(Default)]
pub(super) struct Neighbor {
    listener: Option<Task>,
    port: Option<SwitchPort>,
}

impl NicState {
    /// Listens while there is a carrier; another cable may be another port.
    pub(super) fn listen(&mut self, link: &Link, changes: &UnboundedSender<NeighborChange>) {
        let is_card = !self.mac.is_empty();
        if !link.carrier {
            self.neighbor = Neighbor::default();
        } else if is_card && self.neighbor.listener.is_none() {
            let listening = lldp::listen(link.index, link.name.clone(), changes.clone());
            self.neighbor.listener = Some(Task(tokio::spawn(listening).abort_handle()));
        }
    }

    /// The port of the switch, with the VLANs that it lacks for `fixed`. One that tells no VLANs may have them all.
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
    pub(super) fn neighbor_changed(&mut self, change: NeighborChange) {
        let Some(nic) = self.nics.get_mut(&change.index) else {
            return;
        };
        // A listener that was ended may have left one.
        if nic.neighbor.listener.is_none() || nic.neighbor.port == change.port {
            return;
        }
        match &change.port {
            Some(port) => info!(nic = nic.name, "{port}"),
            None => info!(nic = nic.name, "the switch tells of its port no more"),
        }
        nic.neighbor.port = change.port;
    }

    /// Writes the ports by the names of their interfaces, when they are others than before.
    pub(super) fn write_switch_ports(&mut self, ports: &BTreeMap<String, SwitchPort>) {
        let text = serde_json::to_string(ports).unwrap_or_default();
        if text == self.switch_ports_text {
            return;
        }
        let file = &self.environment.switch_ports;
        let folder = file.parent().unwrap_or(Path::new("/"));
        match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, &text)) {
            Ok(()) => self.switch_ports_text = text,
            Err(error) => warn!(file = %file.display(), "not written: {error}"),
        }
    }
}
