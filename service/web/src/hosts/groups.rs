//! Hosts in groups: rows are in the order of the group's value, so that a group is whole over all windows.
//!
//! A finding is no group: a host has several, and there is no order by them.

use muster_api::search::{FacetCount, FoundHost, HostFacet};

use crate::words;

/// A way to group hosts.
pub struct Grouping {
    /// The key of the order, and of the counts.
    pub key: &'static str,
    pub heading: &'static str,
    /// Empty: the host has none.
    value: fn(&FoundHost) -> String,
}

pub static GROUPINGS: [Grouping; 5] = [
    Grouping {
        key: "state",
        heading: "State",
        value: |host| host.status.name().to_owned(),
    },
    Grouping {
        key: "pool",
        heading: "Pool",
        value: |host| host.infra_env.clone(),
    },
    Grouping {
        key: "cluster",
        heading: "Cluster",
        value: |host| match (&host.cluster_id, host.cluster.is_empty()) {
            (Some(id), true) => id.to_string(),
            _ => host.cluster.clone(),
        },
    },
    Grouping {
        key: "model",
        heading: "Model",
        value: |host| {
            let hardware = host.hardware.as_ref();
            hardware
                .map(|hardware| hardware.model.clone())
                .unwrap_or_default()
        },
    },
    Grouping {
        key: "switch",
        heading: "Switch",
        value: |host| {
            let hardware = host.hardware.as_ref();
            let port = hardware.and_then(|hardware| hardware.ports.first());
            port.map(|port| port.switch.clone()).unwrap_or_default()
        },
    },
];

/// A heading row.
pub struct GroupHeading {
    pub value: String,
    /// In words; empty: not known.
    pub count: String,
    /// The term of a query that its hosts fit; empty: not known.
    pub term: String,
}

impl Grouping {
    pub fn named(key: &str) -> Option<&'static Self> {
        GROUPINGS.iter().find(|grouping| grouping.key == key)
    }

    /// Parts of a list in the order of this key, each with its value.
    pub fn parts<'a>(&self, hosts: &'a [FoundHost]) -> Vec<(String, Vec<&'a FoundHost>)> {
        let mut parts: Vec<(String, Vec<&'a FoundHost>)> = Vec::new();
        for host in hosts {
            let value = (self.value)(host);
            match parts.last_mut() {
                // Values that differ in case are one, as they are in counts.
                Some((last, part)) if last.to_lowercase() == value.to_lowercase() => part.push(host),
                _ => parts.push((value, vec![host])),
            }
        }
        parts
    }

    pub fn heading(&self, value: &str, facets: &[HostFacet]) -> GroupHeading {
        let facet = facets.iter().find(|facet| facet.key == self.key);
        let (count, term) = match (facet, value) {
            (Some(facet), "") => (Some(facet.unknown), format!("{}:\"\"", self.key)),
            (Some(facet), value) => {
                let is = |other: &str| other.to_lowercase() == value.to_lowercase();
                let counted = facet.values.iter().filter(|counted| is(&counted.value));
                let counted: Vec<&FacetCount> = counted.collect();
                let hosts: usize = counted.iter().map(|counted| counted.hosts).sum();
                match counted.as_slice() {
                    [] => (None, String::new()),
                    [one] => (Some(hosts), one.term.clone()),
                    // Several InfraEnvs or clusters have this name.
                    _ => (Some(hosts), String::new()),
                }
            }
            (None, _) => (None, String::new()),
        };
        GroupHeading {
            value: match value {
                "" => format!("{}: none", self.heading),
                value => value.to_owned(),
            },
            count: count.map_or_else(String::new, |count| self.count(count)),
            term,
        }
    }

    /// A host stands below the switch of its first cable, and counts for all of its switches.
    fn count(&self, hosts: usize) -> String {
        let hosts = words::count(hosts, "host");
        match self.key {
            "switch" => format!("{hosts}, by all cables"),
            _ => hosts,
        }
    }
}
