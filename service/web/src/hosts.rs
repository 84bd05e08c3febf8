//! The list of hosts: filter, counts, order, one window after the other.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::{FacetCount, FoundHost, FoundHosts, TermRemoval};
use url::form_urlencoded::Serializer;

use crate::html::{Frame, HOSTS, answer};
use crate::rest::{Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// The keys whose values are counted.
const FACETS: &str = "state,pool,cluster,role,model,finding";

#[derive(Template)]
#[template(path = "hosts.html")]
struct HostsPage {
    frame: Frame,
    view: View,
    /// What is wrong with the query.
    problem: Option<String>,
    found: Option<Found>,
    columns: [Heading; 14],
}

/// What the address of the page selects.
#[derive(Clone)]
struct View {
    query: String,
    sort: String,
    after: String,
}

impl View {
    /// The address of the same page with these values.
    fn address(&self) -> String {
        let mut parameters = Serializer::new(String::new());
        for (name, value) in [("q", &self.query), ("sort", &self.sort), ("after", &self.after)] {
            if !value.is_empty() {
                parameters.append_pair(name, value);
            }
        }
        match parameters.finish() {
            empty if empty.is_empty() => HOSTS.to_owned(),
            parameters => format!("{HOSTS}?{parameters}"),
        }
    }

    /// The path of REST for it.
    fn path(&self) -> String {
        let mut parameters = Serializer::new(String::new());
        parameters.extend_pairs([
            ("q", self.query.as_str()),
            ("sort", &self.sort),
            ("after", &self.after),
            ("facets", FACETS),
        ]);
        format!("{MUSTER_PATH}/hosts?{}", parameters.finish())
    }

    fn with_query(&self, query: String) -> String {
        let after = String::new();
        Self {
            query,
            after,
            ..self.clone()
        }
        .address()
    }

    /// The command that shows the same.
    fn command(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let mut command = "muster hosts".to_owned();
        if !self.query.is_empty() {
            command.push_str(&format!(" --query {}", quoted(&self.query)));
        }
        if !self.sort.is_empty() {
            command.push_str(&format!(" --sort {}", self.sort));
        }
        command
    }
}

/// A heading of the table.
struct Heading {
    name: &'static str,
    /// The address of the page in the order of this column; `None`: it has no order.
    address: Option<String>,
    /// `ascending`, `descending` or `none`.
    order: &'static str,
}

impl Heading {
    fn new(name: &'static str, key: &str, view: &View) -> Self {
        let descending = format!("-{key}");
        let order = match view.sort.as_str() {
            sort if sort == key || (sort.is_empty() && key == "name") => "ascending",
            sort if sort == descending => "descending",
            _ => "none",
        };
        let next = match order {
            "ascending" => descending,
            _ => key.to_owned(),
        };
        let turned = View {
            sort: next,
            after: String::new(),
            ..view.clone()
        };
        Self {
            name,
            address: (!key.is_empty()).then(|| turned.address()),
            order,
        }
    }
}

/// The result as it is shown.
struct Found {
    rows: Vec<Row>,
    total: String,
    visible: String,
    is_all: bool,
    facets: Vec<Facet>,
    removals: Vec<TermRemoval>,
    /// The address of the next window.
    next: Option<String>,
    /// The place in the stream of changes.
    revision: String,
    at: String,
}

/// A host as a row.
pub struct Row {
    pub address: String,
    pub name: String,
    pub status: &'static str,
    /// `good`, `bad` or `busy`.
    pub mood: &'static str,
    pub reason: String,
    pub wait: Option<Wait>,
    pub infra_env: String,
    pub cluster: String,
    pub role: &'static str,
    pub is_unapproved: bool,
    pub cpu: String,
    pub memory: String,
    pub disks: String,
    pub gpus: String,
    pub model: String,
    pub serial: String,
    pub ip: String,
    pub port: String,
    pub seen: String,
    pub seen_at: String,
}

/// Something that a host waits for.
pub struct Wait {
    pub what: String,
    pub since: String,
    pub until: Option<String>,
    pub is_overdue: bool,
}

impl Wait {
    pub fn of(host: &FoundHost, now: &str) -> Option<Self> {
        let wait = host.wait.as_ref()?;
        Some(Self {
            what: wait.what.clone(),
            since: words::relative(&wait.since, now),
            until: wait.until.as_ref().map(|until| words::relative(until, now)),
            is_overdue: wait
                .until
                .as_ref()
                .is_some_and(|until| words::is_over(until, now)),
        })
    }
}

/// The path of a host's page.
pub fn address(infra_env_id: InfraEnvId, id: HostId) -> String {
    format!("{HOSTS}/{infra_env_id}/{id}")
}

/// How the state of a host is to be taken.
pub fn mood(status: HostStatus) -> &'static str {
    match status {
        HostStatus::Known
        | HostStatus::KnownUnbound
        | HostStatus::Installed
        | HostStatus::AddedToExistingCluster => "good",
        HostStatus::Error
        | HostStatus::Insufficient
        | HostStatus::InsufficientUnbound
        | HostStatus::Disconnected
        | HostStatus::DisconnectedUnbound
        | HostStatus::InstallingPendingUserAction
        | HostStatus::ResettingPendingUserAction
        | HostStatus::UnbindingPendingUserAction
        | HostStatus::PreparingFailed
        | HostStatus::Cancelled => "bad",
        _ => "busy",
    }
}

impl Row {
    pub fn of(host: &FoundHost, now: &str) -> Self {
        let hardware = host.hardware.as_ref();
        let sizes = |total: u64, number: usize| match number {
            0 => String::new(),
            number => format!("{number} · {}", words::disk(total)),
        };
        let first =
            |list: Option<&Vec<String>>| list.and_then(|list| list.first().cloned()).unwrap_or_default();
        let port = hardware.and_then(|hardware| hardware.ports.first());
        let gpus = hardware.map_or(0, |hardware| hardware.gpus.iter().map(|gpus| gpus.count).sum());
        Self {
            address: address(host.infra_env_id, host.id),
            name: host.name.clone(),
            status: host.status.name(),
            mood: mood(host.status),
            reason: host.reason.clone(),
            wait: Wait::of(host, now),
            infra_env: host.infra_env.clone(),
            cluster: host.cluster.clone(),
            role: host.role.name(),
            is_unapproved: host.approved == Some(false),
            cpu: hardware
                .filter(|hardware| hardware.cpu_threads > 0)
                .map_or_else(String::new, |hardware| hardware.cpu_threads.to_string()),
            memory: words::memory(hardware.map_or(0, |hardware| hardware.memory_bytes)),
            disks: hardware.map_or_else(String::new, |hardware| {
                let total = hardware.disks.iter().map(|disk| disk.bytes).sum();
                sizes(total, hardware.disks.len())
            }),
            gpus: match gpus {
                0 => String::new(),
                gpus => gpus.to_string(),
            },
            model: hardware.map_or_else(String::new, |hardware| {
                format!("{} {}", hardware.vendor, hardware.model)
                    .trim()
                    .to_owned()
            }),
            serial: hardware
                .map(|hardware| hardware.serial.clone())
                .unwrap_or_default(),
            ip: first(hardware.map(|hardware| &hardware.ips)),
            port: port.map_or_else(String::new, |port| format!("{} {}", port.switch, port.port)),
            seen: words::relative(&host.seen_at, now),
            seen_at: host.seen_at.clone(),
        }
    }
}

/// Counts by the values of a key.
struct Facet {
    key: String,
    values: Vec<Choice>,
    left_out: usize,
}

/// A value that narrows the list.
struct Choice {
    value: String,
    hosts: usize,
    address: String,
    is_chosen: bool,
}

impl Found {
    fn of(found: FoundHosts, view: &View) -> Self {
        let chosen = found.terms;
        let choice = |value: FacetCount| {
            let is_chosen = chosen.contains(&value.term);
            let mut terms: Vec<&str> = chosen.iter().map(String::as_str).collect();
            match is_chosen {
                true => terms.retain(|term| *term != value.term),
                false => terms.push(&value.term),
            }
            Choice {
                address: view.with_query(terms.join(" ")),
                value: value.value,
                hosts: value.hosts,
                is_chosen,
            }
        };
        let facets = found.facets.into_iter().map(|facet| Facet {
            key: facet.key,
            left_out: facet.left_out,
            values: facet.values.into_iter().map(choice).collect(),
        });
        let rows = found.hosts.iter().map(|host| Row::of(host, &found.at)).collect();
        Self {
            rows,
            total: words::count(found.total, "host"),
            visible: found.visible.to_string(),
            is_all: found.total == found.visible,
            facets: facets.filter(|facet| !facet.values.is_empty()).collect(),
            removals: found.removals,
            next: found.next.map(|after| {
                View {
                    after,
                    ..view.clone()
                }
                .address()
            }),
            revision: found.revision,
            at: found.at,
        }
    }
}

pub async fn list(visitor: Visitor) -> Result<Response, Refusal> {
    let [query, sort, after] = visitor.parameters(["q", "sort", "after"]);
    let view = View { query, sort, after };
    let (found, problem) = match visitor.get::<FoundHosts>(&view.path()).await {
        Ok(found) => (Some(Found::of(found, &view)), None),
        Err(refusal) if refusal.status == StatusCode::BAD_REQUEST => (None, Some(refusal.reason)),
        Err(refusal) => return Err(refusal),
    };
    let status = match problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    let headings = [
        ("Name", "name"),
        ("State", "state"),
        ("InfraEnv", "pool"),
        ("Cluster", "cluster"),
        ("Role", ""),
        ("CPU", "cpu"),
        ("Memory", "memory"),
        ("Disks", "disk"),
        ("GPUs", ""),
        ("Model", "model"),
        ("Serial", "serial"),
        ("Address", ""),
        ("Switch port", "switch"),
        ("Seen", "seen"),
    ];
    let page = HostsPage {
        frame: frame(&visitor).await?,
        columns: headings.map(|(name, key)| Heading::new(name, key, &view)),
        view,
        problem,
        found,
    };
    Ok((status, answer(&page)).into_response())
}
