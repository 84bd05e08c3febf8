//! Puts hosts to sleep and wakes them, by the BMCs that have booted them: docs/sleeping.md.

use muster_api::bmc::BmcPowerOutcome;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{BmcEvent, WakeProgress, sleep_obstacle, wake_progress};
use muster_core::lifecycle::host::{HostEvent, SleepAsked, SleepEvent};
use muster_core::record::{Bmc, Host, SleepCause, WakeCause, Waking};

use super::{BmcProblem, Bmcs};
use crate::hosts::Hosts;
use crate::{OperationError, Result, now};

/// Power of a machine that is off, as BMCs report it.
const OFF: &str = "Off";

impl Bmcs {
    /// Requests that a host sleeps. Its BMC carries that out as soon as it is free.
    ///
    /// # Errors
    /// [`BmcProblem::NotNow`] if no BMC has booted the host or it cannot be used; [`OperationError::Refused`] if the host's state or a hold
    /// does not allow it.
    pub async fn put_to_sleep(
        &self,
        hosts: &Hosts,
        (infra_env_id, id): (InfraEnvId, HostId),
        cause: SleepCause,
    ) -> Result<Host> {
        let host = hosts.get(infra_env_id, id).await?;
        let Some(bmc) = self.store.find_bmc_of_host(infra_env_id, id).await? else {
            let why =
                format!("host {id}: no BMC has booted it, so that nothing could wake it: muster bmc add");
            return Err(BmcProblem::NotNow(why).into());
        };
        if host.data.sleep.is_none()
            && let Some(why) = sleep_obstacle(&bmc, id, now())
        {
            return Err(BmcProblem::NotNow(format!("host {id}: {why}")).into());
        }
        let asked = SleepEvent::Asked(SleepAsked { bmc: bmc.name, cause });
        let host = hosts.apply_registered(&host, HostEvent::Sleep(asked)).await?;
        Box::pin(self.follow_sleep(hosts, host)).await
    }

    /// Requests that a host wakes without a claim. `keep`: it stays awake until a person puts it to sleep.
    ///
    /// # Errors
    /// [`OperationError::Refused`] if it is awake, or did not wake the last time.
    pub async fn wake(
        &self,
        hosts: &Hosts,
        (infra_env_id, id): (InfraEnvId, HostId),
        cause: WakeCause,
        keep: bool,
    ) -> Result<Host> {
        let event = HostEvent::Sleep(SleepEvent::WakeAsked { cause, keep });
        let host = hosts.apply(infra_env_id, id, event).await?;
        Box::pin(self.follow_sleep(hosts, host)).await
    }

    /// Passes the sleep or the waking of a host on to its BMC, and takes over what the BMC reports. To repeat it continues it where it was
    /// interrupted; nothing is done twice.
    ///
    /// # Errors
    /// If the host was deleted, or the database fails.
    pub(crate) async fn follow_sleep(&self, hosts: &Hosts, host: Host) -> Result<Host> {
        let Some(sleep) = host.data.sleep.as_ref().filter(|sleep| sleep.is_changing()) else {
            return Ok(host);
        };
        let asked_at = sleep.asked_at;
        let waking = sleep.waking().cloned();
        let bmc = self.store.find_bmc_of_host(host.infra_env_id, host.id).await?;
        let event = match (waking, bmc) {
            (None, None) => Some(SleepEvent::SwitchedOff {
                asked_at,
                failure: Some("its BMC was deleted".to_owned()),
            }),
            (Some(waking), None) => Some(SleepEvent::WakeFailed {
                asked_at: waking.asked_at,
                reason: "its BMC was deleted; boot it into the discovery image".to_owned(),
                is_of_machine: false,
            }),
            (None, Some(bmc)) => self.switching_off(bmc, &host, asked_at).await?,
            (Some(waking), Some(bmc)) => self.waking(bmc, &waking).await?,
        };
        match event {
            Some(event) => hosts.apply_registered(&host, HostEvent::Sleep(event)).await,
            None => Ok(host),
        }
    }

    /// Has the machine switched off, and returns the outcome; `None`: it is under way.
    async fn switching_off(&self, bmc: Bmc, host: &Host, asked_at: Timestamp) -> Result<Option<SleepEvent>> {
        let outcome = |failure: Option<String>| Some(SleepEvent::SwitchedOff { asked_at, failure });
        let event = BmcEvent::HostSleeps {
            host_id: host.id,
            requested_at: asked_at,
        };
        let bmc = match self.apply(bmc.id, None, event).await {
            Ok(changed) => changed.unwrap_or(bmc),
            Err(OperationError::Bmc(BmcProblem::NotNow(why))) => return Ok(outcome(Some(why))),
            Err(error) if error.is_missing() => {
                return Ok(outcome(Some(format!("its BMC {} was deleted", bmc.name))));
            }
            Err(error) => return Err(error),
        };
        let Some(request) = bmc.power.sleep(asked_at) else {
            return Ok(None);
        };
        let state = bmc
            .power
            .seen
            .as_ref()
            .map_or("unknown", |seen| seen.state.as_str());
        Ok(match request.outcome {
            BmcPowerOutcome::Pending => None,
            BmcPowerOutcome::Done if state == OFF => outcome(None),
            BmcPowerOutcome::Done => outcome(Some(format!(
                "its BMC {} was to switch it off and reports its power as {state}",
                bmc.name
            ))),
            BmcPowerOutcome::Failed => outcome(Some(format!("its BMC {}: {}", bmc.name, request.reason))),
        })
    }

    /// Has the machine booted from the discovery image, and returns what its host is not aware of.
    async fn waking(&self, bmc: Bmc, waking: &Waking) -> Result<Option<SleepEvent>> {
        let asked_at = waking.asked_at;
        let event = BmcEvent::HostWaits { since: asked_at };
        let bmc = match self.apply(bmc.id, Some(bmc.run), event).await {
            Ok(changed) => changed.unwrap_or(bmc),
            // The next look finds that it is gone.
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(match wake_progress(&bmc, asked_at) {
            WakeProgress::Begun if waking.begun_at.is_none() => Some(SleepEvent::WakeBegun { asked_at }),
            WakeProgress::Begun | WakeProgress::Waits => None,
            WakeProgress::Failed {
                reason,
                is_of_machine,
            } => Some(SleepEvent::WakeFailed {
                asked_at,
                reason,
                is_of_machine,
            }),
        })
    }
}
