//! The result of a search as the page shows it.

use muster_api::search::{FacetCount, FoundHost, FoundHosts, HostFacet, TermRemoval};

use super::columns::Cell;
use super::groups::GroupHeading;
use super::row::Row;
use super::trail::query_of;
use super::view::View;
use crate::words;

/// Values of a key that are shown.
const SHOWN: usize = 25;

pub struct Found {
    pub parts: Vec<Part>,
    pub total: String,
    /// Hosts that fit.
    pub fit: usize,
    pub visible: String,
    pub is_whole: bool,
    pub facets: Vec<Facet>,
    pub removals: Vec<TermRemoval>,
    /// The address of the next window; the plain table has none.
    pub next: Option<String>,
    /// True if there are more than the plain table shows.
    pub is_cut: bool,
    /// The query of the links to hosts, by which their pages know the list; empty: they do not.
    pub trail: String,
    /// The place in the stream of changes.
    pub revision: String,
    pub at: String,
}

/// Rows below one heading.
pub struct Part {
    /// `None`: the list has no groups.
    pub heading: Option<Heading>,
    pub lines: Vec<Line>,
}

pub struct Heading {
    pub group: GroupHeading,
    /// The list of this group alone; `None`: it is that already, or there is no term for it.
    pub address: Option<String>,
}

pub struct Line {
    pub row: Row,
    pub cells: Vec<Cell>,
}

/// Counts by the values of a key.
pub struct Facet {
    pub key: String,
    pub values: Vec<Choice>,
    /// Terms of values that are not shown, for completion, one a line.
    pub further: String,
    pub left_out: usize,
}

/// A value that narrows the list.
pub struct Choice {
    pub value: String,
    /// Of a query.
    pub term: String,
    pub hosts: usize,
    pub address: String,
    pub is_chosen: bool,
}

impl Found {
    pub fn of(found: FoundHosts, view: &View) -> Self {
        let parts = parts(&found, view);
        let chosen = found.terms;
        let facets = found
            .facets
            .into_iter()
            .map(|facet| Facet::of(facet, &chosen, view));
        let next = found.next;
        Self {
            parts,
            total: words::count(found.total, "host"),
            fit: found.total,
            visible: found.visible.to_string(),
            is_whole: found.total == found.visible,
            facets: facets.filter(|facet| !facet.values.is_empty()).collect(),
            removals: found.removals,
            is_cut: view.is_all && next.is_some(),
            next: next.filter(|_| !view.is_all).map(|after| {
                View {
                    after,
                    ..view.clone()
                }
                .address()
            }),
            trail: query_of(view),
            revision: found.revision,
            at: found.at,
        }
    }
}

fn parts(found: &FoundHosts, view: &View) -> Vec<Part> {
    let Some(grouping) = view.group else {
        let part = Part {
            heading: None,
            lines: lines(&found.hosts, &found.at, view),
        };
        return match part.lines.is_empty() {
            true => Vec::new(),
            false => vec![part],
        };
    };
    let parts = grouping.parts(&found.hosts).into_iter();
    let part = |(value, hosts): (String, Vec<&FoundHost>)| {
        let group = grouping.heading(&value, &found.facets);
        let is_new = !group.term.is_empty() && !found.terms.contains(&group.term);
        let narrowed = || view.with_query(&joined(&found.terms, &group.term));
        Part {
            heading: Some(Heading {
                address: is_new.then(narrowed),
                group,
            }),
            lines: lines(hosts, &found.at, view),
        }
    };
    parts.map(part).collect()
}

fn lines<'a>(hosts: impl IntoIterator<Item = &'a FoundHost>, now: &str, view: &View) -> Vec<Line> {
    let hosts = hosts.into_iter();
    hosts.map(|host| Line::of(host, now, view)).collect()
}

/// A query of these terms and one more.
fn joined(terms: &[String], term: &str) -> String {
    let mut all: Vec<&str> = terms.iter().map(String::as_str).collect();
    all.push(term);
    all.join(" ")
}

impl Line {
    fn of(host: &FoundHost, now: &str, view: &View) -> Self {
        let row = Row::of(host, now);
        Self {
            cells: view
                .columns
                .iter()
                .map(|column| column.cell(host, &row, now))
                .collect(),
            row,
        }
    }
}

impl Facet {
    /// The most frequent values, and those that the query has.
    fn of(facet: HostFacet, chosen: &[String], view: &View) -> Self {
        let values = facet.values.into_iter().enumerate();
        let (shown, further): (Vec<_>, Vec<_>) =
            values.partition(|(place, value)| *place < SHOWN || chosen.contains(&value.term));
        let terms: Vec<&str> = further.iter().map(|(_, value)| value.term.as_str()).collect();
        let shown = shown.into_iter();
        Self {
            key: facet.key,
            left_out: facet.left_out + further.len(),
            further: terms.join("\n"),
            values: shown.map(|(_, value)| Choice::of(value, chosen, view)).collect(),
        }
    }
}

impl Choice {
    /// A term that the query has already is taken away.
    fn of(value: FacetCount, chosen: &[String], view: &View) -> Self {
        let is_chosen = chosen.contains(&value.term);
        let query = match is_chosen {
            true => {
                let others = chosen.iter().filter(|term| **term != value.term);
                others.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            false => joined(chosen, &value.term),
        };
        Self {
            address: view.with_query(&query),
            value: value.value,
            term: value.term,
            hosts: value.hosts,
            is_chosen,
        }
    }
}
