//! `/links`: switches with the hosts at their ports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use muster_api::error::InfraError;
use muster_api::links::{LinkedHost, LinkedPort, LinkedSwitch, Links, MOST_VLANS};
use muster_api::time::millis;
use muster_core::query::{self, natural_order, quoted};
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::hosts::SwitchedHost;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scopes::scope_of;
use crate::state::Rest;

/// Switches in one answer, the most.
const MOST: usize = 50;

/// Cables of a switch in one answer, about: many machines can name one switch, and all ports are whole.
const MOST_CABLES: usize = 512;

/// Which of the switches.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct LinksQuery {
    /// Switches to leave out before the first one.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Only this switch.
    switch: Option<String>,
}

/// The operations of users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(list_links))
}

/// List switches with the hosts at their ports
///
/// As the hosts of the InfraEnvs that the caller may see receive it by LLDP; 50 switches at a time.
#[utoipa::path(
    get, path = "/links", operation_id = "MusterListLinks", tag = "hosts",
    params(LinksQuery),
    responses((status = 200, body = Links), (status = 400, body = InfraError))
)]
pub async fn list_links(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<LinksQuery>,
) -> Result<Json<Links>, Problem> {
    let after = usize::try_from(query.after.unwrap_or_default())
        .map_err(|_| Problem::bad_request("after: a number from 0 on"))?;
    let hosts = operations.host_index.switched(scope_of(caller)).await?;
    let only = query.switch.as_deref().filter(|switch| !switch.is_empty());
    let mut links = links(&hosts, only, after);
    links.at = millis(Some(operations.now()));
    Ok(Json(links))
}

/// Without the time.
fn links(hosts: &[SwitchedHost], only: Option<&str>, after: usize) -> Links {
    // By switch and port, the hosts as places in the list.
    let mut switches: BTreeMap<&str, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate() {
        for (switch, port) in &host.ports {
            let ports = switches.entry(switch).or_default();
            ports.entry(port).or_default().push(index);
        }
    }
    switches.retain(|switch, _| only.is_none_or(|only| only == *switch));
    let total = switches.len();
    let mut names: Vec<&str> = switches.keys().copied().collect();
    names.sort_by(|a, b| natural_order(a, b));
    let shown = names.into_iter().skip(after).take(MOST);
    let shown = shown.map(|switch| linked_switch(hosts, switch, switches.remove(switch).unwrap_or_default()));
    Links {
        switches: shown.collect(),
        total,
        without_switch: hosts.iter().filter(|host| host.ports.is_empty()).count(),
        at: String::new(),
    }
}

fn linked_switch(hosts: &[SwitchedHost], switch: &str, of: BTreeMap<&str, Vec<usize>>) -> LinkedSwitch {
    let cables: usize = of.values().map(Vec::len).sum();
    let ports = ports(hosts, of);
    let listed: usize = ports.iter().map(|port| port.hosts.len()).sum();
    LinkedSwitch {
        switch: switch.to_owned(),
        query: query_of(switch),
        ports,
        cables_left_out: cables.saturating_sub(listed),
    }
}

/// A query of the hosts at a switch; empty: it has no name, or one that no query can have.
fn query_of(switch: &str) -> String {
    let query = format!("switch:{}", quoted(switch));
    match !switch.is_empty() && query::Query::parse(&query).is_ok() {
        true => query,
        false => String::new(),
    }
}

/// The ports in order, until they have [`MOST_CABLES`] together; each has at most as many.
fn ports(hosts: &[SwitchedHost], ports: BTreeMap<&str, Vec<usize>>) -> Vec<LinkedPort> {
    let mut ports: Vec<(&str, Vec<usize>)> = ports.into_iter().collect();
    ports.sort_by(|(a, _), (b, _)| natural_order(a, b));
    let mut before = 0;
    let ports = ports.into_iter().take_while(|(_, indexes)| {
        let has_room = before < MOST_CABLES;
        before += indexes.len();
        has_room
    });
    let ports = ports.map(|(port, indexes)| {
        let mut at_port: Vec<LinkedHost> = indexes
            .iter()
            .filter_map(|index| hosts.get(*index))
            .map(linked)
            .collect();
        at_port.sort_by(|a, b| natural_order(&a.name, &b.name).then_with(|| a.id.cmp(&b.id)));
        at_port.truncate(MOST_CABLES);
        LinkedPort {
            port: port.to_owned(),
            hosts: at_port,
        }
    });
    ports.collect()
}

fn linked(host: &SwitchedHost) -> LinkedHost {
    let switches: BTreeSet<&str> = host.ports.iter().map(|(switch, _)| switch.as_str()).collect();
    LinkedHost {
        id: host.id,
        infra_env_id: host.infra_env_id,
        name: host.name.clone(),
        switches: switches.len(),
        vlans: host.vlans.iter().copied().take(MOST_VLANS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    fn host(name: &str, ports: &[(&str, &str)]) -> SwitchedHost {
        let ports = ports
            .iter()
            .map(|(switch, port)| (switch.to_string(), port.to_string()));
        SwitchedHost {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            name: name.into(),
            ports: ports.collect(),
            vlans: vec![10],
        }
    }

    #[test]
    fn ports_are_in_their_order_and_hosts_count_their_switches() {
        let hosts = [
            host("b", &[("sw10", "Gi1/0/2"), ("sw9", "Gi1/0/1")]),
            host("a", &[("sw10", "Gi1/0/2"), ("sw10", "Gi1/0/10")]),
            host("c", &[]),
        ];
        let found = links(&hosts, None, 0);
        assert_eq!((found.total, found.without_switch), (2, 1));
        let names: Vec<&str> = found.switches.iter().map(|one| one.switch.as_str()).collect();
        assert_eq!(names, ["sw9", "sw10"]);
        let ports = &found.switches[1].ports;
        let shown: Vec<(&str, Vec<(&str, usize)>)> = ports
            .iter()
            .map(|port| {
                let hosts = port.hosts.iter().map(|host| (host.name.as_str(), host.switches));
                (port.port.as_str(), hosts.collect())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("Gi1/0/2", vec![("a", 1), ("b", 2)]),
                ("Gi1/0/10", vec![("a", 1)])
            ]
        );
        assert_eq!(links(&hosts, Some("sw9"), 0).total, 1);
        assert_eq!(links(&hosts, None, 1).switches.len(), 1);
    }

    #[test]
    fn a_name_is_quoted_and_what_one_switch_has_is_bounded() {
        for (switch, query) in [
            ("sw1", "switch:sw1"),
            ("a b", "switch:\"a b\""),
            (r#"a"*\"#, r#"switch:"a\"*\\""#),
            ("", ""),
        ] {
            assert_eq!(query_of(switch), query);
        }
        let mut crowd: Vec<SwitchedHost> = (0..MOST_CABLES + 9)
            .map(|number| host(&format!("host-{number}"), &[("sw", "p1"), ("sw", "p2")]))
            .collect();
        crowd[0].vlans = (1..=4094).collect();
        let found = links(&crowd, None, 0);
        let switch = &found.switches[0];
        assert_eq!(
            (
                switch.ports.len(),
                switch.ports[0].hosts.len(),
                switch.cables_left_out
            ),
            (1, MOST_CABLES, MOST_CABLES + 18)
        );
        assert_eq!(switch.ports[0].hosts[0].vlans.len(), MOST_VLANS);
    }
}
