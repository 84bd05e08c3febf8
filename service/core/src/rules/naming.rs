//! Gives names to many hosts at once: by a pattern or a list, without two of one name.

mod assign;
mod pattern;

pub use assign::{Kept, NameRefused, assign};
pub use pattern::{BadPattern, Pattern};

use std::collections::{BTreeMap, HashMap};

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
    /// Of a job before.
    Kept(KeptNames),
}

/// The names that a job computed, for another attempt with its hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptNames {
    /// A host without one has none, or an empty one.
    pub names: HashMap<(InfraEnvId, HostId), String>,
    /// True: they are of a pattern, and values of hosts that were not known are still written as its parts: `{serial}`.
    pub are_of_pattern: bool,
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
                Self::List(names) => match listed(names, host) {
                    Some(name) => Ok(name.to_owned()),
                    None => Err("the list has no name for it, by its id or its serial number".to_owned()),
                },
                Self::Kept(kept) => kept.of(host),
            })
            .collect()
    }

    /// The text by which a host without a name is named at another attempt: the pattern with the number of the host, which keeps it. Empty:
    /// there is none.
    pub fn left(&self, number: u64, host: &Nameless) -> String {
        match self {
            Self::Pattern(pattern) => pattern.numbered(number),
            Self::List(_) => String::new(),
            Self::Kept(kept) => kept.text(host).unwrap_or_default().to_owned(),
        }
    }
}

impl KeptNames {
    fn text(&self, host: &Nameless) -> Option<&str> {
        let text = self.names.get(&(host.infra_env_id, host.id))?;
        Some(text.as_str()).filter(|text| !text.is_empty())
    }

    fn of(&self, host: &Nameless) -> Result<String, String> {
        let text = self
            .text(host)
            .ok_or_else(|| "the job before had no name for it".to_owned())?;
        if !self.are_of_pattern || !text.contains('{') {
            return Ok(text.to_owned());
        }
        let pattern = text.parse::<Pattern>().map_err(|bad| bad.to_string())?;
        // Its number is written already.
        pattern.fill(0, host)
    }
}

/// The value of a host in a list by ids and serial numbers.
pub fn listed<'a>(values: &'a BTreeMap<String, String>, host: &Nameless) -> Option<&'a str> {
    let by_serial = || values.get(&host.serial).filter(|_| !host.serial.is_empty());
    let found = values.get(&host.id.to_string()).or_else(by_serial);
    found.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(serial: &str) -> Nameless {
        Nameless {
            infra_env_id: InfraEnvId::random(),
            id: HostId::random(),
            cluster_id: None,
            name: String::new(),
            serial: serial.into(),
            switch: String::new(),
            port: String::new(),
            mac: String::new(),
        }
    }

    #[test]
    fn a_host_keeps_its_number_until_its_values_are_known() {
        let pattern = Names::Pattern("{serial}-{n:02}".parse().unwrap());
        let before = host("");
        assert!(pattern.of(std::slice::from_ref(&before))[0].is_err());
        let left = pattern.left(7, &before);
        let kept = Names::Kept(KeptNames {
            names: HashMap::from([((before.infra_env_id, before.id), left)]),
            are_of_pattern: true,
        });
        assert!(kept.of(std::slice::from_ref(&before))[0].is_err());
        assert_eq!(kept.left(1, &before), "{serial}-07");
        let known = Nameless {
            serial: "S1".into(),
            ..before.clone()
        };
        assert_eq!(kept.of(&[known]), [Ok("s1-07".to_owned())]);
        // The same id in another InfraEnv is another host.
        let other = Nameless {
            infra_env_id: InfraEnvId::random(),
            serial: "S2".into(),
            ..before
        };
        let refused = kept.of(&[other]);
        assert_eq!(refused, [Err("the job before had no name for it".to_owned())]);
    }

    #[test]
    fn a_name_of_a_list_is_no_pattern_at_another_attempt() {
        let one = host("S1");
        let kept = Names::Kept(KeptNames {
            names: HashMap::from([((one.infra_env_id, one.id), "{serial}".to_owned())]),
            are_of_pattern: false,
        });
        assert_eq!(kept.of(&[one]), [Ok("{serial}".to_owned())]);
    }

    #[test]
    fn a_list_names_hosts_by_id_or_serial_number() {
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
