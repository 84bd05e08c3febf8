//! Keeps inventories and reports of hosts that were written or read lately. A booting host is read four times within a few seconds: its
//! documents need not be read and parsed again each time, nor written again where they did not change.
//!
//! Documents change only together with the version of their host, so a cached document belongs to any row with the same version, whichever
//! process wrote it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moka::sync::Cache;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::Inventory;
use muster_core::record::{Host, HostReports};
use tokio::time::sleep;

use super::change::HostKey;

/// Bytes of JSON of the documents that are kept: those of some 300 hosts, which take 20 MB when they are parsed.
const MOST: u64 = 4 * 1024 * 1024;

/// Time for which documents are kept.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The documents of a version of a host.
#[derive(Clone)]
pub(crate) struct KnownDocuments {
    pub(super) infra_env_id: InfraEnvId,
    pub(super) version: i64,
    pub(super) inventory: Option<Arc<Inventory>>,
    pub(super) reports: Arc<HostReports>,
    pub(super) has_bootstrap: bool,
    pub(super) sizes: Sizes,
}

/// The lengths of documents as JSON.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    pub(super) inventory: usize,
    pub(super) reports: usize,
}

impl KnownDocuments {
    /// The documents of a host that is stored as this version.
    pub(super) fn of(host: &Host, version: i64, sizes: Sizes) -> Self {
        Self {
            infra_env_id: host.infra_env_id,
            version,
            inventory: host.inventory.clone(),
            reports: Arc::clone(&host.reports),
            has_bootstrap: !host.bootstrap_ignition.is_empty(),
            sizes,
        }
    }
}

pub(crate) struct DocumentCache {
    /// By the host's id, because hosts are read by their id only.
    known: Cache<HostId, KnownDocuments>,
    /// A task that removes expired entries is running.
    is_cleaned: AtomicBool,
}

impl Default for DocumentCache {
    fn default() -> Self {
        let weight = |_: &HostId, known: &KnownDocuments| {
            u32::try_from(known.sizes.inventory + known.sizes.reports).unwrap_or(u32::MAX)
        };
        Self {
            known: Cache::builder()
                .max_capacity(MOST)
                .weigher(weight)
                .time_to_live(KEPT_FOR)
                .build(),
            is_cleaned: AtomicBool::new(false),
        }
    }
}

impl DocumentCache {
    /// Documents of the host, of whatever version and InfraEnv.
    pub(super) fn of(&self, id: HostId) -> Option<KnownDocuments> {
        self.known.get(&id)
    }

    /// Documents of exactly this version.
    pub(super) fn of_version(&self, (infra_env_id, id): HostKey, version: i64) -> Option<KnownDocuments> {
        self.of(id)
            .filter(|known| known.infra_env_id == infra_env_id && known.version == version)
    }

    /// Keeps documents for a while.
    pub(super) fn keep(self: &Arc<Self>, id: HostId, documents: KnownDocuments) {
        self.known.insert(id, documents);
        if !self.is_cleaned.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(self).clean());
        }
    }

    /// Removes expired entries until none is left: the cache itself does so only while it is used.
    async fn clean(self: Arc<Self>) {
        loop {
            sleep(KEPT_FOR).await;
            // A task that keeps documents from here on starts another cleaner, so that none of them is left without one.
            self.is_cleaned.swap(false, Ordering::AcqRel);
            self.known.run_pending_tasks();
            if self.known.entry_count() == 0 || self.is_cleaned.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    }
}
