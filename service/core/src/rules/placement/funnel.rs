//! Orders the reasons against hosts as a funnel: each step removes the hosts that fail there, and the rest goes on.

/// The reasons in the order in which they are decided, each with its words on pages and with a filter of hosts that have it, as far as they
/// show it (empty: they do not). Source: `place`, and quotas after it.
const STEPS: [(&str, &str, &str); 23] = [
    ("NotSelected", "labels do not match", ""),
    ("OfAnotherNamespace", "not open to this namespace", ""),
    ("TakenBy", "taken for another Machine", "cluster:*"),
    ("OfAnotherCluster", "in another cluster", "cluster:*"),
    ("BeingDeleted", "being deleted", ""),
    ("InAnotherFailureDomain", "in another failure domain", ""),
    ("OfAnotherArchitecture", "of another architecture", ""),
    ("TooSmall", "too small", ""),
    ("WithoutImage", "no OS image for its architecture", ""),
    ("NotApproved", "not approved", "approved:no"),
    (
        "Bound",
        "in a cluster, or on its way into or out of one",
        "cluster:*",
    ),
    ("BeingErased", "disks being erased", ""),
    ("CannotBeErased", "disks could not be erased", ""),
    ("NotConnected", "silent", "state:disconnected*"),
    (
        "NotValidated",
        "checks do not pass, or are not made yet",
        "state:insufficient*,pending-for-input,discovering*",
    ),
    ("FailedBefore", "failed before, and waits for its next try", ""),
    ("Quarantined", "in quarantine", ""),
    ("QuotaExceeded", "beyond the quota of the namespace", ""),
    ("BehindOthers", "goes to a Machine that comes first", ""),
    ("Reserved", "kept free for other namespaces", ""),
    ("LaterInOrder", "fit, and another came first", ""),
    ("Changed", "fit, and changed meanwhile", ""),
    ("Refused", "fit, and the API server refused the write", ""),
];

/// Words for a reason that this version does not know.
const OTHER: &str = "another reason";

/// A step of a funnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunnelStep {
    /// Name of the reason, as [`NotTaken::name`](super::NotTaken::name) returns it.
    pub reason: String,
    /// The reason in a few words.
    pub what: &'static str,
    /// A filter of the hosts that have the reason at present; empty: none has it. It finds others, too, to which an earlier reason applied.
    pub query: &'static str,
    /// Hosts that the step removes.
    pub hosts: usize,
    /// Hosts that are left after it.
    pub left: usize,
}

/// The funnel of `considered` hosts; `reasons`: names with the number of hosts that each removes. A name may come more than once. Unknown
/// names come last, in the order of their letters.
pub fn funnel<'a>(considered: usize, reasons: impl IntoIterator<Item = (&'a str, usize)>) -> Vec<FunnelStep> {
    let mut counts = std::collections::BTreeMap::<(usize, &str), usize>::new();
    for (reason, hosts) in reasons {
        let place = STEPS.iter().position(|(name, _, _)| *name == reason);
        let count = counts.entry((place.unwrap_or(STEPS.len()), reason)).or_default();
        *count = count.saturating_add(hosts);
    }
    let mut left = considered;
    let steps = counts.into_iter().filter(|(_, hosts)| *hosts > 0);
    steps
        .map(|((place, reason), hosts)| {
            left = left.saturating_sub(hosts);
            let (_, what, query) = STEPS.get(place).copied().unwrap_or(("", OTHER, ""));
            FunnelStep {
                reason: reason.to_owned(),
                what,
                query,
                hosts,
                left,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use strum::VariantNames;

    use super::*;
    use crate::query::Query;
    use crate::rules::placement::NotTaken;

    #[test]
    fn every_reason_has_its_place_and_its_words() {
        let names: Vec<&str> = STEPS.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(names, NotTaken::VARIANTS);
    }

    #[test]
    fn every_filter_is_one_that_hosts_can_be_listed_by() {
        for (reason, _, query) in STEPS {
            assert!(Query::parse(query).is_ok(), "{reason}: {query}");
        }
    }

    #[test]
    fn numbers_beyond_all_fleets_are_no_error() {
        let steps = funnel(
            1,
            [
                ("TakenBy", usize::MAX),
                ("TakenBy", 1),
                ("NotApproved", usize::MAX),
            ],
        );
        let shown: Vec<(usize, usize)> = steps.iter().map(|step| (step.hosts, step.left)).collect();
        assert_eq!(shown, [(usize::MAX, 0), (usize::MAX, 0)]);
    }

    #[test]
    fn steps_come_in_the_order_of_decisions_and_what_is_left_goes_on() {
        let reasons = [
            ("NotApproved", 2),
            ("Newer", 1),
            ("TakenBy", 3),
            ("NotApproved", 1),
            ("TooSmall", 0),
        ];
        let steps = funnel(8, reasons);
        let shown: Vec<(&str, usize, usize)> = steps
            .iter()
            .map(|step| (step.reason.as_str(), step.hosts, step.left))
            .collect();
        assert_eq!(shown, [("TakenBy", 3, 5), ("NotApproved", 3, 2), ("Newer", 1, 1)]);
        assert_eq!((steps[1].what, steps[2].what), ("not approved", OTHER));
        assert_eq!((steps[1].query, steps[2].query), ("approved:no", ""));
    }
}
