use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use muster_api::error::{ApiError, InfraError};
use muster_api::event::{FollowedEvent, FollowedEvents};
use muster_api::ids::EventId;
use muster_api::time::millis;
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::events::Events;
use muster_operations::hosts::Hosts;
use muster_operations::records::{EventQuery, StoredEvent};
use serde::Deserialize;
use utoipa::IntoParams;

use super::EventFilters;
use crate::views::table::{self, ListFormat};

/// Default number of events.
const LIMIT: usize = 100;

/// Most events in one answer, which is in memory as a whole.
const MAX_LIMIT: i64 = 1000;

/// Most events in a table, unless the request has another number.
const ROWS: usize = 5000;

/// The columns of a table.
const COLUMNS: [&str; 7] = [
    "event_time",
    "severity",
    "name",
    "infra_env_id",
    "cluster_id",
    "host_id",
    "message",
];

/// The part of the list, by ids.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct FollowQuery {
    /// Only events with greater ids. Without it the newest, and with them all of the last seconds.
    after: Option<EventId>,
    /// Only events before this one by time, the newest first; `ffffffff-ffff-ffff-ffff-ffffffffffff`: all.
    before: Option<EventId>,
    /// `json`, or `csv` for a table.
    #[param(inline)]
    format: ListFormat,
    /// At most so many [default: 100, of a table 5,000].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// List events after or before an id
///
/// After: the oldest first, by id, for clients that follow them. An event may appear up to 10 s after others with greater ids, so an answer
/// that ends at the present has a `next` before its last events: request what is after `next`, at once if there is `more`, and drop events
/// with ids that you have. Before: the newest first, by time; `next` is the `before` of the part after it, if there is `more`. All filters hold
/// together here, `message` without `cluster_id`, too.
#[utoipa::path(
    get, path = "/events", operation_id = "MusterListEvents", tag = "events", params(EventFilters, FollowQuery),
    responses(
        (status = 200, content((FollowedEvents = "application/json"), (String = "text/csv"))),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "The token is for another InfraEnv"),
    )
)]
pub async fn list_events_after(
    State(hosts): State<Arc<Hosts>>,
    State(events): State<Events>,
    Extension(caller): Extension<Caller>,
    Query(filters): Query<EventFilters>,
    Query(part): Query<FollowQuery>,
) -> Result<Response, Problem> {
    let most = match part.limit {
        None if part.format == ListFormat::Csv => ROWS,
        None => LIMIT,
        Some(limit @ 1..=MAX_LIMIT) => usize::try_from(limit).unwrap_or(LIMIT),
        Some(_) => {
            return Err(Problem::bad_request(format!(
                "limit: 1 to {MAX_LIMIT} events are answered at once"
            )));
        }
    };
    let query = EventQuery {
        all_hold: true,
        ..filters.query(&hosts, caller).await?
    };
    let found = match (part.before, part.after) {
        (Some(_), Some(_)) => return Err(Problem::bad_request("before: not together with after")),
        (Some(before), None) => events.before(&query, before, most).await?,
        (None, after) => events.by_id(&query, after, most).await?,
    };
    if part.format == ListFormat::Csv {
        return table::answer(COLUMNS, found.events.into_iter().map(row));
    }
    let answer = FollowedEvents {
        events: found.events.into_iter().map(FollowedEvent::from).collect(),
        next: found.next,
        more: found.more,
    };
    Ok(Json(answer).into_response())
}

/// The cells of an event.
fn row(event: StoredEvent) -> [String; COLUMNS.len()] {
    let text = |id: Option<String>| id.unwrap_or_default();
    [
        millis(Some(event.at)),
        event.severity.name().to_owned(),
        event.name,
        text(event.infra_env_id.map(|id| id.to_string())),
        text(event.cluster_id.map(|id| id.to_string())),
        text(event.host_id.map(|id| id.to_string())),
        event.message,
    ]
}
