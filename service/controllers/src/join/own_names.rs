//! Collects the names and addresses by which a cluster's API and services are reached: no node gets a certificate for one of them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use http::Uri;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use kube::{Api, Client};
use muster_core::record::ClusterData;
use muster_core::rules::hostname;
use tokio::net::lookup_host;
use tokio::time::timeout;

/// Limit of one DNS query.
const DNS_LIMIT: Duration = Duration::from_secs(5);

/// The name of the Service of the API itself, in the namespace `default`.
const API_SERVICE: &str = "kubernetes";

/// The cluster's own names and addresses, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct OwnNames {
    /// The cluster's name and base domain; empty: not known.
    domain: String,
    /// Names of the API, in lower case.
    names: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
    /// Networks of Services.
    networks: Vec<IpNet>,
}

impl OwnNames {
    /// The names in the cluster's settings and the address of its API server.
    pub fn of(cluster: &ClusterData, server: &str) -> Self {
        let mut own = Self {
            domain: cluster.domain().unwrap_or_default().to_ascii_lowercase(),
            ..Self::default()
        };
        let traits = &cluster.traits;
        own.networks = traits
            .service_networks
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect();
        let vips = cluster.api_vips.iter().chain(&cluster.ingress_vips);
        for named in vips
            .map(String::as_str)
            .chain([cluster.api_vip_dnsname.as_str(), host_of(server).as_str()])
        {
            own.add(named);
        }
        own
    }

    fn add(&mut self, named: &str) {
        match named.parse() {
            Ok(address) => {
                self.addresses.insert(address);
            }
            Err(_) if !named.is_empty() => {
                self.names.insert(named.to_ascii_lowercase());
            }
            Err(_) => {}
        }
    }

    /// Adds the names and addresses of the API from DNS and from the cluster itself. A failed lookup is skipped.
    pub async fn look_up(&mut self, client: &Client) {
        for name in self.names.clone() {
            let found = timeout(DNS_LIMIT, lookup_host((name.as_str(), 0))).await;
            self.addresses
                .extend(found.into_iter().flatten().flatten().map(|found| found.ip()));
        }
        let services = Api::<Service>::namespaced(client.clone(), "default");
        if let Ok(Some(service)) = services.get_opt(API_SERVICE).await {
            let spec = service.spec.unwrap_or_default();
            let addresses = spec.cluster_ips.into_iter().flatten().chain(spec.cluster_ip);
            self.addresses
                .extend(addresses.filter_map(|text| text.parse::<IpAddr>().ok()));
        }
    }

    /// True for a name of the API or of a service.
    pub fn has_name(&self, name: &str) -> bool {
        hostname::is_of_cluster(name, &self.domain) || self.names.contains(&name.to_ascii_lowercase())
    }

    /// True for an address of the API or of a Service.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address) || self.networks.iter().any(|network| network.contains(&address))
    }

    /// A host's name below the cluster's domain.
    pub fn full_name(&self, hostname: &str) -> Option<String> {
        let is_short = !hostname.is_empty() && !hostname.contains('.');
        (is_short && !self.domain.is_empty())
            .then(|| format!("{}.{}", hostname.to_ascii_lowercase(), self.domain))
    }
}

fn host_of(server: &str) -> String {
    let uri: Option<Uri> = server.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    host.trim_matches(['[', ']']).to_owned()
}

#[cfg(test)]
mod tests {
    use muster_core::record::ClusterTraits;

    use super::*;

    #[test]
    fn names_and_addresses_come_from_settings_and_kubeconfig() {
        let cluster = ClusterData {
            name: "East".into(),
            base_dns_domain: "lab.example".into(),
            api_vip_dnsname: "entry.lab.example".into(),
            api_vips: vec!["192.0.2.100".into()],
            ingress_vips: vec!["2001:db8::101".into()],
            traits: ClusterTraits {
                service_networks: vec!["172.30.0.0/16".into(), "nonsense".into()],
                ..ClusterTraits::default()
            },
            ..ClusterData::default()
        };
        let own = OwnNames::of(&cluster, "https://[2001:db8::7]:6443");
        for name in ["entry.lab.example", "Api.east.lab.example", "kubernetes"] {
            assert!(own.has_name(name), "{name}");
        }
        assert!(!own.has_name("worker-1"));
        for address in ["192.0.2.100", "2001:db8::101", "2001:db8::7", "172.30.0.1"] {
            assert!(own.has_address(address.parse().unwrap()), "{address}");
        }
        assert!(!own.has_address("192.0.2.7".parse().unwrap()));
        assert_eq!(
            own.full_name("Worker-1").as_deref(),
            Some("worker-1.east.lab.example")
        );
        assert_eq!(own.full_name("worker-1.rack"), None);
        let named = OwnNames::of(&ClusterData::default(), "https://balancer.example:6443/");
        assert!(named.has_name("BALANCER.example"));
        assert_eq!(named.full_name("worker-1"), None);
    }
}
