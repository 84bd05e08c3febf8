//! One host: why it is as it is, its hardware, its past, and what can be done with it.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::event::Event;
use muster_api::host::{Host, HostFinding, HostRole, HostStateChange};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::inventory::{Disk, Interface, Inventory};
use muster_api::search::{FoundHost, FoundHosts};
use muster_api::validation::{ValidationResult, ValidationStatus, ValidationsInfo};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::hosts::{Row, address, mood};
use crate::html::{Frame, HOSTS, answer};
use crate::pools;
use crate::rest::{Form, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Events that are shown.
const EVENTS: u32 = 50;

/// The roles that a user gives.
const ROLES: [HostRole; 4] = [
    HostRole::AutoAssign,
    HostRole::Master,
    HostRole::Arbiter,
    HostRole::Worker,
];

#[derive(Template)]
#[template(path = "host.html")]
struct HostPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    pool_address: String,
    id: HostId,
    row: Row,
    role: HostRole,
    roles: [HostRole; 4],
    requested_name: String,
    in_cluster: bool,
    approved: Option<bool>,
    clusters: Vec<Cluster>,
    findings: Vec<HostFinding>,
    checks: Vec<Checks>,
    disks: Vec<DiskRow>,
    cards: Vec<CardRow>,
    facts: Vec<(&'static str, String)>,
    past: Vec<Change>,
    events: Vec<EventRow>,
    at: String,
    /// The place in the stream of changes.
    revision: String,
    /// The refusal of the action.
    problem: Option<String>,
    /// What was just done.
    done: Option<Done>,
}

/// The checks of one group.
struct Checks {
    group: String,
    results: Vec<CheckRow>,
}

struct CheckRow {
    id: String,
    mood: &'static str,
    status: &'static str,
    message: String,
}

struct DiskRow {
    name: String,
    size: String,
    kind: String,
    model: String,
    serial: String,
    is_chosen: bool,
    /// Why nothing is installed to it; empty: it may be.
    why_not: String,
}

struct CardRow {
    name: String,
    mac: String,
    addresses: String,
    speed: String,
    port: String,
}

/// A change of the state.
struct Change {
    at: String,
    when: String,
    to: &'static str,
    mood: &'static str,
    who: String,
    reason: String,
}

struct EventRow {
    at: String,
    when: String,
    severity: &'static str,
    message: String,
}

/// An action, and the command that does the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    what: &'static str,
    command: String,
}

pub async fn show(
    visitor: Visitor,
    Path((infra_env_id, id)): Path<(InfraEnvId, HostId)>,
) -> Result<Response, Refusal> {
    let [done] = visitor.parameters(["done"]);
    let page = page(&visitor, infra_env_id, id, None).await?;
    let done = Action::named(&done).filter(|action| *action != Action::Delete);
    let done = done.map(|action| action.done(&page.row.name));
    Ok(answer(&HostPage { done, ..page }))
}

async fn page(
    visitor: &Visitor,
    infra_env_id: InfraEnvId,
    id: HostId,
    problem: Option<String>,
) -> Result<HostPage, Refusal> {
    let path = format!("/infra-envs/{infra_env_id}/hosts/{id}");
    let host: Host = visitor.get(&path).await?;
    let query: String =
        form_urlencoded::byte_serialize(format!("id:{id} pool:{infra_env_id}").as_bytes()).collect();
    let found: FoundHosts = visitor.get(&format!("{MUSTER_PATH}/hosts?q={query}")).await?;
    let Some(summary) = found.hosts.first() else {
        return Err(visitor.refusal(StatusCode::NOT_FOUND, format!("host {id} was not found")));
    };
    let past: Vec<HostStateChange> = visitor.get(&format!("{path}/history")).await?;
    let events = format!("/events?infra_env_id={infra_env_id}&host_id={id}&order=descending&limit={EVENTS}");
    let events: Vec<Event> = visitor.get(&events).await?;
    // A token for one InfraEnv sees no clusters.
    let clusters = match visitor.get("/clusters").await {
        Ok(clusters) => clusters,
        Err(refusal) if refusal.status == StatusCode::FORBIDDEN => Vec::new(),
        Err(refusal) => return Err(refusal),
    };
    let inventory: Inventory = serde_json::from_str(&host.inventory).unwrap_or_default();
    let checks: ValidationsInfo = serde_json::from_str(&host.validations_info).unwrap_or_default();
    let now = found.at.clone();
    Ok(HostPage {
        frame: frame(visitor).await?,
        address: address(infra_env_id, id),
        pool_address: pools::address(infra_env_id),
        id,
        row: Row::of(summary, &now),
        role: host.role,
        roles: ROLES,
        requested_name: host.requested_hostname.clone(),
        in_cluster: host.cluster_id.is_some(),
        approved: summary.approved,
        clusters,
        checks: checks
            .into_iter()
            .map(|(group, results)| Checks::of(group, results))
            .collect(),
        disks: inventory
            .disks
            .iter()
            .map(|disk| DiskRow::of(disk, &host))
            .collect(),
        cards: inventory.interfaces.iter().map(CardRow::of).collect(),
        facts: facts(summary, &inventory, &host),
        past: past.iter().rev().map(|change| Change::of(change, &now)).collect(),
        events: events
            .into_iter()
            .map(|event| EventRow::of(event, &now))
            .collect(),
        findings: host.findings,
        at: now,
        revision: found.revision,
        problem,
        done: None,
    })
}

impl Checks {
    /// Failed ones first.
    fn of(group: String, results: Vec<ValidationResult>) -> Self {
        let mut results: Vec<(u8, CheckRow)> = results.into_iter().map(CheckRow::of).collect();
        results.sort_by_key(|(rank, _)| *rank);
        Self {
            group,
            results: results.into_iter().map(|(_, row)| row).collect(),
        }
    }
}

impl CheckRow {
    fn of(result: ValidationResult) -> (u8, Self) {
        let (rank, mood, status) = match result.status {
            ValidationStatus::Failure => (0, "bad", "failed"),
            ValidationStatus::Error => (1, "bad", "error"),
            ValidationStatus::Pending => (2, "busy", "pending"),
            ValidationStatus::Success => (3, "good", "passed"),
            ValidationStatus::Disabled => (4, "busy", "ignored"),
        };
        let row = Self {
            id: result.id,
            mood,
            status,
            message: result.message,
        };
        (rank, row)
    }
}

impl DiskRow {
    fn of(disk: &Disk, host: &Host) -> Self {
        let eligibility = &disk.installation_eligibility;
        Self {
            name: disk.name.clone(),
            size: words::disk(u64::try_from(disk.size_bytes).unwrap_or_default()),
            kind: disk.drive_type.clone(),
            model: format!("{} {}", disk.vendor, disk.model).trim().to_owned(),
            serial: disk.serial.clone(),
            is_chosen: !disk.id.is_empty() && disk.id == host.installation_disk_id,
            why_not: match eligibility.eligible {
                true => String::new(),
                false => eligibility.not_eligible_reasons.join("; "),
            },
        }
    }
}

impl CardRow {
    fn of(card: &Interface) -> Self {
        let addresses: Vec<&str> = card
            .ipv4_addresses
            .iter()
            .chain(&card.ipv6_addresses)
            .map(String::as_str)
            .collect();
        Self {
            name: card.name.clone(),
            mac: card.mac_address.clone(),
            addresses: addresses.join(", "),
            speed: match (card.has_carrier, card.speed_mbps) {
                (false, _) => "no cable".to_owned(),
                (true, speed) if speed >= 1000 => format!("{} Gbit/s", speed / 1000),
                (true, speed) if speed > 0 => format!("{speed} Mbit/s"),
                (true, _) => String::new(),
            },
            port: card
                .switch_port
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        }
    }
}

impl Change {
    fn of(change: &HostStateChange, now: &str) -> Self {
        Self {
            at: change.at.clone(),
            when: words::relative(&change.at, now),
            to: change.to.name(),
            mood: mood(change.to),
            who: change.who.clone(),
            reason: change.reason.clone(),
        }
    }
}

impl EventRow {
    fn of(event: Event, now: &str) -> Self {
        Self {
            when: words::relative(&event.event_time, now),
            at: event.event_time,
            severity: event.severity.name(),
            message: event.message,
        }
    }
}

/// What else is known, by name; nothing that is unknown.
fn facts(summary: &FoundHost, inventory: &Inventory, host: &Host) -> Vec<(&'static str, String)> {
    let hardware = summary.hardware.as_ref();
    let of = |value: Option<String>| value.unwrap_or_default();
    let cpu = inventory
        .cpu
        .as_ref()
        .map(|cpu| format!("{} × {}", cpu.count, cpu.model_name));
    let gpus = hardware.map(|hardware| {
        let gpus = hardware
            .gpus
            .iter()
            .map(|gpus| format!("{} × {}", gpus.count, gpus.model));
        gpus.collect::<Vec<_>>().join(", ")
    });
    let bmc = summary.bmc.as_ref().map(|bmc| match bmc.power.is_empty() {
        true => format!("{} ({})", bmc.name, bmc.address),
        false => format!("{} ({}), power {}", bmc.name, bmc.address, bmc.power),
    });
    let secure_boot = hardware.and_then(|hardware| hardware.secure_boot);
    let labels = summary.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let all = [
        ("Processor", of(cpu)),
        ("GPUs", of(gpus)),
        (
            "Firmware",
            of(hardware.and_then(|hardware| hardware.firmware.clone())),
        ),
        (
            "Secure Boot",
            of(secure_boot.map(|on| if on { "on" } else { "off" }.to_owned())),
        ),
        ("TPM", inventory.tpm_version.clone()),
        ("BMC", of(bmc)),
        (
            "BMC, as the host reports it",
            of(hardware.map(|hardware| hardware.bmc_address.clone())),
        ),
        ("Labels", labels.collect::<Vec<_>>().join(", ")),
        ("Agent", summary.agent_version.clone()),
        ("Registered", summary.registered_at.clone()),
        ("Id", host.id.to_string()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// Something that can be done with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Approve,
    RevokeApproval,
    Name,
    Role,
    Bind,
    Unbind,
    Install,
    Delete,
}

impl Action {
    const ALL: [Self; 8] = [
        Self::Approve,
        Self::RevokeApproval,
        Self::Name,
        Self::Role,
        Self::Bind,
        Self::Unbind,
        Self::Install,
        Self::Delete,
    ];

    /// Its name in addresses.
    fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RevokeApproval => "revoke-approval",
            Self::Name => "name",
            Self::Role => "role",
            Self::Bind => "bind",
            Self::Unbind => "unbind",
            Self::Install => "install",
            Self::Delete => "delete",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// The request of REST. `value`: what was typed or chosen.
    fn request(self, host: &str, value: &str) -> (Method, String, Option<Value>) {
        match self {
            Self::Approve => (Method::POST, format!("{MUSTER_PATH}{host}/actions/approve"), None),
            Self::RevokeApproval => (
                Method::POST,
                format!("{MUSTER_PATH}{host}/actions/revoke-approval"),
                None,
            ),
            Self::Name => (Method::PATCH, host.to_owned(), Some(json!({"host_name": value}))),
            Self::Role => (Method::PATCH, host.to_owned(), Some(json!({"host_role": value}))),
            Self::Bind => (
                Method::POST,
                format!("{host}/actions/bind"),
                Some(json!({"cluster_id": value})),
            ),
            Self::Unbind => (Method::POST, format!("{host}/actions/unbind"), None),
            Self::Install => (Method::POST, format!("{host}/actions/install"), None),
            Self::Delete => (Method::DELETE, host.to_owned(), None),
        }
    }

    /// What was done to the host of this name.
    fn done(self, name: &str) -> Done {
        let host = format!("'{}'", name.replace('\'', r"'\''"));
        let (what, command) = match self {
            Self::Approve => ("The host is approved.", format!("muster host approve {host}")),
            Self::RevokeApproval => (
                "The approval is revoked.",
                format!("muster host approve --revoke {host}"),
            ),
            Self::Name => (
                "The host has another name.",
                format!("muster host set {host} --name NAME"),
            ),
            Self::Role => (
                "The host has another role.",
                format!("muster host set {host} --role ROLE"),
            ),
            Self::Bind => (
                "The host is bound.",
                format!("muster host bind {host} --cluster CLUSTER"),
            ),
            Self::Unbind => ("The host is unbound.", format!("muster host unbind {host}")),
            Self::Install => ("The installation begins.", format!("muster host install {host}")),
            Self::Delete => ("The host is deleted.", format!("muster host delete {host}")),
        };
        Done { what, command }
    }
}

pub async fn act(
    visitor: Visitor,
    Path((infra_env_id, id, action)): Path<(InfraEnvId, HostId, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let address = address(infra_env_id, id);
    let visitor = visitor.at(&address);
    let Some(action) = Action::named(&action) else {
        return Err(visitor.refusal(
            StatusCode::NOT_FOUND,
            format!("{action} is nothing that a host does"),
        ));
    };
    let (host, value) = (
        format!("/infra-envs/{infra_env_id}/hosts/{id}"),
        form.field("value"),
    );
    let (method, path, body) = action.request(&host, &value);
    match visitor.send(method, &path, body.as_ref()).await {
        Ok(_) if action == Action::Delete => Ok(Redirect::to(HOSTS).into_response()),
        Ok(_) => Ok(Redirect::to(&format!("{address}?done={}", action.name())).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let mut page = page(&visitor, infra_env_id, id, Some(refusal.reason)).await?;
            if action == Action::Name {
                page.requested_name = value;
            }
            Ok((refusal.status, answer(&page)).into_response())
        }
    }
}
