//! Gives the machine the devices and addresses of its static network.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use muster_api::live::network::{Bond, Interface, Kind};
use rtnetlink::Handle;
use tracing::{debug, info, warn};

use super::{Manager, NicState};
use crate::init::drivers;
use crate::net::devices;
use crate::net::fixed::{Fixed, Wanted};
use crate::net::keyfiles;
use crate::net::links::{self, Address, Link};

impl Fixed {
    /// The configuration's name of a card; the kernel's if it has none.
    pub(super) fn name_of<'a>(&'a self, nic: &'a NicState) -> &'a str {
        let mut cards = self.0.cards.iter();
        cards
            .find(|card| card.mac == nic.mac)
            .map_or(&nic.name, |card| &card.name)
    }
}

impl Manager<'_> {
    /// Looks for the network of this machine until a card of it has appeared, and loads the modules that its devices need.
    pub(super) async fn choose_network(&mut self) {
        if self.fixed.is_some() {
            return;
        }
        let environment = self.environment;
        let macs = self.nics.values().map(|nic| nic.mac.as_str());
        let chosen = match &environment.said_network {
            Some(said) => Some(Fixed(said.clone())),
            None => Fixed::choose(&environment.networks, macs),
        };
        let Some(fixed) = chosen.map(Arc::new) else { return };
        self.fixed = Some(fixed.clone());
        info!(
            interfaces = fixed.0.interfaces.len(),
            "this machine has a static network"
        );
        if let Err(error) = keyfiles::write(&environment.keyfiles, &fixed.0) {
            warn!(folder = %environment.keyfiles.display(), "an installation will not take the network along: {error}");
        }
        let modules: BTreeSet<&str> = fixed
            .devices()
            .filter_map(|one| devices::module(&one.kind))
            .collect();
        let loading = tokio::task::spawn_blocking(move || modules.into_iter().for_each(drivers::load));
        if let Err(error) = loading.await {
            warn!("modules for the static network: {error}");
        }
    }

    /// Makes what is missing of the devices, in their order, and puts ports into them. What cannot be had yet is tried again
    /// with the next event.
    pub(super) async fn make_devices(&mut self, links: &mut Vec<Link>) -> anyhow::Result<()> {
        let Some(fixed) = self.fixed.clone() else {
            return Ok(());
        };
        let before = std::mem::take(&mut self.missing);
        for wanted in fixed.devices() {
            if index_by_name(links, &wanted.name).is_none() {
                if let Err(why) = self.make(wanted, &fixed, links).await {
                    let missing = (wanted.name.clone(), why);
                    if !before.contains(&missing) {
                        warn!(device = wanted.name, "{}", missing.1);
                    }
                    self.missing.push(missing);
                    continue;
                }
                info!(device = wanted.name, "made");
                *links = links::links(&self.handle).await?;
            }
            let Some(device) = links.iter().find(|link| link.name == wanted.name) else {
                continue;
            };
            let (index, up) = (device.index, device.up);
            self.add_ports(wanted, index, &fixed, links).await;
            if !up && let Err(error) = links::set_up(&self.handle, index).await {
                warn!(device = wanted.name, "not set up: {error}");
            }
        }
        for link in links.iter_mut() {
            let is_device = fixed.devices().any(|device| device.name == link.name);
            link.wired |= is_device;
            // A card that has appeared meanwhile is adopted by the next reconcile, which its event starts.
            if is_device && !self.nics.contains_key(&link.index) {
                // Without an address of its own: it has that of a part.
                let nic = NicState {
                    name: link.name.clone(),
                    ..NicState::default()
                };
                self.nics.insert(link.index, nic);
            }
        }
        Ok(())
    }

    async fn make(&self, wanted: &Interface, fixed: &Fixed, links: &[Link]) -> Result<(), String> {
        devices::make(&self.handle, wanted, |part| self.index_of(part, fixed, links)).await
    }

    async fn add_ports(&self, wanted: &Interface, device: u32, fixed: &Fixed, links: &[Link]) {
        for part in wanted.kind.ports() {
            let Some(port) = self.index_of(part, fixed, links) else {
                debug!(device = wanted.name, part, "waits for a port");
                continue;
            };
            let has = |link: &Link| link.index == port && link.controller == Some(device);
            if links.iter().any(has) {
                continue;
            }
            if let Err(error) = devices::add_port(&self.handle, port, device).await {
                warn!(device = wanted.name, part, "not made a port: {error}");
                continue;
            }
            info!(device = wanted.name, part, "is a port");
            if let Kind::Bond(Bond {
                primary: Some(primary),
                ..
            }) = &wanted.kind
                && primary == part
                && let Err(error) = devices::set_primary(&self.handle, &wanted.name, port).await
            {
                warn!(device = wanted.name, part, "not made the primary port: {error}");
            }
        }
    }

    /// The index of a part by the configuration's name of it.
    fn index_of(&self, part: &str, fixed: &Fixed, links: &[Link]) -> Option<u32> {
        match fixed.card(part) {
            Some(mac) => {
                let mut nics = self.nics.iter();
                nics.find(|(_, nic)| nic.mac == mac).map(|(index, _)| *index)
            }
            None => index_by_name(links, part),
        }
    }
}

fn index_by_name(links: &[Link], name: &str) -> Option<u32> {
    links.iter().find(|link| link.name == name).map(|link| link.index)
}

impl NicState {
    /// Gives the interface its static part, again when the kernel has lost it.
    pub(super) async fn fix(&mut self, handle: &Handle, link: &Link, addresses: &[Address], wanted: &Wanted) {
        if let Some(taken) = wanted.advertisements {
            take_advertisements(&link.name, taken);
        }
        let Some(configuration) = &wanted.configuration else {
            return;
        };
        let configuration = configuration.clone().with_metric(self.metric);
        if !link.up {
            return;
        }
        let has = |ip| {
            addresses
                .iter()
                .any(|one| one.index == link.index && one.address == ip)
        };
        let is_there = configuration.addresses.iter().all(|(ip, _)| has(*ip));
        if is_there && self.fixed.as_ref() == Some(&configuration) {
            return;
        }
        let old = self.fixed.clone().unwrap_or_default();
        match links::replace(handle, link.index, &old, &configuration).await {
            Ok(()) => {
                info!(nic = link.name, "static addresses are set");
                self.note.clear();
                self.fixed = Some(configuration);
            }
            Err(error) => {
                let note = format!("static network not applied: {error}");
                if note != self.note {
                    warn!(nic = link.name, "{note}");
                }
                self.note = note;
            }
        }
    }
}

fn take_advertisements(nic: &str, taken: bool) {
    let file = Path::new("/proc/sys/net/ipv6/conf").join(nic).join("accept_ra");
    let wanted = if taken { "1" } else { "0" };
    match std::fs::read_to_string(&file) {
        Ok(present) if present.trim() == wanted => {}
        Ok(_) => {
            if let Err(error) = std::fs::write(&file, wanted) {
                warn!(nic, "router advertisements: {error}");
            }
        }
        // A kernel without IPv6.
        Err(error) => debug!(nic, "router advertisements: {error}"),
    }
}
