//! Chooses the host for a machine of Cluster API, and gives the reason for every other host why it was not taken.
//! Source: docs/protocol/capi-agent-provider.md#2, step 9.
//!
//! A host that was taken for the machine before is chosen, whatever its state. Of the other hosts those are fit that
//! match the machine's selector and are approved, unbound, connected and validated, as upstream requires; their order
//! is upstream's, that of a list by namespace and name, unless a setting that upstream does not have changes it: the
//! machine's failure domain, labels of zones on hosts (machines of a cluster are spread over them), or the size that a
//! machine needs (of the hosts that are large enough the one with the least waste is first). Hosts on which installations
//! or nodes failed come after all others, and not before the end of their back-off ([`super::failures`]). Of the rest those that sleep come
//! last, and are taken like the others: the claim wakes them ([`super::sleep`]).

mod candidate;
mod pool;
mod reason;
mod selector;

pub use candidate::{Candidate, Hardware, PastFailures, Rest, architecture_name};
pub use pool::{Least, least};
pub use reason::NotTaken;
pub use selector::{Operator, Requirement, Selector};

use std::collections::{BTreeMap, BTreeSet};

use muster_api::infra_env::CpuArchitecture;
use muster_api::time::Timestamp;

use crate::record::KubeRef;

/// The machine that needs a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The machine.
    pub machine: KubeRef,
    /// The cluster that it is for.
    pub cluster: KubeRef,
    /// Namespace of the hosts; others are not considered.
    pub namespace: String,
    /// InfraEnvs in that namespace that are open to machines of its own namespace, if the two differ.
    pub open: BTreeSet<KubeRef>,
    pub selector: Selector,
    /// Failure domain that the host must be in.
    pub failure_domain: Option<String>,
    /// Least size of the host; 0 means no requirement.
    pub minimum: Hardware,
    /// Architectures for which there is the OS image that the machine wants; `None`: it wants none in particular.
    pub imaged: Option<Vec<CpuArchitecture>>,
    /// Architecture of its processors, by any of its names.
    pub architecture: Option<String>,
}

impl Need {
    /// True for hosts of the machine's own namespace, and of InfraEnvs that are open to it.
    pub fn may_have(&self, one: &Candidate) -> bool {
        let is_open = || {
            one.infra_env
                .as_ref()
                .is_some_and(|infra_env| self.open.contains(infra_env))
        };
        one.host.namespace == self.machine.namespace || is_open()
    }
}

/// Hosts for a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement<'a> {
    /// True if the first of `ranked` was taken for the machine before.
    pub is_restored: bool,
    /// Hosts that are fit, the best first.
    pub ranked: Vec<&'a Candidate>,
    /// All others, in the order of their names.
    pub unfit: Vec<(&'a Candidate, NotTaken)>,
}

/// Ranks `candidates` for `need` at the time `now`. Their order does not matter.
pub fn place<'a>(
    need: &Need,
    candidates: impl IntoIterator<Item = &'a Candidate>,
    now: Timestamp,
) -> Placement<'a> {
    let of_namespace = |one: &&Candidate| need.namespace == one.host.namespace;
    let mut all: Vec<&Candidate> = candidates.into_iter().filter(of_namespace).collect();
    all.sort_by(|a, b| a.host.cmp(&b.host));
    let restored = all
        .iter()
        .position(|one| one.taken_by.as_ref() == Some(&need.machine) && one.rest != Rest::DidNotWake);
    let restored = restored.map(|at| all.remove(at));
    let in_domain = load(&need.cluster, &all);
    let (mut ranked, mut unfit) = (Vec::new(), Vec::new());
    for one in all {
        match unfitness(need, one, now) {
            None => ranked.push(one),
            Some(why) => unfit.push((one, why)),
        }
    }
    ranked.sort_by_cached_key(|one| {
        let spread = in_domain.get(&one.zone()).copied().unwrap_or_default();
        let failures = one.failures.as_ref().map_or(0, |failures| failures.count);
        (
            failures,
            one.rest,
            spread,
            one.hardware.surplus(&need.minimum),
            &one.host,
        )
    });
    if let Some(restored) = restored {
        ranked.insert(0, restored);
    }
    Placement {
        is_restored: restored.is_some(),
        ranked,
        unfit,
    }
}

impl Placement<'_> {
    /// Every host except `chosen`, with the reason why it was not taken: the next best first.
    pub fn not_taken(&self, chosen: Option<&KubeRef>) -> Vec<(KubeRef, NotTaken)> {
        let next = self.ranked.iter().filter(|one| Some(&one.host) != chosen);
        let next = next.map(|one| {
            let is_asleep = one.rest != Rest::Awake;
            (one.host.clone(), NotTaken::LaterInOrder { is_asleep })
        });
        let unfit = self
            .unfit
            .iter()
            .map(|(one, why)| (one.host.clone(), why.clone()));
        next.chain(unfit).collect()
    }
}

/// Hosts of the cluster by failure domain.
fn load<'a>(cluster: &KubeRef, all: &[&'a Candidate]) -> BTreeMap<Option<&'a str>, usize> {
    let mut load = BTreeMap::new();
    let taken = |one: &&&Candidate| one.taken_by.is_some() && one.cluster.as_ref() == Some(cluster);
    for one in all.iter().filter(taken) {
        *load.entry(one.zone()).or_default() += 1;
    }
    load
}

/// The reason why `one` cannot be taken; reasons that do not depend on the host's state come first.
fn unfitness(need: &Need, one: &Candidate, now: Timestamp) -> Option<NotTaken> {
    if let Some(unmet) = need.selector.unmet(&one.labels) {
        return Some(NotTaken::NotSelected(unmet.to_string()));
    }
    if !need.may_have(one) {
        return Some(NotTaken::OfAnotherNamespace(need.machine.namespace.clone()));
    }
    if let Some(other) = &one.taken_by {
        return Some(NotTaken::TakenBy(other.clone()));
    }
    if let Some(cluster) = one.cluster.as_ref().filter(|cluster| **cluster != need.cluster) {
        return Some(NotTaken::OfAnotherCluster(cluster.clone()));
    }
    if one.is_leaving {
        return Some(NotTaken::BeingDeleted);
    }
    if let Some(wanted) = need
        .failure_domain
        .as_deref()
        .filter(|it| Some(*it) != one.zone())
    {
        return Some(NotTaken::InAnotherFailureDomain {
            wanted: wanted.to_owned(),
            found: one.zone().map(str::to_owned),
        });
    }
    if let Some(why) = another_architecture(need, one) {
        return Some(why);
    }
    if let Some(what) = one.hardware.lacks(&need.minimum) {
        return Some(NotTaken::TooSmall(what));
    }
    if let Some(why) = without_image(need, one) {
        return Some(why);
    }
    if !one.is_approved {
        return Some(NotTaken::NotApproved);
    }
    if one.bound != Some(false) {
        return Some(NotTaken::Bound(one.state.clone()));
    }
    if one.connected != Some(true) {
        return Some(NotTaken::NotConnected(one.state.clone()));
    }
    if one.validated != Some(true) {
        return Some(NotTaken::NotValidated(one.state.clone()));
    }
    failed_before(one, now)
}

fn another_architecture(need: &Need, one: &Candidate) -> Option<NotTaken> {
    let wanted = architecture_name(need.architecture.as_deref()?);
    let found = one.architecture.as_deref().map(architecture_name);
    (found.as_ref() != Some(&wanted)).then_some(NotTaken::OfAnotherArchitecture { wanted, found })
}

fn without_image(need: &Need, one: &Candidate) -> Option<NotTaken> {
    let (imaged, found) = (need.imaged.as_ref()?, one.known_architecture()?);
    (!imaged.contains(&found)).then_some(NotTaken::WithoutImage(found.name()))
}

fn failed_before(one: &Candidate, now: Timestamp) -> Option<NotTaken> {
    let failures = one.failures.as_ref()?;
    let (count, why) = (failures.count, failures.message.clone());
    if failures.is_quarantined {
        return Some(NotTaken::Quarantined { count, why });
    }
    let until = failures.until.filter(|until| now < *until)?;
    Some(NotTaken::FailedBefore { count, until, why })
}
