//! Node pools, and where the Machines of Cluster API are placed. They are no part of the v2 protocol, so they have a path of their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::{ApiError, InfraError};
use muster_api::node_pools::{NodePoolDetails, NodePools, Placements};
use muster_core::record::KubeRef;
use muster_http::Problem;
use muster_http::body::{Path, Query};
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// All operations, for operators only: node pools are of clusters, which a token for one InfraEnv does not open.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(list_node_pools))
        .routes(routes!(get_node_pool))
        .routes(routes!(list_placements))
}

/// List node pools
///
/// Of the Kubernetes API that the service reads. `controllers` and `note` have the reason where it reads none.
#[utoipa::path(
    get, path = "/node-pools", operation_id = "MusterListNodePools", tag = "installer",
    responses((status = 200, body = NodePools))
)]
pub async fn list_node_pools(State(operations): State<Arc<Operations>>) -> Result<Json<NodePools>, Problem> {
    Ok(Json(operations.node_pools().await?))
}

/// Get a node pool
///
/// With its Machines, their hosts and waits, why other hosts were not taken, and the quotas of its namespace.
#[utoipa::path(
    get, path = "/node-pools/{namespace}/{name}", operation_id = "MusterGetNodePool", tag = "installer",
    params(("namespace" = String, Path), ("name" = String, Path)),
    responses(
        (status = 200, body = NodePoolDetails),
        (status = 404, body = ApiError),
    )
)]
pub async fn get_node_pool(
    State(operations): State<Arc<Operations>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Result<Json<NodePoolDetails>, Problem> {
    let wanted = named(&namespace, &name).ok_or_else(|| absent(&namespace, &name))?;
    let found = operations.node_pool(&wanted).await?;
    found.map(Json).ok_or_else(|| absent(&namespace, &name))
}

/// Which Machine.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct PlacementsQuery {
    /// Namespace and name of a Machine or an AgentMachine. Without: all.
    #[param(example = "clusters-east/east-workers-7xk2p")]
    machine: Option<String>,
}

/// List where Machines are placed
///
/// Each Machine with its host and its wait, and for each reason the number of hosts that were not taken.
#[utoipa::path(
    get, path = "/placements", operation_id = "MusterListPlacements", tag = "installer",
    params(PlacementsQuery),
    responses(
        (status = 200, body = Placements),
        (status = 400, body = InfraError),
    )
)]
pub async fn list_placements(
    State(operations): State<Arc<Operations>>,
    Query(wanted): Query<PlacementsQuery>,
) -> Result<Json<Placements>, Problem> {
    let machine = match wanted.machine.as_deref() {
        None => None,
        Some(text) => {
            let parts = text.split_once('/');
            let machine = parts.and_then(|(namespace, name)| named(namespace, name));
            Some(machine.ok_or_else(|| {
                Problem::bad_request(format!("machine: {text:?} is no NAMESPACE/NAME of a Machine"))
            })?)
        }
    };
    Ok(Json(operations.placements(machine).await?))
}

fn absent(namespace: &str, name: &str) -> Problem {
    Problem::not_found(format!("node pool {namespace}/{name}"))
}

/// An object's name; `None`: no object has such a one. Source: Kubernetes, names of objects (RFC 1123 subdomains).
fn named(namespace: &str, name: &str) -> Option<KubeRef> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_name = |text: &str| {
        (1..=253).contains(&text.len())
            && text.starts_with(is_letter)
            && text.ends_with(is_letter)
            && text
                .chars()
                .all(|letter| is_letter(letter) || matches!(letter, '-' | '.'))
    };
    (is_name(namespace) && is_name(name)).then(|| KubeRef::new(namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_of_the_kubernetes_api_is_a_name() {
        assert_eq!(named("lab", "a.b-1"), Some(KubeRef::new("lab", "a.b-1")));
        for (namespace, name) in [
            ("", "a"),
            ("lab", ""),
            ("lab", ".."),
            ("lab", "a/status"),
            ("lab", "A"),
            ("l?b", "a"),
            ("lab", "-a"),
        ] {
            assert_eq!(named(namespace, name), None, "{namespace}/{name}");
        }
        assert_eq!(named("lab", &"a".repeat(254)), None);
    }
}
