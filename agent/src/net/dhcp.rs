//! Runs DHCP on one interface until dropped: a lease, its renewals, and an event when it is lost.

use std::time::Duration;

use mozim::{
    DhcpV4Client, DhcpV4Config, DhcpV4Lease, DhcpV4State, DhcpV6Client, DhcpV6Config, DhcpV6Mode, DhcpV6State,
};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::configuration::{Configuration, from_dhcp4, from_dhcp6};

/// Delay before the client restarts after an error.
const AFTER_ERROR: Duration = Duration::from_secs(3);

/// A server that offered responds to the request well before this. mozim repeats that request for ever and
/// ignores a refusal; a time limit for the whole client would end its renewals too.
const CONFIRMED: Duration = Duration::from_secs(20);

/// A server that knows an earlier lease responds well before this, to the first or the second request. Others may be silent, and
/// mozim would send four requests within a minute: too long for a machine whose cable was moved.
const REMEMBERED: Duration = Duration::from_secs(12);
/// Shown for a lease that was not renewed.
const EXPIRED: &str = "the lease has expired";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    V4,
    V6,
}

/// A change of the lease on one interface.
#[derive(Debug)]
pub struct LeaseEvent {
    pub index: u32,
    pub family: Family,
    /// `None` when it is no longer valid.
    pub configuration: Option<Configuration>,
    /// Kept, to request the same lease again.
    pub lease4: Option<Box<DhcpV4Lease>>,
    /// The state of DHCP for the console.
    pub note: String,
}

/// The interface to configure.
#[derive(Debug, Clone)]
pub struct Nic {
    pub index: u32,
    pub name: String,
    pub mac: Vec<u8>,
}

impl Nic {
    pub(super) fn event(
        &self,
        family: Family,
        configuration: Option<Configuration>,
        note: String,
    ) -> LeaseEvent {
        LeaseEvent {
            index: self.index,
            family,
            configuration,
            lease4: None,
            note,
        }
    }
}

/// Keeps a DHCPv4 lease. `earlier` is requested first.
pub async fn keep_v4(nic: Nic, mut earlier: Option<Box<DhcpV4Lease>>, events: mpsc::Sender<LeaseEvent>) {
    loop {
        if let Err(error) = lease_v4(&nic, earlier.take(), &events).await {
            warn!(nic = nic.name, "DHCPv4: {error}");
            // The receiver normally outlives its interfaces' tasks; otherwise the event is not needed.
            let _ = events
                .send(nic.event(Family::V4, None, format!("DHCPv4: {error}")))
                .await;
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }
}

async fn lease_v4(
    nic: &Nic,
    earlier: Option<Box<DhcpV4Lease>>,
    events: &mpsc::Sender<LeaseEvent>,
) -> Result<(), mozim::DhcpError> {
    let mut config = DhcpV4Config::new(&nic.name);
    config
        .set_iface_index(nic.index)
        .set_iface_mac_raw(&nic.mac)?
        .use_mac_as_client_id();
    let mut remembering = earlier.is_some();
    let mut client = DhcpV4Client::init(config.clone(), earlier.map(|lease| *lease)).await?;
    let (mut selecting, mut held) = (false, false);
    loop {
        let limit = match (remembering, selecting) {
            (true, _) => REMEMBERED,
            (false, true) => CONFIRMED,
            (false, false) => Duration::MAX,
        };
        let Ok(state) = tokio::time::timeout(limit, client.run()).await else {
            if remembering {
                info!(nic = nic.name, "DHCPv4: nobody knows the earlier lease");
                client = DhcpV4Client::init(config.clone(), None).await?;
                remembering = false;
                continue;
            }
            let note = "DHCPv4: the server does not confirm what it offered";
            warn!(nic = nic.name, "{note}");
            let _ = events.send(nic.event(Family::V4, None, note.to_owned())).await;
            return Ok(());
        };
        let state = state?;
        remembering = false;
        debug!(nic = nic.name, %state, "DHCPv4");
        selecting = state == DhcpV4State::Selecting;
        if is_lost(&mut held, state.is_done(), state == DhcpV4State::InitReboot) {
            warn!(nic = nic.name, "DHCPv4: {EXPIRED}");
            let _ = events
                .send(nic.event(Family::V4, None, format!("DHCPv4: {EXPIRED}")))
                .await;
        }
        if let DhcpV4State::Done(lease) = state {
            info!(nic = nic.name, address = %lease.yiaddr, seconds = lease.lease_time_sec, "DHCPv4 lease");
            let configuration = from_dhcp4(&lease);
            let event = LeaseEvent {
                lease4: Some(lease),
                ..nic.event(Family::V4, Some(configuration), String::new())
            };
            let _ = events.send(event).await;
        }
    }
}

/// True when a held lease is lost: the client, `done` before, is back at its beginning (`anew`).
fn is_lost(held: &mut bool, done: bool, anew: bool) -> bool {
    let lost = *held && anew;
    *held = done || *held && !anew;
    lost
}

/// Keeps a DHCPv6 address. `link_local` must be past duplicate detection.
pub async fn keep_v6(nic: Nic, link_local: std::net::Ipv6Addr, events: mpsc::Sender<LeaseEvent>) {
    loop {
        if let Err(error) = lease_v6(&nic, link_local, &events).await {
            warn!(nic = nic.name, "DHCPv6: {error}");
            let _ = events.send(nic.event(Family::V6, None, String::new())).await;
        }
        tokio::time::sleep(AFTER_ERROR).await;
    }
}

async fn lease_v6(
    nic: &Nic,
    link_local: std::net::Ipv6Addr,
    events: &mpsc::Sender<LeaseEvent>,
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
            let _ = events
                .send(nic.event(Family::V6, None, format!("DHCPv6: {EXPIRED}")))
                .await;
        }
        if let DhcpV6State::Done(lease) = state {
            info!(nic = nic.name, address = %lease.address, "DHCPv6 lease");
            let _ = events
                .send(nic.event(Family::V6, Some(from_dhcp6(&lease)), String::new()))
                .await;
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
