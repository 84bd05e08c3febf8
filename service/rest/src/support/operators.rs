//! Operators that the protocol has. None is installed here: their features are `unavailable`. `aicli info service` requests them
//! (docs/protocol/rest-behaviour.md#8).

use axum::Json;
use muster_api::error::ApiError;
use muster_http::Problem;
use muster_http::body::Path;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Their names. Source: docs/protocol/rest-behaviour.md#7.
pub const OPERATORS: [&str; 28] = [
    "amd-gpu",
    "authorino",
    "cluster-observability",
    "cnv",
    "fence-agents-remediation",
    "kmm",
    "kube-descheduler",
    "loki",
    "lso",
    "lvm",
    "mce",
    "metallb",
    "mtv",
    "nmstate",
    "node-feature-discovery",
    "node-healthcheck",
    "node-maintenance",
    "numa-resources",
    "nvidia-gpu",
    "oadp",
    "odf",
    "openshift-ai",
    "openshift-logging",
    "osc",
    "pipelines",
    "self-node-remediation",
    "serverless",
    "servicemesh",
];

/// The operator's name among the features.
pub fn feature_of_operator(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// Both operations.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(list_supported_operators))
        .routes(routes!(list_operator_properties))
}

/// List operators of the protocol
///
/// By name. This service adds hosts to clusters that exist and installs none of them.
#[utoipa::path(
    get, path = "/supported-operators", operation_id = "V2ListSupportedOperators", tag = "operators",
    responses((status = 200, body = Vec<String>))
)]
pub async fn list_supported_operators() -> Json<[&'static str; OPERATORS.len()]> {
    Json(OPERATORS)
}

/// List the properties of an operator
///
/// There are none.
#[utoipa::path(
    get, path = "/supported-operators/{operator_name}", operation_id = "V2ListOperatorProperties", tag = "operators",
    params(("operator_name" = String, Path)),
    responses((status = 200, body = Vec<Object>), (status = 404, body = ApiError))
)]
pub async fn list_operator_properties(Path(name): Path<String>) -> Result<Json<Vec<Value>>, Problem> {
    if OPERATORS.contains(&name.as_str()) {
        return Ok(Json(Vec::new()));
    }
    Err(Problem::absent(format!(
        "there is no operator {name:?}; GET /v2/supported-operators lists them"
    )))
}
