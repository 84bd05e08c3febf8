//! Reads which hosts of an InfraEnv reach each other. A tile of the matrix needs the reports of its rows and its columns: each is parsed
//! once while no host of the InfraEnv changes, and what is kept of them is bounded and dropped soon.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::ConnectivityReport;
use muster_core::rules::reachability::{Link, Overview, PackedTile, links, overview, tile};
use muster_store::{HostForm, ListedHost, StoreError};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::Hosts;
use super::check_ins::HostKey;
use super::index::{HostPlace, finished};

/// Most links that are kept, 20 bytes each: those of a thousand hosts that have probed all others.
const MOST_LINKS: usize = 1_000_000;

/// Time after which the links are dropped: a browser has all tiles of a matrix by then.
const KEPT: Duration = Duration::from_secs(60);

/// Hosts whose records are read at the same time for the overview.
const READ_AT_ONCE: usize = 256;

/// Reads matrices. Cloning gives the same reader.
#[derive(Clone)]
pub struct Connectivity {
    hosts: Arc<Hosts>,
    kept: Arc<Mutex<Kept>>,
    /// True while a task will drop what is kept.
    is_watched: Arc<AtomicBool>,
}

/// The links of the hosts of one InfraEnv.
#[derive(Default)]
struct Kept {
    /// The InfraEnv, and its [mark](Hosts::mark) when they were read.
    of: Option<(InfraEnvId, String)>,
    /// `None`: the host has reported nothing.
    links: HashMap<HostId, Option<Vec<Link>>>,
    /// Number of all links.
    count: usize,
}

/// A part of the matrix.
#[derive(Debug, Clone, Default)]
pub struct MatrixTile {
    pub packed: PackedTile,
    /// The hosts of it that have reported.
    pub reporting: HashSet<HostId>,
}

impl Connectivity {
    pub(crate) fn new(hosts: Arc<Hosts>) -> Self {
        Self {
            hosts,
            kept: Arc::default(),
            is_watched: Arc::default(),
        }
    }

    /// The tile of these rows and columns of an InfraEnv's hosts in this order. Places beyond the last host are left out.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn tile(
        &self,
        infra_env_id: InfraEnvId,
        order: &[HostPlace],
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> Result<MatrixTile, StoreError> {
        let ids = |range: Range<usize>| -> Vec<HostId> {
            let places = order.iter().skip(range.start).take(range.len());
            places.map(|place| place.id).collect()
        };
        let (rows, columns) = (ids(rows), ids(columns));
        let mark = self.hosts.mark(infra_env_id).await?;
        let mut kept = self.kept.lock().await;
        self.watch();
        kept.follow(infra_env_id, mark);
        let wanted: HashSet<HostId> = rows.iter().chain(&columns).copied().collect();
        kept.read(&self.hosts, infra_env_id, &wanted).await?;
        let links_of = |id: HostId| kept.links.get(&id)?.as_deref();
        Ok(MatrixTile {
            packed: tile(&rows, &columns, links_of),
            reporting: wanted.into_iter().filter(|id| links_of(*id).is_some()).collect(),
        })
    }

    /// The whole matrix in short; of the broken pairs `limit`, those from `skip` on.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn overview(
        &self,
        infra_env_id: InfraEnvId,
        order: &[HostPlace],
        skip: usize,
        limit: usize,
    ) -> Result<Overview, StoreError> {
        let ids: Vec<HostId> = order.iter().map(|place| place.id).collect();
        // The failures stand in the records, so reports are not read.
        let mut unreached = HashMap::new();
        for part in ids.chunks(READ_AT_ONCE) {
            let keys: Vec<HostKey> = part.iter().map(|id| (infra_env_id, *id)).collect();
            for host in self.hosts.read(&keys, HostForm::Brief).await? {
                if !host.data.sees.unreached.is_empty() {
                    unreached.insert(host.id, host.data.sees.unreached);
                }
            }
        }
        let found = tokio::task::spawn_blocking(move || overview(&ids, &unreached, skip, limit)).await;
        Ok(finished(found))
    }

    /// Drops what is kept after a while. Only while it is locked.
    fn watch(&self) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (kept, is_watched) = (Arc::downgrade(&self.kept), self.is_watched.clone());
        tokio::spawn(async move {
            sleep(KEPT).await;
            let Some(kept) = kept.upgrade() else { return };
            let mut kept = kept.lock().await;
            *kept = Kept::default();
            is_watched.store(false, Ordering::Relaxed);
        });
    }
}

impl Kept {
    /// Drops links of another InfraEnv, or of other reports.
    fn follow(&mut self, infra_env_id: InfraEnvId, mark: String) {
        let of = Some((infra_env_id, mark));
        if self.of != of {
            *self = Self {
                of,
                ..Self::default()
            };
        }
    }

    /// Reads the links of these hosts, as far as they are not there.
    async fn read(
        &mut self,
        hosts: &Hosts,
        infra_env_id: InfraEnvId,
        wanted: &HashSet<HostId>,
    ) -> Result<(), StoreError> {
        if self.count > MOST_LINKS {
            self.links.clear();
            self.count = 0;
        }
        let missing = wanted.iter().filter(|id| !self.links.contains_key(*id));
        let keys: Vec<HostKey> = missing.map(|id| (infra_env_id, *id)).collect();
        let mut parts = hosts.parts(keys, HostForm::Whole);
        while let Some(part) = parts.next().await? {
            // A part has a megabyte of JSON, in which no poll should wait.
            let parsed = tokio::task::spawn_blocking(move || {
                let all = part.iter().map(|listed| (listed.host.id, links_of(listed)));
                all.collect::<Vec<(HostId, Option<Vec<Link>>)>>()
            });
            for (id, links) in finished(parsed.await) {
                self.count += links.as_ref().map_or(0, Vec::len);
                self.links.insert(id, links);
            }
        }
        Ok(())
    }
}

/// `None`: the host has reported nothing, or something that cannot be read.
fn links_of(listed: &ListedHost) -> Option<Vec<Link>> {
    let report: ConnectivityReport = serde_json::from_str(&listed.texts.connectivity).ok()?;
    Some(links(&report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_kept_for_one_infra_env_while_none_of_its_hosts_changes() {
        let (one, other) = (InfraEnvId::random(), InfraEnvId::random());
        let mut kept = Kept::default();
        for (of, mark, stay) in [
            (one, "1", false),
            (one, "1", true),
            (one, "2", false),
            (other, "2", false),
        ] {
            kept.follow(of, mark.to_owned());
            assert_eq!(!kept.links.is_empty(), stay, "{mark}");
            kept.links.insert(HostId::random(), None);
        }
    }
}
