//! Permits for work at once: per key, so that a key that uses all of its permits blocks no other one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Permits of each key. A key is kept while a permit of it is held or awaited.
#[derive(Debug)]
pub struct KeyedLimiter<K> {
    of_one: usize,
    keys: Mutex<BTreeMap<K, Weak<Semaphore>>>,
}

impl<K: Clone + Ord> KeyedLimiter<K> {
    /// Each key has `of_one` permits.
    #[must_use]
    pub const fn new(of_one: usize) -> Self {
        Self {
            of_one,
            keys: Mutex::new(BTreeMap::new()),
        }
    }

    /// Waits for a permit of this key.
    pub async fn acquire(&self, key: &K) -> OwnedSemaphorePermit {
        let permits = self.of(key);
        permits
            .acquire_owned()
            .await
            .expect("the semaphore is never closed")
    }

    /// A permit of this key; `None` if none becomes free in time.
    pub async fn acquire_within(&self, patience: Duration, key: &K) -> Option<OwnedSemaphorePermit> {
        timeout(patience, self.acquire(key)).await.ok()
    }

    fn of(&self, key: &K) -> Arc<Semaphore> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, permits| permits.strong_count() > 0);
        let known = keys.get(key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let permits = Arc::new(Semaphore::new(self.of_one));
            keys.insert(key.clone(), Arc::downgrade(&permits));
            permits
        })
    }
}

/// Permits for all keys together, of which each key has at most a share.
#[derive(Debug)]
pub struct SharedLimiter<K> {
    all: Semaphore,
    shares: KeyedLimiter<K>,
}

/// The permit of one work, until it is dropped.
#[derive(Debug)]
pub struct SharedPermit<'a> {
    _share: Option<OwnedSemaphorePermit>,
    _of_all: SemaphorePermit<'a>,
}

impl<K: Clone + Ord> SharedLimiter<K> {
    /// `all` permits, of which each key has at most `of_one`.
    #[must_use]
    pub const fn new(all: usize, of_one: usize) -> Self {
        Self {
            all: Semaphore::const_new(all),
            shares: KeyedLimiter::new(of_one),
        }
    }

    /// A permit, of the key's share if there is a key; `None` if the share or the whole has none in time, which may pass twice.
    pub async fn acquire_within(&self, patience: Duration, key: Option<&K>) -> Option<SharedPermit<'_>> {
        // The share first: work that waits for its share holds no permit that others need.
        let share = match key {
            Some(key) => Some(self.shares.acquire_within(patience, key).await?),
            None => None,
        };
        let of_all = timeout(patience, self.all.acquire()).await.ok()?.ok()?;
        Some(SharedPermit {
            _share: share,
            _of_all: of_all,
        })
    }

    /// Permits that are free.
    pub fn available(&self) -> usize {
        self.all.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn each_key_has_its_own_and_they_come_back() {
        let limiter = KeyedLimiter::new(2);
        let held = [limiter.acquire(&"a").await, limiter.acquire(&"a").await];
        assert!(limiter.acquire_within(SECOND, &"a").await.is_none());
        let other = limiter.acquire_within(SECOND, &"b").await;
        assert!(other.is_some());
        drop(held);
        assert!(limiter.acquire_within(SECOND, &"a").await.is_some());
        drop(other);
        let _ = limiter.of(&"c");
        let keys = limiter.keys.lock().unwrap().len();
        assert_eq!(keys, 1, "a key without permits is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_has_its_share_and_waits_without_a_permit_of_all() {
        let limiter = SharedLimiter::new(3, 2);
        let held = [
            limiter.acquire_within(SECOND, Some(&"a")).await,
            limiter.acquire_within(SECOND, Some(&"a")).await,
        ];
        assert!(held.iter().all(Option::is_some));
        assert!(limiter.acquire_within(SECOND, Some(&"a")).await.is_none());
        assert_eq!(limiter.available(), 1);
        let last = limiter.acquire_within(SECOND, None).await;
        assert!(last.is_some());
        assert!(limiter.acquire_within(SECOND, Some(&"b")).await.is_none());
        drop(last);
        assert!(limiter.acquire_within(SECOND, Some(&"b")).await.is_some());
    }
}
