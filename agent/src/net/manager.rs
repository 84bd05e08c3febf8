//! Keeps every wired interface named, up and configured. Every event of the kernel starts a reconcile of all
//! of them, so that nothing depends on the order of events.

mod neighbor;
mod nic;
mod order;
mod problems;
mod publish;
mod read_back;
mod shape;
mod switches;
mod task;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use muster_api::live::network::StaticNetwork;
use netlink_packet_route::AddressFamily;
use rtnetlink::{Handle, MulticastGroup, new_multicast_connection};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{info, warn};

use super::dhcp::{self, Family, LeaseEvent, Nic};
use super::fixed::Fixed;
use super::links::{self, Address, Link, mac_text};
use super::lldp::NeighborPorts;
use super::router_options::{Advertised, RouterOptions};
use super::stateless;
use crate::drivers::devices::Devices;
use crate::inventory::netlink::{self, Route};
use crate::root::Root;
use crate::view::network::NetworkView;
use crate::view::problem::Problem;
use nic::NicState;
use problems::{Settling, Standing};

/// Longest time between two reconciles without an event.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(10);
/// Events within this time are handled together.
const GATHER: Duration = Duration::from_millis(20);

/// Changes of leases that wait to be handled; further senders wait.
const LEASE_EVENTS: usize = 32;

/// Gives the name that an interface has on the installed system, by its present one.
pub type Naming = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Adds a time source of a lease.
pub type TimeSource = Box<dyn Fn(&str) + Send + Sync>;

/// The network's dependencies.
pub struct Environment {
    pub naming: Naming,
    /// Cards get these names here, too; false: they keep the kernel's.
    pub renames: bool,
    /// Receives the time sources of leases.
    pub time_source: TimeSource,
    pub view: watch::Sender<NetworkView>,
    /// Static networks, of which the machine takes the one that names a card of its own.
    pub networks: Vec<StaticNetwork>,
    /// The network of the kernel arguments; it wins.
    pub said_network: Option<StaticNetwork>,
    /// Folder of NetworkManager's connections, which an installation takes along.
    pub keyfiles: PathBuf,
    /// Path of the resolver's file.
    pub resolv_conf: PathBuf,
    /// Folder of such files with the name servers of one card alone.
    pub resolv_folder: PathBuf,
    /// MAC address of the card that the machine was booted through.
    pub boot_mac: Option<String>,
    /// The card through which the service responded.
    pub working: watch::Receiver<Option<String>>,
    /// Path of the file with what switches advertise about their ports.
    pub switch_ports: PathBuf,
    /// Errors in kernel arguments about the network.
    pub problems: Vec<Problem>,
    /// Path of the file with these problems, and with the differences from the static network.
    pub problems_file: PathBuf,
    /// The state of the devices: whether the drivers of power-on are loaded.
    pub devices: Devices,
}

/// Runs the network for ever.
///
/// # Errors
/// Fails if the kernel refuses a netlink socket, or if its messages end.
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
    let (lease_sender, mut leases) = mpsc::channel(LEASE_EVENTS);
    let (neighbor_sender, mut neighbors) = watch::channel(NeighborPorts::default());
    let mut manager = Manager {
        environment,
        handle,
        leases: lease_sender,
        neighbors: neighbor_sender,
        nics: HashMap::new(),
        fixed: None,
        made: HashSet::new(),
        connections_of: None,
        missing: Vec::new(),
        standing: Standing::default(),
        settling: Settling::default(),
        resolver_texts: HashMap::new(),
        switch_ports_text: String::new(),
        problems_text: String::new(),
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
            Ok(()) = neighbors.changed() => {
                let ports = neighbors.borrow_and_update().clone();
                manager.neighbors_changed(&ports);
            }
            options = options.next() => match options {
                Ok((index, advertised)) => manager.advertised(index, advertised),
                Err(error) => warn!("router options: {error}"),
            },
            Ok(()) = working.changed() => {}
            () = tokio::time::sleep(RECONCILE_INTERVAL) => {}
        }
    }
}

struct Manager<'a> {
    environment: &'a Environment,
    handle: Handle,
    leases: mpsc::Sender<LeaseEvent>,
    neighbors: watch::Sender<NeighborPorts>,
    nics: HashMap<u32, NicState>,
    /// The static network of this machine.
    fixed: Option<Arc<Fixed>>,
    /// Names of its devices that were made completely.
    made: HashSet<String>,
    /// The names of cards, by their addresses, with which the network was written for an installation.
    connections_of: Option<BTreeMap<String, String>>,
    /// Devices of the static network that cannot be made yet, and why.
    missing: Vec<(String, String)>,
    standing: Standing,
    settling: Settling,
    /// The resolver's files as they were written.
    resolver_texts: HashMap<PathBuf, String>,
    switch_ports_text: String,
    problems_text: String,
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
        self.make_devices(&mut links).await;
        self.set_properties(&mut links).await;
        let addresses = links::addresses(&self.handle).await?;
        self.nics
            .retain(|index, _| links.iter().any(|link| link.index == *index && link.wired));
        self.order_cards(&links).await;
        let routes = self.routes();
        for link in links.iter().filter(|link| link.wired) {
            self.tend(link, &addresses, &routes).await;
        }
        let (problems, settled) = self.find_problems(&links, &addresses, &routes).await;
        self.publish(&links, &addresses, problems, settled);
        Ok(())
    }

    /// The routes of the main table, if there is a static network to compare them with.
    fn routes(&self) -> Vec<Route> {
        let families = [AddressFamily::Inet, AddressFamily::Inet6].into_iter();
        let families = families.filter(|_| self.fixed.is_some());
        let read = |family| netlink::routes(&Root::live(), family).unwrap_or_default();
        families.flat_map(read).collect()
    }

    /// Adds a new interface: renames it while it is down, then sets it up.
    async fn adopt(&mut self, link: &mut Link) {
        let installed_name = (self.environment.naming)(&link.name);
        if !link.up
            && self.environment.renames
            && let Some(name) = &installed_name
            && *name != link.name
        {
            match links::rename(&self.handle, link.index, name).await {
                Ok(()) => link.name.clone_from(name),
                Err(error) => warn!(nic = link.name, wanted = name, "not renamed: {error}"),
            }
        }
        info!(nic = link.name, index = link.index, "wired interface");
        self.nics.insert(
            link.index,
            NicState {
                name: link.name.clone(),
                installed_name,
                mac: mac_text(link.own_mac.as_ref().unwrap_or(&link.mac)),
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

    async fn tend(&mut self, link: &Link, addresses: &[Address], routes: &[Route]) {
        let Some(nic) = self.nics.get_mut(&link.index) else {
            return;
        };
        nic.name.clone_from(&link.name);
        nic.listen(link, &self.neighbors);
        let wanted = nic.wanted(self.fixed.as_deref(), link, addresses);
        nic.own_name_servers_alone = [false, true].map(|v6| {
            let said = |fixed: &Arc<Fixed>| {
                Some(
                    fixed
                        .addressing(fixed.name_of(nic), link, v6)?
                        .own_name_servers_alone,
                )
            };
            self.fixed.as_ref().and_then(said).unwrap_or_default()
        });
        nic.fix(&self.handle, link, addresses, routes, &wanted).await;
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
        let mut broke = None;
        if wanted.dhcp4 {
            nic.restart_dhcp4_with(&who.mac);
            if !nic.tasks.has("dhcp4") {
                info!(nic = who.name, "carrier");
            }
            let keep = || dhcp::keep_v4(who.clone(), nic.earlier.clone(), leases.clone());
            broke = nic.tasks.keep(&link.name, "dhcp4", keep);
        }
        if !wanted.stateless6 {
            nic.tasks.end("stateless6");
        }
        if let Some(from) = links::link_local(addresses, link.index) {
            let broke6 = if wanted.dhcp6 {
                let keep = || dhcp::keep_v6(who, from, leases.clone());
                nic.tasks.keep(&link.name, "dhcp6", keep)
            } else if wanted.stateless6 {
                let keep = || stateless::keep(who, from, leases.clone());
                nic.tasks.keep(&link.name, "stateless6", keep)
            } else {
                None
            };
            broke = broke.or(broke6);
        }
        if let Some(note) = broke {
            nic.note = note;
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
        let own_alone = nic.own_name_servers_alone[usize::from(leases.family == Family::V6)];
        let configuration = leases
            .configuration
            .map(|one| one.with_metric(metric))
            .map(|one| {
                if own_alone {
                    one.without_name_servers()
                } else {
                    one
                }
            });
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
            (self.environment.time_source)(source);
        }
    }

    fn advertised(&mut self, index: u32, advertised: Advertised) {
        // The options of advertisements are name servers and search domains.
        if let Some(nic) = self.nics.get_mut(&index)
            && !nic.own_name_servers_alone[1]
        {
            advertised.merge_into(nic.advertised.get_or_insert_default());
        }
    }
}

/// Writes a file that the inventory reads.
fn write_for_inventory(file: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    std::fs::write(file, text)
}
