//! BMCs that belong to custom resources: created, reconciled and released by the controller of these, and refused to
//! REST where the resource decides.

use muster_api::bmc::BmcUpdateParams;
use muster_api::ids::{BmcId, InfraEnvId};
use muster_core::lifecycle::bmc::{Wanted, added, create_for, deleted, follow, taken_over, update};
use muster_core::record::{Bmc, KubeRef};
use muster_core::rules::input::Invalid;
use muster_store::{StoreError, Subject};
use serde_json::json;

use super::{BmcProblem, Bmcs};
use crate::bridge::BridgeState;
use crate::now;
use crate::owned::{Owned, SpecWay, Ways, command};
use crate::resources::ResourceKind;
use crate::{OperationError, Result, request_id};

/// A BMC after its custom resource was applied.
#[derive(Debug, Clone)]
pub struct Following {
    pub bmc: Bmc,
    /// The reason why the resource is not fully applied yet; it is applied further when the BMC changes.
    pub waits: Option<String>,
    /// The reason why the requested discovery cannot begin, and the remedy.
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

    /// The custom resource that shows this BMC; `None`: none does, or the BMC was deleted.
    pub async fn resource_of(&self, id: BmcId) -> Result<Option<KubeRef>> {
        let found = self.store.find_bmc(id).await?;
        Ok(found.and_then(|bmc| bmc.resource).map(|resource| resource.kube))
    }

    /// Creates the BMC of a custom resource, takes over the one that REST created for the same machine, or brings it in
    /// line.
    ///
    /// # Errors
    /// [`BmcProblem`] if the resource requests something impossible, [`OperationError::Busy`] if another writer was
    /// faster.
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
            let why = "belongs to another InfraEnv and stays with it: delete the BMC and create it again";
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

    /// Hands the BMC that REST created over to the resource.
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

    /// Deletes the BMC of a custom resource as it was read, with its password, even if a medium is left in it.
    ///
    /// # Errors
    /// [`OperationError::Busy`] if it has changed since.
    pub async fn delete_with_resource(&self, bmc: &Bmc) -> Result<()> {
        let store = request_id::naming(&self.store);
        match store.delete_bmc(bmc, &[deleted(bmc, now())]).await {
            Err(StoreError::Conflict { .. }) => Err(OperationError::Busy(Subject::Bmc(bmc.id))),
            done => Ok(done?),
        }
    }

    /// Returns BMCs to REST if their custom resources were deleted by removal of their finalizers. `is_there`: true if
    /// the resource exists.
    ///
    /// # Errors
    /// If the database fails.
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
                // Another writer changed it; the next start finds it again.
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Changes its settings at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`] if it changes a setting that a custom resource decides; those of
    /// [`Self::update`].
    pub async fn update_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
        params: &BmcUpdateParams,
    ) -> Result<Bmc> {
        let found = self.get(infra_env_id, id).await?;
        if let Some(resource) = &found.resource
            && update(&found, params, now()).map_err(BmcProblem::of)?.is_some()
            && let Some(owned) = owned(bridge, &found, &resource.kube).await
        {
            return Err(owned.unchanged(&ways(&resource.kube, params)).into());
        }
        self.update(infra_env_id, id, params).await
    }

    /// Deletes it at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`] if it belongs to a custom resource; those of [`Self::delete`].
    pub async fn delete_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
    ) -> Result<()> {
        let found = self.get(infra_env_id, id).await?;
        if let Some(resource) = &found.resource
            && let Some(owned) = owned(bridge, &found, &resource.kube).await
        {
            return Err(owned.undeleted().into());
        }
        self.delete(infra_env_id, id).await
    }

    /// Discovers its machine at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`] if a custom resource disables the discovery; those of [`Self::discover`].
    pub async fn discover_by_user(
        &self,
        bridge: &BridgeState,
        infra_env_id: InfraEnvId,
        id: BmcId,
    ) -> Result<Bmc> {
        let found = self.get(infra_env_id, id).await?;
        self.check_discovery(bridge, &found).await?;
        self.discover(infra_env_id, id).await
    }

    /// # Errors
    /// [`OperationError::OfResource`] if a custom resource disables the discovery.
    pub(super) async fn check_discovery(&self, bridge: &BridgeState, found: &Bmc) -> Result<()> {
        if let Some(resource) = found
            .resource
            .as_ref()
            .filter(|resource| !resource.asked.discover)
            && let Some(owned) = owned(bridge, found, &resource.kube).await
        {
            let mut spec = SpecWay::default();
            spec.set("discover", json!(true));
            return Err(owned
                .unchanged(&spec.ways(&resource.kube, &object(&resource.kube)))
                .into());
        }
        Ok(())
    }
}

async fn owned<'a>(bridge: &BridgeState, found: &Bmc, kube: &'a KubeRef) -> Option<Owned<'a>> {
    let kind = ResourceKind::Bmc;
    Owned::of(
        format!("the BMC {}", found.name),
        kind,
        kube,
        bridge.look(kind, kube).await,
    )
}

fn object(kube: &KubeRef) -> String {
    format!("{} {}", ResourceKind::Bmc.word(), kube.name)
}

/// The commands that make the changes of `params` in the resource instead. Unchanged values are set again, which has no
/// effect.
fn ways(kube: &KubeRef, params: &BmcUpdateParams) -> Ways {
    let object = object(kube);
    let BmcUpdateParams {
        name,
        address,
        user_name,
        password,
        certificate,
        system_id,
        boot,
    } = params;
    let (mut spec, mut others) = (SpecWay::default(), Ways::default());
    let fields = [
        ("address", address.as_ref().map(|address| json!(address))),
        ("systemID", system_id.as_ref().map(|id| json!(id))),
        ("boot", boot.map(|boot| json!(boot))),
    ];
    for (path, value) in fields {
        if let Some(value) = value {
            spec.set(path, value);
        }
    }
    if let Some(certificate) = certificate {
        spec.set("trust.mode", json!(certificate.mode));
        match &certificate.bundle {
            Some(_) => spec.edit("trust.bundleRef"),
            None => spec.set("trust.fingerprint", json!(certificate.fingerprint)),
        }
    }
    if user_name.is_some() || password.is_some() {
        let secret = command(
            kube,
            &format!("get {object} -o jsonpath='{{.spec.credentialsName}}'"),
        );
        others.push(command(kube, &format!("edit secret \"$({secret})\"")));
    }
    if name.is_some() {
        others.push(format!(
            "make one of another name, and then: {}",
            command(kube, &format!("delete {object}"))
        ));
    }
    let mut ways = spec.ways(kube, &object);
    ways.extend(others);
    ways
}
