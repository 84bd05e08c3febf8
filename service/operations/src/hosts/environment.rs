//! Collects the facts for a decision about a host.

use std::sync::Arc;

use chrono::TimeDelta;
use muster_api::ids::{ClusterId, HostId};
use muster_core::record::{Host, HostState, InfraEnv, Phase};
use muster_core::rules::facts::{BootArtifacts, Deadlines, HostFacts, InstallImages, controllers_see_nodes};
use muster_core::rules::os_image::OsImage;
use muster_store::StoreError;

use super::Hosts;
use crate::clusters::ClusterContext;
use crate::hosts::check_ins::Seen;
use crate::time::outages::Heard;

/// Tolerated difference between the clocks of replicas.
const TOLERANCE: TimeDelta = TimeDelta::seconds(30);

/// The node agent runs on the node itself, in no container.
const NODE_ROOT: &str = "/";

/// A host's InfraEnv, cluster and last poll, read at one time.
pub(super) struct Environment {
    infra_env: Arc<InfraEnv>,
    cluster: Option<ClusterContext>,
    seen: Option<Seen>,
    os_images: Arc<Vec<OsImage>>,
    returning: Option<Returning>,
    heard: Heard,
    /// Name of an InfraEnv through which the machine is in a cluster as another record, for a decision about the erasure of its disks or its sleep.
    pub(super) in_cluster_through: Option<String>,
}

/// Boot artifacts with which a node returns to discovery.
struct Returning {
    kernel_url: String,
    initrd_url: String,
    kernel_arguments: Vec<String>,
}

impl Hosts {
    /// The environment of `host`, as a host of `cluster`. `state`: the host's; `None` of one that registers for the first time.
    pub(super) async fn environment(
        &self,
        infra_env: &Arc<InfraEnv>,
        cluster: Option<ClusterId>,
        host: HostId,
        state: Option<&HostState>,
        seen: Option<Seen>,
    ) -> Result<Environment, StoreError> {
        let cluster = match cluster {
            Some(cluster) => self.clusters.context(cluster, host).await?,
            None => None,
        };
        let may_return = state.is_some_and(|state| matches!(state.phase(), Phase::Ended | Phase::Moving));
        let returning = if may_return {
            self.returning(infra_env).await
        } else {
            None
        };
        Ok(Environment {
            infra_env: infra_env.clone(),
            cluster,
            seen: self.plausible(seen),
            os_images: self.images.os_images.list(),
            returning,
            heard: self.outages.heard(),
            in_cluster_through: None,
        })
    }

    /// The environment of a stored host.
    pub(super) async fn environment_of(
        &self,
        infra_env: &Arc<InfraEnv>,
        host: &Host,
    ) -> Result<Environment, StoreError> {
        let seen = self.check_ins.last((infra_env.id, host.id));
        self.environment(infra_env, host.cluster_id, host.id, Some(&host.state), seen)
            .await
    }

    /// The facts that determine the ends of this host's waits.
    pub fn deadlines(&self, host: &Host) -> Deadlines<'_> {
        let heard = self.outages.heard();
        let seen = self.check_ins.last((host.infra_env_id, host.id));
        Deadlines {
            last_seen: self.plausible(seen).map(|seen| seen.at),
            listening_since: Some(heard.since),
            deaf: heard.deaf.to_vec().into(),
            limits: &self.settings.limits,
        }
    }

    /// Drops a poll that was under way while the clock was set back: it was recorded by the old clock; stored polls
    /// were corrected.
    fn plausible(&self, seen: Option<Seen>) -> Option<Seen> {
        let latest = self.now() + TOLERANCE;
        seen.filter(|seen| seen.at <= latest)
    }

    /// `None` while there is no discovery image.
    async fn returning(&self, infra_env: &InfraEnv) -> Option<Returning> {
        let image = self.images.discovery.of(infra_env).await.ok()?;
        let urls = &self.images.urls;
        Some(Returning {
            kernel_url: urls.kernel(infra_env),
            initrd_url: urls.initrd(infra_env),
            kernel_arguments: image.kernel_line(infra_env, &urls.short_rootfs(infra_env)),
        })
    }

    /// The parameter of decisions.
    pub(super) fn facts<'a>(&'a self, environment: &'a Environment) -> HostFacts<'a> {
        let Environment {
            infra_env,
            cluster,
            seen,
            os_images,
            returning,
            heard,
            in_cluster_through,
        } = environment;
        let (settings, usual) = (&self.settings, InstallImages::default());
        let cluster = cluster.as_ref().and_then(ClusterContext::facts);
        HostFacts {
            infra_env,
            cluster,
            requirements: &settings.requirements,
            last_seen: seen.as_ref().map(|seen| seen.at),
            host_clock: seen.as_ref().and_then(|seen| seen.host_clock),
            listening_since: Some(heard.since),
            clock_set_by: heard.clock_set_by.num_seconds(),
            clock_was_set_by: heard.clock_was_set_by.num_seconds(),
            deaf: &heard.deaf,
            agent_version: &settings.agent_version,
            agent_image: settings.agent_image.as_deref(),
            kube: controllers_see_nodes(infra_env, cluster.map(|facts| facts.cluster)),
            images: InstallImages {
                installer: settings.installer_image.as_deref().unwrap_or(usual.installer),
                controller: settings.controller_image.as_deref().unwrap_or(usual.controller),
            },
            service_url: &self.images.urls.public,
            os_images,
            node_agent: settings.node_agent,
            limits: &settings.limits,
            boot_artifacts: returning.as_ref().map(|returning| BootArtifacts {
                kernel_url: &returning.kernel_url,
                initrd_url: &returning.initrd_url,
                rootfs_url: "",
                host_fs_mount_dir: NODE_ROOT,
                kernel_arguments: &returning.kernel_arguments,
            }),
            in_cluster_through: in_cluster_through.as_deref(),
        }
    }
}
