//! Reboots installed hosts at a controller's request, by their BMCs where they have one that can be used.

use muster_api::bmc::BmcPowerOutcome;
use muster_api::ids::ClusterId;
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{BmcEvent, reboot_obstacle};
use muster_core::lifecycle::host::{HostEvent, RebootAsked};
use muster_core::record::{Bmc, Host, RebootWay};

use super::{BmcProblem, Bmcs};
use crate::hosts::Hosts;
use crate::{OperationError, Result, now};

/// A request to reboot a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RebootRequest {
    /// The time of the request, which identifies it.
    pub requested_at: Timestamp,
    /// The cluster that the requester takes the host to be a node of; `None`: it is not known here.
    pub cluster_id: Option<ClusterId>,
}

impl Bmcs {
    /// Records a request to reboot `known`, and passes it on to its BMC where that carries it out. Nothing is done twice: to repeat a
    /// request continues it where it was interrupted. `asked_reboot` of the returned host has the way and the outcome.
    ///
    /// # Errors
    /// If the host was deleted, or the database fails.
    pub async fn reboot(&self, hosts: &Hosts, known: &Host, request: RebootRequest) -> Result<Host> {
        let found = self.store.find_bmc_of_host(known.infra_env_id, known.id).await?;
        let able = found.as_ref().filter(|bmc| reboot_obstacle(bmc, now()).is_none());
        let event = HostEvent::RebootAsked(RebootAsked {
            requested_at: request.requested_at,
            cluster_id: request.cluster_id,
            bmc: able.map(|bmc| bmc.name.clone()),
        });
        let host = hosts.apply_registered(known, event).await?;
        let pending = host.data.pending_reboot();
        let chosen = pending.and_then(|asked| Some((asked.requested_at, asked.way.clone()?)));
        match (chosen, found) {
            (Some((requested_at, RebootWay::Bmc(name))), Some(bmc)) if name == bmc.name => {
                // Boxed, since otherwise each caller's future would have its size.
                Box::pin(self.reboot_by(hosts, host, bmc, requested_at)).await
            }
            _ => Ok(host),
        }
    }

    async fn reboot_by(&self, hosts: &Hosts, host: Host, bmc: Bmc, requested_at: Timestamp) -> Result<Host> {
        let event = BmcEvent::HostReboots { requested_at };
        let failure = match self.apply(bmc.id, None, event).await {
            Ok(changed) => {
                let bmc = changed.unwrap_or(bmc);
                let Some(request) = bmc.power.reboot(requested_at) else {
                    return Ok(host);
                };
                match request.outcome {
                    BmcPowerOutcome::Pending => return Ok(host),
                    BmcPowerOutcome::Done => None,
                    BmcPowerOutcome::Failed => Some(request.reason.clone()),
                }
            }
            Err(OperationError::Bmc(BmcProblem::NotNow(why))) => Some(why),
            Err(error) if error.is_missing() => Some(format!("BMC {} was deleted", bmc.name)),
            Err(error) => return Err(error),
        };
        let ended = HostEvent::RebootedByBmc {
            requested_at,
            failure,
        };
        hosts.apply_registered(&host, ended).await
    }
}
