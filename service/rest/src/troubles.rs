//! `/troubles`: what needs somebody beside hosts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use muster_api::error::InfraError;
use muster_api::ids::ClusterId;
use muster_api::troubles::Troubles;
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scopes::scope_of;
use crate::state::Rest;

/// Which troubles.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TroublesQuery {
    /// Only the certificate requests of this cluster.
    cluster: Option<ClusterId>,
}

/// The operations of users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(list_troubles))
}

/// List what needs somebody beside hosts
///
/// BMCs whose discovery failed, and machines that fetched boot files and will not register by themselves, of all InfraEnvs that the caller may
/// see.
#[utoipa::path(
    get, path = "/troubles", operation_id = "MusterListTroubles", tag = "installer",
    params(TroublesQuery),
    responses((status = 200, body = Troubles), (status = 400, body = InfraError))
)]
pub async fn list_troubles(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<TroublesQuery>,
) -> Result<Json<Troubles>, Problem> {
    let scope = scope_of(caller);
    let troubles = match (wanted.cluster, scope) {
        (None, scope) => operations.troubles(scope).await?,
        // Such a token sees no clusters.
        (Some(_), Some(_)) => Troubles::default(),
        (Some(cluster), None) => operations.troubles_of_cluster(cluster).await?,
    };
    Ok(Json(troubles))
}
