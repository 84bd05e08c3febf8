//! `/audit`: who requested which change.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use http::header;
use muster_api::audit::{AuditPage, AuditedChange};
use muster_api::error::InfraError;
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::audit::Audit;
use muster_operations::chain;
use muster_operations::records::{AuditPart, StoreError};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;

/// Default number of entries in JSON.
const LIMIT: usize = 100;

/// Most entries in one answer in JSON, and in one part of lines.
const MAX_LIMIT: usize = 1000;

/// The form of the audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditFormat {
    #[default]
    Json,
    /// An entry a line.
    Jsonl,
}

/// The part of the audit, by the numbers of its entries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only entries with greater numbers, the oldest of them; 0: from the oldest that is kept. Without `after` and `before` the newest.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Only entries with smaller numbers, the newest of them.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// `json`, or `jsonl` for lines of JSON: all entries from `after` on.
    #[param(inline)]
    format: AuditFormat,
    /// At most so many; not for lines [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// The operation.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(list_audit))
}

/// List who requested which change
///
/// Requests of operators for changes, by REST and by the page, and commands on the service's database, in the order in which they were
/// recorded. What agents send is not among them. No body, no secret and no token is in it. The newest are kept (`--audit-entries`). A token for
/// one InfraEnv is refused.
#[utoipa::path(
    get, path = "/audit", operation_id = "MusterListAudit", tag = "installer", params(AuditQuery),
    responses(
        (status = 200, content((AuditPage = "application/json"), (String = "application/jsonl"))),
        (status = 400, body = InfraError),
    )
)]
pub async fn list_audit(
    State(audit): State<Arc<Audit>>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Problem> {
    let part = match (query.after, query.before) {
        (Some(_), Some(_)) => return Err(Problem::bad_request("before: not together with after")),
        (Some(..0), None) => return Err(Problem::bad_request("after: numbers of entries begin at 1")),
        (None, Some(..1)) => return Err(Problem::bad_request("before: numbers of entries begin at 1")),
        (Some(after), None) => AuditPart::After(after),
        (None, Some(before)) => AuditPart::Before(before),
        (None, None) => AuditPart::Newest,
    };
    if query.format == AuditFormat::Jsonl {
        if query.before.is_some() || query.limit.is_some() {
            return Err(Problem::bad_request(
                "format: lines have all entries after one; leave out before and limit",
            ));
        }
        return lines(audit, query.after.unwrap_or_default()).await;
    }
    let most = match query.limit {
        None => LIMIT,
        Some(limit) => usize::try_from(limit)
            .ok()
            .filter(|limit| (1..=MAX_LIMIT).contains(limit))
            .ok_or_else(|| {
                Problem::bad_request(format!("limit: 1 to {MAX_LIMIT} entries are answered at once"))
            })?,
    };
    let (entries, more) = audit.read(part, most).await?;
    let next = entries
        .last()
        .map_or_else(|| query.after.unwrap_or_default(), |newest| newest.number);
    Ok(Json(AuditPage { entries, next, more }).into_response())
}

/// All entries after this one, a line each. The first part is read before the response begins, so that a database that is away is a 503.
async fn lines(audit: Arc<Audit>, after: i64) -> Result<Response, Problem> {
    let (first, more) = audit.read(AuditPart::After(after), MAX_LIMIT).await?;
    let next = more.then(|| first.last().map(|entry| entry.number)).flatten();
    let text = text(&first);
    let body = stream::once(async move { Ok(text) })
        .chain(further(audit, next))
        .inspect_err(|error: &StoreError| {
            tracing::warn!(error = %chain(error), "the audit ends in the middle");
        });
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    Ok((kind, Body::from_stream(body)).into_response())
}

/// The lines of the entries after this one; `None`: there are none.
fn further(
    audit: Arc<Audit>,
    after: Option<i64>,
) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static {
    stream::try_unfold(after, move |after| {
        let audit = audit.clone();
        async move {
            let Some(after) = after else {
                return Ok(None);
            };
            let (entries, more) = audit.read(AuditPart::After(after), MAX_LIMIT).await?;
            let next = more.then(|| entries.last().map(|entry| entry.number)).flatten();
            Ok(Some((text(&entries), next)))
        }
    })
}

fn text(entries: &[AuditedChange]) -> Bytes {
    let lines = entries
        .iter()
        .filter_map(|entry| serde_json::to_string(entry).ok());
    lines.map(|line| line + "\n").collect::<String>().into()
}
