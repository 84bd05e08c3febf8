//! Keeps the last poll of each host in memory. Polls are written in one batched statement at most every 30 s
//! ([`flush_interval`]), so that they survive a restart and reach other replicas.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use chrono::TimeDelta;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;

/// Interval between two writes, for hosts that may be silent for `silence`: a sixth of it.
pub fn flush_interval(silence: TimeDelta) -> Duration {
    let interval = (silence / 6).clamp(TimeDelta::seconds(1), TimeDelta::seconds(30));
    interval.to_std().unwrap_or_default()
}

/// A host's key.
pub type HostKey = (InfraEnvId, HostId);

/// The last poll of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub at: Timestamp,
    /// The host's clock at that time, seconds since 1970.
    pub host_clock: Option<i64>,
    /// The version in the poll.
    pub agent_version: Option<String>,
}

struct Entry {
    seen: Seen,
    written: bool,
}

/// The polls of this process.
#[derive(Default)]
pub struct CheckIns {
    entries: Mutex<HashMap<HostKey, Entry>>,
}

impl CheckIns {
    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<HostKey, Entry>> {
        self.entries
            .lock()
            .expect("no code panics while it holds the notes")
    }

    /// Stores a poll. Missing fields are taken from the previous poll.
    pub fn note(&self, host: HostKey, mut seen: Seen) {
        let mut entries = self.entries();
        if let Some(before) = entries.get(&host) {
            seen.host_clock = seen.host_clock.or(before.seen.host_clock);
            seen.agent_version = seen.agent_version.or_else(|| before.seen.agent_version.clone());
        }
        entries.insert(host, Entry { seen, written: false });
    }

    /// Stores a poll of a host that has polled this process before; other hosts are not known yet, and their ids could
    /// be made up.
    pub fn note_known(&self, host: HostKey, seen: Seen) {
        if self.last(host).is_some() {
            self.note(host, seen);
        }
    }

    /// Handles that the clock was set back to `now`: polls that were recorded by it before count as polls of now. The
    /// hosts' clocks have advanced since then.
    pub fn bring_back(&self, now: Timestamp, set_back_by: TimeDelta) {
        for entry in self.entries().values_mut().filter(|entry| entry.seen.at > now) {
            let since_then = now - (entry.seen.at - set_back_by);
            entry.seen.host_clock = entry
                .seen
                .host_clock
                .map(|clock| clock + since_then.num_seconds());
            entry.seen.at = now;
            entry.written = false;
        }
    }

    /// The last poll that this process received.
    pub fn last(&self, host: HostKey) -> Option<Seen> {
        self.entries().get(&host).map(|entry| entry.seen.clone())
    }

    /// The hosts whose last poll was received from `since` on, with its time.
    pub fn since(&self, since: Timestamp) -> Vec<(HostKey, Timestamp)> {
        let entries = self.entries();
        let recent = entries.iter().filter(|(_, entry)| entry.seen.at >= since);
        recent.map(|(host, entry)| (*host, entry.seen.at)).collect()
    }

    /// Drops a deleted host.
    pub fn forget(&self, host: HostKey) {
        self.entries().remove(&host);
    }

    /// Polls that are not written yet.
    pub fn unwritten(&self) -> Vec<(HostKey, Seen)> {
        let entries = self.entries();
        entries
            .iter()
            .filter(|(_, entry)| !entry.written)
            .map(|(host, entry)| (*host, entry.seen.clone()))
            .collect()
    }

    /// Marks `batch` as written, except hosts that polled since; drops hosts that have not polled since `before`.
    pub fn written(&self, batch: &[(HostKey, Seen)], before: Timestamp) {
        let mut entries = self.entries();
        for (host, seen) in batch {
            if let Some(entry) = entries.get_mut(host).filter(|entry| entry.seen == *seen) {
                entry.written = true;
            }
        }
        entries.retain(|_, entry| !entry.written || entry.seen.at >= before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Utc;

    fn seen(at: Timestamp) -> Seen {
        Seen {
            at,
            host_clock: None,
            agent_version: None,
        }
    }

    #[test]
    fn a_clock_that_is_set_back_changes_no_offset_of_a_host() {
        let notes = CheckIns::default();
        let host = (InfraEnvId::random(), HostId::random());
        let (now, hour) = (Utc::now(), TimeDelta::hours(1));
        let told = now - TimeDelta::seconds(50);
        let host_clock = Some(told.timestamp());
        notes.note(
            host,
            Seen {
                host_clock,
                ..seen(told + hour)
            },
        );
        notes.bring_back(now, hour);
        let seen = notes.last(host).unwrap();
        assert_eq!((seen.at, seen.host_clock), (now, Some(told.timestamp() + 50)));
    }

    #[test]
    fn a_poll_during_the_flush_is_written_by_the_next_one() {
        let notes = CheckIns::default();
        let host = (InfraEnvId::random(), HostId::random());
        let now = Utc::now();
        notes.note(host, seen(now));
        let batch = notes.unwritten();
        notes.note(host, seen(now + TimeDelta::seconds(1)));
        notes.written(&batch, now - TimeDelta::minutes(10));
        assert_eq!(notes.unwritten().len(), 1);
        let batch = notes.unwritten();
        notes.written(&batch, now - TimeDelta::minutes(10));
        assert!(notes.unwritten().is_empty());
        assert!(notes.last(host).is_some());
        notes.written(&[], now + TimeDelta::minutes(10));
        assert!(
            notes.last(host).is_none(),
            "hosts that are silent for long need no memory"
        );
    }
}
