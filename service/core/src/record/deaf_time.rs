//! A time in which the service could receive no polls.

use chrono::Duration;
use muster_api::time::Timestamp;

/// A time in which the service could not receive polls for a reason of its own: it was stopped, its database was
/// unavailable, or its clock was set forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeafTime {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl DeafTime {
    /// Sorts `times` and joins those that touch each other.
    pub fn merged(mut times: Vec<Self>) -> Vec<Self> {
        times.sort();
        let mut merged: Vec<Self> = Vec::with_capacity(times.len());
        for time in times {
            match merged.last_mut() {
                Some(last) if time.from <= last.to => last.to = last.to.max(time.to),
                _ => merged.push(time),
            }
        }
        merged
    }

    /// The end of a wait of length `limit` that began at `since` and does not pass in the deaf `times`, which are
    /// [merged](Self::merged).
    pub fn end_of_wait(times: &[Self], since: Timestamp, limit: Duration) -> Timestamp {
        let mut end = since + limit;
        for time in times {
            let from = time.from.max(since);
            if time.to > from && from < end {
                end += time.to - from;
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::minutes(minutes)
    }

    fn deaf(from: i64, to: i64) -> DeafTime {
        DeafTime {
            from: at(from),
            to: at(to),
        }
    }

    #[test]
    fn a_wait_is_longer_by_what_of_it_was_deaf() {
        let times = DeafTime::merged(vec![deaf(40, 50), deaf(0, 10), deaf(5, 20), deaf(90, 99)]);
        assert_eq!(times, [deaf(0, 20), deaf(40, 50), deaf(90, 99)]);
        let end = |since, limit| DeafTime::end_of_wait(&times, at(since), Duration::minutes(limit));
        assert_eq!(end(20, 10), at(30), "nothing of it was deaf");
        assert_eq!(end(15, 10), at(30), "it began in a deaf time");
        assert_eq!(end(30, 15), at(55));
        assert_eq!(end(0, 25), at(55), "what is added may be deaf in turn");
        assert_eq!(end(100, 5), at(105));
    }
}
