//! The last changes of records, numbered, for clients that follow them and come back after a pause.
//!
//! A client that asks for changes after a position gets each record once, however often it changed. When the position is of another
//! process, or older than the log, or changes may have been missed, it is answered with a reset: the client reads everything again.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use muster_store::Store;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::random;
use crate::records::Subject;

/// Changes that are kept.
const KEPT: usize = 65_536;

/// Most records in one answer; a client that is further behind reads everything again.
const MOST: usize = 4_096;

/// Changes within this time are returned together.
const TOGETHER: Duration = Duration::from_millis(250);

/// The log of one process.
pub struct ChangeLog {
    epoch: String,
    kept: Mutex<Kept>,
    /// The number of the last change; `None`: the log is closed.
    last: watch::Sender<Option<u64>>,
}

struct Kept {
    changes: VecDeque<Subject>,
    /// The number of the first of them.
    first: u64,
}

/// A place in the log: the process, and the number of the last change that a client has seen. As text `EPOCH-NUMBER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    epoch: String,
    number: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (epoch, number) = text.split_once('-').ok_or(())?;
        Ok(Self {
            epoch: epoch.to_owned(),
            number: number.parse().map_err(|_| ())?,
        })
    }
}

/// What happened after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// These records changed, each once.
    Changed(Vec<Subject>, Position),
    /// Changes may have been missed.
    Reset(Position),
    /// The service stops.
    Closed,
}

impl ChangeLog {
    /// The changes of `store` from now on.
    pub(crate) fn of(store: &Store) -> Arc<Self> {
        let log = Arc::new(Self::new());
        let (added, missed) = (log.clone(), log.clone());
        store.on_change(move |change| added.add(change.subject));
        store.on_gap(move || missed.clear());
        log
    }

    fn new() -> Self {
        let kept = Kept {
            changes: VecDeque::new(),
            first: 1,
        };
        Self {
            epoch: random::short_id(),
            kept: Mutex::new(kept),
            last: watch::Sender::new(Some(0)),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, subject: Subject) {
        let mut kept = self.kept();
        if kept.changes.len() == KEPT {
            kept.changes.pop_front();
            kept.first += 1;
        }
        kept.changes.push_back(subject);
        self.grew(&kept);
    }

    /// Forgets everything: every position before now is answered with a reset.
    fn clear(&self) {
        let mut kept = self.kept();
        // A number that stands for what was missed.
        kept.first += kept.changes.len() as u64 + 1;
        kept.changes.clear();
        self.grew(&kept);
    }

    fn grew(&self, kept: &Kept) {
        self.last.send_if_modified(|last| match last {
            Some(last) => {
                *last = kept.last();
                true
            }
            None => false,
        });
    }

    /// Ends all that follow.
    pub fn close(&self) {
        self.last.send_replace(None);
    }

    /// The end of the log.
    pub fn position(&self) -> Position {
        self.at(self.kept().last())
    }

    fn at(&self, number: u64) -> Position {
        Position {
            epoch: self.epoch.clone(),
            number,
        }
    }

    /// The changes after a position, without a wait; none is kept back.
    pub(crate) fn changed_since(&self, after: &Position) -> Followed {
        if after.epoch != self.epoch {
            return Followed::Reset(self.position());
        }
        self.since(after.number, |_| true)
    }

    /// Waits for changes after a position, of the records that are `visible`.
    pub async fn follow(&self, after: &Position, visible: impl Fn(&Subject) -> bool) -> Followed {
        let mut last = self.last.subscribe();
        let mut from = after.number;
        loop {
            if after.epoch != self.epoch {
                return Followed::Reset(self.position());
            }
            match last.wait_for(|last| last.is_none_or(|last| last != from)).await {
                Ok(last) if last.is_some() => {}
                _ => return Followed::Closed,
            }
            sleep(TOGETHER).await;
            match self.since(from, &visible) {
                // Only others can see what changed.
                Followed::Changed(subjects, position) if subjects.is_empty() => from = position.number,
                followed => return followed,
            }
        }
    }

    fn since(&self, number: u64, visible: impl Fn(&Subject) -> bool) -> Followed {
        let kept = self.kept();
        let end = self.at(kept.last());
        let Some(skipped) = (number + 1)
            .checked_sub(kept.first)
            .filter(|_| number <= end.number)
        else {
            return Followed::Reset(end);
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut seen = HashSet::new();
        let changed = kept.changes.range(skipped..).filter(|subject| visible(subject));
        let changed: Vec<_> = changed
            .filter(|subject| seen.insert(**subject))
            .take(MOST + 1)
            .copied()
            .collect();
        match changed.len() > MOST {
            true => Followed::Reset(end),
            false => Followed::Changed(changed, end),
        }
    }
}

impl Kept {
    /// The number of the last change.
    fn last(&self) -> u64 {
        self.first + self.changes.len() as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use muster_api::ids::{ClusterId, HostId, InfraEnvId};

    use super::*;

    fn everything(_: &Subject) -> bool {
        true
    }

    fn cluster() -> Subject {
        Subject::Cluster(ClusterId::random())
    }

    #[tokio::test(start_paused = true)]
    async fn each_record_is_returned_once_and_a_client_that_comes_back_misses_none() {
        let log = ChangeLog::new();
        let begin = log.position();
        let (one, other) = (cluster(), cluster());
        for subject in [one, other, one] {
            log.add(subject);
        }
        let Followed::Changed(changed, after) = log.follow(&begin, everything).await else {
            panic!("changes are kept");
        };
        assert_eq!(changed, [one, other]);
        assert_eq!(after, log.position());
        assert_eq!(log.follow(&after, everything).now_or_never(), None);
        log.add(other);
        let text: Position = after.to_string().parse().unwrap();
        let followed = log.follow(&text, everything).await;
        assert_eq!(followed, Followed::Changed(vec![other], log.position()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_another_scope_sees_is_waited_over() {
        let log = ChangeLog::new();
        let begin = log.position();
        log.add(cluster());
        let hosts = |subject: &Subject| matches!(subject, Subject::Host { .. });
        let mut waiting = std::pin::pin!(log.follow(&begin, hosts));
        assert_eq!(futures_util::poll!(&mut waiting), std::task::Poll::Pending);
        let host = Subject::Host {
            infra_env_id: InfraEnvId::random(),
            id: HostId::random(),
        };
        log.add(host);
        assert_eq!(waiting.await, Followed::Changed(vec![host], log.position()));
    }

    #[tokio::test(start_paused = true)]
    async fn positions_that_are_too_old_or_of_another_process_are_reset() {
        let log = ChangeLog::new();
        let begin = log.position();
        for _ in 0..=KEPT {
            log.add(cluster());
        }
        let reset = Followed::Reset(log.position());
        assert_eq!(log.follow(&begin, everything).await, reset);
        let other = ChangeLog::new();
        assert_eq!(log.follow(&other.position(), everything).await, reset);
        let far_behind = log.at(log.position().number - MOST as u64 - 1);
        assert_eq!(log.follow(&far_behind, everything).await, reset);
        let present = log.position();
        log.clear();
        let reset = Followed::Reset(log.position());
        assert_eq!(log.follow(&present, everything).await, reset);
        let future = log.at(log.position().number + 1);
        assert_eq!(log.follow(&future, everything).await, reset);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_log_ends_all_that_follow() {
        let log = ChangeLog::new();
        let begin = log.position();
        let mut waiting = std::pin::pin!(log.follow(&begin, everything));
        assert_eq!(futures_util::poll!(&mut waiting), std::task::Poll::Pending);
        log.close();
        assert_eq!(waiting.await, Followed::Closed);
        log.add(cluster());
        assert_eq!(log.follow(&begin, everything).await, Followed::Closed);
    }
}
