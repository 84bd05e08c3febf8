//! The arguments of steps. Source: docs/protocol/instructions.md#3.

use muster_api::steps::{
    DomainResolutionRequest, DomainResolutionRequestDomain, DownloadBootArtifactsRequest, HealthRequest,
    InstallProxy, InstallRequest, LogsGatherRequest, NtpSynchronizationRequest, RebootForReclaimRequest,
    RebootNodeRequest, StepType, TangConnectivityRequest, TangServer,
};
use serde_json::Value;

use super::installer_args;
use crate::json::to_json;
use crate::lifecycle::host::reports::logs::are_wanted;
use crate::lifecycle::host::{cleaning, reboot};
use crate::record::{ClusterData, Host, NodeAgent, Peer};
use crate::rules::disks::is_protected;
use crate::rules::facts::HostFacts;
use crate::rules::ignition::api_vip;
use crate::rules::{agent_version, os_image, role};

/// Least time between two measurements of a host's sensors, seconds.
const HEALTH_SECS: u32 = 60;
/// Default mount point of the node's files in the agent of an installed node.
const HOST_FS: &str = "/host";
/// Number of hosts that check their connectivity within a minute, and of those that one checks. In larger clusters they take turns.
const MANY_PEERS: usize = 150;

/// `None` when the step is not needed or its arguments are not known.
pub(super) fn of(step: StepType, host: &Host, facts: &HostFacts<'_>) -> Option<Vec<String>> {
    match step {
        StepType::Inventory => Some(vec![host.id.to_string()]),
        StepType::NtpSynchronizer => Some(vec![to_json(&NtpSynchronizationRequest {
            ntp_source: ntp_sources(facts).to_owned(),
        })]),
        StepType::ConnectivityCheck => Some(vec![peers(host, facts)?]),
        // The Ignition for the installation is stored with the host.
        StepType::ApiVipConnectivityCheck if host.data.has_bootstrap_ignition => None,
        StepType::ApiVipConnectivityCheck => Some(vec![to_json(&api_vip(host, facts.cluster?)?)]),
        StepType::TangConnectivityCheck => Some(vec![to_json(&tang(host)?)]),
        StepType::DomainResolution => Some(vec![to_json(&domains(&facts.cluster?.cluster.data)?)]),
        StepType::Install => Some(vec![to_json(&install(host, facts)?)]),
        StepType::LogsGather => Some(vec![to_json(&logs(host)?)]),
        StepType::StopInstallation => Some(Vec::new()),
        StepType::DownloadBootArtifacts => {
            let artifacts = facts.boot_artifacts?;
            Some(vec![to_json(&DownloadBootArtifactsRequest {
                kernel_url: artifacts.kernel_url.to_owned(),
                rootfs_url: artifacts.rootfs_url.to_owned(),
                initrd_url: artifacts.initrd_url.to_owned(),
                host_fs_mount_dir: artifacts.host_fs_mount_dir.to_owned(),
                kernel_arguments: artifacts.kernel_arguments.to_vec(),
                // Kernel arguments are added where the image can be read.
                ..DownloadBootArtifactsRequest::default()
            })])
        }
        StepType::RebootForReclaim => {
            let dir = facts
                .boot_artifacts
                .map_or(HOST_FS, |known| known.host_fs_mount_dir);
            Some(vec![to_json(&RebootForReclaimRequest {
                host_fs_mount_dir: dir.to_owned(),
            })])
        }
        StepType::EraseDisks => Some(vec![to_json(&cleaning::request(host)?)]),
        // Only of use while a new cluster is installed, never, or whatever the state is.
        StepType::FreeNetworkAddresses
        | StepType::DhcpLeaseAllocate
        | StepType::InstallationDiskSpeedCheck
        | StepType::ContainerImageAvailability
        | StepType::VerifyVips
        | StepType::Execute
        | StepType::NextStepRunner
        | StepType::RebootNode
        | StepType::Health
        | StepType::UpgradeAgent => None,
    }
}

/// The interval of measurements is the agent's least one.
pub(super) fn of_health() -> Vec<String> {
    vec![to_json(&HealthRequest {
        interval_seconds: HEALTH_SECS,
    })]
}

/// The cluster's sources, else those of the InfraEnv.
fn ntp_sources<'a>(facts: &HostFacts<'a>) -> &'a str {
    let Some(cluster) = facts.cluster.map(|facts| &facts.cluster.data) else {
        return facts.infra_env.ntp_source_list();
    };
    [&cluster.ntp_sources, &cluster.additional_ntp_source]
        .into_iter()
        .find(|list| !list.is_empty())
        .unwrap_or(&facts.infra_env.settings.additional_ntp_sources)
}

/// The other hosts of the cluster that are reachable; in a large cluster only the neighbours. `None` while one of them
/// has reported no network interfaces.
fn peers(host: &Host, facts: &HostFacts<'_>) -> Option<String> {
    use muster_api::host::HostStatus::{Binding, Disconnected, Discovering};

    let peers = facts.cluster?.peers;
    if !has_its_turn(host, facts, peers.count() + 1) {
        return None;
    }
    let is_there =
        |peer: &Peer| peer.id != host.id && !matches!(peer.status, Discovering | Disconnected | Binding);
    let asked = peers.neighbours(MANY_PEERS).filter(|(peer, _)| is_there(peer));
    let texts: Option<Vec<&str>> = asked
        .map(|(peer, text)| peer.has_inventory().then_some(text))
        .collect();
    let texts = texts.filter(|texts| !texts.is_empty())?;
    Some(format!("[{}]", texts.join(",")))
}

/// True if it is the host's turn: in a large cluster hosts take turns by the minute, so that about [`MANY_PEERS`] check
/// at a time.
fn has_its_turn(host: &Host, facts: &HostFacts<'_>, hosts: usize) -> bool {
    let turns = hosts.div_ceil(MANY_PEERS) as u128;
    let minute = u128::try_from(facts.seen(host).timestamp() / 60).unwrap_or_default();
    turns < 2 || host.id.0.as_u128() % turns == minute % turns
}

/// The tang servers that the cluster's ignition names.
fn tang(host: &Host) -> Option<TangConnectivityRequest> {
    let download = host.data.api_vip_connectivity.as_ref()?;
    let ignition: Value = serde_json::from_str(&download.ignition).ok()?;
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let volumes = ignition.pointer("/storage/luks")?.as_array()?;
    let servers: Vec<TangServer> = volumes
        .iter()
        .filter_map(|volume| volume.pointer("/clevis/tang")?.as_array())
        .flatten()
        .map(|server| TangServer {
            url: text(server, "url"),
            thumbprint: text(server, "thumbprint"),
        })
        .collect();
    (!servers.is_empty()).then(|| TangConnectivityRequest {
        tang_servers: to_json(&servers),
    })
}

/// The names that every node must resolve, and two that must not resolve.
fn domains(cluster: &ClusterData) -> Option<DomainResolutionRequest> {
    if cluster.name.is_empty() || cluster.base_dns_domain.is_empty() {
        return None;
    }
    let base = format!("{}.{}", cluster.name, cluster.base_dns_domain);
    let names = [
        format!("api.{base}"),
        format!("api-int.{base}"),
        format!("console-openshift-console.apps.{base}"),
        format!("validateNoWildcardDNS.{base}."),
        format!("validateNoWildcardDNS.{base}"),
    ];
    Some(DomainResolutionRequest {
        domains: names
            .map(|domain_name| DomainResolutionRequestDomain { domain_name })
            .into(),
    })
}

fn install(host: &Host, facts: &HostFacts<'_>) -> Option<InstallRequest> {
    let cluster = &facts.cluster?.cluster.data;
    let data = &host.data;
    let boot_device = if data.installation_disk_id.is_empty() {
        &data.installation_disk_path
    } else {
        &data.installation_disk_id
    };
    if boot_device.is_empty() {
        return None;
    }
    let keeps_partitions = installer_args::keeps_partitions(data);
    let disks = host
        .inventory
        .as_ref()
        .map_or(&[][..], |inventory| inventory.disks.as_slice());
    let formatted = |id: &&String| {
        let is_kept = keeps_partitions && *id == boot_device;
        !is_kept && !is_protected(id, &data.skip_formatting_disks, disks)
    };
    let disks = data.disks_to_be_formatted.iter().filter(formatted);
    Some(InstallRequest {
        infra_env_id: host.infra_env_id.to_string(),
        cluster_id: host.cluster_id?.to_string(),
        host_id: host.id.to_string(),
        role: role::in_the_end(data).name().into(),
        boot_device: boot_device.clone(),
        controller_image: facts.images.controller.into(),
        installer_image: facts.images.installer.into(),
        disks_to_format: disks.cloned().collect(),
        installer_args: installer_args::for_host(host, facts),
        skip_installation_disk_cleanup: keeps_partitions,
        enable_skip_mco_reboot: saves_a_reboot(host, facts, cluster),
        notify_num_reboots: !facts.kube,
        proxy: proxy(cluster),
        // The request would have been refused without an image, so the image is missing only for a moment; nothing
        // begins without it.
        os_image: os_image::of_host(host, facts).ok()?,
        node_agent: data.node_agent == NodeAgent::Installed,
        skip_formatting_disks: data.skip_formatting_disks.clone(),
        ..InstallRequest::default()
    })
}

fn saves_a_reboot(host: &Host, facts: &HostFacts<'_>, cluster: &ClusterData) -> bool {
    let version = role::minor_version(&cluster.openshift_version);
    version.is_some_and(|version| version >= (4, 15))
        && !host.data.installation_disk_path.starts_with("/dev/dm-")
        && installer_args::architecture(host, facts) != "s390x"
}

fn proxy(cluster: &ClusterData) -> Option<InstallProxy> {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let (http_proxy, https_proxy) = (text(&cluster.proxy.http_proxy), text(&cluster.proxy.https_proxy));
    if http_proxy.is_empty() && https_proxy.is_empty() {
        return None;
    }
    let given = text(&cluster.proxy.no_proxy);
    let no_proxy = if given == "*" {
        given
    } else {
        let api_int = format!("api-int.{}.{}", cluster.name, cluster.base_dns_domain);
        let ours = ["127.0.0.1", "localhost", ".svc", ".cluster.local", &api_int];
        let mut all: Vec<&str> = Vec::new();
        for entry in given.split(',').map(str::trim).chain(ours) {
            if !entry.is_empty() && !all.contains(&entry) {
                all.push(entry);
            }
        }
        all.join(",")
    };
    Some(InstallProxy {
        http_proxy,
        https_proxy,
        no_proxy,
    })
}

/// Until logs have come.
fn logs(host: &Host) -> Option<LogsGatherRequest> {
    if host.data.logs.collected_at.is_some() {
        return None;
    }
    Some(logs_to(host, host.cluster_id?.to_string()))
}

/// Arguments of `logs-gather` while an operator waits for the host's logs. Our agents send them to a URL of the host;
/// others only to that of their cluster.
pub(super) fn of_asked_logs(host: &Host) -> Option<Vec<String>> {
    if !are_wanted(host) {
        return None;
    }
    let is_own = agent_version::is_own(&host.data.discovery_agent_version);
    let cluster = if is_own {
        String::new()
    } else {
        host.cluster_id?.to_string()
    };
    Some(vec![to_json(&logs_to(host, cluster))])
}

/// Arguments of `reboot-node` while the agent on the node is to reboot it.
pub(super) fn of_asked_reboot(host: &Host, facts: &HostFacts<'_>) -> Option<Vec<String>> {
    let asked = reboot::awaited_of_node(host, facts)?;
    let age = facts.seen(host) - asked.asked_at;
    Some(vec![to_json(&RebootNodeRequest {
        requested_seconds_ago: age.num_seconds().max(0),
    })])
}

fn logs_to(host: &Host, cluster_id: String) -> LogsGatherRequest {
    LogsGatherRequest {
        cluster_id,
        host_id: host.id.to_string(),
        infra_env_id: host.infra_env_id.to_string(),
        bootstrap: host.data.bootstrap,
        installer_gather: true,
        master_ips: None,
    }
}
