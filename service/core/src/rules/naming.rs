//! Gives names to many hosts at once: by a pattern or a list, without two of one name.

mod assign;
mod pattern;

pub use assign::{Kept, NameRefused, assign};
pub use pattern::{BadPattern, Pattern};

use std::collections::BTreeMap;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};

/// A host that gets a name. Texts are empty where they are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nameless {
    pub infra_env_id: InfraEnvId,
    pub id: HostId,
    pub cluster_id: Option<ClusterId>,
    /// Its present name.
    pub name: String,
    pub serial: String,
    /// The switch at the other end of its first cable.
    pub switch: String,
    /// The port of that switch.
    pub port: String,
    /// Of its first network card.
    pub mac: String,
}

/// The source of new names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    Pattern(Pattern),
    /// By id or serial number of the host.
    List(BTreeMap<String, String>),
}

impl Names {
    /// The new names of hosts, in their order; valid or not.
    ///
    /// # Errors
    /// For a host: the reason why it gets none.
    pub fn of(&self, hosts: &[Nameless]) -> Vec<Result<String, String>> {
        let numbered = (1_u64..).zip(hosts);
        numbered
            .map(|(number, host)| match self {
                Self::Pattern(pattern) => pattern.fill(number, host),
                Self::List(names) => listed(names, host),
            })
            .collect()
    }
}

fn listed(names: &BTreeMap<String, String>, host: &Nameless) -> Result<String, String> {
    let by_serial = || names.get(&host.serial).filter(|_| !host.serial.is_empty());
    let found = names.get(&host.id.to_string()).or_else(by_serial);
    found
        .cloned()
        .ok_or_else(|| "the list has no name for it, by its id or its serial number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_hosts_by_id_or_serial_number() {
        let host = |serial: &str| Nameless {
            infra_env_id: InfraEnvId::random(),
            id: HostId::random(),
            cluster_id: None,
            name: String::new(),
            serial: serial.into(),
            switch: String::new(),
            port: String::new(),
            mac: String::new(),
        };
        let hosts = [host("S1"), host("S2"), host("")];
        let names = BTreeMap::from([
            ("S1".to_owned(), "one".to_owned()),
            (hosts[1].id.to_string(), "two".to_owned()),
            (String::new(), "nobody".to_owned()),
        ]);
        let given = Names::List(names).of(&hosts);
        assert_eq!(given[..2], [Ok("one".to_owned()), Ok("two".to_owned())]);
        assert!(given[2].is_err());
    }
}
