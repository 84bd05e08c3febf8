//! Lists the versions of the service's parts, and the OpenShift versions that it discovers hosts for.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::InfraError;
use muster_api::versions::{ListVersions, OpenshiftVersion, OpenshiftVersions};
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Both operations.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(list_component_versions))
        .routes(routes!(list_openshift_versions))
}

/// List the versions of the service
///
/// Installer and controller are parts of the agent and the service here.
#[utoipa::path(
    get, path = "/component-versions", operation_id = "v2ListComponentVersions", tag = "versions",
    responses((status = 200, body = ListVersions))
)]
pub async fn list_component_versions(State(operations): State<Arc<Operations>>) -> Json<ListVersions> {
    let service = concat!("muster/", env!("CARGO_PKG_VERSION"));
    let versions = [
        ("assisted-installer-service", service),
        ("assisted-installer-controller", service),
        ("discovery-agent", operations.hosts.agent_version()),
        ("assisted-installer", operations.hosts.agent_version()),
    ];
    Json(ListVersions {
        release_tag: None,
        versions: versions
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into(),
    })
}

/// Filters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct VersionsQuery {
    /// Part of the version.
    version: Option<String>,
    /// Only the newest.
    only_latest: Option<bool>,
}

/// List OpenShift versions
///
/// The live image serves every version, also those that are not listed.
#[utoipa::path(
    get, path = "/openshift-versions", operation_id = "v2ListSupportedOpenshiftVersions", tag = "versions", params(VersionsQuery),
    responses(
        (status = 200, body = std::collections::BTreeMap<String, OpenshiftVersion>),
        (status = 400, body = InfraError),
    )
)]
pub async fn list_openshift_versions(
    State(operations): State<Arc<Operations>>,
    Query(query): Query<VersionsQuery>,
) -> Result<Json<OpenshiftVersions>, Problem> {
    let newest = operations.newest_version();
    let listed = operations.openshift_versions.iter().filter(|version| {
        query.version.as_ref().is_none_or(|part| version.contains(part))
            && (!query.only_latest.unwrap_or_default() || newest == Some(version.as_str()))
    });
    Ok(Json(
        listed
            .map(|version| {
                let entry = OpenshiftVersion {
                    cpu_architectures: vec!["x86_64".into()],
                    default: newest == Some(version.as_str()),
                    display_name: version.clone(),
                    support_level: "production".into(),
                };
                (version.clone(), entry)
            })
            .collect(),
    ))
}
