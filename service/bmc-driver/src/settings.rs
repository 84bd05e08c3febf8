use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use muster_bmc::{AddressRules, Client, Limits};
use tokio::sync::Semaphore;

use crate::others::Others;

/// BMCs that are talked to at once.
const AT_ONCE: usize = 16;

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// BMCs that are worked on at once by this process.
    pub at_once: usize,
    pub rules: AddressRules,
    /// Time and size limits of one conversation.
    pub limits: Limits,
    /// A claim of a replica that died ends after so long.
    pub claim: Duration,
    /// Between two looks for BMCs that became due at another replica, and for hosts that wait for a boot.
    pub poll: Duration,
    /// `None`: nobody else drives BMCs.
    pub others: Option<Arc<dyn Others>>,
}

impl Settings {
    /// `networks`: those that BMCs may be in; loopback and link-local addresses are used only where one of them is within such a range.
    /// Empty: any but those. `own`: addresses of this service, where no BMC can be.
    pub fn new(at_once: Option<usize>, networks: &[IpNet], allow_http: bool, own: &[IpAddr]) -> Self {
        let mut ports = vec![443];
        if allow_http {
            ports.push(80);
        }
        if !networks.is_empty() {
            // Whoever names the networks answers for what is in them.
            ports.clear();
        }
        let own = own.iter().filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
        Self {
            at_once: at_once.unwrap_or(AT_ONCE).max(1),
            rules: AddressRules {
                allowed: networks.to_vec(),
                refused: own.map(|ip| IpNet::from(*ip)).collect(),
                special: networks
                    .iter()
                    .filter(|network| is_special(network))
                    .copied()
                    .collect(),
                plain_http: allow_http,
                ports,
            },
            limits: Limits::default(),
            claim: Duration::from_secs(60),
            poll: Duration::from_secs(2),
            others: None,
        }
    }
}

impl Settings {
    /// The client that everything of this process talks to BMCs with: it keeps to so many at once, and to one conversation a BMC.
    pub fn client(&self) -> Arc<Client> {
        // Beside the number of tasks: a session that is ended behind the scenes counts until it is.
        let places = Arc::new(Semaphore::new(self.at_once));
        Arc::new(Client::new(self.rules.clone(), self.limits.clone(), Some(places)))
    }
}

/// True for a range within loopback or link-local addresses: a wider one does not mean them.
fn is_special(network: &IpNet) -> bool {
    let special = ["127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10"];
    let mut ranges = special.iter().filter_map(|text| text.parse::<IpNet>().ok());
    ranges.any(|range| range.contains(network))
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
        assert_eq!(settings.rules.special, nets(&["127.0.0.0/8"]));
        assert_eq!(settings.rules.refused, nets(&["192.0.2.7/32"]));
        assert_eq!((settings.at_once, settings.rules.ports.len()), (16, 0));
        let strict = Settings::new(Some(0), &[], false, &[]);
        assert_eq!((strict.at_once, strict.rules.ports), (1, vec![443]));
        assert!(strict.rules.special.is_empty() && !strict.rules.plain_http);
    }
}
