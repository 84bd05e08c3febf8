//! Orders the machines that wait for hosts of one namespace, where its owner has quotas. Source of the rules: docs/quotas.md.
//!
//! A machine gets what it would get if all that wait were served one after the other: those of a higher priority first, then the older
//! ones. One that cannot be served holds up no other: nothing fits it, its quota is used up, or what is free is reserved for others. So the
//! first of those that can be served always is, and whatever it leaves is for the next.

use std::cmp::Ordering;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use muster_api::time::Timestamp;

use super::quota::{Against, Quota, Shares};
use super::reason::{Behind, NotTaken};
use super::{Candidate, Need, Placement, Rest, place, rank, unreadiness};
use crate::record::KubeRef;

/// A machine that waits for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub need: Need,
    /// Its creation.
    pub since: Timestamp,
    /// Hosts that it tried and could not take for a reason that may last: it keeps them from no other machine.
    pub refused: BTreeSet<KubeRef>,
}

/// The quotas in force, in their order, and the machines that wait.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub quotas: &'a [Quota],
    pub waiting: &'a [&'a Waiting],
}

/// Ranks `candidates` as [`place`] does, without those that quotas or machines before `own` keep from it. Without quotas nothing is kept,
/// and the order of machines does not matter. `own` need not be among those that wait.
pub fn place_in_line<'a>(
    own: &Waiting,
    candidates: impl IntoIterator<Item = &'a Candidate>,
    line: Line<'_>,
    now: Timestamp,
) -> Placement<'a> {
    let of_namespace = |one: &&Candidate| own.need.namespace == one.host.namespace;
    let mut all: Vec<&'a Candidate> = candidates.into_iter().filter(of_namespace).collect();
    // Once for all rankings: a sort of what is sorted costs little.
    all.sort_by(|a, b| a.host.cmp(&b.host));
    let mut placement = place(&own.need, all.iter().copied(), now);
    // A host that was taken before is the machine's.
    let first = usize::from(placement.is_restored);
    if line.quotas.is_empty() || placement.ranked.len() <= first {
        return placement;
    }
    let fit = placement.ranked.split_off(first);
    let mut shares = Shares::new(line.quotas, &all, now);
    let openings = shares.openings(&own.need.machine.namespace);
    // Whatever those before it take, its limit is reached.
    let is_over = |one: &&Candidate| shares.reached_limit(&openings, one).is_some();
    let held = match fit.iter().all(is_over) {
        true => HashMap::new(),
        false => serve_those_before(own, line, &all, &mut shares, now),
    };
    let behind = behind(
        own,
        fit.iter().filter_map(|one| held.get(&one.host).copied()),
        &shares,
    );
    let openings = shares.openings(&own.need.machine.namespace);
    for one in fit {
        let why = match shares.against(&openings, one) {
            Some(Against::Limit { quota, limit }) => NotTaken::QuotaExceeded { quota, limit },
            _ if held.contains_key(&one.host) => NotTaken::BehindOthers(behind.clone()),
            Some(Against::Reserved(quotas)) => NotTaken::Reserved(quotas),
            None => {
                placement.ranked.push(one);
                continue;
            }
        };
        placement.unfit.push((one, why));
    }
    placement.unfit.sort_by(|(a, _), (b, _)| a.host.cmp(&b.host));
    placement
}

/// Hosts that are fit for some machines of one namespace, the best first.
struct Ranking<'a, 'w> {
    need: &'w Need,
    hosts: Vec<&'a Candidate>,
    /// None of these machines can take one of those before it any more. Each machine that is served leaves less for all others, so what cannot
    /// be taken once cannot be taken later.
    first: usize,
}

/// Serves the machines before `own`, and returns the hosts that they get.
fn serve_those_before<'a, 'w>(
    own: &Waiting,
    line: Line<'w>,
    all: &[&'a Candidate],
    shares: &mut Shares<'_>,
    now: Timestamp,
) -> HashMap<&'a KubeRef, &'w Waiting> {
    // A machine whose host did not wake takes another one.
    let lasting = all.iter().filter(|one| one.rest != Rest::DidNotWake);
    let served: HashSet<&KubeRef> = lasting.filter_map(|one| one.taken_by.as_ref()).collect();
    let waiting = line.waiting.iter().copied();
    let mut before: Vec<&'w Waiting> = waiting
        .filter(|one| one.need.namespace == own.need.namespace)
        .filter(|one| !served.contains(&one.need.machine))
        .filter(|one| in_order(one, own, shares) == Ordering::Less)
        .collect();
    before.sort_by(|a, b| in_order(a, b, shares));
    let is_free = |one: &&&Candidate| one.taken_by.is_none() && unreadiness(one).is_none();
    let free: Vec<&'a Candidate> = all.iter().filter(is_free).copied().collect();
    let mut held: HashMap<&'a KubeRef, &'w Waiting> = HashMap::new();
    // By namespace: as the member `first` of a ranking, for whatever its machines need.
    let mut opened: HashMap<&'w str, usize> = HashMap::new();
    let mut rankings: Vec<Ranking<'a, 'w>> = Vec::new();
    for one in before {
        let namespace = one.need.machine.namespace.as_str();
        let openings = shares.openings(namespace);
        let can_be_had = |host: &Candidate| !held.contains_key(&host.host) && shares.allows(&openings, host);
        let first = opened.entry(namespace).or_default();
        while free.get(*first).is_some_and(|host| !can_be_had(host)) {
            *first += 1;
        }
        if *first == free.len() {
            continue;
        }
        let known = rankings.iter().position(|known| known.need.is_alike(&one.need));
        let at = known.unwrap_or_else(|| {
            rankings.push(Ranking {
                need: &one.need,
                hosts: rank(&one.need, &free, all, now),
                first: 0,
            });
            rankings.len() - 1
        });
        let Ranking { hosts, first, .. } = &mut rankings[at];
        while hosts.get(*first).is_some_and(|host| !can_be_had(host)) {
            *first += 1;
        }
        let taken = hosts[*first..]
            .iter()
            .copied()
            .find(|host| !one.refused.contains(&host.host) && can_be_had(host));
        if let Some(taken) = taken {
            shares.take(namespace, taken);
            held.insert(&taken.host, one);
        }
    }
    held
}

/// Compares two machines by their priority, then by their age.
fn in_order(a: &Waiting, b: &Waiting, shares: &Shares<'_>) -> Ordering {
    let key = |one: &Waiting| {
        let quota = shares.quota_of(&one.need.machine.namespace);
        let priority = quota.map_or(0, |at| shares.quotas[at].priority);
        (Reverse(priority), one.since)
    };
    let by_name = || a.need.machine.cmp(&b.need.machine);
    key(a).cmp(&key(b)).then_with(by_name)
}

/// Describes the machines before `own`, by what its readers may know.
fn behind<'w>(own: &Waiting, others: impl Iterator<Item = &'w Waiting>, shares: &Shares<'_>) -> Behind {
    let mut behind = Behind {
        own: Vec::new(),
        others: BTreeMap::new(),
        since: own.since,
    };
    for one in others {
        let machine = &one.need.machine;
        if machine.namespace == own.need.machine.namespace {
            behind.own.push(machine.clone());
            continue;
        }
        let quota = shares.quota_of(&machine.namespace);
        let quota = quota.map(|at| shares.quotas[at].name.clone());
        *behind.others.entry(quota).or_default() += 1;
    }
    behind.own.sort();
    behind
}

impl Need {
    /// True if the same hosts are fit for both, in the same order, unless one of them has taken one before.
    fn is_alike(&self, other: &Self) -> bool {
        let Self {
            machine,
            cluster,
            namespace,
            open,
            selector,
            failure_domain,
            minimum,
            imaged,
            architecture,
        } = self;
        machine.namespace == other.machine.namespace
            && *cluster == other.cluster
            && *namespace == other.namespace
            && *selector == other.selector
            && *failure_domain == other.failure_domain
            && *minimum == other.minimum
            && *architecture == other.architecture
            && *imaged == other.imaged
            && *open == other.open
    }
}
