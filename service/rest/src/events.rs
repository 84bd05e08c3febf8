//! `/v2/events`: lists events, filtered and paged, and records those of agents. Source: docs/protocol/rest-behaviour.md#7.

mod follow;
mod trigger;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream::{self, Stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use muster_api::error::{ApiError, InfraError};
use muster_api::event::{Category, Event, Severity};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_http::Allowed;
use muster_http::Caller;
use muster_http::Problem;
use muster_http::body::Query;
use muster_operations::auth::UrlPurpose;
use muster_operations::events::Events;
use muster_operations::hosts::Hosts;
use muster_operations::records::{EventQuery, Order, StoreError, StoredEvent};
use serde::{Deserialize, Deserializer};
use strum::VariantArray;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Rest;
use crate::views::json_list;

/// Default number of events.
const DEFAULT_LIMIT: i64 = 5000;

/// Most hosts in one request.
const MAX_HOSTS: usize = 1000;

/// Events read at once.
const AT_ONCE: i64 = 500;

/// Which way to sort by time.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventOrder {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
}

/// Filters; lists are comma-separated.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct EventFilters {
    cluster_id: Option<ClusterId>,
    /// Deprecated: the same as one entry of `host_ids`.
    host_id: Option<HostId>,
    #[serde(deserialize_with = "comma_list")]
    #[param(value_type = Option<Vec<String>>, explode = false)]
    host_ids: Vec<HostId>,
    infra_env_id: Option<InfraEnvId>,
    #[serde(deserialize_with = "comma_list")]
    #[param(value_type = Option<Vec<Severity>>, explode = false)]
    severities: Vec<Severity>,
    /// Part of the message, without regard to case; only together with `cluster_id`.
    message: Option<String>,
    /// Only together with `cluster_id`.
    deleted_hosts: Option<bool>,
    /// Only together with `cluster_id`.
    cluster_level: Option<bool>,
    #[serde(deserialize_with = "comma_list")]
    #[param(inline, value_type = Option<Vec<Category>>, explode = false)]
    categories: Vec<Category>,
}

/// The part of the list, by time.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct EventsPart {
    /// 0 answers the counts alone, a negative number everything; with a token for URLs at most 5000.
    limit: Option<i64>,
    offset: Option<i64>,
    #[param(inline)]
    order: EventOrder,
}

impl EventFilters {
    /// The events that are selected for a caller, in the default part.
    ///
    /// # Errors
    /// 400 for too many hosts, 404 if the caller's token gives no access to all that is selected.
    async fn query(mut self, hosts: &Hosts, caller: Caller) -> Result<EventQuery, Problem> {
        self.host_ids.extend(self.host_id);
        if self.host_ids.len() > MAX_HOSTS {
            return Err(Problem::bad_request(format!(
                "host_ids: {} are named, and at most {MAX_HOSTS} are taken; request the events of the InfraEnv or cluster",
                self.host_ids.len()
            )));
        }
        check_scope(hosts, caller, &self).await?;
        Ok(EventQuery {
            scope: match caller {
                Caller::Anybody | Caller::Operator => None,
                Caller::OperatorOf(id) | Caller::InfraEnv(id) | Caller::InfraEnvUrl(id) => Some(id),
                Caller::Cluster { .. } => None,
            },
            cluster_id: self.cluster_id,
            host_ids: self.host_ids,
            infra_env_id: self.infra_env_id,
            severities: self.severities,
            categories: if self.categories.is_empty() {
                vec![Category::User]
            } else {
                self.categories
            },
            message: self.message.filter(|text| !text.is_empty()),
            deleted_hosts: self.deleted_hosts.unwrap_or_default(),
            cluster_level: self.cluster_level.unwrap_or_default(),
            ..EventQuery::default()
        })
    }
}

/// Reads `a,b,,c` into a list of values that are text in JSON.
fn comma_list<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| serde_json::from_value(part.into()).map_err(serde::de::Error::custom))
        .collect()
}

/// The operations of these callers.
pub fn routes(allowed: Allowed) -> OpenApiRouter<Rest> {
    let routes = OpenApiRouter::new();
    match allowed {
        Allowed::Agent => routes.routes(routes!(trigger::trigger_event)),
        Allowed::UserOrUrl => routes.routes(routes!(list_events)),
        Allowed::User | Allowed::Scoped | Allowed::Session | Allowed::UserOrAgent | Allowed::All => routes,
    }
}

/// The operations outside the protocol, of users of any scope.
pub fn additions() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(follow::list_events_after))
}

/// List events
#[utoipa::path(
    get, path = "/events", operation_id = "v2ListEvents", tag = "events", params(EventFilters, EventsPart),
    responses(
        (status = 200, body = Vec<Event>, headers(
            ("Event-Count" = i64, description = "Events that fit the filters, whatever the limit"),
            ("Severity-Count-Info" = i64, description = "Only with cluster_id"),
            ("Severity-Count-Warning" = i64, description = "Only with cluster_id"),
            ("Severity-Count-Error" = i64, description = "Only with cluster_id"),
            ("Severity-Count-Critical" = i64, description = "Only with cluster_id"),
        )),
        (status = 400, body = InfraError),
        (status = 404, body = ApiError, description = "The URL's token is for another InfraEnv"),
    )
)]
pub async fn list_events(
    State(hosts): State<Arc<Hosts>>,
    State(events): State<Events>,
    Extension(caller): Extension<Caller>,
    Query(filters): Query<EventFilters>,
    Query(part): Query<EventsPart>,
) -> Result<Response, Problem> {
    let asked = part.limit.unwrap_or(DEFAULT_LIMIT);
    // A token in an image or a URL is in many hands.
    let limit = if caller.is_user() || (0..=DEFAULT_LIMIT).contains(&asked) {
        asked
    } else {
        DEFAULT_LIMIT
    };
    let wanted = EventQuery {
        order: match part.order {
            EventOrder::Ascending => Order::Ascending,
            EventOrder::Descending => Order::Descending,
        },
        limit,
        offset: part.offset.unwrap_or_default().max(0),
        ..filters.query(&hosts, caller).await?
    };
    let counts = events.count(&wanted).await?;
    let mut headers = HeaderMap::new();
    for (severity, count) in Severity::VARIANTS.iter().zip(counts.by_severity) {
        let name =
            HeaderName::try_from(format!("severity-count-{}", severity.name())).expect("names are ASCII");
        headers.insert(name, HeaderValue::from(count));
    }
    headers.insert("event-count", HeaderValue::from(counts.total));
    let left = match (counts.total, limit) {
        (0, _) => 0,
        (_, ..0) => i64::MAX,
        (_, limit) => limit,
    };
    let mut answer = json_list::answer(parts(events, wanted, left)).await?;
    answer.headers_mut().extend(headers);
    Ok(answer)
}

/// The requested events, some at a time; at most `left`.
fn parts(
    events: Events,
    wanted: EventQuery,
    left: i64,
) -> impl Stream<Item = Result<Vec<Event>, StoreError>> + Send {
    stream::try_unfold((None::<StoredEvent>, left), move |(last, left)| {
        let (events, wanted) = (events.clone(), wanted.clone());
        async move {
            if left == 0 {
                return Ok(None);
            }
            let read = events.read(&wanted, last.as_ref(), left.min(AT_ONCE)).await?;
            let Some(last) = read.last().cloned() else {
                return Ok(None);
            };
            let left = left.saturating_sub(i64::try_from(read.len()).unwrap_or(i64::MAX));
            let part = read.into_iter().map(Event::from).collect();
            Ok(Some((part, (Some(last), left))))
        }
    })
}

/// An InfraEnv's token gives access to that InfraEnv's events, or to events of hosts that are all in it; a cluster's token to that
/// cluster's events.
async fn check_scope(hosts: &Hosts, caller: Caller, query: &EventFilters) -> Result<(), Problem> {
    let foreign = || Problem::Handler(StatusCode::NOT_FOUND, "Object Not Found".into());
    let scope = match caller {
        Caller::Anybody | Caller::Operator => return Ok(()),
        Caller::OperatorOf(id) | Caller::InfraEnv(id) | Caller::InfraEnvUrl(id) => id,
        Caller::Cluster { id, url } if query.cluster_id == Some(id) && url.purpose == UrlPurpose::Events => {
            return Ok(());
        }
        Caller::Cluster { .. } => return Err(foreign()),
    };
    if query.cluster_id.is_some() {
        return Err(foreign());
    }
    let named = query.infra_env_id == Some(scope);
    if query.infra_env_id.is_some() && !named || query.infra_env_id.is_none() && query.host_ids.is_empty() {
        return Err(foreign());
    }
    for host_id in &query.host_ids {
        if !hosts.exists(scope, *host_id).await? {
            return Err(foreign());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_comma_separated_and_bad_entries_are_refused() {
        let query: EventFilters =
            serde_html_form::from_str("severities=info,warning&order=descending&limit=-1").unwrap();
        assert_eq!(query.severities, [Severity::Info, Severity::Warning]);
        assert!(serde_html_form::from_str::<EventFilters>("severities=loud").is_err());
        assert!(serde_html_form::from_str::<EventFilters>("host_ids=nobody").is_err());
    }
}
