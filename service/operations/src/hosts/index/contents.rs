//! Holds the summaries, and brings them up to date.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::query::{BmcSummary, HostSummary, Surroundings, summary};
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

/// The summary of each host.
pub(super) type Rows = HashMap<HostKey, Arc<HostSummary>>;

/// The rows, and the place in the log that they show.
pub(super) type Present = (Arc<Rows>, Position);

/// The hosts as of a place in the log of changes.
pub(super) struct Contents {
    rows: Arc<Rows>,
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
            rows: Arc::default(),
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
            }
        }
        let keys: Vec<HostKey> = keys.into_iter().collect();
        let is_due = self.read_at.elapsed() > READ_AGAIN;
        // A host that registers may be the machine of a BMC.
        if is_due || has_bmcs || keys.iter().any(|key| !self.rows.contains_key(key)) {
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
        (self.rows.clone(), self.position.clone())
    }

    pub(super) fn is_unused_for(&self, time: Duration) -> bool {
        self.used_at.elapsed() >= time
    }

    /// The hosts of an InfraEnv that show something else of it than it has now.
    async fn of_infra_env(&self, hosts: &Hosts, id: InfraEnvId) -> Result<Vec<HostKey>, StoreError> {
        let found = hosts.infra_envs.find(id).await?;
        let shows_it = |row: &HostSummary| {
            found.as_ref().is_some_and(|found| {
                row.pool == HostSummary::pool_of(found)
                    && row.approved.is_some() == HostSummary::needs_approval(found)
            })
        };
        let of_it = self.rows.iter().filter(|((of, _), _)| *of == id);
        Ok(of_it
            .filter(|(_, row)| !shows_it(row))
            .map(|(key, _)| *key)
            .collect())
    }

    /// The hosts of a cluster that show another name of it than it has now.
    async fn of_cluster(&self, hosts: &Hosts, id: ClusterId) -> Result<Vec<HostKey>, StoreError> {
        let of_it: Vec<(&HostKey, &Arc<HostSummary>)> = self
            .rows
            .iter()
            .filter(|(_, row)| row.cluster_id == Some(id))
            .collect();
        if of_it.is_empty() {
            return Ok(Vec::new());
        }
        let found = cluster(hosts, id).await?;
        let name = HostSummary::cluster_of(found.as_ref());
        Ok(of_it
            .into_iter()
            .filter(|(_, row)| row.cluster != name)
            .map(|(key, _)| *key)
            .collect())
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
                read.push((key, Arc::new(summary(&host, hardware.remove(&key), &around))));
            }
            let rows = Arc::make_mut(&mut self.rows);
            rows.extend(read);
            for key in gone {
                rows.remove(&key);
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
        let rows = Arc::make_mut(&mut self.rows);
        for (key, row) in rows.iter_mut() {
            let bmc = self.bmcs.get(key);
            if row.bmc.as_ref() != bmc {
                Arc::make_mut(row).bmc = bmc.cloned();
            }
        }
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
        let rows = Arc::make_mut(&mut self.rows);
        for (key, at) in polls {
            if let Some(row) = rows.get_mut(&key).filter(|row| row.seen_at < at) {
                Arc::make_mut(row).seen_at = at;
            }
        }
    }
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
