//! Who holds a lease, decided as Kubernetes' own components decide it (client-go's leader election): a lease is over when it has
//! looked the same for as long as it lasts, by the clock of the one who looks. Clocks of others are not relied on.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;

/// The times of a lease.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// How long it is good for when it is not renewed.
    pub lasts: Duration,
    /// When its holder gives up that cannot renew it; well before it is over, so that two never work at the same time.
    pub give_up: Duration,
    /// Between two looks at it.
    pub retry: Duration,
}

impl Default for Terms {
    /// Those of controller-runtime, which other replicas of another make may have.
    fn default() -> Self {
        Self {
            lasts: Duration::from_secs(15),
            give_up: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// What to do about a lease.
#[derive(Debug, PartialEq)]
pub enum Move {
    /// It is ours or to be had: write this.
    Write(LeaseSpec),
    /// It is another's.
    Wait(String),
}

/// Looks at a lease time and again.
pub struct Observer {
    me: String,
    terms: Terms,
    /// What it looked like, and since when.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Observer {
    /// Of a replica that is called `me`, which nobody else is.
    pub fn new(me: String, terms: Terms) -> Self {
        Self {
            me,
            terms,
            seen: None,
        }
    }

    /// The lease is `spec` at `now`, which is `clock` on the wall; `None`: there is none.
    pub fn look(&mut self, spec: Option<&LeaseSpec>, now: Instant, clock: Timestamp) -> Move {
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
        let lasts = Duration::from_secs(u64::from(seconds.unsigned_abs()));
        if holder.is_empty() || now.duration_since(since) >= lasts {
            return Move::Write(self.taken(Some(spec), clock));
        }
        Move::Wait(holder.to_owned())
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

    /// What to write when the lease is given back, so that the next need not wait.
    pub fn given_back(&self, spec: &LeaseSpec, clock: Timestamp) -> Option<LeaseSpec> {
        (spec.holder_identity.as_deref() == Some(&self.me)).then(|| LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(clock)),
            acquire_time: Some(MicroTime(clock)),
            ..spec.clone()
        })
    }

    fn seconds(&self) -> Option<i32> {
        i32::try_from(self.terms.lasts.as_secs()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observer(me: &str) -> Observer {
        Observer::new(me.into(), Terms::default())
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
        let mut lease = written(one.look(None, start, clock(0)));
        assert_eq!(lease.lease_transitions, Some(0));
        for second in (2..60).step_by(2) {
            let now = start + Duration::from_secs(second);
            lease = written(one.look(Some(&lease), now, clock(second as i64)));
            assert_eq!(two.look(Some(&lease), now, clock(0)), Move::Wait("one".into()));
        }
        assert_eq!(lease.acquire_time, Some(MicroTime(clock(0))));
        assert_eq!(lease.renew_time, Some(MicroTime(clock(58))));
    }

    #[test]
    fn a_lease_is_over_when_it_has_looked_the_same_for_as_long_as_it_lasts_whatever_clocks_say() {
        let (mut one, mut two, start) = (observer("one"), observer("two"), Instant::now());
        // The holder's clock is years behind.
        let lease = written(one.look(None, start, clock(0)));
        let seen = start + Duration::from_secs(1000);
        assert_eq!(
            two.look(Some(&lease), seen, clock(1_795_000_000)),
            Move::Wait("one".into())
        );
        let nearly = seen + Duration::from_millis(14_999);
        assert_eq!(
            two.look(Some(&lease), nearly, clock(1_795_000_000)),
            Move::Wait("one".into())
        );
        let over = seen + Duration::from_secs(15);
        let taken = written(two.look(Some(&lease), over, clock(1_795_000_000)));
        assert_eq!(taken.holder_identity.as_deref(), Some("two"));
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(one.look(Some(&taken), over, clock(15)), Move::Wait("two".into()));
    }

    #[test]
    fn a_lease_that_was_given_back_is_had_at_once_and_only_its_holder_gives_it_back() {
        let (mut one, mut two, start) = (observer("one"), observer("two"), Instant::now());
        let lease = written(one.look(None, start, clock(0)));
        assert_eq!(two.given_back(&lease, clock(1)), None);
        let free = one.given_back(&lease, clock(1)).unwrap();
        let taken = written(two.look(Some(&free), start, clock(1)));
        assert_eq!(taken.lease_transitions, Some(1));
    }

    #[test]
    fn who_comes_back_under_the_same_name_goes_on() {
        let start = Instant::now();
        let lease = written(observer("one").look(None, start, clock(0)));
        let renewed = written(observer("one").look(Some(&lease), start, clock(3)));
        assert_eq!(renewed.lease_transitions, Some(0));
        assert_eq!(renewed.acquire_time, lease.acquire_time);
    }

    #[test]
    fn a_lease_without_content_is_to_be_had() {
        let taken = written(observer("one").look(Some(&LeaseSpec::default()), Instant::now(), clock(0)));
        assert_eq!(taken.holder_identity.as_deref(), Some("one"));
    }
}
