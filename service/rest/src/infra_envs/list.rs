use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use muster_api::error::InfraError;
use muster_api::ids::ClusterId;
use muster_api::infra_env::InfraEnv;
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::infra_envs::InfraEnvs;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::views::Views;

/// Filters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Only those bound to this cluster.
    cluster_id: Option<ClusterId>,
    /// Only those of this user name.
    owner: Option<String>,
}

/// List InfraEnvs
#[utoipa::path(
    get, path = "/infra-envs", operation_id = "ListInfraEnvs", tag = "installer", params(ListQuery),
    responses(
        (status = 200, body = Vec<InfraEnv>),
        (status = 400, body = InfraError),
    )
)]
pub async fn list_infra_envs(
    State(infra_envs): State<Arc<InfraEnvs>>,
    views: Views,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<InfraEnv>>, Problem> {
    let all = infra_envs.list(query.cluster_id).await?;
    let views = all.iter().map(|infra_env| views.infra_env(infra_env));
    Ok(Json(
        views
            .filter(|found| query.owner.as_ref().is_none_or(|owner| *owner == found.user_name))
            .collect(),
    ))
}
