//! Facts for decisions about a host, in addition to the host itself.

use std::borrow::Cow;

use chrono::Duration;
use muster_api::time::Timestamp;

use super::cluster_peers::Peers;
use super::limits::WaitLimits;
use super::os_image::list::OsImage;
use super::requirements::Requirements;
use crate::record::{Cluster, DeafTime, Host, InfraEnv};

/// Time for which agents repeat a failed poll: three attempts with their pauses.
const SENT_AGAIN: Duration = Duration::minutes(2);

/// [`HostFacts::kube`] of the hosts of an InfraEnv in a cluster: true if the InfraEnv belongs to a custom resource, or
/// was created by REST and is mirrored while the cluster belongs to a custom resource.
pub fn controllers_see_nodes(infra_env: &InfraEnv, cluster: Option<&Cluster>) -> bool {
    infra_env.belongs_to_resource()
        || (infra_env.mirror.is_some() && cluster.is_some_and(Cluster::belongs_to_resource))
}

/// The facts around a host at the time of a decision.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts<'a> {
    /// The InfraEnv of the host.
    pub infra_env: &'a InfraEnv,
    /// The cluster that the host is bound to, with its other hosts; `None` for unbound hosts.
    pub cluster: Option<ClusterFacts<'a>>,
    pub requirements: &'a Requirements,
    /// The last poll, if it is newer than the stored one of the host.
    pub last_seen: Option<Timestamp>,
    /// The host's clock at that poll, seconds since 1970; `None` or 0 when it reported none.
    pub host_clock: Option<i64>,
    /// Time since which polls of all hosts are received without a gap. Silence before that is due to the service.
    pub listening_since: Option<Timestamp>,
    /// Seconds by which the service's clock was set forward (or back). Hosts do not follow it.
    pub clock_set_by: i64,
    /// The same before the last change of the clock: earlier polls were recorded by that clock.
    pub clock_was_set_by: i64,
    /// Times in which no polls could be received, sorted and disjoint: waits for a host do not advance in them.
    pub deaf: &'a [DeafTime],
    /// Version of the agent in the service's live image.
    pub agent_version: &'a str,
    /// Image to which upstream agents are upgraded; `None`: they get their own version.
    pub agent_image: Option<&'a str>,
    /// True if controllers in a cluster see the end of the installation. Then it ends with stage `Done`; else with the
    /// reboot, which is the last stage that the service can see (docs/protocol/host-lifecycle.md#5).
    pub kube: bool,
    pub images: InstallImages<'a>,
    /// Base URL of the service, as hosts reach it.
    pub service_url: &'a str,
    /// The operator's list of images for disks.
    pub os_images: &'a [OsImage],
    /// True: installed nodes run our agent, so that they can be brought back to their InfraEnv.
    pub node_agent: bool,
    pub limits: &'a WaitLimits,
    /// Boot artifacts for a reclaimed host; `None`: there are none, and the host gets no request to download any.
    pub boot_artifacts: Option<BootArtifacts<'a>>,
    /// Name of an InfraEnv through which the same machine is in a cluster as another record; `None`: it is in none, or neither its disks are
    /// to be erased nor its power is to be switched for its sleep.
    pub in_cluster_through: Option<&'a str>,
}

/// The facts that determine the ends of a host's waits, in addition to the host.
#[derive(Debug, Clone)]
pub struct Deadlines<'a> {
    /// As [`HostFacts::last_seen`].
    pub last_seen: Option<Timestamp>,
    /// As [`HostFacts::listening_since`].
    pub listening_since: Option<Timestamp>,
    /// As [`HostFacts::deaf`].
    pub deaf: Cow<'a, [DeafTime]>,
    pub limits: &'a WaitLimits,
}

impl Deadlines<'_> {
    /// The last poll from any source.
    pub fn seen(&self, host: &Host) -> Timestamp {
        self.last_seen
            .map_or(host.checked_in_at, |seen| seen.max(host.checked_in_at))
    }

    /// Time at which `host` counts as disconnected unless it polls before.
    pub fn silent_at(&self, host: &Host) -> Timestamp {
        let seen = self.seen(host);
        self.listening_since.map_or(seen, |since| since.max(seen)) + self.limits.silence()
    }

    /// End of a wait for the host that began at `since`.
    pub fn after(&self, since: Timestamp, limit: Duration) -> Timestamp {
        DeafTime::end_of_wait(&self.deaf, since, limit)
    }
}

/// The container images of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallImages<'a> {
    /// Image that writes the disk.
    pub installer: &'a str,
    /// Image that watches from inside the cluster.
    pub controller: &'a str,
}

impl Default for InstallImages<'static> {
    fn default() -> Self {
        Self {
            installer: "quay.io/edge-infrastructure/assisted-installer:latest",
            controller: "quay.io/edge-infrastructure/assisted-installer-controller:latest",
        }
    }
}

/// URLs of the parts of the discovery image, for a node that returns to its InfraEnv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootArtifacts<'a> {
    /// URL of the kernel.
    pub kernel_url: &'a str,
    /// URL of the initrd, signed if the service requires that.
    pub initrd_url: &'a str,
    /// URL of the root file system; empty for images that have none.
    pub rootfs_url: &'a str,
    /// Mount point of the node's own files in its agent.
    pub host_fs_mount_dir: &'a str,
    /// The kernel line of the image; empty for CoreOS, which has one of its own.
    pub kernel_arguments: &'a [String],
}

/// A cluster as its hosts see it.
#[derive(Debug, Clone, Copy)]
pub struct ClusterFacts<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its other hosts.
    pub peers: Peers<'a>,
}

impl HostFacts<'_> {
    pub fn deadlines(&self) -> Deadlines<'_> {
        Deadlines {
            last_seen: self.last_seen,
            listening_since: self.listening_since,
            deaf: Cow::Borrowed(self.deaf),
            limits: self.limits,
        }
    }

    /// The last poll from any source.
    pub fn seen(&self, host: &Host) -> Timestamp {
        self.deadlines().seen(host)
    }

    /// Time at which `host` counts as disconnected unless it polls before.
    pub fn silent_at(&self, host: &Host) -> Timestamp {
        self.deadlines().silent_at(host)
    }

    /// End of a wait for the host that began at `since`.
    pub fn end_of_wait(&self, since: Timestamp, limit: Duration) -> Timestamp {
        self.deadlines().after(since, limit)
    }

    /// Seconds that the host's clock was ahead of the service's when it last reported the time; see [`Self::offset`].
    pub fn clock_offset(&self, host: &Host) -> Option<i64> {
        let (clock, told_at) = self.clock(host)?;
        let offset = self.offset(clock.saturating_sub(told_at.timestamp()));
        Some(offset + self.under_way(told_at).clamp(0, offset.saturating_neg().max(0)))
    }

    /// Seconds for which a poll that was received at `told_at` may have been under way: agents repeat a poll without a
    /// response unchanged, with the time of the first attempt. Source: docs/protocol/agent-protocol.md#2.
    fn under_way(&self, told_at: Timestamp) -> i64 {
        let recent = |deaf: &&DeafTime| deaf.from < told_at && told_at <= deaf.to + SENT_AGAIN;
        let times = self.deaf.iter().filter(recent);
        times
            .map(|deaf| (deaf.to.min(told_at) - deaf.from).num_seconds())
            .sum()
    }

    /// A host's clock offset: the smallest of those by the service's clock as it is, and as it was before the last and
    /// the last but one change. If only the service's clock moved, no host gets a finding, and hosts do not differ
    /// because one of them has polled since.
    pub fn offset(&self, measured: i64) -> i64 {
        [0, self.clock_set_by, self.clock_was_set_by]
            .map(|set_by| measured.saturating_add(set_by))
            .into_iter()
            .min_by_key(|offset| offset.unsigned_abs())
            .unwrap_or(measured)
    }

    /// The host's clock and the time of its report; `None` if it was never reported.
    pub fn clock(&self, host: &Host) -> Option<(i64, Timestamp)> {
        let stored = (host.data.timestamp != 0).then(|| {
            let told_at = host.data.timestamp_at.unwrap_or(host.checked_in_at);
            (host.data.timestamp, told_at)
        });
        let newer = |seen: &Timestamp| stored.is_none_or(|(_, told_at)| *seen >= told_at);
        match (self.host_clock, self.last_seen.filter(newer)) {
            (Some(clock), Some(seen)) if clock != 0 => Some((clock, seen)),
            (Some(_) | None, Some(_) | None) => stored,
        }
    }
}
