//! Keeps every wired interface named, up and configured. Every event of the kernel starts a reconcile of all
//! of them, so that nothing depends on the order of events.

mod order;
mod shape;
mod switches;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use mozim::DhcpV4Lease;
use muster_api::inventory::SwitchPort;
use muster_api::live::network::StaticNetwork;
use rtnetlink::{Handle, MulticastGroup, new_multicast_connection};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::{info, warn};

use super::configuration::Configuration;
use super::dhcp::{self, Family, LeaseEvent, Nic};
use super::fixed::{Fixed, Wanted};
use super::links::{self, Address, Link};
use super::lldp::NeighborChange;
use super::router_options::{Advertised, RouterOptions};
use super::stateless;
use super::view::{InterfaceView, NetworkView};
use crate::time::sources::TimeSources;
use switches::Neighbor;

/// Longest time between two reconciles without an event.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(10);
/// After this long a missing link or address is shown on the console.
const SETTLED: Duration = Duration::from_secs(12);
/// Events within this time are handled together.
const GATHER: Duration = Duration::from_millis(20);

/// Gives the name of an interface by its present one.
pub type Naming = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The network's dependencies.
pub struct Environment {
    pub naming: Naming,
    /// Receives the time sources of leases.
    pub time: TimeSources,
    pub view: watch::Sender<NetworkView>,
    /// Static networks, of which the machine takes the one that names a card of its own.
    pub networks: Vec<StaticNetwork>,
    /// The network that kernel arguments say; it wins.
    pub said_network: Option<StaticNetwork>,
    /// Folder of NetworkManager's connections, which an installation takes along.
    pub keyfiles: PathBuf,
    /// Path of the resolver's file.
    pub resolv_conf: PathBuf,
    /// Folder of such files with the name servers of one card alone.
    pub resolv_folder: PathBuf,
    /// MAC address of the card that the machine was booted through.
    pub boot_mac: Option<String>,
    /// The card through which the service answered.
    pub working: watch::Receiver<Option<String>>,
    /// Path of the file with what switches tell of their ports.
    pub switch_ports: PathBuf,
}

/// Runs the network for ever.
///
/// # Errors
/// The kernel gives no netlink socket, or its answers end.
pub async fn run(environment: &Environment) -> anyhow::Result<()> {
    let groups = [
        MulticastGroup::Link,
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv6Ifinfo,
    ];
    let (connection, handle, mut changes) = new_multicast_connection(&groups)?;
    tokio::spawn(connection);
    let mut options = RouterOptions::open()?;
    let mut working = environment.working.clone();
    let (lease_sender, mut leases) = mpsc::unbounded_channel();
    let (neighbor_sender, mut neighbors) = mpsc::unbounded_channel();
    let mut manager = Manager {
        environment,
        handle,
        leases: lease_sender,
        neighbors: neighbor_sender,
        nics: HashMap::new(),
        fixed: None,
        missing: Vec::new(),
        resolver_texts: HashMap::new(),
        switch_ports_text: String::new(),
        began: Instant::now(),
    };
    loop {
        manager.reconcile().await?;
        tokio::select! {
            message = changes.next() => {
                anyhow::ensure!(message.is_some(), "the kernel's events on links have ended");
                tokio::time::sleep(GATHER).await;
                while futures_util::FutureExt::now_or_never(changes.next()).flatten().is_some() {}
            }
            Some(one) = leases.recv() => manager.take(one).await,
            Some(one) = neighbors.recv() => manager.neighbor_changed(one),
            options = options.next() => match options {
                Ok((index, advertised)) => manager.advertised(index, advertised),
                Err(error) => warn!("router options: {error}"),
            },
            Ok(()) = working.changed() => {}
            () = tokio::time::sleep(RECONCILE_INTERVAL) => {}
        }
    }
}

/// The state of a wired interface.
#[derive(Default)]
struct NicState {
    name: String,
    /// A card's own address, which it does not show as a port of a bond. Empty for devices that are made of others.
    mac: String,
    /// Of routes that say none.
    metric: u32,
    tasks: HashMap<&'static str, Task>,
    dhcp4: Option<Configuration>,
    dhcp6: Option<Configuration>,
    advertised: Option<Configuration>,
    /// Of the static network, as far as it was applied.
    fixed: Option<Configuration>,
    earlier: Option<Box<DhcpV4Lease>>,
    /// Families whose configuration the kernel did not accept whole.
    not_applied: HashSet<Family>,
    note: String,
    neighbor: Neighbor,
}

impl NicState {
    /// Stores a family's configuration. Gives the parts to withdraw and to apply; a configuration that was
    /// not applied whole is given again.
    fn keep(
        &mut self,
        family: Family,
        current: Option<Configuration>,
    ) -> (Option<Configuration>, Option<Configuration>) {
        let place = match family {
            Family::V4 => &mut self.dhcp4,
            Family::V6 => &mut self.dhcp6,
        };
        let old = std::mem::replace(place, current.clone());
        let again = self.not_applied.remove(&family);
        if old != current {
            (old, current)
        } else if again {
            (None, current)
        } else {
            (None, None)
        }
    }

    fn configurations(&self) -> impl Iterator<Item = &Configuration> {
        let all = [&self.fixed, &self.dhcp4, &self.dhcp6, &self.advertised];
        all.into_iter().flatten()
    }
}

/// A task that ends when it is dropped.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Manager<'a> {
    environment: &'a Environment,
    handle: Handle,
    leases: mpsc::UnboundedSender<LeaseEvent>,
    neighbors: mpsc::UnboundedSender<NeighborChange>,
    nics: HashMap<u32, NicState>,
    /// The static network of this machine.
    fixed: Option<Arc<Fixed>>,
    /// Devices of the static network that cannot be had yet, and why.
    missing: Vec<(String, String)>,
    /// The resolver's files as they were written.
    resolver_texts: HashMap<PathBuf, String>,
    switch_ports_text: String,
    began: Instant,
}

impl Manager<'_> {
    /// Compares the interfaces with their configuration, and applies the difference.
    async fn reconcile(&mut self) -> anyhow::Result<()> {
        let mut links = links::links(&self.handle).await?;
        for link in &mut links {
            if link.loopback && !link.up {
                self.up(link).await;
            }
            if link.wired && !self.nics.contains_key(&link.index) {
                self.adopt(link).await;
            }
        }
        self.choose_network().await;
        self.make_devices(&mut links).await?;
        let addresses = links::addresses(&self.handle).await?;
        self.nics
            .retain(|index, _| links.iter().any(|link| link.index == *index && link.wired));
        self.order_cards(&links).await;
        for link in links.iter().filter(|link| link.wired) {
            self.tend(link, &addresses).await;
        }
        self.publish(&links, &addresses);
        Ok(())
    }

    /// Adds a new interface: renames it while it is down, then sets it up.
    async fn adopt(&mut self, link: &mut Link) {
        if !link.up
            && let Some(name) = (self.environment.naming)(&link.name)
            && name != link.name
        {
            match links::rename(&self.handle, link.index, &name).await {
                Ok(()) => link.name = name,
                Err(error) => warn!(nic = link.name, wanted = name, "not renamed: {error}"),
            }
        }
        info!(nic = link.name, index = link.index, "wired interface");
        self.nics.insert(
            link.index,
            NicState {
                name: link.name.clone(),
                mac: mac_text(&link.mac),
                ..NicState::default()
            },
        );
        if !link.up {
            self.up(link).await;
        }
    }

    async fn up(&self, link: &mut Link) {
        match links::set_up(&self.handle, link.index).await {
            Ok(()) => link.up = true,
            Err(error) => warn!(nic = link.name, "not set up: {error}"),
        }
    }

    async fn tend(&mut self, link: &Link, addresses: &[Address]) {
        let Some(nic) = self.nics.get_mut(&link.index) else {
            return;
        };
        nic.name.clone_from(&link.name);
        nic.listen(link, &self.neighbors);
        let wanted = match &self.fixed {
            Some(fixed) => fixed.wanted(fixed.name_of(nic), link),
            None => Wanted::automatic(link),
        };
        nic.fix(&self.handle, link, addresses, &wanted).await;
        if !link.carrier || !(wanted.dhcp4 || wanted.dhcp6 || wanted.stateless6) {
            if !nic.tasks.is_empty() {
                info!(nic = link.name, carrier = link.carrier, "no leases");
                nic.tasks.clear();
                for old in [nic.dhcp4.take(), nic.dhcp6.take()].into_iter().flatten() {
                    links::withdraw(&self.handle, link.index, &old).await;
                }
                nic.advertised = None;
                nic.not_applied.clear();
                nic.note.clear();
            }
            return;
        }
        let who = Nic {
            index: link.index,
            name: link.name.clone(),
            mac: link.mac.clone(),
        };
        let leases = &self.leases;
        let earlier = &nic.earlier;
        if wanted.dhcp4 {
            nic.tasks.entry("dhcp4").or_insert_with(|| {
                info!(nic = who.name, "carrier");
                Task(tokio::spawn(dhcp::keep_v4(who.clone(), earlier.clone(), leases.clone())).abort_handle())
            });
        }
        if !wanted.stateless6 {
            nic.tasks.remove("stateless6");
        }
        let Some(from) = links::link_local(addresses, link.index) else {
            return;
        };
        if wanted.dhcp6 {
            nic.tasks.entry("dhcp6").or_insert_with(|| {
                Task(tokio::spawn(dhcp::keep_v6(who, from, leases.clone())).abort_handle())
            });
        } else if wanted.stateless6 {
            nic.tasks.entry("stateless6").or_insert_with(|| {
                Task(tokio::spawn(stateless::keep(who, from, leases.clone())).abort_handle())
            });
        }
    }

    /// Handles a change of a lease.
    async fn take(&mut self, leases: LeaseEvent) {
        let Some(nic) = self.nics.get_mut(&leases.index) else {
            return;
        };
        // A task that was ended may have left an event.
        if nic.tasks.is_empty() {
            return;
        }
        nic.note = leases.note;
        if leases.lease4.is_some() {
            nic.earlier = leases.lease4;
        }
        let metric = nic.metric;
        let configuration = leases.configuration.map(|one| one.with_metric(metric));
        let (old, wanted) = nic.keep(leases.family, configuration);
        if let Some(old) = old {
            links::withdraw(&self.handle, leases.index, &old).await;
        }
        let Some(wanted) = wanted else { return };
        if let Err(error) = links::apply(&self.handle, leases.index, &wanted).await {
            warn!(nic = nic.name, "lease not applied: {error}");
            nic.note = format!("lease not applied: {error}");
            nic.not_applied.insert(leases.family);
        }
        for source in &wanted.ntp {
            self.environment.time.add(source);
        }
    }

    fn advertised(&mut self, index: u32, advertised: Advertised) {
        if let Some(nic) = self.nics.get_mut(&index) {
            advertised.merge_into(nic.advertised.get_or_insert_default());
        }
    }

    /// Writes the resolver's file, sets the host name, and updates the view.
    fn publish(&mut self, links: &[Link], addresses: &[Address]) {
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
        // Before the view, at whose change the inventory is reported.
        self.write_switch_ports(&switch_ports);
        let view = NetworkView {
            interfaces,
            hostname,
            name_servers,
            settled: self.began.elapsed() >= SETTLED,
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

fn mac_text(mac: &[u8]) -> String {
    mac.iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_put_on_once_unless_the_kernel_did_not_take_it() {
        let current = |hostname: &str| {
            Some(Configuration {
                hostname: Some(hostname.to_owned()),
                ..Configuration::default()
            })
        };
        let mut nic = NicState::default();
        assert_eq!(nic.keep(Family::V4, current("a")), (None, current("a")));
        assert_eq!(nic.keep(Family::V4, current("a")), (None, None), "a renewal");
        nic.not_applied.insert(Family::V4);
        assert_eq!(nic.keep(Family::V6, None), (None, None));
        assert_eq!(
            nic.keep(Family::V4, current("a")),
            (None, current("a")),
            "tried again"
        );
        assert_eq!(nic.keep(Family::V4, current("a")), (None, None), "it went on");
        assert_eq!(nic.keep(Family::V4, current("b")), (current("a"), current("b")));
        assert_eq!(nic.keep(Family::V4, None), (current("b"), None));
    }
}
