//! Events of all records: filter, one window after the other, as a table.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::event::{FollowedEvent, FollowedEvents, Severity};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::infra_env::InfraEnv;
use strum::VariantArray as _;
use url::form_urlencoded::Serializer;

use crate::hosts;
use crate::html::{Frame, answer};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::words;

/// The path of the page.
pub const ADDRESS: &str = "/ui/events";

/// An id that all events are before.
const LAST: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

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
    /// What is wrong with the filter.
    problem: Option<String>,
    found: Option<Found>,
    events: Vec<EventRow>,
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

/// What the address of the page selects; empty: everything.
#[derive(Clone, Default)]
struct View {
    /// This severity and worse ones.
    severity: String,
    pool: String,
    cluster: String,
    /// An id, or a query that finds hosts.
    host: String,
    text: String,
    /// The id of the event before which the window begins.
    before: String,
}

impl View {
    /// The address of the page.
    fn address(&self) -> String {
        let parameters = parameters([
            ("severity", &self.severity),
            ("pool", &self.pool),
            ("cluster", &self.cluster),
            ("host", &self.host),
            ("text", &self.text),
            ("before", &self.before),
        ]);
        match parameters.as_str() {
            "" => ADDRESS.to_owned(),
            parameters => format!("{ADDRESS}?{parameters}"),
        }
    }

    /// The severities that are shown, separated by commas; one that does not exist is left to REST to refuse.
    fn severities(&self) -> String {
        let is_mildest = |one: &Severity| one.name() == self.severity;
        match Severity::VARIANTS.iter().position(is_mildest) {
            Some(at) => {
                let names: Vec<&str> = Severity::VARIANTS.iter().skip(at).map(|one| one.name()).collect();
                names.join(",")
            }
            None => self.severity.clone(),
        }
    }

    /// The path of REST for the events before `before`.
    fn path(&self, scope: Option<InfraEnvId>, hosts: &[HostId], before: &str) -> String {
        // Another pool than that of the token is REST's to refuse.
        let pool = match scope {
            Some(id) if self.pool.is_empty() => id.to_string(),
            Some(_) | None => self.pool.clone(),
        };
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let parameters = parameters([
            ("severities", &self.severities()),
            ("infra_env_id", &pool),
            ("cluster_id", &self.cluster),
            ("host_ids", &hosts.join(",")),
            ("message", &self.text),
            ("before", before),
        ]);
        format!("{MUSTER_PATH}/events?{parameters}")
    }

    /// The address of the first window.
    fn newest(&self) -> String {
        let before = String::new();
        Self {
            before,
            ..self.clone()
        }
        .address()
    }

    fn is_everything(&self) -> bool {
        [&self.severity, &self.pool, &self.cluster, &self.host, &self.text]
            .iter()
            .all(|value| value.is_empty())
    }

    /// The command that shows the same; `None`: there is none.
    fn command(&self) -> Option<String> {
        if !self.text.is_empty() {
            return None;
        }
        let mut command = "muster events".to_owned();
        if !self.severity.is_empty() {
            self.severity.parse::<Severity>().ok()?;
            command.push_str(&format!(" --severity {}", self.severities()));
        }
        let ids = [
            ("infra-env", &self.pool),
            ("cluster", &self.cluster),
            ("host", &self.host),
        ];
        for (name, value) in ids.into_iter().filter(|(_, value)| !value.is_empty()) {
            // All ids have one form, and nothing in it is special to a shell.
            let id: HostId = value.parse().ok()?;
            command.push_str(&format!(" --{name} {id}"));
        }
        Some(command)
    }
}

/// The parameters that have a value, as an address has them.
fn parameters(all: [(&str, &str); 6]) -> String {
    let mut written = Serializer::new(String::new());
    written.extend_pairs(all.into_iter().filter(|(_, value)| !value.is_empty()));
    written.finish()
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

/// An event as a row.
pub struct EventRow {
    pub at: String,
    pub when: String,
    pub severity: &'static str,
    pub host: Option<EventHost>,
    pub message: String,
}

/// The host that an event is about.
pub struct EventHost {
    /// The address of its page; `None`: it was deleted.
    pub address: Option<String>,
    pub name: String,
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
) -> Result<Vec<EventRow>, Refusal> {
    let path = View::default().path(scope, &[], LAST);
    let found: FollowedEvents = visitor.get(&format!("{path}&limit={most}")).await?;
    rows(visitor, found.events, now).await
}

/// The events with the names of their hosts.
async fn rows(visitor: &Visitor, events: Vec<FollowedEvent>, now: &str) -> Result<Vec<EventRow>, Refusal> {
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
    let rows = events.into_iter().map(|FollowedEvent { event, .. }| EventRow {
        when: words::relative(&event.event_time, now),
        severity: event.severity.name(),
        host: event.host_id.map(|id| host(event.infra_env_id, id)),
        at: event.event_time,
        message: event.message,
    });
    Ok(rows.collect())
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
) -> Result<(Found, Vec<EventRow>), Refusal> {
    let (hosts, fit) = chosen(visitor, &view.host).await?;
    let table = format!("{}&format=csv", view.path(scope, &hosts, LAST));
    if !view.host.is_empty() && hosts.is_empty() {
        let nothing = Found {
            note: Some("No host fits the filter of hosts.".to_owned()),
            older: None,
            table: None,
            only: None,
        };
        return Ok((nothing, Vec::new()));
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
    let (found, events, problem) = match find(&visitor, &view, scope, &present.at).await {
        Ok((found, events)) => (Some(found), events, None),
        Err(refusal) if matches!(refusal.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) => {
            (None, Vec::new(), Some(refusal))
        }
        Err(refusal) => return Err(refusal),
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
    let status = problem.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    let page = EventsPage {
        frame: frame_of(session),
        severities: severities
            .map(|(value, name)| Choice::new(value.to_owned(), name.to_owned(), &view.severity))
            .into(),
        pools,
        clusters,
        problem: problem.map(|refusal| refusal.reason),
        found,
        events,
        revision: present.revision,
        at: present.at,
        view,
    };
    Ok((status, answer(&page)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_an_address_a_path_of_rest_and_a_command() {
        let id = "00000000-0000-0000-0000-000000000007";
        let view = View {
            severity: "error".into(),
            host: id.into(),
            ..View::default()
        };
        assert_eq!(view.address(), format!("/ui/events?severity=error&host={id}"));
        assert_eq!(View::default().address(), ADDRESS);
        let hosts = [id.parse().unwrap()];
        assert_eq!(
            view.path(None, &hosts, LAST),
            format!("/api/muster/v1/events?severities=error%2Ccritical&host_ids={id}&before={LAST}")
        );
        assert_eq!(
            view.command(),
            Some(format!("muster events --severity error,critical --host {id}"))
        );
        for view in [
            View {
                text: "a".into(),
                ..View::default()
            },
            View {
                pool: "$(id)".into(),
                ..View::default()
            },
            View {
                severity: "loud; id".into(),
                ..View::default()
            },
        ] {
            assert_eq!(view.command(), None);
        }
    }
}
