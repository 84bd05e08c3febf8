//! A host with everything around it, in which all checks pass or do not apply; cases change one thing.

use std::sync::Arc;

use muster_api::cluster::ClusterNetwork;
use muster_api::host::{HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId};
use muster_api::inventory::Inventory;
use muster_api::steps::{
    ApiVipConnectivityResponse, ConnectivityCheckNic, ConnectivityRemoteHost, ConnectivityReport,
    DomainResolution, DomainResolutionResponse, L3Connectivity, MtuReport,
};
use muster_core::record::{Cluster, ClusterData, ClusterTraits, Host, Peer, Progress, Sees};
use muster_core::rules::cluster_peers::{Members, Peers};
use muster_core::rules::facts::{ClusterFacts, HostFacts};
use uuid::Uuid;

use crate::world::{World, start};

/// True for a check of the upstream protocol; recordings contain no others.
pub fn is_upstream(check: &str) -> bool {
    let table = include_str!("../../../../../docs/protocol/host-validations.tsv");
    table.lines().any(|line| line.split('\t').next() == Some(check))
}

/// The place of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Bound to no cluster.
    Pool,
    /// In a cluster.
    Cluster,
}

/// A host and the facts around it.
pub struct Scene {
    pub world: World,
    pub host: Host,
    pub cluster: Option<Cluster>,
    pub peers: Members,
}

impl Scene {
    pub fn new(place: Place) -> Self {
        let mut world = World::new();
        let mut host = world.known_host();
        let cluster = match place {
            Place::Pool => None,
            Place::Cluster => Some(cluster()),
        };
        let peers = match place {
            Place::Pool => Vec::new(),
            Place::Cluster => vec![peer(2), peer(3)],
        };
        if let Some(cluster) = &cluster {
            host.cluster_id = Some(cluster.id);
            host.data.role = HostRole::Worker;
            host.data.api_vip_connectivity = Some(ApiVipConnectivityResponse {
                is_success: true,
                ignition: r#"{"ignition":{"version":"3.2.0"}}"#.into(),
                ..ApiVipConnectivityResponse::default()
            });
            host.data.domain_name_resolutions = Some(names());
            Arc::make_mut(&mut host.reports).connectivity = Some(report(&peers));
        }
        Self {
            world,
            host,
            cluster,
            peers: peers.into(),
        }
    }

    pub fn facts(&self) -> HostFacts<'_> {
        HostFacts {
            cluster: self.cluster.as_ref().map(|cluster| ClusterFacts {
                cluster,
                peers: Peers::of(&self.peers),
            }),
            ..self.world.facts()
        }
    }

    pub fn inventory(&mut self) -> &mut Inventory {
        Arc::make_mut(self.host.inventory.as_mut().unwrap())
    }

    pub fn no_inventory(&mut self) {
        self.host.inventory = None;
    }

    pub fn cluster(&mut self) -> &mut ClusterData {
        &mut self.cluster.as_mut().unwrap().data
    }

    pub fn traits(&mut self) -> &mut ClusterTraits {
        &mut self.cluster().traits
    }

    pub fn stage(&mut self, stage: HostStage) {
        self.host.data.progress = Some(Progress {
            stage,
            percentage: 50,
            info: String::new(),
            stage_started_at: start(),
            stage_updated_at: start(),
        });
    }

    /// The report about the peer `index`.
    pub fn report(&mut self, index: usize) -> &mut ConnectivityRemoteHost {
        &mut Arc::make_mut(&mut self.host.reports)
            .connectivity
            .as_mut()
            .unwrap()
            .remote_hosts[index]
    }

    /// Sets the cluster's ignition.
    pub fn ignition(&mut self, json: &str) {
        self.host.data.api_vip_connectivity.as_mut().unwrap().ignition = json.into();
    }

    /// The cluster takes names from the DNS of its users.
    pub fn user_managed(&mut self) {
        self.traits().user_managed_networking = Some(true);
    }
}

fn cluster() -> Cluster {
    Cluster {
        id: ClusterId(Uuid::from_u128(9)),
        kube: None,
        mirror: None,
        version: 1,
        created_at: start(),
        updated_at: start(),
        data: ClusterData {
            name: "day2".into(),
            base_dns_domain: "example.test".into(),
            traits: ClusterTraits {
                cluster_networks: vec![ClusterNetwork {
                    cidr: Some("10.128.0.0/14".into()),
                    ..ClusterNetwork::default()
                }],
                service_networks: vec!["172.30.0.0/16".into()],
                ..ClusterTraits::default()
            },
            ..ClusterData::default()
        },
    }
}

/// Another known host: `worker-<n>` with the address 198.51.100.1<n>.
pub fn peer(n: u8) -> Peer {
    Peer {
        id: HostId(Uuid::from_u128(u128::from(n))),
        status: HostStatus::Known,
        role: HostRole::Worker,
        hostname: format!("worker-{n}"),
        nics: vec![ConnectivityCheckNic {
            name: "eth0".into(),
            mac: format!("02:00:00:00:00:0{n}"),
            ip_addresses: vec![format!("198.51.100.1{n}")],
        }],
        clock_offset_secs: Some(0),
        sees: Sees::default(),
    }
}

fn report(peers: &[Peer]) -> ConnectivityReport {
    let remote = |peer: &Peer| {
        let remote_ip_address = peer.nics[0].ip_addresses[0].clone();
        ConnectivityRemoteHost {
            host_id: peer.id.to_string(),
            l2_connectivity: Vec::new(),
            l3_connectivity: vec![L3Connectivity {
                remote_ip_address: remote_ip_address.clone(),
                successful: true,
                average_rtt_ms: 0.5,
                ..L3Connectivity::default()
            }],
            mtu_report: vec![MtuReport {
                outgoing_nic: "eth0".into(),
                remote_ip_address,
                mtu_successful: true,
            }],
        }
    };
    ConnectivityReport {
        remote_hosts: peers.iter().map(remote).collect(),
        ..ConnectivityReport::default()
    }
}

fn names() -> DomainResolutionResponse {
    let entry = |name: &str, addresses: &[&str]| DomainResolution {
        domain_name: format!("{name}.day2.example.test"),
        ipv4_addresses: addresses.iter().map(|text| (*text).to_owned()).collect(),
        ..DomainResolution::default()
    };
    let mut dotted = entry("validateNoWildcardDNS", &[]);
    dotted.domain_name.push('.');
    DomainResolutionResponse {
        resolutions: vec![
            entry("api", &["198.51.100.5"]),
            entry("api-int", &["198.51.100.5"]),
            entry("console-openshift-console.apps", &["198.51.100.6"]),
            dotted,
            entry("validateNoWildcardDNS", &[]),
        ],
    }
}
