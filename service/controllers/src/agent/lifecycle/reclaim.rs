//! Brings the host of a deleted Agent back before it is forgotten: an installed node would continue to run without a record.
//! Source: docs/protocol/kube-controllers.md#4.6; its conditions for a cleanup of the cluster are the conditions of a reclaim here.

use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_controller::conditions::Synced;
use muster_controller::error::Failure;
use muster_controller::events::warning;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::lifecycle::host::HostEvent;
use muster_core::lifecycle::host::deadline::end_of_wait;
use muster_core::record::{Host, HostState, KubeRef, NodeAgent};
use muster_core::rules::{hostname, stages};
use muster_operations::now;
use muster_resources::names::annotation;
use muster_resources::{AgentClusterInstall, ClusterDeployment};

use crate::agent::cached::CachedAgent;
use crate::agent::reconcile::Reconciler;
use crate::agent::status::{self, wait};
use crate::error::Error;

/// The end of a host after its Agent is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The host is taken out of its cluster, and its node agent brings it back.
    Reclaimed,
    /// The host is on its way back, or its disks are erased; the deletion waits for it.
    Awaited,
    /// The host is forgotten while its machine runs something else than the discovery image; an Event reports that to users.
    LeftBehind,
    /// The host is forgotten. Its machine runs the discovery image, or nothing, and registers again by itself.
    Forgotten,
}

/// The fate of `host`. `may_reclaim`: cluster and InfraEnv stay, and no user wants the node to be left alone.
pub fn fate(host: &Host, may_reclaim: bool) -> Fate {
    let has_node_agent = host.data.node_agent == NodeAgent::Installed && host.cluster_id.is_some();
    match host.state {
        HostState::AddedToExistingCluster if may_reclaim && has_node_agent => Fate::Reclaimed,
        HostState::Reclaiming | HostState::ReclaimingRebooting if may_reclaim => Fate::Awaited,
        // Without its record the machine would be available at once.
        HostState::DiscoveringUnbound if may_reclaim && host.data.cleaning.is_some() => Fate::Awaited,
        HostState::AddedToExistingCluster
        | HostState::Reclaiming
        | HostState::ReclaimingRebooting
        | HostState::UnbindingPendingUserAction
        | HostState::ResettingPendingUserAction => Fate::LeftBehind,
        _ if !stages::has_agent(&host.data) => Fate::LeftBehind,
        _ => Fate::Forgotten,
    }
}

impl Reconciler {
    /// Brings `host` back, or reports that its machine is left behind. Returns the host as it is then, to be forgotten; an `Err`
    /// holds the action to return while the host is on its way.
    pub(in crate::agent) async fn bring_back(
        &self,
        known: &CachedAgent,
        host: Host,
    ) -> Result<Result<Host, Action>, Error> {
        let cluster = self.cluster_name(&host).await?;
        let may_reclaim = self.may_reclaim(known, &host, cluster.as_ref()).await?;
        let mut host = host;
        if fate(&host, may_reclaim) == Fate::Reclaimed {
            let (operations, event) = (&self.context.operations, HostEvent::Reclaimed);
            let reclaimed = operations.hosts.apply_registered(&host, event).await;
            match reclaimed.map_err(Error::from) {
                Ok(changed) => host = changed,
                // The host cannot leave its cluster, or changed meanwhile.
                Err(refused) if refused.is_input() => {
                    tracing::info!(host.id = %host.id, why = %refused, "the host of a deleted Agent is not reclaimed");
                }
                Err(error) => return Err(error),
            }
        }
        match fate(&host, may_reclaim) {
            Fate::Awaited => {
                let end = end_of_wait(&host, &self.context.operations.hosts.deadlines(&host));
                let wait = wait::of_host(&host, true, &Synced::Ok(None), None, None, (None, end));
                self.context.waits.set(&known.object_ref(&()), wait);
                let next = status::coming_back(&host, &known.status(), now());
                self.write_status(known, next).await?;
                Ok(Err(Action::requeue(RETRY_INTERVAL)))
            }
            Fate::LeftBehind | Fate::Reclaimed => {
                self.tell_left_behind(known, &host, cluster.as_ref()).await?;
                Ok(Ok(host))
            }
            Fate::Forgotten => Ok(Ok(host)),
        }
    }

    async fn may_reclaim(
        &self,
        known: &CachedAgent,
        host: &Host,
        cluster: Option<&KubeRef>,
    ) -> Result<bool, Error> {
        if known.annotations().contains_key(annotation::SKIP_SPOKE_CLEANUP) {
            return Ok(false);
        }
        let Some(record) = self.context.operations.infra_envs.find(host.infra_env_id).await? else {
            return Ok(false);
        };
        let resource = self.resource(&record).await?;
        if resource.is_none_or(|resource| resource.metadata.deletion_timestamp.is_some()) {
            return Ok(false);
        }
        // A cluster that was made by REST has no resources.
        let Some(cluster) = cluster else {
            return Ok(true);
        };
        let client = &self.context.client;
        let deployments = Api::<ClusterDeployment>::namespaced(client.clone(), &cluster.namespace);
        let Some(deployment) = deployments.get_opt(&cluster.name).await? else {
            return Ok(false);
        };
        let installs = Api::<AgentClusterInstall>::namespaced(client.clone(), &cluster.namespace);
        let install = match &deployment.spec.cluster_install_ref {
            Some(reference) => installs.get_opt(&reference.name).await?,
            None => None,
        };
        Ok(deployment.metadata.deletion_timestamp.is_none()
            && install.is_some_and(|install| install.metadata.deletion_timestamp.is_none()))
    }

    /// Reports, on the InfraEnv, which stays, and on the Agent, that a machine is out of reach, with advice.
    async fn tell_left_behind(
        &self,
        known: &CachedAgent,
        host: &Host,
        cluster: Option<&KubeRef>,
    ) -> Result<(), Error> {
        let name = hostname::display(host);
        let cluster = cluster.map_or_else(
            || "its cluster".to_owned(),
            |cluster| format!("the cluster {cluster}"),
        );
        let note = format!(
            "The Agent {} was deleted while its host {name} was {}, and the machine does not come back by itself: boot it into the discovery image of its InfraEnv to have it again. If it is a node of {cluster}, take it out there: kubectl delete node {name}",
            known.name_any(),
            host.state.status().name(),
        );
        tracing::warn!(host.id = %host.id, note, "a machine is left behind");
        let event = || warning("Delete", "HostLeftBehind", &note);
        self.context.events.publish(event(), known.object_ref(&()));
        if let Some(record) = self.context.operations.infra_envs.find(host.infra_env_id).await?
            && let Some(resource) = self.resource(&record).await?
        {
            self.context.events.publish(event(), resource.object_ref(&()));
        }
        Ok(())
    }
}
