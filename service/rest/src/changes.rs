//! `/changes`: which records change, for clients that show them (docs/operations.md#lists-and-limits). Keys only: what a client then reads
//! passes the gate like every other request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use muster_api::changes::{ChangedKind, ChangedRecord};
use muster_api::error::{ApiError, InfraError};
use muster_api::ids::InfraEnvId;
use muster_connections::{SharedLimiter, SharedPermit};
use muster_http::body::Query;
use muster_http::gate::Admission;
use muster_http::{Caller, Problem};
use muster_operations::Operations;
use muster_operations::changes::log::{ChangeLog, Followed, Position};
use muster_operations::records::Subject;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::scopes::scope_of;
use crate::state::Rest;

/// Streams at once: a stream is a request under way, which no budget of connections closes. One token has at most 16.
static STREAMS: SharedLimiter<String> = SharedLimiter::new(256, 16);

/// Interval of `alive` events, before each of which the credential is checked again.
const ALIVE: Duration = Duration::from_secs(20);

/// The media type of the stream.
const EVENT_STREAM: &str = "text/event-stream";

/// Seconds after which a client without a place tries again.
const RETRY_AFTER: u32 = 30;

/// Where to continue.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ChangesQuery {
    /// The id of the last event that was received, for clients that cannot send the header `Last-Event-ID`.
    after: Option<String>,
}

/// The operations of users of any scope.
pub fn routes() -> OpenApiRouter<Rest> {
    OpenApiRouter::new().routes(routes!(follow_changes))
}

/// Follow changes of records
///
/// A stream of server-sent events. An event without a name has one record that changed, as JSON: read it again. `reset`: changes may have
/// been missed, read everything again. `alive`: at the beginning, and each 20 s. With the id of the last event a client that comes
/// back receives what changed meanwhile.
#[utoipa::path(
    get, path = "/changes", operation_id = "MusterFollowChanges", tag = "events",
    params(ChangesQuery, ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received")),
    responses(
        (status = 200, body = ChangedRecord, content_type = "text/event-stream"),
        (status = 400, body = InfraError),
        (status = 406, body = InfraError, description = "The client does not accept text/event-stream"),
        (status = 503, body = ApiError, description = "Too many streams, of this token or of all"),
    )
)]
pub async fn follow_changes(
    State(operations): State<Arc<Operations>>,
    Extension(caller): Extension<Caller>,
    Extension(admission): Extension<Arc<Admission>>,
    Query(query): Query<ChangesQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_accept(&headers)?;
    let Some(permit) = STREAMS
        .acquire_within(Duration::ZERO, Some(&admission.who().to_owned()))
        .await
    else {
        return Ok(no_place());
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let log = operations.change_log.clone();
    // An id that is none of this service leads to a reset, like one of the process before.
    let after = last
        .or(query.after.as_deref())
        .map(|id| id.parse::<Position>().ok());
    let (position, first) = match after {
        Some(Some(position)) => (position, "alive"),
        Some(None) => (log.position(), "reset"),
        None => (log.position(), "alive"),
    };
    let stream = Changes {
        position,
        first: Some(first),
        alive_at: Instant::now() + ALIVE,
        scope: scope_of(caller),
        log,
        admission,
        _permit: permit,
    };
    let events = stream::unfold(Some(stream), |stream| async move {
        let mut stream = stream?;
        let events = stream.next().await?;
        let events = events.into_iter().map(Ok::<_, Infallible>);
        Some((stream::iter(events), Some(stream)))
    });
    let mut response = Sse::new(events.flatten()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would gather the stream.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Refuses clients that do not name the type of streams: one that reads the answer to its end would wait for ever.
fn check_accept(headers: &HeaderMap) -> Result<(), Problem> {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains(EVENT_STREAM)) {
        return Ok(());
    }
    Err(Problem::Framework(
        StatusCode::NOT_ACCEPTABLE,
        "this is a stream that does not end: request it with Accept: text/event-stream".into(),
    ))
}

fn no_place() -> Response {
    let problem = Problem::unavailable("too many streams of changes are open; close one, or try again later");
    let mut response = problem.into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER));
    response
}

/// The stream of one client.
struct Changes {
    log: Arc<ChangeLog>,
    admission: Arc<Admission>,
    position: Position,
    /// The name of the first event, until it is sent.
    first: Option<&'static str>,
    alive_at: Instant,
    scope: Option<InfraEnvId>,
    _permit: SharedPermit<'static>,
}

impl Changes {
    /// The next events; `None`: the stream ends.
    async fn next(&mut self) -> Option<Vec<Event>> {
        if let Some(first) = self.first.take() {
            return Some(vec![self.event(first)]);
        }
        let scope = self.scope;
        let followed = tokio::select! {
            followed = self.log.follow(&self.position, |subject| is_visible(subject, scope)) => followed,
            () = sleep_until(self.alive_at) => return self.alive().await,
        };
        match followed {
            Followed::Changed(subjects, position) => {
                self.position = position;
                let mut events: Vec<_> = subjects.iter().map(changed).collect();
                // The last alone: a client that received some of them receives all again.
                if let Some(last) = events.pop() {
                    events.push(last.id(self.position.to_string()));
                }
                Some(events)
            }
            Followed::Reset(position) => {
                self.position = position;
                Some(vec![self.event("reset")])
            }
            Followed::Closed => None,
        }
    }

    async fn alive(&mut self) -> Option<Vec<Event>> {
        match self.admission.check().await {
            Err(problem) if problem.status() != StatusCode::SERVICE_UNAVAILABLE => return None,
            // While the database is away nobody can be refused for it.
            Ok(()) | Err(_) => {}
        }
        self.alive_at = Instant::now() + ALIVE;
        Some(vec![self.event("alive")])
    }

    fn event(&self, name: &str) -> Event {
        Event::default()
            .event(name)
            .id(self.position.to_string())
            // Browsers pass over an event without data. Source: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
            .data("{}")
    }
}

fn changed(subject: &Subject) -> Event {
    let record = serde_json::to_string(&record(subject)).expect("a record is JSON");
    Event::default().data(record)
}

fn is_visible(subject: &Subject, scope: Option<InfraEnvId>) -> bool {
    let Some(scope) = scope else { return true };
    match subject {
        Subject::Host { infra_env_id, .. } => *infra_env_id == scope,
        Subject::InfraEnv(id) => *id == scope,
        Subject::Job { infra_env_id, .. } => *infra_env_id == Some(scope),
        Subject::Cluster(_) | Subject::Bmc(_) => false,
    }
}

fn record(subject: &Subject) -> ChangedRecord {
    match *subject {
        Subject::Host { infra_env_id, id } => ChangedRecord {
            kind: ChangedKind::Host,
            id: id.to_string(),
            infra_env_id: Some(infra_env_id),
        },
        Subject::InfraEnv(id) => ChangedRecord {
            kind: ChangedKind::InfraEnv,
            id: id.to_string(),
            infra_env_id: Some(id),
        },
        Subject::Cluster(id) => ChangedRecord {
            kind: ChangedKind::Cluster,
            id: id.to_string(),
            infra_env_id: None,
        },
        Subject::Bmc(id) => ChangedRecord {
            kind: ChangedKind::Bmc,
            id: id.to_string(),
            infra_env_id: None,
        },
        Subject::Job { infra_env_id, id } => ChangedRecord {
            kind: ChangedKind::Job,
            id: id.to_string(),
            infra_env_id,
        },
    }
}
