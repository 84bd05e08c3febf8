//! Agents whose host is not there, hosts whose Agent goes, and machines that come from another InfraEnv.
//! Source: docs/protocol/kube-controllers.md#4.1 step 3, §4.6 and the end of §3.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::{DeleteParams, Preconditions};
use muster_api::ids::HostId;
use muster_core::host::Host;
use muster_core::kube::KubeRef;
use muster_resources::names::{finalizer, label};

use super::conditions::Synced;
use super::known::Known;
use super::queue::Lane;
use super::reconcile::{Again, Reconciler, after};
use super::restore::{self, Place};
use super::{desired, membership, status};
use crate::drive::AGAIN;
use crate::error::unless_absent;
use crate::{Error, finalizers, kube_ref};
use muster_operations::now;
use muster_operations::unless_missing;

impl Reconciler {
    /// Somebody made an Agent by hand. Nothing will ever stand behind it.
    pub(super) async fn not_a_host(&self, known: &Known) -> Result<Again, Error> {
        if known.is_deleting() {
            return self.release(known).await;
        }
        let why = "an Agent is named by its host's id and made by the service when the host registers; delete this one";
        let synced = Synced::Input(why.into());
        let next = status::without_host(&synced, &known.status(), now());
        self.write_status(known, next).await?;
        Ok(None)
    }

    /// The Agent is to go: its host is forgotten, then it is let go.
    pub(super) async fn delete(&self, known: &Known, host: Option<Host>) -> Result<Again, Error> {
        if !finalizers::has(&known.agent, finalizer::AGENT) {
            return Ok(None);
        }
        let key = kube_ref(&known.agent);
        let mut host = host;
        // A machine that was booted into one InfraEnv after another has several records.
        while let Some(found) = host {
            if let Err(error) = self.forget_host(&found).await {
                let next = status::not_cleaned_up(&error.to_string(), &known.status(), now());
                self.write_status(known, next).await?;
                return Err(error);
            }
            host = self
                .context
                .app
                .store
                .find_host_by_kube(&key.namespace, found.id)
                .await?;
        }
        self.labels.forget(&key);
        self.tokens.forget(&key);
        self.release(known).await
    }

    async fn forget_host(&self, host: &Host) -> Result<(), Error> {
        let app = &self.context.app;
        Ok(unless_missing(
            app.hosts.delete(host.infra_env_id, host.id).await,
        )?)
    }

    async fn release(&self, known: &Known) -> Result<Again, Error> {
        let key = kube_ref(&known.agent);
        if finalizers::has(&known.agent, finalizer::AGENT) {
            self.patch(&key, &desired::release(&known.agent)).await?;
            tracing::info!(agent = %key, "Agent let go");
        }
        Ok(None)
    }

    /// There is no host. One that was deleted by REST takes its Agent with it; one whose record was lost is restored.
    pub(super) async fn without_host(
        &self,
        key: &KubeRef,
        known: &Arc<Known>,
        id: HostId,
        lane: Lane,
    ) -> Result<Again, Error> {
        let app = &self.context.app;
        let Some(name) = known.agent.labels().get(label::INFRA_ENV) else {
            let why = format!(
                "the label {} is missing, so the host's InfraEnv is not known; set it to the InfraEnv's name",
                label::INFRA_ENV
            );
            return self.waits(known, Synced::Input(why), None).await;
        };
        let name = KubeRef::new(&key.namespace, name);
        let Some(infra_env) = app.infra_envs.find_by_kube(&name).await? else {
            let why = format!(
                "the InfraEnv {name}, which the Agent's label names, is not known to the service yet"
            );
            return self.waits(known, Synced::Backend(why), after(AGAIN)).await;
        };
        if app.store.host_was_deleted(infra_env.id, id).await? {
            return self.delete_agent(key, known).await;
        }
        // The whole one: what is known here lacks the inventory.
        let Some(whole) = self.api(&key.namespace).get_opt(&key.name).await? else {
            self.agents.forget(key);
            return Ok(None);
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
            return self.waits(known, Synced::Input(why.into()), None).await;
        };
        match app.hosts.restore(host).await? {
            Some(restored) => self.sync(key, known.clone(), restored, lane).await,
            // It registered meanwhile.
            None => Ok(after(Duration::ZERO)),
        }
    }

    async fn waits(&self, known: &Known, synced: Synced, again: Again) -> Result<Again, Error> {
        let next = status::without_host(&synced, &known.status(), now());
        self.write_status(known, next).await?;
        Ok(again)
    }

    async fn delete_agent(&self, key: &KubeRef, known: &Known) -> Result<Again, Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: known.agent.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match unless_absent(self.api(&key.namespace).delete(&key.name, &params).await)? {
            Some(_) => tracing::info!(agent = %key, "its host was deleted, so the Agent is, too"),
            None => self.agents.forget(key),
        }
        Ok(None)
    }

    /// The machine was booted into another InfraEnv: the record in the one that it came from is forgotten.
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
