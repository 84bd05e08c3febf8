//! A choice of hosts for a job: those that fit a query without some, and some more.

use std::collections::{HashMap, HashSet};

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::query::{Facts, Field, HostTable, HostView, Query, Sort, Window, window};
use muster_core::rules::naming::{Kept, Nameless};

use super::search::visible;
use crate::hosts::check_ins::HostKey;

/// A choice of hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostChoice {
    /// Only hosts of this InfraEnv.
    pub(crate) scope: Option<InfraEnvId>,
    /// `None`: none but the named ones.
    pub(crate) query: Option<Query>,
    pub(crate) sort: Sort,
    /// Hosts that fit the query and are left out.
    pub(crate) except: HashSet<HostId>,
    /// Hosts that are chosen, too.
    pub(crate) ids: HashSet<HostId>,
    /// The same, each of one InfraEnv.
    pub(crate) keys: HashSet<HostKey>,
    /// Most hosts that are returned.
    pub(crate) limit: usize,
    /// True: the other hosts are returned with their names.
    pub(crate) with_others: bool,
}

/// The hosts of a choice.
#[derive(Debug, Clone)]
pub(crate) struct ChosenHosts {
    /// In order.
    pub(crate) hosts: Vec<ChosenHost>,
    /// Number of all that are chosen.
    pub(crate) total: usize,
    /// A host of the ids that is in several InfraEnvs.
    pub(crate) ambiguous: Option<HostId>,
    /// All hosts with their names, if requested.
    pub(crate) others: Vec<Kept>,
}

/// A host of a choice.
#[derive(Debug, Clone)]
pub(crate) struct ChosenHost {
    /// Name of its InfraEnv.
    pub(crate) pool: String,
    /// Its keys, its name, and what patterns of names use.
    pub(crate) host: Nameless,
}

impl ChosenHost {
    pub(crate) fn key(&self) -> HostKey {
        (self.host.infra_env_id, self.host.id)
    }
}

impl HostChoice {
    pub(super) fn of(&self, table: &HostTable, now: Timestamp) -> ChosenHosts {
        let chosen: Vec<HostView<'_>> = visible(table, self.scope)
            .filter(|host| self.has(*host, now))
            .collect();
        let mut named: HashMap<HostId, usize> = HashMap::new();
        for host in &chosen {
            if self.ids.contains(&host.id()) {
                *named.entry(host.id()).or_default() += 1;
            }
        }
        let ambiguous = named.into_iter().find(|(_, count)| *count > 1);
        let Window { hosts, .. } = window(chosen.iter().copied(), self.sort, None, self.limit);
        ChosenHosts {
            hosts: hosts.into_iter().map(chosen_host).collect(),
            total: chosen.len(),
            ambiguous: ambiguous.map(|(id, _)| id),
            others: match self.with_others {
                true => table.hosts().map(kept).collect(),
                false => Vec::new(),
            },
        }
    }

    fn has(&self, host: HostView<'_>, now: Timestamp) -> bool {
        let id = host.id();
        let fits = |query: &Query| !self.except.contains(&id) && query.matches(host, now);
        self.query.as_ref().is_some_and(fits)
            || self.ids.contains(&id)
            || self.keys.contains(&(host.infra_env_id(), id))
    }
}

fn chosen_host(host: HostView<'_>) -> ChosenHost {
    let first = |field: Field| host.first_text(field).unwrap_or_default().to_owned();
    ChosenHost {
        pool: host.pool().to_owned(),
        host: Nameless {
            infra_env_id: host.infra_env_id(),
            id: host.id(),
            cluster_id: host.cluster_id(),
            name: host.name().to_owned(),
            serial: first(Field::Serial),
            switch: first(Field::Switch),
            port: first(Field::Port),
            mac: first(Field::Mac),
        },
    }
}

fn kept(host: HostView<'_>) -> Kept {
    Kept {
        infra_env_id: host.infra_env_id(),
        id: host.id(),
        cluster_id: host.cluster_id(),
        name: host.name().to_owned(),
    }
}
