//! Reports waits that take longer than a minute: one Kubernetes Event each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use muster_api::time::Timestamp;
use muster_resources::Time;

/// A wait that is longer gets an Event.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Waits that were reported: the uid of an object, and since when it waits.
#[derive(Debug, Default)]
pub struct Overdue(Mutex<HashMap<String, Time>>);

/// The state of a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Wait {
    /// It becomes overdue after this.
    Young(Duration),
    /// It is overdue, and this is to be reported.
    Report,
    /// It is overdue, which was reported.
    Reported,
}

impl Overdue {
    /// Judges the wait of the object `uid` since `since`.
    pub fn judge(&self, uid: &str, since: &Time, now: Timestamp) -> Wait {
        let waited = now.timestamp().saturating_sub(since.0.as_second());
        let waited = Duration::from_secs(u64::try_from(waited).unwrap_or_default());
        if let Some(left) = LIMIT.checked_sub(waited).filter(|left| !left.is_zero()) {
            return Wait::Young(left);
        }
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(uid.to_owned(), since.clone()).as_ref() == Some(since) {
            return Wait::Reported;
        }
        Wait::Report
    }

    /// The object waits no more.
    pub fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::time;

    #[test]
    fn a_wait_is_reported_once_when_it_is_older_than_a_minute() {
        let at = |seconds: i64| Timestamp::from_timestamp(1_795_000_000 + seconds, 0).unwrap();
        let (overdue, since) = (Overdue::default(), time(at(0)));
        assert_eq!(
            overdue.judge("a", &since, at(20)),
            Wait::Young(Duration::from_secs(40))
        );
        assert_eq!(overdue.judge("a", &since, at(60)), Wait::Report);
        assert_eq!(overdue.judge("a", &since, at(70)), Wait::Reported);
        assert_eq!(overdue.judge("b", &since, at(70)), Wait::Report);
        assert_eq!(overdue.judge("a", &time(at(5)), at(70)), Wait::Report);
        overdue.forget("a");
        assert_eq!(overdue.judge("a", &time(at(5)), at(70)), Wait::Report);
    }
}
