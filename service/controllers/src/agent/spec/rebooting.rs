//! Reboots the host of an Agent at the request of an annotation.
//!
//! The record keeps the time of the last request, so that neither a restart nor another leader repeats one. The cluster that the Agent
//! names must be the one that the host is a node of: a request that was made for another cluster reboots nothing.

use std::time::Duration;

use muster_core::lifecycle::host::HostEvent;
use muster_core::record::{Host, KubeRef, RebootWay};
use muster_operations::bmcs::RebootRequest;

use super::attempt::ended;
use super::membership;
use super::reboot::requested;
use crate::agent::cached::CachedAgent;
use crate::agent::reconcile::Reconciler;
use crate::error::Error;

impl Reconciler {
    /// Carries the request of the Agent out, or continues it. Returns the host afterwards, and the time after which to try again.
    pub(in crate::agent) async fn reboot(
        &self,
        key: &KubeRef,
        agent: &CachedAgent,
        host: Host,
    ) -> (Host, Option<Duration>) {
        let tried = self.try_reboot(agent, &host).await;
        ended(key, "to reboot a host", host, tried)
    }

    /// `None`: nothing has changed.
    async fn try_reboot(&self, agent: &CachedAgent, host: &Host) -> Result<Option<Host>, Error> {
        let operations = &self.context.operations;
        let last = host.data.asked_reboot.as_ref();
        let Some(requested_at) = requested(agent) else {
            if host.data.pending_reboot().is_none() {
                return Ok(None);
            }
            let event = HostEvent::RebootWithdrawn;
            return Ok(Some(operations.hosts.apply_registered(host, event).await?));
        };
        let is_known = last.is_some_and(|last| {
            let is_it = last.requested_at == requested_at;
            let by_bmc = matches!(last.way, Some(RebootWay::Bmc(_)));
            let is_older = last.way.is_some() && requested_at < last.requested_at;
            is_older || (is_it && !(last.is_pending() && by_bmc))
        });
        if is_known {
            return Ok(None);
        }
        let present = self.cluster_name(host).await?;
        let is_for_it = present.is_some() && present == membership::wanted(&agent.spec);
        let request = RebootRequest {
            requested_at,
            cluster_id: host.cluster_id.filter(|_| is_for_it),
        };
        let changed = operations.bmcs.reboot(&operations.hosts, host, request).await?;
        Ok(Some(changed))
    }
}
