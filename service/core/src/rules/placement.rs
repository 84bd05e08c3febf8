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
//!
//! Where the owner of the hosts has quotas, these limit and order what machines take ([`place_in_line`]).

mod candidate;
mod funnel;
mod kept;
mod line;
mod pool;
mod quota;
mod reason;
mod selector;

pub use candidate::{Candidate, Erasure, Hardware, PastFailures, Rest, architecture_name};
pub use funnel::{FunnelStep, funnel};
pub use line::{Line, Waiting, place_in_line};
pub use pool::{Least, least};
pub use quota::{Quota, Usage, in_force, usage};
pub use reason::{Behind, NotTaken};
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
    /// Hosts of that namespace that are open to machines of its own namespace, if the two differ.
    pub open: Open,
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

/// Hosts of another namespace that a machine may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open {
    /// Those of these InfraEnvs.
    Of(BTreeSet<KubeRef>),
    /// All: the operator of the controllers named the namespace, and gave them rights on its hosts.
    All,
}

impl Open {
    /// True if the hosts of this InfraEnv are open; `None`: a host of none.
    fn has(&self, infra_env: Option<&KubeRef>) -> bool {
        match self {
            Self::Of(open) => infra_env.is_some_and(|infra_env| open.contains(infra_env)),
            Self::All => true,
        }
    }
}

impl Need {
    /// True for hosts of the machine's own namespace, and those that are open to it.
    pub fn may_have(&self, one: &Candidate) -> bool {
        one.host.namespace == self.machine.namespace || self.open.has(one.infra_env.as_ref())
    }

    /// True if readers of the machine may know names of objects in `namespace`: it is their own, or hosts are of their own, which show them.
    pub fn may_know(&self, namespace: &str) -> bool {
        let own = &self.machine.namespace;
        own == namespace || *own == self.namespace
    }

    /// `name`, unless readers of the machine may not know it.
    fn shown(&self, name: &KubeRef) -> Option<KubeRef> {
        self.may_know(&name.namespace).then(|| name.clone())
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
    sort_best_first(need, &mut ranked, &in_domain);
    if let Some(restored) = restored {
        ranked.insert(0, restored);
    }
    Placement {
        is_restored: restored.is_some(),
        ranked,
        unfit,
    }
}

/// The hosts of `free` that are fit, the best first, as [`place`] ranks them for a machine that has none of `all`: the hosts of its namespace.
fn rank<'a>(
    need: &Need,
    free: &[&'a Candidate],
    all: &[&'a Candidate],
    now: Timestamp,
) -> Vec<&'a Candidate> {
    let fit = free.iter().copied();
    let mut fit: Vec<&Candidate> = fit.filter(|one| unfitness(need, one, now).is_none()).collect();
    sort_best_first(need, &mut fit, &load(&need.cluster, all));
    fit
}

/// Sorts fit hosts. `in_domain`: hosts of the machine's cluster by failure domain.
fn sort_best_first(need: &Need, fit: &mut [&Candidate], in_domain: &BTreeMap<Option<&str>, usize>) {
    fit.sort_by_cached_key(|one| {
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
        return Some(NotTaken::TakenBy(need.shown(other)));
    }
    if let Some(cluster) = one.cluster.as_ref().filter(|cluster| **cluster != need.cluster) {
        return Some(NotTaken::OfAnotherCluster(need.shown(cluster)));
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
    unreadiness(one).or_else(|| failed_before(need, one, now))
}

/// The reason why no machine can take a host that is neither taken nor being deleted.
fn unreadiness(one: &Candidate) -> Option<NotTaken> {
    if !one.is_approved {
        return Some(NotTaken::NotApproved);
    }
    if one.bound != Some(false) {
        return Some(NotTaken::Bound(one.state.clone()));
    }
    match &one.erasure {
        Some(Erasure::Pending) => return Some(NotTaken::BeingErased),
        Some(Erasure::Failed(why)) => return Some(NotTaken::CannotBeErased(why.clone())),
        None => {}
    }
    if one.connected != Some(true) {
        return Some(NotTaken::NotConnected(one.state.clone()));
    }
    (one.validated != Some(true)).then(|| NotTaken::NotValidated(one.state.clone()))
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

fn failed_before(need: &Need, one: &Candidate, now: Timestamp) -> Option<NotTaken> {
    let failures = one.failures.as_ref().filter(|failures| failures.forbid(now))?;
    let count = failures.count;
    // It can name the machine whose node failed.
    let is_known = need.may_know(&one.host.namespace);
    let why = is_known.then(|| failures.message.clone());
    match failures.until.filter(|_| !failures.is_quarantined) {
        Some(until) => Some(NotTaken::FailedBefore { count, until, why }),
        None => Some(NotTaken::Quarantined { count, why }),
    }
}
