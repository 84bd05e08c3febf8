//! Installs the host of an Agent again, as a node of the same cluster, at the request of an annotation.
//!
//! The record keeps the time of the last request, so that neither a restart nor another leader repeats one. The cluster that the Agent
//! names must be the one that the host is a node of. New bootstrap data and another image, which the Agent names in the same write, are
//! given to the host once it is in discovery, as to any other.

use std::time::Duration;

use muster_core::lifecycle::host::{HostEvent, ReinstallAsked};
use muster_core::record::{Host, KubeRef};

use super::attempt::ended;
use super::membership;
use super::reinstall::requested;
use crate::agent::cached::CachedAgent;
use crate::agent::reconcile::Reconciler;
use crate::error::Error;

impl Reconciler {
    /// Passes the request of the Agent on to its host. Returns the host afterwards, and the time after which to try again.
    pub(in crate::agent) async fn reinstall(
        &self,
        key: &KubeRef,
        agent: &CachedAgent,
        host: Host,
    ) -> (Host, Option<Duration>) {
        let tried = self.try_reinstall(agent, &host).await;
        ended(key, "to install a host again", host, tried)
    }

    /// `None`: nothing has changed.
    async fn try_reinstall(&self, agent: &CachedAgent, host: &Host) -> Result<Option<Host>, Error> {
        let Some(requested_at) = requested(agent) else {
            return Ok(None);
        };
        let last = host.data.asked_reinstall.as_ref();
        // One without a cluster is no node, and may be another host than the one it was requested for.
        if host.cluster_id.is_none() || last.is_some_and(|last| last.requested_at >= requested_at) {
            return Ok(None);
        }
        let present = self.cluster_name(host).await?;
        let is_for_it = present.is_some() && present == membership::wanted(&agent.spec);
        let event = HostEvent::ReinstallAsked(ReinstallAsked {
            requested_at,
            cluster_id: host.cluster_id.filter(|_| is_for_it),
        });
        let operations = &self.context.operations;
        Ok(Some(operations.hosts.apply_registered(host, event).await?))
    }
}
