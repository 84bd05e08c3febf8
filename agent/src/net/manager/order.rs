//! Keeps the cards in their order: the metrics of their routes, and the order of their name servers.

use std::net::IpAddr;
use std::path::Path;

use tracing::{debug, info, warn};

use super::{Manager, NicState};
use crate::net::configuration::Configuration;
use crate::net::links::{self, Link};
use crate::net::preference::Preference;
use crate::net::resolv_conf;

/// `IP6_RT_PRIO_USER`: the kernel's metric of default routes from router advertisements.
const ADVERTISED_METRIC: u32 = 1024;

impl Manager<'_> {
    /// Gives each card its metric, and changes the metric of its present routes if that has changed.
    pub(super) async fn order_cards(&mut self, links: &[Link]) {
        let preference = Preference {
            working: self.environment.working.borrow().clone(),
            boot_mac: self.environment.boot_mac.clone(),
        };
        let cards = self
            .nics
            .values()
            .map(|nic| (nic.name.as_str(), nic.mac.as_str()));
        let metrics = preference.metrics(cards);
        for link in links {
            let Some(nic) = self.nics.get_mut(&link.index) else {
                continue;
            };
            let said = |v6: bool| {
                let fixed = self.fixed.as_ref()?;
                fixed.addressing(fixed.name_of(nic), link, v6)?.metric
            };
            // The configuration of the interface wins over the order of cards.
            let ordered = metrics.get(&nic.name).copied();
            let Some(metric) = said(false).or(ordered).filter(|metric| *metric != nic.metric) else {
                continue;
            };
            info!(nic = nic.name, metric, "order of cards");
            let advertised = said(true).unwrap_or(ADVERTISED_METRIC + metric);
            let old = std::mem::replace(&mut nic.metric, metric);
            advertised_routes(&nic.name, advertised);
            for present in [&mut nic.dhcp4, &mut nic.dhcp6].into_iter().flatten() {
                let wanted = moved(present, old, metric);
                if wanted == *present {
                    continue;
                }
                if let Err(error) = links::replace(&self.handle, link.index, present, &wanted).await {
                    warn!(nic = nic.name, "routes not changed: {error}");
                }
                *present = wanted;
            }
        }
    }

    /// Writes the name servers of all cards, in the cards' order, and those of each card alone. Returns the former.
    pub(super) fn write_resolver_files(&mut self) -> Vec<IpAddr> {
        let mut ordered: Vec<&NicState> = self.nics.values().collect();
        ordered.sort_by_key(|nic| nic.metric);
        let all = || ordered.iter().flat_map(|nic| nic.configurations());
        let name_servers = resolv_conf::name_servers(all());
        let mut files = vec![(
            self.environment.resolv_conf.clone(),
            name_servers.is_empty(),
            resolv_conf::text(&name_servers, &resolv_conf::search(all())),
        )];
        for nic in &ordered {
            let servers = resolv_conf::name_servers(nic.configurations());
            let search = resolv_conf::search(nic.configurations());
            let file = resolv_conf::of_card(&self.environment.resolv_folder, &nic.name);
            files.push((file, servers.is_empty(), resolv_conf::text(&servers, &search)));
        }
        for (file, is_empty, text) in files {
            if is_empty || self.resolver_texts.get(&file) == Some(&text) {
                continue;
            }
            match resolv_conf::write(&file, &text) {
                Ok(()) => {
                    self.resolver_texts.insert(file, text);
                }
                Err(error) => warn!(file = %file.display(), "not written: {error}"),
            }
        }
        name_servers
    }
}

/// The configuration with the routes of one metric at another.
fn moved(configuration: &Configuration, from: u32, to: u32) -> Configuration {
    let mut moved = configuration.clone();
    for route in &mut moved.routes {
        if route.metric == Some(from) {
            route.metric = Some(to);
        }
    }
    moved
}

/// Takes effect with the next advertisement.
fn advertised_routes(nic: &str, metric: u32) {
    let file = Path::new("/proc/sys/net/ipv6/conf")
        .join(nic)
        .join("ra_defrtr_metric");
    if let Err(error) = std::fs::write(&file, metric.to_string()) {
        // A kernel without IPv6, or before 5.13.
        debug!(nic, "metric of advertised routes: {error}");
    }
}
