//! Stores values about objects for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Values by key, each for a limited time.
#[derive(Debug)]
pub struct Memory<K, V> {
    lifetime: Duration,
    known: Mutex<HashMap<K, (V, Instant)>>,
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    pub fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<K, (V, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, and the rest of its time.
    pub fn get(&self, key: &K, now: Instant) -> Option<(V, Duration)> {
        let known = self.known();
        let (value, until) = known.get(key)?;
        let left = until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some((value.clone(), left))
    }

    /// Stores a value, and removes those that have expired.
    pub fn set(&self, key: K, value: V, now: Instant) {
        let mut known = self.known();
        known.retain(|_, (_, until)| *until > now);
        known.insert(key, (value, now + self.lifetime));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_remembered_for_its_time() {
        let (memory, now) = (Memory::new(Duration::from_secs(10)), Instant::now());
        memory.set("a", 1, now);
        assert_eq!(
            memory.get(&"a", now + Duration::from_secs(4)),
            Some((1, Duration::from_secs(6)))
        );
        assert_eq!(memory.get(&"a", now + Duration::from_secs(10)), None);
        memory.set("b", 2, now + Duration::from_secs(11));
        assert_eq!(memory.known().len(), 1);
    }
}
