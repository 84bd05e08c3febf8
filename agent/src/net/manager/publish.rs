//! Passes the state of the network on to the console and the inventory.

use std::collections::BTreeMap;

use muster_api::inventory::SwitchPort;
use tracing::warn;

use super::{Manager, NicState};
use crate::net::links::{Address, Link, mac_text};
use crate::view::network::{InterfaceView, NetworkView};
use crate::view::problem::Problem;

impl Manager<'_> {
    /// Writes the resolver's file, sets the host name, and updates the view.
    pub(super) fn publish(
        &mut self,
        links: &[Link],
        addresses: &[Address],
        problems: Vec<Problem>,
        settled: bool,
    ) {
        let name_servers = self.write_resolver_files();
        let mut ordered: Vec<&NicState> = links
            .iter()
            .filter_map(|link| self.nics.get(&link.index))
            .collect();
        ordered.sort_by_key(|nic| nic.metric);
        let all = || ordered.iter().flat_map(|nic| nic.configurations());
        let switch_ports: BTreeMap<String, SwitchPort> = ordered
            .iter()
            .filter_map(|nic| Some((nic.name.clone(), nic.switch_port(self.fixed.as_deref())?)))
            .collect();
        let missing = self.missing.iter().map(|(name, note)| InterfaceView {
            name: name.clone(),
            note: note.clone(),
            ..InterfaceView::default()
        });
        let hostname = all().find_map(|one| one.hostname.clone()).unwrap_or_default();
        let interfaces = links
            .iter()
            .filter(|link| link.wired)
            .map(|link| InterfaceView {
                name: link.name.clone(),
                mac: mac_text(&link.mac),
                carrier: link.carrier,
                addresses: shown(addresses, link.index),
                note: self
                    .nics
                    .get(&link.index)
                    .map(|nic| nic.note.clone())
                    .unwrap_or_default(),
                switch: switch_ports
                    .get(&link.name)
                    .map(SwitchPort::to_string)
                    .unwrap_or_default(),
            })
            .chain(missing)
            .collect();
        // Before the view, since a change of that triggers the inventory.
        self.write_switch_ports(&switch_ports);
        self.write_problems(&problems);
        let view = NetworkView {
            interfaces,
            hostname,
            name_servers,
            problems,
            settled,
        };
        self.environment.view.send_if_modified(|present| {
            if !view.hostname.is_empty()
                && view.hostname != present.hostname
                && let Err(error) = nix::unistd::sethostname(&view.hostname)
            {
                warn!(hostname = view.hostname, "not set: {error}");
            }
            let changed = *present != view;
            *present = view;
            changed
        });
    }
}

fn shown(addresses: &[Address], index: u32) -> Vec<String> {
    addresses
        .iter()
        .filter(|one| one.index == index && one.global && one.usable)
        .map(|one| format!("{}/{}", one.address, one.prefix))
        .collect()
}
