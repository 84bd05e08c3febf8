use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use muster_api::error::{ApiError, InfraError};
use muster_api::event::{FollowedEvent, FollowedEvents};
use muster_api::ids::EventId;
use muster_http::body::Query;
use muster_http::{Caller, Problem};
use muster_operations::events::Events;
use muster_operations::hosts::Hosts;
use serde::Deserialize;
use utoipa::IntoParams;

use super::EventFilters;

/// Default number of events.
const LIMIT: usize = 100;

/// Most events in one answer, which is in memory as a whole.
const MAX_LIMIT: i64 = 1000;

/// The part of the list, by ids.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct FollowQuery {
    /// Only events with greater ids. Without it the newest, and with them all of the last seconds.
    after: Option<EventId>,
    /// At most so many [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// List events after an id
///
/// The oldest first, by id, for clients that follow them. An event may appear up to 10 s after others with greater ids, so an answer
/// that ends at the present has a `next` before its last events: request what is after `next`, at once if there is `more`, and drop events
/// with ids that you have.
#[utoipa::path(
    get, path = "/events", operation_id = "MusterListEvents", tag = "events", params(EventFilters, FollowQuery),
    responses(
        (status = 200, body = FollowedEvents),
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
) -> Result<Json<FollowedEvents>, Problem> {
    let most = match part.limit {
        None => LIMIT,
        Some(limit @ 1..=MAX_LIMIT) => usize::try_from(limit).unwrap_or(LIMIT),
        Some(_) => {
            return Err(Problem::bad_request(format!(
                "limit: 1 to {MAX_LIMIT} events are answered at once"
            )));
        }
    };
    let query = filters.query(&hosts, caller).await?;
    let found = events.by_id(&query, part.after, most).await?;
    Ok(Json(FollowedEvents {
        events: found.events.into_iter().map(FollowedEvent::from).collect(),
        next: found.next,
        more: found.more,
    }))
}
