//! Gives the machine the devices and addresses of its static network.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_api::live::network::{Card, Interface, Kind, StaticNetwork};
use rtnetlink::Handle;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::{Manager, NicState, read_back};
use crate::drivers;
use crate::inventory::netlink::Route;
use crate::net::configuration::Route as Lost;
use crate::net::fixed::{Fixed, Wanted};
use crate::net::links::{self, Address, Link, Shape};
use crate::net::{bonds, devices, keyfiles};

/// Interval at which settings are repeated that the kernel refused, or has lost again.
const AGAIN: Duration = Duration::from_secs(1);

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
        if let Some(fixed) = self.fixed.clone() {
            self.write_connections(&fixed);
            return;
        }
        let environment = self.environment;
        let macs = self.nics.values().map(|nic| nic.mac.as_str());
        let said = environment.said_network.as_ref();
        let chosen = Fixed::of_machine(said, &environment.networks, macs);
        let Some(fixed) = chosen.map(Arc::new) else { return };
        self.fixed = Some(fixed.clone());
        info!(
            interfaces = fixed.0.interfaces.len(),
            "this machine has a static network"
        );
        self.write_connections(&fixed);
        let modules: BTreeSet<&str> = fixed
            .devices()
            .filter_map(|one| devices::module(&one.kind))
            .collect();
        let loading = tokio::task::spawn_blocking(move || modules.into_iter().for_each(drivers::load));
        if let Err(error) = loading.await {
            warn!("modules for the static network: {error}");
        }
    }

    /// Writes the network for an installation, again when the names of more of its cards are known.
    fn write_connections(&mut self, fixed: &Fixed) {
        let mut network = Cow::Borrowed(&fixed.0);
        if !self.environment.renames {
            let cards = self
                .nics
                .values()
                .map(|nic| (nic.name.as_str(), nic.mac.as_str()));
            find_by_address(network.to_mut(), cards);
        }
        let is_named = |nic: &&NicState| network.cards.iter().any(|card| card.mac == nic.mac);
        let installed = |nic: &NicState| nic.installed_name.as_ref().unwrap_or(&nic.name).clone();
        let names: BTreeMap<String, String> = self
            .nics
            .values()
            .filter(is_named)
            .map(|nic| (nic.mac.clone(), installed(nic)))
            .collect();
        if self.connections_of.as_ref() == Some(&names) {
            return;
        }
        let folder = &self.environment.keyfiles;
        if let Err(error) = keyfiles::write(folder, &network, &names) {
            warn!(folder = %folder.display(), "an installation will not take the network along: {error}");
        }
        self.connections_of = Some(names);
    }

    /// Makes the missing devices, in their order, and puts ports into them. A device that cannot be made yet is tried again
    /// with the next event.
    pub(super) async fn make_devices(&mut self, links: &mut Vec<Link>) {
        let Some(fixed) = self.fixed.clone() else { return };
        let before = std::mem::take(&mut self.missing);
        for wanted in fixed.devices() {
            if let Err(why) = self.have(wanted, &fixed, links).await {
                let missing = (wanted.name.clone(), why);
                if !before.contains(&missing) {
                    warn!(device = wanted.name, "{}", missing.1);
                }
                self.missing.push(missing);
                continue;
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
            let is_device = link.shape != Shape::Plain || !link.wired;
            let is_device = is_device && fixed.devices().any(|device| device.name == link.name);
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
    }

    /// Makes a device unless it is there. One that is there and that this manager has not made, as of an earlier program or of the
    /// kernel itself, is changed, or made again if it cannot be changed.
    async fn have(&mut self, wanted: &Interface, fixed: &Fixed, links: &mut Vec<Link>) -> Result<(), String> {
        let name = &wanted.name;
        if let Some(present) = links.iter().find(|link| link.name == *name) {
            if self.made.contains(name) {
                return Ok(());
            }
            if present.wired && present.shape == Shape::Plain {
                return Err("not made: a card has that name".to_owned());
            }
            let base = wanted.kind.parts().first();
            let base = base.and_then(|base| self.index_of(base, fixed, links));
            if devices::can_become(present, &wanted.kind, base) && self.change(wanted, present).await {
                info!(device = name, "is there already");
                self.made.insert(name.clone());
                return Ok(());
            }
            info!(device = name, "is there and is another: made again");
            let removed = links::remove(&self.handle, present.index).await;
            removed.map_err(|error| format!("not made: another device has that name: {error}"))?;
            self.list_again(links).await?;
        }
        let index = |part: &str| self.index_of(part, fixed, links);
        devices::make(&self.handle, wanted, index).await?;
        info!(device = name, "made");
        self.made.insert(name.clone());
        self.list_again(links).await?;
        if let Some(made) = links.iter().find(|link| link.name == *name) {
            self.change(wanted, made).await;
        }
        Ok(())
    }

    async fn list_again(&self, links: &mut Vec<Link>) -> Result<(), String> {
        *links = links::links(&self.handle)
            .await
            .map_err(|error| format!("interfaces are not listed: {error}"))?;
        Ok(())
    }

    /// Sets the options of a device of the right kind. False if the kernel did not accept them all.
    async fn change(&self, wanted: &Interface, present: &Link) -> bool {
        let mut all = true;
        match &wanted.kind {
            Kind::Ethernet | Kind::Vlan(_) => {}
            Kind::Bond(bond) => {
                let options = bonds::Options::of(&present.name);
                for (option, value) in bonds::wanted(bond) {
                    if let Err(error) = options.set(option, &value) {
                        warn!(device = present.name, option, value, "not set: {error}");
                        // A bond that is made anew has no option more.
                        all &= error.kind() == ErrorKind::NotFound;
                    }
                }
            }
            Kind::Bridge(bridge) => {
                let differs = matches!(present.shape, Shape::Bridge { stp } if stp != bridge.stp);
                if differs && let Err(error) = devices::set_stp(&self.handle, &present.name, bridge.stp).await
                {
                    warn!(device = present.name, "STP is not set: {error}");
                    all = false;
                }
            }
        }
        all
    }

    async fn add_ports(&self, wanted: &Interface, device: u32, fixed: &Fixed, links: &[Link]) {
        for part in wanted.kind.ports() {
            let Some(port) = self.index_of(part, fixed, links) else {
                debug!(device = wanted.name, part, "waits for a port");
                continue;
            };
            let Some(port) = links.iter().find(|link| link.index == port) else {
                continue;
            };
            let is_new = port.controller != Some(device);
            if is_new {
                if let Err(error) = devices::add_port(&self.handle, port.index, device).await {
                    warn!(device = wanted.name, part, "not made a port: {error}");
                    continue;
                }
                info!(device = wanted.name, part, "is a port");
            }
            let Kind::Bond(bond) = &wanted.kind else { continue };
            // The active port changes by itself afterwards.
            let active = bond.options.get(bonds::ACTIVE).filter(|_| is_new);
            for (option, chosen) in [("primary", bond.primary.as_ref()), (bonds::ACTIVE, active)] {
                if chosen == Some(part)
                    && let Err(error) = bonds::Options::of(&wanted.name).set(option, &port.name)
                {
                    debug!(device = wanted.name, part, option, "not set: {error}");
                }
            }
        }
    }

    /// Sets MTUs and hardware addresses that differ from the configuration.
    pub(super) async fn set_properties(&mut self, links: &mut [Link]) {
        let Some(fixed) = self.fixed.clone() else { return };
        for link in links {
            let Some(nic) = self.nics.get_mut(&link.index) else {
                continue;
            };
            let Some(interface) = fixed.said_of(fixed.name_of(nic), link) else {
                continue;
            };
            let mut why = Vec::new();
            if let Some(mac) = read_back::wanted_mac(&fixed, interface).filter(|mac| *mac != link.mac) {
                match links::set_mac(&self.handle, link.index, &mac).await {
                    Ok(()) => link.mac = mac,
                    Err(error) => why.push(format!("MAC address: {error}")),
                }
            }
            let mtu = read_back::wanted_mtu(&fixed, interface).filter(|mtu| *mtu != link.mtu);
            if let Some(mtu) = mtu {
                match links::set_mtu(&self.handle, link.index, mtu).await {
                    Ok(()) => link.mtu = mtu,
                    Err(error) => why.push(format!("MTU: {error}")),
                }
            }
            let why = why.join(", ");
            if !why.is_empty() && why != nic.refused {
                warn!(nic = link.name, "not set: {why}");
            }
            nic.refused = why;
        }
    }

    /// The index of a part by the configuration's name of it. A card's name counts once it is adopted.
    pub(super) fn index_of(&self, part: &str, fixed: &Fixed, links: &[Link]) -> Option<u32> {
        match fixed.card(part) {
            Some(mac) => {
                let mut nics = self.nics.iter();
                nics.find(|(_, nic)| nic.mac == mac).map(|(index, _)| *index)
            }
            None => {
                let is_it =
                    |link: &&Link| link.name == part && (!link.wired || self.nics.contains_key(&link.index));
                links.iter().find(is_it).map(|link| link.index)
            }
        }
    }
}

/// Has the network's cards that are known by their names alone known by their addresses, too: the installed system has other names.
/// `cards`: names and addresses.
fn find_by_address<'a>(network: &mut StaticNetwork, cards: impl Iterator<Item = (&'a str, &'a str)>) {
    for (name, mac) in cards.filter(|(_, mac)| !mac.is_empty()) {
        let is_card = |one: &Interface| one.name == name && one.kind == Kind::Ethernet;
        if network.interfaces.iter().any(is_card) && network.cards.iter().all(|card| card.name != name) {
            network.cards.push(Card {
                mac: mac.to_owned(),
                name: name.to_owned(),
            });
        }
    }
}

impl NicState {
    /// Applies the static configuration of the interface, again if the kernel has lost it.
    pub(super) async fn fix(
        &mut self,
        handle: &Handle,
        link: &Link,
        addresses: &[Address],
        routes: &[Route],
        wanted: &Wanted,
    ) {
        if let Some(taken) = wanted.advertisements {
            take_advertisements(&link.name, taken);
        }
        let Some(configuration) = &wanted.configuration else {
            return;
        };
        if !link.up {
            return;
        }
        let has = |ip| {
            addresses
                .iter()
                .any(|one| one.index == link.index && one.address == ip)
        };
        // Of two cards with one route of one metric the last one keeps it: they do not take it from each other for ever.
        let is_taken = |wanted: &Lost| {
            let same = |one: &Route| (one.destination, one.prefix) == wanted.destination;
            let mut others = routes.iter().filter(|one| one.link != Some(link.index));
            others.any(|one| same(one) && Some(one.metric) == wanted.metric)
        };
        let lost = read_back::lost_routes(configuration, link, routes);
        let is_there =
            configuration.addresses.iter().all(|(ip, _)| has(*ip)) && lost.into_iter().all(is_taken);
        if is_there && self.fixed.as_ref() == Some(configuration) {
            return;
        }
        // The kernel reports each address that is set, which starts the next reconcile.
        let is_new = self.fixed_at.is_none() || self.fixed.as_ref().is_some_and(|old| old != configuration);
        if !is_new && self.fixed_at.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        self.fixed_at = Some(Instant::now());
        let old = self.fixed.clone().unwrap_or_default();
        match links::replace(handle, link.index, &old, configuration).await {
            Ok(()) => {
                info!(nic = link.name, "static addresses are set");
                self.note.clear();
                self.fixed = Some(configuration.clone());
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

#[cfg(test)]
mod tests {
    use muster_api::live::network::keyfiles;

    use super::*;
    use crate::config::live::KernelArguments;
    use crate::net::dracut;

    #[test]
    fn cards_with_the_kernels_names_are_found_by_their_addresses_on_the_installed_system() {
        let line = "net.ifnames=0 bond=bond0:eth2,eth3:mode=active-backup,primary=eth3 ip=bond0:dhcp";
        let mut network = dracut::network(&KernelArguments::parse(line)).0.unwrap();
        let cards = [
            ("eth0", "52:54:00:00:00:01"),
            ("eth2", "52:54:00:00:00:02"),
            ("eth3", "52:54:00:00:00:03"),
            ("bond0", ""),
        ];
        find_by_address(&mut network, cards.into_iter());
        let names = BTreeMap::from([("52:54:00:00:00:03".to_owned(), "enp0s7".to_owned())]);
        let files: BTreeMap<String, String> = keyfiles(&network, &names)
            .map(|file| (file.name.clone(), file.to_string()))
            .collect();
        let port = &files["eth2.nmconnection"];
        assert!(
            port.contains("mac-address=52:54:00:00:00:02") && !port.contains("interface-name="),
            "{port}"
        );
        let bond = &files["bond0.nmconnection"];
        assert!(
            bond.contains("interface-name=bond0\n") && bond.contains("primary=enp0s7\n"),
            "{bond}"
        );
        assert_eq!(files.len(), 3);
    }
}
