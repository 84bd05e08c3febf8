//! Decides which of many new names are given. Hosts of one InfraEnv have different names, and so have hosts of one cluster.

use std::collections::{HashMap, HashSet};

use muster_api::ids::{ClusterId, HostId, InfraEnvId};

use super::Nameless;
use crate::rules::hostname;

/// A host that keeps its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub infra_env_id: InfraEnvId,
    pub id: HostId,
    pub cluster_id: Option<ClusterId>,
    pub name: String,
}

/// The reason why a host does not get a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameRefused {
    /// There is none for it.
    None(String),
    /// It is not a name of hosts.
    Invalid(String),
    /// Several hosts would get it.
    Twice { name: String },
    /// A host that keeps its name has it.
    Taken { name: String },
}

impl NameRefused {
    /// For users.
    pub fn reason(&self) -> String {
        match self {
            Self::None(why) => format!("no new name: {why}"),
            Self::Invalid(why) => why.clone(),
            Self::Twice { name } => {
                format!("the name {name} would be given to several hosts of the selection")
            }
            Self::Taken { name } => format!("another host has the name {name}, and keeps it"),
        }
    }
}

/// Hosts among which a name is given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Group {
    InfraEnv(InfraEnvId),
    Cluster(ClusterId),
}

fn groups(infra_env_id: InfraEnvId, cluster_id: Option<ClusterId>) -> impl Iterator<Item = Group> {
    let cluster = cluster_id.map(Group::Cluster);
    std::iter::once(Group::InfraEnv(infra_env_id)).chain(cluster)
}

fn groups_of(host: &Nameless) -> impl Iterator<Item = Group> + use<> {
    groups(host.infra_env_id, host.cluster_id)
}

/// The names that `hosts` get, in their order. `wanted`: the new names, as many as hosts. `others`: hosts that keep their names; those of
/// `hosts` among them are passed over. Names may change places among the hosts.
pub fn assign(
    hosts: &[Nameless],
    wanted: Vec<Result<String, String>>,
    others: impl IntoIterator<Item = Kept>,
) -> Vec<Result<String, NameRefused>> {
    let mut names: Vec<Result<String, NameRefused>> = wanted.into_iter().map(valid).collect();
    refuse_twins(hosts, &mut names);
    let renamed: HashSet<(InfraEnvId, HostId)> =
        hosts.iter().map(|host| (host.infra_env_id, host.id)).collect();
    let mut by_name: HashMap<(Group, String), usize> = HashMap::new();
    for (place, (host, name)) in hosts.iter().zip(&names).enumerate() {
        if let Ok(name) = name {
            by_name.extend(groups_of(host).map(|group| ((group, name.clone()), place)));
        }
    }
    let mut keeping: Vec<Kept> = others
        .into_iter()
        .filter(|other| !renamed.contains(&(other.infra_env_id, other.id)))
        .collect();
    let stays = |host: &Nameless| Kept {
        infra_env_id: host.infra_env_id,
        id: host.id,
        cluster_id: host.cluster_id,
        name: host.name.clone(),
    };
    let refused = hosts.iter().zip(&names).filter(|(_, name)| name.is_err());
    keeping.extend(refused.map(|(host, _)| stays(host)));
    // A host that is refused keeps its name, which another one may have been to get.
    while let Some(kept) = keeping.pop() {
        for group in groups(kept.infra_env_id, kept.cluster_id) {
            let Some(&place) = by_name.get(&(group, kept.name.clone())) else {
                continue;
            };
            if names[place].is_ok() {
                names[place] = Err(NameRefused::Taken {
                    name: kept.name.clone(),
                });
                keeping.push(stays(&hosts[place]));
            }
        }
    }
    names
}

fn valid(wanted: Result<String, String>) -> Result<String, NameRefused> {
    let name = wanted.map_err(NameRefused::None)?;
    match hostname::check(&name) {
        Ok(()) => Ok(name),
        Err(why) => Err(NameRefused::Invalid(why)),
    }
}

/// Refuses names that several hosts of a group would get.
fn refuse_twins(hosts: &[Nameless], names: &mut [Result<String, NameRefused>]) {
    let mut counts: HashMap<(Group, String), u32> = HashMap::new();
    for (host, name) in hosts.iter().zip(names.iter()) {
        if let Ok(name) = name {
            for group in groups_of(host) {
                *counts.entry((group, name.clone())).or_default() += 1;
            }
        }
    }
    for (host, given) in hosts.iter().zip(names.iter_mut()) {
        let Ok(name) = given else { continue };
        let is_twin = |group: Group| counts.get(&(group, name.clone())).is_some_and(|count| *count > 1);
        if groups_of(host).any(is_twin) {
            let name = name.clone();
            *given = Err(NameRefused::Twice { name });
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{ClusterId, HostId, InfraEnvId};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn infra_env(number: u8) -> InfraEnvId {
        InfraEnvId(Uuid::from_u128(u128::from(number)))
    }

    fn host(id: u128, (pool, cluster): (u8, u8), name: &str) -> Nameless {
        Nameless {
            infra_env_id: infra_env(pool),
            id: HostId(Uuid::from_u128(id)),
            cluster_id: (cluster > 0).then(|| ClusterId(Uuid::from_u128(u128::from(cluster)))),
            name: name.into(),
            serial: String::new(),
            switch: String::new(),
            port: String::new(),
            mac: String::new(),
        }
    }

    fn kept(host: &Nameless) -> Kept {
        Kept {
            infra_env_id: host.infra_env_id,
            id: host.id,
            cluster_id: host.cluster_id,
            name: host.name.clone(),
        }
    }

    fn names(texts: &[&str]) -> Vec<Result<String, String>> {
        texts.iter().map(|text| Ok((*text).to_owned())).collect()
    }

    #[test]
    fn names_change_places() {
        let hosts = [host(1, (1, 0), "a"), host(2, (1, 0), "b")];
        let given = assign(&hosts, names(&["b", "a"]), hosts.iter().map(kept));
        assert_eq!(given, [Ok("b".to_owned()), Ok("a".to_owned())]);
    }

    #[test]
    fn a_refusal_refuses_who_was_to_get_the_name() {
        let hosts = [host(1, (1, 0), "a"), host(2, (1, 0), "b"), host(3, (1, 0), "c")];
        let given = assign(&hosts, names(&["b", "c", "not a name"]), []);
        let taken = |name: &str| -> Result<String, NameRefused> {
            Err(NameRefused::Taken {
                name: name.to_owned(),
            })
        };
        assert_eq!(given[..2], [taken("b"), taken("c")]);
        assert!(matches!(&given[2], Err(NameRefused::Invalid(why)) if why.contains("not a name")));
    }

    #[test]
    fn hosts_of_other_pools_have_the_same_names_unless_they_share_a_cluster() {
        let wanted = || names(&["node", "node"]);
        let apart = [host(1, (1, 1), "a"), host(2, (2, 2), "b")];
        assert!(assign(&apart, wanted(), []).iter().all(Result::is_ok));
        let together = [host(1, (1, 7), "a"), host(2, (2, 7), "b")];
        let twice: Result<String, NameRefused> = Err(NameRefused::Twice {
            name: "node".to_owned(),
        });
        assert_eq!(assign(&together, wanted(), []), [twice.clone(), twice]);
        let outside = kept(&host(3, (2, 1), "node"));
        let given = assign(&apart, wanted(), [outside]);
        assert!(
            given
                .iter()
                .all(|name| matches!(name, Err(NameRefused::Taken { .. })))
        );
    }

    proptest! {
        #[test]
        fn a_new_name_is_nobody_elses(
            chosen in proptest::collection::vec(((1..3_u8, 0..3_u8), "[ab]{1,2}", "[ab-]{1,2}"), 1..12),
            others in proptest::collection::vec(((1..3_u8, 0..3_u8), "[ab]{1,2}"), 0..6),
        ) {
            let hosts: Vec<Nameless> = (0..).zip(&chosen).map(|(id, (of, name, _))| host(id, *of, name)).collect();
            let others: Vec<Nameless> = (100..).zip(&others).map(|(id, (of, name))| host(id, *of, name)).collect();
            let wanted = chosen.iter().map(|(_, _, name)| Ok(name.clone())).collect();
            let given = assign(&hosts, wanted, others.iter().map(kept));
            let mut after: Vec<Nameless> = Vec::new();
            for (host, name) in hosts.iter().zip(&given) {
                let name = name.clone().unwrap_or_else(|_| host.name.clone());
                after.push(Nameless { name, ..host.clone() });
            }
            after.extend(others);
            for (place, name) in given.iter().enumerate() {
                let Ok(name) = name else { continue };
                prop_assert!(hostname::check(name).is_ok());
                let own = &after[place];
                for (at, other) in after.iter().enumerate() {
                    let shared = groups_of(own).any(|group| groups_of(other).any(|one| one == group));
                    prop_assert!(at == place || !shared || other.name != *name);
                }
            }
        }

        #[test]
        fn names_that_nobody_has_are_all_given(count in 1..50_usize) {
            let hosts: Vec<Nameless> = (0..).take(count).map(|id| host(id, (1, 1), "old")).collect();
            let wanted = (0..count).map(|number| Ok(format!("new-{number}"))).collect();
            let given = assign(&hosts, wanted, hosts.iter().map(kept));
            prop_assert!(given.iter().all(Result::is_ok));
        }
    }
}
