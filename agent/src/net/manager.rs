//! Keeps every wired interface named, up and configured. On any word from the kernel it looks at all of them
//! and does what is missing, so that nothing depends on the order of events.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use mozim::DhcpV4Lease;
use rtnetlink::{Handle, MulticastGroup, new_multicast_connection};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::{info, warn};

use super::configuration::Configuration;
use super::dhcp::{self, Family, LeaseNews, Nic};
use super::links::{self, Address, Link};
use super::resolv_conf;
use super::router_options::{Advertised, RouterOptions};
use super::view::{InterfaceView, NetworkView};
use crate::time::sources::TimeSources;

/// Even without word from the kernel it looks this often.
const LOOK_ANYWAY: Duration = Duration::from_secs(10);
/// What is missing after this long is told to people.
const SETTLED: Duration = Duration::from_secs(12);
/// Word of several changes that come together is taken together.
const GATHER: Duration = Duration::from_millis(20);

/// Says what an interface is to be called, by its present name.
pub type Naming = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the network needs of the rest of the agent.
pub struct Surroundings {
    /// Names of interfaces.
    pub naming: Naming,
    /// Where leases' time sources go.
    pub time: TimeSources,
    /// Where the network is shown.
    pub view: watch::Sender<NetworkView>,
    /// The resolver's file.
    pub resolv_conf: PathBuf,
}

/// Runs the network for ever.
///
/// # Errors
/// The kernel gives no netlink socket, or its answers end.
pub async fn run(surroundings: &Surroundings) -> anyhow::Result<()> {
    let groups = [
        MulticastGroup::Link,
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv6Ifinfo,
    ];
    let (connection, handle, mut word) = new_multicast_connection(&groups)?;
    tokio::spawn(connection);
    let mut options = RouterOptions::open()?;
    let (news_sender, mut news) = mpsc::unbounded_channel();
    let mut manager = Manager {
        surroundings,
        handle,
        news: news_sender,
        nics: HashMap::new(),
        resolver_text: String::new(),
        began: Instant::now(),
    };
    loop {
        manager.look().await?;
        tokio::select! {
            message = word.next() => {
                anyhow::ensure!(message.is_some(), "the kernel's word on links has ended");
                tokio::time::sleep(GATHER).await;
                while futures_util::FutureExt::now_or_never(word.next()).flatten().is_some() {}
            }
            Some(one) = news.recv() => manager.take(one).await,
            told = options.next() => match told {
                Ok((index, advertised)) => manager.advertised(index, advertised),
                Err(error) => warn!("router options: {error}"),
            },
            () = tokio::time::sleep(LOOK_ANYWAY) => {}
        }
    }
}

/// What is kept of a wired interface.
#[derive(Default)]
struct NicState {
    name: String,
    tasks: HashMap<&'static str, Task>,
    dhcp4: Option<Configuration>,
    dhcp6: Option<Configuration>,
    advertised: Option<Configuration>,
    earlier: Option<Box<DhcpV4Lease>>,
    /// Whose configuration the kernel did not take whole.
    not_applied: HashSet<Family>,
    note: String,
}

impl NicState {
    /// Keeps what a family says now. Gives what is to be taken off and what is to be put on; what did not go on whole
    /// is tried again when it is said again.
    fn keep(
        &mut self,
        family: Family,
        said: Option<Configuration>,
    ) -> (Option<Configuration>, Option<Configuration>) {
        let place = match family {
            Family::V4 => &mut self.dhcp4,
            Family::V6 => &mut self.dhcp6,
        };
        let old = std::mem::replace(place, said.clone());
        let again = self.not_applied.remove(&family);
        if old != said {
            (old, said)
        } else if again {
            (None, said)
        } else {
            (None, None)
        }
    }

    fn configurations(&self) -> impl Iterator<Item = &Configuration> {
        [&self.dhcp4, &self.dhcp6, &self.advertised].into_iter().flatten()
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
    surroundings: &'a Surroundings,
    handle: Handle,
    news: mpsc::UnboundedSender<LeaseNews>,
    nics: HashMap<u32, NicState>,
    resolver_text: String,
    began: Instant,
}

impl Manager<'_> {
    /// Compares what is with what should be, and does the difference.
    async fn look(&mut self) -> anyhow::Result<()> {
        let mut links = links::links(&self.handle).await?;
        for link in &mut links {
            if link.loopback && !link.up {
                self.up(link).await;
            }
            if link.wired && !self.nics.contains_key(&link.index) {
                self.greet(link).await;
            }
        }
        let addresses = links::addresses(&self.handle).await?;
        self.nics
            .retain(|index, _| links.iter().any(|link| link.index == *index && link.wired));
        for link in links.iter().filter(|link| link.wired) {
            self.tend(link, &addresses).await;
        }
        self.publish(&links, &addresses);
        Ok(())
    }

    /// A new interface: its name while it is down, then up.
    async fn greet(&mut self, link: &mut Link) {
        if !link.up
            && let Some(name) = (self.surroundings.naming)(&link.name)
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
        if !link.carrier {
            if !nic.tasks.is_empty() {
                info!(nic = link.name, "no carrier");
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
        let news = &self.news;
        let earlier = &nic.earlier;
        nic.tasks.entry("dhcp4").or_insert_with(|| {
            info!(nic = who.name, "carrier");
            Task(tokio::spawn(dhcp::keep_v4(who.clone(), earlier.clone(), news.clone())).abort_handle())
        });
        if link.managed
            && let Some(from) = links::link_local(addresses, link.index)
        {
            nic.tasks
                .entry("dhcp6")
                .or_insert_with(|| Task(tokio::spawn(dhcp::keep_v6(who, from, news.clone())).abort_handle()));
        }
    }

    /// A lease has come, changed or gone.
    async fn take(&mut self, news: LeaseNews) {
        let Some(nic) = self.nics.get_mut(&news.index) else {
            return;
        };
        // A task that was ended may have left word.
        if nic.tasks.is_empty() {
            return;
        }
        nic.note = news.note;
        if news.lease4.is_some() {
            nic.earlier = news.lease4;
        }
        let (old, wanted) = nic.keep(news.family, news.configuration);
        if let Some(old) = old {
            links::withdraw(&self.handle, news.index, &old).await;
        }
        let Some(wanted) = wanted else { return };
        if let Err(error) = links::apply(&self.handle, news.index, &wanted).await {
            warn!(nic = nic.name, "lease not applied: {error}");
            nic.note = format!("lease not applied: {error}");
            nic.not_applied.insert(news.family);
        }
        for source in &wanted.ntp {
            self.surroundings.time.add(source);
        }
    }

    fn advertised(&mut self, index: u32, advertised: Advertised) {
        if let Some(nic) = self.nics.get_mut(&index) {
            advertised.merge_into(nic.advertised.get_or_insert_default());
        }
    }

    /// Names for the resolver, a name for the host, and a view for people.
    fn publish(&mut self, links: &[Link], addresses: &[Address]) {
        let ordered: Vec<&NicState> = links
            .iter()
            .filter_map(|link| self.nics.get(&link.index))
            .collect();
        let all = || ordered.iter().flat_map(|nic| nic.configurations());
        let name_servers = resolv_conf::name_servers(all());
        let text = resolv_conf::text(&name_servers, &resolv_conf::search(all()));
        if !name_servers.is_empty() && text != self.resolver_text {
            match resolv_conf::write(&self.surroundings.resolv_conf, &text) {
                Ok(()) => self.resolver_text = text,
                Err(error) => warn!(file = %self.surroundings.resolv_conf.display(), "not written: {error}"),
            }
        }
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
            })
            .collect();
        let view = NetworkView {
            interfaces,
            hostname,
            name_servers,
            settled: self.began.elapsed() >= SETTLED,
        };
        self.surroundings.view.send_if_modified(|present| {
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
        let said = |hostname: &str| {
            Some(Configuration {
                hostname: Some(hostname.to_owned()),
                ..Configuration::default()
            })
        };
        let mut nic = NicState::default();
        assert_eq!(nic.keep(Family::V4, said("a")), (None, said("a")));
        assert_eq!(nic.keep(Family::V4, said("a")), (None, None), "a renewal");
        nic.not_applied.insert(Family::V4);
        assert_eq!(nic.keep(Family::V6, None), (None, None));
        assert_eq!(nic.keep(Family::V4, said("a")), (None, said("a")), "tried again");
        assert_eq!(nic.keep(Family::V4, said("a")), (None, None), "it went on");
        assert_eq!(nic.keep(Family::V4, said("b")), (said("a"), said("b")));
        assert_eq!(nic.keep(Family::V4, None), (said("b"), None));
    }
}
