//! Finds the BMCs of hosts for jobs over many hosts, and requests power and discovery from them.

use muster_api::bmc::{BmcPowerAction, BmcPowerParams};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::bmc::{BmcEvent, advance};
use muster_core::record::Bmc;

use super::{BmcProblem, Bmcs};
use crate::bridge::BridgeState;
use crate::hosts::check_ins::HostKey;
use crate::{Result, now};

impl Bmcs {
    /// Checks whether [`Self::power_host`] would be refused now.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn check_power(&self, key: HostKey, action: BmcPowerAction) -> Result<()> {
        let bmc = self.of_host(key).await?;
        let asked = self.power_asked(&bmc, unforced(action)).await?;
        self.would(&bmc, BmcEvent::PowerAsked(asked))
    }

    /// Requests a change of the power of a host. One that was requested after `since` is not repeated.
    ///
    /// # Errors
    /// [`BmcProblem::NotNow`] if no BMC has booted the host; those of [`Self::power`].
    pub(crate) async fn power_host(
        &self,
        key: HostKey,
        action: BmcPowerAction,
        since: Timestamp,
    ) -> Result<()> {
        let bmc = self.of_host(key).await?;
        let last = bmc.power.request.as_ref();
        if last.is_some_and(|last| last.action == action && last.asked_at >= since) {
            return Ok(());
        }
        self.power(bmc.infra_env_id, bmc.id, unforced(action)).await?;
        Ok(())
    }

    /// Checks whether [`Self::discover_host`] would be refused now.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn check_discovery_of_host(&self, bridge: &BridgeState, key: HostKey) -> Result<()> {
        let bmc = self.of_host(key).await?;
        self.check_discovery(bridge, &bmc).await?;
        self.would(&bmc, BmcEvent::Discover)
    }

    /// Begins the discovery of a host's machine. One that began after `since` is not repeated.
    ///
    /// # Errors
    /// [`BmcProblem::NotNow`] if no BMC has booted the host; those of [`Self::discover_by_user`].
    pub(crate) async fn discover_host(
        &self,
        bridge: &BridgeState,
        key: HostKey,
        since: Timestamp,
    ) -> Result<()> {
        let bmc = self.of_host(key).await?;
        if bmc.stage.is_active() && bmc.progress.since >= since {
            return Ok(());
        }
        self.discover_by_user(bridge, bmc.infra_env_id, bmc.id).await?;
        Ok(())
    }

    /// # Errors
    /// [`BmcProblem::NotNow`] if there is none.
    async fn of_host(&self, (infra_env_id, id): (InfraEnvId, HostId)) -> Result<Bmc> {
        let found = self.store.find_bmc_of_host(infra_env_id, id).await?;
        found.ok_or_else(|| BmcProblem::NotNow("no BMC has booted it: muster bmc add".to_owned()).into())
    }

    /// # Errors
    /// The event is refused now.
    fn would(&self, bmc: &Bmc, event: BmcEvent) -> Result<()> {
        let step = advance(bmc, event, &self.limits, now()).map_err(BmcProblem::of)?;
        drop(step);
        Ok(())
    }
}

fn unforced(action: BmcPowerAction) -> BmcPowerParams {
    BmcPowerParams { action, force: false }
}
