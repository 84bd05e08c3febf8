//! The list of clusters and of node pools, and the form that imports a cluster.

use std::collections::HashMap;

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use muster_api::cluster::Cluster;
use serde_json::{Map, Value};

use super::{PoolRow, address, node_pools};
use crate::html::{CLUSTERS, Frame, answer, hosts_with};
use crate::rest::{Form, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

/// Clusters on one page: REST counts the hosts of so many in one answer.
const WINDOW: usize = 100;

/// The fields of the form.
const FIELDS: [&str; 4] = [
    "name",
    "api_vip_dnsname",
    "openshift_cluster_id",
    "openshift_version",
];

#[derive(Template)]
#[template(path = "clusters.html")]
struct ClustersPage {
    frame: Frame,
    /// `None`: the visitor may see none.
    clusters: Option<Vec<Row>>,
    total: usize,
    /// The addresses of the windows around this one.
    before: Option<String>,
    next: Option<String>,
    pools: Vec<PoolRow>,
    /// The reason why node pools are missing; empty: none is.
    pools_note: String,
    has_more_pools: bool,
    problem: Option<String>,
    typed: Typed,
    /// The place in the stream of changes.
    revision: String,
}

struct Row {
    address: String,
    name: String,
    version: String,
    api: String,
    hosts: String,
    hosts_address: String,
}

/// The typed values of the form.
#[derive(Default)]
struct Typed {
    name: String,
    api: String,
    id: String,
    version: String,
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    Ok(answer(&page(&visitor, None, Typed::default()).await?))
}

async fn page(visitor: &Visitor, problem: Option<String>, typed: Typed) -> Result<ClustersPage, Refusal> {
    let session = session(visitor).await?;
    // A token for one InfraEnv lists none.
    let found: Option<Vec<Cluster>> = visitor.get_unless(&[StatusCode::FORBIDDEN], "/clusters").await?;
    let is_seen = found.is_some();
    let mut all = found.unwrap_or_default();
    all.sort_by_cached_key(|cluster| (cluster.name.to_lowercase(), cluster.id));
    let [from] = visitor.parameters(["from"]);
    let from = from.parse().unwrap_or(0_usize).min(all.len());
    let at = |from: usize| match from {
        0 => CLUSTERS.to_owned(),
        from => format!("{CLUSTERS}?from={from}"),
    };
    let end = from.saturating_add(WINDOW);
    let (total, before) = (all.len(), (from > 0).then(|| at(from.saturating_sub(WINDOW))));
    let next = (end < total).then(|| at(end));
    let shown: Vec<Cluster> = all.into_iter().skip(from).take(WINDOW).collect();
    let (counts, revision) = counts(visitor, &shown).await?;
    let pools = node_pools(visitor).await?.unwrap_or_default();
    Ok(ClustersPage {
        frame: frame_of(session),
        clusters: is_seen.then(|| shown.iter().map(|cluster| Row::of(cluster, &counts)).collect()),
        total,
        before,
        next,
        pools: pools.node_pools.iter().map(PoolRow::of).collect(),
        pools_note: pools.note,
        has_more_pools: pools.more,
        problem,
        typed,
        revision,
    })
}

/// The number of hosts by the id of their cluster, and the place in the stream of changes.
async fn counts(
    visitor: &Visitor,
    clusters: &[Cluster],
) -> Result<(HashMap<String, usize>, String), Refusal> {
    let ids: Vec<String> = clusters.iter().map(|cluster| cluster.id.to_string()).collect();
    let query = match ids.is_empty() {
        true => String::new(),
        false => format!("cluster:{}", ids.join(",")),
    };
    let found = visitor.hosts(&query, 1, "cluster").await?;
    let counted = found.facets.into_iter().flat_map(|facet| facet.values);
    let counted = counted.filter_map(|value| Some((value.id?, value.hosts)));
    Ok((counted.collect(), found.revision))
}

impl Row {
    fn of(cluster: &Cluster, counts: &HashMap<String, usize>) -> Self {
        let id = cluster.id.to_string();
        Self {
            address: address(cluster.id),
            name: cluster.name.clone(),
            version: cluster.openshift_version.clone(),
            api: cluster.api_vip_dns_name.clone(),
            hosts: words::count(counts.get(&id).copied().unwrap_or(0), "host"),
            hosts_address: hosts_with(&format!("cluster:{id}")),
        }
    }
}

pub async fn add(visitor: Visitor, form: Form) -> Result<Response, Refusal> {
    let mut wanted = Map::new();
    for name in FIELDS {
        let value = form.field(name);
        if !value.is_empty() {
            wanted.insert(name.to_owned(), Value::String(value));
        }
    }
    let made = visitor
        .create::<Cluster>("/clusters/import", &Value::Object(wanted))
        .await;
    match made {
        Ok(made) => Ok(Redirect::to(&address(made.id)).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let typed = Typed {
                name: form.field("name"),
                api: form.field("api_vip_dnsname"),
                id: form.field("openshift_cluster_id"),
                version: form.field("openshift_version"),
            };
            let page = page(&visitor, Some(refusal.reason), typed).await?;
            Ok((refusal.status, answer(&page)).into_response())
        }
    }
}
