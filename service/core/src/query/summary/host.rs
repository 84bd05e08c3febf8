//! Summarizes a host by its record.

use std::borrow::Cow;

use muster_api::host::{HostRole, HostStage, HostStatus};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::steps::HealthReport;
use muster_api::time::Timestamp;
use muster_api::validation::ValidationStatus;
use serde::{Deserialize, Serialize};

use super::hardware::HardwareSummary;
use super::{MAX_LIST, distinct, is_default, short};
use crate::lifecycle;
use crate::lifecycle::host::wait;
use crate::record::{Bmc, CheckId, Cluster, Host, InfraEnv};
use crate::rules::facts::Deadlines;
use crate::rules::sleep::Power;
use crate::rules::{health, hostname};
use crate::text::one_line;

/// Longest reason that is kept, bytes.
const MAX_REASON: usize = 512;

/// The values of a host that lists need. Empty texts mean that the value is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSummary {
    pub id: HostId,
    pub infra_env_id: InfraEnvId,
    /// Name of the InfraEnv.
    pub pool: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_id: Option<ClusterId>,
    /// Name of the cluster; empty for unbound hosts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster: String,
    /// The name that it is installed with, else the requested, the reported one, the id.
    pub name: String,
    pub status: HostStatus,
    /// Of the installation; `None` before it begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stage: Option<HostStage>,
    /// Of the installation, 0 to 100.
    #[serde(default, skip_serializing_if = "is_default")]
    pub percentage: u8,
    /// Given, or else suggested.
    pub role: HostRole,
    /// `None`: it has no Agent, and needs no approval.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approved: Option<bool>,
    /// Labels of its node, in the order given.
    #[serde(default, skip_serializing_if = "is_default")]
    pub labels: Vec<(String, String)>,
    /// Kinds of its findings, each once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub findings: Vec<String>,
    /// Checks that failed at the last evaluation, also those that its cluster ignores. Checks that wait for facts are not among them.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "crate::record::readable_checks"
    )]
    pub failed_checks: Vec<CheckId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: Option<WaitSummary>,
    /// The reason for the status, for users.
    pub reason: String,
    /// Last change of the status.
    pub since: Timestamp,
    /// Last poll, or registration.
    pub seen_at: Timestamp,
    /// Last registration: its last boot into discovery.
    pub registered_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent_version: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub sleep: Power,
    /// True while a person or a claim keeps it awake.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept_awake: bool,
    /// Time of the last attempt to put it to sleep, if that failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sleep_failed_at: Option<Timestamp>,
    /// Of its hottest sensor, °C; 0 below zero.
    #[serde(default, skip_serializing_if = "is_default")]
    pub celsius: Option<u8>,
    /// The record of its management controller.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bmc: Option<BmcSummary>,
    /// `None` before the first inventory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hardware: Option<HardwareSummary>,
}

/// Something that a host waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSummary {
    /// A part of a sentence, such as `the node to reboot into discovery`.
    pub what: String,
    pub since: Timestamp,
    /// `None`: it has no limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub until: Option<Timestamp>,
    /// Consequence of its end, a part of a sentence; empty: it has no limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: Cow<'static, str>,
    /// Advice for users, a sentence without its full stop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub what_to_do: Cow<'static, str>,
}

/// A BMC that discovers the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BmcSummary {
    pub name: String,
    /// Host name or address, without scheme and port.
    pub address: String,
    /// Power of the machine as the BMC reported it last: `On`, `Off`, `PoweringOn`, `PoweringOff` or another word.
    #[serde(default, skip_serializing_if = "is_default")]
    pub power: String,
    /// True if it has booted the host, and can be used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wakes: bool,
}

/// Facts that a summary needs in addition to the host.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub infra_env: &'a InfraEnv,
    /// `None`: unbound, or the cluster was deleted.
    pub cluster: Option<&'a Cluster>,
    /// Of the BMC with the `host_id` of the host.
    pub bmc: Option<&'a BmcSummary>,
    pub deadlines: &'a Deadlines<'a>,
}

/// The summary of a host; `hardware` is that of its inventory, which need not have been read.
pub fn summary(host: &Host, hardware: Option<HardwareSummary>, around: &Surroundings<'_>) -> HostSummary {
    let data = &host.data;
    let progress = data.progress.as_ref();
    HostSummary {
        id: host.id,
        infra_env_id: host.infra_env_id,
        pool: HostSummary::pool_of(around.infra_env),
        cluster_id: host.cluster_id,
        cluster: HostSummary::cluster_of(around.cluster),
        name: short(&hostname::display(host)),
        status: host.state.status(),
        stage: progress.map(|progress| progress.stage),
        percentage: progress.map_or(0, |progress| percentage(progress.percentage)),
        role: data.effective_role(),
        approved: HostSummary::needs_approval(around.infra_env).then_some(data.approved),
        labels: labels(&data.node_labels),
        findings: distinct(data.findings.iter().map(|finding| short(&finding.kind))),
        failed_checks: failed_checks(host),
        wait: wait(host, around.deadlines).map(|wait| WaitSummary {
            what: short(&wait.what),
            since: wait.since,
            until: wait.until.map(|(end, _)| end),
            then: wait.until.map_or("", |(_, then)| then).into(),
            what_to_do: wait.what_to_do.into(),
        }),
        reason: one_line(&data.status_info, MAX_REASON),
        since: data.status_updated_at,
        seen_at: around.deadlines.seen(host),
        registered_at: data.registered_at,
        agent_version: short(&data.discovery_agent_version),
        sleep: Power::of(data.sleep.as_ref()),
        kept_awake: !data.kept_awake.is_none(),
        sleep_failed_at: data.sleep_failed.as_ref().map(|failed| failed.at),
        celsius: data.health.as_ref().and_then(|health| hottest(&health.last)),
        bmc: around.bmc.cloned(),
        hardware,
    }
}

fn hottest(report: &HealthReport) -> Option<u8> {
    let celsius = health::celsius(report)?;
    Some(u8::try_from(celsius.max(0)).unwrap_or(u8::MAX))
}

fn percentage(percentage: i64) -> u8 {
    u8::try_from(percentage.clamp(0, 100)).unwrap_or_default()
}

fn labels(labels: &[(String, String)]) -> Vec<(String, String)> {
    let labels = labels.iter().take(MAX_LIST);
    labels.map(|(key, value)| (short(key), short(value))).collect()
}

fn failed_checks(host: &Host) -> Vec<CheckId> {
    let rows = host.data.validations.values().flatten();
    let failed = rows.filter(|row| matches!(row.status, ValidationStatus::Failure | ValidationStatus::Error));
    let mut checks: Vec<CheckId> = failed.filter_map(|row| CheckId::from_id(&row.id)).collect();
    checks.sort_unstable();
    checks
}

impl BmcSummary {
    /// The summary of a BMC's record.
    pub fn of(bmc: &Bmc) -> Self {
        let seen = bmc.power.seen.as_ref().map(|seen| &seen.state);
        let in_inventory = || bmc.inventory.as_ref()?.power.as_ref();
        Self {
            name: short(&bmc.name),
            address: short(address_of(&bmc.settings.address)),
            power: seen
                .or_else(in_inventory)
                .map(|power| short(power))
                .unwrap_or_default(),
            wakes: lifecycle::bmc::wakes(bmc),
        }
    }
}

/// `https://[2001:db8::7]:8443` is `2001:db8::7`.
fn address_of(url: &str) -> &str {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    let place = place.split('/').next().unwrap_or_default();
    match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => place.split(':').next().unwrap_or_default(),
    }
}

impl HostSummary {
    /// The name of an InfraEnv as its hosts show it.
    pub fn pool_of(infra_env: &InfraEnv) -> String {
        short(&infra_env.name)
    }

    /// True for hosts of custom resources. Those of an InfraEnv that REST made need none, although its mirror has Agents.
    pub fn needs_approval(infra_env: &InfraEnv) -> bool {
        infra_env.kube.is_some() && infra_env.mirror.is_none()
    }

    /// The name of a cluster as its hosts show it; empty: it was deleted.
    pub fn cluster_of(cluster: Option<&Cluster>) -> String {
        cluster
            .map(|cluster| short(&cluster.data.name))
            .unwrap_or_default()
    }

    /// Address of its management controller: of the BMC's record, else as the machine reports it; empty: not known.
    pub fn bmc_address(&self) -> &str {
        let own = || {
            self.hardware
                .as_ref()
                .map(|hardware| hardware.bmc_address.as_str())
        };
        let recorded = self.bmc.as_ref().map(|bmc| bmc.address.as_str());
        recorded.or_else(own).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn addresses_of_bmcs_have_no_scheme_and_port() {
        for (url, address) in [
            ("https://192.0.2.7", "192.0.2.7"),
            ("https://bmc-7.example.test:8443", "bmc-7.example.test"),
            ("https://[2001:db8::7]:8443", "2001:db8::7"),
            ("https://[2001:db8::7]", "2001:db8::7"),
            ("192.0.2.7", "192.0.2.7"),
        ] {
            assert_eq!(address_of(url), address, "{url}");
        }
    }
}
