//! Permits per key: a key that uses all of its permits blocks no other key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Semaphores by key, kept while a permit is held or awaited.
#[derive(Debug)]
pub struct Places {
    of_one: usize,
    all: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

impl Places {
    /// Each key has `of_one` permits.
    pub const fn new(of_one: usize) -> Self {
        Self {
            of_one,
            all: Mutex::new(BTreeMap::new()),
        }
    }

    /// A permit of this key; `None` if none becomes free in time.
    pub async fn take(&self, key: &str, patience: Duration) -> Option<OwnedSemaphorePermit> {
        let places = self.of(key);
        timeout(patience, places.acquire_owned()).await.ok()?.ok()
    }

    fn of(&self, key: &str) -> Arc<Semaphore> {
        let mut all = self.all.lock().expect("no code panics while holding the lock");
        all.retain(|_, places| places.strong_count() > 0);
        let known = all.get(key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let places = Arc::new(Semaphore::new(self.of_one));
            all.insert(key.to_owned(), Arc::downgrade(&places));
            places
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_key_has_its_own_and_they_come_back() {
        let places = Places::new(2);
        let second = Duration::from_secs(1);
        let held = [places.take("a", second).await, places.take("a", second).await];
        assert!(held.iter().all(Option::is_some));
        assert!(places.take("a", second).await.is_none());
        let other = places.take("b", second).await;
        assert!(other.is_some());
        drop(held);
        assert!(places.take("a", second).await.is_some());
        drop(other);
        let _ = places.of("c");
        assert_eq!(
            places.all.lock().unwrap().len(),
            1,
            "what nobody holds is forgotten"
        );
    }
}
