//! Holds the summaries, and brings them up to date.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::query::{BmcSummary, Facts, HostSummary, HostTable, HostView, Surroundings, summary};
use muster_core::record::{Cluster, InfraEnv};
use muster_store::{HostForm, Kind, StoreError, Subject};

use crate::changes::log::{ChangeLog, Followed, Position};
use crate::hosts::Hosts;
use crate::hosts::check_ins::HostKey;

/// Hosts that are read at the same time.
const READ_AT_ONCE: usize = 256;

/// BMCs that are read at the same time, with what they report of their machines.
const BMCS_AT_ONCE: u32 = 256;

/// Interval in which facts are read whose changes are not in the log: BMCs, and polls that other replicas received.
const READ_AGAIN: Duration = Duration::from_secs(30);

/// Polls are read again from a little before the last time: they are received at the same time.
const OVERLAP: TimeDelta = TimeDelta::seconds(2);

/// The hosts, and the place in the log that they show.
pub(super) type Present = (Arc<HostTable>, Position);

/// The hosts as of a place in the log of changes.
pub(super) struct Contents {
    table: Arc<HostTable>,
    position: Position,
    bmcs: HashMap<HostKey, BmcSummary>,
    /// Polls of this process until then are in the rows.
    polls_until: Timestamp,
    /// Time of the last read of facts whose changes are not in the log.
    read_at: Instant,
    used_at: Instant,
}

impl Contents {
    /// Reads all hosts.
    pub(super) async fn read(hosts: &Hosts, log: &ChangeLog) -> Result<Self, StoreError> {
        // Changes from here on are read again.
        let position = log.position();
        let polls_until = hosts.now();
        hosts.summarize_inventories().await?;
        let mut contents = Self {
            table: Arc::default(),
            position,
            bmcs: bmcs(hosts).await?,
            polls_until,
            read_at: Instant::now(),
            used_at: Instant::now(),
        };
        for infra_env in hosts.infra_envs.list(None).await? {
            let keys = hosts.keys(infra_env.id).await?;
            contents.read_hosts(hosts, &keys).await?;
        }
        let table = &contents.table;
        tracing::debug!(
            hosts = table.len(),
            bytes = table.bytes(),
            "hosts read for searches"
        );
        Ok(contents)
    }

    /// Brings the rows up to date; `None`: changes may have been missed, so that all must be read.
    pub(super) async fn follow(mut self, hosts: &Hosts, log: &ChangeLog) -> Result<Option<Self>, StoreError> {
        let (changed, position) = match log.changed_since(&self.position) {
            Followed::Changed(changed, position) => (changed, position),
            Followed::Reset(_) | Followed::Closed => return Ok(None),
        };
        let mut keys = HashSet::new();
        let mut has_bmcs = false;
        for subject in changed {
            match subject {
                Subject::Host { infra_env_id, id } => {
                    keys.insert((infra_env_id, id));
                }
                Subject::InfraEnv(id) => keys.extend(self.of_infra_env(hosts, id).await?),
                Subject::Cluster(id) => keys.extend(self.of_cluster(hosts, id).await?),
                Subject::Bmc(_) => has_bmcs = true,
                Subject::Job { .. } => {}
            }
        }
        let keys: Vec<HostKey> = keys.into_iter().collect();
        let is_due = self.read_at.elapsed() > READ_AGAIN;
        // A host that registers may be the machine of a BMC.
        if is_due || has_bmcs || keys.iter().any(|(of, id)| self.table.get(*of, *id).is_none()) {
            self.read_bmcs(hosts).await?;
        }
        if is_due {
            self.read_polls(hosts).await?;
        }
        self.read_hosts(hosts, &keys).await?;
        self.poll(hosts);
        self.position = position;
        self.used_at = Instant::now();
        Ok(Some(self))
    }

    pub(super) fn present(&self) -> Present {
        (self.table.clone(), self.position.clone())
    }

    pub(super) fn is_unused_for(&self, time: Duration) -> bool {
        self.used_at.elapsed() >= time
    }

    /// The hosts of an InfraEnv that show something else of it than it has now.
    async fn of_infra_env(&self, hosts: &Hosts, id: InfraEnvId) -> Result<Vec<HostKey>, StoreError> {
        let found = hosts.infra_envs.find(id).await?;
        let shows_it = |host: &HostView<'_>| {
            found.as_ref().is_some_and(|found| {
                host.pool() == HostSummary::pool_of(found)
                    && host.approved().is_some() == HostSummary::needs_approval(found)
            })
        };
        let of_it = self.table.hosts().filter(move |host| host.infra_env_id() == id);
        Ok(of_it.filter(|host| !shows_it(host)).map(key).collect())
    }

    /// The hosts of a cluster that show another name of it than it has now.
    async fn of_cluster(&self, hosts: &Hosts, id: ClusterId) -> Result<Vec<HostKey>, StoreError> {
        let of_it = || {
            self.table
                .hosts()
                .filter(move |host| host.cluster_id() == Some(id))
        };
        if of_it().next().is_none() {
            return Ok(Vec::new());
        }
        let found = cluster(hosts, id).await?;
        let name = HostSummary::cluster_of(found.as_ref());
        Ok(of_it().filter(|host| host.cluster() != name).map(key).collect())
    }

    /// Reads these hosts; those that do not exist any more are taken out.
    async fn read_hosts(&mut self, hosts: &Hosts, keys: &[HostKey]) -> Result<(), StoreError> {
        let mut infra_envs: HashMap<InfraEnvId, Option<Arc<InfraEnv>>> = HashMap::new();
        let mut clusters: HashMap<ClusterId, Option<Cluster>> = HashMap::new();
        for part in keys.chunks(READ_AT_ONCE) {
            let found = hosts.read(part, HostForm::Brief).await?;
            let mut hardware = hosts.store.host_summaries(Some(part)).await?;
            let mut gone: HashSet<HostKey> = part.iter().copied().collect();
            let mut read = Vec::with_capacity(found.len());
            for host in found {
                let infra_env = match infra_envs.get(&host.infra_env_id) {
                    Some(known) => known.clone(),
                    None => {
                        let found = hosts.infra_envs.find(host.infra_env_id).await?;
                        infra_envs.insert(host.infra_env_id, found.clone());
                        found
                    }
                };
                // It is being deleted.
                let Some(infra_env) = infra_env else { continue };
                if let Some(id) = host.cluster_id
                    && !clusters.contains_key(&id)
                {
                    clusters.insert(id, cluster(hosts, id).await?);
                }
                let key = (host.infra_env_id, host.id);
                let around = Surroundings {
                    infra_env: &infra_env,
                    cluster: host.cluster_id.and_then(|id| clusters.get(&id)?.as_ref()),
                    bmc: self.bmcs.get(&key),
                    deadlines: &hosts.deadlines(&host),
                };
                gone.remove(&key);
                read.push(summary(&host, hardware.remove(&key), &around));
            }
            let table = Arc::make_mut(&mut self.table);
            read.iter().for_each(|host| table.insert(host));
            for (infra_env_id, id) in gone {
                table.remove(infra_env_id, id);
            }
        }
        Ok(())
    }

    /// Reads the BMCs of hosts, whose changes of power are not in the log.
    async fn read_bmcs(&mut self, hosts: &Hosts) -> Result<(), StoreError> {
        let found = bmcs(hosts).await?;
        if found == self.bmcs {
            return Ok(());
        }
        self.bmcs = found;
        Arc::make_mut(&mut self.table).set_bmcs(|infra_env_id, id| self.bmcs.get(&(infra_env_id, id)));
        Ok(())
    }

    /// Reads the polls that other replicas received. Each read has those of a minute at least, so it is not for each search.
    async fn read_polls(&mut self, hosts: &Hosts) -> Result<(), StoreError> {
        let read_at = Instant::now();
        if hosts.store.kind() == Kind::Postgres {
            let since = TimeDelta::from_std(self.read_at.elapsed()).unwrap_or_default();
            // Other replicas write polls up to half a minute late.
            let since = hosts.now() - since - TimeDelta::seconds(60);
            let polls = hosts.store.check_ins_after(since).await?;
            self.seen(polls);
        }
        self.read_at = read_at;
        Ok(())
    }

    /// Takes over the polls that this process received since the last time.
    fn poll(&mut self, hosts: &Hosts) {
        let now = hosts.now();
        let polls = hosts.check_ins.since(self.polls_until - OVERLAP);
        // Those by a clock that was set back are not.
        let plausible = polls.into_iter().filter(|(_, at)| *at <= now + OVERLAP);
        self.seen(plausible.collect());
        self.polls_until = now;
    }

    fn seen(&mut self, polls: Vec<(HostKey, Timestamp)>) {
        let is_new = |((of, id), at): &(HostKey, Timestamp)| {
            let host = self.table.get(*of, *id);
            host.is_some_and(|host| host.seen_at() < *at)
        };
        let new: Vec<(HostKey, Timestamp)> = polls.into_iter().filter(is_new).collect();
        if new.is_empty() {
            // A search that runs has this table: it is not copied for nothing.
            return;
        }
        let table = Arc::make_mut(&mut self.table);
        for ((infra_env_id, id), at) in new {
            table.note_poll(infra_env_id, id, at);
        }
    }
}

fn key(host: HostView<'_>) -> HostKey {
    (host.infra_env_id(), host.id())
}

/// The cluster, unless it is deleted.
async fn cluster(hosts: &Hosts, id: ClusterId) -> Result<Option<Cluster>, StoreError> {
    let found = hosts.store.find_cluster(id).await?;
    Ok(found
        .filter(|stored| stored.deleted_at.is_none())
        .map(|stored| stored.cluster))
}

/// The BMCs that have hosts as machines; of several the last one.
async fn bmcs(hosts: &Hosts) -> Result<HashMap<HostKey, BmcSummary>, StoreError> {
    let mut found: HashMap<HostKey, (Timestamp, BmcSummary)> = HashMap::new();
    let mut after = None;
    loop {
        let part = hosts.store.list_bmcs_of_hosts(after, BMCS_AT_ONCE).await?;
        let Some(last) = part.last() else { break };
        after = Some(last.id);
        for bmc in &part {
            let Some(id) = bmc.host_id else { continue };
            let key = (bmc.infra_env_id, id);
            if found.get(&key).is_none_or(|(at, _)| *at < bmc.updated_at) {
                found.insert(key, (bmc.updated_at, BmcSummary::of(bmc)));
            }
        }
    }
    Ok(found.into_iter().map(|(key, (_, bmc))| (key, bmc)).collect())
}
