//! Applies events to hosts.

use std::sync::Arc;

use futures_util::{Stream, StreamExt, stream};
use muster_api::ids::{ClusterId, HostId, InfraEnvId};
use muster_api::time::Timestamp;
use muster_core::lifecycle::host;
use muster_core::lifecycle::host::{HostEvent, Refused, Step};
use muster_core::record::{Host, InfraEnv};
use muster_store::{HistoryEntry, HostForm, StoreError, Subject};

use super::Hosts;
use crate::error::unless_missing;
use crate::hosts::check_ins::HostKey;
use crate::retry::retry;
use crate::{OperationError, Result, request_id};

/// Hosts that are read by one query and changed concurrently: as many as the store writes in one transaction.
const AT_ONCE: usize = 32;

/// Hosts that are released concurrently. Each needs a connection to the database, and some are left for polls.
const RELEASED_AT_ONCE: usize = 2;

impl Hosts {
    /// Applies an event to a host, and stores the result together with history, events and outbox.
    ///
    /// # Errors
    /// [`OperationError::Refused`] if the host's state does not accept the event.
    pub async fn apply(&self, infra_env_id: InfraEnvId, id: HostId, event: HostEvent) -> Result<Host> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let subject = Subject::Host { infra_env_id, id };
        // Boxed, since otherwise each caller's future would have its size.
        retry(subject, || {
            Box::pin(self.try_apply(&infra_env, self.get(infra_env_id, id), &event))
        })
        .await
    }

    /// Applies an event to a host as it registered; its latest state is read.
    ///
    /// # Errors
    /// [`OperationError::Missing`] also if it was deleted and registered again since `known` was read: what was decided for the first host,
    /// as its approval, does not hold for the second.
    pub async fn apply_registered(&self, known: &Host, event: HostEvent) -> Result<Host> {
        let (infra_env_id, id) = (known.infra_env_id, known.id);
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        retry(Subject::Host { infra_env_id, id }, || {
            Box::pin(self.try_apply(&infra_env, self.registered(known), &event))
        })
        .await
    }

    /// Returns the latest state of a host that has not been deleted since `known` was read.
    pub(super) async fn registered(&self, known: &Host) -> Result<Host> {
        let (infra_env_id, id) = (known.infra_env_id, known.id);
        let found = self.get(infra_env_id, id).await?;
        if found.data.created_at != known.data.created_at {
            return Err(OperationError::missing_host(infra_env_id, id));
        }
        Ok(found)
    }

    /// `read`: the host's latest state.
    async fn try_apply(
        &self,
        infra_env: &Arc<InfraEnv>,
        read: impl Future<Output = Result<Host>>,
        event: &HostEvent,
    ) -> Result<Option<Host>> {
        let found = read.await?;
        self.try_apply_to(infra_env, &found, event).await
    }

    /// `None`: the host has changed since it was read.
    async fn try_apply_to(
        &self,
        infra_env: &Arc<InfraEnv>,
        found: &Host,
        event: &HostEvent,
    ) -> Result<Option<Host>> {
        let now = self.now();
        let step = match self.decide(infra_env, found, event, now).await? {
            Ok(step) => step,
            Err(refused) => {
                if let Some(reported) = host::events::of_refusal(found, event, &refused, now) {
                    request_id::naming(&self.store).insert_events(&[reported]).await?;
                }
                return Err(refused.into());
            }
        };
        if !step.changed {
            return Ok(Some(step.host));
        }
        match self.save(step, event, now).await {
            Ok(saved) => Ok(Some(saved)),
            Err(error) if must_decide_again(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Decides about an event for a host that was read; nothing is stored.
    pub(super) async fn decide(
        &self,
        infra_env: &Arc<InfraEnv>,
        found: &Host,
        event: &HostEvent,
        now: Timestamp,
    ) -> Result<Result<Step, Refused>> {
        let id = found.id;
        let cluster_id = match event {
            HostEvent::Bound { cluster_id } => Some(found.cluster_id.unwrap_or(*cluster_id)),
            _ => found.cluster_id,
        };
        let seen = self.check_ins.last((infra_env.id, id));
        let state = Some(&found.state);
        let mut environment = self.environment(infra_env, cluster_id, id, state, seen).await?;
        environment.in_cluster_through = self.in_cluster_through(found, event).await?;
        Ok(host::advance(found, event, &self.facts(&environment), now))
    }

    async fn save(&self, step: Step, event: &HostEvent, now: Timestamp) -> Result<Host, StoreError> {
        let mut saved = step.host;
        let history = step.transition.as_ref().map(|(from, to, reason)| HistoryEntry {
            at: now,
            who: event.origin().into(),
            event: event.name().into(),
            from: Some(*from),
            to: *to,
            reason: reason.clone(),
        });
        saved.version = request_id::naming(&self.store)
            .save_host(&saved, history.as_ref(), &step.events)
            .await?;
        if let Some((from, to, reason)) = step.transition {
            tracing::info!(host.id = %saved.id, infra_env.id = %saved.infra_env_id, from = from.name(), to = to.name(), reason, "host moved");
            metrics::counter!("muster_host_transitions_total", "from" => from.name(), "to" => to.name())
                .increment(1);
        }
        Ok(saved)
    }

    /// Validates each host of the InfraEnv again: settings that findings depend on may have changed.
    pub async fn infra_env_changed(&self, infra_env_id: InfraEnvId) -> Result<()> {
        let keys = self.store.list_host_keys(infra_env_id).await?;
        self.apply_to_all(&keys, &HostEvent::FactsChanged).await
    }

    /// Validates the hosts of a cluster again after the cluster or one of its hosts changed; releases them when it is deleted.
    pub async fn cluster_changed(&self, cluster_id: ClusterId) -> Result<()> {
        let Some(deleted) = self.clusters.is_deleted(cluster_id).await? else {
            return Ok(());
        };
        let keys = self.store.list_cluster_host_keys(cluster_id).await?;
        if !deleted {
            return self.apply_to_all(&keys, &HostEvent::PeersChanged).await;
        }
        let released = stream::iter(keys)
            .map(|(infra_env_id, id)| self.release(infra_env_id, id, cluster_id))
            .buffer_unordered(RELEASED_AT_ONCE);
        last_failure(released).await
    }

    /// Applies an event to each of these hosts. A host that is missing, unreadable or cannot be changed now does not
    /// hold up the others.
    ///
    /// # Errors
    /// The last error of a host, after all hosts were tried; an error of the database at once.
    pub(crate) async fn apply_to_all(&self, keys: &[HostKey], event: &HostEvent) -> Result<()> {
        let mut failure = Ok(());
        for part in keys.chunks(AT_ONCE) {
            let hosts = self.store.read_hosts(part, HostForm::Whole).await?;
            let applied = stream::iter(hosts)
                .map(|host| self.apply_to(host, event))
                .buffer_unordered(AT_ONCE);
            if let Err(error) = last_failure(applied).await {
                failure = Err(error);
            }
        }
        failure
    }

    /// The same for a host that was just read.
    async fn apply_to(&self, host: Host, event: &HostEvent) -> Result<()> {
        let infra_env = self.infra_envs.get(host.infra_env_id).await?;
        if self.try_apply_to(&infra_env, &host, event).await?.is_none() {
            self.apply(infra_env.id, host.id, event.clone()).await?;
        }
        Ok(())
    }

    /// Unbinds a host of a deleted cluster, or deletes it with its InfraEnv's cluster.
    /// Source: docs/protocol/rest-behaviour.md#6.
    async fn release(&self, infra_env_id: InfraEnvId, id: HostId, cluster_id: ClusterId) -> Result<()> {
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        if infra_env.cluster_id == Some(cluster_id) {
            return self.delete(infra_env_id, id).await;
        }
        self.apply(infra_env_id, id, HostEvent::Reclaimed).await.map(drop)
    }
}

/// Awaits all outcomes and returns the last failure; a missing host is no failure.
async fn last_failure(outcomes: impl Stream<Item = Result<()>>) -> Result<()> {
    outcomes
        .fold(Ok(()), async |failure, outcome| match unless_missing(outcome) {
            Ok(()) => failure,
            error => error,
        })
        .await
}

/// True when another writer was faster, or the cluster was deleted since it was read.
pub(super) fn must_decide_again(error: &StoreError) -> bool {
    let cluster_is_gone = matches!(
        error,
        StoreError::Missing {
            table: "clusters",
            ..
        }
    );
    error.is_conflict() || cluster_is_gone
}
