//! Describes quotas: how many hosts of a pool a consumer may have, how many are kept free for it, and which machines come first. Source of
//! the rules: docs/quotas.md.

use std::collections::{BTreeMap, HashMap};

use muster_api::time::Timestamp;

use super::kept::Kept;
use super::selector::Selector;
use super::{Candidate, Open, unreadiness};
use crate::record::KubeRef;

/// A quota, of the namespace of the hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    pub name: String,
    /// Namespace of the machines that it is for.
    pub consumer: String,
    /// The hosts that it is about.
    pub selector: Selector,
    /// Hosts that the consumer may have in addition to those of its own namespace.
    pub open: Open,
    /// Most hosts of the consumer; `None`: no limit.
    pub limit: Option<usize>,
    /// Hosts that are kept free for the consumer, those that it has included.
    pub reserved: usize,
    /// Machines of a higher number come first; without a quota it is 0.
    pub priority: i64,
    /// Its creation.
    pub since: Timestamp,
}

/// The state of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Hosts that machines of the consumer have.
    pub used: usize,
    /// Free hosts that are kept for it.
    pub held: usize,
    /// Hosts of the pool that the reservation could have if all were free, after the reservations of older quotas.
    pub covered: usize,
    /// Hosts of the pool that it may have, whatever their state.
    pub pool: usize,
}

impl Quota {
    /// True for hosts that it is about.
    pub fn covers(&self, one: &Candidate) -> bool {
        self.selector.unmet(&one.labels).is_none()
    }

    /// Hosts that are kept free at most, those that are in use included.
    pub fn reserved(&self) -> usize {
        self.limit.map_or(self.reserved, |limit| self.reserved.min(limit))
    }

    /// True for hosts that can be kept for its consumer.
    fn may_have(&self, one: &Candidate) -> bool {
        let is_open = || self.open.has(one.infra_env.as_ref());
        self.covers(one) && (one.host.namespace == self.consumer || is_open())
    }

    fn is_used_by(&self, one: &Candidate) -> bool {
        let is_the_consumers = |taken_by: &KubeRef| taken_by.namespace == self.consumer;
        one.taken_by.as_ref().is_some_and(is_the_consumers) && self.covers(one)
    }
}

/// The quotas of a namespace that count, the oldest first: one for each consumer. The others are returned as well, each with the name of
/// the one that counts in its place.
pub fn in_force(mut all: Vec<Quota>) -> (Vec<Quota>, BTreeMap<String, String>) {
    all.sort_by(|a, b| (a.since, &a.name).cmp(&(b.since, &b.name)));
    let (mut counting, mut others): (Vec<Quota>, _) = (Vec::new(), BTreeMap::new());
    for quota in all {
        match counting.iter().find(|older| older.consumer == quota.consumer) {
            Some(older) => {
                others.insert(quota.name, older.name.clone());
            }
            None => counting.push(quota),
        }
    }
    (counting, others)
}

/// The state of each of `quotas`, which are in force and in their order. `candidates`: the hosts of their namespace.
pub fn usage<'a>(
    quotas: &[Quota],
    candidates: impl IntoIterator<Item = &'a Candidate>,
    now: Timestamp,
) -> Vec<Usage> {
    let all: Vec<&Candidate> = candidates.into_iter().collect();
    let shares = Shares::new(quotas, &all, now);
    let pool = all
        .iter()
        .copied()
        .filter(|one| one.is_approved && !one.is_leaving);
    let pool = Sorts::new(quotas, pool);
    let demands: Vec<usize> = quotas.iter().map(Quota::reserved).collect();
    let covered = Kept::new(&demands, &pool.of, &pool.left);
    let state = |at: usize| Usage {
        used: shares.used[at],
        held: shares.kept.number(at),
        covered: covered.number(at),
        pool: pool.number(at),
    };
    (0..quotas.len()).map(state).collect()
}

/// Hosts by the quotas that they can be kept for.
struct Sorts<'a> {
    /// By sort: true for each such quota.
    of: Vec<Vec<bool>>,
    /// By sort: the number of hosts.
    left: Vec<usize>,
    of_host: HashMap<&'a KubeRef, usize>,
}

impl<'a> Sorts<'a> {
    fn new(quotas: &[Quota], hosts: impl Iterator<Item = &'a Candidate>) -> Self {
        let mut by_quotas: HashMap<Vec<bool>, usize> = HashMap::new();
        let (mut left, mut of_host) = (Vec::new(), HashMap::new());
        for one in hosts {
            let of: Vec<bool> = quotas.iter().map(|quota| quota.may_have(one)).collect();
            let next = by_quotas.len();
            let sort = *by_quotas.entry(of).or_insert(next);
            if sort == left.len() {
                left.push(0);
            }
            left[sort] += 1;
            of_host.insert(&one.host, sort);
        }
        let mut of = vec![Vec::new(); left.len()];
        for (quotas, sort) in by_quotas {
            of[sort] = quotas;
        }
        Self { of, left, of_host }
    }

    /// Number of hosts that can be kept for a quota.
    fn number(&self, quota: usize) -> usize {
        let sorts = self.of.iter().zip(&self.left).filter(|(of, _)| of[quota]);
        sorts.map(|(_, left)| left).sum()
    }
}

/// The shares of consumers in the hosts of a pool, while machines are served one after the other.
pub(super) struct Shares<'a> {
    pub quotas: &'a [Quota],
    /// By quota: hosts in use.
    used: Vec<usize>,
    free: Sorts<'a>,
    kept: Kept,
}

/// The free hosts that machines of a consumer can take without less being kept for others.
pub(super) struct Openings {
    /// The position of its quota.
    consumer: Option<usize>,
    /// By sort: for a machine that counts for no quota.
    plain: Vec<bool>,
    /// By sort: for one that fulfils the reservation of its own quota.
    own: Vec<bool>,
}

/// The reason why a fit host cannot be taken.
pub(super) enum Against {
    Limit { quota: String, limit: usize },
    Reserved(Vec<(String, usize)>),
}

impl<'a> Shares<'a> {
    pub fn new(quotas: &'a [Quota], all: &[&'a Candidate], now: Timestamp) -> Self {
        let used = |quota: &Quota| all.iter().filter(|one| quota.is_used_by(one)).count();
        let is_free = |one: &&Candidate| {
            let is_at_rest = one.failures.as_ref().is_some_and(|failures| failures.forbid(now));
            one.taken_by.is_none()
                && one.cluster.is_none()
                && !one.is_leaving
                && !is_at_rest
                && unreadiness(one).is_none()
        };
        let mut shares = Self {
            quotas,
            used: quotas.iter().map(used).collect(),
            free: Sorts::new(quotas, all.iter().copied().filter(is_free)),
            kept: Kept::new(&[], &[], &[]),
        };
        shares.keep();
        shares
    }

    /// The position of the quota for machines of this namespace.
    pub fn quota_of(&self, namespace: &str) -> Option<usize> {
        self.quotas.iter().position(|quota| quota.consumer == namespace)
    }

    /// The openings for machines of this namespace.
    pub fn openings(&self, namespace: &str) -> Openings {
        let consumer = self.quota_of(namespace);
        let plain = self.kept.dispensable(&self.free.of);
        let less = consumer.and_then(|at| self.kept.with_one_less(at));
        let own = less.map_or_else(|| plain.clone(), |less| less.dispensable(&self.free.of));
        Openings { consumer, plain, own }
    }

    /// The reason why a machine with these openings cannot take a host that is fit for it.
    pub fn against(&self, openings: &Openings, one: &Candidate) -> Option<Against> {
        if let Some((quota, limit)) = self.reached_limit(openings, one) {
            let quota = quota.name.clone();
            return Some(Against::Limit { quota, limit });
        }
        let of = self.kept_from(openings, one)?;
        let others = self.quotas.iter().enumerate();
        let others = others.filter(|(at, _)| of[*at] && Some(*at) != openings.consumer);
        let others = others.map(|(at, quota)| (quota.name.clone(), self.kept.number(at)));
        Some(Against::Reserved(
            others.filter(|(_, number)| *number > 0).collect(),
        ))
    }

    /// True if there is no reason against it.
    pub fn allows(&self, openings: &Openings, one: &Candidate) -> bool {
        self.reached_limit(openings, one).is_none() && self.kept_from(openings, one).is_none()
    }

    /// The quota of a machine with these openings that is about this host, if its limit is reached, and the limit.
    pub fn reached_limit(&self, openings: &Openings, one: &Candidate) -> Option<(&'a Quota, usize)> {
        let at = openings.consumer?;
        let quota = &self.quotas[at];
        let limit = quota.limit.filter(|limit| self.used[at] >= *limit)?;
        quota.covers(one).then_some((quota, limit))
    }

    /// The quotas that a host can be kept for, if one of them would lack it.
    fn kept_from(&self, openings: &Openings, one: &Candidate) -> Option<&[bool]> {
        // A host that no other machine could take is kept for none.
        let sort = *self.free.of_host.get(&one.host)?;
        let of = &self.free.of[sort];
        let is_own = openings.consumer.is_some_and(|at| of[at]);
        let open = if is_own { &openings.own } else { &openings.plain };
        (!open[sort]).then_some(of.as_slice())
    }

    /// A machine of this namespace takes a host.
    pub fn take(&mut self, namespace: &str, one: &Candidate) {
        if let Some(at) = self.quota_of(namespace).filter(|at| self.quotas[*at].covers(one)) {
            self.used[at] += 1;
        }
        if let Some(sort) = self.free.of_host.remove(&one.host) {
            self.free.left[sort] -= 1;
        }
        self.keep();
    }

    /// Keeps free hosts for all reservations that are not in use.
    fn keep(&mut self) {
        let demands = self.quotas.iter().zip(&self.used);
        let demands: Vec<usize> = demands
            .map(|(quota, used)| quota.reserved().saturating_sub(*used))
            .collect();
        self.kept = Kept::new(&demands, &self.free.of, &self.free.left);
    }
}
