//! The claims of drivers: each BMC has at most one driver at a time, in whichever replica.

use std::time::Duration;

use muster_api::host::HostStatus;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::record::Bmc;

use super::Bmcs;
use crate::now;
use crate::records::StoreError;

impl Bmcs {
    /// Claims BMCs that are due for the driver `who`, at most `most`, for so long.
    pub async fn claim_due(&self, who: &str, claim: Duration, most: u32) -> Result<Vec<Bmc>, StoreError> {
        self.store.claim_due_bmcs(who, now(), claim, most).await
    }

    /// Prolongs a claim. Returns the number of the BMC's present run; `None`: the claim is lost.
    pub async fn renew_claim(
        &self,
        id: BmcId,
        who: &str,
        claim: Duration,
    ) -> Result<Option<i64>, StoreError> {
        self.store.renew_bmc_claim(id, who, now(), claim).await
    }

    /// Ends a claim.
    pub async fn release(&self, id: BmcId, who: &str) -> Result<(), StoreError> {
        self.store.release_bmc(id, who).await
    }

    /// Ends all claims of a driver.
    pub async fn release_all_of(&self, who: &str) -> Result<(), StoreError> {
        self.store.release_bmcs_of(who).await
    }

    /// The BMCs of an InfraEnv whose machine may become a host, or is one with a medium.
    pub async fn awaiting_hosts(&self, infra_env_id: InfraEnvId) -> Result<Vec<Bmc>, StoreError> {
        self.store.list_bmcs_awaiting_hosts(infra_env_id).await
    }

    /// The BMCs of hosts in one of these states.
    pub async fn of_hosts_in(&self, statuses: &[HostStatus]) -> Result<Vec<Bmc>, StoreError> {
        self.store.list_bmcs_of_hosts_in(statuses).await
    }
}
