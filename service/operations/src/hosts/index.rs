//! Searches all hosts by an index in memory: a row of each. It is made at the first search, follows the changes of records, and is dropped
//! when nobody has searched for a while.

mod choice;
mod contents;
mod places;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_core::query::{Facts, Field, HardwareSummary, HostSummary, HostView, Words};
use muster_core::rules::sleep::Member;
use muster_store::{HostForm, StoreError};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinError;
use tokio::time::sleep;

use super::Hosts;
use super::check_ins::HostKey;
use crate::changes::log::ChangeLog;
use choice::ChosenHosts;
use contents::Contents;

pub(crate) use choice::{ChosenHost, HostChoice};
pub use places::{HostPlace, SwitchedHost};
pub use search::{BestHosts, FoundHosts, HostSearch};

/// Time after which an index that nobody uses is dropped.
const KEPT: Duration = Duration::from_secs(600);

/// Interval of looks at whether it is used.
const LOOK: Duration = Duration::from_secs(60);

/// Inventories that are read at the same time to be summarized.
const SUMMARIZED_AT_ONCE: usize = 32;

/// The index of a service. Cloning gives the same index.
#[derive(Clone)]
pub struct HostIndex {
    hosts: Arc<Hosts>,
    log: Arc<ChangeLog>,
    contents: Arc<Mutex<Option<Contents>>>,
    /// True while a task looks whether the index is used.
    is_watched: Arc<AtomicBool>,
}

impl HostIndex {
    pub(crate) fn new(hosts: Arc<Hosts>, log: Arc<ChangeLog>) -> Self {
        Self {
            hosts,
            log,
            contents: Arc::default(),
            is_watched: Arc::default(),
        }
    }

    /// The hosts that fit a search.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn search(&self, search: HostSearch) -> Result<FoundHosts, StoreError> {
        let (table, revision) = self.table().await?;
        let now = self.hosts.now();
        // Ten thousand hosts take some milliseconds, in which no poll should wait.
        let found = tokio::task::spawn_blocking(move || search.of(&table, revision, now)).await;
        Ok(finished(found))
    }

    /// The hosts of a choice for a job.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn choose(&self, choice: HostChoice) -> Result<ChosenHosts, StoreError> {
        let (table, _) = self.table().await?;
        let now = self.hosts.now();
        let chosen = tokio::task::spawn_blocking(move || choice.of(&table, now)).await;
        Ok(finished(chosen))
    }

    /// The hosts that fit words, at most `limit`, the best first; with `scope` of that InfraEnv alone.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn best(
        &self,
        scope: Option<InfraEnvId>,
        words: Words,
        limit: usize,
    ) -> Result<BestHosts, StoreError> {
        let (table, _) = self.table().await?;
        let now = self.hosts.now();
        let found =
            tokio::task::spawn_blocking(move || BestHosts::of(&table, scope, &words, limit, now)).await;
        Ok(finished(found))
    }

    /// The hosts with one of these ids, in no order.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn of_ids(&self, ids: HashSet<HostId>) -> Result<Vec<HostSummary>, StoreError> {
        let (table, _) = self.table().await?;
        let found = tokio::task::spawn_blocking(move || {
            let hosts = table.hosts().filter(|host| ids.contains(&host.id()));
            hosts.map(HostView::summary).collect::<Vec<HostSummary>>()
        });
        Ok(finished(found.await))
    }

    /// The hosts of an InfraEnv that may be machines with one of these network cards (in lower case) or addresses: their inventory or their
    /// BMC has one, or there is no inventory yet. A BMC has two addresses, and rows only one of them: IPv6 may be the other one of any.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn possible_machines(
        &self,
        infra_env_id: InfraEnvId,
        known: HashSet<String>,
    ) -> Result<Vec<HostKey>, StoreError> {
        let (table, _) = self.table().await?;
        let has_ipv6 = known.iter().any(|text| text.parse::<Ipv6Addr>().is_ok());
        let found = tokio::task::spawn_blocking(move || {
            let hosts = table.hosts().filter(|host| host.infra_env_id() == infra_env_id);
            let possible = hosts.filter(|host| {
                let mut is_possible = host.hardware().is_none();
                for field in [Field::Mac, Field::Ip, Field::BmcAddress, Field::ReportedBmc] {
                    host.each_text(field, &mut |text| {
                        let is_other = field == Field::ReportedBmc && text.parse::<Ipv4Addr>().is_ok();
                        is_possible = is_possible || known.contains(text) || (has_ipv6 && is_other);
                    });
                }
                is_possible
            });
            possible
                .map(|host| (infra_env_id, host.id()))
                .collect::<Vec<HostKey>>()
        });
        Ok(finished(found.await))
    }

    /// The hosts of these InfraEnvs that no cluster has, as their pools see them.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn members(
        &self,
        infra_envs: HashSet<InfraEnvId>,
    ) -> Result<HashMap<InfraEnvId, Vec<Member>>, StoreError> {
        let (table, _) = self.table().await?;
        let now = self.hosts.now();
        let found = tokio::task::spawn_blocking(move || {
            let mut pools: HashMap<InfraEnvId, Vec<Member>> = HashMap::new();
            let of_them = table
                .hosts()
                .filter(|host| infra_envs.contains(&host.infra_env_id()));
            for host in of_them {
                if let Some(member) = host.member_of_pool(now) {
                    pools.entry(host.infra_env_id()).or_default().push(member);
                }
            }
            pools
        });
        Ok(finished(found.await))
    }

    /// The hosts of an InfraEnv by their switches, then by their names; with `cluster` those of that cluster alone.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn places(
        &self,
        infra_env_id: InfraEnvId,
        cluster: Option<ClusterId>,
    ) -> Result<Vec<HostPlace>, StoreError> {
        let (table, _) = self.table().await?;
        let found = tokio::task::spawn_blocking(move || HostPlace::all(&table, infra_env_id, cluster));
        Ok(finished(found.await))
    }

    /// All hosts with the switch ports at their cables; with `scope` those of that InfraEnv.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn switched(&self, scope: Option<InfraEnvId>) -> Result<Vec<SwitchedHost>, StoreError> {
        let (table, _) = self.table().await?;
        let found = tokio::task::spawn_blocking(move || SwitchedHost::all(&table, scope));
        Ok(finished(found.await))
    }

    /// As [`Self::present`], in a task of its own: what was read is kept although the client goes.
    async fn table(&self) -> Result<contents::Present, StoreError> {
        let index = self.clone();
        finished(tokio::spawn(async move { index.present().await }).await)
    }

    /// The present rows, and the place in the log of changes that they show.
    async fn present(&self) -> Result<contents::Present, StoreError> {
        let mut contents = self.contents.lock().await;
        if !self.is_watched.swap(true, Ordering::Relaxed) {
            tokio::spawn(drop_unused(
                Arc::downgrade(&self.contents),
                self.is_watched.clone(),
            ));
        }
        match self.refreshed(&mut contents).await {
            Ok(present) => Ok(present),
            Err(error) => {
                // Some changes may have been taken out of the log and not been read.
                *contents = None;
                Err(error)
            }
        }
    }

    async fn refreshed(
        &self,
        contents: &mut MutexGuard<'_, Option<Contents>>,
    ) -> Result<contents::Present, StoreError> {
        let known = match contents.take() {
            Some(known) => known.follow(&self.hosts, &self.log).await?,
            None => None,
        };
        let known = match known {
            Some(known) => known,
            None => Contents::read(&self.hosts, &self.log).await?,
        };
        Ok(contents.insert(known).present())
    }
}

/// The result of a task. A panic goes on here.
pub(super) fn finished<T>(task: Result<T, JoinError>) -> T {
    task.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
}

/// Drops the index when it was not used for a while.
async fn drop_unused(contents: Weak<Mutex<Option<Contents>>>, is_watched: Arc<AtomicBool>) {
    loop {
        sleep(LOOK).await;
        let Some(contents) = contents.upgrade() else {
            return;
        };
        let mut contents = contents.lock().await;
        if contents.as_ref().is_none_or(|known| known.is_unused_for(KEPT)) {
            *contents = None;
            is_watched.store(false, Ordering::Relaxed);
            return;
        }
    }
}

impl Hosts {
    /// Summarizes the inventories that were stored without a summary, by an earlier release.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn summarize_inventories(&self) -> Result<(), StoreError> {
        let keys = self.store.hosts_without_summary().await?;
        for part in keys.chunks(SUMMARIZED_AT_ONCE) {
            let hosts = self.store.read_hosts(part, HostForm::Whole).await?;
            let summaries: Vec<_> = hosts
                .iter()
                .filter_map(|host| {
                    let inventory = host.inventory.as_deref()?;
                    Some(((host.infra_env_id, host.id), HardwareSummary::of(inventory)))
                })
                .collect();
            self.store.add_host_summaries(&summaries).await?;
        }
        if !keys.is_empty() {
            tracing::info!(hosts = keys.len(), "inventories summarized");
        }
        Ok(())
    }
}
