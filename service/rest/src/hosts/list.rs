use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use muster_api::error::{ApiError, InfraError};
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_http::body::{Path, Query};
use muster_http::{Caller, Problem};
use muster_operations::hosts::Hosts;
use muster_operations::infra_envs::InfraEnvs;
use muster_operations::records::HostForm;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::lenient::lenient_bool;
use crate::views::Views;
use crate::views::host_list::{self, HostList};

/// The header with the last host of a part of the list, for `after`; absent with the last part.
const NEXT: &str = "muster-next";

/// The part of the list, and its form. All of it is an addition to the protocol.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// At most so many hosts; the header `Muster-Next` has the `after` of the next part.
    #[param(minimum = 1)]
    limit: Option<i64>,
    /// The hosts after this one: the header `Muster-Next` of the part before.
    after: Option<HostId>,
    /// Without inventories and reports.
    #[serde(deserialize_with = "lenient_bool")]
    #[param(value_type = Option<bool>)]
    brief: bool,
}

/// List the hosts of an InfraEnv
///
/// Oldest first.
#[utoipa::path(
    get, path = "/infra-envs/{infra_env_id}/hosts", operation_id = "v2ListHosts", tag = "installer",
    params(("infra_env_id" = InfraEnvId, Path), ListQuery,
        ("if-none-match" = Option<String>, Header, description = "The ETag of an answer: 304 while no host has changed since")),
    responses(
        (status = 200, body = Vec<Host>, headers(
            ("ETag" = String, description = "Another one when a host was changed, came or went; polls alone do not change it"),
            ("Muster-Next" = Option<String>, description = "With `limit`, where there are more: for `after`"),
        )),
        (status = 304, description = "No host has changed"),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError),
    )
)]
pub async fn list_hosts(
    State(hosts): State<Arc<Hosts>>,
    State(infra_envs): State<Arc<InfraEnvs>>,
    views: Views,
    Extension(caller): Extension<Caller>,
    Path(infra_env_id): Path<InfraEnvId>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if query.limit.is_some_and(|limit| limit < 1) {
        return Err(Problem::bad_request("limit: at least 1 host"));
    }
    infra_envs.get(infra_env_id).await?;
    let form = if query.brief {
        HostForm::Brief
    } else {
        HostForm::Whole
    };
    // Before the hosts are read: changes in between are returned next time.
    let tag = format!(
        "W/\"{}-{}\"",
        hosts.mark(infra_env_id).await?,
        u8::from(query.brief)
    );
    let tag = HeaderValue::from_str(&tag).map_err(|_| Problem::internal())?;
    if is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let turn = host_list::turn(infra_env_id, caller).await?;
    let mut keys = hosts.keys(infra_env_id).await?;
    if let Some(after) = query.after {
        let Some(at) = keys.iter().position(|(_, id)| *id == after) else {
            return Err(Problem::bad_request(format!(
                "after: host {after} is not in the list any more; begin again without it"
            )));
        };
        keys.drain(..=at);
    }
    let limit = query
        .limit
        .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let next = (keys.len() > limit).then(|| keys[limit - 1].1.to_string());
    keys.truncate(limit);
    let list = HostList {
        hosts,
        views,
        form,
        shape: |_: &_, view| Some(view),
    };
    let mut answer = list.answer(keys, turn).await?;
    answer.headers_mut().insert(header::ETAG, tag);
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        answer.headers_mut().insert(NEXT, next);
    }
    Ok(answer)
}

/// True if the client has the content of this tag.
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let has = headers.get(header::IF_NONE_MATCH).map(text).unwrap_or_default();
    has.split(',').any(|one| one.trim().as_bytes() == tag.as_bytes())
}
