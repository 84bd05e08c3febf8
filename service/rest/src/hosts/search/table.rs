//! Found hosts as a table for spreadsheets.

use axum::response::Response;
use muster_core::query::{HardwareSummary, HostSummary};
use muster_http::Problem;
use strum::{IntoStaticStr, VariantArray};

use super::view::time;
use crate::views::table;

/// Columns of the table; on the wire in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Column {
    Id,
    Name,
    State,
    Reason,
    Since,
    InfraEnv,
    Cluster,
    Role,
    Approved,
    Stage,
    Percentage,
    Findings,
    FailedChecks,
    WaitsFor,
    WaitsUntil,
    CpuThreads,
    MemoryBytes,
    Disks,
    DiskBytes,
    Gpus,
    NicSpeedMbps,
    Vendor,
    Model,
    Serial,
    Ips,
    Macs,
    SwitchPorts,
    Vlans,
    Bmc,
    Power,
    Firmware,
    SecureBoot,
    Labels,
    Agent,
    RegisteredAt,
    SeenAt,
}

impl Column {
    /// The columns unless the request names some.
    pub const USUAL: [Self; 20] = [
        Self::Name,
        Self::Id,
        Self::State,
        Self::Reason,
        Self::InfraEnv,
        Self::Cluster,
        Self::Role,
        Self::Approved,
        Self::CpuThreads,
        Self::MemoryBytes,
        Self::Disks,
        Self::DiskBytes,
        Self::Gpus,
        Self::Vendor,
        Self::Model,
        Self::Serial,
        Self::Ips,
        Self::SwitchPorts,
        Self::Bmc,
        Self::SeenAt,
    ];

    fn of(self, host: &HostSummary) -> String {
        let hardware = |value: &dyn Fn(&HardwareSummary) -> String| {
            host.hardware.as_ref().map(value).unwrap_or_default()
        };
        match self {
            Self::Id => host.id.to_string(),
            Self::Name => host.name.clone(),
            Self::State => host.status.name().to_owned(),
            Self::Reason => host.reason.clone(),
            Self::Since => time(host.since),
            Self::InfraEnv => host.pool.clone(),
            Self::Cluster => host.cluster.clone(),
            Self::Role => host.role.name().to_owned(),
            Self::Approved => yes_or_no(host.approved),
            Self::Stage => host
                .stage
                .map(|stage| stage.name().to_owned())
                .unwrap_or_default(),
            Self::Percentage => known(host.percentage.into()),
            Self::Findings => host.findings.join(" "),
            Self::FailedChecks => joined(host.failed_checks.iter().map(|check| check.id().to_owned())),
            Self::WaitsFor => host
                .wait
                .as_ref()
                .map(|wait| wait.what.clone())
                .unwrap_or_default(),
            Self::WaitsUntil => host
                .wait
                .as_ref()
                .and_then(|wait| wait.until)
                .map(time)
                .unwrap_or_default(),
            Self::CpuThreads => hardware(&|hardware| known(hardware.cpu_threads.into())),
            Self::MemoryBytes => hardware(&|hardware| known(hardware.memory_bytes)),
            Self::Disks => hardware(&|hardware| hardware.disks.len().to_string()),
            Self::DiskBytes => hardware(&|hardware| hardware.disk_bytes().to_string()),
            Self::Gpus => hardware(&|hardware| {
                let gpus = hardware.gpus.iter();
                let gpus: Vec<String> = gpus.map(|gpu| format!("{} {}", gpu.count, gpu.model)).collect();
                gpus.join(", ")
            }),
            Self::NicSpeedMbps => hardware(&|hardware| known(hardware.nic_speed_mbps.into())),
            Self::Vendor => hardware(&|hardware| hardware.vendor.clone()),
            Self::Model => hardware(&|hardware| hardware.model.clone()),
            Self::Serial => hardware(&|hardware| hardware.serial.clone()),
            Self::Ips => hardware(&|hardware| hardware.ips.join(" ")),
            Self::Macs => hardware(&|hardware| hardware.macs.join(" ")),
            Self::SwitchPorts => hardware(&|hardware| {
                let ports = hardware.ports.iter();
                let ports: Vec<String> = ports
                    .map(|port| format!("{} {}", port.switch, port.port))
                    .collect();
                ports.join(", ")
            }),
            Self::Vlans => hardware(&|hardware| joined(hardware.vlans.iter().map(u16::to_string))),
            Self::Bmc => host.bmc_address().to_owned(),
            Self::Power => host.bmc.as_ref().map(|bmc| bmc.power.clone()).unwrap_or_default(),
            Self::Firmware => hardware(&|hardware| {
                hardware
                    .firmware
                    .map(|firmware| firmware.name().to_owned())
                    .unwrap_or_default()
            }),
            Self::SecureBoot => hardware(&|hardware| yes_or_no(hardware.secure_boot)),
            Self::Labels => joined(host.labels.iter().map(|(key, value)| format!("{key}={value}"))),
            Self::Agent => host.agent_version.clone(),
            Self::RegisteredAt => time(host.registered_at),
            Self::SeenAt => time(host.seen_at),
        }
    }
}

/// Empty for a number that is not known.
fn known(number: u64) -> String {
    match number {
        0 => String::new(),
        number => number.to_string(),
    }
}

fn yes_or_no(flag: Option<bool>) -> String {
    flag.map_or("", |flag| if flag { "yes" } else { "no" }).to_owned()
}

fn joined(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" ")
}

/// A table of the hosts.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn csv(hosts: &[HostSummary], columns: &[Column]) -> Result<Response, Problem> {
    let names = columns.iter().map(|column| -> &'static str { column.into() });
    let rows = hosts
        .iter()
        .map(|host| columns.iter().map(move |column| column.of(host)));
    table::answer(names, rows)
}
