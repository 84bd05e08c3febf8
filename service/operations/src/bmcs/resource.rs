//! BMCs that belong to custom resources: made, followed and let go of by the controller of these, and refused to REST where the resource
//! decides.

use muster_api::bmc::BmcUpdateParams;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::{Wanted, added, create_for, deleted, follow, taken_over};
use muster_core::record::{Bmc, KubeRef};
use muster_core::rules::input::Invalid;
use muster_store::{StoreError, Subject};

use super::{BmcProblem, Bmcs};
use crate::bridge::BridgeState;
use crate::clock::now;
use crate::{OperationError, Result, request_id};

/// A BMC that follows its custom resource.
#[derive(Debug, Clone)]
pub struct Following {
    pub bmc: Bmc,
    /// It does not follow completely yet, and goes on when the BMC changes: what is waited for.
    pub waits: Option<String>,
    /// It asked for a discovery that cannot begin: why, and what to do.
    pub refused: Option<String>,
}

impl Following {
    fn completely(bmc: Bmc) -> Self {
        Self {
            bmc,
            waits: None,
            refused: None,
        }
    }
}

impl Bmcs {
    /// The BMC of a custom resource.
    pub async fn find_by_kube(&self, kube: &KubeRef) -> Result<Option<Bmc>> {
        Ok(self.store.find_bmc_by_kube(kube).await?)
    }

    /// The custom resource that shows this BMC; `None`: none does, or the BMC is gone.
    pub async fn resource_of(&self, id: BmcId) -> Result<Option<KubeRef>> {
        let found = self.store.find_bmc(id).await?;
        Ok(found.and_then(|bmc| bmc.resource).map(|resource| resource.kube))
    }

    /// Makes the BMC of a custom resource, takes over the one that REST made of the same machine, or brings it in line.
    ///
    /// # Errors
    /// [`BmcProblem`] when the resource asks for what cannot be, [`OperationError::Busy`] when another writer was faster.
    pub async fn follow(
        &self,
        kube: &KubeRef,
        infra_env_id: InfraEnvId,
        wanted: &Wanted,
    ) -> Result<Following> {
        let (found, is_new) = match self.store.find_bmc_by_kube(kube).await? {
            Some(found) => (found, false),
            None => match self.of_same_machine(kube, infra_env_id, wanted).await? {
                Some(found) => (found, true),
                None => {
                    return self
                        .make(kube, infra_env_id, wanted)
                        .await
                        .map(Following::completely);
                }
            },
        };
        if found.infra_env_id != infra_env_id {
            let why = "belongs to another InfraEnv and stays with it: delete the BMC and create it anew";
            return Err(Invalid::new("infra_env_id", why).into());
        }
        let followed = follow(&found, wanted, &self.limits, now()).map_err(BmcProblem::of)?;
        let (mut next, events) = match followed.step {
            Some(step) => (step.bmc, step.events),
            None => (found.clone(), Vec::new()),
        };
        if next != found || is_new {
            match request_id::naming(&self.store).update_bmc(&next, &events).await {
                Ok(version) => next.version = version,
                Err(StoreError::Conflict { .. }) if self.store.bmc_takes(&next).await? => {
                    return Err(BmcProblem::Taken(next.name).into());
                }
                Err(StoreError::Conflict { .. }) => return Err(OperationError::Busy(Subject::Bmc(found.id))),
                Err(error) => return Err(error.into()),
            }
            self.due.notify_one();
        }
        Ok(Following {
            bmc: next,
            waits: followed.waits,
            refused: followed.refused,
        })
    }

    /// The BMC that REST made, as one that belongs to the resource.
    async fn of_same_machine(
        &self,
        kube: &KubeRef,
        infra_env_id: InfraEnvId,
        wanted: &Wanted,
    ) -> Result<Option<Bmc>> {
        let found = self.store.find_bmc_by_name(infra_env_id, &wanted.name).await?;
        let Some(found) = found else { return Ok(None) };
        let taken = taken_over(&found, wanted, kube)?;
        if taken.is_some() {
            tracing::info!(bmc.id = %found.id, resource = %kube, "a BMC made by REST belongs to a custom resource now");
        }
        Ok(taken)
    }

    async fn make(&self, kube: &KubeRef, infra_env_id: InfraEnvId, wanted: &Wanted) -> Result<Bmc> {
        self.has_room(infra_env_id, 1).await?;
        let at = now();
        let mut made = create_for(wanted, kube, infra_env_id, BmcId::random(), at)?;
        if self.store.bmc_takes(&made).await? {
            return Err(BmcProblem::Taken(made.name).into());
        }
        let event = added(&made, at);
        let stored = request_id::naming(&self.store)
            .insert_bmcs(std::slice::from_ref(&made), &[event])
            .await;
        stored.map_err(|error| match error {
            StoreError::Conflict { id, .. } => BmcProblem::Taken(id).into(),
            other => OperationError::from(other),
        })?;
        made.version = 1;
        tracing::info!(bmc.id = %made.id, resource = %kube, infra_env.id = %infra_env_id, "BMC added");
        self.due.notify_one();
        Ok(made)
    }

    /// Deletes the BMC of a custom resource as it was read, with its password, whatever is left in it.
    ///
    /// # Errors
    /// [`OperationError::Busy`] when it has changed since.
    pub async fn delete_with_resource(&self, bmc: &Bmc) -> Result<()> {
        let store = request_id::naming(&self.store);
        match store.delete_bmc(bmc, &[deleted(bmc, now())]).await {
            Err(StoreError::Conflict { .. }) => Err(OperationError::Busy(Subject::Bmc(bmc.id))),
            done => Ok(done?),
        }
    }

    /// Gives BMCs whose custom resources are gone back to REST: somebody took away their finalizers. `is_there`: there is such a resource.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn release_left_over(&self, is_there: impl Fn(&KubeRef) -> bool) -> Result<()> {
        for mut bmc in self.store.list_bmcs_of_resources().await? {
            let Some(resource) = bmc.resource.take() else {
                continue;
            };
            if is_there(&resource.kube) {
                continue;
            }
            match self.store.update_bmc(&bmc, &[]).await {
                Ok(_) => {
                    tracing::warn!(bmc.id = %bmc.id, resource = %resource.kube, "the custom resource of a BMC is gone; the BMC is REST's now");
                }
                // Somebody works on it; the next start finds it again.
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Changes its settings, as a user asks by REST.
    ///
    /// # Errors
    /// [`BmcProblem::OfResource`] where a custom resource decides; those of [`Self::update`].
    pub async fn update_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
        params: &BmcUpdateParams,
    ) -> Result<Bmc> {
        self.is_for_rest(bridge, infra_env_id, id, "edit").await?;
        self.update(infra_env_id, id, params).await
    }

    /// Deletes one, as a user asks by REST.
    ///
    /// # Errors
    /// [`BmcProblem::OfResource`] where a custom resource decides; those of [`Self::delete`].
    pub async fn delete_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
    ) -> Result<()> {
        self.is_for_rest(bridge, infra_env_id, id, "delete").await?;
        self.delete(infra_env_id, id).await
    }

    async fn is_for_rest(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
        todo: &'static str,
    ) -> Result<()> {
        let found = self.get(infra_env_id, id).await?;
        match found.resource.filter(|_| bridge.is_on()) {
            Some(resource) => Err(BmcProblem::OfResource {
                name: found.name,
                kube: resource.kube,
                todo,
            }
            .into()),
            None => Ok(()),
        }
    }
}
