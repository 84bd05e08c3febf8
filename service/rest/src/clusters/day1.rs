//! Refuses operations that install a new cluster, and names the alternative. One row per operation.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawPathParams, State};
use axum::routing::{MethodFilter, on};
use http::StatusCode;
use muster_api::ids::ClusterId;
use muster_http::Problem;
use muster_http::{Allowed, Caller};
use muster_operations::clusters::Clusters;
use utoipa::openapi::path::{
    HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, PathsBuilder,
};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{Content, Deprecated, Ref, Required, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;

use crate::scopes::Scopes;
use crate::state::Rest;

/// An operation that is refused.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    method: Method,
    path: &'static str,
    id: &'static str,
    tag: &'static str,
    allowed: Allowed,
    /// The status of docs/protocol/rest-behaviour.md#6, else 409.
    status: StatusCode,
    why: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

const NEW_CLUSTER: &str = "This service adds hosts to clusters that exist and installs none from nothing. Import the cluster (POST /v2/clusters/import), then bind hosts to it and install them one by one (POST /v2/infra-envs/{id}/hosts/{id}/actions/install)";
const ONE_BY_ONE: &str = "Hosts are added to an existing cluster one by one: POST /v2/infra-envs/{id}/hosts/{id}/actions/install for each";
const RESET_HOSTS: &str = "The cluster is not being installed; what can be reset are its hosts: POST /v2/infra-envs/{id}/hosts/{id}/actions/reset";
const ADDS_ALREADY: &str = "The cluster takes hosts already; nothing has to be transformed";
const NO_FILES: &str = "The cluster was not installed by this service, which has no credentials, configuration or generated files of it; its installer has them";
const NO_MANIFESTS: &str = "The cluster exists; apply manifests to it with its own API (kubectl apply), nothing is installed here that they could go into";
const NO_CONFIG: &str = "The cluster was not installed by this service, so it has no install-config here";
const NO_FINALIZING: &str =
    "The cluster exists and is not being installed, so there is nothing to report of its installation";
const NO_OBJECT_STORE: &str = "Files are not kept in an object store that could sign addresses; there are no files of an imported cluster";
const NO_PREFLIGHT: &str =
    "Requirements apply to hosts when they are bound: see validations_info of each host";
const NO_OPERATORS: &str =
    "Operators are installed by the cluster itself; this service neither installs nor watches them";
const NO_BUNDLE: &str = "There are no operator bundles here; operators are installed by the cluster itself";

const C409: StatusCode = StatusCode::CONFLICT;
const C400: StatusCode = StatusCode::BAD_REQUEST;
const C404: StatusCode = StatusCode::NOT_FOUND;

macro_rules! rows {
    ($($method:ident $path:literal $id:literal $tag:literal $allowed:ident $status:ident $why:ident;)*) => {
        [$(Refusal {
            method: Method::$method, path: $path, id: $id, tag: $tag, allowed: Allowed::$allowed, status: $status, why: $why,
        }),*]
    };
}

const REFUSALS: [Refusal; 27] = rows! {
    Post "/clusters" "v2RegisterCluster" "installer" User C409 NEW_CLUSTER;
    Post "/clusters/disconnected" "v2RegisterDisconnectedCluster" "installer" User C409 NEW_CLUSTER;
    Post "/clusters/{cluster_id}/actions/install" "v2InstallCluster" "installer" User C409 ONE_BY_ONE;
    Post "/clusters/{cluster_id}/actions/cancel" "V2CancelInstallation" "installer" User C409 RESET_HOSTS;
    Post "/clusters/{cluster_id}/actions/reset" "v2ResetCluster" "installer" User C409 RESET_HOSTS;
    Post "/clusters/{cluster_id}/actions/allow-add-hosts" "TransformClusterToAddingHosts" "installer" User C400 ADDS_ALREADY;
    Post "/clusters/{cluster_id}/actions/allow-add-workers" "TransformClusterToDay2" "installer" User C400 ADDS_ALREADY;
    Post "/clusters/{cluster_id}/actions/complete-installation" "v2CompleteInstallation" "installer" Agent C409 NO_FINALIZING;
    Put "/clusters/{cluster_id}/progress" "v2UpdateClusterFinalizingProgress" "installer" Agent C409 NO_FINALIZING;
    Post "/clusters/{cluster_id}/uploads/ingress-cert" "v2UploadClusterIngressCert" "installer" Agent C409 NO_FINALIZING;
    Get "/clusters/{cluster_id}/credentials" "V2GetCredentials" "installer" User C409 NO_FILES;
    Get "/clusters/{cluster_id}/downloads/credentials" "V2DownloadClusterCredentials" "installer" UserOrAgent C409 NO_FILES;
    Get "/clusters/{cluster_id}/downloads/credentials-presigned" "V2GetPresignedForClusterCredentials" "installer" User C400 NO_OBJECT_STORE;
    Get "/clusters/{cluster_id}/downloads/files" "V2DownloadClusterFiles" "installer" All C409 NO_FILES;
    Get "/clusters/{cluster_id}/downloads/files-presigned" "V2GetPresignedForClusterFiles" "installer" User C400 NO_OBJECT_STORE;
    Get "/clusters/{cluster_id}/install-config" "v2GetClusterInstallConfig" "installer" User C400 NO_CONFIG;
    Patch "/clusters/{cluster_id}/install-config" "v2UpdateClusterInstallConfig" "installer" User C409 NO_CONFIG;
    Get "/clusters/{cluster_id}/manifests" "V2ListClusterManifests" "manifests" User C409 NO_MANIFESTS;
    Post "/clusters/{cluster_id}/manifests" "V2CreateClusterManifest" "manifests" User C409 NO_MANIFESTS;
    Patch "/clusters/{cluster_id}/manifests" "V2UpdateClusterManifest" "manifests" User C409 NO_MANIFESTS;
    Delete "/clusters/{cluster_id}/manifests" "V2DeleteClusterManifest" "manifests" User C409 NO_MANIFESTS;
    Get "/clusters/{cluster_id}/manifests/files" "v2DownloadClusterManifest" "manifests" User C409 NO_MANIFESTS;
    Get "/clusters/{cluster_id}/preflight-requirements" "v2GetPreflightRequirements" "installer" User C409 NO_PREFLIGHT;
    Get "/clusters/{cluster_id}/supported-platforms" "GetClusterSupportedPlatforms" "installer" User C409 NO_PREFLIGHT;
    Get "/clusters/{cluster_id}/monitored-operators" "V2ListOfClusterOperators" "operators" Agent C409 NO_OPERATORS;
    Put "/clusters/{cluster_id}/monitored-operators" "V2ReportMonitoredOperatorStatus" "operators" Agent C409 NO_OPERATORS;
    Get "/operators/bundles/{id}" "V2GetBundle" "operators" User C404 NO_BUNDLE;
};

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let rows = REFUSALS.into_iter().filter(|row| row.allowed == allowed);
    rows.fold(OpenApiRouter::new(), |router, row| {
        let paths = PathsBuilder::new().path(row.path, described(row)).build();
        let answer = move |clusters, scopes, caller, params| refuse(row, clusters, scopes, caller, params);
        router.routes((Vec::new(), paths, on(row.method.filter(), answer)))
    })
}

/// Refuses the operation. A cluster that does not exist, or is not the caller's, is a 404 before everything else. Bodies are ignored.
async fn refuse(
    row: Refusal,
    State(clusters): State<Arc<Clusters>>,
    State(scopes): State<Scopes>,
    Extension(caller): Extension<Caller>,
    params: RawPathParams,
) -> Problem {
    if let Some((_, id)) = params.iter().find(|(name, _)| *name == "cluster_id") {
        let Ok(id) = id.parse::<ClusterId>() else {
            return Problem::bad_request("a path parameter is not acceptable: cluster_id is not a UUID");
        };
        if let Err(problem) = scopes.of_cluster(caller, id).await {
            return problem;
        }
        if let Err(error) = clusters.get(id).await {
            return error.into();
        }
    }
    Problem::Handler(row.status, row.why.to_owned())
}

impl Method {
    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    fn described(self) -> HttpMethod {
        match self {
            Self::Get => HttpMethod::Get,
            Self::Post => HttpMethod::Post,
            Self::Put => HttpMethod::Put,
            Self::Patch => HttpMethod::Patch,
            Self::Delete => HttpMethod::Delete,
        }
    }
}

/// The description of a refused operation. `deprecated`: clients shall not use it here.
fn described(row: Refusal) -> PathItem {
    let refusal = |description: &str| {
        ResponseBuilder::new()
            .description(description)
            .content(
                "application/json",
                Content::new(Some(Ref::from_schema_name("ApiError"))),
            )
            .build()
    };
    let mut operation = OperationBuilder::new()
        .operation_id(Some(row.id))
        .tag(row.tag)
        .summary(Some("Refuse: this service does not offer it"))
        .description(Some(row.why))
        .deprecated(Some(Deprecated::True))
        .response(row.status.as_str(), refusal(row.why));
    for name in row
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')))
    {
        let mut schema = ObjectBuilder::new().schema_type(Type::String);
        if name == "cluster_id" {
            schema = schema.format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)));
            operation = operation.response("404", refusal("The cluster does not exist"));
        }
        operation = operation.parameter(
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(schema)),
        );
    }
    PathItem::new(row.method.described(), operation)
}
