//! A host as lists show it.

use muster_api::host::HostStatus;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::{FoundHost, HostWait};

use crate::html::HOSTS;
use crate::words;

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

/// A host as a row.
pub struct Row {
    pub id: HostId,
    pub address: String,
    pub name: String,
    /// Stage of its sleep; empty: it is awake.
    pub sleep: String,
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
    /// Consequence of its end, a part of a sentence.
    pub then: String,
    /// Advice, a sentence without its full stop.
    pub what_to_do: String,
}

impl Wait {
    pub fn of(host: &FoundHost, now: &str) -> Option<Self> {
        host.wait.as_ref().map(|wait| Self::at(wait, now))
    }

    pub fn at(wait: &HostWait, now: &str) -> Self {
        Self {
            what: wait.what.clone(),
            since: words::relative(&wait.since, now),
            until: wait.until.as_ref().map(|until| words::relative(until, now)),
            is_overdue: wait
                .until
                .as_ref()
                .is_some_and(|until| words::is_over(until, now)),
            then: wait.then.clone(),
            what_to_do: wait.what_to_do.clone(),
        }
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
            id: host.id,
            address: address(host.infra_env_id, host.id),
            name: host.name.clone(),
            status: host.status.name(),
            sleep: host.sleep.clone(),
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
