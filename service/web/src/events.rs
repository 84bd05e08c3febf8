//! Events of all records: filter, one window after the other, as a table.

mod view;

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use askama::filters::HtmlSafe;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::cluster::Cluster;
use muster_api::event::{Event, FollowedEvent, FollowedEvents};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::InfraEnv;

use crate::hosts;
use crate::html::{Frame, answer};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;
pub use view::ADDRESS;
use view::{LAST, Problem, View};

/// Events in one window.
const WINDOW: usize = 100;

/// Most hosts of which events are shown together.
const MOST_HOSTS: usize = 100;

/// Most hosts with the ids of one window: an id may be in several InfraEnvs.
const MOST_NAMES: usize = 1000;

#[derive(Template)]
#[template(path = "events.html")]
struct EventsPage {
    frame: Frame,
    view: View,
    severities: Vec<Choice>,
    /// Empty for a visitor who sees one InfraEnv alone.
    pools: Vec<Choice>,
    clusters: Vec<Choice>,
    problem: Option<Problem>,
    found: Option<Found>,
    events: EventRows,
    revision: String,
    at: String,
}

/// A value that can be chosen.
struct Choice {
    value: String,
    name: String,
    is_chosen: bool,
}

impl Choice {
    fn new(value: String, name: String, chosen: &str) -> Self {
        let is_chosen = value == chosen;
        Self {
            value,
            name,
            is_chosen,
        }
    }
}

/// What stands around the events.
struct Found {
    /// Why there is less than was searched.
    note: Option<String>,
    /// The address of the next window.
    older: Option<String>,
    /// The address of the table; `None`: it would be empty.
    table: Option<String>,
    /// The one host of these events.
    only: Option<HostId>,
}

/// Events as a list. It is a template of its own, which escapes what it shows.
#[derive(Template)]
#[template(path = "event_rows.html")]
pub struct EventRows {
    events: Vec<EventRow>,
}

impl HtmlSafe for EventRows {}

impl EventRows {
    /// The events of a page that names their host. `now`: the time from which ages count.
    pub fn of_host(events: &[Event], now: &str) -> Self {
        let rows = events.iter().map(|event| EventRow::of(event, None, now));
        Self {
            events: rows.collect(),
        }
    }

    fn none() -> Self {
        Self { events: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// An event as a row.
struct EventRow {
    at: String,
    when: String,
    severity: &'static str,
    /// `None`: it is about none, or about that of the page.
    host: Option<EventHost>,
    message: String,
}

impl EventRow {
    fn of(event: &Event, host: Option<EventHost>, now: &str) -> Self {
        Self {
            when: words::relative(&event.event_time, now),
            at: event.event_time.clone(),
            severity: event.severity.name(),
            host,
            message: event.message.clone(),
        }
    }
}

/// The host that an event is about.
struct EventHost {
    /// The address of its page; `None`: it was deleted.
    address: Option<String>,
    name: String,
}

/// The newest events, at most `most`; `scope`: of this InfraEnv alone. `now`: the time from which ages count.
///
/// # Errors
/// As REST refuses.
pub async fn newest(
    visitor: &Visitor,
    scope: Option<InfraEnvId>,
    most: usize,
    now: &str,
) -> Result<EventRows, Refusal> {
    let path = View::default().path(scope, &[], LAST);
    let found: FollowedEvents = visitor.get(&format!("{path}&limit={most}")).await?;
    rows(visitor, found.events, now).await
}

/// The events with the names of their hosts.
async fn rows(visitor: &Visitor, events: Vec<FollowedEvent>, now: &str) -> Result<EventRows, Refusal> {
    let ids: BTreeSet<HostId> = events.iter().filter_map(|one| one.event.host_id).collect();
    let names = names(visitor, &ids).await?;
    let host = |pool: Option<InfraEnvId>, id: HostId| {
        let found = pool.and_then(|pool| Some((pool, names.get(&(pool, id))?)));
        match found {
            Some((pool, name)) => EventHost {
                address: Some(hosts::address(pool, id)),
                name: name.clone(),
            },
            None => EventHost {
                address: None,
                name: id.to_string(),
            },
        }
    };
    let rows = events.iter().map(|FollowedEvent { event, .. }| {
        let host = event.host_id.map(|id| host(event.infra_env_id, id));
        EventRow::of(event, host, now)
    });
    Ok(EventRows {
        events: rows.collect(),
    })
}

/// The names of the hosts that are still there.
async fn names(
    visitor: &Visitor,
    ids: &BTreeSet<HostId>,
) -> Result<HashMap<(InfraEnvId, HostId), String>, Refusal> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let query = format!("id:{}", ids.join(","));
    let found = visitor.hosts(&query, MOST_NAMES, "").await?;
    let names = found.hosts.into_iter();
    Ok(names
        .map(|host| ((host.infra_env_id, host.id), host.name))
        .collect())
}

/// The hosts of the filter, and how many fit it.
async fn chosen(visitor: &Visitor, filter: &str) -> Result<(Vec<HostId>, usize), Refusal> {
    if filter.is_empty() {
        return Ok((Vec::new(), 0));
    }
    if let Ok(id) = filter.parse::<HostId>() {
        return Ok((vec![id], 1));
    }
    let found = visitor.hosts(filter, MOST_HOSTS, "").await?;
    let ids = found.hosts.iter().map(|host| host.id).collect();
    Ok((ids, found.total))
}

/// The window of a view.
async fn find(
    visitor: &Visitor,
    view: &View,
    scope: Option<InfraEnvId>,
    now: &str,
) -> Result<(Found, EventRows), Refusal> {
    let (hosts, fit) = chosen(visitor, &view.host).await?;
    let table = format!("{}&format=csv", view.path(scope, &hosts, LAST));
    if !view.host.is_empty() && hosts.is_empty() {
        let nothing = Found {
            note: Some("No host fits the filter of hosts.".to_owned()),
            older: None,
            table: None,
            only: None,
        };
        return Ok((nothing, EventRows::none()));
    }
    let before = match view.before.as_str() {
        "" => LAST,
        before => before,
    };
    let path = format!("{}&limit={WINDOW}", view.path(scope, &hosts, before));
    let found: FollowedEvents = visitor.get(&path).await?;
    let older = View {
        before: found.next.to_string(),
        ..view.clone()
    };
    let around = Found {
        note: (fit > hosts.len()).then(|| {
            let shown = hosts.len();
            format!("{fit} hosts fit the filter of hosts: the events of the first {shown} are shown.")
        }),
        older: found.more.then(|| older.address()),
        table: Some(table),
        only: hosts.first().copied().filter(|_| fit == 1),
    };
    Ok((around, rows(visitor, found.events, now).await?))
}

/// The parts of the page for a view, or the mistake in it.
type Outcome = Result<(Found, EventRows), Problem>;

/// The outcome of a view, and the status of the page.
async fn shown(
    visitor: &Visitor,
    view: &View,
    scope: Option<InfraEnvId>,
    now: &str,
) -> Result<(StatusCode, Outcome), Refusal> {
    if let Some(mistake) = view.mistake() {
        return Ok((StatusCode::BAD_REQUEST, Err(mistake)));
    }
    match find(visitor, view, scope, now).await {
        Ok(found) => Ok((StatusCode::OK, Ok(found))),
        Err(refusal) if matches!(refusal.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) => {
            let problem = Problem {
                reason: refusal.reason,
                is_of_pool: false,
            };
            Ok((refusal.status, Err(problem)))
        }
        Err(refusal) => Err(refusal),
    }
}

/// The clusters that the visitor may see.
async fn clusters(visitor: &Visitor, chosen: &str) -> Result<Vec<Choice>, Refusal> {
    let clusters: Vec<Cluster> = visitor.get("/clusters").await?;
    let choice = |cluster: Cluster| Choice::new(cluster.id.to_string(), cluster.name, chosen);
    Ok(clusters.into_iter().map(choice).collect())
}

async fn pools(visitor: &Visitor, chosen: &str) -> Result<Vec<Choice>, Refusal> {
    let pools: Vec<InfraEnv> = visitor.get("/infra-envs").await?;
    let choice = |pool: InfraEnv| Choice::new(pool.id.to_string(), pool.name, chosen);
    Ok(pools.into_iter().map(choice).collect())
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    let values = visitor.parameters(["severity", "pool", "cluster", "host", "text", "before"]);
    let [severity, pool, cluster, host, text, before] = values.map(|value| value.trim().to_owned());
    let view = View {
        severity,
        pool,
        cluster,
        host,
        text,
        before,
    };
    let session = session(&visitor).await?;
    let scope = session.infra_env_id;
    // Before the events: what happens after them is behind this place in the stream of changes.
    let present = visitor.hosts("", 1, "").await?;
    let (status, outcome) = shown(&visitor, &view, scope, &present.at).await?;
    let (found, events, problem) = match outcome {
        Ok((found, events)) => (Some(found), events, None),
        Err(problem) => (None, EventRows::none(), Some(problem)),
    };
    // A token for one InfraEnv lists neither.
    let (pools, clusters) = match scope {
        Some(_) => (Vec::new(), Vec::new()),
        None => (
            pools(&visitor, &view.pool).await?,
            clusters(&visitor, &view.cluster).await?,
        ),
    };
    let severities = [
        ("", "all"),
        ("warning", "warning and worse"),
        ("error", "error and worse"),
        ("critical", "critical"),
    ];
    let page = EventsPage {
        frame: frame_of(session),
        severities: severities
            .map(|(value, name)| Choice::new(value.to_owned(), name.to_owned(), &view.severity))
            .into(),
        pools,
        clusters,
        problem,
        found,
        events,
        revision: present.revision,
        at: present.at,
        view,
    };
    Ok((status, answer(&page)).into_response())
}
