//! DHCP on one interface, until dropped: a lease, its renewals, and word when it is lost.

use std::time::Duration;

use mozim::{
    DhcpV4Client, DhcpV4Config, DhcpV4Lease, DhcpV4State, DhcpV6Client, DhcpV6Config, DhcpV6Mode, DhcpV6State,
};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::configuration::{Configuration, from_dhcp4, from_dhcp6};

/// After an error the client starts anew, not at once.
const AFTER_ERROR: Duration = Duration::from_secs(3);

/// A server that offered answers the request well before this. mozim repeats that request for ever and passes over a
/// refusal; the whole client's time limit would end its renewing too.
const CONFIRMED: Duration = Duration::from_secs(20);
/// What people are told of a lease that nobody renewed.
const EXPIRED: &str = "the lease has expired";

/// Which protocol said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// DHCPv4.
    V4,
    /// DHCPv6.
    V6,
}

/// News of one interface.
#[derive(Debug)]
pub struct LeaseNews {
    /// The interface's index.
    pub index: u32,
    /// Which protocol.
    pub family: Family,
    /// The configuration; none when it is no longer valid.
    pub configuration: Option<Configuration>,
    /// The lease itself, to ask for the same again.
    pub lease4: Option<Box<DhcpV4Lease>>,
    /// How it goes, for people.
    pub note: String,
}

/// The interface to work on.
#[derive(Debug, Clone)]
pub struct Nic {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its hardware address.
    pub mac: Vec<u8>,
}

impl Nic {
    fn news(&self, family: Family, configuration: Option<Configuration>, note: String) -> LeaseNews {
        LeaseNews {
            index: self.index,
            family,
            configuration,
            lease4: None,
            note,
        }
    }
}

/// Keeps a DHCPv4 lease. `earlier` is asked for first.
pub async fn keep_v4(
    nic: Nic,
    mut earlier: Option<Box<DhcpV4Lease>>,
    news: mpsc::UnboundedSender<LeaseNews>,
) {
    loop {
        if let Err(error) = lease_v4(&nic, earlier.take(), &news).await {
            warn!(nic = nic.name, "DHCPv4: {error}");
            // The receiver outlives its interfaces' tasks; when not, nobody needs the news.
            let _ = news.send(nic.news(Family::V4, None, format!("DHCPv4: {error}")));
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }
}

async fn lease_v4(
    nic: &Nic,
    earlier: Option<Box<DhcpV4Lease>>,
    news: &mpsc::UnboundedSender<LeaseNews>,
) -> Result<(), mozim::DhcpError> {
    let mut config = DhcpV4Config::new(&nic.name);
    config
        .set_iface_index(nic.index)
        .set_iface_mac_raw(&nic.mac)?
        .use_mac_as_client_id();
    let mut client = DhcpV4Client::init(config, earlier.map(|lease| *lease)).await?;
    let (mut selecting, mut held) = (false, false);
    loop {
        let state = if selecting {
            let Ok(state) = tokio::time::timeout(CONFIRMED, client.run()).await else {
                let note = "DHCPv4: the server does not confirm what it offered";
                warn!(nic = nic.name, "{note}");
                let _ = news.send(nic.news(Family::V4, None, note.to_owned()));
                return Ok(());
            };
            state?
        } else {
            client.run().await?
        };
        debug!(nic = nic.name, %state, "DHCPv4");
        selecting = state == DhcpV4State::Selecting;
        if is_lost(&mut held, state.is_done(), state == DhcpV4State::InitReboot) {
            warn!(nic = nic.name, "DHCPv4: {EXPIRED}");
            let _ = news.send(nic.news(Family::V4, None, format!("DHCPv4: {EXPIRED}")));
        }
        if let DhcpV4State::Done(lease) = state {
            info!(nic = nic.name, address = %lease.yiaddr, seconds = lease.lease_time_sec, "DHCPv4 lease");
            let configuration = from_dhcp4(&lease, nic.index);
            let told = LeaseNews {
                lease4: Some(lease),
                ..nic.news(Family::V4, Some(configuration), String::new())
            };
            let _ = news.send(told);
        }
    }
}

/// Whether a lease that was held is so no more: the client, `done` once, is `anew` at its beginning.
fn is_lost(held: &mut bool, done: bool, anew: bool) -> bool {
    let lost = *held && anew;
    *held = done || *held && !anew;
    lost
}

/// Keeps a DHCPv6 address. `link_local` must be past duplicate detection.
pub async fn keep_v6(nic: Nic, link_local: std::net::Ipv6Addr, news: mpsc::UnboundedSender<LeaseNews>) {
    loop {
        if let Err(error) = lease_v6(&nic, link_local, &news).await {
            warn!(nic = nic.name, "DHCPv6: {error}");
            let _ = news.send(nic.news(Family::V6, None, String::new()));
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }
}

async fn lease_v6(
    nic: &Nic,
    link_local: std::net::Ipv6Addr,
    news: &mpsc::UnboundedSender<LeaseNews>,
) -> Result<(), mozim::DhcpError> {
    let mut config = DhcpV6Config::new(&nic.name, DhcpV6Mode::NonTemporaryAddresses);
    config
        .set_iface_index(nic.index)
        .set_link_local_ip(link_local)
        .set_duid_by_iface_mac(&nic.mac);
    let mut client = DhcpV6Client::init(config, None).await?;
    let mut held = false;
    loop {
        let state = client.run().await?;
        if is_lost(&mut held, state.is_done(), state == DhcpV6State::Solicit) {
            warn!(nic = nic.name, "DHCPv6: {EXPIRED}");
            let _ = news.send(nic.news(Family::V6, None, format!("DHCPv6: {EXPIRED}")));
        }
        if let DhcpV6State::Done(lease) = state {
            info!(nic = nic.name, address = %lease.address, "DHCPv6 lease");
            let _ = news.send(nic.news(Family::V6, Some(from_dhcp6(&lease)), String::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_lost_once_and_only_after_it_was_held() {
        let mut held = false;
        let mut step = |done, anew| is_lost(&mut held, done, anew);
        assert!(!step(false, true), "an earlier lease was refused");
        assert!(!step(false, false));
        assert!(!step(true, false));
        assert!(!step(false, false), "it is being renewed");
        assert!(step(false, true));
        assert!(!step(false, true));
    }
}
