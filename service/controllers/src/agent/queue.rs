//! Which objects wait to be looked at, and which of them first.
//!
//! Thousands of hosts may report while somebody approves one: what people do has a lane of its own, and workers that take from no other.
//! An object is never looked at twice at the same time; what happens to it meanwhile has it looked at once more.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// After those that came before it.
    Normal,
    /// Somebody waits for it.
    Urgent,
}

/// Waits after failures: doubled each time.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// Longest wait after failures. Source: docs/protocol/kube-controllers.md#0 (requeue on a backend error).
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// A queue of keys. Cheap to add to; whoever takes a key must tell when it is [`done`](Self::done).
pub struct Queue<K> {
    state: Mutex<State<K>>,
    added: Notify,
}

struct State<K> {
    urgent: VecDeque<K>,
    normal: VecDeque<K>,
    /// Those in a lane.
    waiting: HashMap<K, Lane>,
    /// Those taken; `Some`: asked for again meanwhile.
    taken: HashMap<K, Option<Lane>>,
    /// Those that wait for a moment.
    later: BTreeMap<(Instant, u64), K>,
    later_of: HashMap<K, (Instant, u64)>,
    counter: u64,
    failures: HashMap<K, u32>,
}

impl<K: Clone + Eq + Hash> Default for Queue<K> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                urgent: VecDeque::new(),
                normal: VecDeque::new(),
                waiting: HashMap::new(),
                taken: HashMap::new(),
                later: BTreeMap::new(),
                later_of: HashMap::new(),
                counter: 0,
                failures: HashMap::new(),
            }),
            added: Notify::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `key` looked at.
    pub fn add(&self, key: K, lane: Lane) {
        self.state().add(key, lane);
        self.added.notify_waiters();
    }

    /// Has all of them looked at.
    pub fn add_all(&self, keys: impl IntoIterator<Item = K>, lane: Lane) {
        let mut state = self.state();
        for key in keys {
            state.add(key, lane);
        }
        drop(state);
        self.added.notify_waiters();
    }

    /// Has `key` looked at when `moment` has come, unless it is before that for another reason.
    pub fn add_later(&self, key: K, moment: Instant) {
        self.state().add_later(key, moment);
        self.added.notify_waiters();
    }

    /// Waits for a key. `urgent_only`: takes no other.
    pub async fn take(&self, urgent_only: bool) -> (K, Lane) {
        loop {
            let added = self.added.notified();
            tokio::pin!(added);
            // From here on nothing that is added goes unnoticed.
            added.as_mut().enable();
            let next = {
                let mut state = self.state();
                state.come_due(Instant::now());
                if let Some(taken) = state.take(urgent_only) {
                    return taken;
                }
                state.later.keys().next().map(|(moment, _)| *moment)
            };
            match next.filter(|_| !urgent_only) {
                Some(moment) => tokio::select! {
                    () = added => {}
                    () = sleep_until(moment) => {}
                },
                None => added.await,
            }
        }
    }

    /// `key` was looked at, well.
    pub fn done(&self, key: &K) {
        let mut state = self.state();
        state.failures.remove(key);
        let again = state.end(key);
        drop(state);
        if again {
            self.added.notify_waiters();
        }
    }

    /// `key` could not be looked at: it is tried again, later each time. Answers when.
    pub fn failed(&self, key: &K) -> Duration {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        let wait = FIRST_RETRY
            .saturating_mul(1 << (*failures).min(8))
            .min(LONGEST_RETRY);
        *failures += 1;
        if !state.end(key) {
            state.add_later(key.clone(), Instant::now() + wait);
        }
        drop(state);
        self.added.notify_waiters();
        wait
    }

    /// Nothing waits and nothing is being looked at.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.taken.is_empty()
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K, lane: Lane) {
        self.forget_later(&key);
        if let Some(again) = self.taken.get_mut(&key) {
            *again = (*again).max(Some(lane));
            return;
        }
        match self.waiting.get(&key) {
            Some(present) if *present >= lane => {}
            Some(_) | None => {
                // The place in the normal lane stays empty.
                self.waiting.insert(key.clone(), lane);
                match lane {
                    Lane::Urgent => self.urgent.push_back(key),
                    Lane::Normal => self.normal.push_back(key),
                }
            }
        }
    }

    fn add_later(&mut self, key: K, moment: Instant) {
        if self.waiting.contains_key(&key)
            || self.later_of.get(&key).is_some_and(|(known, _)| *known <= moment)
        {
            return;
        }
        self.forget_later(&key);
        self.counter += 1;
        self.later.insert((moment, self.counter), key.clone());
        self.later_of.insert(key, (moment, self.counter));
    }

    fn forget_later(&mut self, key: &K) {
        if let Some(place) = self.later_of.remove(key) {
            self.later.remove(&place);
        }
    }

    fn come_due(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.later_of.remove(&key);
            self.add(key, Lane::Normal);
        }
    }

    fn take(&mut self, urgent_only: bool) -> Option<(K, Lane)> {
        if let Some(key) = self.urgent.pop_front() {
            self.waiting.remove(&key);
            self.taken.insert(key.clone(), None);
            return Some((key, Lane::Urgent));
        }
        if urgent_only {
            return None;
        }
        loop {
            let key = self.normal.pop_front()?;
            // Empty places are left by keys that went over to the other lane.
            if self.waiting.get(&key) == Some(&Lane::Normal) {
                self.waiting.remove(&key);
                self.taken.insert(key.clone(), None);
                return Some((key, Lane::Normal));
            }
        }
    }

    fn end(&mut self, key: &K) -> bool {
        match self.taken.remove(key) {
            Some(Some(lane)) => {
                self.add(key.clone(), lane);
                true
            }
            Some(None) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn now_or_nothing(queue: &Queue<&'static str>, urgent_only: bool) -> Option<(&'static str, Lane)> {
        queue.take(urgent_only).now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn what_people_do_overtakes_the_crowd() {
        let queue = Queue::default();
        queue.add_all(["a", "b", "c"], Lane::Normal);
        queue.add("b", Lane::Urgent);
        assert_eq!(now_or_nothing(&queue, true), Some(("b", Lane::Urgent)));
        assert_eq!(now_or_nothing(&queue, true), None, "no other is urgent");
        assert_eq!(now_or_nothing(&queue, false), Some(("a", Lane::Normal)));
        assert_eq!(now_or_nothing(&queue, false), Some(("c", Lane::Normal)));
        assert_eq!(now_or_nothing(&queue, false), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_taken_once_and_once_more_when_asked_for_meanwhile() {
        let queue = Queue::default();
        queue.add("a", Lane::Normal);
        queue.add("a", Lane::Normal);
        assert_eq!(now_or_nothing(&queue, false), Some(("a", Lane::Normal)));
        queue.add("a", Lane::Normal);
        queue.add("a", Lane::Urgent);
        assert_eq!(now_or_nothing(&queue, false), None, "it is still being looked at");
        queue.done(&"a");
        assert_eq!(now_or_nothing(&queue, false), Some(("a", Lane::Urgent)));
        queue.done(&"a");
        assert!(queue.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn moments_come_and_the_nearer_one_counts() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add_later("a", start + Duration::from_secs(2));
        queue.add_later("a", start + Duration::from_secs(1));
        queue.add_later("a", start + Duration::from_secs(3));
        assert_eq!(now_or_nothing(&queue, false), None);
        assert_eq!(queue.take(false).await, ("a", Lane::Normal));
        assert_eq!(start.elapsed().as_secs(), 1);
        queue.done(&"a");
        assert_eq!(
            now_or_nothing(&queue, false),
            None,
            "the other moments are forgotten"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_each_time_until_it_goes_well() {
        let queue = Queue::default();
        let mut waits = Vec::new();
        queue.add("a", Lane::Normal);
        for _ in 0..7 {
            let (key, _) = queue.take(false).await;
            waits.push(queue.failed(&key).as_millis());
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
        let (key, _) = queue.take(false).await;
        queue.done(&key);
        queue.add("a", Lane::Normal);
        let (key, _) = queue.take(false).await;
        assert_eq!(queue.failed(&key).as_millis(), 500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_worker_wakes() {
        let queue = std::sync::Arc::new(Queue::default());
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.take(false).await }
        });
        tokio::task::yield_now().await;
        queue.add("a", Lane::Normal);
        assert_eq!(waiting.await.expect("the task ends"), ("a", Lane::Normal));
    }
}
