//! Keeps the recent changes in memory, in the order of their revisions, and feeds watches from them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};

use crate::storage::{BYTES_AT_ONCE, Change, Revision};

/// Maximum number of changes in memory; watches that are further behind read from the database.
const MAX_CHANGES: usize = 16_384;
/// Maximum size of their documents in memory.
const MAX_BYTES: usize = 16 << 20;
/// Changes of the database that are remembered while some watch has them.
const MAX_SHARED: usize = 1024;

/// The recent changes without gaps, and a signal for watches when one arrives.
#[derive(Debug)]
pub struct WatchCache {
    recent: Mutex<Recent>,
    latest: watch::Sender<Revision>,
    /// Notified when a change arrived before its predecessor.
    gap: Notify,
    /// Counts the times that history was replaced by another.
    history: AtomicU64,
    /// Older changes that watches have read from the database and still hold: other watches get the same copies.
    older: Mutex<HashMap<Revision, Weak<Change>>>,
}

#[derive(Debug)]
struct Recent {
    /// Without gaps; the last one has the revision `latest`, unless the deque is empty.
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    latest: Revision,
    /// Changes that arrived before a predecessor.
    early: BTreeMap<Revision, Arc<Change>>,
}

impl WatchCache {
    /// An empty cache that expects the change after this revision next.
    pub fn starting_after(revision: Revision) -> Self {
        Self {
            recent: Mutex::new(Recent {
                changes: VecDeque::new(),
                bytes: 0,
                latest: revision,
                early: BTreeMap::new(),
            }),
            latest: watch::Sender::new(revision),
            gap: Notify::new(),
            history: AtomicU64::new(0),
            older: Mutex::default(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        // No code in this file can panic while it holds the lock.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a committed change; ignores one that is already cached. A different change of the same revision starts a new history.
    pub fn add(&self, change: Arc<Change>) {
        let mut recent = self.recent();
        if change.revision <= recent.latest {
            if !recent.contradicts(&change) {
                return;
            }
            drop(recent);
            self.begin_anew(change.revision - 1);
            recent = self.recent();
        }
        recent.early.insert(change.revision, change);
        let before = recent.latest;
        loop {
            let next = recent.latest + 1;
            let Some(change) = recent.early.remove(&next) else {
                break;
            };
            recent.latest = next;
            recent.bytes += change.size();
            recent.changes.push_back(change);
        }
        while recent.changes.len() > MAX_CHANGES || recent.bytes > MAX_BYTES {
            let Some(oldest) = recent.changes.pop_front() else {
                break;
            };
            recent.bytes -= oldest.size();
        }
        let (latest, has_gap) = (recent.latest, !recent.early.is_empty());
        drop(recent);
        if latest > before {
            self.latest.send_replace(latest);
        }
        if has_gap {
            self.gap.notify_one();
        }
    }

    /// Forgets everything: the database has lost what was committed after `revision`, as when it is restored from a backup or its
    /// replica takes over. Watches end, so that clients list again.
    pub fn begin_anew(&self, revision: Revision) {
        tracing::warn!(
            revision,
            "the database has lost writes after this one: clients list everything again"
        );
        let mut recent = self.recent();
        recent.changes.clear();
        recent.early.clear();
        (recent.bytes, recent.latest) = (0, revision);
        self.history.fetch_add(1, Ordering::Relaxed);
        drop(recent);
        self.older.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.latest.send_replace(revision);
    }

    /// A number that changes when another history replaces this one; revisions of the earlier one are then meaningless.
    pub fn history(&self) -> u64 {
        self.history.load(Ordering::Relaxed)
    }

    /// Adds changes read from the database, in their order. Revisions missing between them were compacted:
    /// the cache then begins after them.
    pub fn add_stored(&self, changes: Vec<Arc<Change>>) {
        for change in changes {
            let mut recent = self.recent();
            if change.revision > recent.latest + 1 {
                recent.changes.clear();
                recent.bytes = 0;
                recent.latest = change.revision - 1;
            }
            drop(recent);
            self.add(change);
        }
    }

    /// Drops the changes at and before a revision.
    pub fn forget(&self, revision: Revision) {
        let mut recent = self.recent();
        while let Some(oldest) = recent.changes.pop_front_if(|oldest| oldest.revision <= revision) {
            recent.bytes -= oldest.size();
        }
    }

    /// The last revision without a gap before it.
    pub fn latest(&self) -> Revision {
        *self.latest.borrow()
    }

    /// Notifies when [`WatchCache::latest`] grows.
    pub fn subscribe(&self) -> watch::Receiver<Revision> {
        self.latest.subscribe()
    }

    /// Waits until a change arrives before its predecessor, which may have to be read from the database.
    pub async fn gap(&self) {
        self.gap.notified().await;
    }

    pub fn has_gap(&self) -> bool {
        !self.recent().early.is_empty()
    }

    /// Replaces changes that were read from the database by the copies that another watch has, so that a thousand watches that lag behind
    /// hold one copy.
    pub fn share(&self, changes: &mut [Arc<Change>]) {
        let mut older = self.older.lock().unwrap_or_else(PoisonError::into_inner);
        if older.len() > MAX_SHARED {
            older.retain(|_, change| change.strong_count() > 0);
        }
        for change in changes {
            match older.get(&change.revision).and_then(Weak::upgrade) {
                Some(known) => *change = known,
                None => drop(older.insert(change.revision, Arc::downgrade(change))),
            }
        }
    }

    /// The next changes after a revision, or `None` when the cache does not reach back that far.
    pub fn after(&self, revision: Revision) -> Option<Vec<Arc<Change>>> {
        let recent = self.recent();
        if revision >= recent.latest {
            return Some(Vec::new());
        }
        let first = recent.changes.front()?.revision;
        if revision + 1 < first {
            return None;
        }
        let skip = usize::try_from(revision + 1 - first).ok()?;
        let mut bytes = 0;
        let next = recent.changes.range(skip..).take_while(|change| {
            let is_first = bytes == 0;
            bytes += change.size();
            is_first || bytes <= BYTES_AT_ONCE
        });
        Some(next.cloned().collect())
    }
}

impl Recent {
    /// True when another change is known of the same revision.
    fn contradicts(&self, change: &Arc<Change>) -> bool {
        let known = self.changes.front().and_then(|first| {
            let at = change.revision.checked_sub(first.revision)?;
            self.changes.get(usize::try_from(at).ok()?)
        });
        known.is_some_and(|known| !Arc::ptr_eq(known, change) && known.document != change.document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{ChangeKind, Key};

    fn change(revision: Revision) -> Arc<Change> {
        change_of("{}", revision)
    }

    fn change_of(document: &str, revision: Revision) -> Arc<Change> {
        let key = Key {
            resource: "secrets".into(),
            namespace: "n".into(),
            name: "s".into(),
        };
        Arc::new(Change::new(
            revision,
            ChangeKind::Modified,
            key,
            document.into(),
            None,
        ))
    }

    fn revisions(cache: &WatchCache, after: Revision) -> Option<Vec<Revision>> {
        cache
            .after(after)
            .map(|changes| changes.iter().map(|change| change.revision).collect())
    }

    #[test]
    fn a_change_that_comes_early_waits_for_the_one_before() {
        let cache = WatchCache::starting_after(4);
        cache.add(change(6));
        assert_eq!((cache.latest(), revisions(&cache, 4)), (4, Some(vec![])));
        cache.add(change(5));
        assert_eq!((cache.latest(), revisions(&cache, 4)), (6, Some(vec![5, 6])));
        cache.add(change(5));
        assert_eq!(revisions(&cache, 5), Some(vec![6]));
    }

    #[test]
    fn another_change_of_the_same_revision_begins_another_history() {
        let cache = WatchCache::starting_after(4);
        for revision in 5..=9 {
            cache.add(change(revision));
        }
        cache.add(change(7));
        assert_eq!((cache.latest(), cache.history()), (9, 0), "the same one again");
        cache.add(change_of("another", 7));
        assert_eq!((cache.latest(), cache.history()), (7, 1));
        assert_eq!(
            (revisions(&cache, 6), revisions(&cache, 5)),
            (Some(vec![7]), None)
        );
        cache.add(change(8));
        assert_eq!(revisions(&cache, 6), Some(vec![7, 8]));
    }

    #[test]
    fn changes_that_were_read_may_leave_out_compacted_ones() {
        let cache = WatchCache::starting_after(4);
        cache.add(change(9));
        cache.add_stored(vec![change(7), change(8)]);
        assert_eq!((cache.latest(), revisions(&cache, 6)), (9, Some(vec![7, 8, 9])));
        assert_eq!(revisions(&cache, 4), None);
    }

    #[test]
    fn large_changes_come_a_few_at_a_time_and_small_ones_all_at_once() {
        let cache = WatchCache::starting_after(0);
        let large = "x".repeat(BYTES_AT_ONCE * 2 / 5);
        for revision in 1..=5 {
            cache.add(change_of(&large, revision));
        }
        cache.add(change_of(&"x".repeat(BYTES_AT_ONCE * 2), 6));
        for revision in 7..=100 {
            cache.add(change(revision));
        }
        assert_eq!(revisions(&cache, 0), Some(vec![1, 2]));
        assert_eq!(revisions(&cache, 4), Some(vec![5]));
        assert_eq!(revisions(&cache, 5), Some(vec![6]));
        assert_eq!(revisions(&cache, 6), Some((7..=100).collect()));
    }

    #[test]
    fn what_one_watch_has_read_others_have_too() {
        let cache = WatchCache::starting_after(0);
        let mut one = vec![change(1), change(2)];
        cache.share(&mut one);
        let mut other = vec![change(2), change(3)];
        cache.share(&mut other);
        assert!(Arc::ptr_eq(&one[1], &other[0]));
        drop((one, other));
        // A copy is kept only as long as a watch holds it.
        let mut later = vec![change(2)];
        let read = later[0].clone();
        cache.share(&mut later);
        assert!(Arc::ptr_eq(&later[0], &read));
    }

    #[test]
    fn what_is_forgotten_is_read_elsewhere_and_what_comes_after_it_is_there() {
        let cache = WatchCache::starting_after(4);
        cache.add(change(5));
        cache.add(change(6));
        cache.forget(5);
        assert_eq!(
            (revisions(&cache, 4), revisions(&cache, 5)),
            (None, Some(vec![6]))
        );
        cache.forget(6);
        assert_eq!((revisions(&cache, 5), revisions(&cache, 6)), (None, Some(vec![])));
        cache.add(change(7));
        assert_eq!(
            (revisions(&cache, 5), revisions(&cache, 6)),
            (None, Some(vec![7]))
        );
    }

    #[test]
    fn what_is_older_than_the_log_is_not_answered() {
        let cache = WatchCache::starting_after(4);
        cache.add(change(5));
        assert_eq!(revisions(&cache, 3), None);
        for revision in 6..6 + MAX_CHANGES as u64 {
            cache.add(change(revision));
        }
        assert_eq!(revisions(&cache, 4), None);
        assert_eq!(revisions(&cache, 5).map(|found| found.len()), Some(MAX_CHANGES));
    }
}
