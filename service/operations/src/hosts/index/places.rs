//! Hosts by the switches to which their cables lead.

use std::collections::BTreeSet;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::query::{Facts, Field, HostTable, HostView, natural_order};

/// A host in the order of switches.
#[derive(Debug, Clone)]
pub struct HostPlace {
    pub id: HostId,
    pub name: String,
    /// Of its first port; empty: not known.
    pub switch: String,
    /// Last poll.
    pub seen_at: Timestamp,
}

impl HostPlace {
    pub(super) fn all(table: &HostTable, infra_env_id: InfraEnvId, cluster: Option<ClusterId>) -> Vec<Self> {
        let hosts = table.hosts().filter(|host| {
            let is_of_cluster = cluster.is_none() || host.cluster_id() == cluster;
            host.infra_env_id() == infra_env_id && is_of_cluster
        });
        let mut all: Vec<Self> = hosts
            .map(|host| Self {
                id: host.id(),
                name: host.name().to_owned(),
                switch: host.first_text(Field::Switch).unwrap_or_default().to_owned(),
                seen_at: host.seen_at(),
            })
            .collect();
        all.sort_by(|a, b| {
            let by_switch = (a.switch.is_empty(), &a.switch).cmp(&(b.switch.is_empty(), &b.switch));
            let by_name = by_switch.then_with(|| natural_order(&a.name, &b.name));
            by_name.then_with(|| a.id.cmp(&b.id))
        });
        all
    }
}

/// A host with the switch ports at its cables.
#[derive(Debug, Clone)]
pub struct SwitchedHost {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    pub name: String,
    /// Switch and port of each cable, sorted; empty: none is known.
    pub ports: BTreeSet<(String, String)>,
    /// Of all these ports.
    pub vlans: Vec<u16>,
}

impl SwitchedHost {
    pub(super) fn all(table: &HostTable, scope: Option<InfraEnvId>) -> Vec<Self> {
        let hosts = table.hosts();
        let hosts = hosts.filter(|host| scope.is_none_or(|scope| host.infra_env_id() == scope));
        hosts.map(Self::of).collect()
    }

    fn of(host: HostView<'_>) -> Self {
        let texts = |field| {
            let mut texts: Vec<String> = Vec::new();
            host.each_text(field, &mut |text| texts.push(text.to_owned()));
            texts
        };
        let mut vlans = Vec::new();
        host.each_number(Field::Vlan, &mut |number| vlans.extend(u16::try_from(number)));
        Self {
            id: host.id(),
            infra_env_id: host.infra_env_id(),
            name: host.name().to_owned(),
            ports: texts(Field::Switch).into_iter().zip(texts(Field::Port)).collect(),
            vlans,
        }
    }
}
