//! Handles Agents without a host, and hosts with a deleted Agent.
//! Source: docs/protocol/kube-controllers.md#4.1 step 3 and §4.6.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, Preconditions};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use muster_api::ids::HostId;
use muster_controller::conditions::Synced;
use muster_controller::finalizers;
use muster_controller::references::kube_ref;
use muster_controller::retry::RETRY_INTERVAL;
use muster_core::record::{Host, KubeRef};
use muster_operations::now;
use muster_operations::unless_missing;
use muster_resources::names::{finalizer, label};

use super::restore::{self, Place};
use crate::agent::cached::CachedAgent;
use crate::agent::reconcile::{Reconciler, is_of_another};
use crate::agent::spec::membership;
use crate::agent::{desired, status};
use crate::error::{Error, unless_absent};

impl Reconciler {
    /// Handles an Agent that a user created by hand. No host will ever belong to it.
    pub(in crate::agent) async fn not_a_host(&self, known: &CachedAgent) -> Result<Action, Error> {
        if known.is_deleting() {
            return self.release(known).await;
        }
        let why = "an Agent is named by its host's id and made by the service when the host registers; delete this one";
        let synced = Synced::Input(why.into());
        let next = status::without_host(&synced, &known.status(), now());
        self.write_status(known, next).await?;
        Ok(Action::await_change())
    }

    /// Handles an Agent that is being deleted: its host is brought back if it is a node, and deleted; then the Agent is released. A host
    /// that registered after the Agent's host was deleted stays, and gets an Agent of its own.
    pub(in crate::agent) async fn delete(
        &self,
        known: Arc<CachedAgent>,
        host: Option<Host>,
    ) -> Result<Action, Error> {
        let mut known = known;
        if !finalizers::has(&*known, finalizer::AGENT) {
            return Ok(Action::await_change());
        }
        let key = kube_ref(&*known);
        if let Some(mut shown) = host.filter(|host| !is_of_another(&known, host)) {
            // The deletion waits for an erasure, which a person may retry or skip.
            if shown.data.cleaning.is_some() {
                let Some(followed) = self.follow_requests(known, &mut shown, false).await? else {
                    return Ok(Action::await_change());
                };
                known = followed;
            }
            let found = match self.bring_back(&known, shown).await? {
                Ok(host) => host,
                Err(waiting) => return Ok(waiting),
            };
            if let Err(error) = self.forget_host(&found).await {
                let next = status::not_cleaned_up(&error.to_string(), &known.status(), now());
                self.write_status(&known, next).await?;
                return Err(error);
            }
        }
        self.labels.forget(&key);
        self.tokens.forget(&key);
        self.context.waits.set(&known.object_ref(&()), None);
        self.release(&known).await
    }

    /// Deletes the host. A refusal is no mistake in the Agent: the deletion is tried again.
    async fn forget_host(&self, host: &Host) -> Result<(), Error> {
        let operations = &self.context.operations;
        unless_missing(operations.hosts.delete_registered(host).await)
            .map_err(|error| Error::internal(error.to_string()))
    }

    async fn release(&self, known: &CachedAgent) -> Result<Action, Error> {
        let key = kube_ref(known);
        if finalizers::has(known, finalizer::AGENT) {
            self.patch(known, &desired::release(known)).await?;
            tracing::info!(agent = %key, "Agent released");
        }
        Ok(Action::await_change())
    }

    /// Handles an Agent without a host. A host that was deleted by REST takes its Agent with it; one with a lost record is
    /// restored.
    pub(in crate::agent) async fn without_host(
        &self,
        key: &KubeRef,
        known: &Arc<CachedAgent>,
        id: HostId,
    ) -> Result<Action, Error> {
        let operations = &self.context.operations;
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
        let Some(infra_env) = operations.infra_envs.find_by_kube(&name).await? else {
            let why = format!(
                "the InfraEnv {name}, which the Agent's label names, is not known to the service yet"
            );
            return self
                .waits(known, Synced::Backend(why), Action::requeue(RETRY_INTERVAL))
                .await;
        };
        if operations.hosts.was_deleted(infra_env.id, id).await? {
            return self.delete_agent(key, known).await;
        }
        // Read from the API server: the cached Agent lacks the inventory.
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
        match operations.hosts.restore(host).await? {
            Some(restored) => Box::pin(self.sync(key, known.clone(), restored)).await,
            // The host has registered meanwhile.
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
}
