//! Decides who holds a lease, as Kubernetes' own components do (client-go's leader election): a lease has expired
//! when it has not changed for its duration, by the clock of the observer. Clocks of others are not
//! relied on.

pub mod held;

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use muster_core::text::one_line;

/// Durations of a lease.
#[derive(Debug, Clone, Copy)]
pub struct LeaseDurations {
    /// Validity of a lease that is not renewed.
    pub lasts: Duration,
    /// Time after which a holder that cannot renew the lease gives up; well before the lease expires, so that two never
    /// work at the same time.
    pub give_up: Duration,
    /// Between two attempts.
    pub retry: Duration,
}

impl Default for LeaseDurations {
    /// The values of controller-runtime, which replicas of other implementations may have.
    fn default() -> Self {
        Self {
            lasts: Duration::from_secs(15),
            give_up: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// The longest time that a lease counts as held without a renewal, whatever its duration: programs that hold one renew it each few seconds,
/// and anyone who may write it can write any duration.
const LONGEST: Duration = Duration::from_secs(300);

/// Longest name of a holder that is shown, bytes.
const LONGEST_NAME: usize = 253;

/// The next step of a replica.
#[derive(Debug, PartialEq)]
pub enum Move {
    /// The replica holds the lease or may take it: write this.
    Write(LeaseSpec),
    /// Another replica holds the lease.
    Wait(String),
}

/// Observes a lease.
pub struct Observer {
    me: String,
    durations: LeaseDurations,
    /// The lease as last seen, and the time since when it is unchanged.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Observer {
    /// Returns an observer for the replica `me`; the name is unique.
    pub fn new(me: String, durations: LeaseDurations) -> Self {
        Self {
            me,
            durations,
            seen: None,
        }
    }

    /// Observes that the lease is `spec` at `now`, which is `clock` on the wall; `None`: there is no lease.
    pub fn observe(&mut self, spec: Option<&LeaseSpec>, now: Instant, clock: Timestamp) -> Move {
        let Some(spec) = spec else {
            return Move::Write(self.taken(None, clock));
        };
        let since = match &self.seen {
            Some((seen, since)) if seen == spec => *since,
            _ => {
                self.seen = Some((spec.clone(), now));
                now
            }
        };
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder == self.me {
            return Move::Write(LeaseSpec {
                renew_time: Some(MicroTime(clock)),
                lease_duration_seconds: self.seconds(),
                ..spec.clone()
            });
        }
        let seconds = spec.lease_duration_seconds.unwrap_or_default().max(0);
        let lasts = Duration::from_secs(u64::from(seconds.unsigned_abs())).min(LONGEST);
        if holder.is_empty() || now.duration_since(since) >= lasts {
            return Move::Write(self.taken(Some(spec), clock));
        }
        // Anyone who may write a lease of the namespace can write any text.
        Move::Wait(one_line(holder, LONGEST_NAME))
    }

    fn taken(&self, before: Option<&LeaseSpec>, clock: Timestamp) -> LeaseSpec {
        let transitions = before.map_or(0, |before| {
            before.lease_transitions.unwrap_or_default().saturating_add(1)
        });
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: self.seconds(),
            acquire_time: Some(MicroTime(clock)),
            renew_time: Some(MicroTime(clock)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// The lease to write when it is released, so that the next replica need not wait.
    pub fn released(&self, spec: &LeaseSpec, clock: Timestamp) -> Option<LeaseSpec> {
        (spec.holder_identity.as_deref() == Some(&self.me)).then(|| LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(clock)),
            acquire_time: Some(MicroTime(clock)),
            ..spec.clone()
        })
    }

    /// True for a lease that this replica holds.
    pub fn is_mine(&self, spec: Option<&LeaseSpec>) -> bool {
        spec.is_some_and(|spec| spec.holder_identity.as_deref() == Some(&self.me))
    }

    fn seconds(&self) -> Option<i32> {
        i32::try_from(self.durations.lasts.as_secs()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observer(me: &str) -> Observer {
        Observer::new(me.into(), LeaseDurations::default())
    }

    fn clock(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[track_caller]
    fn written(step: Move) -> LeaseSpec {
        match step {
            Move::Write(spec) => spec,
            Move::Wait(holder) => panic!("{holder} is waited for"),
        }
    }

    #[test]
    fn the_first_takes_it_and_the_second_waits_as_long_as_it_is_renewed() {
        let (mut one, mut two, start) = (observer("one"), observer("two"), Instant::now());
        let mut lease = written(one.observe(None, start, clock(0)));
        assert_eq!(lease.lease_transitions, Some(0));
        for second in (2..60).step_by(2) {
            let now = start + Duration::from_secs(second);
            lease = written(one.observe(Some(&lease), now, clock(second as i64)));
            assert_eq!(two.observe(Some(&lease), now, clock(0)), Move::Wait("one".into()));
        }
        assert_eq!(lease.acquire_time, Some(MicroTime(clock(0))));
        assert_eq!(lease.renew_time, Some(MicroTime(clock(58))));
    }

    #[test]
    fn a_lease_is_over_when_it_has_looked_the_same_for_as_long_as_it_lasts_whatever_clocks_say() {
        let (mut one, mut two, start) = (observer("one"), observer("two"), Instant::now());
        // The holder's clock is years behind.
        let lease = written(one.observe(None, start, clock(0)));
        let seen = start + Duration::from_secs(1000);
        assert_eq!(
            two.observe(Some(&lease), seen, clock(1_795_000_000)),
            Move::Wait("one".into())
        );
        let nearly = seen + Duration::from_millis(14_999);
        assert_eq!(
            two.observe(Some(&lease), nearly, clock(1_795_000_000)),
            Move::Wait("one".into())
        );
        let over = seen + Duration::from_secs(15);
        let taken = written(two.observe(Some(&lease), over, clock(1_795_000_000)));
        assert_eq!(taken.holder_identity.as_deref(), Some("two"));
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(
            one.observe(Some(&taken), over, clock(15)),
            Move::Wait("two".into())
        );
    }

    #[test]
    fn a_lease_that_was_released_is_had_at_once_and_only_its_holder_gives_it_back() {
        let (mut one, mut two, start) = (observer("one"), observer("two"), Instant::now());
        let lease = written(one.observe(None, start, clock(0)));
        assert_eq!(two.released(&lease, clock(1)), None);
        let free = one.released(&lease, clock(1)).unwrap();
        let taken = written(two.observe(Some(&free), start, clock(1)));
        assert_eq!(taken.lease_transitions, Some(1));
    }

    #[test]
    fn who_comes_back_under_the_same_name_goes_on() {
        let start = Instant::now();
        let lease = written(observer("one").observe(None, start, clock(0)));
        let renewed = written(observer("one").observe(Some(&lease), start, clock(3)));
        assert_eq!(renewed.lease_transitions, Some(0));
        assert_eq!(renewed.acquire_time, lease.acquire_time);
    }

    #[test]
    fn a_lease_that_is_written_once_for_ever_is_over_after_a_while() {
        let (mut two, start) = (observer("two"), Instant::now());
        let lease = LeaseSpec {
            holder_identity: Some("one".into()),
            lease_duration_seconds: Some(i32::MAX),
            ..LeaseSpec::default()
        };
        let mut at = |second| two.observe(Some(&lease), start + Duration::from_secs(second), clock(0));
        assert_eq!(at(0), Move::Wait("one".into()));
        assert_eq!(at(299), Move::Wait("one".into()));
        assert_eq!(written(at(300)).holder_identity.as_deref(), Some("two"));
    }

    #[test]
    fn the_name_of_a_holder_is_one_line_of_the_log() {
        let lease = LeaseSpec {
            holder_identity: Some(format!("one\n{}", "x".repeat(1000))),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        };
        let Move::Wait(name) = observer("two").observe(Some(&lease), Instant::now(), clock(0)) else {
            panic!("it is held")
        };
        assert!(name.starts_with("one\u{fffd}x") && name.len() <= 253, "{name:?}");
    }

    #[test]
    fn a_lease_without_content_is_to_be_had() {
        let taken = written(observer("one").observe(Some(&LeaseSpec::default()), Instant::now(), clock(0)));
        assert_eq!(taken.holder_identity.as_deref(), Some("one"));
    }
}
