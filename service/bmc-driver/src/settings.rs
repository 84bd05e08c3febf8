use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use muster_bmc::{AddressRules, Client, Limits, Networks};
use tokio::sync::Semaphore;

use crate::others::Others;

/// Default number of simultaneous conversations with BMCs.
const AT_ONCE: usize = 16;

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// BMCs that this process works on at the same time.
    pub at_once: usize,
    pub rules: AddressRules,
    /// Time and size limits of one conversation.
    pub limits: Limits,
    /// A claim of a replica that died ends after so long.
    pub claim: Duration,
    /// Time between two searches for BMCs that became due at another replica, and for hosts that wait for a boot.
    pub poll: Duration,
    /// `None`: no other program drives BMCs.
    pub others: Option<Arc<dyn Others>>,
}

impl Settings {
    /// `networks`: those that BMCs may be in; loopback and link-local addresses are used only where one of the networks is within such a
    /// range. If empty, every other address is allowed. `own`: addresses of this service, where no BMC can be.
    pub fn new(at_once: Option<usize>, networks: &[IpNet], allow_http: bool, own: &[IpAddr]) -> Self {
        let mut ports = vec![443];
        if allow_http {
            ports.push(80);
        }
        if !networks.is_empty() {
            // An operator who names the networks is responsible for their services.
            ports.clear();
        }
        Self {
            at_once: at_once.unwrap_or(AT_ONCE).max(1),
            rules: AddressRules {
                networks: Networks::named(networks, own),
                plain_http: allow_http,
                ports,
                known_certificates: false,
            },
            limits: Limits::default(),
            claim: Duration::from_secs(60),
            poll: Duration::from_secs(2),
            others: None,
        }
    }
}

impl Settings {
    /// The client for all conversations of this process with BMCs: it limits their number, and allows one per BMC.
    pub fn client(&self) -> Arc<Client> {
        // In addition to the number of tasks: a session that is being ended in the background still counts.
        let places = Arc::new(Semaphore::new(self.at_once));
        Arc::new(Client::new(self.rules.clone(), self.limits.clone(), Some(places)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_used_where_it_is_named_and_own_addresses_never() {
        let nets = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().unwrap())
                .collect::<Vec<IpNet>>()
        };
        let own = ["192.0.2.7".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        let settings = Settings::new(None, &nets(&["0.0.0.0/0", "127.0.0.0/8"]), true, &own);
        assert_eq!(settings.rules.networks.special, nets(&["127.0.0.0/8"]));
        assert_eq!(settings.rules.networks.refused, nets(&["192.0.2.7/32"]));
        assert_eq!((settings.at_once, settings.rules.ports.len()), (16, 0));
        let strict = Settings::new(Some(0), &[], false, &[]);
        assert_eq!((strict.at_once, strict.rules.ports), (1, vec![443]));
        assert!(strict.rules.networks.special.is_empty() && !strict.rules.plain_http);
    }
}
