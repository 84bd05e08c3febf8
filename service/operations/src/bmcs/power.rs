//! Requests for the power of machines. The driver executes them.

use muster_api::bmc::BmcPowerParams;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::{BmcEvent, PowerAsked, installation};
use muster_core::record::Bmc;
use muster_store::HostForm;

use super::Bmcs;
use crate::Result;

impl Bmcs {
    /// Requests a change of the power of a machine, or its state. The BMC's `power` shows the outcome.
    ///
    /// # Errors
    /// [`BmcProblem::NotNow`](super::BmcProblem::NotNow) while the machine is being discovered or installed, unless it
    /// is forced; while another request is under way, and if the BMC refused the last login.
    pub async fn power(&self, infra_env_id: InfraEnvId, id: BmcId, params: BmcPowerParams) -> Result<Bmc> {
        let found = self.get(infra_env_id, id).await?;
        let asked = self.power_asked(&found, params).await?;
        self.asked(infra_env_id, id, BmcEvent::PowerAsked(asked)).await
    }

    /// The request, with what its machine does now.
    pub(super) async fn power_asked(&self, found: &Bmc, params: BmcPowerParams) -> Result<PowerAsked> {
        let hosts = match found.host_id {
            Some(host_id) => {
                let keys = [(found.infra_env_id, host_id)];
                self.store.read_hosts(&keys, HostForm::Whole).await?
            }
            None => Vec::new(),
        };
        Ok(PowerAsked {
            action: params.action,
            force: params.force,
            installation: hosts.first().and_then(installation),
        })
    }
}
