//! A search, and its result.

use muster_api::ids::InfraEnvId;
use muster_api::time::Timestamp;
use muster_core::query::{
    Cursor, Facet, Facts, Fit, HostSummary, HostTable, HostView, Key, Query, Removal, Sort, Window, Words,
    facets, natural_order, removals, window,
};

use crate::changes::log::Position;

/// A search for hosts.
#[derive(Debug, Clone)]
pub struct HostSearch {
    /// Only hosts of this InfraEnv.
    pub scope: Option<InfraEnvId>,
    pub query: Query,
    pub sort: Sort,
    /// The place after which the window begins.
    pub after: Option<Cursor>,
    /// Most hosts in the window.
    pub limit: usize,
    /// Keys whose values are counted.
    pub facets: Vec<Key>,
    /// Most values of each.
    pub facet_values: usize,
}

/// The hosts that fit a search.
#[derive(Debug, Clone)]
pub struct FoundHosts {
    /// The window, in order.
    pub hosts: Vec<HostSummary>,
    /// The place after which the next window begins; `None`: it was the last.
    pub next: Option<Cursor>,
    /// Number of hosts that fit.
    pub total: usize,
    /// Number of all hosts that the search may see.
    pub visible: usize,
    /// Counts among those that fit.
    pub facets: Vec<Facet>,
    /// The terms of the query, each in its canonical form.
    pub terms: Vec<String>,
    /// Where none fits: the hosts that each term removes.
    pub removals: Vec<Removal>,
    /// The place in the log of changes that the result shows.
    pub revision: Position,
    pub at: Timestamp,
}

/// The hosts of a table; with `scope` those of that InfraEnv alone.
pub(super) fn visible(table: &HostTable, scope: Option<InfraEnvId>) -> impl Iterator<Item = HostView<'_>> {
    let hosts = table.hosts();
    hosts.filter(move |host| scope.is_none_or(|scope| host.infra_env_id() == scope))
}

impl HostSearch {
    pub(super) fn of(&self, table: &HostTable, revision: Position, now: Timestamp) -> FoundHosts {
        let visible: Vec<HostView<'_>> = visible(table, self.scope).collect();
        let fit: Vec<HostView<'_>> = visible
            .iter()
            .copied()
            .filter(|host| self.query.matches(*host, now))
            .collect();
        let explained = fit.is_empty() && !visible.is_empty();
        let Window {
            hosts,
            last,
            has_more,
        } = window(fit.iter().copied(), self.sort, self.after.as_ref(), self.limit);
        FoundHosts {
            hosts: hosts.into_iter().map(HostView::summary).collect(),
            next: last.filter(|_| has_more),
            total: fit.len(),
            visible: visible.len(),
            facets: facets(
                fit.iter().copied(),
                visible.iter().copied(),
                &self.facets,
                self.facet_values,
            ),
            terms: self.query.terms().iter().map(ToString::to_string).collect(),
            removals: match explained {
                true => removals(&self.query, visible.iter().copied(), now),
                false => Vec::new(),
            },
            revision,
            at: now,
        }
    }
}

/// The hosts that fit words.
#[derive(Debug, Clone)]
pub struct BestHosts {
    /// The best first, those that fit as well as each other by name.
    pub hosts: Vec<(Fit, HostSummary)>,
    /// Number of all that fit.
    pub total: usize,
}

impl BestHosts {
    pub(super) fn of(
        table: &HostTable,
        scope: Option<InfraEnvId>,
        words: &Words,
        limit: usize,
        now: Timestamp,
    ) -> Self {
        let mut fit: Vec<(Fit, HostView<'_>)> = visible(table, scope)
            .filter(|host| words.query().matches(*host, now))
            .map(|host| (words.fit_of(host), host))
            .collect();
        let total = fit.len();
        fit.sort_unstable_by(|(a_fit, a), (b_fit, b)| {
            let by_fit = a_fit.cmp(b_fit);
            let by_name = by_fit.then_with(|| natural_order(a.name(), b.name()));
            by_name.then_with(|| (a.infra_env_id(), a.id()).cmp(&(b.infra_env_id(), b.id())))
        });
        fit.truncate(limit);
        Self {
            hosts: fit.into_iter().map(|(fit, host)| (fit, host.summary())).collect(),
            total,
        }
    }
}
