//! The first page: what needs work, what there is, what happened last.

use askama::Template;
use axum::response::Response;
use muster_api::MUSTER_PATH;
use muster_api::boot::BootingMachine;
use muster_api::search::{FoundHost, FoundHosts};
use muster_api::troubles::Troubles;

use crate::clusters;
use crate::events::{self, EventRows};
use crate::hosts::{self, Wait};
use crate::html::{self, Frame, answer, hosts_with};
use crate::pools;
use crate::rest::{Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

/// Hosts, machines or BMCs that are named for each reason.
const NAMED: usize = 5;

/// Values of a key that are shown.
const VALUES: usize = 12;

/// Events that are shown.
const EVENTS: usize = 20;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    has_pools: bool,
    needs: Vec<Need>,
    hosts: String,
    counters: Vec<Counter>,
    events: EventRows,
    revision: String,
    at: String,
}

/// A reason for work.
struct Need {
    what: &'static str,
    count: usize,
    address: String,
    first: Vec<Item>,
    /// Further ones.
    more: usize,
}

/// Something that needs work.
struct Item {
    address: String,
    name: String,
    why: String,
}

/// Hosts by the values of a key.
struct Counter {
    name: &'static str,
    values: Vec<Choice>,
    /// Further values.
    more: usize,
}

struct Choice {
    value: String,
    hosts: usize,
    address: String,
}

/// A reason that a query finds.
struct Reason {
    what: &'static str,
    query: &'static str,
    why: fn(&FoundHost, &str) -> String,
}

const REASONS: [Reason; 5] = [
    Reason {
        what: "Waits that are overdue",
        query: "wait:overdue",
        why: overdue,
    },
    Reason {
        what: "Hosts that failed, are away or wait for a hand",
        query: "state:error,cancelled,preparing-failed,disconnected*,*pending-user-action",
        why: |host, _| host.reason.clone(),
    },
    Reason {
        what: "Hosts that are not approved",
        query: "approved:no",
        why: |host, now| format!("registered {}", words::relative(&host.registered_at, now)),
    },
    Reason {
        what: "Hosts with findings",
        query: "finding:*",
        why: |host, _| host.findings.join(", "),
    },
    Reason {
        what: "Hosts with failed checks",
        query: "check:*",
        why: |host, _| host.failed_checks.join(", "),
    },
];

fn overdue(host: &FoundHost, now: &str) -> String {
    let Some(wait) = Wait::of(host, now) else {
        return String::new();
    };
    match wait.until {
        Some(until) => format!("waits for {}, due {until}. {}", wait.what, wait.what_to_do),
        None => format!("waits for {}. {}", wait.what, wait.what_to_do),
    }
}

impl Need {
    /// `some`: at least one of the `count`.
    fn of(what: &'static str, mut some: Vec<Item>, count: usize, address: String) -> Self {
        some.truncate(NAMED);
        Self {
            what,
            count,
            address,
            more: count.saturating_sub(some.len()),
            first: some,
        }
    }
}

/// The hosts that need work.
async fn of_hosts(visitor: &Visitor) -> Result<Vec<Need>, Refusal> {
    let mut needs = Vec::new();
    for reason in REASONS {
        let found = visitor.hosts(reason.query, NAMED, "").await?;
        if found.total == 0 {
            continue;
        }
        let item = |host: &FoundHost| Item {
            address: hosts::address(host.infra_env_id, host.id),
            name: host.name.clone(),
            why: (reason.why)(host, &found.at),
        };
        let first = found.hosts.iter().map(item).collect();
        needs.push(Need::of(
            reason.what,
            first,
            found.total,
            hosts_with(reason.query),
        ));
    }
    Ok(needs)
}

/// The BMCs, booting machines and requests of nodes that need work.
async fn beside_hosts(visitor: &Visitor, now: &str) -> Result<Vec<Need>, Refusal> {
    let found: Troubles = visitor.get(&format!("{MUSTER_PATH}/troubles")).await?;
    let bmcs = found.bmcs.into_iter().map(|bmc| Item {
        address: pools::address(bmc.infra_env_id),
        name: format!("{} ({})", bmc.name, bmc.infra_env),
        why: bmc.reason,
    });
    let machines = found.machines.into_iter().map(|stuck| {
        let machine = &stuck.machine;
        let known_by = match machine.mac_address.is_empty() {
            true => &machine.ip_address,
            false => &machine.mac_address,
        };
        Item {
            address: pools::address(stuck.infra_env_id),
            name: format!("{known_by} ({})", stuck.infra_env),
            why: why_stuck(machine, now),
        }
    });
    let requests = found.certificate_requests.into_iter().map(|request| Item {
        address: clusters::address(request.cluster_id),
        name: format!("{} of {}", request.name, request.node),
        why: request.reason,
    });
    let kinds: [(&str, Vec<Item>, usize, &str); 3] = [
        (
            "BMCs whose discovery failed",
            bmcs.collect(),
            found.bmcs_total,
            html::POOLS,
        ),
        (
            "Machines that fetched boot files and did not register",
            machines.collect(),
            found.machines_total,
            html::POOLS,
        ),
        (
            "Certificate requests of nodes that are not approved",
            requests.collect(),
            found.certificate_requests_total,
            html::CLUSTERS,
        ),
    ];
    let needs = kinds.into_iter().filter_map(|(what, all, count, list)| {
        let first = all.first()?.address.clone();
        let is_one = all.iter().all(|item| item.address == first);
        let address = if is_one { first } else { list.to_owned() };
        Some(Need::of(what, all, count, address))
    });
    Ok(needs.collect())
}

/// Why a machine will not register by itself.
fn why_stuck(machine: &BootingMachine, now: &str) -> String {
    match machine.last() {
        Some(last) if !last.refusal.is_empty() => last.refusal.clone(),
        Some(last) => {
            let when = words::relative(&last.last_at, now);
            format!("fetched {} {when}, and nothing since", last.file)
        }
        None => String::new(),
    }
}

impl Counter {
    /// `none`: the name of the hosts without a value, and the term that finds them.
    fn of(found: &FoundHosts, name: &'static str, key: &str, none: Option<(&str, &str)>) -> Self {
        let facet = found.facets.iter().find(|facet| facet.key == key);
        let counted = facet.map(|facet| facet.values.as_slice()).unwrap_or_default();
        let unknown = facet.map_or(0, |facet| facet.unknown);
        let none = none.filter(|_| unknown > 0).map(|(value, term)| Choice {
            value: value.to_owned(),
            hosts: unknown,
            address: hosts_with(term),
        });
        let values = counted.iter().take(VALUES).map(|one| Choice {
            value: one.value.clone(),
            hosts: one.hosts,
            address: hosts_with(&one.term),
        });
        Self {
            name,
            values: none.into_iter().chain(values).collect(),
            more: facet.map_or(0, |facet| facet.left_out) + counted.len().saturating_sub(VALUES),
        }
    }
}

pub async fn show(visitor: Visitor) -> Result<Response, Refusal> {
    let session = session(&visitor).await?;
    let pools = pools::visible(&visitor, &session).await?;
    // Before all else: what changes after it is behind this place in the stream of changes.
    let counted = visitor.hosts("", 1, "state,cluster,pool").await?;
    let mut needs = of_hosts(&visitor).await?;
    needs.extend(beside_hosts(&visitor, &counted.at).await?);
    let events = events::newest(&visitor, session.infra_env_id, EVENTS, &counted.at).await?;
    let counters = [
        Counter::of(&counted, "State", "state", None),
        Counter::of(&counted, "Cluster", "cluster", Some(("free", "-cluster:*"))),
        Counter::of(&counted, "Pool", "pool", None),
    ];
    Ok(answer(&OverviewPage {
        has_pools: !pools.is_empty(),
        needs,
        hosts: words::count(counted.total, "host"),
        counters: counters
            .into_iter()
            .filter(|counter| !counter.values.is_empty())
            .collect(),
        events,
        revision: counted.revision,
        at: counted.at,
        frame: frame_of(session),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_machine_has_its_refusal_or_its_last_file() {
        let machine = |refusal: &str| -> BootingMachine {
            let at = "2026-11-30T11:49:59.000Z";
            serde_json::from_value(serde_json::json!({
                "mac_address": "", "ip_address": "192.0.2.7", "user_agent": "", "registered": false,
                "files": [{"file": "kernel", "first_at": at, "last_at": at, "requests": 1, "bytes": 1, "refusal": refusal}],
            }))
            .unwrap()
        };
        let now = "2026-11-30T12:00:00.000Z";
        let late = "fetched kernel 10 min ago, and nothing since";
        assert_eq!(why_stuck(&machine(""), now), late);
        assert_eq!(
            why_stuck(&machine("the URL was revoked"), now),
            "the URL was revoked"
        );
    }
}
