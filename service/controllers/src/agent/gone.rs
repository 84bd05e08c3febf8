//! Handles Agents without a host, hosts whose Agent is deleted, and machines that come from another InfraEnv.
//! Source: docs/protocol/kube-controllers.md#4.1 step 3, §4.6 and the end of §3.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, Preconditions};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use muster_api::ids::HostId;
use muster_core::record::{Host, KubeRef};
use muster_operations::now;
use muster_operations::unless_missing;
use muster_resources::names::{finalizer, label};

use super::cached::CachedAgent;
use super::reconcile::Reconciler;
use super::restore::{self, Place};
use super::{desired, membership, status};
use crate::conditions::Synced;
use crate::error::{Error, unless_absent};
use crate::finalizers;
use crate::references::kube_ref;
use crate::retry::RETRY_INTERVAL;

impl Reconciler {
    /// A user created an Agent by hand. No host will ever belong to it.
    pub(super) async fn not_a_host(&self, known: &CachedAgent) -> Result<Action, Error> {
        if known.is_deleting() {
            return self.release(known).await;
        }
        let why = "an Agent is named by its host's id and made by the service when the host registers; delete this one";
        let synced = Synced::Input(why.into());
        let next = status::without_host(&synced, &known.status(), now());
        self.write_status(known, next).await?;
        Ok(Action::await_change())
    }

    /// The Agent is being deleted: its host is brought back if it is a node, and deleted; then the Agent is released.
    pub(super) async fn delete(&self, known: &CachedAgent, host: Option<Host>) -> Result<Action, Error> {
        if !finalizers::has(known, finalizer::AGENT) {
            return Ok(Action::await_change());
        }
        let key = kube_ref(known);
        if let Some(shown) = host {
            let shown = self.shown_host(known, shown).await?;
            let found = match self.bring_back(known, shown).await? {
                Ok(host) => host,
                Err(waiting) => return Ok(waiting),
            };
            if let Err(error) = self.forget_host(&found).await {
                let next = status::not_cleaned_up(&error.to_string(), &known.status(), now());
                self.write_status(known, next).await?;
                return Err(error);
            }
        }
        self.labels.forget(&key);
        self.tokens.forget(&key);
        self.context.waits.set(&known.object_ref(&()), None);
        self.release(known).await
    }

    /// The record that the Agent shows, when the machine has several. One that was booted into another InfraEnv of the namespace has a
    /// record there, which is not to go with this Agent: it gets an Agent of its own afterwards. `host`: any of them.
    async fn shown_host(&self, known: &CachedAgent, host: Host) -> Result<Host, Error> {
        let app = &self.context.app;
        let Some(name) = known.labels().get(label::INFRA_ENV) else {
            return Ok(host);
        };
        let name = KubeRef::new(known.namespace().unwrap_or_default(), name);
        let Some(infra_env) = app.infra_envs.find_by_kube(&name).await? else {
            return Ok(host);
        };
        let shown = app.store.find_host(infra_env.id, host.id).await?;
        Ok(shown.unwrap_or(host))
    }

    /// A refusal is no mistake of the Agent's writer: it is tried again.
    async fn forget_host(&self, host: &Host) -> Result<(), Error> {
        let app = &self.context.app;
        unless_missing(app.hosts.delete(host.infra_env_id, host.id).await)
            .map_err(|error| Error::Internal(error.to_string()))
    }

    async fn release(&self, known: &CachedAgent) -> Result<Action, Error> {
        let key = kube_ref(known);
        if finalizers::has(known, finalizer::AGENT) {
            self.patch(known, &desired::release(known)).await?;
            tracing::info!(agent = %key, "Agent released");
        }
        Ok(Action::await_change())
    }

    /// There is no host. One that was deleted by REST takes its Agent with it; one whose record was lost is
    /// restored.
    pub(super) async fn without_host(
        &self,
        key: &KubeRef,
        known: &Arc<CachedAgent>,
        id: HostId,
    ) -> Result<Action, Error> {
        let app = &self.context.app;
        let Some(name) = known.labels().get(label::INFRA_ENV) else {
            let why = format!(
                "the label {} is missing, so the host's InfraEnv is not known; set it to the InfraEnv's name",
                label::INFRA_ENV
            );
            return self
                .waits(known, Synced::Input(why), Action::await_change())
                .await;
        };
        let name = KubeRef::new(&key.namespace, name);
        let Some(infra_env) = app.infra_envs.find_by_kube(&name).await? else {
            let why = format!(
                "the InfraEnv {name}, which the Agent's label names, is not known to the service yet"
            );
            return self
                .waits(known, Synced::Backend(why), Action::requeue(RETRY_INTERVAL))
                .await;
        };
        if app.store.host_was_deleted(infra_env.id, id).await? {
            return self.delete_agent(key, known).await;
        }
        // The whole one: what is known here lacks the inventory.
        let Some(whole) = self.api(&key.namespace).get_opt(&key.name).await? else {
            self.agents.remove(known);
            return Ok(Action::await_change());
        };
        let cluster_id = match membership::wanted(&whole.spec) {
            Some(deployment) => self.cluster_of(&deployment).await?,
            None => None,
        };
        let place = Place {
            id,
            infra_env_id: infra_env.id,
            cluster_id,
        };
        let Some(host) = restore::restored(&whole, place, now()) else {
            let why = "no host of this name has registered in the Agent's InfraEnv; boot the machine, or delete the Agent";
            return self
                .waits(known, Synced::Input(why.into()), Action::await_change())
                .await;
        };
        match app.hosts.restore(host).await? {
            Some(restored) => self.sync(key, known.clone(), restored).await,
            // It has registered meanwhile.
            None => Ok(Action::requeue(Duration::ZERO)),
        }
    }

    async fn waits(&self, known: &CachedAgent, synced: Synced, action: Action) -> Result<Action, Error> {
        let next = status::without_host(&synced, &known.status(), now());
        self.write_status(known, next).await?;
        Ok(action)
    }

    async fn delete_agent(&self, key: &KubeRef, known: &CachedAgent) -> Result<Action, Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: known.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match unless_absent(self.api(&key.namespace).delete(&key.name, &params).await)? {
            Some(_) => tracing::info!(agent = %key, "its host was deleted, so the Agent is, too"),
            None => self.agents.remove(known),
        }
        Ok(Action::await_change())
    }

    /// The machine was booted into another InfraEnv: the record in the one that it came from is deleted.
    pub(super) async fn leave_infra_env(&self, namespace: &str, from: &str, id: HostId) -> Result<(), Error> {
        let app = &self.context.app;
        let name = KubeRef::new(namespace, from);
        let Some(infra_env) = app.infra_envs.find_by_kube(&name).await? else {
            return Ok(());
        };
        tracing::info!(host.id = %id, from, "the machine was booted into another InfraEnv");
        Ok(unless_missing(app.hosts.delete(infra_env.id, id).await)?)
    }
}
