//! `/search`: records of all kinds that one text finds.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use muster_api::error::InfraError;
use muster_api::search::FoundRecords;
use muster_core::query::Words;
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scopes::scope_of;
use crate::state::Rest;

/// The text.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct RecordsQuery {
    /// Words, separated by blanks, which a record must all have in its texts. Signs of the language of hosts have no meaning in them. Without:
    /// nothing is found.
    #[param(example = "52:54:00:12:34:56")]
    q: String,
}

/// The operations of users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(search_records))
}

/// Search records of all kinds
///
/// Hosts, InfraEnvs, clusters and BMCs that the caller may see. A token for one InfraEnv sees it with its hosts and BMCs, and no cluster.
#[utoipa::path(
    get, path = "/search", operation_id = "MusterSearchRecords", tag = "hosts",
    params(RecordsQuery),
    responses(
        (status = 200, body = FoundRecords),
        (status = 400, body = InfraError),
    )
)]
pub async fn search_records(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<RecordsQuery>,
) -> Result<Json<FoundRecords>, Problem> {
    let words = Words::read(&wanted.q).map_err(|errors| Problem::bad_request(format!("q: {errors}")))?;
    Ok(Json(operations.search(scope_of(caller), &words).await?))
}
