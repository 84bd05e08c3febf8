//! Caches hosts between their polls until they change: a poll of an idle host reads no database.
//!
//! On SQLite this process is the only writer, so what is kept is true by construction. On PostgreSQL other replicas write,
//! too: every change of a host is sent on a notification channel ([`crate::feed`]), and hosts are cached only while this
//! replica receives from that channel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use muster_api::ids::{HostId, InfraEnvId};

use super::brief::HostBrief;
use super::change::HostKey;
use crate::Result;
use crate::store::Store;

/// After a change with an unknown outcome (the request was cancelled during the write) a host is not cached for so long, which exceeds the
/// time limit of statements.
const DOUBT: Duration = Duration::from_secs(60);

/// The cached hosts.
pub(crate) struct Polled {
    inner: Mutex<Inner>,
}

struct Inner {
    /// True while all changes are received.
    trusted: bool,
    hosts: HashMap<HostKey, Arc<HostBrief>>,
    /// Hosts that are being changed, or may be.
    barred: HashMap<HostKey, Bar>,
    /// Hosts that are being read from the database.
    reads: HashMap<HostKey, Reads>,
}

#[derive(Default)]
struct Reads {
    running: u32,
    /// The host has changed since one of these reads began. Its result is not cached.
    overtaken: bool,
}

#[derive(Default)]
struct Bar {
    writers: u32,
    doubted_until: Option<Instant>,
}

impl Polled {
    /// `trusted` where no other process writes.
    pub(crate) fn new(trusted: bool) -> Self {
        Self {
            inner: Mutex::new(Inner {
                trusted,
                hosts: HashMap::new(),
                barred: HashMap::new(),
                reads: HashMap::new(),
            }),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .expect("no code panics while it holds the hosts")
    }

    fn find(&self, key: HostKey) -> Option<Arc<HostBrief>> {
        self.inner().hosts.get(&key).cloned()
    }

    /// Notes that a host is about to be read from the database.
    fn read(self: &Arc<Self>, key: HostKey) -> Read {
        self.inner().reads.entry(key).or_default().running += 1;
        Read {
            polled: Arc::clone(self),
            key,
        }
    }

    /// Call before changing a host here. The host is not cached until the change is [done](Change::done).
    pub(crate) fn changing(self: &Arc<Self>, key: HostKey) -> Change {
        let mut inner = self.inner();
        inner.forget(key);
        inner.barred.entry(key).or_default().writers += 1;
        Change {
            polled: Arc::clone(self),
            key,
            done: false,
        }
    }

    /// A host was changed, here or elsewhere.
    pub(crate) fn changed(&self, key: HostKey) {
        self.inner().forget(key);
    }

    /// True while all changes are received.
    pub(crate) fn is_trusted(&self) -> bool {
        self.inner().trusted
    }

    /// All changes are received from now on.
    pub(crate) fn trust(&self) {
        let mut inner = self.inner();
        if !inner.trusted {
            // Reads that began before may have missed a change that was not received.
            inner.forget_all();
            inner.trusted = true;
        }
    }

    /// Changes may have been missed.
    pub(crate) fn distrust(&self) {
        let mut inner = self.inner();
        inner.trusted = false;
        inner.forget_all();
    }
}

impl Inner {
    /// Drops the cached host, and the results of its running reads.
    fn forget(&mut self, key: HostKey) {
        self.hosts.remove(&key);
        if let Some(reads) = self.reads.get_mut(&key) {
            reads.overtaken = true;
        }
    }

    fn forget_all(&mut self) {
        self.hosts = HashMap::new();
        for reads in self.reads.values_mut() {
            reads.overtaken = true;
        }
    }

    /// True while a host is being changed, or may be.
    fn is_barred(&mut self, key: HostKey) -> bool {
        let Some(bar) = self.barred.get(&key) else {
            return false;
        };
        let doubted = bar.doubted_until.is_some_and(|until| Instant::now() < until);
        if bar.writers > 0 || doubted {
            return true;
        }
        self.barred.remove(&key);
        false
    }
}

/// A host being read.
struct Read {
    polled: Arc<Polled>,
    key: HostKey,
}

impl Read {
    /// Caches the host, unless it has changed since the read began.
    fn keep(self, host: &Arc<HostBrief>) {
        let mut inner = self.polled.inner();
        let overtaken = inner.reads.get(&self.key).is_none_or(|reads| reads.overtaken);
        if inner.trusted && !overtaken && !inner.is_barred(self.key) {
            inner.hosts.insert(self.key, Arc::clone(host));
        }
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        let mut inner = self.polled.inner();
        if let Some(reads) = inner.reads.get_mut(&self.key) {
            reads.running -= 1;
            if reads.running == 0 {
                inner.reads.remove(&self.key);
            }
        }
    }
}

/// A host being changed. Dropped before it is done, the outcome of the change is unknown.
pub(crate) struct Change {
    polled: Arc<Polled>,
    key: HostKey,
    done: bool,
}

impl Change {
    /// The change is committed, or certainly not.
    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let mut inner = self.polled.inner();
        inner.forget(self.key);
        let Some(bar) = inner.barred.get_mut(&self.key) else {
            return;
        };
        bar.writers = bar.writers.saturating_sub(1);
        if !self.done {
            bar.doubted_until = Some(Instant::now() + DOUBT);
        }
        if bar.writers == 0 && bar.doubted_until.is_none() {
            inner.barred.remove(&self.key);
        }
    }
}

impl Store {
    /// A host with the data that polls need: from memory if it has not changed since it was last read, otherwise from the database.
    /// Data that polls do not need is left out: validations, findings, the text of the status, disk reasons.
    /// Data that polls themselves write (`checked_in_at`, the host's clock and agent version) may be older than the stored data.
    ///
    /// # Errors
    /// `Corrupt` when its row cannot be read.
    pub async fn polled_host(&self, infra_env_id: InfraEnvId, id: HostId) -> Result<Option<Arc<HostBrief>>> {
        let polled = self.polled();
        if let Some(kept) = polled.find((infra_env_id, id)) {
            return Ok(Some(kept));
        }
        let reading = polled.read((infra_env_id, id));
        let Some(mut read) = self.find_host_brief(infra_env_id, id).await? else {
            return Ok(None);
        };
        read.data.validations = Default::default();
        read.data.findings = Vec::new();
        read.data.status_info = String::new();
        read.data.agent_disk_reasons = Vec::new();
        let read = Arc::new(read);
        reading.keep(&read);
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::time::Timestamp;
    use muster_core::record::{HostData, HostState};

    fn host() -> Arc<HostBrief> {
        let now = Timestamp::UNIX_EPOCH;
        Arc::new(HostBrief {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            cluster_id: None,
            state: HostState::KnownUnbound,
            version: 1,
            due_at: None,
            checked_in_at: now,
            data: HostData::new(now),
            has_inventory: true,
        })
    }

    fn key(host: &HostBrief) -> HostKey {
        (host.infra_env_id, host.id)
    }

    fn kept(polled: &Arc<Polled>, host: &Arc<HostBrief>) -> bool {
        polled.read(key(host)).keep(host);
        polled.find(key(host)).is_some()
    }

    #[test]
    fn a_host_is_kept_until_it_changes() {
        let (polled, host) = (Arc::new(Polled::new(true)), host());
        assert!(kept(&polled, &host));
        let change = polled.changing(key(&host));
        assert!(polled.find(key(&host)).is_none());
        assert!(!kept(&polled, &host), "it is being written");
        change.done();
        assert!(kept(&polled, &host));
        polled.changed(key(&host));
        assert!(polled.find(key(&host)).is_none());
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let (polled, host) = (Arc::new(Polled::new(true)), host());
        for change in [
            Box::new(|| polled.changed(key(&host))) as Box<dyn Fn()>,
            Box::new(|| polled.changing(key(&host)).done()),
            Box::new(|| {
                polled.distrust();
                polled.trust();
            }),
            // The next read begins while changes are not received.
            Box::new(|| polled.distrust()),
            Box::new(|| polled.trust()),
        ] {
            let reading = polled.read(key(&host));
            change();
            reading.keep(&host);
            assert!(polled.find(key(&host)).is_none());
        }
        assert!(kept(&polled, &host));
        assert!(polled.inner().reads.is_empty());
    }

    #[test]
    fn changes_of_others_do_not_keep_a_host_from_being_kept() {
        let (polled, host, other) = (Arc::new(Polled::new(true)), host(), host());
        let reading = polled.read(key(&host));
        polled.changing(key(&other)).done();
        reading.keep(&host);
        assert!(polled.find(key(&host)).is_some());
    }

    #[test]
    fn a_change_that_was_given_up_leaves_doubt() {
        let (polled, host) = (Arc::new(Polled::new(true)), host());
        drop(polled.changing(key(&host)));
        assert!(!kept(&polled, &host));
        polled.inner().barred.get_mut(&key(&host)).unwrap().doubted_until = Some(Instant::now());
        assert!(kept(&polled, &host));
        assert!(polled.inner().barred.is_empty());
    }

    #[test]
    fn nothing_is_kept_while_changes_may_go_unheard() {
        let (polled, host) = (Arc::new(Polled::new(false)), host());
        assert!(!kept(&polled, &host));
        polled.trust();
        assert!(kept(&polled, &host));
        polled.distrust();
        assert!(polled.find(key(&host)).is_none());
    }
}
