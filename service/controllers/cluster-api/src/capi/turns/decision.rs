//! Decides whether this provider serves a namespace, or another one does.
//!
//! A Lease and a Deployment are claims that any author of them can make, and may be all that is left of a provider. So each counts for a
//! while only unless the other provider is seen to work: a provider puts its finalizer on an AgentMachine at once.

use std::time::{Duration, Instant};

use muster_resources::names::PROVIDER_LEASE;

/// The longest time that a namespace is left to a provider that does nothing in it.
pub const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// The name of the Deployment with which HyperShift starts a provider. Source: docs/protocol/capi-agent-provider.md#8.
pub const DEPLOYMENT: &str = "capi-provider";

/// What a look at a namespace showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The other provider that holds the Lease, and renews it.
    pub held_by: Option<String>,
    /// HyperShift's Deployment is there, and is to have pods.
    pub has_deployment: bool,
    /// An AgentMachine is there that a provider would have put its finalizer on.
    pub is_undone: bool,
}

/// The provider of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This one.
    Ours,
    /// This one, although another one claims it: the reason, as a sentence.
    Overdue(String),
    /// Another one: the reason and what to do, as sentences.
    Theirs(String),
}

/// What is kept of earlier looks at a namespace.
#[derive(Debug, Default)]
pub struct Past {
    /// The claim that counts, and the time since which it does without work.
    idle: Option<(Claim, Instant)>,
    /// The claim that was waited for in vain.
    in_vain: Option<Claim>,
}

/// Another provider's claim on a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Claim {
    /// By the Lease, which it renews.
    Lease(String),
    /// By a Deployment that holds no Lease.
    Deployment,
}

impl Past {
    /// Decides at the time `now`.
    pub fn decide(&mut self, namespace: &str, look: &Look, now: Instant) -> Verdict {
        let claim = match &look.held_by {
            Some(holder) => Claim::Lease(holder.clone()),
            None if look.has_deployment => Claim::Deployment,
            None => {
                *self = Self::default();
                return Verdict::Ours;
            }
        };
        if self.in_vain.as_ref() == Some(&claim) {
            return Verdict::Overdue(overdue(namespace, &claim));
        }
        // Another claim has its own time.
        self.in_vain = None;
        let works = matches!(claim, Claim::Lease(_)) && !look.is_undone;
        if works {
            self.idle = None;
            return Verdict::Theirs(theirs(namespace, &claim));
        }
        let since = match &self.idle {
            Some((known, since)) if *known == claim => *since,
            _ => now,
        };
        self.idle = Some((claim.clone(), since));
        if now.duration_since(since) < PATIENCE {
            return Verdict::Theirs(theirs(namespace, &claim));
        }
        let why = overdue(namespace, &claim);
        self.in_vain = Some(claim);
        Verdict::Overdue(why)
    }
}

fn theirs(namespace: &str, claim: &Claim) -> String {
    match claim {
        Claim::Lease(holder) => format!(
            "The namespace {namespace} is left alone: {holder} holds the Lease {namespace}/{PROVIDER_LEASE}, so another provider takes Agents for \
             its Machines. For this one to do it, stop the other one; or take --capi-provider off this service if the other one is HyperShift's"
        ),
        Claim::Deployment => format!(
            "The namespace {namespace} is left alone for up to {} minutes: HyperShift's Deployment {namespace}/{DEPLOYMENT} is to serve it, and does not \
             hold the Lease {PROVIDER_LEASE} yet; look at its pods",
            PATIENCE.as_secs() / 60
        ),
    }
}

fn overdue(namespace: &str, claim: &Claim) -> String {
    let minutes = PATIENCE.as_secs() / 60;
    match claim {
        Claim::Lease(holder) => format!(
            "The namespace {namespace} is served here although {holder} holds the Lease {namespace}/{PROVIDER_LEASE}: in {minutes} minutes nothing was done \
             for an AgentMachine there. Stop that provider, or whatever renews its Lease"
        ),
        Claim::Deployment => format!(
            "The namespace {namespace} is served here although there is the Deployment {namespace}/{DEPLOYMENT}: for {minutes} minutes it did not hold the \
             Lease {PROVIDER_LEASE}. Look at its pods, or set its replicas to 0"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(by: &str) -> Look {
        Look {
            held_by: Some(by.to_owned()),
            ..Look::default()
        }
    }

    fn is_theirs(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Theirs(_))
    }

    fn is_overdue(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Overdue(_))
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    #[test]
    fn a_namespace_without_another_provider_is_ours() {
        let (mut past, now) = (Past::default(), Instant::now());
        assert_eq!(past.decide("c", &Look::default(), now), Verdict::Ours);
        let undone = Look {
            is_undone: true,
            ..Look::default()
        };
        assert_eq!(past.decide("c", &undone, now + minutes(60)), Verdict::Ours);
    }

    #[test]
    fn a_provider_that_works_has_its_namespace_for_as_long_as_it_holds_the_lease() {
        let (mut past, start) = (Past::default(), Instant::now());
        for hour in 0..24 {
            let verdict = past.decide("c", &held("pod-1"), start + minutes(60 * hour));
            let Verdict::Theirs(why) = verdict else {
                panic!("{verdict:?}")
            };
            assert!(why.contains("pod-1 holds the Lease c/7605f49b"), "{why}");
        }
        let after = past.decide("c", &Look::default(), start + minutes(60 * 24));
        assert_eq!(after, Verdict::Ours);
    }

    #[test]
    fn a_lease_whose_holder_does_nothing_is_waited_for_and_not_for_ever() {
        let (mut past, start) = (Past::default(), Instant::now());
        let undone = Look {
            is_undone: true,
            ..held("tenant")
        };
        assert!(is_theirs(&past.decide("c", &undone, start)));
        assert!(is_theirs(&past.decide("c", &undone, start + minutes(14))));
        // It was at work after all: the time begins again.
        assert!(is_theirs(&past.decide("c", &held("tenant"), start + minutes(14))));
        assert!(is_theirs(&past.decide("c", &undone, start + minutes(15))));
        let verdict = past.decide("c", &undone, start + minutes(30));
        assert!(is_overdue(&verdict), "{verdict:?}");
        // The work that is done now is not the holder's.
        assert!(is_overdue(&past.decide(
            "c",
            &held("tenant"),
            start + minutes(31)
        )));
        // A holder that was not waited for is.
        assert!(is_theirs(&past.decide("c", &held("pod-2"), start + minutes(32))));
    }

    #[test]
    fn hypershifts_deployment_gets_time_to_take_the_lease() {
        let (mut past, start) = (Past::default(), Instant::now());
        let starting = Look {
            has_deployment: true,
            ..Look::default()
        };
        let verdict = past.decide("c", &starting, start);
        let Verdict::Theirs(why) = &verdict else {
            panic!("{verdict:?}")
        };
        assert!(why.contains("Deployment c/capi-provider is to serve it"), "{why}");
        let running = Look {
            has_deployment: true,
            ..held("pod-1")
        };
        assert!(is_theirs(&past.decide("c", &running, start + minutes(1))));
        // It has died.
        assert!(is_theirs(&past.decide("c", &starting, start + minutes(100))));
        assert!(is_theirs(&past.decide("c", &starting, start + minutes(114))));
        assert!(is_overdue(&past.decide("c", &starting, start + minutes(115))));
        assert!(is_overdue(&past.decide("c", &starting, start + minutes(116))));
        assert_eq!(
            past.decide("c", &Look::default(), start + minutes(117)),
            Verdict::Ours
        );
    }
}
