use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use muster_api::NOTE_HEADER;
use muster_api::error::ApiError;
use muster_api::host::{Host, HostUpdateParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::HostEvent;
use muster_http::Problem;
use muster_http::body::{Body, Path};
use muster_operations::Operations;

use crate::views::Views;

/// Change what a user decides about a host: name, role, disks, labels. All of it or nothing.
#[utoipa::path(
    patch, path = "/infra-envs/{infra_env_id}/hosts/{host_id}", operation_id = "v2UpdateHost", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ("host_id" = HostId, Path)),
    request_body = HostUpdateParams,
    responses(
        (status = 201, body = Host, headers(
            ("Muster-Note" = Option<String>, description = "Where the host's Agent has the last word: says so, and how to change its spec"),
        )),
        (status = 400, body = ApiError, description = "A field is not acceptable; the reason names it"),
        (status = 404, body = ApiError),
        (status = 409, body = ApiError, description = "Not in the host's present state"),
    )
)]
pub async fn update_host(
    State(app): State<Arc<Operations>>,
    views: Views,
    Path((infra_env_id, host_id)): Path<(InfraEnvId, HostId)>,
    Body(params): Body<HostUpdateParams>,
) -> Result<(StatusCode, HeaderMap, Json<Host>), Problem> {
    let updated = app
        .hosts
        .apply_by_user(&app.bridge, infra_env_id, host_id, HostEvent::Edited(params))
        .await?;
    let note = updated.note.map(|note| HeaderValue::from_bytes(note.as_bytes()));
    let named = note
        .and_then(Result::ok)
        .map(|note| (HeaderName::from_static(NOTE_HEADER), note));
    let headers = HeaderMap::from_iter(named);
    Ok((
        StatusCode::CREATED,
        headers,
        Json(views.host(&updated.host).await?),
    ))
}
